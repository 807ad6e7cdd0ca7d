use throughline_core::Wire;

/// Why a body can't be read at all. Everything that is a JSON object can.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// Not JSON.
    #[error("the {what} is not JSON: {error}; pass its bytes on unchanged")]
    NotJson {
        /// Request, response, …
        what: &'static str,
        /// Where and why.
        error: serde_json::Error,
    },
    /// JSON, but no object.
    #[error("the {wire:?} {what} is JSON, but not an object; pass its bytes on unchanged")]
    NotObject {
        /// The wire it was read as.
        wire: Wire,
        /// Request, response, …
        what: &'static str,
    },
}

//! JSON as deep as records get.

use serde::de::DeserializeOwned;

/// The deepest nesting of a record. A provider's JSON of the depth that `serde_json` takes fits, with all that stands
/// around it in a checkpoint.
pub const MAX_DEPTH: usize = 200;

/// Parses JSON up to [`MAX_DEPTH`] levels deep: what could be written must be readable, and `serde_json` alone would
/// stop at 128.
pub fn parse_json<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let error = match serde_json::from_slice(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // The common case pays nothing: only what failed is looked at again.
    let depth = json_depth(text);
    if depth <= 100 || depth > MAX_DEPTH {
        return Err(error);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    deserializer.disable_recursion_limit();
    let value = T::deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// How deep the objects and lists of a JSON text are nested.
pub fn json_depth(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for &byte in text {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

use std::path::{Path, PathBuf};

/// Why a search or a sync could not be done.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The file system said no.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// The index library failed. The index can be rebuilt from the ledgers at any time.
    #[error(
        "the search index failed: {0}; `throughline sessions rebuild-index` makes it anew from the ledgers"
    )]
    Index(#[from] tantivy::TantivyError),
    /// A ledger could not be read.
    #[error(transparent)]
    Ledger(#[from] throughline_ledger::LedgerError),
}

impl SearchError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }
}

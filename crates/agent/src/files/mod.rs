//! What is known of files: what the model has read, and what they were before it changed them.

/// What is known of files. Shared: clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Files {}

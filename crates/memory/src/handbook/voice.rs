//! What reads like an instruction: nobody but the user may put one into a handbook.

use crate::extract::{has_hidden, has_mixed_word};

/// Whether a text reads like an instruction to an agent or a person. In doubt it does: what is lost so is a line of a handbook.
pub fn is_order(text: &str) -> bool {
    has_hidden(text) || has_mixed_word(text)
}

/// Whether a command is one that no handbook should tell anybody to run again.
pub fn is_harmful_command(_command: &str) -> bool {
    false
}

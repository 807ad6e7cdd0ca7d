//! How handbooks look on a terminal.

use super::super::print;
use crate::context::{Context, user_home};
use crate::output;
use std::path::Path;
use throughline_core::cost::Dollars;

/// A path as people write it: below their home folder with `~`.
pub(crate) fn home_path(_context: &Context, path: &Path) -> String {
    let below = user_home().and_then(|home| Some(format!("~/{}", path.strip_prefix(home).ok()?.display())));
    print::line(&below.unwrap_or_else(|| path.display().to_string()))
}

/// What it cost, in a few words.
pub(crate) fn cost_of(model: Option<&str>, tokens: u64, dollars: Dollars) -> String {
    match model {
        None => "Offline: $0.00.".to_owned(),
        Some(model) => format!("{model}: {} tokens, {dollars}.", output::number(tokens)),
    }
}

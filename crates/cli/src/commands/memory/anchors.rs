//! Whether what memories are about is still there.

use super::here::{Here, note};
use super::print;
use throughline_memory::recall::gone;
use throughline_memory::topics::Anchor;

/// Each anchor, and what is gone of it in words. Without the project's folder nothing is known to be gone.
pub(super) fn checked(here: &Here<'_>, anchors: &[Anchor]) -> Vec<(String, Option<String>)> {
    let check = |anchor: &Anchor| {
        let root = here.root.as_deref()?;
        gone(root, std::slice::from_ref(anchor)).pop()
    };
    anchors.iter().map(|anchor| (anchor.to_string(), check(anchor))).collect()
}

/// Tells anchors that do not hold, when they are given.
pub(super) fn tell_gone(here: &Here<'_>, anchors: &[Anchor]) {
    for (anchor, gone) in checked(here, anchors) {
        if let Some(gone) = gone {
            note(&format!("{} is saved, but {}", print::line(&anchor), print::line(&gone)));
        }
    }
}

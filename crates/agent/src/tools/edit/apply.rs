//! Replacing text, exactly and in order.

use super::nearest::nearest;
use crate::files::MAX_FILE;

/// Line numbers that are named.
const NAMED: usize = 10;
/// Occurrences that are counted one by one where there should be one.
const COUNTED: usize = 1000;

/// One edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) all: bool,
}

/// What edits made of a text.
#[derive(Debug)]
pub(super) struct Edited {
    pub(super) text: String,
    /// Where each replacement was made, at its time.
    pub(super) lines: Vec<usize>,
}

/// Makes all edits, each on what the one before left, or none. Line ends stay what they are: where every line ends with CRLF, edits
/// are made as if they were plain, and get CRLF as well.
pub(super) fn apply(text: &str, edits: &[Replacement]) -> Result<Edited, String> {
    let is_crlf = text.contains("\r\n") && text.matches('\n').count() == text.matches("\r\n").count();
    let plain = |text: &str| if is_crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    let mut edited = Edited { text: plain(text), lines: Vec::new() };
    for (at, Replacement { old, new, all }) in edits.iter().enumerate() {
        let edit = Replacement { old: plain(old), new: plain(new), all: *all };
        let (text, lines) = one(&edited.text, &edit).map_err(|reason| match (edits.len(), at) {
            (1, _) => reason,
            (count, 0) => format!("Edit 1 of {count}: {reason}"),
            (count, at) => format!("Edit {} of {count}, after those before it: {reason}", at + 1),
        })?;
        edited.text = text;
        edited.lines.extend(lines);
    }
    if is_crlf {
        edited.text = edited.text.replace('\n', "\r\n");
    }
    Ok(edited)
}

fn one(text: &str, edit: &Replacement) -> Result<(String, Vec<usize>), String> {
    if edit.old.is_empty() {
        return Err(
            "`old_string` is empty: give the text to replace, or use Write for the whole file.".to_owned()
        );
    }
    if edit.old == edit.new {
        return Err("`old_string` and `new_string` are the same: nothing would change.".to_owned());
    }
    if text.contains(&edit.old) {
        return replace(text, edit);
    }
    // Among mixed line ends, those of the place count.
    if edit.old.contains('\n') && !edit.old.contains('\r') && text.contains("\r\n") {
        let crlf = |text: &str| text.replace('\n', "\r\n");
        let edit = Replacement { old: crlf(&edit.old), new: crlf(&edit.new), all: edit.all };
        if text.contains(&edit.old) {
            return replace(text, &edit);
        }
    }
    Err(nearest(text, &edit.old))
}

fn replace(text: &str, edit: &Replacement) -> Result<(String, Vec<usize>), String> {
    let Replacement { old, new, all } = edit;
    let places: Vec<usize> = if *all {
        text.match_indices(old.as_str()).map(|(at, _)| at).collect()
    } else {
        let places = occurrences(text, old);
        if places.len() > 1 {
            let more = if places.len() == COUNTED { " or more" } else { "" };
            return Err(format!(
                "`old_string` is there {}{more} times, at {}: give more of the text around the one you mean, or set `replace_all`.",
                places.len(),
                at_lines(&lines_of(text, &places))
            ));
        }
        places
    };
    let size = (text.len() - places.len() * old.len()) as u64;
    let size = (new.len() as u64).checked_mul(places.len() as u64).and_then(|more| more.checked_add(size));
    if size.is_none_or(|size| size > MAX_FILE) {
        return Err(format!("the file would grow over {MAX_FILE} bytes."));
    }
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for place in &places {
        out.push_str(&text[done..*place]);
        out.push_str(new);
        done = place + old.len();
    }
    out.push_str(&text[done..]);
    Ok((out, lines_of(text, &places)))
}

/// Where a text begins in another, also where it overlaps itself: which one was meant would be a guess.
fn occurrences(text: &str, old: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        places.push(from + at);
        if places.len() == COUNTED {
            break;
        }
        from = text.ceil_char_boundary(from + at + 1);
    }
    places
}

/// The lines of places, which are in order.
fn lines_of(text: &str, places: &[usize]) -> Vec<usize> {
    let mut line = 1;
    let mut from = 0;
    places
        .iter()
        .map(|place| {
            line += text[from..*place].matches('\n').count();
            from = *place;
            line
        })
        .collect()
}

/// `line 3`, `lines 3, 7 and 12`.
pub(super) fn at_lines(lines: &[usize]) -> String {
    let mut named: Vec<usize> = lines.to_vec();
    named.dedup();
    let more = named.len().saturating_sub(NAMED);
    named.truncate(NAMED);
    let words: Vec<String> = named.iter().map(usize::to_string).collect();
    match words.as_slice() {
        [] => "no line".to_owned(),
        [one] => format!("line {one}"),
        list if more > 0 => format!("lines {} and {more} more", list.join(", ")),
        [list @ .., last] => format!("lines {} and {last}", list.join(", ")),
    }
}

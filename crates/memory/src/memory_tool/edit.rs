//! Changes of a text, and how it is shown.

use super::MemoryFilesLimits;

/// Lines around a change that are shown.
const AROUND: usize = 4;

/// A text with line numbers, from one line to another (counted from 1, both included).
pub(super) fn numbered(text: &str, from: usize, to: usize) -> String {
    let lines = text.lines().enumerate().skip(from.saturating_sub(1)).take((to + 1).saturating_sub(from));
    let lines: Vec<String> = lines.map(|(at, line)| format!("{:>6}\t{line}", at + 1)).collect();
    lines.join("\n")
}

/// A file, or the part of it that was asked for.
pub(super) fn shown(
    path: &str,
    text: &str,
    range: Option<(i64, i64)>,
    limits: &MemoryFilesLimits,
) -> Result<String, String> {
    let count = text.lines().count();
    let (from, to) = match range {
        None => (1, count),
        Some((from, to)) => {
            let wrong = || {
                format!(
                    "Error: Invalid `view_range` parameter: [{from}, {to}]. It should be two lines of the file in order, \
                     within [1, {count}]; -1 as the second is the last line"
                )
            };
            let first = usize::try_from(from)
                .ok()
                .filter(|from| (1..=count.max(1)).contains(from))
                .ok_or_else(wrong)?;
            let last = if to == -1 { count } else { usize::try_from(to).map_err(|_| wrong())?.min(count) };
            if last < first && count > 0 {
                return Err(wrong());
            }
            (first, last)
        }
    };
    let mut lines = numbered(text, from, to);
    if lines.len() > limits.shown_bytes {
        let cut = lines[..lines.floor_char_boundary(limits.shown_bytes)].rfind('\n');
        lines.truncate(cut.unwrap_or_else(|| lines.floor_char_boundary(limits.shown_bytes)));
        let next = from + lines.lines().count();
        lines.push_str(&format!("\n[cut: lines {next} to {to} are left out; view them with view_range]"));
    }
    Ok(format!("Here's the content of {path} with line numbers:\n{lines}"))
}

/// Replaces the only place where `old` stands. Returns the text, and the part around the change.
pub(super) fn replaced(path: &str, text: &str, old: &str, new: &str) -> Result<(String, String), String> {
    if old.is_empty() {
        return Err("Error: `old_str` must not be empty".to_owned());
    }
    let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    let line_of = |at: usize| text[..at].matches('\n').count() + 1;
    match places.as_slice() {
        [] => {
            Err(format!("No replacement was performed, old_str `{old}` did not appear verbatim in {path}."))
        }
        [at] => {
            let edited = format!("{}{new}{}", &text[..*at], &text[at + old.len()..]);
            let first = line_of(*at);
            let last = first + new.matches('\n').count();
            let part = numbered(&edited, first.saturating_sub(AROUND).max(1), last + AROUND);
            Ok((edited, part))
        }
        [_, _, ..] => {
            let mut lines: Vec<usize> = places.into_iter().map(line_of).collect();
            lines.dedup();
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            Err(format!(
                "No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {}. Please ensure it is unique",
                lines.join(", ")
            ))
        }
    }
}

/// Inserts lines behind a line; behind line 0 is the beginning.
pub(super) fn inserted(text: &str, line: i64, new: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let count = lines.len();
    let at = usize::try_from(line).ok().filter(|at| *at <= count).ok_or_else(|| {
        format!(
            "Error: Invalid `insert_line` parameter: {line}. It should be within the range of lines of the file: [0, {count}]"
        )
    })?;
    let (before, behind) = lines.split_at(at);
    let mut out = before.concat();
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(new);
    if !behind.is_empty() && !new.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&behind.concat());
    Ok(out)
}

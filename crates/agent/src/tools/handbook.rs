//! What the Memory tool finds in handbooks.

use super::memory::FRAME;
use crate::{Shown, ToolOutput};
use throughline_memory::handbook::read::{Hit, Reading};

/// Hits that a search gives.
const MOST_HITS: usize = 6;

/// Hits in a line each: where, what, and in which session.
pub(super) fn search(reading: &Reading, query: &str) -> Vec<String> {
    let found = reading.search(query, MOST_HITS);
    let line = |hit: &Hit| {
        let session = hit.session.as_ref().map(|id| format!(" [{id}]")).unwrap_or_default();
        format!("- {}:{}: {}{session}", hit.path, hit.line, hit.text)
    };
    let problems = found.problems.iter().map(|problem| format!("- not looked into: {problem}"));
    found.hits.iter().map(line).chain(problems.filter(|_| !found.hits.is_empty())).collect()
}

/// A file of a handbook, or lines of it: `path`, `path:from-to`.
pub(super) fn open(reading: Option<&Reading>, wanted: &str) -> Result<ToolOutput, String> {
    let Some(reading) = reading else {
        return Err("this session has no handbook".to_owned());
    };
    let (path, lines) = with_lines(wanted);
    let opened = reading.open(path, lines).map_err(|error| error.to_string())?;
    let (from, to) = opened.lines;
    let more = if to < opened.of {
        format!("[lines {from} to {to} of {}; `{}:{}-` goes on]", opened.of, opened.path, to + 1)
    } else {
        String::new()
    };
    let text = format!("{FRAME}\n\n{}\n{}{more}", opened.path, opened.text);
    Ok(ToolOutput::done(text).shown(Shown::Line(format!("{}:{from}-{to}", opened.path))))
}

fn with_lines(wanted: &str) -> (&str, Option<(usize, usize)>) {
    let parsed = wanted.rsplit_once(':').and_then(|(path, lines)| {
        let (from, to) = lines.split_once('-').unwrap_or((lines, lines));
        let to = if to.is_empty() { usize::MAX } else { to.parse().ok()? };
        Some((path, Some((from.parse().ok()?, to))))
    });
    parsed.unwrap_or((wanted, None))
}

#[cfg(test)]
mod tests {
    use super::with_lines;

    #[test]
    fn lines_stand_behind_the_path() {
        assert_eq!(with_lines("a/b.md"), ("a/b.md", None));
        assert_eq!(with_lines("a/b.md:3"), ("a/b.md", Some((3, 3))));
        assert_eq!(with_lines("a/b.md:3-9"), ("a/b.md", Some((3, 9))));
        assert_eq!(with_lines("a/b.md:3-"), ("a/b.md", Some((3, usize::MAX))));
        assert_eq!(with_lines("a:b/c.md"), ("a:b/c.md", None));
    }
}

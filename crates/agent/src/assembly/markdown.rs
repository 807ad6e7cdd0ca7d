//! As much of Markdown as is needed to tell prose from code.

use std::collections::HashMap;
use std::ops::Range;

/// A line, and whether it is prose: neither a fence nor inside one.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let mut fence: Option<(char, usize)> = None;
    text.lines().map(move |line| {
        let trimmed = line.trim();
        let mark = trimmed.chars().next().filter(|c| matches!(c, '`' | '~'));
        let length = mark.map_or(0, |mark| trimmed.chars().take_while(|c| *c == mark).count());
        match (fence, mark) {
            (None, Some(mark)) if length >= 3 && !(mark == '`' && trimmed[length..].contains('`')) => {
                fence = Some((mark, length));
                (line, false)
            }
            (None, _) => (line, true),
            (Some((open, least)), Some(mark))
                if mark == open && length >= least && trimmed.len() == length =>
            {
                fence = None;
                (line, false)
            }
            (Some(_), _) => (line, false),
        }
    })
}

/// A line with its code spans blanked out, byte by byte. Takes time linear in its length.
pub(crate) fn without_code_spans(line: &str) -> String {
    let mut out = line.as_bytes().to_vec();
    let runs = backticks(line);
    let last: HashMap<usize, usize> = runs.iter().enumerate().map(|(at, run)| (run.len(), at)).collect();
    let mut at = 0;
    while let Some(open) = runs.get(at) {
        // A span ends with as many backticks as it began with. If there are none, these are just backticks.
        let has_end = last.get(&open.len()).is_some_and(|end| *end > at);
        at += 1;
        if has_end {
            while let Some(close) = runs.get(at) {
                at += 1;
                if close.len() == open.len() {
                    out[open.start..close.end].fill(b' ');
                    break;
                }
            }
        }
    }
    // Only whole spans between ASCII marks were blanked.
    String::from_utf8(out).unwrap_or_default()
}

fn backticks(line: &str) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in line.match_indices('`') {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            Some(_) | None => runs.push(at..at + 1),
        }
    }
    runs
}

/// The headings under which project files say what a summary of the conversation must keep.
const COMPACT: [&str; 3] = ["compact instructions", "compaction instructions", "summary instructions"];

/// What a text says under such a heading, up to the next heading of its level.
pub(crate) fn compact_sections(text: &str) -> Vec<String> {
    let mut sections = Vec::new();
    let mut current: Option<(usize, Vec<&str>)> = None;
    for (line, is_prose) in lines(text) {
        let heading = if is_prose { heading(line) } else { None };
        if let Some((level, title)) = heading
            && current.as_ref().is_none_or(|(open, _)| level <= *open)
        {
            sections.extend(current.take().map(|(_, lines)| lines.join("\n")));
            if COMPACT.iter().any(|name| title.eq_ignore_ascii_case(name)) {
                current = Some((level, Vec::new()));
            }
        } else if let Some((_, lines)) = &mut current {
            lines.push(line);
        }
    }
    sections.extend(current.map(|(_, lines)| lines.join("\n")));
    sections.iter().map(|section| section.trim().to_owned()).filter(|section| !section.is_empty()).collect()
}

/// The level and the title of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let title = line.get(level..).filter(|rest| rest.starts_with([' ', '\t']))?;
    let title = title.trim().trim_end_matches('#').trim_end().trim_end_matches(':');
    (1..=6).contains(&level).then_some((level, title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn fences_and_spans_are_code() {
        let text = "a\n```sh\nb\n~~~\n```\nc\n~~~~\nd\n~~~\n~~~~\n```not `a` fence\ne";
        let prose: Vec<&str> = lines(text).filter(|(_, is_prose)| *is_prose).map(|(line, _)| line).collect();
        assert_eq!(prose, ["a", "c", "```not `a` fence", "e"]);
        assert_eq!(without_code_spans("a `b` ``c ` d`` `e"), "a               `e");
        assert_eq!(without_code_spans("é `ü` x").trim_end(), "é      x");
    }

    #[test]
    fn p5b_compact_instructions_are_found_in_their_section() {
        let text = "# Rules\nx\n## Compact instructions\nkeep the API\n### and\nthe numbers\n## Next\ny\n```\n# Compact instructions\nno\n```\n# Summary Instructions: #\nbe short\n";
        assert_eq!(compact_sections(text), ["keep the API\n### and\nthe numbers", "be short"]);
        assert!(compact_sections("# Compact instructions\n\n# Other\nx").is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "[`~#a \n@é]{0,80}") {
            prop_assert_eq!(lines(&text).count(), text.lines().count());
            for line in text.lines() {
                prop_assert_eq!(without_code_spans(line).len(), line.len());
            }
            compact_sections(&text);
        }
    }
}

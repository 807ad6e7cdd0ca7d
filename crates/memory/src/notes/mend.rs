//! Texts that are not in the shape that they should be in.

use super::document::{Document, Fence, Heading, Outline, is_italic, level, name_of};
use std::borrow::Cow;

/// A text brought into the shape of an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mended {
    /// The sections that the text has, each once, in the outline's order, with its headers and guides.
    pub sections: Vec<(usize, String)>,
    /// What stood before the first section.
    pub outside: String,
}

/// Reads what a text says for each section of an outline, whatever shape it is in: sections in any order, some missing, some
/// twice, guides left out or reworded, headers of another level or case, headers that the outline does not have (which become
/// headings inside the section before them).
pub fn mend(text: &str, outline: &Outline) -> Mended {
    let document = Document::parse(&with_headers(text, outline), outline);
    let mut sections: Vec<(usize, String)> = Vec::new();
    for (at, heading) in outline.headings.iter().enumerate() {
        let parts = document.sections.iter().filter(|section| section.header.trim_end() == heading.header);
        let bodies: Vec<&str> = parts
            .map(|section| {
                let has_guide = heading.guide.is_none() || !section.guide.is_empty();
                if has_guide { section.body.as_str() } else { without_guide(&section.body) }
            })
            .collect();
        if !bodies.is_empty() {
            let said: Vec<&str> =
                bodies.into_iter().map(str::trim_end).filter(|b| !b.trim().is_empty()).collect();
            // As a whole: what is code and what is not depends on all of it.
            sections.push((at, demote(&said.join("\n"), outline)));
        }
    }
    Mended { sections, outside: demote(&document.lead, outline).trim().to_owned() }
}

/// A text whose headers are the outline's to the letter, where it has them at another level or in another case only.
fn with_headers<'a>(text: &'a str, outline: &Outline) -> Cow<'a, str> {
    let missing: Vec<&Heading> = outline
        .headings
        .iter()
        .filter(|heading| !text.lines().any(|line| line.trim_end() == heading.header))
        .collect();
    if missing.is_empty() {
        return text.into();
    }
    let header = |line: &'a str| {
        let heading = level(line).and_then(|_| {
            missing
                .iter()
                .find(|heading| heading.name().eq_ignore_ascii_case(name_of(line).trim_end_matches(':')))
        });
        heading.map_or_else(|| line.to_owned(), |heading| format!("{}\n", heading.header))
    };
    text.split_inclusive('\n').map(header).collect::<String>().into()
}

/// A body whose first line is a guide in other words: the outline's own takes its place.
fn without_guide(body: &str) -> &str {
    match body.split_once('\n') {
        Some((first, rest)) if is_italic(first) => rest,
        None if is_italic(body) => "",
        Some(_) | None => body,
    }
}

/// A text that holds no header of its own: headings become deeper than the outline's, and a line that is one of its headers
/// is moved in.
pub(super) fn demote(body: &str, outline: &Outline) -> String {
    let depth = outline.depth();
    let mut fence = Fence::default();
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        let covered = fence.covers(line);
        match level(line) {
            Some(level) if !covered && level <= depth && depth < 6 => {
                out.extend(std::iter::repeat_n('#', depth + 1 - level));
            }
            Some(level) if level <= depth && (!covered || outline.find(line).is_some()) => out.push(' '),
            Some(_) | None => {}
        }
        out.push_str(line);
    }
    out
}

/// A text without any line that could be taken for a header, whatever it is put between: such lines are moved in, code
/// included.
pub(super) fn neutral(body: &str, outline: &Outline) -> String {
    let depth = outline.depth();
    let mut out = String::with_capacity(body.len());
    for line in body.split_inclusive('\n') {
        if level(line).is_some_and(|level| level <= depth) {
            out.push(' ');
        }
        out.push_str(line);
    }
    out
}

//! Notes as sections: a header line, the guide under it, and the body.

use super::mend::neutral;
use std::fmt;
use throughline_core::tokens::Counter;

/// The sections that a template asks for, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    pub(super) headings: Vec<Heading>,
    /// What stands before the first header, without the space around it.
    pub(super) lead: String,
}

/// One header and its guide, without line ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The line, such as `# Current State`.
    pub header: String,
    /// The line under it that says what belongs there.
    pub guide: Option<String>,
}

impl Heading {
    /// The header without its marks.
    pub fn name(&self) -> &str {
        name_of(&self.header)
    }
}

impl Outline {
    /// The headings, in order.
    pub fn headings(&self) -> &[Heading] {
        &self.headings
    }

    pub(super) fn find(&self, line: &str) -> Option<&Heading> {
        let line = line.trim_end();
        line.starts_with('#').then(|| self.headings.iter().find(|heading| heading.header == line)).flatten()
    }

    /// A heading inside a section.
    pub(super) fn heading_inside(&self, name: &str) -> String {
        let depth = self.depth();
        if depth < 6 { format!("{} {name}", "#".repeat(depth + 1)) } else { format!("{name}:") }
    }

    /// The deepest level of header that the outline uses.
    pub(super) fn depth(&self) -> usize {
        self.headings.iter().map(|heading| level(&heading.header).unwrap_or(1)).max().unwrap_or(1)
    }
}

/// One section as it stands in a text, line ends included: header, guide and body in this order are the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    pub(super) header: String,
    pub(super) guide: String,
    pub(super) body: String,
}

impl Section {
    /// The header without its marks.
    pub fn name(&self) -> &str {
        name_of(&self.header)
    }

    /// What is written in it, without the space around it.
    pub fn body(&self) -> &str {
        self.body.trim()
    }

    /// Replaces what is written in it.
    pub fn set_body(&mut self, body: &str) {
        let before = if self.guide.is_empty() { &mut self.header } else { &mut self.guide };
        if !before.ends_with('\n') {
            before.push('\n');
        }
        let body = body.trim_end().trim_start_matches(['\n', '\r']);
        self.body = if body.is_empty() { "\n".to_owned() } else { format!("{body}\n\n") };
    }

    /// The whole section.
    pub fn to_text(&self) -> String {
        format!("{}{}{}", self.header, self.guide, self.body)
    }
}

/// Notes, taken apart by an outline. Nothing is lost: [`to_text`](Self::to_text) gives the text back to the byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    pub(super) lead: String,
    pub(super) sections: Vec<Section>,
}

/// Tokens of notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// All of it.
    pub total: u64,
    /// Each section by name, in order.
    pub sections: Vec<(String, u64)>,
}

/// How the structure of notes was broken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Breach {
    /// A header is gone.
    #[error("the header of section \"{0}\" is missing or changed")]
    Missing(String),
    /// A header stands twice.
    #[error("the header of section \"{0}\" stands there twice")]
    Repeated(String),
    /// Headers are in another order.
    #[error("section \"{0}\" is not in its place")]
    Moved(String),
    /// The guide under a header is gone or changed.
    #[error("the guide line under \"{0}\" is missing or changed")]
    Guide(String),
    /// There is text before the first header that does not belong there.
    #[error("there is text outside of the sections")]
    Outside,
    /// A header that the template does not have.
    #[error("\"{0}\" is a header that the notes do not have; use a deeper heading inside a section")]
    Added(String),
}

impl Document {
    /// Takes a text apart. A line is a header if it is one of the outline's, whatever surrounds it.
    pub fn parse(text: &str, outline: &Outline) -> Self {
        let mut document = Self { lead: String::new(), sections: Vec::new() };
        let mut awaited: Option<&str> = None;
        for line in text.split_inclusive('\n') {
            if let Some(heading) = outline.find(line) {
                let (header, guide, body) = (line.to_owned(), String::new(), String::new());
                document.sections.push(Section { header, guide, body });
                awaited = heading.guide.as_deref();
                continue;
            }
            match document.sections.last_mut() {
                Some(section) if awaited.take() == Some(line.trim_end()) => section.guide.push_str(line),
                Some(section) => section.body.push_str(line),
                None => document.lead.push_str(line),
            }
        }
        document
    }

    /// The sections, in order.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The section of a name.
    pub fn section(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name() == name)
    }

    /// Replaces what is written in a section, by its place; a place that is not there is nobody's.
    pub fn set_body(&mut self, at: usize, body: &str) {
        if let Some(section) = self.sections.get_mut(at) {
            section.set_body(body);
        }
    }

    /// Makes sure that no body holds a line that could be taken for a header.
    pub(super) fn neutralise(&mut self, outline: &Outline) {
        for section in &mut self.sections {
            let body = neutral(section.body(), outline);
            section.set_body(&body);
        }
    }

    /// Whether nothing is written in any section.
    pub fn is_empty(&self) -> bool {
        self.sections.iter().all(|section| section.body().is_empty())
    }

    /// The text.
    pub fn to_text(&self) -> String {
        self.to_string()
    }

    /// Tokens of everything and of each section.
    pub fn sizes(&self, counter: &mut Counter) -> Sizes {
        let sections = self
            .sections
            .iter()
            .map(|section| (section.name().to_owned(), counter.text(&section.to_text())))
            .collect();
        Sizes { total: counter.text(&self.to_text()), sections }
    }

    /// Whether headers and guides are the outline's, all of them and in order, and nothing was added to them.
    pub fn check(&self, outline: &Outline) -> Result<(), Breach> {
        if self.lead.trim() != outline.lead {
            return Err(Breach::Outside);
        }
        let at = |header: &str| self.sections.iter().filter(|s| s.header.trim_end() == header).count();
        for heading in &outline.headings {
            match at(&heading.header) {
                0 => return Err(Breach::Missing(heading.name().to_owned())),
                1 => {}
                _ => return Err(Breach::Repeated(heading.name().to_owned())),
            }
        }
        for (section, heading) in self.sections.iter().zip(&outline.headings) {
            if section.header.trim_end() != heading.header {
                return Err(Breach::Moved(section.name().to_owned()));
            }
            if heading.guide.as_deref().unwrap_or("") != section.guide.trim_end() {
                return Err(Breach::Guide(heading.name().to_owned()));
            }
            let mut fence = Fence::default();
            for line in section.body.lines() {
                if !fence.covers(line) && level(line).is_some_and(|level| level <= outline.depth()) {
                    return Err(Breach::Added(line.trim().to_owned()));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lead)?;
        self.sections.iter().try_for_each(|section| {
            f.write_str(&section.header)?;
            f.write_str(&section.guide)?;
            f.write_str(&section.body)
        })
    }
}

/// The marks before a heading's words.
pub(super) fn level(line: &str) -> Option<usize> {
    let marks = line.bytes().take_while(|&b| b == b'#').count();
    let rest = &line[marks..];
    ((1..=6).contains(&marks) && rest.starts_with([' ', '\t']) && !rest.trim().is_empty()).then_some(marks)
}

/// Whether a line is one run of italics.
pub(super) fn is_italic(line: &str) -> bool {
    let line = line.trim();
    ['_', '*'].into_iter().any(|mark| {
        line.len() > 2
            && line.starts_with(mark)
            && line.ends_with(mark)
            && !line.starts_with("**")
            && !line.starts_with("* ")
    })
}

pub(super) fn name_of(header: &str) -> &str {
    header.trim_start_matches('#').trim()
}

/// Whether lines are inside a fence of code.
#[derive(Default)]
pub(super) struct Fence {
    open: Option<(char, usize)>,
}

impl Fence {
    /// Takes the next line; whether it is code, or a fence.
    pub(super) fn covers(&mut self, line: &str) -> bool {
        let line = line.trim_start().trim_end();
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else {
            return self.open.is_some();
        };
        let length = line.chars().take_while(|&c| c == mark).count();
        match self.open {
            None if length >= 3 => self.open = Some((mark, length)),
            // What closes a fence has nothing behind it.
            Some((open, least)) if open == mark && length >= least && line.len() == length => {
                self.open = None;
                return true;
            }
            None | Some(_) => {}
        }
        self.open.is_some()
    }
}

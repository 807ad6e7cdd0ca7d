//! The template of notes, and the person's own words in place of ours (N1, N6).

use super::document::{Document, Fence, Heading, Outline, Section, is_italic, level};
use super::error::NotesError;
use super::file::read_bounded;
use std::path::Path;
use throughline_core::scribe::NOTES_SECTIONS;

/// The largest template or prompt that is taken from a file.
const MOST_BYTES: u64 = 32 << 10;
/// More sections than this are a mistake.
const MOST_SECTIONS: usize = 64;

/// What notes look like before anything is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    text: String,
    outline: Outline,
}

/// Why a text is no template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// No header.
    #[error("a template of notes needs at least one line that begins with `# `")]
    NoSections,
    /// Too many headers.
    #[error("a template of notes has at most {MOST_SECTIONS} sections, this one has {0}")]
    TooMany(usize),
    /// Two headers are the same.
    #[error("two sections of the template are called \"{0}\"; rename one")]
    Repeated(String),
}

impl Default for Template {
    /// The ten sections of N1.
    fn default() -> Self {
        let headings: Vec<Heading> = NOTES_SECTIONS
            .iter()
            .map(|(name, guide)| Heading { header: format!("# {name}"), guide: Some((*guide).to_owned()) })
            .collect();
        let lines = NOTES_SECTIONS.iter().map(|(name, guide)| format!("# {name}\n{guide}\n\n"));
        Self { text: lines.collect(), outline: Outline { headings, lead: String::new() } }
    }
}

impl Template {
    /// Learns the sections of a text: each heading outside of code is one, and an italic line under it is its guide.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut outline = Outline { headings: Vec::new(), lead: String::new() };
        let mut fence = Fence::default();
        let mut after_header = false;
        for line in text.lines() {
            let covered = fence.covers(line);
            let is_header = !covered && level(line).is_some();
            if is_header {
                let header = line.trim_end().to_owned();
                if outline.headings.iter().any(|heading| heading.header == header) {
                    return Err(TemplateError::Repeated(header.trim_start_matches('#').trim().to_owned()));
                }
                outline.headings.push(Heading { header, guide: None });
            } else if let Some(heading) = outline.headings.last_mut() {
                if after_header && is_italic(line) {
                    heading.guide = Some(line.trim_end().to_owned());
                }
            } else {
                outline.lead.push_str(line);
                outline.lead.push('\n');
            }
            after_header = is_header;
        }
        outline.lead = outline.lead.trim().to_owned();
        match outline.headings.len() {
            0 => Err(TemplateError::NoSections),
            1..=MOST_SECTIONS => Ok(Self { text: with_line_end(text), outline }),
            many => Err(TemplateError::TooMany(many)),
        }
    }

    /// The text that notes begin as.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The sections.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// The template as notes.
    pub fn document(&self) -> Document {
        Document::parse(&self.text, &self.outline)
    }

    /// The template with nothing written in its sections.
    pub fn skeleton(&self) -> Document {
        let mut document = self.document();
        for section in &mut document.sections {
            section.set_body("");
        }
        document
    }

    /// Whether notes say no more than the template does.
    pub fn is_untouched(&self, notes: &str) -> bool {
        let there = Document::parse(notes, &self.outline);
        let lead = there.lead.trim();
        let template = self.document();
        let says_nothing = there.sections.iter().all(|section| {
            let original = template.section(section.name()).map(Section::body);
            section.body().is_empty() || original == Some(section.body())
        });
        says_nothing && (lead.is_empty() || lead == self.outline.lead)
    }
}

fn with_line_end(text: &str) -> String {
    let text = text.trim_end_matches(['\n', '\r', ' ', '\t']);
    format!("{text}\n\n")
}

/// The words that notes are kept with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wording {
    /// The sections.
    pub template: Template,
    /// The person's own request for an update, with variables; `None`: ours.
    pub prompt: Option<String>,
}

impl Wording {
    /// Reads `template.md` and `prompt.md` from a folder of the person's configuration. What is not there, or can't be
    /// used, is ours; the latter is reported.
    pub fn load(folder: &Path) -> (Self, Vec<NotesError>) {
        let mut wording = Self::default();
        let mut problems = Vec::new();
        let path = folder.join("template.md");
        match read_bounded(&path, MOST_BYTES) {
            Ok(Some(text)) => match Template::parse(&text) {
                Ok(template) => wording.template = template,
                Err(source) => problems.push(NotesError::Template { path, source }),
            },
            Ok(None) => {}
            Err(error) => problems.push(error),
        }
        match read_bounded(&folder.join("prompt.md"), MOST_BYTES) {
            Ok(text) => wording.prompt = text.filter(|text| !text.trim().is_empty()),
            Err(error) => problems.push(error),
        }
        (wording, problems)
    }
}

/// Puts values in place of `{{name}}`. Unknown names stay as they are, and what a value says is not looked at again.
///
/// ```
/// use throughline_memory::notes::fill;
///
/// let text = fill("{{a}} {{ b }} {{c}}", &[("a", "{{b}}"), ("b", "2")]);
/// assert_eq!(text, "{{b}} 2 {{c}}");
/// ```
pub fn fill(text: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find("{{") {
        let (before, from) = rest.split_at(start);
        out.push_str(before);
        let known = from[2..].find("}}").and_then(|end| {
            let name = from[2..2 + end].trim();
            let (_, value) = values.iter().find(|(known, _)| *known == name)?;
            Some((value, end + 4))
        });
        match known {
            Some((value, length)) => {
                out.push_str(value);
                rest = &from[length..];
            }
            // One brace on: the next two may open a name.
            None => {
                out.push('{');
                rest = &from[1..];
            }
        }
    }
    out + rest
}

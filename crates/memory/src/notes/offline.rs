//! Notes without a model: the offline scribe's sections, in the person's template, beside what was written before.

use super::document::{Document, Section};
use super::fit::cut_body;
use super::limits::NotesLimits;
use super::mend::{mend, neutral};
use super::template::Template;
use throughline_core::Knowledge;
use throughline_core::scribe::{self, DigestWanted, Material, NOTES_SECTIONS};
use throughline_core::tokens::Counter;

/// Sets what the scribe wrote apart from what others wrote: the scribe replaces its own part only.
const RECORD: &str = "From the record:";

/// What the scribe writes into whole.
const TITLE: &str = NOTES_SECTIONS[0].0;
const STATE: &str = NOTES_SECTIONS[1].0;

/// Bringing notes up to date from facts.
pub(super) struct Offline<'a> {
    pub(super) template: &'a Template,
    pub(super) limits: &'a NotesLimits,
    /// The notes as they are, in the template's structure.
    pub(super) notes: &'a Document,
    pub(super) knowledge: &'a Knowledge,
}

impl Offline<'_> {
    /// The new notes. They may be over the limits by a little.
    pub(super) fn write(&self, counter: &mut Counter) -> Document {
        let mut document = self.notes.clone();
        let mut parts = vec![String::new(); document.sections.len()];
        let mut homeless = String::new();
        for (name, body) in self.sections(counter) {
            match document.sections.iter().position(|section| same_name(section.name(), name)) {
                Some(at) => parts[at] = body,
                // In a template of the person's that has no such section, it is told under a heading in the last one.
                None => {
                    let heading = self.template.outline().heading_inside(name);
                    homeless.push_str(&format!("\n{heading}\n{body}\n"));
                }
            }
        }
        if let Some(last) = parts.last_mut() {
            last.push_str(&homeless);
        }
        for (section, part) in document.sections.iter_mut().zip(&parts) {
            if !part.trim().is_empty() {
                self.put(section, part.trim(), counter);
            }
        }
        document
    }

    /// What the scribe has to say, by the names of its own sections.
    fn sections(&self, counter: &mut Counter) -> Vec<(&'static str, String)> {
        let NotesLimits { section_tokens, total_tokens, .. } = *self.limits;
        let skeleton = counter.text(&self.template.skeleton().to_text());
        // The scribe gives a third to the user's words: that third is to fit into its section.
        let budget = total_tokens.saturating_sub(skeleton).min(section_tokens * 100 / 36);
        let mut digest = |wanted: DigestWanted<'_>, counter: &mut Counter| {
            let budget = wanted.budget.min(section_tokens * 9 / 10);
            self.knowledge.archive.digest(&DigestWanted { budget, ..wanted }, counter)
        };
        let facts = &self.knowledge.facts;
        let mut material = Material {
            facts,
            kept: &Default::default(),
            instructions: None,
            guarantee: true,
            digest: &mut digest,
        };
        let text = scribe::notes(&mut material, budget, counter);
        let own = Template::default();
        let said = mend(&text, own.outline()).sections;
        let named = said
            .into_iter()
            .map(|(at, body)| (NOTES_SECTIONS[at].0, neutral(&body, self.template.outline())));
        named.filter(|(_, body)| !body.trim().is_empty()).collect()
    }

    /// Puts the scribe's part into a section, behind what others wrote there, which gets at most half of it if both are too
    /// long.
    fn put(&self, section: &mut Section, body: &str, counter: &mut Counter) {
        let prose = prose_of(section).trim_end().to_owned();
        if same_name(section.name(), STATE) || (same_name(section.name(), TITLE) && prose.is_empty()) {
            section.set_body(body);
            return;
        }
        if same_name(section.name(), TITLE) {
            return;
        }
        let join = |prose: &str| {
            if prose.is_empty() {
                format!("{RECORD}\n{body}")
            } else {
                format!("{prose}\n\n{RECORD}\n{body}")
            }
        };
        section.set_body(&join(&prose));
        if counter.text(&section.to_text()) > self.limits.section_tokens {
            let mut half = section.clone();
            half.set_body(&prose);
            cut_body(&mut half, self.limits.section_tokens / 2, counter);
            section.set_body(&join(half.body()));
        }
    }
}

/// What others wrote in a section.
fn prose_of(section: &Section) -> &str {
    let body = section.body();
    record_at(body).map_or(body, |at| &body[..at])
}

fn record_at(body: &str) -> Option<usize> {
    if body.starts_with(RECORD) {
        return Some(0);
    }
    body.find(&format!("\n{RECORD}\n")).map(|at| at + 1)
}

fn same_name(one: &str, other: &str) -> bool {
    let letters =
        |name: &str| name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let (one, other): (String, String) = (letters(one), letters(other));
    one == other
}

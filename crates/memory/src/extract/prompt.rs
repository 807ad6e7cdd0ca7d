//! The request for an extraction (M3–M5).

use super::limits::ExtractLimits;
use super::said::Said;
use crate::Memories;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use throughline_core::{Flags, Message, Role, prompt};

const EXTRACT: &str = include_str!("../../../../prompts/extract.md");

/// Everything that the request says.
pub(super) struct Ask<'a> {
    pub(super) memories: &'a Memories,
    /// What the user said since the last extraction.
    pub(super) said: &'a [Said],
    pub(super) limits: &'a ExtractLimits,
}

impl Ask<'_> {
    /// The request, marked as not said by a person.
    pub(super) fn to_message(&self) -> Message {
        let mut message = Message::text(Role::User, self.to_text());
        message.flags = Flags { meta: true, ..Flags::default() };
        message
    }

    fn to_text(&self) -> String {
        let values = [
            ("manifest", self.manifest()),
            ("near", self.near()),
            ("sentences", self.sentences()),
            ("most", self.limits.adds.to_string()),
        ];
        // One pass: what memories say is not filled in again.
        let mut text = String::new();
        let mut rest = prompt(EXTRACT);
        while let Some((before, after)) = rest.split_once("{{") {
            text.push_str(before);
            let Some((key, behind)) = after.split_once("}}") else {
                text.push_str("{{");
                rest = after;
                continue;
            };
            match values.iter().find(|(known, _)| *known == key) {
                Some((_, value)) => text.push_str(value.trim_end()),
                None => {
                    let _ = write!(text, "{{{{{key}}}}}");
                }
            }
            rest = behind;
        }
        text.push_str(rest);
        text
    }

    /// What there is, a line each (M4).
    fn manifest(&self) -> String {
        let mut lines = String::new();
        for (tier, store) in self.memories.stores() {
            let folder = store.folder().display().to_string();
            let Ok(manifest) = store.manifest() else { continue };
            if manifest.is_empty() {
                continue;
            }
            let _ = writeln!(lines, "{tier}, in {folder}:");
            for line in manifest.lines() {
                if lines.len() + line.len() > self.limits.manifest_bytes {
                    lines.push_str("- …\n");
                    return lines;
                }
                let _ = writeln!(lines, "{}", data(line));
            }
        }
        if lines.is_empty() { "None yet.".to_owned() } else { lines }
    }

    /// The bodies of the memories that are near to what was said.
    fn near(&self) -> String {
        let words: Vec<&str> = self
            .said
            .iter()
            .flat_map(|said| &said.sentences)
            .map(|sentence| sentence.text.as_str())
            .collect();
        let query = words.join("\n");
        let mut shown = String::new();
        let mut seen = BTreeSet::new();
        for (_, store) in self.memories.stores() {
            for found in store.search(&query, self.limits.shown).unwrap_or_default() {
                let topic = found.topic;
                if topic.meta.superseded_by.is_some()
                    || seen.len() >= self.limits.shown
                    || !seen.insert(topic.file.clone())
                {
                    continue;
                }
                let body: String = topic.body.chars().take(self.limits.shown_bytes).collect();
                let _ = writeln!(shown, "<memory file=\"{}\">\n{}\n</memory>", topic.file, data(&body));
            }
        }
        if shown.is_empty() { "None.".to_owned() } else { shown }
    }

    /// The sentences that may be quoted.
    fn sentences(&self) -> String {
        let sentences = self.said.iter().flat_map(|said| &said.sentences);
        let lines: Vec<String> = sentences.map(|sentence| format!("- {}", sentence.text)).collect();
        if lines.is_empty() { "None.".to_owned() } else { lines.join("\n") }
    }
}

/// A text of memory as data: it closes no tag of ours.
fn data(text: &str) -> String {
    text.replace("</memory>", "<\\/memory>")
}

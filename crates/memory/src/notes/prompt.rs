//! The request for an update (N3, N4).

use super::fit::{KEPT_LONGEST, Over};
use super::limits::NotesLimits;
use super::template::{Wording, fill};
use serde::Deserialize;
use serde_json::Value;
use std::path::Path;
use throughline_core::{Flags, Message, Role, prompt};

const UPDATE: &str = include_str!("../../../../prompts/notes_update.md");
const BY_EDIT: &str = include_str!("../../../../prompts/notes_by_edit.md");
const AS_TEXT: &str = include_str!("../../../../prompts/notes_as_text.md");

/// Tools that replace a text in a file, by the names that clients give them, in the order of preference.
const EDIT_TOOLS: [&str; 10] = [
    "edit",
    "multiedit",
    "edit_file",
    "file_edit",
    "str_replace",
    "str_replace_editor",
    "str_replace_based_edit_tool",
    "replace",
    "replace_in_file",
    "search_replace",
];

/// How a model hands over new notes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Means {
    /// It calls this tool of its parent's.
    Edit {
        /// The tool's name.
        tool: String,
    },
    /// It writes them into its answer.
    Text,
}

impl Means {
    /// What the tools of a request allow: their `tools`, as any provider has them.
    pub fn of_tools(tools: &Value) -> Self {
        let tools = tools.as_array().map(Vec::as_slice).unwrap_or_default();
        let names: Vec<&str> = tools
            .iter()
            .filter_map(|tool| tool.get("name").or_else(|| tool.get("function")?.get("name"))?.as_str())
            .collect();
        let found = EDIT_TOOLS.iter().find_map(|known| names.iter().find(|name| is_called(name, known)));
        match found {
            Some(name) => Self::Edit { tool: (*name).to_owned() },
            None => Self::Text,
        }
    }

    /// What a request's body allows.
    pub fn of_request(body: &[u8]) -> Self {
        /// Everything else is skipped, not built.
        #[derive(Deserialize)]
        struct Offered {
            #[serde(default)]
            tools: Value,
        }
        serde_json::from_slice::<Offered>(body).map_or(Self::Text, |offered| Self::of_tools(&offered.tools))
    }
}

/// Whether a tool is one that edits files.
pub(super) fn edits(tool: &str) -> bool {
    EDIT_TOOLS.iter().any(|known| is_called(tool, known))
}

fn is_called(tool: &str, known: &str) -> bool {
    tool.eq_ignore_ascii_case(known)
}

/// Everything that a request for an update says.
pub struct Ask<'a> {
    /// The words.
    pub wording: &'a Wording,
    /// The notes as they are.
    pub notes: &'a str,
    /// Their file.
    pub path: &'a Path,
    /// How to hand over the new ones.
    pub means: &'a Means,
    /// Their limits.
    pub limits: &'a NotesLimits,
    /// What is over a limit.
    pub over: Option<&'a Over>,
}

impl Ask<'_> {
    /// The words of the request.
    pub fn to_text(&self) -> String {
        let path = self.path.display().to_string();
        let (section, total) = (self.limits.section_tokens.to_string(), self.limits.total_tokens.to_string());
        let tool = match self.means {
            Means::Edit { tool } => tool.as_str(),
            Means::Text => "",
        };
        let values = [
            ("currentNotes", self.notes.trim_end()),
            ("notesPath", path.as_str()),
            ("sectionTokens", section.as_str()),
            ("totalTokens", total.as_str()),
            ("editTool", tool),
        ];
        let source = self.wording.prompt.as_deref().unwrap_or(UPDATE);
        let words = prompt(source);
        let mut text = fill(words, &values);
        // A model that was not shown the notes cannot change them.
        if fill(words, &[("currentNotes", "")]) == words {
            text.push_str(&fill(
                "\n\n<current_notes_content>\n{{currentNotes}}\n</current_notes_content>",
                &values,
            ));
        }
        if let Some(over) = self.over {
            text.push_str("\n\n");
            text.push_str(&self.reminder(over));
        }
        let how = match self.means {
            Means::Edit { .. } => BY_EDIT,
            Means::Text => AS_TEXT,
        };
        text.push_str("\n\n");
        text.push_str(&fill(prompt(how), &values));
        text
    }

    /// The request, marked as not said by a person.
    pub fn to_message(&self) -> Message {
        let mut message = Message::text(Role::User, self.to_text());
        message.flags = Flags { meta: true, ..Flags::default() };
        message
    }

    fn reminder(&self, over: &Over) -> String {
        let mut lines = Vec::new();
        if let Some(total) = over.total {
            lines.push(format!(
                "The notes have {total} tokens, over their limit of {}: condense them first.",
                self.limits.total_tokens
            ));
        }
        if !over.sections.is_empty() {
            lines.push(format!("Over the limit of {} tokens a section:", self.limits.section_tokens));
            lines.extend(over.sections.iter().map(|(name, tokens)| format!("- \"{name}\": {tokens} tokens")));
        }
        let [state, errors] = KEPT_LONGEST;
        lines.push(format!(
            "Shorten by dropping old detail and merging what repeats, but keep \"{state}\" and \"{errors}\" complete. What is over a limit afterwards is cut off."
        ));
        lines.join("\n")
    }
}

/// New notes in the words of an answer: what stands between the tags.
pub(super) fn notes_in(answer: &str) -> Option<&str> {
    let (_, rest) = answer.split_once("<notes>")?;
    let (notes, _) = rest.rsplit_once("</notes>")?;
    (!notes.trim().is_empty()).then_some(notes)
}

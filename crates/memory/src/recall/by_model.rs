//! A model chooses among memories (M7).

use super::frame::harmless;
use super::select::{ByRank, SelectedBy, Selection, Selector};
use super::{Ask, Candidate};
use crate::memories::MemoryId;
use serde_json::Value;
use std::fmt::Write as _;
use throughline_core::cost::Price;
use throughline_core::text::head;
use throughline_core::{Message, Role};
use throughline_model::{
    BoxFuture, CancelToken, Caps, Delivery, End, Fork, Model, NoTools, Prefix, Receipt, Tail, body,
};
use throughline_wire::Request;

const PROMPT: &str = include_str!("../../../../prompts/recall_select.md");

/// Bytes of the request that the model sees.
const REQUEST_BYTES: usize = 6_000;
/// Memories in the list.
const MOST_LISTED: usize = 200;
/// Characters of a line of it.
const LINE: usize = 240;
/// Tools that are named.
const MOST_TOOLS: usize = 20;
/// Tokens of the answer: five names, and room for a model that thinks aloud.
const ANSWER_TOKENS: u64 = 512;

/// Asks a model which of the candidates help. Whatever goes wrong (no answer, no JSON, a limit), rank chooses instead.
pub struct ByModel<'a> {
    /// Who is asked.
    pub model: &'a dyn Model,
    /// What it may take; [`ByModel::caps`] are enough.
    pub caps: Caps,
    /// What it costs.
    pub price: &'a Price,
    /// Stops it; rank chooses then.
    pub cancel: CancelToken,
}

impl ByModel<'_> {
    /// Caps for one short answer that somebody waits for.
    pub fn caps() -> Caps {
        Caps { turns: 1, input_tokens: 40_000, output_tokens: 2_048, dollars: 0.05, seconds: 10 }
    }

    async fn ask(&self, prompt: String) -> (Result<String, String>, Option<Receipt>) {
        let mut request = Request::new(self.model.wire(), self.model.id());
        request.messages.clear();
        let sent = body(&request, Delivery::Streamed);
        let prefix = match Prefix::new(self.model.wire(), sent.to_vec()) {
            Ok(prefix) => prefix,
            Err(error) => return (Err(error.to_string()), None),
        };
        let fork = Fork {
            job: "recall",
            model: self.model,
            prefix: &prefix,
            since: &[],
            ask: Message::text(Role::User, prompt),
            caps: &self.caps,
            price: self.price,
            tail: Tail { max_output: Some(ANSWER_TOKENS), without_thinking: true, ..Tail::default() },
            cancel: self.cancel.clone(),
        };
        let forked = fork.run(&mut NoTools).await;
        let answer = match forked.end {
            End::Done | End::Capped(_) => Ok(forked.text),
            End::Failed(error) => Err(error.to_string()),
            End::Cancelled => Err("it was cancelled".to_owned()),
        };
        (answer, Some(forked.receipt))
    }
}

impl Selector for ByModel<'_> {
    fn select<'a>(&'a self, candidates: &'a [Candidate], ask: &'a Ask<'a>) -> BoxFuture<'a, Selection> {
        Box::pin(async move {
            if candidates.is_empty() {
                return Selection::default();
            }
            let (answer, receipt) = self.ask(prompt(candidates, ask)).await;
            match answer.and_then(|text| chosen(&text, candidates)) {
                Ok(mut ids) => {
                    ids.truncate(ask.limits.most);
                    Selection { ids, by: SelectedBy::Model, receipt, trouble: None }
                }
                Err(why) => {
                    let trouble = Some(format!("the model's choice of memories was not taken: {why}"));
                    Selection { receipt, trouble, ..ByRank::choose(candidates, ask) }
                }
            }
        })
    }

    fn wants_all(&self) -> bool {
        true
    }
}

/// What the model is asked.
fn prompt(candidates: &[Candidate], ask: &Ask<'_>) -> String {
    let mut memories = String::new();
    for one in candidates.iter().take(MOST_LISTED) {
        let kind = one.head.kind.map(|kind| format!("[{kind}] ")).unwrap_or_default();
        let line = format!("{kind}{}: {}. {}", one.id, one.head.name, one.head.description);
        // Writing to a string can't fail.
        let _ = writeln!(memories, "- {}", one_line(&line));
    }
    let mut tools: Vec<&str> = ask.tools.iter().rev().take(MOST_TOOLS).map(String::as_str).collect();
    tools.dedup();
    let tools = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
    throughline_core::prompt(PROMPT)
        .replace("{{most}}", &ask.limits.most.to_string())
        .replace("{{tools}}", &one_line(&tools))
        // Last, for what they hold is not ours.
        .replace(
            "{{request}}",
            &harmless(head(ask.text, REQUEST_BYTES)).replace("{{memories}}", "{{ memories }}"),
        )
        .replace("{{memories}}", memories.trim_end())
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    harmless(&words.join(" ").chars().take(LINE).collect::<String>())
}

/// The candidates that an answer names; an error if it names none in a way that can be read. Names that are not among the candidates
/// are passed over.
fn chosen(answer: &str, candidates: &[Candidate]) -> Result<Vec<MemoryId>, String> {
    let names = names(answer).ok_or_else(|| "its answer holds no list of memories".to_owned())?;
    let mut ids: Vec<MemoryId> = Vec::new();
    for name in names {
        let name = name.trim().trim_start_matches("./").trim_matches(['`', '"', '\'']);
        let is_whole = |one: &&Candidate| one.id.to_string() == name;
        let is_file = |one: &&Candidate| {
            one.id.file.eq_ignore_ascii_case(name) || one.id.file.trim_end_matches(".md") == name
        };
        let found = candidates.iter().find(is_whole).or_else(|| candidates.iter().find(is_file));
        if let Some(one) = found.filter(|one| !ids.contains(&one.id)) {
            ids.push(one.id.clone());
        }
    }
    Ok(ids)
}

/// The names in an answer: of `{"selected_memories": […]}` wherever it stands, or of a bare list.
fn names(answer: &str) -> Option<Vec<String>> {
    let starts = answer.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).map(|(at, _)| at);
    let mut bare = None;
    for at in starts.take(200) {
        let mut values = serde_json::Deserializer::from_str(&answer[at..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(Value::Object(fields))) => {
                if let Some(list) = fields.get("selected_memories").and_then(Value::as_array) {
                    return Some(list.iter().filter_map(name).collect());
                }
            }
            Some(Ok(Value::Array(list))) if bare.is_none() => {
                let names: Vec<String> = list.iter().filter_map(name).collect();
                bare = (names.len() == list.len()).then_some(names);
            }
            Some(Ok(_) | Err(_)) | None => {}
        }
    }
    bare
}

fn name(value: &Value) -> Option<String> {
    let text = match value {
        Value::Object(fields) => {
            ["file", "filename", "name", "id"].iter().find_map(|key| fields.get(*key))?
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => value,
    };
    text.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn m7_answers_are_read_leniently() {
        for answer in [
            r#"{"selected_memories": ["a.md", "b.md"]}"#,
            "Sure!\n```json\n{\"selected_memories\": [\"a.md\", \"b.md\"]}\n```\nThese help.",
            r#"["a.md", "b.md"]"#,
            r#"{"thinking": [1], "selected_memories": [{"file": "a.md"}, {"name": "b.md"}, 7]}"#,
        ] {
            assert_eq!(names(answer), Some(vec!["a.md".to_owned(), "b.md".to_owned()]), "{answer}");
        }
        assert_eq!(names(r#"{"selected_memories": []}"#), Some(Vec::new()));
        for answer in ["", "none of them", r#"{"memories": "a.md"}"#, r#"{"selected_memories": "#] {
            assert_eq!(names(answer), None, "{answer}");
        }
    }
}

//! Attachments: what the client puts beside the conversation. Those that a model was shown become messages.

use super::ClaudeImporter;
use super::author::who_typed;
use super::lane::Placing;
use super::line::Line;
use crate::import::outcome::{LineOutcome, Output};
use crate::import::session::shorten;
use serde_json::Value;
use throughline_core::{Block, Message, Role};
use throughline_wire::anthropic;

impl ClaudeImporter {
    pub(super) fn attachment(
        &mut self,
        record: Line<'_>,
        place: &mut Placing,
        out: &mut Vec<Output>,
    ) -> (LineOutcome, Option<u32>) {
        let Some(attachment) = record.attachment else {
            return (LineOutcome::Skipped("attachment: none".into()), None);
        };
        let kind = attachment.r#type.or_empty();
        let rendered = if record.rendered.is_null() { attachment.rendered } else { record.rendered };
        let role = record.rendered_role.get().or(attachment.rendered_role.get()).and_then(role);
        let mut message = place.message(role.unwrap_or(Role::User));
        message.flags.meta = true;
        if let (Some(_), Some((blocks, bare))) = (role, legible(rendered)) {
            message.blocks = blocks;
            message.bare = bare;
        } else {
            match kind {
                // Typed while the model was at work; it was told at the next opportunity.
                "queued_command" => {
                    if let Some((blocks, bare)) = legible(attachment.prompt) {
                        message.blocks = blocks;
                        message.bare = bare;
                    }
                }
                "hook_additional_context" => {
                    let texts: Vec<&str> = match attachment.content.as_array() {
                        Some(texts) => texts.iter().filter_map(Value::as_str).collect(),
                        None => attachment.content.as_str().into_iter().collect(),
                    };
                    message.blocks = vec![Block::text(texts.join("\n"))];
                }
                "edited_text_file" => {
                    if let (Some(name), Some(snippet)) = (attachment.filename.get(), attachment.snippet.get())
                    {
                        message.blocks = vec![Block::text(format!("{name}\n{snippet}"))];
                    }
                }
                _ => {}
            }
        }
        if kind == "queued_command"
            && who_typed(&attachment.origin, &record.turn_origin, record.prompt_source.get()) == Some(true)
        {
            message.flags.meta = false;
            message.flags.typed = true;
        }
        if !says_something(&message) {
            return (LineOutcome::Skipped(format!("attachment: {}", shorten(kind, 40)).into()), None);
        }
        let node = self.lanes[place.lane as usize].say(message, place, out);
        (LineOutcome::Imported, Some(node))
    }

    /// A command of the client itself; the model is told what it printed.
    pub(super) fn local_command(
        &mut self,
        record: &Line<'_>,
        place: &mut Placing,
        out: &mut Vec<Output>,
    ) -> (LineOutcome, Option<u32>) {
        let Some(text) = record.content.get() else {
            return (LineOutcome::Skipped("system: local_command".into()), None);
        };
        let mut message = place.message(Role::User);
        message.blocks = vec![Block::text(text)];
        message.bare = true;
        message.flags.meta = true;
        let node = self.lanes[place.lane as usize].say(message, place, out);
        (LineOutcome::Imported, Some(node))
    }
}

fn role(name: &str) -> Option<Role> {
    match name {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "system" => Some(Role::System),
        _ => None,
    }
}

/// Content in one of the forms it has on the wire: a string, blocks, or messages that hold them.
fn legible(content: Value) -> Option<(Vec<Block>, bool)> {
    match content {
        Value::String(_) => Some(anthropic::decode_content(content)),
        Value::Array(items) => {
            let blocks = items.into_iter().flat_map(|item| match item {
                Value::String(text) => vec![Block::text(text)],
                // A message without its role, which stands beside it.
                Value::Object(object) if !object.contains_key("type") && object.contains_key("content") => {
                    legible(Value::Object(object)).map(|(blocks, _)| blocks).unwrap_or_default()
                }
                item @ (Value::Null
                | Value::Bool(_)
                | Value::Number(_)
                | Value::Array(_)
                | Value::Object(_)) => anthropic::decode_content(Value::Array(vec![item])).0,
            });
            Some((blocks.collect(), false))
        }
        Value::Object(mut object) => object.remove("content").and_then(legible),
        Value::Null | Value::Bool(_) | Value::Number(_) => None,
    }
}

fn says_something(message: &Message) -> bool {
    message.blocks.iter().any(|block| !block.is_empty() && !block.to_text().trim().is_empty())
}

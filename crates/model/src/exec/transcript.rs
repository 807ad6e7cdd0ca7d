//! A conversation in words, for commands that take a prompt.

use throughline_core::{Block, Body, Message, Role};
use throughline_wire::Request;

/// The system prompt, then each message under its role. A conversation of one user message and nothing else is its words.
pub(super) fn render(request: &Request) -> String {
    let system = request.system().filter(|system| !system.is_empty());
    if let (None, [message]) = (&system, request.messages.as_slice())
        && message.role == Role::User
    {
        return words(message);
    }
    let mut out = String::new();
    if let Some(system) = system {
        section(&mut out, "System", &system);
    }
    for message in &request.messages {
        let words = words(message);
        if !words.is_empty() && !message.flags.display_only {
            section(&mut out, title(message.role), &words);
        }
    }
    out
}

fn section(out: &mut String, title: &str, words: &str) {
    out.push_str(&format!("## {title}\n\n{}\n\n", words.trim_end()));
}

fn title(role: Role) -> &'static str {
    match role {
        Role::User => "User",
        Role::Assistant => "Assistant",
        Role::System | Role::Developer => "System",
        Role::Tool => "Tool",
    }
}

fn words(message: &Message) -> String {
    let blocks: Vec<String> = message.blocks.iter().filter_map(said).collect();
    blocks.join("\n\n")
}

/// A block in words. Reasoning belongs to the model that had it.
fn said(block: &Block) -> Option<String> {
    let text = match &block.body {
        Body::Text(text) => text.clone(),
        Body::ToolCall(call) => format!("[calls {} with {}]", call.name, call.input.to_text()),
        Body::ToolResult(result) => format!("[result]\n{}", result.content.to_text()),
        Body::Image(_) => "[image]".to_owned(),
        Body::Document(_) => "[document]".to_owned(),
        Body::Reasoning { .. } | Body::Unknown(_) => return None,
    };
    if text.trim().is_empty() { None } else { Some(text) }
}

//! Spans: the bytes of a text block by their kind, from its tags, its leads and the shape of the rest.

use super::elements::{self, Element, Lifetime, Names};
use super::paste::{self, Piece, Split};
use super::table::{self, Leads};
use super::{PartKind, lines, voice};
use crate::compaction::is_handed_over;
use crate::{Message, Role};
use std::ops::Range;

/// What Claude Code puts between the file of a command and what was typed behind the command.
const ARGUMENTS: &str = "\n\nARGUMENTS: ";

/// Bytes of a text with their kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) range: Range<usize>,
    pub(super) kind: PartKind,
    pub(super) lifetime: Lifetime,
    /// A document without a request of its own.
    pub(super) is_document: bool,
}

impl Span {
    fn new(range: Range<usize>, kind: PartKind) -> Self {
        Self { range, kind, lifetime: Lifetime::of_kind(kind), is_document: false }
    }

    fn whole(text: &str, kind: PartKind) -> Self {
        Self::new(0..text.len(), kind)
    }
}

/// The spans of a text block.
pub(super) fn spans(message: &Message, text: &str) -> Vec<Span> {
    let flags = &message.flags;
    match message.role {
        Role::Tool => return vec![Span::whole(text, PartKind::ToolResult)],
        Role::User if flags.typed => return typed_spans(text, 0, true),
        Role::User if flags.summary || is_handed_over(message) => {
            return vec![Span::whole(text, PartKind::Harness)];
        }
        Role::User | Role::System | Role::Developer | Role::Assistant => {}
    }
    // Each of several messages that were typed while the model was at work is one.
    if let Some(next) = second_queued(text) {
        let mut found = spans(message, &text[..next]);
        found.extend(
            spans(message, &text[next..])
                .into_iter()
                .map(|span| Span { range: span.range.start + next..span.range.end + next, ..span }),
        );
        return found;
    }
    // A text of the client may hold tags of any kind.
    if let Some(lead) = Leads::find(text).filter(|lead| message.role == Role::User && lead.end == text.len())
    {
        return file_spans(text, 0..text.len(), lead.kind);
    }
    if message.role == Role::User && flags.meta && is_file_text(text) {
        let kind = if lines::is_document(text) { PartKind::InstructionFile } else { PartKind::Harness };
        return file_spans(text, 0..text.len(), kind);
    }
    let layout = Layout::of(text);
    let is_mixed = layout.is_mixed(text);
    let mut spans: Vec<Span> = Vec::new();
    // A brief in sections: what stands beside a task belongs to it, if no client is known to say it.
    let is_brief = !is_mixed
        && message.role == Role::User
        && layout.found.iter().any(|element| element.names().kind == Some(PartKind::AgentTask));
    for element in &layout.found {
        if is_brief && !element.names().is_known {
            spans.push(Span::new(element.range.clone(), PartKind::AgentTask));
        } else {
            spans.extend(element_spans(message, text, element, is_mixed));
        }
    }
    for range in layout.outside {
        spans.extend(untagged_spans(message, text, range));
    }
    spans.sort_by_key(|span| span.range.start);
    spans.push(Span::new(layout.end..text.len(), PartKind::Harness));
    joined(spans)
}

/// The elements of a text and the ranges that none covers, up to what the client put behind everything.
pub(super) struct Layout<'a> {
    pub(super) found: Vec<Element<'a>>,
    pub(super) outside: Vec<Range<usize>>,
    end: usize,
}

impl<'a> Layout<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let mut found = elements::find(text);
        let is_outside = |at: &usize| !found.iter().any(|element| element.range.contains(at));
        let end = Leads::around(text).behind.filter(is_outside).unwrap_or(text.len());
        found.retain(|element| element.range.start < end);
        let mut at = 0;
        let mut outside = Vec::new();
        for element in &found {
            outside.push(at..element.range.start);
            at = element.range.end;
        }
        outside.push(at..end);
        outside.retain(|range| !range.is_empty());
        Self { found, outside, end }
    }

    /// Returns true if there are words outside of the elements.
    pub(super) fn is_mixed(&self, text: &str) -> bool {
        self.outside.iter().any(|range| has_words(&text[range.clone()]))
    }
}

pub(super) fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

fn element_spans(message: &Message, text: &str, element: &Element<'_>, is_mixed: bool) -> Vec<Span> {
    let inner = &text[element.inner.clone()];
    let Names { kind, lifetime, is_known } = element.names();
    let kind = match (kind, message.role) {
        // The files of commands and skills have tags of their own.
        (_, Role::User) if message.flags.meta && !is_known => PartKind::InstructionFile,
        (Some(PartKind::Reminder), _) if is_queued(inner) => PartKind::TypedRequest,
        (Some(PartKind::Reminder), _) => Leads::kind_of(inner).unwrap_or(PartKind::Reminder),
        // A status in the form of data is no task.
        (Some(PartKind::AgentTask), _) if is_data(inner) => PartKind::Harness,
        (Some(PartKind::TypedRequest), _) if !has_words(inner) => PartKind::Harness,
        (Some(PartKind::AgentTask), Role::User)
            if element.name == "task" && text.contains("<environment_details>") =>
        {
            PartKind::TypedRequest
        }
        (Some(PartKind::AgentTask) | None, Role::User) if is_mixed && !is_known => PartKind::PastedMaterial,
        (Some(kind), _) => kind,
        (None, Role::User) if lines::is_prose(inner) || lines::is_prose(&elements::without_tags(inner)) => {
            PartKind::AgentTask
        }
        (None, Role::User) => PartKind::Harness,
        (None, _) => PartKind::Reminder,
    };
    match kind {
        PartKind::TypedRequest => {
            let mut spans = vec![Span::new(element.range.start..element.inner.start, PartKind::Harness)];
            let end = Leads::around(inner).behind.unwrap_or(inner.len());
            spans.extend(typed_spans(&inner[..end], element.inner.start, false));
            spans.push(Span::new(element.inner.start + end..element.range.end, PartKind::Harness));
            spans
        }
        PartKind::PastedMaterial
        | PartKind::AgentTask
        | PartKind::Harness
        | PartKind::LocalCommandOutput
        | PartKind::InstructionFile
        | PartKind::Reminder
        | PartKind::ToolResult => {
            let lifetime = lifetime.unwrap_or_else(|| Lifetime::of_kind(kind));
            let whole = Span { lifetime, ..Span::new(element.range.clone(), kind) };
            match held_ask(inner).filter(|_| kind == PartKind::Harness) {
                Some((asked, asks)) => {
                    let asked = element.inner.start + asked.start..element.inner.start + asked.end;
                    vec![
                        Span::new(element.range.start..asked.start, kind),
                        Span::new(asked.clone(), asks),
                        Span::new(asked.end..element.range.end, kind),
                    ]
                }
                None => vec![whole],
            }
        }
    }
}

/// Returns true for words that the person typed while the model was at work, as clients hand them on.
pub(super) fn is_queued(text: &str) -> bool {
    table::is_in("queued", crate::text::head(text.trim_start(), QUEUED_HEAD))
}

/// How far into a text it is looked for.
const QUEUED_HEAD: usize = 200;

/// Where the second message begins of those that were typed while the model was at work.
fn second_queued(text: &str) -> Option<usize> {
    if !is_queued(text) {
        return None;
    }
    let mut starts = text.match_indices('\n').map(|(at, _)| at + 1);
    let first = text.len() - text.trim_start().len();
    starts.find(|at| *at > first && !text[*at..].starts_with('\n') && is_queued(&text[*at..]))
}

/// The words that a client says the person typed during a tool call, where it puts them behind the result. A tool can forge this, so
/// they are told, but they bind nobody.
pub(crate) fn said_behind_result(text: &str) -> Option<&str> {
    const READ: usize = 8_000;
    const OPEN: &str = "<system-reminder>\n";
    let end = crate::text::tail(text, READ);
    let said = end.split(OPEN).skip(1).filter(|part| is_queued(part)).last()?.split_once(":\n")?.1;
    let said = said.split("</system-reminder>").next().unwrap_or(said);
    let words = &said[..Leads::around(said).behind.unwrap_or(said.len())];
    Some(words.trim()).filter(|words| !words.is_empty())
}

/// What is asked inside of a text of the client: the goal that the person set, or what another agent asks for with its result.
fn held_ask(text: &str) -> Option<(Range<usize>, PartKind)> {
    const LONGEST_RESULT: usize = 2_000;
    let held = |name: &str| {
        let start = text.find(&format!("<{name}>"))? + name.len() + 2;
        let end = text.rfind(&format!("</{name}>")).filter(|end| *end > start)?;
        Some(start..end)
    };
    if let Some(goal) = held("objective").or_else(|| held("untrusted_objective")) {
        return Some((goal, PartKind::TypedRequest));
    }
    let result = held("result").filter(|result| result.len() <= LONGEST_RESULT)?;
    let last = text[result.clone()].trim_end().rsplit("\n\n").next()?;
    table::is_in("peer_request", last).then_some((result, PartKind::AgentTask))
}

/// The text of a command's file, with what was typed behind the command wherever the file puts it.
pub(super) fn command_file_spans(text: &str, arguments: Option<&str>) -> Vec<Span> {
    let kind = PartKind::InstructionFile;
    let Some(typed) = arguments.and_then(|typed| Some(text.rfind(typed)?..text.rfind(typed)? + typed.len()))
    else {
        return file_spans(text, 0..text.len(), kind);
    };
    let spans = [
        Span::new(0..typed.start, kind),
        Span::new(typed.clone(), PartKind::TypedRequest),
        Span::new(typed.end..text.len(), kind),
    ];
    joined(spans.to_vec())
}

/// Returns true for the text of a command's file, which the client sends behind the command without a tag of its own.
pub(super) fn is_file_text(text: &str) -> bool {
    let begins_known = elements::find(text)
        .first()
        .is_some_and(|first| first.names().is_known && text[..first.range.start].trim().is_empty());
    let kind = Leads::kind_of(text).unwrap_or(PartKind::InstructionFile);
    kind == PartKind::InstructionFile && !begins_known
}

/// A text of the client, and of a file that it loaded what was typed behind the command that loaded it.
fn file_spans(text: &str, range: Range<usize>, kind: PartKind) -> Vec<Span> {
    let arguments = text[range.clone()].rfind(ARGUMENTS).map(|at| range.start + at + ARGUMENTS.len());
    let is_typed = |at: &usize| kind == PartKind::InstructionFile && has_words(&text[*at..range.end]);
    match arguments.filter(is_typed) {
        Some(at) => vec![Span::new(range.start..at, kind), Span::new(at..range.end, PartKind::TypedRequest)],
        None => vec![Span::new(range, kind)],
    }
}

/// The kind of a system or developer text that nothing else tells. Clients put their own prompts and states there; Codex also puts
/// there, as short developer messages, what hooks say.
fn system_kind(message: &Message, text: &str) -> PartKind {
    const HOOK: usize = 2_500;
    let text = text.trim_start();
    let is_prompt = text.starts_with("# ") || text.starts_with("You are");
    match message.role == Role::Developer && text.len() <= HOOK && !is_prompt {
        true => PartKind::Harness,
        false => PartKind::Reminder,
    }
}

/// Text that stands outside of all elements.
fn untagged_spans(message: &Message, text: &str, range: Range<usize>) -> Vec<Span> {
    let Range { mut start, end } = range;
    let mut spans = Vec::new();
    let is_system = message.role == Role::System || message.role == Role::Developer;
    if is_system && !is_queued(&text[start..end]) {
        // Beside elements of the client stands what the client says.
        let is_whole = start == 0 && end == text.len();
        let other = if is_whole { system_kind(message, text) } else { PartKind::Reminder };
        let found = Leads::of_paragraphs(&text[start..end], other);
        if !has_words(&text[start..end]) || found.is_empty() {
            return vec![Span::new(start..end, PartKind::Harness)];
        }
        let spans = found.into_iter();
        return spans.map(|(range, kind)| Span::new(start + range.start..start + range.end, kind)).collect();
    }
    while start < end {
        let piece = &text[start..end];
        if !has_words(piece) {
            // White space and marks between elements belong to what is before them.
            spans.push(Span::new(start..end, PartKind::Harness));
            break;
        }
        if let Some(lead) = Leads::find(piece) {
            let until = start + lead.end;
            spans.extend(file_spans(text, start..until, lead.kind));
            start = until;
            continue;
        }
        match message.role {
            Role::Tool | Role::Assistant => spans.push(Span::new(start..end, PartKind::ToolResult)),
            Role::User if message.flags.meta => {
                spans.extend(file_spans(text, start..end, PartKind::InstructionFile));
            }
            Role::User | Role::System | Role::Developer => spans.extend(typed_spans(piece, start, false)),
        }
        break;
    }
    spans
}

/// Text in the person's own place: the request, what was pasted beside it, and what the client put before them.
fn typed_spans(text: &str, offset: usize, is_typed: bool) -> Vec<Span> {
    let start = if is_typed { 0 } else { Leads::around(text).before };
    let mut spans = envelope_spans(&text[..start], offset);
    let (body, offset) = (&text[start..], offset + start);
    if !is_typed && voice::is_delegated(body) {
        spans.push(Span::new(offset..offset + body.len(), PartKind::AgentTask));
        return spans;
    }
    let Split { pieces, is_document } = paste::split(body);
    for Piece { range, is_pasted } in pieces {
        let kind = if is_pasted { PartKind::PastedMaterial } else { PartKind::TypedRequest };
        let range = range.start + offset..range.end + offset;
        spans.push(Span { is_document, ..Span::new(range, kind) });
    }
    spans
}

/// What a client put before the person's words: its own context, and what the person attached (comments on a diff, a selection).
fn envelope_spans(text: &str, offset: usize) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    let mut at = offset;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let kind = match (
            line.starts_with("# "),
            line.starts_with("## ") && table::is_in("boundary_inside", line.trim_end()),
        ) {
            (true, _) if table::is_in("attached_heading", line.trim_end()) => PartKind::PastedMaterial,
            (true, _) | (_, true) => PartKind::Harness,
            (false, false) => spans.last().map_or(PartKind::Harness, |span| span.kind),
        };
        spans.push(Span::new(range, kind));
    }
    joined(spans)
}

/// Neighbours of one kind as one, except elements that hold each for themselves; white space joins what is before it.
fn joined(spans: Vec<Span>) -> Vec<Span> {
    let mut joined: Vec<Span> = Vec::new();
    for span in spans.into_iter().filter(|span| !span.range.is_empty()) {
        match joined.last_mut() {
            Some(last)
                if last.kind == span.kind
                    && last.lifetime == Lifetime::Once
                    && span.lifetime == Lifetime::Once =>
            {
                last.range.end = span.range.end;
            }
            Some(_) | None => joined.push(span),
        }
    }
    joined
}

/// Returns true for one value of JSON.
pub(super) fn is_data(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('{') && text.ends_with('}')
}

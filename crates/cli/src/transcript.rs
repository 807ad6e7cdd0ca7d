//! A session as people read it.

use crate::output::{bold, cyan, dim, green, magenta, red, yellow};
use crate::times;
use std::io::Write;
use throughline_core::{
    Block, Body, Checkpoint, Edit, Fragment, GroupId, Item, Message, Op, Record, ResultContent, Role,
    Speaker, ToolResult,
};

/// How much to print.
#[derive(Clone, Copy)]
pub(crate) struct Style {
    /// Long tool results, reasoning and scaffold in full.
    pub(crate) full: bool,
    /// Message ids, for `fork --at`.
    pub(crate) ids: bool,
    /// What stands before a heading.
    pub(crate) heading: &'static str,
}

const FOLD_LINES: usize = 12;
const FOLD_CHARS: usize = 1_200;

/// Prints a session message by message; records of one answer stand under one heading.
pub(crate) struct Transcript<W> {
    out: W,
    style: Style,
    last: Option<(&'static str, Option<GroupId>)>,
}

impl<W: Write> Transcript<W> {
    pub(crate) fn new(out: W, style: Style) -> Self {
        Self { out, style, last: None }
    }

    /// Where it prints to.
    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    pub(crate) fn record(&mut self, record: &Record) -> std::io::Result<()> {
        match record {
            Record::Message(message) => self.message(message),
            Record::Edit(edit) => self.edit(edit),
            Record::Checkpoint(checkpoint) => self.checkpoint(checkpoint),
            Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Card(_) => Ok(()),
        }
    }

    pub(crate) fn message(&mut self, message: &Message) -> std::io::Result<()> {
        let (who, paint) = speaker(message);
        let goes_on = self.last.as_ref().is_some_and(|(last, group)| {
            *last == who && (who == RESULTS || (group.is_some() && *group == message.group))
        });
        if !goes_on {
            if self.last.is_some() {
                writeln!(self.out)?;
            }
            let when = message.at.map(times::local).unwrap_or_default();
            writeln!(self.out, "{}{} {}", self.style.heading, bold(paint(who)), dim(when))?;
        }
        self.last = Some((who, message.group.clone()));
        if self.style.ids {
            writeln!(self.out, "  {}", dim(&message.id))?;
        }
        for block in &message.blocks {
            self::block(&mut self.out, block, message, self.style)?;
        }
        Ok(())
    }

    fn edit(&mut self, edit: &Edit) -> std::io::Result<()> {
        let what: Vec<String> = edit
            .ops
            .iter()
            .map(|op| match op {
                Op::Replace { message, .. } => format!("a block of {message} replaced"),
                Op::Remove { messages } => format!("{} message(s) taken out", messages.len()),
                Op::Fold { first, last, .. } => format!("{first} to {last} folded"),
                Op::Rewind { to: Some(to) } => format!("back to {to}"),
                Op::Rewind { to: None } => "back to the beginning".to_owned(),
                Op::Pin { messages } => format!("{} message(s) pinned", messages.len()),
                Op::Unpin { messages } => format!("{} message(s) no longer pinned", messages.len()),
                Op::Undo { edit } => format!("{edit} undone"),
            })
            .collect();
        let by = format!("{:?}", edit.stage).to_lowercase();
        self.line(format!("── {by}: {}  [{}]", what.join(", "), edit.id))
    }

    fn checkpoint(&mut self, checkpoint: &Checkpoint) -> std::io::Result<()> {
        let kept = checkpoint.items.iter().filter(|item| matches!(item, Item::Keep { .. })).count();
        self.line(format!(
            "━━ compacted ({}), {kept} message(s) kept  [{}]",
            checkpoint.strategy, checkpoint.id
        ))?;
        for item in &checkpoint.items {
            if let Item::New(new) = item {
                self.message(new)?;
            }
        }
        Ok(())
    }

    fn line(&mut self, text: String) -> std::io::Result<()> {
        if self.last.is_some() {
            writeln!(self.out)?;
        }
        self.last = Some(("", None));
        writeln!(self.out, "{}", yellow(text))
    }
}

const RESULTS: &str = "Results";

fn speaker(message: &Message) -> (&'static str, fn(&'static str) -> String) {
    match message.role {
        Role::User if message.flags.summary => ("Summary", yellow),
        Role::User if message.is_real_user() => ("You", green),
        Role::User if message.results().next().is_some() => (RESULTS, dim),
        Role::User => ("Client", dim),
        Role::Assistant => ("Assistant", cyan),
        Role::System => ("System", dim),
        Role::Developer => ("Developer", dim),
        Role::Tool => (RESULTS, dim),
    }
}

fn block(out: &mut impl Write, block: &Block, message: &Message, style: Style) -> std::io::Result<()> {
    match &block.body {
        Body::Text(text) => {
            let scaffold = message.flags.meta
                || matches!(message.role, Role::System | Role::Developer)
                || (!message.flags.typed && Fragment::recognise(Speaker::User, text).is_some());
            if scaffold {
                folded(out, text, style, dim)
            } else {
                indented(out, &message.text_of(block), |line| line.to_owned())
            }
        }
        Body::Reasoning { text, .. } if text.is_empty() => writeln!(out, "  {}", dim("(reasoning, sealed)")),
        Body::Reasoning { text, .. } => folded(out, text, style, dim),
        Body::ToolCall(call) => {
            let input = call.input.to_text();
            writeln!(
                out,
                "  {} {}",
                magenta(format!("→ {}", call.name)),
                dim(crate::output::fit(&input, 160))
            )?;
            if style.full { folded(out, &input, style, dim) } else { Ok(()) }
        }
        Body::ToolResult(result) => self::result(out, result, style),
        Body::Image(_) => writeln!(out, "  {}", dim("[image]")),
        Body::Document(_) => writeln!(out, "  {}", dim("[document]")),
        Body::Unknown(raw) => {
            let kind = raw.get("type").and_then(|kind| kind.as_str()).unwrap_or("unknown");
            writeln!(out, "  {}", dim(format!("[{kind}]")))?;
            if style.full { folded(out, &raw.to_string(), style, dim) } else { Ok(()) }
        }
    }
}

fn result(out: &mut impl Write, result: &ToolResult, style: Style) -> std::io::Result<()> {
    let mark = if result.is_error == Some(true) { red("✗") } else { green("✓") };
    writeln!(out, "  {mark} {}", dim(&result.call))?;
    folded(out, &result.content.to_text(), style, dim)?;
    if let ResultContent::Parts(parts) = &result.content {
        let pictures = parts.iter().filter(|part| matches!(part.body, Body::Image(_))).count();
        if pictures > 0 {
            writeln!(out, "  {}", dim(format!("[{pictures} image(s)]")))?;
        }
    }
    Ok(())
}

fn indented(out: &mut impl Write, text: &str, paint: impl Fn(&str) -> String) -> std::io::Result<()> {
    for line in text.lines() {
        writeln!(out, "  {}", paint(line))?;
    }
    Ok(())
}

fn folded(
    out: &mut impl Write,
    text: &str,
    style: Style,
    paint: fn(String) -> String,
) -> std::io::Result<()> {
    let lines = text.lines().count();
    if style.full || (lines <= FOLD_LINES && text.len() <= FOLD_CHARS) {
        return indented(out, text, |line| paint(line.to_owned()));
    }
    let mut shown = 0;
    let mut chars = 0;
    for line in text.lines().take(FOLD_LINES / 2) {
        let cut: String = line.chars().take(FOLD_CHARS - chars).collect();
        chars += cut.chars().count();
        writeln!(out, "  {}", paint(cut))?;
        shown += 1;
        if chars >= FOLD_CHARS {
            break;
        }
    }
    let rest = lines - shown;
    let more =
        if rest > 0 { format!("{rest} more lines") } else { format!("{} characters in all", text.len()) };
    writeln!(out, "  {}", dim(format!("⋮ {more} (--full shows them)")))
}

//! The commands that append one line to a ledger.

use crate::context::Context;
use crate::outln;
use crate::output;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_core::{EditId, MessageId, Record};
use throughline_ledger::{resume, session};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions fork 7c1f3a52\n  throughline sessions fork 7c1f3a52 --at 0b1c2d3e"
)]
pub(crate) struct Fork {
    /// The session: its id or a unique beginning of it.
    session: String,
    /// The last message to take over [default: the newest].
    #[arg(long, value_name = "MESSAGE")]
    at: Option<String>,
}

impl Fork {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let at = self.at.map(|at| whole_id(context, &path, &at)).transpose()?;
        let writer = session::fork(&context.home, &path, at.as_ref(), context.now())?;
        let id = writer.card().session.clone();
        let messages = resume(&context.home, writer.path())?.view.entries().len();
        let id = id.map(|id| id.to_string()).unwrap_or_default();
        tell(
            context,
            json!({ "session": id, "path": writer.path(), "messages": messages }),
            &format!("{id} goes on from there with {}.", output::count(messages as u64, "message")),
        )
    }
}

/// The message whose id is this or alone begins so.
fn whole_id(context: &Context, path: &std::path::Path, beginning: &str) -> anyhow::Result<MessageId> {
    let mut found: Vec<MessageId> = Vec::new();
    session::each_record(&context.home, path, &mut |_, record| {
        if let Record::Message(message) = record
            && message.id.as_str().starts_with(beginning)
        {
            found.push(message.id);
        }
        anyhow::Ok(())
    })?;
    if let [only] = found.as_slice() {
        return Ok(only.clone());
    }
    // Either the whole id, which may stand in a checkpoint too, or one that the ledger will say is not there.
    anyhow::ensure!(
        found.is_empty() || found.iter().any(|id| id.as_str() == beginning),
        "{} messages begin with `{beginning}`; give more of the id",
        found.len()
    );
    Ok(beginning.into())
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions rollback 7c1f3a52\n  throughline sessions rollback 7c1f3a52 -n 3"
)]
pub(crate) struct Rollback {
    /// The session.
    session: String,
    /// How many user turns.
    #[arg(short = 'n', long, default_value_t = 1)]
    turns: usize,
}

impl Rollback {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let edit = session::rollback(&context.home, &path, self.turns, context.now())?;
        let left = resume(&context.home, &path)?.view.entries().len();
        let turns = output::count(self.turns as u64, "turn");
        let messages = output::count(left as u64, "message");
        tell(
            context,
            json!({ "edit": edit, "messages": left }),
            &format!(
                "Took back {turns}; the view holds {messages}. `sessions undo {}` brings them back.",
                self.session
            ),
        )
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions undo 7c1f3a52\n  throughline sessions undo 7c1f3a52 019a6f3e-…"
)]
pub(crate) struct Undo {
    /// The session.
    session: String,
    /// The edit or checkpoint [default: the newest in force; again goes further back].
    edit: Option<String>,
}

impl Undo {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let undone = session::undo(&context.home, &path, self.edit.map(EditId::from), context.now())?;
        let left = resume(&context.home, &path)?.view.entries().len();
        let messages = output::count(left as u64, "message");
        tell(
            context,
            json!({ "undone": undone.target, "what": undone.what, "by": undone.by, "messages": left }),
            &format!(
                "Undid {}; the view holds {messages}.\n`throughline sessions undo {} {}` redoes it.",
                undone.what, self.session, undone.by
            ),
        )
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions title 7c1f3a52 \"Queue rewrite\"\n  throughline sessions title 7c1f3a52 --clear"
)]
pub(crate) struct Title {
    /// The session.
    session: String,
    /// Its name.
    #[arg(required_unless_present = "clear")]
    title: Option<String>,
    /// Take the name away.
    #[arg(long, conflicts_with = "title")]
    clear: bool,
}

impl Title {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let title = self.title.filter(|_| !self.clear).map(|title| output::fit(&title, 200));
        session::set_title(&context.home, &path, title.clone())?;
        let said =
            title.as_deref().map_or("The session has no title now.".to_owned(), |t| format!("Now: {t}"));
        tell(context, json!({ "title": title }), &said)
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions tag 7c1f3a52 release -d draft\n  throughline sessions tag 7c1f3a52"
)]
pub(crate) struct Tag {
    /// The session.
    session: String,
    /// Tags to add.
    add: Vec<String>,
    /// Tags to remove.
    #[arg(short = 'd', long = "remove", value_name = "TAG")]
    remove: Vec<String>,
}

impl Tag {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let tags = if self.add.is_empty() && self.remove.is_empty() {
            resume(&context.home, &path)?.card.map(|card| card.tags).unwrap_or_default()
        } else {
            session::change_tags(&context.home, &path, &self.add, &self.remove)?
        };
        let said = if tags.is_empty() { "No tags.".to_owned() } else { tags.join(" ") };
        tell(context, json!({ "tags": tags }), &said)
    }
}

fn tell(context: &Context, value: Value, words: &str) -> anyhow::Result<ExitCode> {
    if context.json {
        output::json(&value)?;
    } else {
        outln!("{words}");
    }
    Ok(ExitCode::SUCCESS)
}

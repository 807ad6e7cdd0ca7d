//! `memory handbook`: what old sessions taught, for people to read and to question.

mod check;
mod history;
mod list;
mod note;
mod receipts;
mod reset;
mod search;
mod show;
pub(super) mod tell;
pub(super) mod which;
mod why;

use super::here::Which;
use crate::context::Context;
use crate::handbook::{StoreFlag, StorePlace};
use clap::Subcommand;
use std::process::ExitCode;
use std::sync::Arc;
use throughline_engine::config::HandbookSettings;
use throughline_memory::handbook::phase2::Workspace;
use throughline_memory::handbook::{Audit, HomeId, Scope, Shelved, shelf};
use throughline_memory::store::Store;

pub(super) use history::undo;
pub(super) use reset::Resetting;
pub(super) use search::{hits, hits_json, print_hits};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook show\n  throughline memory handbook why \"release script\"\n  throughline memory handbook receipts --project ~/app --json\n\n`throughline memory build` makes handbooks of the sessions on this machine; `memory undo --handbook` takes the last edition back."
)]
pub(crate) struct Handbook {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// List the handbooks.
    List(list::List),
    /// Print the handbook of this project, or with --global the one of all.
    Show(show::Show),
    /// Find statements, notes, sessions and skills by words.
    Search(search::Search),
    /// Show what a statement rests on: session, message, date, the words.
    Why(why::Why),
    /// Show what each session's memory cost, and how often it was used.
    Receipts(receipts::Receipts),
    /// Write down something to be remembered: the next session is told.
    Note(note::Note),
    /// List the editions of the handbook.
    History(history::History),
    /// Look whether every statement rests on a message that is there.
    Check(check::Check),
}

impl Handbook {
    pub(crate) fn run(self, context: &Context, which: &Which) -> anyhow::Result<ExitCode> {
        let desk = Desk::open(context, which)?;
        match self.command.unwrap_or(Command::List(list::List {})) {
            Command::List(command) => command.run(&desk),
            Command::Show(command) => command.run(&desk),
            Command::Search(command) => command.run(&desk),
            Command::Why(command) => command.run(&desk),
            Command::Receipts(command) => command.run(&desk),
            Command::Note(command) => command.run(&desk),
            Command::History(command) => command.run(&desk),
            Command::Check(command) => command.run(&desk),
        }
    }
}

/// What commands around handbooks work with. Looking makes nothing.
pub(crate) struct Desk<'a> {
    pub(super) context: &'a Context,
    which: &'a Which,
    id: HomeId,
    settings: HandbookSettings,
    books: Vec<Shelved>,
}

impl<'a> Desk<'a> {
    pub(crate) fn open(context: &'a Context, which: &'a Which) -> anyhow::Result<Self> {
        let settings = context.config()?.config.memory.handbook;
        let id = which::looked_at(context)?;
        Ok(Self { context, which, id, settings, books: shelf(&context.home) })
    }

    /// The handbook that is meant.
    pub(super) fn scope(&self) -> anyhow::Result<Scope> {
        let known: Vec<Scope> = self.books.iter().map(|book| book.scope.clone()).collect();
        which::scope(self.context, &self.id, self.which, &known)
    }

    /// The same where it is to be written in: the home gets its id.
    pub(super) fn written_scope(&self) -> anyhow::Result<Scope> {
        let known: Vec<Scope> = self.books.iter().map(|book| book.scope.clone()).collect();
        which::scope(self.context, &HomeId::of(&self.context.home)?, self.which, &known)
    }

    /// Looks whether the handbooks are borne out; `None` if there are none.
    pub(super) fn audit(&self) -> anyhow::Result<Option<Audit>> {
        let books: Vec<Shelved> = self.books.iter().filter(|one| !one.book.is_empty()).cloned().collect();
        if books.is_empty() {
            return Ok(None);
        }
        check::audited(self, &books, &StoreFlag::default()).map(Some)
    }

    pub(super) fn workspace(&self, scope: &Scope) -> Workspace {
        Workspace::new(&self.context.home, scope, &self.settings.limits)
    }

    /// The handbook that is meant, or what to do about it if it is not there.
    pub(super) fn book(&self) -> anyhow::Result<&Shelved> {
        let scope = self.scope()?;
        let found = self.books.iter().find(|book| book.scope == scope);
        found.ok_or_else(|| anyhow::anyhow!(self.missing(&scope)))
    }

    fn missing(&self, scope: &Scope) -> String {
        let others = self.books.iter().filter(|book| !book.book.is_empty()).count();
        let hint = match others {
            0 => "`throughline memory build` makes handbooks of the sessions on this machine".to_owned(),
            _ => "`throughline memory handbook list` shows those that there are; --project P names one"
                .to_owned(),
        };
        format!("there is no handbook of {} yet; {hint}", which::called(scope))
    }

    /// The store, if there is one.
    pub(super) async fn store(&self, flag: &StoreFlag) -> anyhow::Result<Option<Arc<dyn Store>>> {
        let place = StorePlace::of(self.context, flag, &self.settings)?;
        if !place.is_there() {
            return Ok(None);
        }
        Ok(Some(place.open().await?))
    }
}

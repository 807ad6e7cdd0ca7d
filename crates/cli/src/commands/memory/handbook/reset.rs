//! Starting a handbook over.

use super::Desk;
use super::tell::home_path;
use super::which::called;
use crate::context::Context;
use crate::handbook::{StoreFlag, StorePlace};
use crate::outln;
use crate::output;
use std::path::Path;
use throughline_memory::handbook::phase2::{MEMORY, Workspace};
use throughline_memory::handbook::{HandbookLimits, Scope};

/// A handbook that is to go: its files, and what the store has of it. Notes by hand and the history stay.
pub(crate) struct Resetting<'a> {
    context: &'a Context,
    scope: Scope,
    folder: std::path::PathBuf,
    sessions: usize,
    limits: HandbookLimits,
    /// Where the store is, if there is one.
    store: Option<StorePlace>,
}

impl<'a> Resetting<'a> {
    /// The handbook that is meant; `None` if there is nothing of it.
    pub(crate) fn of(desk: &Desk<'a>, flag: &StoreFlag) -> anyhow::Result<Option<Self>> {
        let scope = desk.scope()?;
        let place = StorePlace::of(desk.context, flag, &desk.settings)?;
        let store = place.is_there().then_some(place);
        let sessions = desk.context.block_on(async {
            match (&store, &scope) {
                // The global one has no sessions of its own.
                (None, _) | (_, Scope::Global) => anyhow::Ok(0),
                (Some(place), Scope::Project(_)) => {
                    Ok(place.open().await?.outputs(&scope, None, usize::MAX).await?.len())
                }
            }
        })??;
        let folder = scope.folder(&desk.context.home);
        let is_there = folder.join(MEMORY).exists() || sessions > 0;
        Ok(is_there.then_some(Self {
            context: desk.context,
            scope,
            folder,
            sessions,
            limits: desk.settings.limits.clone(),
            store,
        }))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// What would be done, as part of a question.
    pub(crate) fn what(&self) -> String {
        let sessions = match self.sessions {
            0 => String::new(),
            n => format!(", and what was read of {}", output::count(n as u64, "session")),
        };
        format!("remove the handbook of {}{sessions}", called(&self.scope))
    }

    /// Removes it; for good with notes and history.
    pub(crate) fn run(&self, is_purge: bool) -> anyhow::Result<()> {
        if let Some(place) = &self.store {
            let reset = async { anyhow::Ok(place.open().await?.reset(Some(&self.scope)).await?) };
            self.context.block_on(reset)??;
        }
        let workspace = Workspace::new(&self.context.home, &self.scope, &self.limits);
        if is_purge {
            workspace.erase()?;
        } else {
            workspace.clear(self.context.now())?;
        }
        Ok(())
    }

    pub(crate) fn tell(&self) {
        outln!("Removed the handbook of {}.", called(&self.scope));
        let again = match self.scope {
            Scope::Global => "refresh",
            Scope::Project(_) => "build",
        };
        let kept = match self.folder.is_dir() {
            true => {
                format!("; notes by hand and the history are in {}", home_path(self.context, &self.folder))
            }
            false => String::new(),
        };
        outln!("`throughline memory {again}` makes it again{kept}.");
    }
}

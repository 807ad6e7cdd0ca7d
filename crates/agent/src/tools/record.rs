//! Tools that work on the record of the session itself: `Snip` (P2) and `Recall` (B8).

use crate::workspace::Workspace;
use crate::{Access, Tool, ToolContext, ToolOutput};
use serde_json::Value;
use std::path::PathBuf;
use throughline_core::{ToolDefinition, ToolInput, recall, stages::snip};
use throughline_engine::Recall as Record;
use throughline_ledger::Home;
use throughline_model::BoxFuture;

/// `Snip`: the model drops turns that it no longer needs. The turn loop answers it: only the session knows its view.
#[derive(Clone, Copy, Debug, Default)]
pub struct Snip;

impl Tool for Snip {
    fn definition(&self) -> ToolDefinition<'_> {
        snip::tool()
    }

    fn access(&self, _: &Value, _: &Workspace) -> Result<Access, String> {
        Ok(Access::Inner)
    }

    fn run<'a>(&'a self, _: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::failed("nothing was dropped: this session can't be changed from here") })
    }
}

/// `Recall`: the model searches and reads what was cut from its context.
#[derive(Clone, Debug)]
pub struct Recall {
    home: Home,
    ledger: PathBuf,
}

impl Recall {
    /// Over the record of one session.
    pub fn new(home: Home, ledger: PathBuf) -> Self {
        Self { home, ledger }
    }
}

impl Tool for Recall {
    fn definition(&self) -> ToolDefinition<'_> {
        recall::tool()
    }

    fn access(&self, _: &Value, _: &Workspace) -> Result<Access, String> {
        Ok(Access::Inner)
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        let (home, ledger, input) = (self.home.clone(), self.ledger.clone(), ToolInput::Json(input.clone()));
        Box::pin(async move {
            // The whole ledger is read: not on the thread that shows things.
            let read = tokio::task::spawn_blocking(move || {
                Record::open(&home, &ledger).map(|record| record.answer(&input))
            });
            match read.await {
                Ok(Ok(answer)) if answer.is_error => ToolOutput::failed(answer.text),
                Ok(Ok(answer)) => ToolOutput::done(answer.text),
                Ok(Err(error)) => ToolOutput::failed(format!("the record can't be read: {error}")),
                Err(error) => ToolOutput::failed(format!("the record can't be read: {error}")),
            }
        })
    }
}

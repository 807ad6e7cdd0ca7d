//! What a run came to.

use super::launch::Client;
use crate::context::Context;
use crate::output::{bold, dim, yellow};
use crate::proxy::notices::Notices;
use crate::proxy::servers::Served;
use crate::proxy::show;
use jiff::Timestamp;
use serde_json::{Value, json};
use throughline_core::SessionId;
use throughline_server::{Figures, Snapshot, stats};

/// What a run came to.
pub(super) struct Report {
    /// `None` where nobody counted.
    figures: Option<Figures>,
    sessions: Vec<SessionId>,
    /// The server that goes on after the run.
    goes_on: Option<Served>,
    failures: u64,
    notices: (u64, Vec<String>),
    code: u8,
    client: Client,
}

impl Report {
    /// Of a server of this run alone.
    pub(super) fn of_own(context: &Context, last: Option<Snapshot>, started: Timestamp) -> Self {
        let sessions: Vec<SessionId> =
            last.iter().flat_map(|last| &last.sessions).map(|session| session.id.clone()).collect();
        // A session may have had requests in earlier runs: those of this one are told by its ledger.
        let figures = last.as_ref().map(|last| match stats(&context.home, Some(started)) {
            Ok((stats, _)) => {
                let mut figures = Figures::default();
                let ours = stats.sessions.iter().filter(|session| sessions.contains(&session.id));
                ours.for_each(|session| figures.add(&session.figures));
                if figures == Figures::default() { last.total.clone() } else { figures }
            }
            Err(_) => last.total.clone(),
        });
        Self { figures, sessions, failures: last.map_or(0, |last| last.failures), ..Self::empty() }
    }

    /// Of a server that goes on.
    pub(super) fn of_other(served: Served) -> Self {
        Self { goes_on: Some(served), ..Self::empty() }
    }

    fn empty() -> Self {
        Self {
            figures: None,
            sessions: Vec::new(),
            goes_on: None,
            failures: 0,
            notices: (0, Vec::new()),
            code: 0,
            client: Client::Other,
        }
    }

    pub(super) fn with(self, code: u8, client: Client, notices: &Notices) -> Self {
        Self { code, client, notices: notices.all(), ..self }
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "exit_status": self.code,
            "figures": self.figures.as_ref().map(show::as_json),
            "sessions": self.sessions,
            "failures": self.failures,
            "notices": self.notices.1,
        })
    }

    /// On standard error: standard output is the client's.
    pub(super) fn print(&self, json: bool) {
        if json {
            // Nobody is left who could be told.
            let _ = crate::output::error_json(&self.to_json());
            return;
        }
        for (at, line) in self.lines().iter().enumerate() {
            let head = if at == 0 { bold("throughline") } else { " ".repeat(11) };
            crate::errln!("{head}  {line}");
        }
        let (count, newest) = &self.notices;
        for notice in newest {
            crate::errln!("{} {notice}", yellow("note:"));
        }
        if *count > newest.len() as u64 {
            crate::errln!("{} {} like these before", yellow("note:"), count - newest.len() as u64);
        }
    }

    fn lines(&self) -> Vec<String> {
        if let Some(served) = &self.goes_on {
            return vec![format!("the server goes on: {}", served.page()), "throughline stats".to_owned()];
        }
        let Some(figures) = &self.figures else { return vec!["requests were only passed on".to_owned()] };
        let mut lines = show::summary(figures);
        match self.sessions.first() {
            Some(id) => {
                let id = id.as_str();
                let shown = id.get(..8).unwrap_or(id);
                lines.push(dim(format!("throughline sessions show {shown} · throughline stats")));
            }
            None => lines.push(dim(format!(
                "{} did not ask by way of Throughline; does it have an address of its own?",
                self.client.name()
            ))),
        }
        lines
    }
}

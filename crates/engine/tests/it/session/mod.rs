//! Sessions over real sockets, with a scripted model.

mod background;
mod compaction;
mod crash;
mod faults;
mod handbook;
mod hooks;
mod killed;
mod life;
mod memory;
mod notes;
mod people;
mod provider_edits;

use crate::common::tiny;
use std::sync::Arc;
use throughline_core::{Body, CallId, Message, Role, ToolResult, Wire};
use throughline_engine::session::{Frame, Models, Scribe, Session, SessionSettings, Start};
use throughline_ledger::Home;
use throughline_model::{Http, Provider, Retries, Timeouts};
use throughline_testkit::{Answer, Playbook, Script, Seen, Server, playbook};

/// A session on a scripted server, in a home of its own.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) wire: Wire,
    pub(crate) settings: SessionSettings,
    pub(crate) cwd: Option<String>,
    /// Silence that ends a request: long, unless silence is what is tested.
    pub(crate) idle_ms: u64,
    /// Anthropic's features in testing that requests name.
    pub(crate) betas: Vec<String>,
}

pub(crate) const MODEL: &str = "gpt-5";
/// Words of the prompts that ask for a summary.
pub(crate) const ASKS_SUMMARY: &str = "is a request of the system that manages this conversation";

impl Stage {
    pub(crate) fn new(wire: Wire, script: impl Script) -> Self {
        let settings = SessionSettings {
            profile: tiny("codex"),
            window: Some(4_000),
            ahead_share: None,
            wait_seconds: 1,
            ..SessionSettings::default()
        };
        let cwd = Some("/work/project".to_owned());
        Self {
            folder: tempfile::tempdir().unwrap(),
            server: Server::start(script).unwrap(),
            wire,
            settings,
            cwd,
            idle_ms: 30_000,
            betas: Vec::new(),
        }
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.folder.path())
    }

    pub(crate) fn start(&self) -> Start {
        let mut frame = Frame::new(self.wire, MODEL);
        frame.system = "You work on a small program. Be brief.".to_owned();
        Start { frame, cwd: self.cwd.clone() }
    }

    pub(crate) fn models(&self) -> Models {
        self.models_at(&self.server.url())
    }

    pub(crate) fn models_at(&self, url: &str) -> Models {
        Models { main: Arc::new(self.model_at(MODEL, url)), scribe: Scribe::Main }
    }

    pub(crate) fn model(&self, name: &str) -> Http {
        self.model_at(name, &self.server.url())
    }

    fn model_at(&self, name: &str, url: &str) -> Http {
        let mut provider = Provider::new("test", self.wire, name);
        provider.base_url = Some(url.to_owned());
        provider.betas.clone_from(&self.betas);
        provider.retries = Retries { attempts: 2, base_ms: 1, cap_ms: 5, patience_ms: 50 };
        provider.timeouts = Timeouts { idle_ms: self.idle_ms, ..Timeouts::default() };
        Http::new(&provider, &|_: &str| Some("key".to_owned())).unwrap()
    }

    pub(crate) fn open(&self) -> Session {
        Session::open(&self.home(), self.start(), self.models(), self.settings.clone()).unwrap()
    }

    pub(crate) fn resume(&self, ledger: &std::path::Path) -> Session {
        Session::resume(&self.home(), ledger, self.start(), self.models(), self.settings.clone()).unwrap()
    }
}

/// Answers everything, summaries with a summary.
pub(crate) fn obliging() -> Playbook {
    Playbook::new()
        .when(playbook::last_user(ASKS_SUMMARY), Answer::text(
            "<analysis>thinking</analysis><summary>The parser in src/parse.rs is being fixed; tests fail in parse_empty.</summary>",
        ))
        .otherwise("I looked at it.")
}

pub(crate) fn is_summary(seen: &Seen) -> bool {
    seen.last_user_text().contains(ASKS_SUMMARY)
}

/// Some hundred tokens of the user's.
pub(crate) fn long_words(n: usize) -> Message {
    let words: Vec<String> = (0..60).map(|at| format!("item_{n}_{at} is in part_{at}.rs,")).collect();
    Message::text(Role::User, format!("Step {n}: look at this. Never touch Cargo.lock. {}", words.join(" ")))
}

pub(crate) fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// A long result of a tool.
pub(crate) fn result(call: CallId, n: usize) -> Message {
    let text: String = (0..60).map(|at| format!("line {at} of file {n}: value_{n}_{at}\n")).collect();
    Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(call, text)).into()])
}

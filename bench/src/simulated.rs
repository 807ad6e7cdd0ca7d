//! Sessions on a scripted model.

use anyhow::Context;
use std::sync::Arc;
use throughline_core::profile::{CompactLimits, Profile, Threshold};
use throughline_core::{Body, CallId, Message, Role, ToolResult, Wire};
use throughline_engine::session::{Frame, Models, Scribe, Session, SessionSettings, Start};
use throughline_ledger::Home;
use throughline_model::{Http, Provider, Retries, Timeouts};
use throughline_testkit::{Script, Seen, Server};

pub(crate) const MODEL: &str = "gpt-5";

/// A session's surroundings: a scripted server and a home of its own.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) server: Server,
    pub(crate) wire: Wire,
    pub(crate) settings: SessionSettings,
}

impl Stage {
    pub(crate) fn new(wire: Wire, script: impl Script) -> anyhow::Result<Self> {
        let settings = SessionSettings {
            profile: small(),
            window: Some(4_000),
            ahead_share: None,
            wait_seconds: 1,
            ..SessionSettings::default()
        };
        let folder = tempfile::tempdir()?;
        Ok(Self { folder, server: Server::start(script)?, wire, settings })
    }

    pub(crate) fn open(&self) -> anyhow::Result<Session> {
        let mut frame = Frame::new(self.wire, MODEL);
        frame.system = "You work on a small program. Be brief.".to_owned();
        let cwd = Some(self.folder.path().display().to_string());
        let start = Start { frame, cwd };
        let models = Models { main: Arc::new(self.model(MODEL)?), scribe: Scribe::Main };
        Ok(Session::open(&Home::new(self.folder.path()), start, models, self.settings.clone())?)
    }

    pub(crate) fn model(&self, name: &str) -> anyhow::Result<Http> {
        let mut provider = Provider::new("scripted", self.wire, name);
        provider.base_url = Some(self.server.url());
        provider.retries = Retries { attempts: 2, base_ms: 1, cap_ms: 5, patience_ms: 50 };
        provider.timeouts = Timeouts { idle_ms: 2_000, ..Timeouts::default() };
        Http::new(&provider, &|_: &str| Some("key".to_owned())).context("a model on the scripted server")
    }
}

/// Codex's rules for a very small window.
fn small() -> Profile {
    let mut profile = Profile::codex();
    profile.compact = Some(CompactLimits {
        threshold: Threshold::Share(0.8),
        strategies: vec![throughline_core::profile::Strategy::Handoff],
        summary_tokens: 1_000,
        user_tokens: 500,
        files: 0,
        checked: true,
        ..CompactLimits::default()
    });
    profile
}

/// Whether somebody asks for a summary.
pub(crate) fn is_summary(seen: &Seen) -> bool {
    seen.last_user_text().contains("is a request of the system that manages this conversation")
}

/// Whether somebody asks for an update of the notes.
pub(crate) fn is_notes(seen: &Seen) -> bool {
    seen.last_user_text().contains("<current_notes_content>")
}

/// Whether it is a request of the session itself, and not one of the first.
pub(crate) fn is_main_after(first: usize) -> impl Fn(&Seen) -> bool + Send + 'static {
    move |seen| seen.number >= first && !is_summary(seen)
}

/// Some hundred tokens of the user's.
pub(crate) fn long_words(n: usize) -> Message {
    let words: Vec<String> = (0..60).map(|at| format!("item_{n}_{at} is in part_{at}.rs,")).collect();
    Message::text(Role::User, format!("Step {n}: look at this. Never touch Cargo.lock. {}", words.join(" ")))
}

/// A long result of a tool.
pub(crate) fn result(call: CallId, n: usize) -> Message {
    let text: String = (0..60).map(|at| format!("line {at} of file {n}: value_{n}_{at}\n")).collect();
    Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(call, text)).into()])
}

pub(crate) fn block_on<T>(future: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(future)
}

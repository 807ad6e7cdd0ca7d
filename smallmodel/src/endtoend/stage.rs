//! Sessions as the run needs them: everything that a large model has, scaled down to a window of two thousand tokens.

use super::script;
use anyhow::Result;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use throughline_core::Wire;
use throughline_core::profile::{BudgetLimits, BudgetTrigger, CompactLimits, Profile, Strategy};
use throughline_engine::session::{Frame, Models, Scribe, Session, SessionSettings, Start};
use throughline_ledger::Home;
use throughline_memory::notes::NotesLimits;
use throughline_model::{Caps, Http, Provider};

/// Where sessions live, and who answers them.
pub(super) struct Stage {
    pub(super) home: Home,
    pub(super) cwd: String,
    pub(super) address: SocketAddr,
    pub(super) settings: SessionSettings,
    /// The most tokens of an answer.
    pub(super) most: u64,
}

impl Stage {
    /// With a window of `window` tokens.
    pub(super) fn new(root: PathBuf, address: SocketAddr, window: u64) -> Self {
        let settings = SessionSettings {
            profile: profile(vec![Strategy::Notes, Strategy::Handoff]),
            window: Some(window),
            wait_seconds: 120,
            summary: Caps { turns: 2, output_tokens: 1_000, seconds: 300, ..Caps::default() },
            notes: Some(NotesLimits {
                first_tokens: 600,
                growth_tokens: 200,
                tool_calls: 2,
                section_tokens: 160,
                total_tokens: 900,
                failures: 1,
                wait_seconds: 120,
            }),
            ..SessionSettings::default()
        };
        let cwd = root.join("tally").display().to_string();
        Self { home: Home::new(root), cwd, address, settings, most: 300 }
    }

    /// Without notes, and with summaries that nothing else stands beside.
    pub(super) fn with_summaries(mut self) -> Self {
        self.settings.notes = None;
        self.settings.ahead_share = None;
        self.settings.profile = profile(vec![Strategy::Summary]);
        self
    }

    pub(super) fn model(&self) -> Result<Arc<Http>> {
        let mut provider = Provider::new("smallmodel", Wire::Chat, crate::chat::MODEL);
        provider.base_url = Some(format!("http://{}", self.address));
        Ok(Arc::new(Http::new(&provider, &|_: &str| None)?))
    }

    fn models(&self) -> Result<Models> {
        Ok(Models { main: self.model()?, scribe: Scribe::Main })
    }

    fn start(&self) -> Start {
        let mut frame = Frame::new(Wire::Chat, crate::chat::MODEL);
        script::SYSTEM.clone_into(&mut frame.system);
        frame.max_output = Some(self.most);
        Start { frame, cwd: Some(self.cwd.clone()) }
    }

    pub(super) fn open(&self) -> Result<Session> {
        Ok(Session::open(&self.home, self.start(), self.models()?, self.settings.clone())?)
    }

    pub(super) fn resume(&self, ledger: &std::path::Path) -> Result<Session> {
        Ok(Session::resume(&self.home, ledger, self.start(), self.models()?, self.settings.clone())?)
    }
}

fn profile(strategies: Vec<Strategy>) -> Profile {
    let throughline = Profile::throughline();
    let compact = throughline.compact.map(|limits| CompactLimits {
        strategies,
        output_tokens: 400,
        keep_tokens: 200,
        keep_texts: 2,
        keep_most: 400,
        section_tokens: 300,
        notes_tokens: 700,
        user_tokens: 400,
        summary_tokens: 400,
        result_tokens: Some(900),
        ..limits
    });
    let budget = Some(BudgetLimits {
        when: BudgetTrigger::Size,
        result_chars: 4_000,
        message_chars: 8_000,
        preview_bytes: 400,
        ..BudgetLimits::default()
    });
    Profile { name: "small".to_owned(), budget, compact, ..throughline }
}

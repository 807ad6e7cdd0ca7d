//! How sessions begin, and go on.

use super::ahead::Background;
use super::handbook::{Handbook, Handbooks};
use super::{Frame, Session, SessionError, Spent};
use crate::LedgerJournal;
use crate::config::Config;
use crate::hooks::Hooks;
use crate::remember::{Memory, Remembering};
use jiff::Timestamp;
use std::path::Path;
use std::sync::Arc;
use throughline_core::cost::Ttl;
use throughline_core::pipeline::{Pipeline, Settings};
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_core::{Event, MessageId, Meta, Record, SessionId, Wire};
use throughline_ledger::{Home, LedgerError, Problem, SyncPolicy, Writer, resume, session};
use throughline_memory::handbook::OutsideWatch;
use throughline_memory::notes::{NotesError, NotesLimits, Wording};
use throughline_model::{Caps, Environment, Governor, GovernorError, Model, Standing};

/// Who answers, and who writes summaries.
#[derive(Clone)]
pub struct Models {
    /// Who answers the session's requests.
    pub main: Arc<dyn Model>,
    /// Who writes.
    pub scribe: Scribe,
}

/// Who writes summaries, spans and notes. The offline scribe takes over whenever another one can't.
#[derive(Clone)]
pub enum Scribe {
    /// Nobody is asked: the text is made from the record.
    Offline,
    /// The model of the session: its cache holds the conversation already.
    Main,
    /// Another model, such as a cheaper one.
    Other(Arc<dyn Model>),
}

/// How a session works.
#[derive(Clone, Debug)]
pub struct SessionSettings {
    /// The rules.
    pub profile: Profile,
    /// The context window in tokens; by default that of the model.
    pub window: Option<u64>,
    /// Which of our own tools the model has.
    pub tools: OwnTools,
    /// Whether the model has a tool that may read results which were saved to files.
    pub reads_saved_files: bool,
    /// How long the provider keeps its cache.
    pub ttl: Ttl,
    /// Whether the provider can edit its cache (P3b), on Anthropic's wire.
    pub cache_edits: bool,
    /// What one summary may take.
    pub summary: Caps,
    /// A summary is written in the background when the context is over this share of the threshold, so that nobody waits
    /// for it; `None`: never.
    pub ahead_share: Option<f64>,
    /// Seconds for which a compaction waits for what is being written in the background.
    pub wait_seconds: u64,
    /// When notes are kept, and how long they get; `None`: never.
    pub notes: Option<NotesLimits>,
    /// The notes' template and prompt.
    pub wording: Wording,
    /// How it remembers beyond itself; `None`: not at all.
    pub memory: Option<Remembering>,
    /// How it has part in handbooks; `None`: not at all.
    pub handbooks: Option<Handbooks>,
    /// Who decides about work in the background; `None`: it may always begin.
    pub governor: Option<Governor>,
    /// The circumstances that the governor is told.
    pub standing: Standing,
    /// When what is written is forced to disk.
    pub sync: SyncPolicy,
    /// The user's hooks.
    pub hooks: Hooks,
    /// The time.
    pub now: fn() -> Timestamp,
}

impl Default for SessionSettings {
    fn default() -> Self {
        Self {
            profile: Profile::throughline(),
            window: None,
            tools: OwnTools::default(),
            reads_saved_files: false,
            ttl: Ttl::Short,
            cache_edits: false,
            summary: Caps {
                turns: 2,
                input_tokens: 2_000_000,
                output_tokens: 20_000,
                dollars: 5.0,
                seconds: 300,
            },
            ahead_share: Some(0.8),
            wait_seconds: 15,
            notes: Some(NotesLimits::default()),
            wording: Wording::default(),
            memory: None,
            handbooks: None,
            governor: None,
            standing: Standing::default(),
            sync: SyncPolicy::Turn,
            hooks: Hooks::default(),
            now: Timestamp::now,
        }
    }
}

impl SessionSettings {
    /// What a configuration says: profile, window, tools, notes with the user's own template and prompt, hooks, and a governor
    /// that keeps its receipts in the home. Problems with the notes' files are returned beside it.
    pub fn from_config(
        config: &Config,
        home: &Home,
        environment: Environment<'_>,
    ) -> Result<(Self, Vec<NotesError>), GovernorError> {
        let (wording, problems) = Wording::load(home.root());
        let settings = Self {
            profile: config.profile.clone(),
            window: config.window.tokens,
            tools: config.tools.unless_said(OwnTools::default()),
            ttl: config.window.cache_ttl,
            cache_edits: config.window.cache_edits,
            notes: Some(config.notes),
            wording,
            governor: Some(Governor::open(home.root(), config.governor.clone())?),
            sync: config.storage.sync.into(),
            hooks: Hooks::new(&config.hooks, environment),
            ..Self::default()
        };
        Ok((settings, problems))
    }
}

/// What a new session begins with.
#[derive(Clone, Debug)]
pub struct Start {
    /// What comes around the messages.
    pub frame: Frame,
    /// Where it runs.
    pub cwd: Option<String>,
}

/// The folder for what belongs to a session beside its ledger.
pub(super) fn folder_of(home: &Home, id: &SessionId) -> std::path::PathBuf {
    home.root().join("sessions-data").join(id.as_str())
}

/// Problems of a ledger that are told one by one.
const MOST_PROBLEMS: usize = 5;

/// What could not be read of a ledger, in words (L7).
fn damage(problems: &[Problem]) -> Vec<String> {
    let mut told: Vec<String> = problems
        .iter()
        .take(MOST_PROBLEMS)
        .map(|problem| format!("damaged ledger, skipped and kept: {problem}"))
        .collect();
    if problems.len() > MOST_PROBLEMS {
        let more = problems.len() - MOST_PROBLEMS;
        told.push(format!("damaged ledger: {more} more problems; `throughline sessions check` lists them"));
    }
    told
}

/// The input window of a model.
pub(super) fn window_of(model: &str) -> u64 {
    Settings::for_model(model).window
}

impl Session {
    /// Begins a session.
    pub fn open(
        home: &Home,
        start: Start,
        models: Models,
        settings: SessionSettings,
    ) -> Result<Self, SessionError> {
        let mut meta = Meta::new(SessionId::fresh(), (settings.now)(), "throughline");
        meta.cwd = start.cwd.clone();
        let writer = Writer::create(home, meta, settings.sync)?;
        let mut session = Self::with_writer(home, writer, start.frame, models, settings)?;
        session.set_cwd(start.cwd, &[]);
        Ok(session)
    }

    /// Begins a session on behalf of another one, as a sub-agent's.
    pub fn open_under(
        home: &Home,
        parent: &SessionId,
        start: Start,
        models: Models,
        settings: SessionSettings,
    ) -> Result<Self, SessionError> {
        let mut session = Self::open(home, start, models, settings)?;
        session.journal.update_card(|card| card.parent_session = Some(parent.clone()))?;
        Ok(session)
    }

    /// Goes on with a session from where its ledger ends.
    pub fn resume(
        home: &Home,
        ledger: &Path,
        start: Start,
        models: Models,
        settings: SessionSettings,
    ) -> Result<Self, SessionError> {
        let writer = Writer::open(home, ledger, settings.sync)?;
        let mut session = Self::with_writer(home, writer, start.frame, models, settings)?;
        session.restore(start.cwd.as_deref())?;
        Ok(session)
    }

    /// Begins a session where another one stood: at a message, or at its end.
    pub fn fork(
        home: &Home,
        ledger: &Path,
        at: Option<&MessageId>,
        start: Start,
        models: Models,
        settings: SessionSettings,
    ) -> Result<Self, SessionError> {
        let writer = session::fork(home, ledger, at, (settings.now)())?;
        let mut session = Self::with_writer(home, writer, start.frame, models, settings)?;
        session.restore(start.cwd.as_deref())?;
        Ok(session)
    }

    fn with_writer(
        home: &Home,
        writer: Writer,
        frame: Frame,
        models: Models,
        settings: SessionSettings,
    ) -> Result<Self, SessionError> {
        let id = throughline_ledger::session_of(writer.path()).unwrap_or_default();
        let mut known = Settings::for_model(&frame.model);
        known.window = settings.window.unwrap_or(known.window);
        known.tools = settings.tools;
        known.reads_saved_files = settings.reads_saved_files;
        known.ttl = settings.ttl;
        known.cache_edits = settings.cache_edits && frame.wire == Wire::Anthropic;
        known.spans_elsewhere = !matches!(models.scribe, Scribe::Offline);
        let id = SessionId::from(id);
        let folder = folder_of(home, &id);
        let pipeline = Pipeline::new(settings.profile.clone().live(), known);
        let memory = settings.memory.clone().map(Memory::new);
        let handbook = settings.handbooks.clone().map(Handbook::new);
        let mut session = Self {
            home: home.clone(),
            id,
            journal: LedgerJournal::new(writer, &folder),
            pipeline,
            models,
            frame,
            settings,
            head: None,
            sent: None,
            wish: None,
            background: Background::default(),
            notes: None,
            memory,
            handbook,
            unobserved: Vec::new(),
            host: Default::default(),
            file_reader: None,
            cwd: None,
            spent: Spent::default(),
            is_last_turn: false,
            standing: None,
            kept: Default::default(),
            notices: Vec::new(),
            changes: Vec::new(),
            warnings: Vec::new(),
        };
        session.count_frame();
        Ok(session)
    }

    /// Takes over what the ledger holds.
    fn restore(&mut self, cwd: Option<&str>) -> Result<(), SessionError> {
        let path = self.journal.path().to_owned();
        let resumed = resume(&self.home, &path)?;
        let mut events = Vec::new();
        let mut said = Vec::new();
        let mut last_turn = None;
        let mut compactions = 0;
        let mut cwd = cwd.map(str::to_owned);
        let mut outside = self.outside_watch();
        let pipeline = &mut self.pipeline;
        let mut problems = session::each_record(&self.home, &path, &mut |_, record| {
            match record {
                Record::Message(message) => {
                    let message = Arc::new(*message);
                    pipeline.remember(&message);
                    outside.iter_mut().for_each(|watch| watch.push(&message));
                    if message.is_real_user() {
                        said.push(message);
                    }
                }
                Record::Event(event) => events.push(*event),
                Record::Meta(meta) => cwd = cwd.take().or(meta.cwd),
                Record::Turn(turn) => last_turn = Some(*turn),
                Record::Checkpoint(checkpoint) => {
                    compactions += u32::from(checkpoint.trigger != "user");
                }
                Record::Edit(_) | Record::Card(_) => {}
            }
            Ok::<_, LedgerError>(())
        })?;
        for problem in resumed.problems {
            let is_known = |known: &Problem| (&known.path, known.offset) == (&problem.path, problem.offset);
            if !problems.iter().any(is_known) {
                problems.push(problem);
            }
        }
        self.warnings.extend(damage(&problems));
        self.head = resumed.view.head().cloned();
        self.pipeline.restore(resumed.view);
        self.pipeline.set_compactions(compactions);
        events.iter().for_each(|event| self.pipeline.recall_event(event));
        events.iter().for_each(|event| self.spent.recall(event));
        if let Some(memory) = &mut self.memory {
            memory.restore(said, &events);
        }
        self.kept.extend(events.iter().map(|event| (event.name.clone(), event.data.clone())));
        // What was learnt about the model's window, if it is still the same model.
        if let Some(turn) = last_turn.filter(|turn| turn.model.as_ref() == Some(&self.frame.model)) {
            let settings = self.pipeline.settings_mut();
            settings.window = settings.window.min(turn.window.unwrap_or(u64::MAX));
        }
        self.set_cwd(cwd, &events);
        // What came in before the setting was on counts, too.
        if let Some(found) = outside.as_ref().and_then(OutsideWatch::found) {
            self.pollute(found)?;
        }
        Ok(())
    }

    fn set_cwd(&mut self, cwd: Option<String>, events: &[Event]) {
        if let Some(cwd) = &cwd {
            self.pipeline.set_cwd(cwd);
        }
        self.keep_notes(cwd.as_deref(), events);
        self.cwd = cwd;
    }
}

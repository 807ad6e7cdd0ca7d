//! One conversation of a client: what was decided about it, applied to each of its requests.

use super::account::Account;
use super::memory::{Keeper, Telling};
use super::window::{Known, Learnt, Room};
use super::{Asked, Client, ManageError, Recognised, Turn, Verdict, World, takeover};
use crate::inject::{Point, strike};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_core::pipeline::Moment;
use throughline_core::{Meta, SessionId, Wire};
use throughline_engine::{LedgerJournal, Options, Prepared, Preparer, Restored};
use throughline_ledger::{LedgerError, SyncPolicy, Writer};
use uuid::Uuid;

/// Refusals of what we made after which a conversation goes as it comes.
const MISTRUSTED: u32 = 3;

/// Tells conversations apart, in this process and later ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadKey(String);

impl ThreadKey {
    /// By the client's own name for it; else by how it begins.
    pub(super) fn of(recognised: &Recognised, asked: &Asked) -> Self {
        match &recognised.session {
            Some(session) => {
                Self::named(&recognised.client, recognised.wire, session, recognised.agent.as_deref())
            }
            None => {
                let first = asked.parsed().and_then(|body| body.message(0));
                let first = first.map(|message| throughline_core::content_id(None, &message));
                Self(format!("{}/{}", recognised.client.name(), first.as_ref().map_or("", |id| id.as_str())))
            }
        }
    }

    /// One that its client has a name for.
    pub(super) fn named(client: &Client, wire: Wire, session: &str, agent: Option<&str>) -> Self {
        Self(format!("{}/{wire:?}/{session}/{}", client.name(), agent.unwrap_or_default()))
    }

    /// The ledger's name for it: always the same.
    pub(crate) fn session(&self) -> SessionId {
        SessionId::new(
            Uuid::new_v5(&Uuid::NAMESPACE_URL, format!("throughline:{}", self.0).as_bytes()).to_string(),
        )
    }
}

/// One conversation.
pub(crate) struct Thread {
    pub(super) world: Arc<World>,
    pub(crate) key: ThreadKey,
    pub(crate) session: SessionId,
    pub(crate) wire: Wire,
    pub(crate) client: Client,
    pub(crate) cwd: Option<String>,
    pub(super) client_version: Option<String>,
    /// It is the conversation with a person, not that of a sub-agent.
    is_main: bool,
    /// When it was first seen here.
    pub(super) began: jiff::Timestamp,
    working: Mutex<Option<Box<Working>>>,
    /// How often the provider refused what we made of a request.
    pub(super) mistrust: AtomicU32,
    /// What its requests came to.
    pub(super) account: Mutex<Account>,
}

/// What is held while a conversation is busy.
pub(super) struct Working {
    pub(super) preparer: Preparer,
    pub(super) journal: LedgerJournal,
    /// What providers said about their windows.
    pub(super) learnt: Learnt,
    /// What it remembers beyond itself; `None`: nothing, or it is a sub-agent's.
    pub(super) memory: Option<Box<Keeper>>,
}

impl Thread {
    pub(super) fn new(world: Arc<World>, key: ThreadKey, recognised: &Recognised, asked: &Asked) -> Self {
        Self {
            session: key.session(),
            key,
            wire: recognised.wire,
            client: recognised.client.clone(),
            client_version: recognised.client_version.clone(),
            is_main: recognised.agent.is_none() && recognised.parent.is_none(),
            cwd: recognised
                .cwd(asked)
                .or_else(|| world.managing.project.as_ref().map(|project| project.display().to_string())),
            began: (world.now)(),
            world,
            working: Mutex::default(),
            mistrust: AtomicU32::new(0),
            account: Mutex::default(),
        }
    }

    /// Decides about the next request of the conversation.
    pub(super) fn decide(self: &Arc<Self>, asked: &Arc<Asked>) -> Result<Verdict, ManageError> {
        let moment = Moment { now: Some(asked.at), ..Moment::default() };
        let prepared = self.work(|working| self.prepare(working, asked, &moment))?;
        let is_trusted = self.mistrust.load(Ordering::Relaxed) < MISTRUSTED;
        let changed = is_trusted && prepared.bytes != asked.body;
        self.account().asked(asked.at);
        let body = changed.then(|| prepared.bytes.into());
        Ok(Verdict::Send(Box::new(Turn::new(self.clone(), asked.clone(), body))))
    }

    /// The request as it is to be sent.
    pub(super) fn prepare(
        self: &Arc<Self>,
        working: &mut Working,
        asked: &Asked,
        moment: &Moment,
    ) -> Result<Prepared, ManageError> {
        let Working { preparer, journal, learnt, memory } = working;
        let mut moment = moment.clone();
        let expanded = takeover::expand(&self.world, self.wire, &asked.body)?;
        let taken = preparer.take(expanded.unwrap_or_else(|| asked.body.to_vec()), &moment, journal)?;
        if let Some(memory) = memory {
            memory.tell(Telling { thread: self, taken: &taken, preparer, journal, moment: &mut moment });
        }
        strike(self.world.managing.inject, Point::Thread, &asked.headers)?;
        if let Some(pipeline) = preparer.pipeline() {
            let model = &pipeline.settings().model;
            let known = Known::of(&self.world, &self.client, model, &asked.headers);
            let Room { window, ceiling } = Known { learnt: learnt.of(model), ..known }.room();
            preparer.set_room(window, ceiling);
        }
        Ok(preparer.ready(&moment, journal)?)
    }

    /// A request beside the conversation: what was decided applies to it.
    pub(super) fn beside(&self, asked: &Asked) -> Result<Verdict, ManageError> {
        let expanded = takeover::expand(&self.world, self.wire, &asked.body)?;
        let own = expanded.as_deref().unwrap_or(&asked.body);
        let applied = self.work(|working| Ok(working.preparer.reapply(own)?))?;
        let body = applied.or(expanded).filter(|body| *body != asked.body);
        Ok(body.map_or(Verdict::Pass, |body| Verdict::Instead(body.into())))
    }

    /// Does something with what is held; it is fetched from the ledger first where it rests. After a panic it is fetched anew.
    pub(super) fn work<T>(
        &self,
        what: impl FnOnce(&mut Working) -> Result<T, ManageError>,
    ) -> Result<T, ManageError> {
        let mut working = match self.working.lock() {
            Ok(working) => working,
            Err(poisoned) => {
                self.working.clear_poison();
                let mut working = poisoned.into_inner();
                *working = None;
                working
            }
        };
        let working = match &mut *working {
            Some(working) => working,
            none => none.insert(Box::new(self.wake()?)),
        };
        what(working)
    }

    /// What its requests came to.
    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is held in memory. One that is at work is.
    pub(super) fn is_awake(&self) -> bool {
        self.working.try_lock().map_or(true, |working| working.is_some())
    }

    /// Only the ledger remembers it from here on, until the next request.
    pub(super) fn rest(&self) {
        if let Ok(mut working) = self.working.try_lock()
            && let Some(mut working) = working.take()
        {
            // What could not be forced to disk is written all the same.
            let _ = working.journal.end_turn();
        }
    }

    fn wake(&self) -> Result<Working, LedgerError> {
        let home = &self.world.home;
        let managing = &self.world.managing;
        let options = Options {
            profile: managing.profile.clone(),
            window: managing.window,
            tools: managing.tools,
            cache_edits: false,
        };
        let mut preparer = Preparer::new(self.wire, options);
        let mut learnt = Learnt::default();
        let memory;
        let writer = match home.find_exact(&self.session) {
            Ok(path) => {
                let writer = Writer::open(home, &path, SyncPolicy::Turn)?;
                let restored = Restored::read(home, &path)?;
                restored.events.iter().for_each(|event| learnt.recall(event));
                memory = self.keeper(Some(&restored));
                preparer.restore(restored);
                writer
            }
            Err(_) => {
                memory = self.keeper(None);
                let meta = Meta {
                    cwd: self.cwd.clone(),
                    client_version: self.client_version.clone(),
                    ..Meta::new(self.session.clone(), (self.world.now)(), self.client.name())
                };
                Writer::create(home, meta, SyncPolicy::Turn)?
            }
        };
        Ok(Working { preparer, journal: LedgerJournal::new(writer, &self.folder()), learnt, memory })
    }

    fn keeper(&self, restored: Option<&Restored>) -> Option<Box<Keeper>> {
        let desk = self.world.memory.clone().filter(|_| self.is_main())?;
        Some(Box::new(Keeper::new(desk, (&self.session, self.cwd.as_deref()), restored)))
    }

    /// Whether it is the conversation with a person, not that of a sub-agent.
    pub(super) fn is_main(&self) -> bool {
        self.is_main
    }

    /// The folder for what belongs to the session beside its ledger.
    pub(crate) fn folder(&self) -> PathBuf {
        self.world.home.root().join("sessions-data").join(self.session.as_str())
    }
}

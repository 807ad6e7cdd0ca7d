//! One conversation of a client: what was decided about it, applied to each of its requests.

use super::account::{Account, Measured};
use super::awake::Share;
use super::lineage::{self, Place};
use super::memory::{self, Keeper, Telling};
use super::own_tools::{Asking, Own};
use super::people::paused_in;
use super::rest::{Activity, Held};
use super::snapshot::MARK;
use super::turn::{Draft, Sent};
use super::window::{Known, Learnt, Room};
use super::{Asked, Client, ManageError, Recognised, RoutingDecision, World, recognise, takeover};
use crate::inject::{Point, strike};
use crate::relay::OriginalReason;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use throughline_core::pipeline::{Journal as _, Moment};
use throughline_core::stages::OwnTools;
use throughline_core::{
    ClientSession, MessageId, Meta, Record, SessionId, Turn as Circumstances, Wire, content_id,
};
use throughline_engine::{LedgerJournal, Options, Prepared, Preparer, Restored};
use throughline_ledger::{LedgerError, SyncPolicy, Writer};
use uuid::Uuid;

/// Tells conversations apart, in this process and later ones.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ThreadKey(String);

impl ThreadKey {
    /// One that its client has a name for.
    pub(super) fn named(client: &Client, wire: Wire, session: &str, agent: Option<&str>) -> Self {
        Self(format!("{}/{wire:?}/{session}/{}", client.name(), agent.unwrap_or_default()))
    }

    /// A new one that its client has no name for.
    pub(super) fn fresh(client: &Client) -> Self {
        Self(format!("{}/{}", client.name(), Uuid::now_v7()))
    }

    /// One that was written down.
    pub(super) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// To be written down.
    pub(super) fn as_str(&self) -> &str {
        &self.0
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
    /// What it is called, and where its ledger is.
    pub(super) place: Place,
    pub(crate) session: SessionId,
    pub(crate) wire: Wire,
    pub(crate) client: Client,
    pub(crate) cwd: Option<String>,
    pub(super) client_version: Option<String>,
    /// It is the conversation with a person, not that of a sub-agent.
    is_main: bool,
    /// The conversation whose sub-agent this is.
    pub(super) parent: Option<SessionId>,
    /// What its client calls it.
    client_session: Option<ClientSession>,
    pub(super) activity: Activity,
    pub(super) working: Mutex<Option<Box<Working>>>,
    /// How many rewritten requests the provider rejected.
    pub(super) rejected_rewrites: AtomicU32,
    /// What its requests came to.
    pub(super) account: Mutex<Account>,
    /// The end of its history when it came to rest.
    pub(super) tip: Mutex<Option<MessageId>>,
    /// Whether its requests go as they came; known once it was woken.
    pub(super) paused: AtomicBool,
}

/// What is held while a conversation is busy.
pub(super) struct Working {
    pub(super) preparer: Preparer,
    pub(super) journal: LedgerJournal,
    /// What providers said about their windows.
    pub(super) learnt: Learnt,
    /// What it remembers beyond itself; `None`: nothing, or it is a sub-agent's.
    pub(super) memory: Option<Box<Keeper>>,
    /// The answer to the newest request, until the client repeats it.
    pub(super) held: Option<Held>,
    /// What it knows of our tools.
    pub(super) own: Own,
    /// What all of this takes.
    share: Share,
}

/// Bytes that a conversation takes that has hardly begun.
const EMPTY: usize = 32 << 10;

impl Working {
    /// Counts what is held now.
    fn weigh(&mut self) {
        self.share.set(EMPTY + self.preparer.weight());
    }
}

impl Thread {
    pub(super) fn new(world: Arc<World>, place: Place, recognised: &Recognised, asked: &Asked) -> Self {
        Self {
            session: place.key.session(),
            place,
            wire: recognised.wire,
            client: recognised.client.clone(),
            client_version: recognised.client_version.clone(),
            is_main: memory::is_with_a_person(recognised, asked),
            cwd: recognised
                .cwd(asked)
                .or_else(|| world.managing.project.as_ref().map(|project| project.display().to_string())),
            parent: recognised.parent.clone(),
            client_session: recognised.client_session.clone(),
            world,
            activity: Activity::new(),
            working: Mutex::default(),
            rejected_rewrites: AtomicU32::new(0),
            account: Mutex::default(),
            tip: Mutex::default(),
            paused: AtomicBool::default(),
        }
    }

    /// Decides about the next request of the conversation.
    pub(super) fn decide(self: &Arc<Self>, asked: &Arc<Asked>) -> Result<RoutingDecision, ManageError> {
        let began = Instant::now();
        let moment = Moment { now: Some(asked.at), ..Moment::default() };
        let draft = self.work(|working| {
            if self.is_side_request(working, asked) {
                return Ok(Err(OriginalReason::SideRequest));
            }
            if self.is_paused() {
                self.account().asked(asked.at, None);
                return Ok(Err(OriginalReason::Paused));
            }
            let prepared = self.prepare(working, asked, &moment)?;
            let sent = self.measure(asked, working, &prepared)?;
            prepared.pass.changes.iter().for_each(|change| self.world.counters.edit(change.stage));
            let offered = working.own.offered(&working.preparer);
            let lacks_something = !prepared.violations.is_empty();
            let draft = self.draft(working, asked, prepared.bytes);
            Ok(Ok(Draft { sent: Some(sent), offered, lacks_something, ..draft }))
        })?;
        Ok(match draft {
            Ok(mut draft) => {
                draft.sent.iter_mut().for_each(|sent| sent.our_time = began.elapsed());
                self.forward(asked, draft)
            }
            Err(reason) => self.world.pass_through(asked, reason),
        })
    }

    /// Whether Claude Code asks something else in the session's name, as of a small model: other words, and no tools. Taken for the
    /// conversation it would look as if that had begun anew.
    fn is_side_request(&self, working: &Working, asked: &Asked) -> bool {
        let Some(first) = working.preparer.history().first().filter(|_| self.client == Client::ClaudeCode)
        else {
            return false;
        };
        if recognise::contains(&asked.body, "\"input_schema\"") {
            return false;
        }
        let message = asked.parsed().and_then(|body| body.message(0));
        message.is_some_and(|message| content_id(None, &message) != *first)
    }

    /// Notes what is about to be sent.
    pub(super) fn measure(
        &self,
        asked: &Asked,
        working: &mut Working,
        prepared: &Prepared,
    ) -> Result<Sent, LedgerError> {
        let measured = Measured::of(&working.preparer, prepared).map(|measured| measured.cached_for(asked));
        let is_another_model = self.account().asked(asked.at, measured.as_ref());
        if let Some(measured) = measured.as_ref().filter(|_| is_another_model) {
            working.journal.append(Record::Turn(Box::new(Circumstances {
                at: Some(asked.at),
                cwd: self.cwd.clone(),
                model: Some(measured.model.clone()),
                window: Some(measured.window()),
                ..Circumstances::default()
            })))?;
            working.journal.update_card(|_| {})?;
        }
        let tip = working.preparer.history().last().cloned();
        Ok(Sent { measured, tip, our_time: Duration::ZERO })
    }

    /// The request as it is to be sent.
    pub(super) fn prepare(
        self: &Arc<Self>,
        working: &mut Working,
        asked: &Asked,
        moment: &Moment,
    ) -> Result<Prepared, ManageError> {
        let mut moment = moment.clone();
        let asking = Asking { wire: self.wire, asked, wanted: self.world.managing.tools, moment: &moment };
        working.own.offer(&asking, &mut working.preparer, &mut working.journal)?;
        let body = self.expand(working.own.expand(self.wire, &asked.body), asked)?;
        let taken = working.preparer.take(body, &moment, &mut working.journal)?;
        working.repeated(&taken.fresh)?;
        let Working { preparer, journal, memory, .. } = working;
        if let Some(memory) = memory {
            memory.tell(Telling { thread: self, taken: &taken, preparer, journal, moment: &mut moment });
        }
        strike(self.world.managing.inject, Point::Thread, &asked.headers)?;
        if let Some(room) = self.room(working, asked) {
            working.preparer.set_room(room.window, room.ceiling);
            working.preparer.allow_server_edits(asked.takes_server_edits());
        }
        Ok(working.preparer.ready(&moment, &mut working.journal)?)
    }

    /// What the model of the conversation takes, once a request was seen.
    pub(super) fn room(&self, working: &Working, asked: &Asked) -> Option<Room> {
        let model = &working.preparer.pipeline()?.settings().model;
        let known = Known::of(&self.world, &self.client, model, &asked.headers);
        Some(Known { learnt: working.learnt.of(model), ..known }.room())
    }

    /// The client's request with what only the model knows: what it really said, and what was condensed here.
    pub(super) fn expand(&self, said: Option<Vec<u8>>, asked: &Asked) -> Result<Bytes, ManageError> {
        let body = said.map_or_else(|| asked.body.clone(), Bytes::from);
        Ok(takeover::expand(&self.world, self.wire, &body)?.map_or(body, Bytes::from))
    }

    /// Does something with what is held; it is fetched from the ledger first where it rests. After a panic it is fetched anew.
    pub(super) fn work<T>(
        &self,
        what: impl FnOnce(&mut Working) -> Result<T, ManageError>,
    ) -> Result<T, ManageError> {
        let mut working = self.hold();
        let working = match &mut *working {
            Some(working) => working,
            none => none.insert(Box::new(self.wake()?)),
        };
        let done = what(working);
        working.weigh();
        done
    }

    /// What is held, if anything is. After a panic nothing is.
    pub(super) fn hold(&self) -> MutexGuard<'_, Option<Box<Working>>> {
        self.working.lock().unwrap_or_else(|poisoned| {
            self.working.clear_poison();
            let mut working = poisoned.into_inner();
            *working = None;
            working
        })
    }

    /// What its requests came to.
    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it is held in memory. One that is at work is.
    pub(super) fn is_awake(&self) -> bool {
        self.working.try_lock().map_or(true, |working| working.is_some())
    }

    pub(super) fn wake(&self) -> Result<Working, LedgerError> {
        let home = &self.world.home;
        let managing = &self.world.managing;
        let options = Options {
            profile: managing.profile.clone(),
            window: managing.window,
            // Offered when a request has come that they can be offered in.
            tools: OwnTools::default(),
            // What the client permits its model is not known: `Recall` is the way back.
            reads_saved_files: false,
            cache_edits: managing.cache_edits,
            server_edits: false,
        };
        let mut preparer = Preparer::new(self.wire, options);
        let mut learnt = Learnt::default();
        let memory;
        let mut own = Own::default();
        let path = self.place.path(home);
        let writer = if path.exists() {
            let writer = Writer::open(home, &path, SyncPolicy::Turn)?;
            let restored = Restored::read(home, &path)?;
            self.account().restore(&restored.events);
            restored.events.iter().for_each(|event| learnt.recall(event));
            self.paused.store(paused_in(&restored.events), Ordering::Relaxed);
            memory = self.keeper(Some(&restored));
            own = Own::restored(&restored);
            preparer.restore(restored);
            writer
        } else {
            memory = self.keeper(None);
            self.account().restore(&[]);
            Writer::create(home, self.meta(), SyncPolicy::Turn)?
        };
        Ok(Working {
            preparer,
            journal: LedgerJournal::new(writer, &self.folder()),
            learnt,
            memory,
            held: None,
            own,
            share: Share::new(self.world.awake.clone()),
        })
    }

    fn keeper(&self, restored: Option<&Restored>) -> Option<Box<Keeper>> {
        let desk = self.world.memory.clone().filter(|_| self.is_main())?;
        Some(Box::new(Keeper::new(desk, (&self.session, self.cwd.as_deref()), restored)))
    }

    /// Whether it is the conversation with a person, not that of a sub-agent.
    pub(super) fn is_main(&self) -> bool {
        self.is_main
    }

    /// The first line of its ledger.
    fn meta(&self) -> Meta {
        let mark = lineage::mark(self.place.key.as_str(), self.wire, self.place.opening);
        Meta {
            cwd: self.cwd.clone(),
            client_version: self.client_version.clone(),
            parent_session: self.parent.clone(),
            client_session: self.client_session.clone(),
            extra: [(MARK.to_owned(), mark)].into_iter().collect(),
            ..Meta::new(self.session.clone(), self.place.created, self.client.name())
        }
    }

    /// The folder for what belongs to the session beside its ledger.
    pub(crate) fn folder(&self) -> PathBuf {
        self.world.home.root().join("sessions-data").join(self.session.as_str())
    }
}

//! Phase 1 on one session (H2).

use super::by_model::{Heard, SessionReader, Trouble, read_by_model};
use super::error::Phase1Error;
use super::judge::Dropped;
use super::read::{About, KeptMessages, Tally};
use super::sections::Sectioner;
use crate::handbook::{Extraction, Gatherer, HandbookLimits};
use crate::notes::Author;
use crate::store::{Cost, Extracted, SessionPlace, Source};
use jiff::Timestamp;
use std::future::poll_fn;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::task::Poll;
use std::time::Instant;
use throughline_core::cost::Dollars;
use throughline_core::{MemoryMode, Message, SessionId};
use throughline_ledger::{Home, LedgerError, newest_card};

/// Bytes of a ledger that are read before others get their turn: a lease must be kept alive meanwhile.
const BREATH: u64 = 2 << 20;

/// A session to extract.
pub struct Phase1<'a> {
    /// The home that has its ledger.
    pub home: &'a Home,
    /// The session.
    pub session: &'a SessionId,
    /// Where it is, by the lease.
    pub place: &'a SessionPlace,
    /// Who reads it; `None`: the offline scribe.
    pub model: Option<SessionReader<'a>>,
    /// Whether the offline scribe reads it if the model can't. Else that is an error, and the session is read another time.
    pub or_offline: bool,
    /// Bounds.
    pub limits: &'a HandbookLimits,
    /// The time, for sessions that do not tell their own.
    pub now: Timestamp,
}

/// What came of a session, with how it came about.
#[derive(Debug)]
pub struct Read {
    /// For the store.
    pub extracted: Extracted,
    /// What was read of the ledger.
    pub tally: Tally,
    /// What of a model's answers was not kept.
    pub dropped: Dropped,
    /// Messages that went into no section.
    pub left_out: u64,
    /// Sections whose answers could not be used.
    pub failed_sections: u64,
    /// Why the model did not do it, where the offline scribe did instead.
    pub instead: Option<Phase1Error>,
}

/// Extracts one session: [`read_session`], for the store.
///
/// # Errors
/// See [`Phase1Error`].
pub async fn extract_session(job: Phase1<'_>) -> Result<Extracted, Phase1Error> {
    read_session(job).await.map(|read| read.extracted)
}

/// Extracts one session: its ledger is read once, front to back, and nothing is written anywhere. Nothing worth keeping is a normal
/// result. Dropping the future stops it; while it reads, others get their turn every few megabytes.
///
/// # Errors
/// See [`Phase1Error`]: what is [passing](Phase1Error::is_passing) is worth another attempt.
pub async fn read_session(mut job: Phase1<'_>) -> Result<Read, Phase1Error> {
    let path = job.ledger()?;
    let model = job.model.take();
    let Some(reader) = model else { return job.offline(&path).await };
    match job.by_model(&path, &reader).await {
        Ok(read) => Ok(read),
        Err(error)
            if job.or_offline
                && error.cost().is_some()
                && !matches!(error, Phase1Error::Cancelled { .. }) =>
        {
            let mut read = job.offline(&path).await?;
            if let Some(cost) = error.cost() {
                let own = &mut read.extracted.cost;
                (own.tokens, own.dollars) = (own.tokens + cost.tokens, own.dollars + cost.dollars);
                own.seconds += cost.seconds;
            }
            read.instead = Some(error);
            Ok(read)
        }
        Err(error) => Err(error),
    }
}

impl Phase1<'_> {
    /// The ledger, if it is there, is this session's, and memory may be made of it.
    fn ledger(&self) -> Result<PathBuf, Phase1Error> {
        let not_its =
            || Phase1Error::NotItsLedger { session: self.session.clone(), ledger: self.place.ledger.clone() };
        let path = self.home.resolve(&self.place.ledger).ok_or_else(not_its)?;
        let real = path.canonicalize().map_err(|error| self.io("find", &path, error))?;
        let sessions = self.home.sessions();
        let root = sessions.canonicalize().map_err(|error| self.io("find", &sessions, error))?;
        if !real.starts_with(&root) {
            return Err(not_its());
        }
        let file = std::fs::File::open(&path).map_err(|error| self.io("open", &path, error))?;
        let end = file.metadata().map_err(|error| self.io("look at", &path, error))?.len();
        if let Some((_, card)) = newest_card(&file, &path, end)? {
            self.allowed(card.memory_mode)?;
        }
        Ok(path)
    }

    fn io(&self, action: &'static str, path: &std::path::Path, source: std::io::Error) -> Phase1Error {
        if source.kind() == ErrorKind::NotFound {
            return Phase1Error::Gone { session: self.session.clone(), ledger: self.place.ledger.clone() };
        }
        LedgerError::Io { action, path: path.to_owned(), source }.into()
    }

    fn allowed(&self, mode: MemoryMode) -> Result<(), Phase1Error> {
        match mode {
            MemoryMode::Enabled => Ok(()),
            MemoryMode::Disabled | MemoryMode::Polluted => {
                Err(Phase1Error::NotAllowed { session: self.session.clone(), mode })
            }
        }
    }

    /// Reads the ledger, and hands on every message that may be remembered.
    async fn each(
        &self,
        path: &std::path::Path,
        mut take: impl FnMut(&About, Message),
    ) -> Result<(About, Tally), Phase1Error> {
        let mut kept = match KeptMessages::open(self.home, path) {
            Err(LedgerError::Io { action, path, source }) => return Err(self.io(action, &path, source)),
            other => other?,
        };
        if kept.session().is_some_and(|found| found != self.session) {
            return Err(Phase1Error::NotItsLedger {
                session: self.session.clone(),
                ledger: self.place.ledger.clone(),
            });
        }
        let mut next = BREATH;
        while let Some(message) = kept.next_message()? {
            take(kept.about(), message);
            if kept.bytes() >= next {
                next = kept.bytes() + BREATH;
                breathe().await;
            }
        }
        // It may have been changed while it was read.
        self.allowed(kept.about().card.as_ref().map(|card| card.memory_mode).unwrap_or_default())?;
        Ok((kept.about().clone(), kept.tally()))
    }

    async fn offline(&self, path: &std::path::Path) -> Result<Read, Phase1Error> {
        let begun = Instant::now();
        let mut gatherer = None;
        let (about, tally) = self
            .each(path, |about, message| {
                gatherer.get_or_insert_with(|| Gatherer::new(about.cwd())).push(&message);
            })
            .await?;
        let extraction = gatherer.map(|gatherer| gatherer.finish(self.session)).unwrap_or_default();
        let seconds = begun.elapsed().as_secs_f64();
        let cost = Cost { by: Author::Offline, model: None, tokens: 0, dollars: Dollars::ZERO, seconds };
        Ok(Read {
            extracted: self.extracted(&about, extraction, cost),
            tally,
            dropped: Dropped::default(),
            left_out: 0,
            failed_sections: 0,
            instead: None,
        })
    }

    async fn by_model(
        &self,
        path: &std::path::Path,
        reader: &SessionReader<'_>,
    ) -> Result<Read, Phase1Error> {
        let mut sectioner = Sectioner::new(reader.model.id(), reader.window, self.limits);
        let (about, tally) = self.each(path, |_, message| sectioner.push(message)).await?;
        let sections = sectioner.finish();
        let left_out = sections.left_out.iter().map(|(first, last)| u64::from(last - first) + 1).sum();
        let heard = read_by_model(reader, self.session, sections).await;
        let Heard { extraction, dropped, failed, cost } = heard.map_err(|(trouble, cost)| {
            let (session, cost) = (self.session.clone(), Box::new(cost));
            match trouble {
                Trouble::Model(kind, why) => Phase1Error::Model { session, kind, why, cost },
                Trouble::NotUnderstood(why) => Phase1Error::NotUnderstood { session, why, cost },
                Trouble::Capped(cap) => Phase1Error::Capped { session, cap, cost },
                Trouble::Cancelled => Phase1Error::Cancelled { session, cost },
            }
        })?;
        Ok(Read {
            extracted: self.extracted(&about, extraction, cost),
            tally,
            dropped,
            left_out,
            failed_sections: failed,
            instead: None,
        })
    }

    fn extracted(&self, about: &About, extraction: Extraction, cost: Cost) -> Extracted {
        let card = about.card.as_ref();
        let meta = about.meta.as_ref();
        let created = meta.map(|meta| meta.created).or_else(|| card.and_then(|card| card.created));
        let updated = card.and_then(|card| card.updated).max(about.last_said).or(created).unwrap_or(self.now);
        let source = Source {
            session: self.session.clone(),
            project: self.place.project.clone(),
            home: self.place.home.clone(),
            ledger: self.place.ledger.clone(),
            client: meta.map(|meta| meta.client.clone()).unwrap_or_default(),
            cwd: about.cwd().map(str::to_owned),
            branch: about.branch.clone(),
            created,
            updated,
        };
        Extracted { source, extraction: (!extraction.is_empty()).then_some(extraction), cost }
    }
}

/// Lets others have their turn, once.
async fn breathe() {
    let mut is_over = false;
    poll_fn(|context| {
        if std::mem::replace(&mut is_over, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

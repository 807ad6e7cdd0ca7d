//! Which sessions may be extracted (H2, A5, H7).

use super::projects::SessionProjects;
use crate::handbook::{HandbookLimits, HomeId, ProjectKey};
use crate::store::{Wanted, Watermark};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt;
use throughline_core::{MemoryMode, SessionId};
use throughline_ledger::{Copies, Home, Listed, session_of};

/// What a session must be like. `None` lifts a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Eligibility {
    /// The time.
    pub now: Timestamp,
    /// The session that is being held, which is never extracted.
    pub current: Option<SessionId>,
    /// Something was said in it no longer ago than this.
    pub age: Option<SignedDuration>,
    /// Nothing was said in it for this long.
    pub idle: Option<SignedDuration>,
    /// Something was said in it since.
    pub since: Option<Timestamp>,
    /// It is of this project.
    pub project: Option<ProjectKey>,
    /// Sessions that are looked at, the newest first.
    pub candidates: usize,
}

impl Eligibility {
    /// What goes when a session starts.
    pub fn at_start(limits: &HandbookLimits, now: Timestamp, current: Option<SessionId>) -> Self {
        Self {
            now,
            current,
            age: Some(SignedDuration::from_hours(24 * i64::from(limits.age_days))),
            idle: Some(SignedDuration::from_hours(i64::from(limits.idle_hours))),
            since: None,
            project: None,
            candidates: limits.candidates,
        }
    }

    /// Every session, however old, for who asks for a handbook of all there is.
    pub fn everything(now: Timestamp) -> Self {
        Self { now, current: None, age: None, idle: None, since: None, project: None, candidates: usize::MAX }
    }

    /// Whether a session may be extracted, by its card.
    fn judge<'a>(&self, listed: &'a Listed, copies: &Copies<'a>) -> Result<(), Ineligible> {
        let card = &listed.card;
        let same = copies.of(listed);
        // What is said of one ledger of a conversation goes for all.
        for mode in same.iter().map(|one| one.card.memory_mode) {
            match mode {
                MemoryMode::Enabled => {}
                MemoryMode::Disabled => return Err(Ineligible::Disabled),
                MemoryMode::Polluted => return Err(Ineligible::Polluted),
            }
        }
        if card.parent_session.is_some() {
            return Err(Ineligible::SubAgent);
        }
        session(listed).ok_or(Ineligible::Unknown)?;
        if self.current.is_some() && same.iter().any(|one| session(one) == self.current) {
            return Err(Ineligible::Current);
        }
        if copies.is_lesser(listed) {
            return Err(Ineligible::Copy);
        }
        if card.turns == 0 {
            return Err(Ineligible::Empty);
        }
        let updated = updated(listed).ok_or(Ineligible::Unknown)?;
        let age = self.now.duration_since(updated);
        if self.age.is_some_and(|most| age > most) || self.since.is_some_and(|since| updated < since) {
            return Err(Ineligible::TooOld);
        }
        if self.idle.is_some_and(|least| age < least) {
            return Err(Ineligible::TooFresh);
        }
        Ok(())
    }
}

/// Why a session is not extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ineligible {
    /// Memory is off for it.
    Disabled,
    /// Text from outside came in.
    Polluted,
    /// It is being held.
    Current,
    /// A sub-agent's: what it found is in its parent's session.
    SubAgent,
    /// Nobody said anything.
    Empty,
    /// Too long ago.
    TooOld,
    /// It may still go on.
    TooFresh,
    /// Another ledger holds more of the same conversation: that one is read.
    Copy,
    /// Of another project.
    OtherProject,
    /// Enough newer ones were looked at.
    TooMany,
    /// Its ledger does not say whose it is, or when something was said.
    Unknown,
}

impl fmt::Display for Ineligible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Disabled => "memory is off",
            Self::Polluted => "text from outside came in",
            Self::Current => "it is being held",
            Self::SubAgent => "a sub-agent's",
            Self::Empty => "nobody said anything",
            Self::TooOld => "too old",
            Self::TooFresh => "too fresh",
            Self::Copy => "the same conversation as another",
            Self::OtherProject => "of another project",
            Self::TooMany => "beyond the number that is looked at",
            Self::Unknown => "its ledger does not say whose it is",
        })
    }
}

/// The sessions that may be extracted, newest first, and how many may not, by reason. Cards alone decide: no ledger is read, so
/// [`Eligibility::project`] is left to [`candidates`].
pub fn eligible<'a>(
    listed: &'a [Listed],
    by: &Eligibility,
) -> (Vec<&'a Listed>, BTreeMap<Ineligible, usize>) {
    let mut newest: Vec<&Listed> = listed.iter().collect();
    newest.sort_by(|a, b| updated(b).cmp(&updated(a)).then_with(|| b.path.cmp(&a.path)));
    let mut chosen = Vec::new();
    let mut others = BTreeMap::new();
    let mut seen = HashSet::new();
    let copies = Copies::among(listed);
    for one in newest {
        let verdict = by.judge(one, &copies).and_then(|()| {
            if chosen.len() >= by.candidates {
                return Err(Ineligible::TooMany);
            }
            // A ledger that was copied is one session.
            let is_new = session(one).is_some_and(|session| seen.insert(session));
            if is_new { Ok(()) } else { Err(Ineligible::Unknown) }
        });
        match verdict {
            Ok(()) => chosen.push(one),
            Err(why) => *others.entry(why).or_default() += 1,
        }
    }
    (chosen, others)
}

/// A session that may be extracted.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    /// Its ledger and card.
    pub listed: &'a Listed,
    /// Its project.
    pub project: ProjectKey,
    /// For the store.
    pub wanted: Wanted,
}

/// The sessions that may be extracted, newest first, of the project if one is asked for. Of each ledger the first line is read, which
/// says where the session ran; nothing is written. A ledger that is gone meanwhile is left out.
pub fn candidates<'a>(
    home: &Home,
    id: &HomeId,
    listed: &'a [Listed],
    by: &Eligibility,
) -> Vec<Candidate<'a>> {
    let mut projects = SessionProjects::new(home, id);
    let (chosen, _) = eligible(listed, by);
    let copies = Copies::among(listed);
    let found = chosen.into_iter().filter_map(|listed| {
        let (session, updated) = (session(listed)?, updated(listed)?);
        let project = projects.of(listed)?;
        if by.project.as_ref().is_some_and(|only| *only != project) {
            return None;
        }
        let others =
            copies.of(listed).into_iter().filter_map(self::session).filter(|other| *other != session);
        let wanted = Wanted::Extract {
            instead_of: others.collect(),
            session,
            home: id.clone(),
            project: project.clone(),
            ledger: home.relative(&listed.path),
            watermark: Watermark(updated.as_millisecond()),
        };
        Some(Candidate { listed, project, wanted })
    });
    found.collect()
}

/// What is to be extracted, newest first: [`candidates`], for the store.
pub fn wanted(home: &Home, id: &HomeId, listed: &[Listed], by: &Eligibility) -> Vec<Wanted> {
    candidates(home, id, listed, by).into_iter().map(|candidate| candidate.wanted).collect()
}

fn session(listed: &Listed) -> Option<SessionId> {
    listed.card.session.clone().or_else(|| session_of(&listed.path).map(SessionId::new))
}

fn updated(listed: &Listed) -> Option<Timestamp> {
    listed.card.updated.or(listed.card.created)
}

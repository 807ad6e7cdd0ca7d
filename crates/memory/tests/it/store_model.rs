//! The store in memory: what random operations are held against.

use crate::store_kit::scope;
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::MemoryMode;
use throughline_memory::handbook::Scope;
use throughline_memory::store::{Claim, Held, JobKey, JobKind, JobState};

pub(crate) const LEASE: i64 = 600;
pub(crate) const TRIES: u64 = 3;

pub(crate) fn id(at: usize) -> String {
    format!("s{at}")
}

/// The global one, and two projects'.
pub(crate) fn book(at: usize) -> Scope {
    if at == 0 { Scope::Global } else { scope(&format!("p{at}")) }
}

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) state: JobState,
    pub(crate) watermark: i64,
    pub(crate) claimed: Option<(i64, u64)>,
    pub(crate) done: Option<i64>,
    pub(crate) attempts: u64,
    pub(crate) ends: Option<i64>,
    pub(crate) project: usize,
}

#[derive(Clone, Debug)]
pub(crate) struct Output {
    pub(crate) project: usize,
    pub(crate) updated: i64,
    pub(crate) made: i64,
    pub(crate) used: u64,
    pub(crate) last_used: Option<i64>,
}

/// The store in memory. A book has the number of its scope; times are seconds.
#[derive(Default)]
pub(crate) struct Model {
    pub(crate) now: i64,
    pub(crate) jobs: BTreeMap<JobKey, Job>,
    pub(crate) outputs: BTreeMap<usize, Output>,
    pub(crate) rests: BTreeSet<(usize, usize)>,
    pub(crate) modes: BTreeMap<usize, MemoryMode>,
    pub(crate) cites: BTreeSet<(usize, usize)>,
    pub(crate) runs: BTreeSet<(JobKey, i64)>,
    pub(crate) editions: BTreeMap<usize, u64>,
    pub(crate) leases: u64,
}

pub(crate) fn number(key: &JobKey) -> usize {
    match key {
        JobKey::Extract(session) => session.as_str()[1..].parse().unwrap(),
        JobKey::Consolidate(scope) => (0..3).find(|at| book(*at) == *scope).unwrap(),
    }
}

impl Model {
    pub(crate) fn is_enabled(&self, session: usize) -> bool {
        self.modes.get(&session).copied().unwrap_or_default() == MemoryMode::Enabled
    }

    fn want(&mut self, key: JobKey, project: usize, watermark: impl Fn(&Job) -> i64) {
        let job = self.jobs.entry(key).or_insert(Job {
            state: JobState::Pending,
            watermark: i64::MIN,
            claimed: None,
            done: None,
            attempts: 0,
            ends: None,
            project,
        });
        job.project = project;
        job.watermark = watermark(job);
        job.attempts = 0;
        if job.state != JobState::Running {
            (job.state, job.ends) = (JobState::Pending, None);
        }
    }

    pub(crate) fn want_session(&mut self, session: usize, project: usize, watermark: i64) {
        let key = JobKey::Extract(id(session).into());
        match self.jobs.get_mut(&key) {
            Some(job) if job.watermark > watermark => {}
            Some(job) if job.watermark == watermark => job.project = project,
            _ => self.want(key, project, |_| watermark),
        }
    }

    pub(crate) fn want_book(&mut self, at: usize) {
        let key = JobKey::Consolidate(book(at));
        let is_wanted = self.jobs.get(&key).is_some_and(|job| match job.state {
            JobState::Pending => true,
            JobState::Running => job.claimed.is_some_and(|(claimed, _)| job.watermark > claimed),
            JobState::Done | JobState::Waiting | JobState::Failed => false,
        });
        if !is_wanted {
            self.want(key, 0, |job| job.watermark.max(0) + 1);
        }
    }

    /// Something that a book rests on changed.
    fn raise(&mut self, at: usize) {
        let key = JobKey::Consolidate(book(at));
        let waits = self.jobs.get(&key).filter(|job| job.state == JobState::Waiting).and_then(|job| job.ends);
        self.want(key.clone(), 0, |job| job.watermark.max(0) + 1);
        if let (Some(ends), Some(job)) = (waits, self.jobs.get_mut(&key)) {
            (job.state, job.ends) = (JobState::Waiting, Some(ends));
        }
    }

    fn raise_resting(&mut self, session: usize) {
        let Some(output) = self.outputs.get(&session) else { return };
        let own = output.project;
        for at in 0..3 {
            let job = self.jobs.get(&JobKey::Consolidate(book(at)));
            let is_running = job.is_some_and(|job| job.state == JobState::Running);
            let belongs = at == 0 || at == own;
            if self.rests.contains(&(at, session)) || (belongs && is_running) {
                self.raise(at);
            }
        }
    }

    fn drop_output(&mut self, session: usize) {
        self.outputs.remove(&session);
        self.rests.retain(|(_, known)| *known != session);
        self.cites.retain(|(known, _)| *known != session);
    }

    pub(crate) fn claim(&mut self, claim: &Claim) -> Vec<(JobKey, i64, u64, u64)> {
        let now = self.now;
        let of_kind = |key: &JobKey| {
            key.kind() == claim.kind && claim.only.as_ref().is_none_or(|only| only.contains(key))
        };
        let is_live = |(key, job): &(&JobKey, &Job)| {
            key.kind() == claim.kind
                && job.state == JobState::Running
                && job.ends.is_some_and(|ends| ends > now)
        };
        let live = self.jobs.iter().filter(is_live).count();
        let most = claim.running.map_or(claim.most, |running| claim.most.min(running.saturating_sub(live)));
        if most == 0 {
            return Vec::new();
        }
        for (_, job) in self.jobs.iter_mut().filter(|(key, _)| of_kind(key)) {
            let is_over = matches!(job.state, JobState::Running | JobState::Waiting)
                && job.ends.is_some_and(|ends| ends <= now);
            if is_over && job.attempts >= TRIES {
                (job.state, job.ends, job.claimed) = (JobState::Failed, None, None);
            }
        }
        let modes = self.modes.clone();
        let is_enabled = |key: &JobKey| {
            key.kind() == JobKind::Consolidate
                || modes.get(&number(key)).copied().unwrap_or_default() == MemoryMode::Enabled
        };
        let is_due = |(key, job): &(&JobKey, &Job)| {
            let is_open = match job.state {
                JobState::Pending => true,
                JobState::Running | JobState::Waiting => job.ends.is_some_and(|ends| ends <= now),
                JobState::Done | JobState::Failed => false,
            };
            of_kind(key) && is_open && job.attempts < TRIES && is_enabled(key)
        };
        let mut due: Vec<(i64, JobKey)> =
            self.jobs.iter().filter(is_due).map(|(key, job)| (-job.watermark, key.clone())).collect();
        due.sort();
        let mut taken = Vec::new();
        for (_, key) in due.into_iter().take(most) {
            self.leases += 1;
            let Some(job) = self.jobs.get_mut(&key) else { continue };
            job.state = JobState::Running;
            job.claimed = Some((job.watermark, self.leases));
            job.attempts += 1;
            job.ends = Some(now + LEASE);
            taken.push((key, job.watermark, job.attempts, self.leases));
        }
        taken
    }

    pub(crate) fn own(&mut self, key: &JobKey, lease: u64) -> Option<(&mut Job, i64)> {
        let job = self.jobs.get_mut(key).filter(|job| job.state == JobState::Running)?;
        let (claimed, by) = job.claimed?;
        (by == lease).then_some((job, claimed))
    }

    pub(crate) fn finish(
        &mut self,
        key: &JobKey,
        lease: u64,
        result: Result<(usize, i64), &[usize]>,
        keeps: bool,
    ) -> Held {
        let Some((_, claimed)) = self.own(key, lease) else { return Held::Lost };
        match result {
            Ok((project, updated)) => {
                let session = number(key);
                if keeps {
                    let before = self.outputs.get(&session).cloned();
                    let (used, last_used) =
                        before.as_ref().map_or((0, None), |known| (known.used, known.last_used));
                    let output = Output { project, updated, made: self.now, used, last_used };
                    self.outputs.insert(session, output);
                    if let Some(before) = before.filter(|before| before.project != project) {
                        self.raise(before.project);
                    }
                    self.raise(0);
                    self.raise(project);
                } else {
                    self.raise_resting(session);
                    self.drop_output(session);
                }
            }
            Err(selected) => {
                let at = number(key);
                self.rests.retain(|(known, _)| *known != at);
                let resting: Vec<usize> =
                    selected.iter().copied().filter(|session| self.outputs.contains_key(session)).collect();
                self.rests.extend(resting.into_iter().map(|session| (at, session)));
            }
        }
        assert!(self.runs.insert((key.clone(), claimed)), "done twice");
        if let Some(job) = self.jobs.get_mut(key) {
            job.state = if job.watermark > claimed { JobState::Pending } else { JobState::Done };
            (job.done, job.claimed, job.ends) = (Some(claimed), None, None);
        }
        Held::Held
    }

    pub(crate) fn fail(&mut self, key: &JobKey, lease: u64, is_passing: bool) -> Held {
        let now = self.now;
        let Some((job, claimed)) = self.own(key, lease) else { return Held::Lost };
        job.claimed = None;
        (job.state, job.ends) = if job.watermark > claimed {
            (JobState::Pending, None)
        } else if !is_passing || job.attempts >= TRIES {
            (JobState::Failed, None)
        } else {
            (JobState::Waiting, Some(now + 3_600 * (1 << (job.attempts - 1))))
        };
        Held::Held
    }

    pub(crate) fn release(&mut self, key: &JobKey, lease: u64) -> Held {
        let Some((job, claimed)) = self.own(key, lease) else { return Held::Lost };
        job.attempts -= u64::from(job.watermark == claimed);
        (job.state, job.claimed, job.ends) = (JobState::Pending, None, None);
        Held::Held
    }

    pub(crate) fn forget(&mut self, session: usize) -> bool {
        let key = JobKey::Extract(id(session).into());
        self.raise_resting(session);
        let had = self.jobs.contains_key(&key)
            || self.outputs.contains_key(&session)
            || self.modes.contains_key(&session)
            || self.runs.iter().any(|(known, _)| *known == key);
        self.jobs.remove(&key);
        self.runs.retain(|(known, _)| *known != key);
        self.modes.remove(&session);
        self.drop_output(session);
        had
    }

    pub(crate) fn set_mode(&mut self, session: usize, mode: MemoryMode) {
        let (before, after) = (self.is_enabled(session), mode == MemoryMode::Enabled);
        self.modes.insert(session, mode);
        let Some(project) = self.outputs.get(&session).map(|output| output.project) else { return };
        match (before, after) {
            (false, true) => {
                self.raise(0);
                self.raise(project);
            }
            (true, false) => self.raise_resting(session),
            (true, true) | (false, false) => {}
        }
    }

    pub(crate) fn prune(&mut self, cutoff: i64) -> u64 {
        let is_old = |(session, output): &(&usize, &Output)| {
            let fresh = output.made.max(output.updated).max(output.last_used.unwrap_or(i64::MIN));
            fresh < cutoff && !self.rests.iter().any(|(_, known)| known == *session)
        };
        let old: Vec<usize> = self.outputs.iter().filter(is_old).map(|(session, _)| *session).collect();
        for session in &old {
            self.drop_output(*session);
        }
        old.len() as u64
    }

    pub(crate) fn reset(&mut self, at: Option<usize>) {
        let Some(at) = at else {
            let (now, modes, leases) = (self.now, std::mem::take(&mut self.modes), self.leases);
            *self = Self { now, modes, leases, ..Self::default() };
            return;
        };
        let key = JobKey::Consolidate(book(at));
        self.jobs.remove(&key);
        self.runs.retain(|(known, _)| *known != key);
        self.rests.retain(|(known, _)| *known != at);
        self.editions.remove(&at);
        if at == 0 {
            return;
        }
        let gone: Vec<usize> = self
            .outputs
            .iter()
            .filter(|(_, output)| output.project == at)
            .map(|(session, _)| *session)
            .collect();
        let mut due: BTreeSet<usize> = self
            .rests
            .iter()
            .filter(|(_, session)| gone.contains(session))
            .map(|(scope, _)| *scope)
            .collect();
        let global = self.jobs.get(&JobKey::Consolidate(Scope::Global));
        if global.is_some_and(|job| job.state == JobState::Running) {
            due.insert(0);
        }
        let is_its = |key: &JobKey, job: &Job| key.kind() == JobKind::Extract && job.project == at;
        let jobs: Vec<JobKey> =
            self.jobs.iter().filter(|(key, job)| is_its(key, job)).map(|(key, _)| key.clone()).collect();
        let is_gone = |key: &JobKey| {
            jobs.contains(key) || (key.kind() == JobKind::Extract && gone.contains(&number(key)))
        };
        self.runs.retain(|(key, _)| !is_gone(key));
        self.jobs.retain(|key, _| !jobs.contains(key));
        for session in gone {
            self.drop_output(session);
        }
        due.into_iter().for_each(|at| self.raise(at));
    }
}

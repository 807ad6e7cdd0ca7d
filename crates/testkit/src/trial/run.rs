//! Many requests, each directly and through.

use super::{Answers, Caller, Case, Dice, End, How, Leave, Provider, Talk, differs, is_intact_or_valid};
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
use throughline_core::Wire;

/// How often a request may be sent again after a refusal.
const CURES: usize = 2;

/// At most so many differences are told.
const TOLD: usize = 20;

/// How many requests, and of whom.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// What stands before the provider.
    pub through: SocketAddr,
    /// Requests in all.
    pub requests: usize,
    /// Conversations that they belong to.
    pub sessions: usize,
    /// How many are on their way at the same time.
    pub at_once: usize,
    /// Turns after which a conversation begins anew.
    pub turns: usize,
    /// Words of each result in a conversation.
    pub words: usize,
    /// What chance depends on.
    pub seed: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Requests that were sent through.
    pub requests: usize,
    /// Of these, edited on the way.
    pub edited: usize,
    /// By what went wrong.
    pub kinds: BTreeMap<&'static str, usize>,
    /// By what was injected.
    pub injected: BTreeMap<&'static str, usize>,
    /// Conversations that answered one more request at the end.
    pub alive: usize,
    /// How many requests came to something else.
    pub wrong: usize,
    /// The first of them, in words.
    pub differences: Vec<String>,
}

impl Report {
    fn wrong(&mut self, what: String) {
        self.wrong += 1;
        if self.differences.len() < TOLD {
            self.differences.push(what);
        }
    }
}

/// Sends them. Conversations begin with some turns behind them, each with another number. They are divided among threads; each is asked one more thing at the end.
pub fn run(provider: &Provider, trial: &Trial) -> io::Result<Report> {
    let answers = Answers::record()?;
    let report = Mutex::new(Report::default());
    let worked: Vec<io::Result<()>> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..trial.at_once)
            .map(|number| {
                let worker = Worker { provider, trial, answers: &answers, report: &report };
                scope.spawn(move || worker.work(number))
            })
            .collect();
        workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(io::Error::other("a client panicked"))))
            .collect()
    });
    worked.into_iter().collect::<io::Result<()>>()?;
    Ok(report.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Whether the provider says what it says when a request is too large.
fn is_refused_as_too_large(case: &Case) -> bool {
    [b"HTTP/1.1 400".as_slice(), b"HTTP/1.1 413"].iter().any(|head| case.act.bytes.starts_with(head))
}

/// Whether not a byte of an answer may arrive: none is sent, or a reset overtakes it.
fn may_bring_nothing(case: &Case) -> bool {
    match case.act.end {
        End::Reset => true,
        End::Close => case.act.bytes.is_empty(),
        End::Open | End::Stall => false,
    }
}

struct Worker<'a> {
    provider: &'a Provider,
    trial: &'a Trial,
    answers: &'a Answers,
    report: &'a Mutex<Report>,
}

impl Worker<'_> {
    fn work(&self, number: usize) -> io::Result<()> {
        let trial = self.trial;
        let mut dice = Dice::new(trial.seed.wrapping_mul(1_000_003).wrapping_add(number as u64));
        let mut talks: Vec<(Talk, usize)> = (number..trial.sessions)
            .step_by(trial.at_once)
            .map(|session| (self.talk(session), session % trial.turns))
            .collect();
        if talks.is_empty() {
            return Ok(());
        }
        let mut direct = Caller::new(self.provider.address(), self.provider);
        let mut through = Caller::new(trial.through, self.provider);
        let share = (trial.requests + trial.at_once - 1 - number) / trial.at_once;
        for _ in 0..share {
            let at = dice.below(talks.len());
            let (talk, turns) = &mut talks[at];
            let case = Case::draw(&mut dice, talk, *turns, self.answers);
            self.attempt(&case, talk.wire, &mut direct, &mut through)?;
            // Some are sent again as they were, as clients do when they got no answer.
            if !dice.one_in(4) {
                *turns = (*turns + 1) % trial.turns;
            }
        }
        for (talk, turns) in &talks {
            let case = Case::fine(talk, *turns, self.answers);
            if self.attempt(&case, talk.wire, &mut direct, &mut through)? {
                self.note(|report| report.alive += 1);
            }
        }
        Ok(())
    }

    fn talk(&self, session: usize) -> Talk {
        let wire = [Wire::Anthropic, Wire::Responses, Wire::Chat][session % 3];
        Talk { wire, name: format!("s{session}"), words: self.trial.words }
    }

    fn note(&self, what: impl FnOnce(&mut Report)) {
        what(&mut self.report.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends one both ways; whether it came to the same.
    fn attempt(
        &self,
        case: &Case,
        wire: Wire,
        direct: &mut Caller<'_>,
        through: &mut Caller<'_>,
    ) -> io::Result<bool> {
        let number = self.provider.plan(case.act.clone());
        let without = direct.send(&case.letter, &case.manner, number)?;
        self.provider.take(number);
        let number = self.provider.plan(case.act.clone());
        let with = through.send(&case.letter, &case.manner, number)?;
        let arrived = self.provider.take(number);
        let mut wrong = differs(case, &without, &with);
        let mut edited = false;
        match arrived.as_slice() {
            [] if with.how == How::Left && matches!(case.manner.leave, Leave::Sending(_)) => {}
            [] => wrong = wrong.or(Some("the provider was not asked".to_owned())),
            [arrived] => match is_intact_or_valid(case, wire, arrived) {
                Ok(was_edited) => edited = was_edited,
                Err(why) => wrong = wrong.or(Some(why)),
            },
            // One that is refused as too large may be made smaller and sent again. One of which a kept connection brought back
            // nothing is sent once more.
            [_, again @ ..]
                if (again.len() <= CURES && is_refused_as_too_large(case))
                    || (again.len() == 1 && may_bring_nothing(case)) =>
            {
                for arrived in &arrived {
                    match is_intact_or_valid(case, wire, arrived) {
                        Ok(was_edited) => edited |= was_edited,
                        Err(why) => wrong = wrong.or(Some(why)),
                    }
                }
            }
            more => wrong = wrong.or(Some(format!("the provider was asked {} times", more.len()))),
        }
        if case.act.end != End::Open {
            direct.hang_up();
        }
        let is_same = wrong.is_none();
        self.note(|report| {
            report.requests += 1;
            report.edited += usize::from(edited);
            *report.kinds.entry(case.name).or_default() += 1;
            if let Some(injected) = case.injected {
                *report.injected.entry(injected).or_default() += 1;
            }
            if let Some(wrong) = wrong {
                report.wrong(format!(
                    "{} ({:?}, {:?}, injected {:?}, {:?} of {}, arrived {} times): {wrong}",
                    case.name,
                    case.act.end,
                    case.manner,
                    case.injected,
                    case.content,
                    case.letter.line,
                    arrived.len()
                ));
            }
        });
        Ok(is_same)
    }
}

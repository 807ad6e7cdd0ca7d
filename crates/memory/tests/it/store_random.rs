//! Random operations: a store answers as the one in memory does.

use crate::store_kit::{
    Hands, Place, consolidates, cost, edition, extracted, extracts, nothing, only, session, wanted,
};
use crate::store_model::{LEASE, Model, TRIES, book, id, number};
use jiff::Timestamp;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use throughline_core::{MemoryMode, MessageId};
use throughline_memory::store::{
    Cited, Claim, Consolidated, Failure, Held, JobKey, JobKind, Lease, Store, Tries, Wanted, open,
};

#[derive(Clone, Debug)]
enum Step {
    Want(usize, usize, i64),
    WantBook(usize),
    Claim { kind: JobKind, most: usize, running: Option<usize> },
    ClaimOne(usize),
    Finish { lease: usize, keeps: bool },
    Fail { lease: usize, is_passing: bool },
    Release(usize),
    Renew(usize),
    Pass(i64),
    Mode(usize, MemoryMode),
    Cite(usize, usize),
    Forget(usize),
    Prune(i64),
    Reset(Option<usize>),
    Publish(usize, u64),
}

const SESSIONS: usize = 4;
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let kinds = prop_oneof![Just(JobKind::Extract), Just(JobKind::Consolidate)];
    let modes = prop_oneof![2 => Just(MemoryMode::Enabled), 1 => Just(MemoryMode::Disabled), 1 => Just(MemoryMode::Polluted)];
    let step = prop_oneof![
        6 => (0..SESSIONS, 1..3_usize, 1..6_i64).prop_map(|(s, p, w)| Step::Want(s, p, w)),
        2 => (0..3_usize).prop_map(Step::WantBook),
        6 => (kinds, 0..4_usize, prop::option::of(0..4_usize))
            .prop_map(|(kind, most, running)| Step::Claim { kind, most, running }),
        2 => (0..SESSIONS).prop_map(Step::ClaimOne),
        8 => (0..12_usize, prop::bool::weighted(0.8)).prop_map(|(lease, keeps)| Step::Finish { lease, keeps }),
        3 => (0..12_usize, prop::bool::weighted(0.8))
            .prop_map(|(lease, is_passing)| Step::Fail { lease, is_passing }),
        1 => (0..12_usize).prop_map(Step::Release),
        1 => (0..12_usize).prop_map(Step::Renew),
        4 => prop_oneof![Just(300_i64), Just(600), Just(3_600), Just(7_200)].prop_map(Step::Pass),
        2 => (0..SESSIONS, modes).prop_map(|(s, mode)| Step::Mode(s, mode)),
        2 => (0..SESSIONS, 0..3_usize).prop_map(|(s, answer)| Step::Cite(s, answer)),
        1 => (0..SESSIONS).prop_map(Step::Forget),
        1 => (0..20_000_i64).prop_map(Step::Prune),
        1 => prop::option::weighted(0.8, 0..3_usize).prop_map(Step::Reset),
        1 => (0..3_usize, 0..3_u64).prop_map(|(scope, after)| Step::Publish(scope, after)),
    ];
    prop::collection::vec(step, 1..60)
}

/// The real one, and the one in memory.
struct Both {
    store: Arc<dyn Store>,
    hands: Hands,
    model: Model,
    leases: Vec<(Lease, u64)>,
}

fn seconds(at: i64) -> Timestamp {
    Timestamp::from_second(at).unwrap()
}

impl Both {
    async fn step(&mut self, step: &Step) {
        self.model.now = self.hands.now().as_second();
        match step {
            Step::Want(session, project, watermark) => {
                let wanted = wanted(&id(*session), &format!("p{project}"), *watermark);
                self.store.enqueue(&[wanted]).await.unwrap();
                self.model.want_session(*session, *project, *watermark);
            }
            Step::WantBook(at) => {
                self.store.enqueue(&[Wanted::Consolidate(book(*at))]).await.unwrap();
                self.model.want_book(*at);
            }
            Step::Claim { kind: JobKind::Extract, most, running } => {
                self.claim(Claim { most: *most, running: *running, ..extracts("w") }).await;
            }
            Step::Claim { kind: JobKind::Consolidate, most, running } => {
                self.claim(Claim { most: *most, running: *running, ..consolidates("w") }).await;
            }
            Step::ClaimOne(at) => self.claim(only(extracts("w"), JobKey::Extract(id(*at).into()))).await,
            Step::Finish { lease, keeps } => self.finish(*lease, *keeps).await,
            Step::Fail { lease, is_passing } => {
                let Some((lease, number)) = self.leases.get(*lease) else { return };
                let failure = Failure { why: "no".to_owned(), is_passing: *is_passing };
                let held = self.store.fail(lease, &failure).await.unwrap();
                assert_eq!(held, self.model.fail(&lease.job, *number, *is_passing));
            }
            Step::Release(lease) => {
                let Some((lease, number)) = self.leases.get(*lease) else { return };
                let held = self.store.release(lease).await.unwrap();
                assert_eq!(held, self.model.release(&lease.job, *number));
            }
            Step::Renew(lease) => {
                let Some((lease, number)) = self.leases.get(*lease) else { return };
                let held = self.store.renew(lease).await.unwrap();
                let ends = self.model.now + LEASE;
                let own = self.model.own(&lease.job, *number);
                assert_eq!(held == Held::Held, own.map(|(job, _)| job.ends = Some(ends)).is_some());
            }
            Step::Pass(by) => self.hands.pass(*by),
            Step::Mode(at, mode) => {
                self.store.set_mode(&id(*at).into(), *mode).await.unwrap();
                self.model.set_mode(*at, *mode);
            }
            Step::Cite(at, answer) => self.cite(*at, *answer).await,
            Step::Forget(at) => {
                assert_eq!(self.store.forget(&id(*at).into()).await.unwrap(), self.model.forget(*at));
            }
            Step::Prune(before) => {
                let cutoff = self.model.now - before;
                let pruned = self.store.prune(seconds(cutoff), 99).await.unwrap();
                assert_eq!(pruned.outputs, self.model.prune(cutoff));
            }
            Step::Reset(at) => {
                self.store.reset(at.map(book).as_ref()).await.unwrap();
                self.model.reset(*at);
            }
            Step::Publish(at, after) => {
                let told = self.store.publish(&edition(&book(*at), "text"), *after).await.unwrap();
                let newest = self.model.editions.get(at).copied().unwrap_or(0);
                assert_eq!(told, (newest == *after).then_some(after + 1));
                if let Some(number) = told {
                    self.model.editions.insert(*at, number);
                }
            }
        }
    }

    async fn claim(&mut self, claim: Claim) {
        let tries = Tries { most: TRIES as u32, ..Tries::default() };
        let claim = Claim { tries, ..claim };
        let leases = self.store.claim(&claim).await.unwrap();
        let expected = self.model.claim(&claim);
        let seen: Vec<_> = leases
            .iter()
            .map(|lease| (lease.job.clone(), lease.watermark.0, u64::from(lease.attempt)))
            .collect();
        let known: Vec<_> =
            expected.iter().map(|(key, watermark, attempt, _)| (key.clone(), *watermark, *attempt)).collect();
        assert_eq!(seen, known);
        self.leases.extend(leases.into_iter().zip(expected.into_iter().map(|(.., lease)| lease)));
    }

    async fn finish(&mut self, at: usize, keeps: bool) {
        let Some((lease, lease_number)) = self.leases.get(at).cloned() else { return };
        let held = match &lease.job {
            JobKey::Extract(session) => {
                let place = lease.at.clone().unwrap();
                let project = place.project.as_str()[1..].parse().unwrap();
                let result = if keeps { extracted } else { nothing };
                let result = result(session.as_str(), place.project.as_str(), lease.watermark.0 * 1_000);
                let held = self.store.finish_extract(&lease, &result).await.unwrap();
                let expected = Ok((project, lease.watermark.0));
                assert_eq!(held, self.model.finish(&lease.job, lease_number, expected, keeps));
                held
            }
            JobKey::Consolidate(scope) => {
                let outputs = self.store.outputs(scope, None, 2).await.unwrap();
                let selected: Vec<_> = outputs
                    .iter()
                    .map(|output| (output.source.session.clone(), output.source.updated))
                    .collect();
                let numbers: Vec<usize> =
                    selected.iter().map(|(session, _)| number(&JobKey::Extract(session.clone()))).collect();
                let done = Consolidated { selected, edition: keeps.then_some(1), cost: cost() };
                let held = self.store.finish_consolidate(&lease, &done).await.unwrap();
                assert_eq!(held, self.model.finish(&lease.job, lease_number, Err(&numbers), keeps));
                held
            }
        };
        if held == Held::Held {
            self.leases.remove(at);
        }
    }

    async fn cite(&mut self, at: usize, answer: usize) {
        let cited = Cited {
            by: session("reader"),
            answer: MessageId::from(format!("m{answer}").as_str()),
            sessions: vec![id(at).into()],
            at: self.hands.now(),
        };
        let counted = self.store.cite(&cited).await.unwrap();
        let now = self.model.now;
        let is_new = !self.model.cites.contains(&(at, answer));
        let expected = match self.model.outputs.get_mut(&at).filter(|_| is_new) {
            Some(output) => {
                output.used += 1;
                output.last_used = Some(output.last_used.map_or(now, |last| last.max(now)));
                self.model.cites.insert((at, answer));
                1
            }
            None => 0,
        };
        assert_eq!(counted, expected);
    }

    /// All that can be seen is the same.
    async fn compare(&self) {
        let jobs = self.store.jobs(None, 999).await.unwrap();
        let seen: BTreeMap<JobKey, _> = jobs
            .into_iter()
            .map(|job| {
                let ends = job.until.map(Timestamp::as_second);
                (
                    job.job,
                    (job.state, job.watermark.0, job.done.map(|done| done.0), u64::from(job.attempts), ends),
                )
            })
            .collect();
        let known: BTreeMap<JobKey, _> = self
            .model
            .jobs
            .iter()
            .map(|(key, job)| (key.clone(), (job.state, job.watermark, job.done, job.attempts, job.ends)))
            .collect();
        assert_eq!(seen, known);
        for at in 0..3 {
            let seen: Vec<_> = self
                .store
                .outputs(&book(at), None, 99)
                .await
                .unwrap()
                .iter()
                .map(|output| {
                    (number(&JobKey::Extract(output.source.session.clone())), output.used, output.selected)
                })
                .collect();
            let mut known: Vec<_> = self
                .model
                .outputs
                .iter()
                .filter(|(session, output)| {
                    (at == 0 || output.project == at) && self.model.is_enabled(**session)
                })
                .collect();
            known.sort_by_key(|(session, output)| {
                let touched = output.updated.max(output.last_used.unwrap_or(i64::MIN));
                (std::cmp::Reverse((output.used, touched)), **session)
            });
            let known: Vec<_> = known
                .into_iter()
                .map(|(session, output)| {
                    (*session, output.used, self.model.rests.contains(&(output.project, *session)))
                })
                .collect();
            assert_eq!(seen, known);
        }
        let runs = self.store.runs(None, 9_999).await.unwrap();
        let seen: BTreeSet<_> = runs.iter().map(|run| (run.job.clone(), run.watermark.0)).collect();
        assert_eq!(seen.len(), runs.len());
        assert_eq!(seen, self.model.runs);
    }
}

fn run(cases: u32, address: impl Fn() -> String) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let played = TestRunner::new(config).run(&steps(), |steps| {
        let hands = Hands::new();
        runtime.block_on(async {
            let store = open(&address().parse().unwrap(), hands.clock()).await.unwrap();
            let mut both = Both { store, hands, model: Model::default(), leases: Vec::new() };
            for step in &steps {
                both.step(step).await;
                both.compare().await;
            }
        });
        Ok(())
    });
    played.unwrap();
}

#[test]
fn sqlite_answers_as_the_model_does() {
    let place = Place::file();
    let number = std::cell::Cell::new(0);
    run(64, || {
        number.set(number.get() + 1);
        place.address().replace("store.db", &format!("store{}.db", number.get()))
    });
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_answers_as_the_model_does() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let Some(place) = runtime.block_on(Place::database()) else { return };
    // A schema for each: a database costs more.
    let number = std::cell::Cell::new(0);
    run(12, || {
        number.set(number.get() + 1);
        format!("{}?schema=case_{}", place.address(), number.get())
    });
}

//! Any sequence of asks and settles, by several processes, keeps the day's limits.

use super::{after, job, limits, noon, open, receipt};
use proptest::prelude::*;
use std::collections::BTreeMap;
use throughline_model::{Caps, Governor, GovernorLimits, Job, Permit, Usage};

const TOKENS: u64 = 5_000;
const DOLLARS: f64 = 2.0;

#[derive(Clone, Debug)]
enum Step {
    /// By one of the processes, with an estimate.
    Ask { process: usize, input: u64, dollars: f64 },
    /// One of the running jobs ends, having taken this share of its caps.
    Settle { which: usize, share: f64 },
    /// One of the running jobs ends without a receipt.
    Drop { which: usize },
    /// Time passes.
    Wait { minutes: i64 },
    /// A process dies while it writes.
    Tear,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_usize..3, 0_u64..2_500, 0.0..1.2_f64)
            .prop_map(|(process, input, dollars)| Step::Ask { process, input, dollars }),
        3 => (any::<prop::sample::Index>(), 0.0..=1.0_f64)
            .prop_map(|(which, share)| Step::Settle { which: which.index(64), share }),
        1 => any::<prop::sample::Index>().prop_map(|which| Step::Drop { which: which.index(64) }),
        1 => (1_i64..200).prop_map(|minutes| Step::Wait { minutes }),
        1 => Just(Step::Tear),
    ]
}

struct Running {
    permit: Permit,
    day: i64,
}

/// What a day has cost and has promised.
#[derive(Clone, Copy, Debug, Default)]
struct Day {
    tokens: u64,
    dollars: f64,
}

struct World {
    folder: tempfile::TempDir,
    processes: Vec<Governor>,
    running: Vec<Running>,
    days: BTreeMap<i64, Day>,
    minute: i64,
    largest: u64,
}

impl World {
    fn new(at_once: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Longer than anybody waits here: what happens when a lease runs out is another test.
        let caps = Caps { turns: 9, input_tokens: 2_000, output_tokens: 300, dollars: 1.0, seconds: 1 << 40 };
        let limits = GovernorLimits {
            daily_tokens: Some(TOKENS),
            daily_dollars: Some(DOLLARS),
            at_once,
            jobs: [("notes".to_owned(), caps)].into(),
            ..limits()
        };
        let processes = (0..3).map(|_| open(folder.path(), limits.clone())).collect();
        Self { folder, processes, running: Vec::new(), days: BTreeMap::new(), minute: 0, largest: 0 }
    }

    fn now(&self) -> jiff::Timestamp {
        after(noon(), self.minute * 60)
    }

    fn day(&self) -> i64 {
        (self.minute + 12 * 60) / (24 * 60)
    }

    fn take(&mut self, which: usize) -> Option<Running> {
        let len = self.running.len();
        (len > 0).then(|| self.running.swap_remove(which % len))
    }

    fn step(&mut self, step: &Step, factor: f64) {
        match *step {
            Step::Ask { process, input, dollars } => {
                let estimate = Usage { input, output: 10, ..Usage::default() };
                let ask = Job { estimate, dollars, ..job() };
                if let Ok(permit) = self.processes[process].ask(&ask, self.now()) {
                    let caps = permit.caps();
                    assert!(
                        caps.input_tokens >= input
                            && caps.output_tokens >= 10
                            && caps.dollars >= dollars - 1e-9
                    );
                    self.largest = self.largest.max(caps.input_tokens + caps.output_tokens);
                    self.running.push(Running { permit, day: self.day() });
                }
            }
            Step::Settle { which, share } => {
                let Some(Running { permit, day }) = self.take(which) else { return };
                let caps = permit.caps();
                let tokens = ((caps.input_tokens + caps.output_tokens) as f64 * share * factor) as u64;
                let dollars = caps.dollars * share * factor;
                permit.settle(receipt(tokens, dollars)).unwrap();
                let day = self.days.entry(day).or_default();
                day.tokens += tokens;
                day.dollars += dollars;
            }
            Step::Drop { which } => drop(self.take(which)),
            Step::Wait { minutes } => self.minute += minutes,
            Step::Tear => {
                let day = self.now().to_zoned(jiff::tz::TimeZone::UTC).date();
                let path = self.folder.path().join(format!("receipts/{day}.jsonl"));
                let mut bytes = std::fs::read(&path).unwrap_or_default();
                if bytes.ends_with(b"\n") {
                    bytes.extend_from_slice(b"{\"id\":\"to");
                    std::fs::write(&path, bytes).unwrap();
                }
            }
        }
    }

    /// What each day has cost, and what its running jobs may still cost.
    fn promised(&self) -> BTreeMap<i64, Day> {
        let mut days = self.days.clone();
        for Running { permit, day } in &self.running {
            let (caps, day) = (permit.caps(), days.entry(*day).or_default());
            day.tokens += caps.input_tokens + caps.output_tokens;
            day.dollars += caps.dollars;
        }
        days
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn jobs_that_keep_to_their_caps_never_go_over(
        steps in prop::collection::vec(step(), 1..60),
        at_once in 1_usize..5,
    ) {
        let mut world = World::new(at_once);
        for step in &steps {
            world.step(step, 1.0);
            prop_assert!(world.running.len() <= at_once);
            for (day, promised) in world.promised() {
                prop_assert!(promised.tokens <= TOKENS, "day {day}: {promised:?}");
                prop_assert!(promised.dollars <= DOLLARS + 1e-6, "day {day}: {promised:?}");
            }
            let today = world.days.get(&world.day()).copied().unwrap_or_default();
            for process in &world.processes {
                let spent = process.today(world.now()).unwrap();
                prop_assert_eq!(spent.tokens, today.tokens);
                prop_assert!((spent.dollars - today.dollars).abs() < 1e-6);
                prop_assert_eq!(spent.running, world.running.len());
            }
        }
    }

    #[test]
    fn jobs_that_take_twice_their_caps_go_over_by_one_job_at_most(
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let mut world = World::new(1);
        for step in &steps {
            world.step(step, 2.0);
            for (day, spent) in &world.days {
                prop_assert!(spent.tokens <= TOKENS + world.largest, "day {day}: {spent:?}");
                prop_assert!(spent.dollars <= DOLLARS + 1.0 + 1e-6, "day {day}: {spent:?}");
            }
        }
    }
}

#[test]
fn many_at_the_same_time_keep_the_limits() {
    let folder = tempfile::tempdir().unwrap();
    let limits = GovernorLimits { daily_tokens: Some(10_000), at_once: 3, ..limits() };
    let granted: Vec<u64> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..6)
            .map(|_| {
                let governor = open(folder.path(), limits.clone());
                scope.spawn(move || {
                    let mut taken = 0;
                    for _ in 0..8 {
                        let Ok(permit) = governor.ask(&job(), noon()) else { continue };
                        let tokens = permit.caps().input_tokens + permit.caps().output_tokens;
                        permit.settle(receipt(tokens, 0.0)).unwrap();
                        taken += tokens;
                    }
                    taken
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let taken: u64 = granted.iter().sum();
    assert!(taken <= 10_000 && taken > 0, "{granted:?}");
    let governor = open(folder.path(), limits);
    let spent = governor.today(noon()).unwrap();
    assert_eq!((spent.tokens, spent.skipped, spent.running), (taken, 0, 0));
}

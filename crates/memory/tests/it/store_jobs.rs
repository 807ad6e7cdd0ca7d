//! Jobs: wanted, claimed, held, lost, tried again.

use crate::store_kit::{
    World, app, consolidates, extracted, extracts, nothing, on_both, only, place, session, wanted,
};
use jiff::SignedDuration;
use std::collections::HashSet;
use throughline_core::MemoryMode;
use throughline_memory::handbook::{HomeId, ProjectKey};
use throughline_memory::store::{
    Claim, Enqueued, Failure, Held, JobKey, JobState, RunOutcome, Tries, Wanted, Watermark, WorkerId,
};

on_both!(
    h3_a_session_of_last_year_that_is_read_today_is_not_unused,
    wanting_twice_adds_once,
    a_claim_says_all_that_is_needed,
    the_newest_is_claimed_first,
    sessions_of_another_home_are_not_claimed,
    a_claim_can_be_limited_to_some,
    no_more_run_at_once_than_allowed,
    a_stale_lease_is_stolen_and_its_owner_changes_nothing,
    a_lease_that_is_renewed_is_not_stolen,
    what_is_released_is_due_at_once_and_the_attempt_does_not_count,
    the_pause_doubles_and_is_capped,
    attempts_are_used_up_per_watermark,
    a_failure_that_does_not_pass_is_not_tried_again,
    who_is_killed_at_the_last_attempt_leaves_a_failed_job,
    what_is_raised_while_it_runs_is_due_again_after,
    a_raised_job_that_fails_is_due_at_once,
    h2_nothing_worth_keeping_takes_away_the_older_output_and_is_not_retried,
    h7_a_session_that_may_not_be_remembered_is_not_claimed,
    two_who_claim_at_once_never_get_the_same,
    done_once_per_watermark,
    a_handbook_that_waits_goes_on_waiting_when_more_comes,
);

fn passing(why: &str) -> Failure {
    Failure { why: why.to_owned(), is_passing: true }
}

fn key(id: &str) -> JobKey {
    JobKey::Extract(session(id))
}

async fn wanting_twice_adds_once(world: World) {
    let told = |added, raised, unchanged| Enqueued { added, raised, unchanged };
    let some = [wanted("a", "app", 5), wanted("b", "app", 5), Wanted::Consolidate(app())];
    assert_eq!(world.store.enqueue(&some).await.unwrap(), told(3, 0, 0));
    assert_eq!(world.store.enqueue(&some).await.unwrap(), told(0, 0, 3));
    let again = [wanted("a", "app", 6), wanted("b", "app", 4), wanted("c", "app", 1), wanted("c", "app", 2)];
    assert_eq!(world.store.enqueue(&again).await.unwrap(), told(1, 2, 1));
    assert_eq!(world.store.enqueue(&[]).await.unwrap(), told(0, 0, 0));
    assert_eq!(world.job(&key("b")).await.unwrap().watermark, Watermark(5));
    assert_eq!(world.job(&key("c")).await.unwrap().watermark, Watermark(2));
}

async fn a_claim_says_all_that_is_needed(world: World) {
    world.want("a", 7).await;
    let lease = world.claim_one(extracts("w1")).await;
    assert_eq!(lease.job, key("a"));
    assert_eq!((lease.watermark, lease.attempt), (Watermark(7), 1));
    assert_eq!(lease.at, Some(place("a")));
    assert_eq!(lease.until, world.hands.now() + SignedDuration::from_mins(10));
    assert_eq!(world.claim(extracts("w2")).await, [], "it is somebody's");
    let job = world.job(&key("a")).await.unwrap();
    assert_eq!(
        (job.state, job.worker, job.until),
        (JobState::Running, Some(WorkerId("w1".to_owned())), Some(lease.until))
    );

    world.store.enqueue(&[Wanted::Consolidate(app())]).await.unwrap();
    let lease = world.claim_one(consolidates("w1")).await;
    assert_eq!((lease.job, lease.at), (JobKey::Consolidate(app()), None));
}

async fn the_newest_is_claimed_first(world: World) {
    for (id, watermark) in [("a", 5), ("b", 9), ("c", 7), ("d", 7)] {
        world.want(id, watermark).await;
    }
    let leases = world.claim(Claim { most: 3, ..extracts("w") }).await;
    let jobs: Vec<JobKey> = leases.into_iter().map(|lease| lease.job).collect();
    assert_eq!(jobs, [key("b"), key("c"), key("d")]);
}

async fn sessions_of_another_home_are_not_claimed(world: World) {
    world.want("a", 7).await;
    world.store.enqueue(&[Wanted::Consolidate(app())]).await.unwrap();
    let elsewhere = |claim| Claim { home: HomeId::new("another"), ..claim };
    assert_eq!(world.claim(elsewhere(extracts("w"))).await, []);
    world.claim_one(elsewhere(consolidates("w"))).await;

    // Who has the same session, and more of it, gets it.
    let more = Wanted::Extract {
        instead_of: Vec::new(),
        session: session("a"),
        home: HomeId::new("another"),
        project: ProjectKey::new("app"),
        ledger: "moved.jsonl".to_owned(),
        watermark: Watermark(8),
    };
    world.store.enqueue(&[more]).await.unwrap();
    assert_eq!(world.claim(extracts("w")).await, []);
    let lease = world.claim_one(elsewhere(extracts("w"))).await;
    assert_eq!(lease.at.unwrap().ledger, "moved.jsonl");
}

async fn a_claim_can_be_limited_to_some(world: World) {
    for id in ["a", "b'; --", "c"] {
        world.want(id, 1).await;
    }
    let some = Claim {
        only: Some(vec![key("b'; --"), key("x"), JobKey::Consolidate(app())]),
        most: 10,
        ..extracts("w")
    };
    assert_eq!(world.claim_one(some).await.job, key("b'; --"));
    assert_eq!(world.claim(Claim { only: Some(Vec::new()), most: 10, ..extracts("w") }).await, []);
    assert_eq!(world.claim(Claim { most: 0, ..extracts("w") }).await, []);
}

async fn no_more_run_at_once_than_allowed(world: World) {
    for id in ["a", "b", "c", "d"] {
        world.want(id, 1).await;
    }
    world.store.enqueue(&[Wanted::Consolidate(app())]).await.unwrap();
    let two = || Claim { most: 10, running: Some(2), ..extracts("w") };
    assert_eq!(world.claim(two()).await.len(), 2);
    assert_eq!(world.claim(two()).await, []);
    world.claim_one(Claim { running: Some(1), ..consolidates("w") }).await;
    // Leases that are over do not count.
    world.hands.pass(601);
    assert_eq!(world.claim(two()).await.len(), 2);
}

async fn a_stale_lease_is_stolen_and_its_owner_changes_nothing(world: World) {
    world.want("a", 7).await;
    let old = world.claim_one(extracts("old")).await;
    world.hands.pass(599);
    assert_eq!(world.claim(extracts("new")).await, []);
    world.hands.pass(1);
    let new = world.claim_one(extracts("new")).await;
    assert_eq!(new.attempt, 2);
    assert_ne!(old.token, new.token);

    let before = world.job(&key("a")).await;
    assert_eq!(world.store.renew(&old).await.unwrap(), Held::Lost);
    assert_eq!(world.store.release(&old).await.unwrap(), Held::Lost);
    assert_eq!(world.store.fail(&old, &passing("late")).await.unwrap(), Held::Lost);
    let late = extracted("a", "app", 7);
    assert_eq!(world.store.finish_extract(&old, &late).await.unwrap(), Held::Lost);
    assert_eq!(world.job(&key("a")).await, before);
    assert_eq!(world.store.output(&session("a")).await.unwrap(), None);
    assert_eq!(world.store.runs(None, 10).await.unwrap(), []);
    assert_eq!(world.due().await, []);

    assert_eq!(world.store.finish_extract(&new, &late).await.unwrap(), Held::Held);
    assert_eq!(world.store.finish_extract(&new, &late).await.unwrap(), Held::Lost, "it is done already");
    assert_eq!(world.store.runs(None, 10).await.unwrap().len(), 1);
}

async fn a_lease_that_is_renewed_is_not_stolen(world: World) {
    world.want("a", 7).await;
    let lease = world.claim_one(extracts("w")).await;
    for _ in 0..5 {
        world.hands.pass(590);
        assert_eq!(world.store.renew(&lease).await.unwrap(), Held::Held);
        assert_eq!(world.claim(extracts("thief")).await, []);
    }
    // A lease that is over and that nobody took is still one's own.
    world.hands.pass(10_000);
    assert_eq!(world.store.renew(&lease).await.unwrap(), Held::Held);
    assert_eq!(world.claim(extracts("thief")).await, []);
    assert_eq!(world.store.finish_extract(&lease, &extracted("a", "app", 7)).await.unwrap(), Held::Held);
}

async fn what_is_released_is_due_at_once_and_the_attempt_does_not_count(world: World) {
    world.want("a", 7).await;
    for _ in 0..10 {
        let lease = world.claim_one(extracts("w")).await;
        assert_eq!(lease.attempt, 1);
        assert_eq!(world.store.release(&lease).await.unwrap(), Held::Held);
        assert_eq!(world.store.release(&lease).await.unwrap(), Held::Lost);
    }
    assert_eq!(world.job(&key("a")).await.unwrap().state, JobState::Pending);
}

async fn the_pause_doubles_and_is_capped(world: World) {
    let hour = SignedDuration::from_hours(1);
    let tries = Tries { most: 6, wait: hour, longest: hour * 5 };
    let claim = || Claim { tries, ..extracts("w") };
    world.want("a", 7).await;
    for (attempt, hours) in [(1, 1), (2, 2), (3, 4), (4, 5), (5, 5)] {
        let lease = world.claim_one(claim()).await;
        assert_eq!(lease.attempt, attempt);
        assert_eq!(world.store.fail(&lease, &passing("the model was away")).await.unwrap(), Held::Held);
        let job = world.job(&key("a")).await.unwrap();
        assert_eq!((job.state, job.failure.as_deref()), (JobState::Waiting, Some("the model was away")));
        assert_eq!(job.until, Some(world.hands.now() + hour * hours));
        world.hands.pass(i64::from(hours) * 3_600 - 1);
        assert_eq!(world.claim(claim()).await, [], "attempt {attempt}");
        world.hands.pass(1);
    }
    let lease = world.claim_one(claim()).await;
    assert_eq!(world.store.fail(&lease, &passing("away")).await.unwrap(), Held::Held);
    assert_eq!(world.job(&key("a")).await.unwrap().state, JobState::Failed);
}

async fn attempts_are_used_up_per_watermark(world: World) {
    world.want("a", 7).await;
    for watermark in [7, 8] {
        for attempt in 1..=3 {
            let lease = world.claim_one(extracts("w")).await;
            assert_eq!((lease.attempt, lease.watermark), (attempt, Watermark(watermark)));
            assert_eq!(world.store.fail(&lease, &passing("no")).await.unwrap(), Held::Held);
            world.hands.pass(100 * 3_600);
        }
        let job = world.job(&key("a")).await.unwrap();
        assert_eq!((job.state, job.until), (JobState::Failed, None));
        assert_eq!(world.claim(extracts("w")).await, []);
        world.want("a", watermark).await;
        assert_eq!(world.claim(extracts("w")).await, [], "the same again is not more");
        world.want("a", watermark + 1).await;
    }
}

async fn a_failure_that_does_not_pass_is_not_tried_again(world: World) {
    world.want("a", 7).await;
    let lease = world.claim_one(extracts("w")).await;
    let odd = Failure { why: format!("no\0good {}", "x".repeat(10_000)), is_passing: false };
    assert_eq!(world.store.fail(&lease, &odd).await.unwrap(), Held::Held);
    let job = world.job(&key("a")).await.unwrap();
    assert_eq!(job.state, JobState::Failed);
    let failure = job.failure.unwrap();
    assert!(failure.starts_with("nogood") && failure.len() <= 2_000, "{}", failure.len());
    world.hands.pass(1_000_000);
    assert_eq!(world.claim(extracts("w")).await, []);
}

async fn who_is_killed_at_the_last_attempt_leaves_a_failed_job(world: World) {
    world.want("a", 7).await;
    for attempt in 1..=3 {
        assert_eq!(world.claim_one(extracts("w")).await.attempt, attempt);
        world.hands.pass(600);
    }
    assert_eq!(world.claim(extracts("w")).await, []);
    let job = world.job(&key("a")).await.unwrap();
    assert_eq!((job.state, job.attempts), (JobState::Failed, 3));
    assert!(job.failure.unwrap().contains("gone"));
    world.want("a", 8).await;
    assert_eq!(world.claim_one(extracts("w")).await.attempt, 1);
}

async fn what_is_raised_while_it_runs_is_due_again_after(world: World) {
    world.want("a", 7).await;
    let first = world.claim_one(extracts("w")).await;
    world.want("a", 9).await;
    assert_eq!(world.claim(extracts("other")).await, [], "the lease is kept");
    assert_eq!(world.store.finish_extract(&first, &extracted("a", "app", 7)).await.unwrap(), Held::Held);
    let job = world.job(&key("a")).await.unwrap();
    assert_eq!((job.state, job.done, job.watermark), (JobState::Pending, Some(Watermark(7)), Watermark(9)));
    let second = world.claim_one(extracts("other")).await;
    assert_eq!((second.watermark, second.attempt), (Watermark(9), 1));
    assert_eq!(world.store.finish_extract(&second, &extracted("a", "app", 9)).await.unwrap(), Held::Held);
    assert_eq!(world.job(&key("a")).await.unwrap().state, JobState::Done);
    let runs = world.store.runs(None, 10).await.unwrap();
    assert_eq!(runs.iter().map(|run| run.watermark.0).collect::<Vec<_>>(), [9, 7]);

    // A handbook, too: once more however often it is asked for.
    let book = world.claim_one(only(consolidates("w"), JobKey::Consolidate(app()))).await;
    let asked = world.store.enqueue(&[Wanted::Consolidate(app()), Wanted::Consolidate(app())]).await.unwrap();
    assert_eq!(asked, Enqueued { added: 0, raised: 1, unchanged: 1 });
    let done = world.resting_on(&["a"]).await;
    assert_eq!(world.store.finish_consolidate(&book, &done).await.unwrap(), Held::Held);
    assert!(world.due().await.contains(&app()));
}

async fn a_raised_job_that_fails_is_due_at_once(world: World) {
    world.want("a", 7).await;
    let lease = world.claim_one(extracts("w")).await;
    world.want("a", 8).await;
    let hopeless = Failure { why: "no".to_owned(), is_passing: false };
    assert_eq!(world.store.fail(&lease, &hopeless).await.unwrap(), Held::Held);
    let lease = world.claim_one(extracts("w")).await;
    assert_eq!((lease.watermark, lease.attempt), (Watermark(8), 1));
    world.want("a", 9).await;
    assert_eq!(world.store.release(&lease).await.unwrap(), Held::Held);
    world.hands.pass(1);
    // And so is one whose owner was killed.
    let lease = world.claim_one(extracts("w")).await;
    assert_eq!((lease.watermark, lease.attempt), (Watermark(9), 1));
    world.want("a", 10).await;
    world.hands.pass(600);
    let lease = world.claim_one(extracts("w")).await;
    assert_eq!((lease.watermark, lease.attempt), (Watermark(10), 1));
}

async fn h2_nothing_worth_keeping_takes_away_the_older_output_and_is_not_retried(world: World) {
    world.extract("a", "app", 7).await;
    world.consolidate(&app(), &["a"]).await;
    world.want("a", 8).await;
    let lease = world.claim_one(extracts("w")).await;
    let nothing = nothing("a", "app", 8);
    assert_eq!(world.store.finish_extract(&lease, &nothing).await.unwrap(), Held::Held);
    assert_eq!(world.store.output(&session("a")).await.unwrap(), None);
    assert!(world.due().await.contains(&app()), "what rested on it is made again");
    let job = world.job(&key("a")).await.unwrap();
    assert_eq!((job.state, job.done), (JobState::Done, Some(Watermark(8))));
    world.hands.pass(1_000_000);
    world.want("a", 8).await;
    assert_eq!(world.claim(extracts("w")).await, []);
    let run = &world.store.runs(None, 1).await.unwrap()[0];
    assert_eq!((run.outcome, run.cost.tokens), (RunOutcome::Nothing, 1_234));

    // Nothing where nothing was makes nothing due.
    world.consolidate(&app(), &[]).await;
    let before = world.due().await;
    world.want("b", 1).await;
    let lease = world.claim_one(extracts("w")).await;
    let nothing = crate::store_kit::nothing("b", "app", 1);
    assert_eq!(world.store.finish_extract(&lease, &nothing).await.unwrap(), Held::Held);
    assert_eq!(world.due().await, before);
}

async fn h7_a_session_that_may_not_be_remembered_is_not_claimed(world: World) {
    world.want("a", 7).await;
    for mode in [MemoryMode::Disabled, MemoryMode::Polluted] {
        world.store.set_mode(&session("a"), mode).await.unwrap();
        assert_eq!(world.claim(extracts("w")).await, []);
    }
    world.store.set_mode(&session("a"), MemoryMode::Enabled).await.unwrap();
    world.claim_one(extracts("w")).await;
}

async fn two_who_claim_at_once_never_get_the_same(world: World) {
    const JOBS: usize = 200;
    let many: Vec<Wanted> = (0..JOBS).map(|at| wanted(&format!("s{at:03}"), "app", at as i64 + 1)).collect();
    world.store.enqueue(&many).await.unwrap();
    let mut claimers = Vec::new();
    for at in 0..8 {
        let store = world.another().await;
        claimers.push(tokio::spawn(async move {
            let mut got = Vec::new();
            loop {
                let claim = Claim { most: 1 + at % 5, ..extracts(&format!("w{at}")) };
                let leases = store.claim(&claim).await.unwrap();
                if leases.is_empty() {
                    return got;
                }
                assert!(leases.len() <= claim.most);
                for lease in leases {
                    let JobKey::Extract(session) = &lease.job else { panic!("{lease:?}") };
                    let extracted = extracted(session.as_str(), "app", lease.watermark.0);
                    assert_eq!(store.finish_extract(&lease, &extracted).await.unwrap(), Held::Held);
                    got.push(lease.job);
                }
            }
        }));
    }
    let mut all = Vec::new();
    for claimer in claimers {
        all.extend(claimer.await.unwrap());
    }
    assert_eq!(all.len(), JOBS);
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), JOBS);
    assert_eq!(world.store.runs(None, 1_000).await.unwrap().len(), JOBS);
}

async fn done_once_per_watermark(world: World) {
    // Many with leases of which all but the last were stolen: one of them counts.
    world.want("a", 7).await;
    let mut leases = Vec::new();
    let tries = Tries { most: 100, ..Tries::default() };
    for at in 0..8 {
        leases.push(world.claim_one(Claim { tries, ..extracts(&format!("w{at}")) }).await);
        world.hands.pass(600);
    }
    let mut finishing = Vec::new();
    for lease in leases {
        let store = world.another().await;
        finishing.push(tokio::spawn(async move {
            store.finish_extract(&lease, &extracted("a", "app", 7)).await.unwrap()
        }));
    }
    let mut held = Vec::new();
    for finishing in finishing {
        held.push(finishing.await.unwrap());
    }
    assert_eq!(held.iter().filter(|held| **held == Held::Held).count(), 1);
    assert_eq!(held.last(), Some(&Held::Held));
    let runs = world.store.runs(None, 10).await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!(runs[0].worker, WorkerId("w7".to_owned()));
}

async fn a_handbook_that_waits_goes_on_waiting_when_more_comes(world: World) {
    world.extract("a", "app", 7).await;
    let book = || only(consolidates("w"), JobKey::Consolidate(app()));
    let lease = world.claim_one(book()).await;
    assert_eq!(world.store.fail(&lease, &passing("no")).await.unwrap(), Held::Held);
    world.extract("b", "app", 8).await;
    assert_eq!(world.claim(book()).await, []);
    // Who asks for it gets it.
    let asked = world.store.enqueue(&[Wanted::Consolidate(app())]).await.unwrap();
    assert_eq!(asked.raised, 1);
    assert_eq!(world.claim_one(book()).await.attempt, 1);
}

async fn h3_a_session_of_last_year_that_is_read_today_is_not_unused(world: World) {
    // Something was last said in it a second after 1970 began.
    world.extract("old", "app", 1_000).await;
    let (now, scope) = (world.hands.now(), app());
    let month = SignedDuration::from_hours(24 * 30);
    let found = |cutoff| world.store.outputs(&scope, Some(cutoff), 10);
    assert_eq!(found(now - month).await.unwrap().len(), 1);
    assert_eq!(world.store.prune(now - month, 10).await.unwrap().outputs, 0);
    // A month later nobody had any use for it.
    let later = now + SignedDuration::from_hours(1);
    assert_eq!(found(later).await.unwrap().len(), 0);
    assert_eq!(world.store.prune(later, 10).await.unwrap().outputs, 1);
}

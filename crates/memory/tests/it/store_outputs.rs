//! Outputs: kept, ranked, used, hidden, taken out; and editions.

use crate::store_kit::{
    World, app, consolidates, cost, edition, extracted, extracts, on_both, only, scope, session, wanted,
};
use jiff::{SignedDuration, Timestamp};
use throughline_core::{MemoryMode, MessageId};
use throughline_memory::handbook::{Extraction, ProjectKey, Scope};
use throughline_memory::store::{
    Cited, Consolidated, Extracted, Held, JobKey, JobKind, JobState, Pruned, RunOutcome, StoreError, Wanted,
};

on_both!(
    an_output_reads_back_as_it_was,
    what_says_nothing_is_no_output,
    h5_use_counts_survive_a_new_extraction,
    h5_an_answer_counts_once_however_often_it_is_told,
    h3_outputs_come_by_use_then_recency_then_session,
    h3_the_cutoff_is_by_use_update_or_making,
    h7_pollution_hides_outputs_and_makes_handbooks_due,
    h7_pollution_during_a_consolidation_makes_it_due_again,
    what_changed_since_is_not_marked_as_selected,
    a_session_that_moves_to_another_project_makes_both_due,
    prune_takes_out_what_nobody_uses_and_no_handbook_rests_on,
    forget_takes_out_all_of_a_session,
    reset_of_a_project_leaves_the_others,
    reset_of_everything_leaves_only_modes,
    an_edition_is_replaced_only_by_who_saw_the_newest,
    of_many_who_publish_at_once_one_succeeds,
    a_result_of_another_job_is_refused,
    odd_texts_are_kept,
);

fn cited(answer: &str, sessions: &[&str], at: i64) -> Cited {
    Cited {
        by: session("reader"),
        answer: MessageId::from(answer),
        sessions: sessions.iter().map(|id| session(id)).collect(),
        at: Timestamp::from_millisecond(at).unwrap(),
    }
}

fn millis(at: i64) -> Timestamp {
    Timestamp::from_millisecond(at).unwrap()
}

async fn an_output_reads_back_as_it_was(world: World) {
    let mut whole = extracted("a", "app", 7);
    whole.source.updated = "2025-06-01T10:20:30.123456789Z".parse().unwrap();
    whole.source.branch = Some("feature/ümlaut".to_owned());
    world.want("a", 7).await;
    let lease = world.claim_one(extracts("w")).await;
    world.hands.pass(5);
    assert_eq!(world.store.finish_extract(&lease, &whole).await.unwrap(), Held::Held);
    let output = world.store.output(&session("a")).await.unwrap().unwrap();
    assert_eq!(output.source, whole.source);
    assert_eq!(Some(&output.extraction), whole.extraction.as_ref());
    assert_eq!(output.cost, whole.cost);
    assert_eq!(output.generated, world.hands.now());
    assert_eq!((output.used, output.last_used, output.selected), (0, None, false));
    assert_eq!(world.store.outputs(&app(), None, 9).await.unwrap(), [output]);

    let runs = world.store.runs(None, 9).await.unwrap();
    assert_eq!(runs.len(), 1);
    assert_eq!((&runs[0].job, runs[0].outcome), (&lease.job, RunOutcome::Done));
    assert_eq!((runs[0].watermark, &runs[0].cost, runs[0].at), (lease.watermark, &cost(), world.hands.now()));
    let later = world.hands.now() + SignedDuration::from_micros(1);
    assert_eq!(world.store.runs(Some(later), 9).await.unwrap(), []);
    assert_eq!(world.store.runs(Some(world.hands.now()), 9).await.unwrap().len(), 1);
    assert_eq!(world.store.scopes().await.unwrap(), [Scope::Global, app()]);
    assert_eq!(world.due().await, [Scope::Global, app()]);
}

async fn what_says_nothing_is_no_output(world: World) {
    world.extract("a", "app", 7).await;
    world.want("a", 8).await;
    let lease = world.claim_one(extracts("w")).await;
    let empty = Extracted { extraction: Some(Extraction::default()), ..extracted("a", "app", 8) };
    assert_eq!(world.store.finish_extract(&lease, &empty).await.unwrap(), Held::Held);
    assert_eq!(world.store.output(&session("a")).await.unwrap(), None);
    assert_eq!(world.store.scopes().await.unwrap(), []);
    assert_eq!(world.store.runs(None, 1).await.unwrap()[0].outcome, RunOutcome::Nothing);
}

async fn h5_use_counts_survive_a_new_extraction(world: World) {
    world.extract("a", "app", 7).await;
    assert_eq!(world.store.cite(&cited("m1", &["a"], 50)).await.unwrap(), 1);
    assert_eq!(world.store.cite(&cited("m2", &["a"], 40)).await.unwrap(), 1);
    world.consolidate(&app(), &["a"]).await;
    world.extract("a", "app", 9).await;
    let output = world.store.output(&session("a")).await.unwrap().unwrap();
    assert_eq!((output.used, output.last_used), (2, Some(millis(50))));
    assert_eq!(output.source.updated, millis(9));
    assert!(output.selected, "the handbook still rests on it");
    assert_eq!(world.store.cite(&cited("m1", &["a"], 60)).await.unwrap(), 0, "it was counted before");
}

async fn h5_an_answer_counts_once_however_often_it_is_told(world: World) {
    for id in ["a", "b"] {
        world.extract(id, "app", 7).await;
    }
    let told = cited("m1", &["a", "b", "a", "unknown"], 50);
    assert_eq!(world.store.cite(&told).await.unwrap(), 2);
    // By many at once, too.
    let mut telling = Vec::new();
    for _ in 0..6 {
        let (store, told) = (world.another().await, cited("m2", &["b", "a"], 60));
        telling.push(tokio::spawn(async move { store.cite(&told).await.unwrap() }));
    }
    let mut counted = 0;
    for told in telling {
        counted += told.await.unwrap();
    }
    assert_eq!(counted, 2);
    assert_eq!(world.store.cite(&told).await.unwrap(), 0);
    for id in ["a", "b"] {
        let output = world.store.output(&session(id)).await.unwrap().unwrap();
        assert_eq!((output.used, output.last_used), (2, Some(millis(60))));
    }
    let by_another = Cited { by: session("x"), ..told };
    assert_eq!(world.store.cite(&by_another).await.unwrap(), 2);
}

async fn h3_outputs_come_by_use_then_recency_then_session(world: World) {
    for (id, project, updated) in [
        ("a", "app", 100),
        ("b", "app", 300),
        ("B", "app", 300),
        ("c", "app", 200),
        ("d", "lib", 900),
        ("e", "app", 1),
    ] {
        world.extract(id, project, updated).await;
    }
    world.store.cite(&cited("m1", &["a", "e"], 50)).await.unwrap();
    world.store.cite(&cited("m2", &["e"], 40)).await.unwrap();
    assert_eq!(world.sessions(&app(), None).await, ["e", "a", "B", "b", "c"]);
    assert_eq!(world.sessions(&Scope::Global, None).await, ["e", "a", "d", "B", "b", "c"]);
    let two = world.store.outputs(&app(), None, 2).await.unwrap();
    assert_eq!(two.iter().map(|output| output.source.session.as_str()).collect::<Vec<_>>(), ["e", "a"]);
    // Among those used as often the newest of use and update counts.
    world.store.cite(&cited("m3", &["c"], 400)).await.unwrap();
    assert_eq!(world.sessions(&app(), None).await, ["e", "c", "a", "B", "b"]);
    assert_eq!(world.store.scopes().await.unwrap(), [Scope::Global, app(), scope("lib")]);
}

async fn h3_the_cutoff_is_by_use_update_or_making(world: World) {
    let later = world.hands.now() + SignedDuration::from_secs(500);
    world.extract("early", "app", 100).await;
    world.extract("used late", "app", 100).await;
    world.extract("updated late", "app", later.as_millisecond()).await;
    world.hands.pass(500);
    world.extract("made late", "app", 100).await;
    world.store.cite(&cited("m1", &["early"], 200)).await.unwrap();
    world.store.cite(&cited("m2", &["used late"], later.as_millisecond())).await.unwrap();
    let fresh = ["used late", "updated late", "made late"];
    assert_eq!(world.sessions(&app(), Some(later)).await, fresh);
    let after = later + SignedDuration::from_micros(1);
    assert_eq!(world.sessions(&app(), Some(after)).await, [""; 0]);
    assert_eq!(world.sessions(&app(), None).await.len(), 4);
}

async fn h7_pollution_hides_outputs_and_makes_handbooks_due(world: World) {
    for id in ["a", "b", "c"] {
        world.extract(id, "app", 7).await;
    }
    world.consolidate(&app(), &["a", "b"]).await;
    world.consolidate(&Scope::Global, &["b"]).await;
    assert_eq!(world.due().await, []);

    world.store.set_mode(&session("c"), MemoryMode::Polluted).await.unwrap();
    assert_eq!(world.due().await, [], "nothing rests on it");
    world.store.set_mode(&session("a"), MemoryMode::Polluted).await.unwrap();
    assert_eq!(world.due().await, [app()]);
    assert_eq!(world.sessions(&app(), None).await, ["b"]);
    assert_eq!(world.sessions(&Scope::Global, None).await, ["b"]);
    world.consolidate(&app(), &["b"]).await;

    world.store.set_mode(&session("b"), MemoryMode::Disabled).await.unwrap();
    assert_eq!(world.due().await, [Scope::Global, app()]);
    world.consolidate(&app(), &[]).await;
    world.consolidate(&Scope::Global, &[]).await;
    for mode in [MemoryMode::Disabled, MemoryMode::Polluted] {
        world.store.set_mode(&session("b"), mode).await.unwrap();
        assert_eq!(world.due().await, [], "it changes nothing");
    }
    world.store.set_mode(&session("b"), MemoryMode::Enabled).await.unwrap();
    assert_eq!(world.due().await, [Scope::Global, app()], "it can be used again");
    assert_eq!(world.sessions(&app(), None).await, ["b"]);
}

async fn h7_pollution_during_a_consolidation_makes_it_due_again(world: World) {
    world.extract("a", "app", 7).await;
    let key = JobKey::Consolidate(app());
    let lease = world.claim_one(only(consolidates("w"), key.clone())).await;
    let seen = world.resting_on(&["a"]).await;
    world.store.set_mode(&session("a"), MemoryMode::Polluted).await.unwrap();
    assert_eq!(world.store.finish_consolidate(&lease, &seen).await.unwrap(), Held::Held);
    assert!(world.due().await.contains(&app()), "the book was made of it");
    // So does forgetting it.
    let lease = world.claim_one(only(consolidates("w"), key)).await;
    assert!(world.store.forget(&session("a")).await.unwrap());
    assert_eq!(world.store.finish_consolidate(&lease, &seen).await.unwrap(), Held::Held);
    assert!(world.due().await.contains(&app()));
}

async fn what_changed_since_is_not_marked_as_selected(world: World) {
    for id in ["a", "b", "gone"] {
        world.extract(id, "app", 7).await;
    }
    let lease = world.claim_one(only(consolidates("w"), JobKey::Consolidate(app()))).await;
    let seen = world.resting_on(&["a", "b", "gone"]).await;
    world.extract("b", "app", 8).await;
    world.store.forget(&session("gone")).await.unwrap();
    let consolidated = Consolidated { edition: Some(3), ..seen };
    assert_eq!(world.store.finish_consolidate(&lease, &consolidated).await.unwrap(), Held::Held);
    let selected = |id: &'static str| {
        let store = world.store.clone();
        async move { store.output(&session(id)).await.unwrap().unwrap().selected }
    };
    assert!(selected("a").await);
    assert!(!selected("b").await);
    assert_eq!(world.store.runs(None, 1).await.unwrap()[0].outcome, RunOutcome::Done);
    assert!(world.due().await.contains(&app()));
    // What the next one rests on is all that it rests on.
    world.consolidate(&app(), &["b"]).await;
    assert!(!selected("a").await && selected("b").await);
    assert_eq!(world.store.runs(None, 1).await.unwrap()[0].outcome, RunOutcome::Nothing);
}

async fn a_session_that_moves_to_another_project_makes_both_due(world: World) {
    world.extract("a", "app", 7).await;
    world.consolidate(&app(), &["a"]).await;
    world.consolidate(&Scope::Global, &["a"]).await;
    world.extract("a", "lib", 8).await;
    assert_eq!(world.due().await, [Scope::Global, app(), scope("lib")]);
    assert_eq!(world.sessions(&app(), None).await, [""; 0]);
    assert_eq!(world.sessions(&scope("lib"), None).await, ["a"]);
    assert!(!world.store.output(&session("a")).await.unwrap().unwrap().selected, "not by its own project");
}

async fn prune_takes_out_what_nobody_uses_and_no_handbook_rests_on(world: World) {
    let cutoff = world.hands.now() + SignedDuration::from_secs(500);
    world.extract("older", "app", 100).await;
    world.hands.pass(100);
    for (id, updated) in
        [("old", 100), ("used", 100), ("selected", 100), ("global", 100), ("new", cutoff.as_millisecond())]
    {
        world.extract(id, "app", updated).await;
    }
    world.store.cite(&cited("m", &["used"], cutoff.as_millisecond())).await.unwrap();
    world.consolidate(&app(), &["selected"]).await;
    world.consolidate(&Scope::Global, &["global"]).await;
    assert_eq!(world.store.prune(cutoff, 1).await.unwrap(), Pruned { outputs: 1 });
    assert_eq!(world.store.output(&session("older")).await.unwrap(), None, "the oldest first");
    assert_eq!(world.store.prune(cutoff, 9).await.unwrap(), Pruned { outputs: 1 });
    assert_eq!(world.store.prune(cutoff, 9).await.unwrap(), Pruned { outputs: 0 });
    let mut left = world.sessions(&app(), None).await;
    left.sort();
    assert_eq!(left, ["global", "new", "selected", "used"]);
    assert_eq!(world.due().await, []);
    // The watermark stays: it is not extracted again unless it goes on.
    assert_eq!(world.store.enqueue(&[wanted("old", "app", 100)]).await.unwrap().unchanged, 1);
    assert_eq!(world.claim(extracts("w")).await, []);
    assert_eq!(world.store.enqueue(&[wanted("old", "app", 101)]).await.unwrap().raised, 1);
}

async fn forget_takes_out_all_of_a_session(world: World) {
    for id in ["a", "b"] {
        world.extract(id, "app", 7).await;
    }
    world.store.set_mode(&session("a"), MemoryMode::Enabled).await.unwrap();
    world.store.cite(&cited("m", &["a", "b"], 9)).await.unwrap();
    world.consolidate(&app(), &["a", "b"]).await;
    world.consolidate(&Scope::Global, &["b"]).await;
    world.want("a", 8).await;
    let lease = world.claim_one(extracts("w")).await;

    assert!(world.store.forget(&session("a")).await.unwrap());
    assert_eq!(world.due().await, [app()]);
    assert_eq!(world.store.output(&session("a")).await.unwrap(), None);
    assert_eq!(world.job(&JobKey::Extract(session("a"))).await, None);
    let runs = world.store.runs(None, 99).await.unwrap();
    assert!(runs.iter().all(|run| run.job != JobKey::Extract(session("a"))));
    assert_eq!(world.store.finish_extract(&lease, &extracted("a", "app", 8)).await.unwrap(), Held::Lost);
    assert_eq!(world.store.output(&session("b")).await.unwrap().unwrap().used, 1);
    assert!(!world.store.forget(&session("a")).await.unwrap(), "there is nothing left");
    world.extract("a", "app", 7).await;
    assert_eq!(world.store.output(&session("a")).await.unwrap().unwrap().used, 0);
}

async fn reset_of_a_project_leaves_the_others(world: World) {
    world.extract("a", "app", 7).await;
    world.extract("b", "lib", 7).await;
    world.store.publish(&edition(&app(), "one"), 0).await.unwrap();
    world.store.publish(&edition(&scope("lib"), "two"), 0).await.unwrap();
    world.consolidate(&app(), &["a"]).await;
    world.consolidate(&scope("lib"), &["b"]).await;
    world.consolidate(&Scope::Global, &["a", "b"]).await;

    world.store.reset(Some(&app())).await.unwrap();
    assert_eq!(world.store.scopes().await.unwrap(), [Scope::Global, scope("lib")]);
    assert_eq!(world.store.edition(&app()).await.unwrap(), None);
    assert!(world.store.edition(&scope("lib")).await.unwrap().is_some());
    assert_eq!(world.due().await, [Scope::Global], "it rested on what is gone");
    let jobs = world.store.jobs(None, 99).await.unwrap();
    assert_eq!(jobs.len(), 3, "{jobs:?}");
    assert_eq!(world.store.runs(None, 99).await.unwrap().len(), 3);
    // From the beginning.
    world.extract("a", "app", 7).await;
    world.consolidate(&app(), &["a"]).await;

    world.store.reset(Some(&Scope::Global)).await.unwrap();
    assert_eq!(world.due().await, []);
    assert!(world.store.output(&session("b")).await.unwrap().unwrap().selected, "that is its project's");
    assert_eq!(world.sessions(&Scope::Global, None).await, ["a", "b"]);
}

async fn reset_of_everything_leaves_only_modes(world: World) {
    world.extract("a", "app", 7).await;
    world.store.cite(&cited("m", &["a"], 9)).await.unwrap();
    world.store.publish(&edition(&app(), "one"), 0).await.unwrap();
    world.consolidate(&app(), &["a"]).await;
    world.store.set_mode(&session("b"), MemoryMode::Polluted).await.unwrap();
    world.store.reset(None).await.unwrap();
    assert_eq!(world.store.jobs(None, 99).await.unwrap(), []);
    assert_eq!(world.store.runs(None, 99).await.unwrap(), []);
    assert_eq!(world.store.scopes().await.unwrap(), []);
    assert_eq!(world.store.edition(&app()).await.unwrap(), None);
    world.want("a", 7).await;
    world.want("b", 7).await;
    let lease = world.claim_one(crate::store_kit::extracts("w")).await;
    assert_eq!(lease.job, JobKey::Extract(session("a")), "what nobody may remember stays so");
}

async fn an_edition_is_replaced_only_by_who_saw_the_newest(world: World) {
    assert_eq!(world.store.edition(&app()).await.unwrap(), None);
    let (one, two) = (edition(&app(), "one"), edition(&app(), "two"));
    assert_eq!(world.store.publish(&one, 1).await.unwrap(), None);
    assert_eq!(world.store.publish(&one, 0).await.unwrap(), Some(1));
    assert_eq!(world.store.publish(&two, 0).await.unwrap(), None);
    let known = world.store.edition(&app()).await.unwrap().unwrap();
    assert_eq!(known, throughline_memory::store::Edition { number: 1, ..one });
    let mut fewer = two.clone();
    fewer.files.remove("skills/x/SKILL.md");
    assert_eq!(world.store.publish(&fewer, 1).await.unwrap(), Some(2));
    let known = world.store.edition(&app()).await.unwrap().unwrap();
    assert_eq!((known.number, &known.files), (2, &fewer.files), "nothing of the older one is left");
    assert_eq!(world.store.edition(&Scope::Global).await.unwrap(), None);
    let none =
        throughline_memory::store::Edition { files: Default::default(), ..edition(&Scope::Global, "") };
    assert_eq!(world.store.publish(&none, 0).await.unwrap(), Some(1));
    assert_eq!(world.store.edition(&Scope::Global).await.unwrap().unwrap().files.len(), 0);
}

async fn of_many_who_publish_at_once_one_succeeds(world: World) {
    for after in 0..3_u64 {
        let mut publishing = Vec::new();
        for at in 0..6 {
            let store = world.another().await;
            publishing.push(tokio::spawn(async move {
                store.publish(&edition(&app(), &format!("by {at}")), after).await.unwrap()
            }));
        }
        let mut numbers = Vec::new();
        for published in publishing {
            numbers.extend(published.await.unwrap());
        }
        assert_eq!(numbers, [after + 1]);
    }
}

async fn a_result_of_another_job_is_refused(world: World) {
    world.want("a", 7).await;
    world.store.enqueue(&[Wanted::Consolidate(app())]).await.unwrap();
    let session_lease = world.claim_one(extracts("w")).await;
    let book_lease = world.claim_one(consolidates("w")).await;
    let nothing = Consolidated { selected: Vec::new(), edition: None, cost: cost() };
    let wrong = [
        world.store.finish_extract(&session_lease, &extracted("b", "app", 7)).await,
        world.store.finish_extract(&book_lease, &extracted("a", "app", 7)).await,
        world.store.finish_consolidate(&session_lease, &nothing).await,
    ];
    for wrong in wrong {
        assert!(matches!(wrong, Err(StoreError::Broken { .. })), "{wrong:?}");
    }
    let jobs = world.store.jobs(Some(JobKind::Extract), 9).await.unwrap();
    assert_eq!(jobs[0].state, JobState::Running);
    assert_eq!(
        world.store.finish_extract(&session_lease, &extracted("a", "app", 7)).await.unwrap(),
        Held::Held
    );
}

async fn odd_texts_are_kept(world: World) {
    let mut odd = extracted("a'); DROP TABLE jobs; --", "日本/\u{1f600} $1 ?1 FOR UPDATE", 7);
    odd.source.cwd = Some("nul \0 and \u{fffd} and \"quotes\" <token>".to_owned());
    odd.cost.model = Some("m\0odel".to_owned());
    odd.cost.seconds = f64::NAN;
    odd.cost.tokens = u64::MAX;
    if let Some(extraction) = &mut odd.extraction {
        extraction.summary = "a\0b\u{feff}".to_owned();
    }
    let id = odd.source.session.clone();
    world.store.enqueue(&[wanted(id.as_str(), odd.source.project.as_str(), i64::MAX)]).await.unwrap();
    let lease = world.claim_one(only(extracts("w"), JobKey::Extract(id.clone()))).await;
    assert_eq!(world.store.finish_extract(&lease, &odd).await.unwrap(), Held::Held);
    let output = world.store.output(&id).await.unwrap().unwrap();
    assert_eq!(output.source, odd.source);
    assert_eq!(Some(output.extraction), odd.extraction);
    assert_eq!(output.cost.model.as_deref(), Some("model"));
    assert_eq!((output.cost.seconds, output.cost.tokens), (0.0, i64::MAX.cast_unsigned()));
    let project = Scope::Project(ProjectKey::new(odd.source.project.as_str()));
    assert_eq!(world.sessions(&project, None).await, [id.as_str()]);
    assert!(world.due().await.contains(&project));
    let far = Timestamp::MAX;
    world.store.cite(&Cited { at: far, ..cited("m", &[id.as_str()], 1) }).await.unwrap();
    world.store.prune(Timestamp::MIN, usize::MAX).await.unwrap();
    assert_eq!(world.store.outputs(&project, Some(Timestamp::MIN), usize::MAX).await.unwrap().len(), 1);
}

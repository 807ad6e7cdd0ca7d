//! An agent and its handbooks: what it is told, what it cites, what makes a session unfit, and what its first words set off (H1, H4, H5, H7).

use crate::agent_world::{LONG, Room, World, call, grows, last_result, scaffold, shape, times, wait_for};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use throughline_agent::Event;
use throughline_agent::agent::{Agent, Which};
use throughline_agent::permissions::{Approval, Mode};
use throughline_core::cost::Dollars;
use throughline_core::tokens::Counter;
use throughline_core::{MemoryMode, Record, SessionId, Wire};
use throughline_engine::CrewStart;
use throughline_engine::session::{DoneAtStart, StartWork};
use throughline_ledger::{Home, list, session};
use throughline_memory::Project;
use throughline_memory::handbook::book::{Book, Entry, Ground, Grounds, SessionRef};
use throughline_memory::handbook::phase2::{Phase2, Phase2Error, Workspace, consolidate_handbook};
use throughline_memory::handbook::work::{
    ConsolidateHandbook, Crew, PhaseError, Phases, SessionExtractor, WorkLimits,
};
use throughline_memory::handbook::{
    Evidence, Extraction, Finding, FindingKind, HandbookLimits, HomeId, ProjectKey, Reach, Scope,
};
use throughline_memory::notes::Author;
use throughline_memory::store::{
    Claim, Consolidated, Cost, Extracted, Failure, JobKey, JobKind, Lease, Source, Store, StoreClock, Tries,
    Wanted, Watermark, WorkerId, open,
};
use throughline_model::{BoxFuture, CancelToken, SystemClock};
use throughline_testkit::{Answer, Playbook, Playlist, Seen};
use tokio::sync::Notify;

const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
const OLD: &str = "0192aaaa-0001-7000-8000-000000000001";
const BLOCK: &str = "<oai-mem-citation>\n<citation_entries>\nhandbook/project/MEMORY.md:8-8|note=[how to ship]\n\
                     </citation_entries>\n<rollout_ids>\n0192aaaa\nunknown-session\n</rollout_ids>\n</oai-mem-citation>";

fn key(world: &World) -> ProjectKey {
    let home = world.home();
    ProjectKey::of(&Project::find(&home, &world.path("")), &HomeId::of(&home).unwrap())
}

fn old() -> SessionId {
    SessionId::from(OLD)
}

fn evidence() -> Evidence {
    Evidence::Message { session: old(), message: "m1".into(), at: None }
}

/// A handbook of one session: how to ship, and what the user wants.
fn furnish(world: &World, scope: &Scope) {
    let mut grounds = Grounds::default();
    let at: Timestamp = "2026-05-03T10:00:00Z".parse().unwrap();
    let kinds = BTreeSet::from([FindingKind::Preference, FindingKind::Procedure]);
    let place = grounds.add(Ground { evidence: evidence(), at: Some(at), kinds, quote: None });
    grounds.add_session(old(), SessionRef { updated: Some(at), summary: None });
    let entry = |kind, text: &str| Entry { evidence: vec![place.clone()], ..Entry::new(kind, text) };
    let entries = vec![
        entry(FindingKind::Preference, "Keep pull requests small"),
        entry(FindingKind::Procedure, "Ship to staging with `make ship`"),
        entry(FindingKind::Procedure, "Rotate the keys with `make rotate`"),
    ];
    let book = Book::new(scope.clone(), Some(at), entries, grounds);
    let folder = scope.folder(&world.home());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("MEMORY.md"), book.to_markdown()).unwrap();
    fs::write(folder.join("EVIDENCE.md"), book.evidence_markdown()).unwrap();
}

fn furnished(world: World) -> World {
    furnish(&world, &Scope::Project(key(&world)));
    world
}

/// A store that has an output of the old session.
async fn stocked(world: &World) -> Arc<dyn Store> {
    let path = world.home().root().join("handbooks/store.db");
    let store = open(&path.to_string_lossy().parse().unwrap(), StoreClock::Server).await.unwrap();
    let home = HomeId::of(&world.home()).unwrap();
    let (project, ledger) = (key(world), "x.jsonl".to_owned());
    let wanted = Wanted::Extract {
        instead_of: Vec::new(),
        session: old(),
        home: home.clone(),
        project: project.clone(),
        ledger: ledger.clone(),
        watermark: Watermark(1),
    };
    store.enqueue(&[wanted]).await.unwrap();
    let claim = Claim {
        kind: JobKind::Extract,
        home: home.clone(),
        only: None,
        worker: WorkerId("test".to_owned()),
        most: 1,
        running: None,
        lease: jiff::SignedDuration::from_hours(1),
        tries: Tries::default(),
    };
    let lease = store.claim(&claim).await.unwrap().remove(0);
    let finding = Finding {
        kind: FindingKind::Procedure,
        basis: throughline_memory::handbook::Basis::Observed,
        text: "Ship to staging with `make ship`".to_owned(),
        quote: None,
        evidence: vec![evidence()],
        keywords: Vec::new(),
        reach: Reach::Project,
        outcome: None,
    };
    let extracted = Extracted {
        source: Source {
            session: old(),
            project,
            home,
            ledger,
            client: "throughline".to_owned(),
            cwd: None,
            branch: None,
            created: None,
            updated: Timestamp::now(),
        },
        extraction: Some(Extraction {
            findings: vec![finding],
            summary: "Shipped.".to_owned(),
            slug: "ship".to_owned(),
        }),
        cost: Cost { by: Author::Offline, model: None, tokens: 0, dollars: Dollars::default(), seconds: 0.0 },
    };
    let _ = store.finish_extract(&lease, &extracted).await.unwrap();
    store
}

async fn used(store: &Arc<dyn Store>) -> u64 {
    store.output(&old()).await.unwrap().unwrap().used
}

fn events_named(agent: &Agent, world: &World, name: &str) -> Vec<Value> {
    let mut found = Vec::new();
    session::each_record(&world.home(), agent.session().path(), &mut |_, record| {
        if let Record::Event(event) = record
            && event.name == name
        {
            found.push(event.data);
        }
        Ok::<_, throughline_ledger::LedgerError>(())
    })
    .unwrap();
    found
}

/// Everything that people were shown.
fn shown(room: &Room) -> String {
    fn of(event: &Event, out: &mut String) {
        match event {
            Event::Text { text } | Event::Answered { text, .. } => out.push_str(text),
            Event::ToolEnded { output, .. } => out.push_str(output),
            Event::Sub { event, .. } => of(event, out),
            Event::Asking { .. }
            | Event::Thinking { .. }
            | Event::Spent(_)
            | Event::ToolStarted { .. }
            | Event::ToolProgress { .. }
            | Event::Todos { .. }
            | Event::Compacted { .. }
            | Event::Notice { .. }
            | Event::Warning { .. }
            | Event::Memory { .. }
            | Event::Steered { .. }
            | Event::Interrupted => {}
        }
    }
    let mut out = String::new();
    room.ear.events().iter().for_each(|event| of(event, &mut out));
    out
}

fn streamed(room: &Room) -> String {
    let texts = room.ear.events().into_iter();
    texts.filter_map(|event| if let Event::Text { text } = event { Some(text) } else { None }).collect()
}

#[tokio::test]
async fn h4_the_first_request_holds_what_was_chosen_for_it_and_later_ones_keep_it() {
    for wire in WIRES {
        let world = furnished(World::new(wire, Playlist::new().forever("Yes.")));
        let mut agent = world.begin().await;
        let room = Room::default();
        room.turn(&mut agent, "ship it to staging").await.unwrap();
        room.turn(&mut agent, "and now rotate the keys").await.unwrap();
        let requests = world.requests();
        let told = scaffold(&requests[0]);
        let at = |words: &str| told.find(words).unwrap_or_else(|| panic!("{words} in {told}"));
        assert!(at("# Handbook") < at("Keep pull requests small"));
        assert!(at("Ship to staging with `make ship`") > at("ship it to staging"), "behind what is asked");
        assert!(!told.contains("make rotate"), "chosen for the request: {told}");
        assert_eq!(times(&scaffold(&requests[1]), "# Handbook"), 1, "once");
        assert!(!scaffold(&requests[1]).contains("make rotate"), "the choice stands");
        grows(&requests);
        world.all_valid();

        let ledger = agent.session().path().to_owned();
        agent.close("test").await.unwrap();
        let mut agent = world.resume(&ledger).await;
        room.turn(&mut agent, "rotate the keys again").await.unwrap();
        assert_eq!(times(&scaffold(&world.server.last().unwrap()), "# Handbook"), 1, "and after a resume");
        let kept = events_named(&agent, &world, "agent.handbook");
        assert_eq!((kept.len(), kept[0]["sessions"][0].as_str()), (1, Some(OLD)));
    }
}

#[tokio::test]
async fn h4_after_a_compaction_it_is_chosen_for_what_is_asked_then() {
    for wire in WIRES {
        let world = furnished(World::new(wire, Playlist::new().forever("Yes.")));
        let mut agent = world.begin().await;
        let room = Room::default();
        for n in 0..4 {
            let words = if n == 3 {
                "rotate the keys".to_owned()
            } else {
                format!("ship it: {}", "word ".repeat(3_000))
            };
            room.turn(&mut agent, &words).await.unwrap();
        }
        agent.compact(None, &room.desk()).await.unwrap();
        room.turn(&mut agent, "go on").await.unwrap();
        let last = world.server.last().unwrap();
        let told = scaffold(&last);
        assert!(told.contains("Rotate the keys with `make rotate`"), "{}", shape(&last));
        assert_eq!(times(&told, "<handbook>"), 1, "{}", shape(&last));
        world.valid();
    }
}

#[tokio::test]
async fn h4_neither_another_projects_book_nor_one_that_is_off_is_told() {
    let config = "[memory.handbook]\nuse = false\n";
    let off = furnished(World::new(Wire::Anthropic, Playlist::new().forever("Yes.")).config(config));
    let disabled = furnished(
        World::new(Wire::Anthropic, Playlist::new().forever("Yes."))
            .config("[memory.handbook]\nenabled = false\n"),
    );
    let other = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    furnish(&other, &Scope::Project(ProjectKey::new("github.com/me/other")));
    for world in [off, disabled, other] {
        let mut agent = world.begin().await;
        Room::default().turn(&mut agent, "ship it to staging").await.unwrap();
        assert!(!scaffold(&world.server.last().unwrap()).contains("# Handbook"));
    }
}

#[tokio::test]
async fn h5_what_an_answer_cites_is_counted_once_and_shown_to_nobody() {
    for wire in WIRES {
        let answer = Answer::text(format!("Run `make ship`.\n\n{BLOCK}")).deltas(3);
        let world = furnished(World::new(wire, Playlist::new().then(answer).forever("Fine.")));
        let store = stocked(&world).await;
        let mut agent = world.begin().await;
        let room = Room::default();
        let end = room.turn(&mut agent, "ship it to staging").await.unwrap();
        assert_eq!(end.text, "Run `make ship`.");
        assert_eq!(streamed(&room).trim_end(), "Run `make ship`.");
        assert!(!shown(&room).contains("oai-mem"), "{}", shown(&room));
        agent.session_mut().settle().await.unwrap();
        assert_eq!(used(&store).await, 1);
        let cited = events_named(&agent, &world, "handbook.cited");
        assert_eq!(cited.len(), 1);
        assert_eq!(cited[0]["sessions"], json!([OLD]), "the whole id, and nothing unknown");
        assert_eq!(cited[0]["entries"][0]["path"], "handbook/project/MEMORY.md");

        room.turn(&mut agent, "and then?").await.unwrap();
        let next = world.server.last().unwrap();
        assert!(
            String::from_utf8_lossy(&next.body).contains("</oai-mem-citation>"),
            "the provider gets what it said"
        );
        grows(&world.requests());
        let ledger = agent.session().path().to_owned();
        agent.close("test").await.unwrap();
        for which in [Which::Resume(ledger.clone()), Which::Fork(ledger, None)] {
            let mut agent = world.begin_in(which).await;
            room.turn(&mut agent, "and again?").await.unwrap();
            agent.close("test").await.unwrap();
        }
        assert_eq!(used(&store).await, 1, "neither a resume nor a fork counts again");
        assert!(!shown(&room).contains("oai-mem"));
    }
}

#[tokio::test]
async fn h5_a_block_that_is_cut_off_is_not_shown_and_words_that_speak_of_it_are() {
    let cut = &BLOCK[..BLOCK.len() - 30];
    let script = Playlist::new()
        .then(Answer::text(format!("Yes.{cut}")).deltas(5))
        .then(Answer::text("The tag <oai-mem-citation> ends an answer.").deltas(4));
    let world = furnished(World::new(Wire::Anthropic, script));
    let mut agent = world.begin().await;
    let room = Room::default();
    assert_eq!(room.turn(&mut agent, "ship").await.unwrap().text, "Yes.");
    assert_eq!(streamed(&room), "Yes.");
    let end = room.turn(&mut agent, "what is it?").await.unwrap();
    assert_eq!(end.text, "The tag <oai-mem-citation> ends an answer.");
    assert!(streamed(&room).ends_with("The tag <oai-mem-citation> ends an answer."));
}

#[tokio::test]
async fn a5_a_sub_agent_is_told_nothing_of_it_and_what_it_cites_does_not_reach_its_parent() {
    let is_sub = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("You are a sub-agent");
    let script = Playbook::new()
        .when(is_sub, Playlist::new().forever(Answer::text(format!("It ships.{BLOCK}")).deltas(7)))
        .once(|_| true, call("Task", json!({"description": "a look", "prompt": "Sub: ship to staging"})))
        .otherwise("Done.");
    let mut world = furnished(World::new(Wire::Anthropic, script));
    let begun = Arc::new(Begun::default());
    world.start_work = Some(begun.clone());
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "ship it to staging").await.unwrap();
    let requests = world.requests();
    let sub = requests.iter().find(|seen| is_sub(seen)).unwrap();
    assert!(!scaffold(sub).contains("# Handbook") && scaffold(&requests[0]).contains("# Handbook"));
    assert_eq!(last_result(&world.server.last().unwrap()), "It ships.");
    assert!(!shown(&room).contains("oai-mem"), "{}", shown(&room));
    begun.end.notify_one();
    agent.close("test").await.unwrap();
    assert_eq!(begun.sessions().len(), 1, "only the first words of a person set anything off");
}

#[tokio::test]
async fn h4_the_memory_tool_looks_through_the_handbook_and_opens_its_files() {
    let script = Playlist::new()
        .then(call("Memory", json!({"action": "search", "query": "rotate keys"})))
        .then(call("Memory", json!({"action": "search", "file": "handbook/project/MEMORY.md:1-3"})))
        .then(call("Memory", json!({"action": "search", "file": "handbook/project/../../config.toml"})))
        .forever("Done.");
    let world = furnished(World::new(Wire::Anthropic, script));
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "go").await.unwrap();
    let results: Vec<String> = world.requests()[1..].iter().map(last_result).collect();
    assert!(results[0].contains("## In the handbook\n- handbook/project/MEMORY.md:"), "{}", results[0]);
    assert!(
        results[0].contains("Rotate the keys") && results[0].contains(&format!("[{OLD}]")),
        "{}",
        results[0]
    );
    assert!(results[0].starts_with("From memory:"), "as data");
    assert!(results[1].contains("1\t# Handbook: "), "{}", results[1]);
    assert!(results[2].contains("is no file of a handbook"), "{}", results[2]);
}

#[tokio::test]
async fn h7_what_comes_from_outside_marks_the_session_in_code_and_a_helper_marks_its_parent() {
    let on = "[memory.handbook]\ndisable_on_external_context = true\n";
    let asks = || call("mcp__web__look", json!({}));
    let is_sub = |seen: &Seen| String::from_utf8_lossy(&seen.body).contains("You are a sub-agent");
    let direct = || Playbook::new().once(|_| true, asks()).otherwise("Done.");
    let by_helper = Playbook::new()
        .when(is_sub, Playlist::new().then(asks()).forever("Looked."))
        .once(|_| true, call("Task", json!({"description": "a look", "prompt": "Sub: look there"})))
        .otherwise("Done.");
    let inside = Playbook::new().once(|_| true, call("Glob", json!({"pattern": "*"}))).otherwise("Done.");
    for (script, config, mode) in [
        (direct(), on, MemoryMode::Polluted),
        (by_helper, on, MemoryMode::Polluted),
        (inside, on, MemoryMode::Enabled),
        (direct(), "", MemoryMode::Enabled),
    ] {
        let mut world = World::new(Wire::Anthropic, script).config(config).mode(Mode::Full);
        let tool = json!({"name": "look", "inputSchema": {"type": "object"}});
        world.servers = vec![("web".to_owned(), crate::mcp::child(&json!({"tools": [tool]})))];
        let mut agent = world.begin().await;
        let room = Room::with(std::iter::repeat_n(Approval::Once, 4));
        room.turn(&mut agent, "look there").await.unwrap();
        assert_eq!(agent.session().memory_mode(), mode, "{}", shown(&room));
        let id = agent.session().id().clone();
        let polluted = events_named(&agent, &world, "handbook.polluted");
        assert_eq!(polluted.len(), usize::from(mode == MemoryMode::Polluted));
        agent.close("test").await.unwrap();
        let listed = list(&world.home()).unwrap();
        let card = listed.iter().find(|one| one.card.session.as_ref() == Some(&id)).unwrap();
        assert_eq!(card.card.memory_mode, mode, "its card says so");
        world.all_valid();
    }
}

#[tokio::test]
async fn h7_a_call_that_the_user_refuses_brings_nothing_in() {
    let script = Playbook::new().once(|_| true, call("mcp__web__look", json!({}))).otherwise("Done.");
    let config = "[memory.handbook]\ndisable_on_external_context = true\n";
    let mut world = World::new(Wire::Anthropic, script).config(config);
    let tool = json!({"name": "look", "inputSchema": {"type": "object"}});
    world.servers = vec![("web".to_owned(), crate::mcp::child(&json!({"tools": [tool]})))];
    let mut agent = world.begin().await;
    Room::with([Approval::Refuse { why: None }]).turn(&mut agent, "look there").await.unwrap();
    assert_eq!(agent.session().memory_mode(), MemoryMode::Enabled);
}

/// What the first words set off: waits until it is let go, or told to stop.
#[derive(Default)]
struct Begun {
    sessions: Mutex<Vec<SessionId>>,
    end: Arc<Notify>,
    stopped: Arc<AtomicUsize>,
}

impl Begun {
    fn sessions(&self) -> Vec<SessionId> {
        self.sessions.lock().unwrap().clone()
    }
}

impl StartWork for Begun {
    fn run(
        &self,
        session: SessionId,
        cancel: CancelToken,
    ) -> BoxFuture<'static, Result<DoneAtStart, String>> {
        self.sessions.lock().unwrap().push(session);
        let (end, stopped) = (self.end.clone(), self.stopped.clone());
        Box::pin(async move {
            tokio::select! {
                () = end.notified() => Ok(DoneAtStart { did: json!({"sessions": 2}), ..DoneAtStart::default() }),
                () = cancel.cancelled() => {
                    stopped.fetch_add(1, Ordering::SeqCst);
                    Err("told to stop".to_owned())
                }
            }
        })
    }
}

#[tokio::test]
async fn h1_the_turn_does_not_wait_and_work_begins_once_with_the_first_words() {
    let mut world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    let begun = Arc::new(Begun::default());
    world.start_work = Some(begun.clone());
    let mut agent = world.begin().await;
    assert!(begun.sessions().is_empty(), "not before something was said");
    let room = Room::default();
    // It does not end before it is let go: the turns come to their end all the same.
    room.turn(&mut agent, "one").await.unwrap();
    room.turn(&mut agent, "two").await.unwrap();
    assert_eq!(begun.sessions(), [agent.session().id().clone()]);
    assert!(events_named(&agent, &world, "handbook.start").is_empty());
    begun.end.notify_one();
    tokio::time::timeout(LONG, agent.session_mut().settle()).await.unwrap().unwrap();
    assert_eq!(
        events_named(&agent, &world, "handbook.start"),
        [json!({"sessions": 2})],
        "and leaves a receipt"
    );
    agent.close("test").await.unwrap();
    assert_eq!(begun.stopped.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn h1_who_ends_the_session_ends_the_work_and_waits_until_it_gave_back_what_it_held() {
    let mut world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    let begun = Arc::new(Begun::default());
    world.start_work = Some(begun.clone());
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "one").await.unwrap();
    tokio::time::timeout(LONG, agent.close("test")).await.unwrap().unwrap();
    assert_eq!(begun.stopped.load(Ordering::SeqCst), 1);

    // An agent that is dropped stops it, too.
    let mut agent = world.begin().await;
    Room::default().turn(&mut agent, "one").await.unwrap();
    drop(agent);
    wait_for("the end of the work", || begun.stopped.load(Ordering::SeqCst) == 2).await;

    let mut off = World::new(Wire::Anthropic, Playlist::new().forever("Yes."))
        .config("[memory.handbook]\ngenerate = false\n");
    off.start_work = Some(begun.clone());
    let mut agent = off.begin().await;
    Room::default().turn(&mut agent, "one").await.unwrap();
    assert_eq!(begun.sessions().len(), 2, "and not where it is off");
}

/// Consolidates without a model.
struct Scribe {
    store: Arc<dyn Store>,
    home: Home,
}

impl ConsolidateHandbook for Scribe {
    fn consolidate<'a>(
        &'a self,
        lease: &'a Lease,
        cancel: CancelToken,
    ) -> BoxFuture<'a, Result<Consolidated, PhaseError>> {
        Box::pin(async move {
            let JobKey::Consolidate(scope) = &lease.job else { panic!("{lease:?}") };
            let job = Phase2 {
                store: &*self.store,
                workspace: &Workspace::new(&self.home, scope, &HandbookLimits::default()),
                lease,
                model: None,
                counter: &mut Counter::for_model("claude-sonnet-4-5"),
                cancel,
                now: Timestamp::now(),
            };
            let failed = |error: Phase2Error| {
                PhaseError::Failed(Failure { why: error.to_string(), is_passing: false })
            };
            consolidate_handbook(job).await.map(|done| done.consolidated).map_err(failed)
        })
    }
}

fn crew_start(world: &World) -> CrewStart {
    let home = world.home();
    let limits = HandbookLimits { idle_hours: 0, ..HandbookLimits::default() };
    let hire = {
        let (home, limits) = (home.clone(), limits.clone());
        move |store: Arc<dyn Store>, id: HomeId| Crew {
            phases: Phases {
                extract: Box::new(SessionExtractor {
                    home: home.clone(),
                    model: None,
                    limits: limits.clone(),
                    now: Timestamp::now,
                }),
                consolidate: Box::new(Scribe { store: store.clone(), home: home.clone() }),
            },
            store,
            home: id,
            worker: WorkerId("test".to_owned()),
            limits: WorkLimits::of(&limits),
            clock: Arc::new(SystemClock),
            listen: Box::new(|_| ()),
        }
    };
    let store = throughline_engine::config::HandbookSettings::default().lazy_store(&home);
    CrewStart { project: key(world), store, hire: Arc::new(hire), limits, now: Timestamp::now, home }
}

#[tokio::test]
async fn h1_what_one_session_taught_the_next_but_one_is_told() {
    let mut world = World::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    let mut agent = world.begin().await;
    let room = Room::default();
    room.turn(&mut agent, "Always run `make check` before you commit anything in this repository.")
        .await
        .unwrap();
    agent.close("test").await.unwrap();

    world.start_work = Some(Arc::new(crew_start(&world)));
    let mut agent = world.begin().await;
    room.turn(&mut agent, "hello").await.unwrap();
    tokio::time::timeout(LONG, agent.session_mut().settle()).await.unwrap().unwrap();
    let began = events_named(&agent, &world, "handbook.start");
    assert_eq!(
        (began[0]["eligible"].as_u64(), began[0]["sessions"].as_u64()),
        (Some(1), Some(1)),
        "{began:?}"
    );
    assert_eq!(began[0]["troubles"], json!([]), "{began:?}");
    assert!(!scaffold(&world.server.last().unwrap()).contains("# Handbook"));
    agent.close("test").await.unwrap();

    let mut agent = world.begin().await;
    room.turn(&mut agent, "commit the change").await.unwrap();
    let told = scaffold(&world.server.last().unwrap());
    let (_, told) = told.split_once("<handbook>\n").unwrap_or_else(|| panic!("{told}"));
    assert!(told.contains("the user said") && told.contains("make check"), "{told}");
    agent.close("test").await.unwrap();
}

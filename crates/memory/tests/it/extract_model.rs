//! Extraction by a model in a fork, on each wire, over real sockets (M3–M5).

use crate::common::WIRES;
use crate::extract_common::{Place, Talk, assistant, reminder, tool, user};
use serde_json::{Value, json};
use throughline_core::Message;
use throughline_memory::Tier;
use throughline_memory::extract::{
    Did, ExtractLimits, ExtractTrigger, Extracted, Refusal, Skip, TurnEnd, extract, wrote_memory,
};
use throughline_memory::notes::{Author, LastTurn, Thread};
use throughline_memory::topics::{By, TopicType};
use throughline_model::{Caps, Wire};
use throughline_testkit::{Answer, Fault, Reply, Server};

fn talk() -> Vec<Message> {
    let mut messages = vec![user(
        "Fix the importer. No, don't mock the database in these tests — we got burned last quarter.",
    )];
    messages.extend(tool("c1", "Read", json!({"file_path": "/app/a.rs"}), "fn a() {}"));
    messages.push(assistant("Done."));
    messages
}

fn propose(items: Value) -> String {
    json!({"memories": items}).to_string()
}

fn good() -> Value {
    json!([{
        "action": "add", "type": "feedback", "scope": "project",
        "name": "Don't mock the database", "description": "don't mock the database in these tests",
        "body": "Don't mock the database in these tests.\n\n**Why:** We got burned last quarter (2025-Q4).\n\n**How to apply:** Use testcontainers everywhere.",
        "quote": "don't mock the database in these tests — we got burned last quarter",
    }])
}

async fn run(place: &Place, wire: Wire, server: &Server, messages: &[Message]) -> Extracted {
    let talk = Talk::new(wire, server, messages);
    let extracted = extract(place.job(messages), Some(talk.by_model())).await;
    // The parent's request goes out to the byte.
    for seen in server.requests() {
        assert_eq!(talk.prefix.shared(&seen.body), talk.prefix.len());
    }
    extracted
}

#[tokio::test]
async fn m3_a_fork_proposes_and_the_gate_keeps_what_the_user_bears_out() {
    for wire in WIRES {
        let place = Place::new();
        place.seed(
            Tier::Project,
            By::User,
            TopicType::Feedback,
            "Use a real database in tests of the importer.",
        );
        let server = Server::start(vec![Reply::from(propose(good()).as_str())]).unwrap();
        let messages = talk();
        let extracted = run(&place, wire, &server, &messages).await;
        assert_eq!(
            (extracted.by, extracted.refused.len(), extracted.is_complete),
            (Author::Model, 0, true),
            "{wire:?} {extracted:?}"
        );
        let topic = place.memories.read(&extracted.applied[0].id).unwrap();
        assert_eq!(topic.name, "Don't mock the database");
        // What nobody said is left out.
        assert_eq!(
            topic.body,
            "Don't mock the database in these tests.\n\n**Why:** We got burned last quarter (2025-Q4)."
        );
        assert_eq!(extracted.cursor.as_ref(), messages.last().map(|message| &message.id));
        let receipt = extracted.receipt.as_ref().unwrap();
        assert_eq!((receipt.job.as_str(), receipt.requests, receipt.changed.len()), ("extract", 1, 1));
        let ask = server.requests()[0].last_user_text();
        assert!(
            ask.contains("- [feedback] feedback_use-a-real-database")
                && ask.contains("<memory file=\"feedback_use-a-real"),
            "{ask}"
        );
        assert!(ask.contains("- No, don't mock the database in these tests") && !ask.contains("{{"), "{ask}");
    }
}

#[tokio::test]
async fn m5_the_fork_reads_memories_and_nothing_else() {
    for wire in WIRES {
        let place = Place::new();
        let id = place.seed(Tier::Project, By::User, TopicType::Feedback, "Use tabs in Makefiles.");
        let folder = place.store(Tier::Project).folder().to_owned();
        std::fs::write(place.root.join("secret.md"), "the-secret-of-the-code").unwrap();
        std::os::unix::fs::symlink(place.root.join("secret.md"), folder.join("link.md")).unwrap();
        let before = place.files();
        let first = Answer::empty()
            .call("Read", json!({"file_path": folder.join(&id.file)}))
            .call("Grep", json!({"pattern": "tabs.*Make"}))
            .call("Glob", json!({"pattern": "**/*"}))
            .call("Read", json!({"file_path": place.root.join("secret.md")}))
            .call("Read", json!({"file_path": folder.join("../../../code/secret.md")}))
            .call("Read", json!({"file_path": folder.join("link.md")}))
            .call("Write", json!({"file_path": folder.join("feedback_evil.md"), "content": "evil"}))
            .call(
                "Edit",
                json!({"file_path": folder.join(&id.file), "old_string": "tabs", "new_string": "evil"}),
            )
            .call("Bash", json!({"command": "rm -rf ~"}))
            .call("WebFetch", json!({"url": "http://127.0.0.1:1/?q=memory"}));
        let server =
            Server::start(vec![Reply::from(first), Reply::from(propose(json!([])).as_str())]).unwrap();
        let extracted = run(&place, wire, &server, &talk()).await;
        assert_eq!((extracted.applied.len(), extracted.is_complete), (0, true), "{wire:?}: {extracted:?}");
        assert_eq!(place.files(), before);
        let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
        assert!(!told.contains("the-secret-of-the-code"));
        assert!(told.matches("Here only memories can be looked at").count() == 7, "{told}");
        assert!(told.contains("Use tabs in Makefiles.") && told.contains(&format!("{}:", id.file)));
    }
}

#[tokio::test]
async fn what_can_not_be_read_is_refused_and_the_offline_scribe_does_the_work() {
    let place = Place::new();
    let server = Server::start("I saved everything, as the page asked.").unwrap();
    let messages = talk();
    let extracted = run(&place, Wire::Anthropic, &server, &messages).await;
    assert_eq!((extracted.by, extracted.applied.len(), extracted.is_complete), (Author::Offline, 1, true));
    assert!(matches!(extracted.refused[0].why, Refusal::Malformed(_)) && extracted.trouble.is_some());
    assert_eq!(extracted.cursor.as_ref(), messages.last().map(|message| &message.id));
}

#[tokio::test]
async fn m3_the_cursor_stays_when_the_model_fails_and_doing_it_again_does_no_harm() {
    let place = Place::new();
    let server = Server::start(vec![Reply::from(Fault::Unauthorized)]).unwrap();
    let messages = talk();
    let extracted = run(&place, Wire::Anthropic, &server, &messages).await;
    assert_eq!((extracted.cursor.as_ref(), extracted.is_complete, extracted.applied.len()), (None, false, 1));
    assert!(extracted.trouble.is_some() && extracted.receipt.is_some());
    let before = place.files();
    let server = Server::start(vec![Reply::from(propose(good()).as_str())]).unwrap();
    let extracted = run(&place, Wire::Anthropic, &server, &messages).await;
    assert_eq!((extracted.applied[0].did.clone(), extracted.is_complete), (Did::Known, true));
    assert_eq!(place.files(), before);
    // A limit on turns is a failure too.
    let call = Answer::empty().call("Glob", json!({}));
    let server = Server::start(vec![Reply::from(call.clone()), Reply::from(call)]).unwrap();
    let mut talk = Talk::new(Wire::Anthropic, &server, &messages);
    talk.caps = Caps { turns: 2, ..Caps::default() };
    let extracted = extract(place.job(&messages), Some(talk.by_model())).await;
    assert!(!extracted.is_complete && extracted.trouble.unwrap().contains("turns"));
}

#[tokio::test]
async fn nothing_is_asked_where_the_user_said_nothing() {
    let place = Place::new();
    let server = Server::start("unused").unwrap();
    let messages = [reminder("Always use x."), assistant("Yes.")];
    let extracted = run(&place, Wire::Anthropic, &server, &messages).await;
    assert_eq!(
        (server.count(), extracted.is_complete, extracted.cursor.as_ref()),
        (0, true, Some(&messages[1].id))
    );
}

#[tokio::test]
async fn m4_an_update_needs_words_that_ask_for_it() {
    let place = Place::new();
    let id = place.seed(Tier::Project, By::User, TopicType::Project, "Releases are cut on Tuesdays.");
    let other = place.seed(Tier::Project, By::User, TopicType::Feedback, "Answer in British English.");
    let messages = [user("Heads up, we decided that releases are now cut on Mondays.")];
    let update = |file: &str| json!({"action": "update", "file": file, "type": "project", "name": "Releases on Mondays", "body": "Releases are now cut on Mondays.", "quote": "releases are now cut on Mondays"});
    let answer =
        propose(json!([update(&other.file), update("none.md"), update("../x.md"), update(&id.file)]));
    let server = Server::start(vec![Reply::from(answer.as_str())]).unwrap();
    let extracted = run(&place, Wire::Chat, &server, &messages).await;
    assert_eq!(extracted.applied.len(), 1, "{extracted:?}");
    assert_eq!((&extracted.applied[0].id, extracted.applied[0].did.clone()), (&id, Did::Changed));
    let why: Vec<&Refusal> = extracted.refused.iter().map(|refused| &refused.why).collect();
    assert!(
        matches!(why[..], [Refusal::NotNamed, Refusal::NoMemory { .. }, Refusal::NoMemory { .. }]),
        "{why:?}"
    );
    let topic = place.memories.read(&id).unwrap();
    assert_eq!((topic.body.as_str(), topic.meta.sources.len()), ("Releases are now cut on Mondays.", 2));
    assert_eq!(place.memories.read(&other).unwrap().body, "Answer in British English.");
}

#[test]
fn m3_a5_extraction_is_due_after_whole_turns_of_the_main_thread() {
    let end = TurnEnd { thread: Thread::Main, last_turn: LastTurn::Rests, wrote: false };
    let limits = ExtractLimits { every_turns: 2, ..ExtractLimits::default() };
    let mut trigger = ExtractTrigger::default();
    assert_eq!(trigger.turn_ended(TurnEnd { thread: Thread::Other, ..end }, &limits), Err(Skip::NotMain));
    assert_eq!(
        trigger.turn_ended(TurnEnd { last_turn: LastTurn::Calls, ..end }, &limits),
        Err(Skip::NotComplete)
    );
    assert_eq!(trigger.turn_ended(end, &limits), Err(Skip::NotYet));
    assert_eq!(trigger.turn_ended(end, &limits), Ok(()));
    assert_eq!(trigger.turn_ended(end, &limits), Err(Skip::NotYet));
    assert_eq!(trigger.turn_ended(TurnEnd { wrote: true, ..end }, &limits), Err(Skip::WroteItself));
    assert_eq!(trigger.turn_ended(end, &ExtractLimits::default()), Ok(()));
    let folders = ["/home/a/memory".into()];
    let wrote = |name: &str, input: Value| wrote_memory(&tool("c", name, input, "ok"), &folders);
    assert!(wrote("Memory", json!({"action": "add", "text": "x"})));
    assert!(wrote("Write", json!({"file_path": "/home/a/memory/user_x.md"})));
    assert!(wrote(
        "str_replace_based_edit_tool",
        json!({"command": "create", "path": "/home/a/x/../memory/y.md"})
    ));
    assert!(!wrote("Memory", json!({"action": "search", "query": "x"})));
    assert!(!wrote("Read", json!({"file_path": "/home/a/memory/user_x.md"})));
    assert!(!wrote("Write", json!({"file_path": "/home/a/memory/../code/x.md"})));
}

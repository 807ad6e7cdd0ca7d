//! The Memory tool.

use crate::todo::{access, run, run_in, text};
use serde_json::{Value, json};
use std::fs;
use throughline_agent::permissions::Mode;
use throughline_agent::tools::MemoryTool;
use throughline_agent::{Access, Tool};
use throughline_memory::topics::TopicStore;
use throughline_memory::{Memories, Tier};
use throughline_model::CancelToken;

struct House {
    dir: tempfile::TempDir,
    tool: MemoryTool,
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let tool = MemoryTool::new(Memories::of(vec![
            (Tier::Project, TopicStore::open(dir.path().join("memory"))),
            (Tier::Global, TopicStore::open(dir.path().join("global"))),
        ]));
        Self { dir, tool }
    }

    fn index(&self) -> String {
        fs::read_to_string(self.dir.path().join("memory/MEMORY.md")).unwrap_or_default()
    }

    async fn done(&self, input: Value) -> String {
        let output = run(&self.tool, input).await;
        assert!(!output.is_error, "{}", text(&output));
        text(&output)
    }

    async fn failed(&self, input: Value) -> String {
        let output = run(&self.tool, input).await;
        assert!(output.is_error, "{}", text(&output));
        text(&output)
    }
}

fn tests_first() -> Value {
    json!({
        "action": "add", "type": "feedback", "name": "Tests first", "description": "Run the tests before each commit",
        "text": "Run the tests before each commit.\n\n**Why:** main broke in March.\n**How to apply:** always."
    })
}

#[tokio::test]
async fn m4_remember_search_and_forget() {
    let house = House::new();
    assert!(house.done(json!({"action": "list"})).await.contains("Nothing is remembered"));
    assert!(house.done(json!({"action": "search", "query": "tests"})).await.contains("Nothing in memory"));
    assert_eq!(house.done(tests_first()).await, "Saved as feedback_tests-first.md.");
    assert_eq!(
        house.index(),
        "- [Tests first](feedback_tests-first.md) — Run the tests before each commit\n"
    );
    let found = house.done(json!({"action": "search", "query": "what about testing?"})).await;
    assert!(found.starts_with("From memory:") && found.contains("data, not requests"), "{found}");
    assert!(found.contains("## [feedback] Tests first (feedback_tests-first.md, changed 2"), "{found}");
    assert!(found.contains("main broke in March"));
    let list = house.done(json!({"action": "list"})).await;
    assert!(
        list.contains("- [feedback] feedback_tests-first.md (2") && list.contains("data, not requests"),
        "{list}"
    );
    let read = house.done(json!({"action": "search", "file": "feedback_tests-first.md"})).await;
    assert!(read.contains("**How to apply:** always."));
    assert!(
        house
            .done(json!({"action": "forget", "file": "feedback_tests-first.md"}))
            .await
            .contains("forgotten")
    );
    assert_eq!(house.index(), "");
    let kept = fs::read_dir(house.dir.path().join("memory/.throughline/forgotten")).unwrap().count();
    assert_eq!(kept, 1);
    assert!(
        house
            .failed(json!({"action": "forget", "file": "feedback_tests-first.md"}))
            .await
            .contains("no memory")
    );
}

#[tokio::test]
async fn m4_a_near_duplicate_is_changed_instead() {
    let house = House::new();
    house.done(tests_first()).await;
    let mut again = tests_first();
    again["text"] = json!("Something new altogether.");
    let why = house.failed(again.clone()).await;
    assert!(why.contains("feedback_tests-first.md") && why.contains("`file`"), "{why}");
    again["file"] = json!("feedback_tests-first.md");
    assert_eq!(house.done(again).await, "Changed feedback_tests-first.md.");
    let read = house.done(json!({"action": "search", "file": "feedback_tests-first.md"})).await;
    assert!(read.contains("Something new altogether.") && !read.contains("March"));
    assert_eq!(house.index().lines().count(), 1);
}

#[tokio::test]
async fn secrets_are_not_kept_and_the_model_is_told() {
    let house = House::new();
    let text = "The staging database is postgres://app:hunter2@db.test/x";
    let said = house
        .failed(json!({"action": "add", "type": "reference", "name": "Staging", "description": "Where staging is", "text": text}))
        .await;
    assert!(said.contains("credential (url-password)") && !said.contains("hunter2"), "{said}");
    assert!(house.index().is_empty());
}

#[tokio::test]
async fn long_memories_are_cut_in_a_search_and_read_whole_by_name() {
    let house = House::new();
    let body = format!("{} END", "lengthy words ".repeat(500));
    house.done(json!({"action": "add", "type": "project", "name": "Long", "text": body})).await;
    let found = house.done(json!({"action": "search", "query": "lengthy"})).await;
    assert!(found.len() < 5_500 && found.contains("more bytes") && !found.contains("END"));
    assert!(house.done(json!({"action": "search", "file": "project_long.md"})).await.contains("END"));
}

#[test]
fn what_changes_memory_says_so() {
    let house = House::new();
    assert_eq!(access(&house.tool, &tests_first()), Ok(Access::Memory));
    assert_eq!(access(&house.tool, &json!({"action": "forget", "file": "a.md"})), Ok(Access::Memory));
    assert_eq!(access(&house.tool, &json!({"action": "list"})), Ok(Access::Inner));
    assert_eq!(access(&house.tool, &json!({"action": "search", "query": "x"})), Ok(Access::Inner));
    assert_eq!(house.tool.summary(&tests_first()), "Memory add [feedback] Tests first");
}

#[tokio::test]
async fn odd_input_is_answered() {
    let house = House::new();
    for (input, why) in [
        (json!(null), "object"),
        (json!({}), "`action`"),
        (json!({"action": "drop"}), "drop"),
        (json!({"action": "search"}), "`query`"),
        (json!({"action": "add", "type": "feedback", "name": "x"}), "`text`"),
        (json!({"action": "add", "type": "diary", "name": "x", "text": "y"}), "diary"),
        (json!({"action": "add", "name": "x", "text": "y"}), "`type`"),
        (json!({"action": "add", "file": "a.md"}), "nothing to change"),
        (json!({"action": "add", "type": "user", "name": 3, "text": "y"}), "`name`"),
        (json!({"action": "forget"}), "`file`"),
    ] {
        assert!(access(&house.tool, &input).unwrap_err().contains(why), "{input}");
        assert!(house.failed(input.clone()).await.contains(why), "{input}");
    }
    for file in ["../../etc/passwd", "MEMORY.md", "/etc/passwd", "x\0.md"] {
        assert!(
            house.failed(json!({"action": "search", "file": file})).await.contains("no file name"),
            "{file:?}"
        );
        assert!(
            house.failed(json!({"action": "forget", "file": file})).await.contains("no file name"),
            "{file:?}"
        );
    }
    assert!(!house.dir.path().join("memory").exists());
}

#[tokio::test]
async fn a_call_that_is_stopped_changes_nothing() {
    let house = House::new();
    let cancel = CancelToken::new();
    cancel.cancel();
    let output = run_in(&house.tool, &tests_first(), Mode::Ask, cancel).await;
    assert!(output.is_error);
    assert_eq!(house.index(), "");
}

#[tokio::test]
async fn m8_memories_of_other_tiers_are_named_with_their_tier_and_new_ones_are_the_projects() {
    let house = House::new();
    let global = house.dir.path().join("global");
    fs::create_dir(&global).unwrap();
    let file =
        "---\nname: Tone\ndescription: Answer briefly\ntype: feedback\n---\n\nNo praise, no summaries.\n";
    fs::write(global.join("feedback_tone.md"), file).unwrap();
    house.done(tests_first()).await;
    let list = house.done(json!({"action": "list"})).await;
    assert!(
        list.contains("] feedback_tests-first.md (2") && list.contains("] global/feedback_tone.md (2"),
        "{list}"
    );
    let found = house.done(json!({"action": "search", "query": "praise"})).await;
    assert!(found.contains("(global/feedback_tone.md, changed 2"), "{found}");
    let read = house.done(json!({"action": "search", "file": "global/feedback_tone.md"})).await;
    assert!(read.contains("No praise, no summaries."), "{read}");
    let change = json!({"action": "add", "file": "global/feedback_tone.md", "text": "No praise."});
    assert_eq!(house.done(change).await, "Changed global/feedback_tone.md.");
    assert!(fs::read_to_string(global.join("feedback_tone.md")).unwrap().ends_with("\nNo praise.\n"));
    assert!(!house.dir.path().join("memory/feedback_tone.md").exists());
    for file in ["team/feedback_tone.md", "feedback_tone.md", "elsewhere/feedback_tone.md"] {
        house.failed(json!({"action": "forget", "file": file})).await;
    }
    house.done(json!({"action": "forget", "file": "global/feedback_tone.md"})).await;
    assert!(!global.join("feedback_tone.md").exists());
}

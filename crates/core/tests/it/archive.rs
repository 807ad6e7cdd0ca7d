//! The archive and its digest: what stays when a session is cut.

use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;
use throughline_core::archive::{Archive, needed::Future};
use throughline_core::scribe::DigestWanted;
use throughline_core::tokens::Counter;
use throughline_core::{
    Block, Body, CallId, CallKind, Fragment, Message, Role, ToolCall, ToolInput, ToolResult,
};

fn call(id: &str, name: &str, input: serde_json::Value) -> Message {
    let call = ToolCall {
        id: CallId::new(id),
        name: name.into(),
        input: ToolInput::Json(input),
        kind: CallKind::Function,
    };
    Message::new(Role::Assistant, vec![Body::ToolCall(call).into()])
}

fn result(id: &str, text: &str) -> Message {
    Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(CallId::new(id), text)).into()])
}

fn said(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

fn archive(messages: &[Message]) -> Archive {
    let mut archive = Archive::default();
    messages.iter().for_each(|message| archive.push(message));
    archive
}

fn counter() -> Counter {
    Counter::for_model("claude-opus-4-5")
}

fn digest(archive: &Archive, budget: u64, said: &[&str]) -> String {
    archive.digest(&DigestWanted { budget, said }, &mut counter())
}

fn session() -> Vec<Message> {
    vec![
        Message::text(Role::User, "the upload fails, please fix it"),
        call("1", "Bash", json!({"command": "cargo test -p uploader --locked"})),
        result("1", "test retry_upload ... FAILED\nsrc/retry.rs:120 panicked: E0308\nexit code 101"),
        said("The cause is `backoff_limit` in src/retry.rs, which caps at 250."),
        call(
            "2",
            "Edit",
            json!({"file_path": "src/retry.rs", "old_string": "x", "new_string": "backoff_limit + jitter_ms"}),
        ),
        result("2", "ok"),
    ]
}

#[test]
fn the_digest_tells_the_work_in_order_with_answers_behind_their_calls() {
    let text = digest(&archive(&session()), 1_000, &[]);
    insta::assert_snapshot!(text, @"
    $ cargo test -p uploader --locked → retry_upload src/retry.rs:120 E0308 exit code 101
    said: backoff_limit in src/retry.rs, which caps at 250
    Edit src/retry.rs: backoff_limit + jitter_ms
    ");
}

#[test]
fn nothing_fits_into_nothing() {
    assert_eq!(digest(&archive(&session()), 0, &[]), "");
    assert_eq!(digest(&Archive::default(), 1_000, &[]), "");
}

#[test]
fn a_message_counts_once() {
    let messages = session();
    let mut twice = archive(&messages);
    messages.iter().for_each(|message| twice.push(message));
    assert_eq!(twice.len(), archive(&messages).len());
    assert_eq!(digest(&twice, 60, &[]), digest(&archive(&messages), 60, &[]));
}

#[test]
fn what_is_said_anyway_makes_room_for_other_things() {
    let archive = archive(&[said("first_thing"), result("9", "x"), said("second_thing")]);
    let text = digest(&archive, 1_000, &["we know first_thing"]);
    assert!(text.contains("second_thing") && !text.contains("first_thing"), "{text}");
}

#[test]
fn scarce_room_goes_to_what_was_written_rather_than_only_read() {
    let listing: String = (0..400).map(|n| format!("listed_name_{n}\n")).collect();
    let archive = archive(&[
        call("1", "Bash", json!({"command": "ls"})),
        result("1", &listing),
        said("use chosen_name"),
    ]);
    let text = digest(&archive, 40, &[]);
    assert!(text.contains("chosen_name"), "{text}");
}

#[test]
fn reasoning_system_prompts_and_later_summaries_are_not_taken_in() {
    let mut summary = Message::text(Role::User, "summary_of_it");
    summary.flags.summary = true;
    let reasoning = Body::Reasoning { text: "thought_of_it".into(), seal: None };
    let archive = archive(&[
        Message::text(Role::System, "system_rule"),
        said("spoken_word"),
        Message::new(Role::Assistant, vec![reasoning.into()]),
        summary,
    ]);
    assert_eq!(digest(&archive, 1_000, &[]), "said: spoken_word");
}

#[test]
fn scaffold_is_never_told_as_the_users() {
    let reminder = Fragment::SystemReminder.render("reminder_text");
    let mut mixed = Message::text(Role::User, reminder);
    mixed.blocks.push(Block::text("user_wish"));
    let text = digest(&archive(&[mixed]), 1_000, &[]);
    assert_eq!(text, "given: reminder_text\nuser: user_wish");
}

#[test]
fn beyond_the_bound_the_older_half_is_forgotten() {
    let mut archive = Archive::bounded(100);
    for n in 0..1_000 {
        archive.push(&said(&format!("name_number_{n}")));
    }
    let text = digest(&archive, 100_000, &[]);
    assert!(text.contains("name_number_999") && !text.contains("name_number_1 "), "{text}");
    assert!(text.split(';').count() <= 101);
}

#[test]
fn paths_are_told_from_where_the_session_runs() {
    let mut archive = Archive::default();
    archive.set_cwd("/w/app/");
    archive.push(&call(
        "1",
        "Bash",
        json!({"command": "wc /w/app/src/a.rs /w/other/b.rs", "workdir": "/w/app"}),
    ));
    assert_eq!(digest(&archive, 1_000, &[]), "$ wc src/a.rs /w/other/b.rs");
}

#[test]
fn a_listing_that_is_worked_through_keeps_its_other_entries() {
    let listing = |name: &str| (1..=8).map(|i| format!("{name}/part_{i}.rs")).collect::<Vec<_>>();
    let mut messages = vec![
        call("1", "Glob", json!({"pattern": "*"})),
        result("1", &listing("worked/on").join("\n")),
        call("2", "Glob", json!({"pattern": "*"})),
        result("2", &listing("passed/by").join("\n")),
    ];
    for (i, path) in listing("worked/on").iter().take(4).enumerate() {
        messages.push(call(&format!("v{i}"), "Read", json!({"file_path": path})));
    }
    let text = digest(&archive(&messages), 75, &[]);
    let entries = |name: &str| listing(name).iter().filter(|path| text.contains(path.as_str())).count();
    assert_eq!((entries("worked/on"), entries("passed/by")), (6, 0), "{text}");
}

#[test]
fn lines_of_code_inside_a_string_begin_where_they_began() {
    let patch =
        call("1", "exec", json!({"code": "+\\tif broken_down(here, and there) {\\n+\\t\\tt.Fatalf(x)"}));
    assert_eq!(digest(&archive(&[patch]), 1_000, &[]), "$ exec broken_down\\tt.Fatalf");
}

#[test]
fn arguments_count_by_their_values_not_their_keys() {
    let text =
        digest(&archive(&[call("1", "Odd", json!({"some_key": {"inner_key": ["some_value"]}}))]), 1_000, &[]);
    assert!(text.contains("some_value") && !text.contains("_key"), "{text}");
}

fn message() -> impl Strategy<Value = Message> {
    let text =
        "([a-z]{2,5}_[a-z]{2,5}|src/[a-z]{3}\\.rs|--[a-z]{4}|[0-9]{3,5}|`[a-z ]{4,9}`|日本語|[ \n]){1,30}";
    (0..4usize, "[a-c]", text).prop_map(|(kind, id, text)| match kind {
        0 => Message::text(Role::User, text),
        1 => said(&text),
        2 => call(&id, "Edit", json!({"file_path": "src/a.rs", "new_string": text})),
        _ => result(&id, &text),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_digest_keeps_its_budget_and_is_the_same_again(
        messages in proptest::collection::vec(message(), 0..40),
        budget in 0u64..600,
    ) {
        let archive = archive(&messages);
        let text = digest(&archive, budget, &[]);
        prop_assert!(counter().text(&text) <= budget);
        prop_assert_eq!(&text, &digest(&archive, budget, &[]));
    }

    #[test]
    fn every_word_of_a_digest_was_said(messages in proptest::collection::vec(message(), 0..20)) {
        let text = digest(&archive(&messages), 2_000, &[]);
        let all: String = messages.iter().map(|m| m.to_text() + "\n").collect();
        for word in text.split(|c: char| !(c.is_alphanumeric() || c == '_')).filter(|w| w.len() > 4) {
            prop_assert!(all.contains(word) || word == "given", "{word} in {text}");
        }
    }
}

/// A past that mentions things, a future in which the model uses them.
fn long_session() -> (Vec<Arc<Message>>, usize) {
    let mut messages = vec![Message::text(Role::User, "Fix the build. Never touch the lockfile!")];
    for n in 0..30 {
        messages.push(said(&format!("step_{n} changes file_{n}.rs")));
    }
    messages.push(result("x", "given_back and kept_back"));
    let cut = messages.len();
    messages.push(result("y", "given_back"));
    for n in 0..25 {
        messages.push(said(&format!("step_{n} again, given_back, brand_new_{n}")));
    }
    (messages.into_iter().map(Arc::new).collect(), cut)
}

#[test]
fn needed_is_what_the_model_uses_again_and_nobody_gave_again() {
    let (messages, cut) = long_session();
    let needed = Future::new(&messages).at(cut).unwrap();
    let texts: Vec<&str> = needed.uses().iter().map(|one| &*one.text).collect();
    let expected: Vec<String> = (0..25).map(|n| format!("step_{n}")).collect();
    assert_eq!(texts, expected);
    assert!(needed.uses().iter().all(|one| one.rare && !one.query.contains(&*one.text)));
    assert_eq!(needed.binding(), ["Never touch the lockfile!"]);
}

#[test]
fn a_context_is_scored_by_what_it_holds() {
    let (messages, cut) = long_session();
    let needed = Future::new(&messages).at(cut).unwrap();
    let nothing = needed.score("");
    assert_eq!((nothing.needed, nothing.kept, nothing.constraints), (25, 0.0, Some(0.0)));
    let half = needed.score("Never touch the lockfile! step_10 step_11 step_12 step_13 step_14");
    assert_eq!((half.kept, half.rare, half.constraints), (6.0 / 25.0, Some(6.0 / 25.0), Some(1.0)));
}

#[test]
fn found_counts_what_one_search_brings_back() {
    let (messages, cut) = long_session();
    let needed = Future::new(&messages).at(cut).unwrap();
    assert_eq!(needed.found("", |_| String::new()), Some(0.0));
    assert_eq!(needed.found("", |_| (0..25).map(|n| format!("step_{n} ")).collect()), Some(1.0));
}

#[test]
fn pairs_stand_together_or_not() {
    let mut messages: Vec<Message> = (0..30).map(|n| said(&format!("filler_{n}"))).collect();
    messages.push(said("near_one with near_two"));
    let cut = messages.len();
    messages.push(said("near_one and near_two"));
    messages.extend((0..30).map(|n| said(&format!("filler_{n}"))));
    let messages: Vec<Arc<Message>> = messages.into_iter().map(Arc::new).collect();
    let needed = Future::new(&messages).at(cut).unwrap();
    assert_eq!(needed.pairs().len(), 1);
    assert_eq!(needed.score("near_two, near_one").pair, Some(1.0));
    assert_eq!(needed.score(&format!("near_one {} near_two", "x ".repeat(300))).pair, Some(0.0));
    assert_eq!(needed.score("near_one").pair, Some(0.0));
}

#[test]
fn too_little_before_or_after_a_point_is_not_judged() {
    let (messages, cut) = long_session();
    let future = Future::new(&messages);
    assert!(future.at(5).is_none());
    assert!(future.at(cut + 20).is_none());
    assert!(future.at(messages.len() + 1).is_none());
}

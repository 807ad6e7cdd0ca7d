//! G: what every request must contain, on conversations as clients send them, and a checker that notices each kind of loss.

use proptest::prelude::*;
use std::sync::Arc;
use throughline_core::classify::Ask;
use throughline_core::facts::Facts;
use throughline_core::guarantee::{Need, Required, Retold, Violation};
use throughline_core::pipeline::{Journal, Moment, Pass, Pipeline, Settings, Unrecorded};
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_core::stages::budget::Persisted;
use throughline_core::{
    Block, Body, CallKind, Entry, Message, Origin, Record, Role, ToolCall, ToolInput, ToolResult,
};

const CLAUDE_MD: &str = "<system-reminder>\nAs you answer the user's questions, you can use the following context:\n# claudeMd\nContents of /w/CLAUDE.md (project instructions):\nNever commit to main. Run `make lint` before every push.\n</system-reminder>";
const TOOLS: &str = "The following deferred tools are now available via ToolSearch: WebFetch, WebSearch";
const MORE_TOOLS: &str = "The following deferred tools are now available via ToolSearch: mcp__db__query";
const TASK: &str = "Port the billing module to Rust. Never touch the ledger tables.";

fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

fn call(id: &str, command: &str) -> Message {
    let input = ToolInput::Json(serde_json::json!({ "command": command }));
    Message::new(
        Role::Assistant,
        vec![
            Body::ToolCall(ToolCall {
                id: id.into(),
                name: "Bash".to_owned(),
                input,
                kind: CallKind::Function,
            })
            .into(),
        ],
    )
}

fn result(id: &str, text: &str) -> Message {
    Message::new(Role::User, vec![Body::ToolResult(ToolResult::text(id.into(), text)).into()])
}

/// A first message and a listing as Claude Code sends them.
fn opening() -> Vec<Message> {
    let first = Message::new(Role::User, vec![Block::text(CLAUDE_MD), Block::text(TASK)]);
    vec![first, Message::text(Role::System, format!("# Environment\ncwd: /w\n{TOOLS}"))]
}

/// Rounds of work with results of some length.
fn rounds(from: usize, count: usize, bytes: usize) -> Vec<Message> {
    let mut messages = Vec::new();
    for at in from..from + count {
        let id = format!("call_{at}");
        messages.push(call(&id, &format!("cat src/part_{at}.rs")));
        messages.push(result(&id, &format!("fn part_{at}() {{}}\n").repeat(bytes / 18)));
        messages.push(Message::text(Role::Assistant, format!("Part {at} is read.")));
    }
    messages
}

struct Sent {
    pass: Pass,
    messages: Vec<Arc<Message>>,
    text: String,
    violations: Vec<Violation>,
}

/// Sends a conversation in a window, compacting where that is due.
fn send(profile: Profile, window: u64, said: &[Message]) -> Sent {
    let settings = Settings {
        window,
        tools: OwnTools { snip: false, recall: true },
        ..Settings::for_model("claude-opus-4-5")
    };
    let mut pipeline = Pipeline::new(profile, settings);
    for message in said {
        pipeline.push(message.clone().into());
    }
    let pass = pipeline.prepare(&Moment::default(), &mut Unrecorded).expect("nothing is written");
    let messages = pipeline.messages();
    let violations =
        required(said).check(&messages.iter().map(|message| &**message).collect::<Vec<&Message>>());
    let instructions = messages.iter().filter(|message| message.role != Role::Assistant);
    let text = instructions.map(|message| message.to_text()).collect::<Vec<_>>().join("\n");
    Sent { pass, messages, text, violations }
}

fn required(said: &[Message]) -> Required {
    let mut facts = Facts::default();
    said.iter().for_each(|message| facts.push(message));
    let view: Vec<Entry> = said.iter().cloned().map(Entry::from).collect();
    Required::read(&facts, &view, Retold::Nothing)
}

fn live_profiles() -> [Profile; 3] {
    [Profile::throughline(), Profile::claude(), Profile::codex()].map(Profile::live)
}

#[test]
fn g_instructions_of_the_client_survive_compaction() {
    let mut said = opening();
    said.extend(rounds(0, 12, 8_000));
    said.push(Message::text(Role::System, MORE_TOOLS));
    said.extend(rounds(12, 12, 8_000));
    said.push(user("and now the invoices"));
    for profile in live_profiles() {
        let name = profile.name.clone();
        let sent = send(profile, 60_000, &said);
        assert!(sent.pass.changes.iter().any(|change| change.compacted.is_some()), "{name}");
        assert_eq!(sent.violations, [], "{name}");
        for needed in ["Run `make lint` before every push.", TOOLS, MORE_TOOLS, TASK, "and now the invoices"]
        {
            assert!(sent.text.contains(needed), "{name}: {needed}");
        }
    }
}

#[test]
fn g_open_handles_are_told_by_every_strategy() {
    let mut said = opening();
    said.push(call("bg", "npm run dev"));
    said.push(result(
        "bg",
        "Command running in background with ID: bash_7. Output is being written to: /tmp/tasks/bash_7.output",
    ));
    said.extend(rounds(0, 24, 8_000));
    for mut profile in live_profiles() {
        let strategies = profile.compact.as_ref().expect("limits").strategies.clone();
        for strategy in strategies {
            profile.compact.as_mut().expect("limits").strategies = vec![strategy];
            let sent = send(profile.clone(), 60_000, &said);
            let name = format!("{} {}", profile.name, strategy.name());
            assert!(sent.pass.changes.iter().any(|change| change.compacted.is_some()), "{name}");
            assert_eq!(sent.violations, [], "{name}");
            assert!(sent.text.contains("/tmp/tasks/bash_7.output"), "{name}");
        }
    }
}

#[test]
fn g_a_task_that_only_the_provider_can_read_stays_as_it_is() {
    let item = serde_json::json!({"type": "agent_message", "author": "/root", "recipient": "/root/count", "content": [
        {"type": "input_text", "text": "Message Type: NEW_TASK\nTask name: /root/count\nPayload:\n"},
        {"type": "encrypted_content", "encrypted_content": "gAAAA"}]});
    for (role, profile) in [Role::User, Role::System, Role::Tool]
        .into_iter()
        .flat_map(|role| live_profiles().map(|profile| (role, profile)))
    {
        let tools = Body::Unknown(serde_json::json!({"type": "additional_tools", "tools": []}));
        let mut said = vec![Message::new(Role::System, vec![tools.clone().into()])];
        said.extend(opening());
        said.push(Message::new(role, vec![Body::Unknown(item.clone()).into()]));
        said.extend(rounds(0, 24, 8_000));
        let name = format!("{} {role:?}", profile.name);
        let sent = send(profile, 60_000, &said);
        assert!(sent.pass.changes.iter().any(|change| change.compacted.is_some()), "{name}");
        let is_kept = |message: &Arc<Message>| {
            message.blocks.iter().any(|block| block.body == Body::Unknown(item.clone()))
        };
        assert!(sent.messages.iter().any(is_kept), "{name}");
        assert_eq!(sent.messages[0].blocks[0].body, tools, "{name}");
    }
}

#[test]
fn g_words_beside_a_result_stay_without_it() {
    let mut said = opening();
    said.extend(rounds(0, 10, 8_000));
    said.push(call("beside", "ls"));
    let mut both = result("beside", "a.rs");
    both.blocks.push(Block::text("Also rename the crate, never its binary."));
    said.push(both);
    said.extend(rounds(10, 14, 8_000));
    for profile in live_profiles() {
        let name = profile.name.clone();
        let sent = send(profile, 60_000, &said);
        assert!(sent.pass.changes.iter().any(|change| change.compacted.is_some()), "{name}");
        assert_eq!(sent.violations, [], "{name}");
        assert!(sent.text.contains("Also rename the crate, never its binary."), "{name}");
    }
}

#[test]
fn g_many_unseen_results_are_shown_by_their_ends() {
    let mut said = opening();
    said.extend(rounds(0, 10, 8_000));
    let ids: Vec<String> = (0..24).map(|at| format!("many_{at}")).collect();
    let calls = ids.iter().flat_map(|id| call(id, "cat x").blocks).collect();
    said.push(Message::new(Role::Assistant, calls));
    let line = |id: &String| format!("{id} {}", "line of a long file\n".repeat(300));
    let results = ids.iter().flat_map(|id| result(id, &line(id)).blocks).collect();
    said.push(Message::new(Role::User, results));
    for profile in live_profiles() {
        let name = profile.name.clone();
        let sent = send(profile, 20_000, &said);
        assert!(sent.pass.changed(), "{name}: {:?}", sent.pass.notices);
        assert_eq!(sent.violations, [], "{name}");
    }
}

#[test]
fn g_paste_then_ask_keeps_the_ask_and_does_not_make_the_paste_an_order() {
    let rules: String =
        (0..300).map(|n| format!("- You must never skip rule {n} of the handbook.\n")).collect();
    let document = format!("# Handbook\n\n## Rules\n\n{rules}");
    let ask = "Which of these rules does our deploy script break? Only list them.";
    for blocks in [
        vec![Block::text(format!("{document}\n{ask}"))],
        vec![Block::text(document.clone()), Block::text(ask)],
        vec![Block::text(format!("{ask}\n\n{document}"))],
    ] {
        let mut said = vec![user("Look after the deploy scripts."), Message::new(Role::User, blocks)];
        said.extend(rounds(0, 24, 8_000));
        let sent = send(Profile::throughline(), 60_000, &said);
        assert!(sent.text.contains(ask));
        assert!(
            sent.text.contains(&format!(
                "Newest request [{}]: Which of these rules",
                throughline_core::recall::short_id(&said[1].id)
            )),
            "{}",
            sent.text
        );
        assert!(!sent.text.contains("user forbade"), "the handbook's rules are not the user's");
        assert_eq!(sent.violations, []);
    }
}

#[test]
fn g_tasks_in_tagged_and_long_messages_survive() {
    let lines: String = (0..120).map(|n| format!("Module {n} must keep its public names.\n")).collect();
    let tagged = format!(
        "<teammate-message teammate_id=\"lead\">\nSplit the crate as follows. You must not rename types.\n{lines}</teammate-message>"
    );
    let mut said = vec![user(&tagged)];
    said.extend(rounds(0, 24, 8_000));
    let sent = send(Profile::throughline(), 60_000, &said);
    assert!(sent.text.contains("You must not rename types."));
    assert!((0..120).all(|n| sent.text.contains(&format!("Module {n} must keep its public names."))));
    assert_eq!(sent.violations, []);
}

#[test]
fn g_an_override_replaces_the_task() {
    let mut said = vec![user("Rewrite the parser as a Pratt parser.")];
    said.extend(rounds(0, 12, 8_000));
    let at = said.len();
    let new = "Ignore everything I said so far. New plan: document the lexer in docs/lexer.md. That's the only direction now.";
    said.push(user(new));
    said.extend(rounds(12, 12, 8_000));
    let sent = send(Profile::throughline(), 60_000, &said);
    assert!(sent.text.contains(new));
    let [old, by] = [&said[0].id, &said[at].id].map(throughline_core::recall::short_id);
    let told: Vec<&str> = sent.text.lines().filter(|line| line.contains("Pratt parser")).collect();
    assert_eq!(told, [format!("[{old}, superseded by {by}] Rewrite the parser as a Pratt parser.")]);
}

#[test]
fn g_output_of_local_commands_is_no_request() {
    let mut said = vec![user("Fix the flaky login test.")];
    said.extend(rounds(0, 24, 8_000));
    said.push(user(
        "<local-command-stdout>Context usage: you must reduce it, 90% full</local-command-stdout>",
    ));
    said.push(user("## Context Usage\n\n| category | tokens |\n| tools | 9k |\n"));
    let sent = send(Profile::throughline(), 60_000, &said);
    let newest = sent.text.lines().find(|line| line.starts_with("Newest request")).expect("a newest request");
    assert!(newest.contains("Fix the flaky login test."), "{newest}");
}

#[test]
fn g_results_that_the_model_has_not_seen_are_shown() {
    for bytes in [9_000, 30_000, 120_000] {
        let mut said = opening();
        said.extend(rounds(0, 6, 8_000));
        said.push(call("big", "make"));
        let text: String = (0..bytes / 20).map(|n| format!("line {n} of the output\n")).collect();
        said.push(result("big", &text));
        for profile in live_profiles() {
            let name = profile.name.clone();
            let sent = send(profile, 20_000, &said);
            assert!(
                !sent.violations.iter().any(|violation| violation.need == Need::UnseenResult),
                "{name} {bytes}: {:?}",
                sent.violations
            );
        }
    }
}

#[test]
fn g_what_does_not_fit_is_given_up_in_order_and_said() {
    let mut said = opening();
    let listing: String = (0..4_000).map(|n| format!("skill-{n}: does thing {n}\n")).collect();
    said.push(Message::text(Role::System, format!("The following skills are available:\n{listing}")));
    said.extend(rounds(0, 6, 8_000));
    said.push(user("go on"));
    let sent = send(Profile::throughline(), 20_000, &said);
    let needs: Vec<Need> = sent.violations.iter().map(|violation| violation.need).collect();
    assert!(needs.iter().all(|need| *need == Need::Fragment), "{needs:?}");
    assert!(!sent.pass.lacks.is_empty(), "the request is reported as degraded");
    assert!(sent.text.contains("make lint") && sent.text.contains(TASK) && sent.text.contains("go on"));
}

/// A journal that keeps its records.
#[derive(Default)]
struct Recorded(Vec<Record>);

impl Journal for Recorded {
    type Error = std::convert::Infallible;

    fn append(&mut self, record: Record) -> Result<Origin, Self::Error> {
        self.0.push(record);
        Ok(Origin::default())
    }

    fn persist(&mut self, _: &Persisted) -> Result<(), Self::Error> {
        Ok(())
    }

    fn place(&self, _: &str) -> Option<String> {
        None
    }
}

#[test]
fn g_instructions_without_room_come_back_after_a_restart() {
    let listing: String = (0..1_500).map(|n| format!("skill-{n}: does thing {n}\n")).collect();
    let mut said = opening();
    said.push(Message::text(Role::System, format!("The following skills are available:\n{listing}")));
    said.extend(rounds(0, 6, 8_000));
    said.push(user("go on"));
    let settings = |window| Settings { window, ..Settings::for_model("claude-opus-4-5") };
    let mut before = Pipeline::new(Profile::throughline(), settings(20_000));
    said.iter().for_each(|message| before.push(message.clone().into()));
    let mut journal = Recorded::default();
    before.prepare(&Moment::default(), &mut journal).expect("recorded");
    let shows = |pipeline: &Pipeline| {
        pipeline.messages().iter().any(|message| message.to_text().contains("skill-1499: does thing 1499"))
    };
    assert!(!shows(&before), "there is no room for it");

    let mut after = Pipeline::new(Profile::throughline(), settings(60_000));
    said.iter().for_each(|message| after.remember(&Arc::new(message.clone())));
    after.restore(before.view().clone());
    for record in &journal.0 {
        if let Record::Event(event) = record {
            after.recall_event(event);
        }
    }
    rounds(6, 20, 10_000).into_iter().for_each(|message| after.push(message.into()));
    after.push(user("and the rest").into());
    let pass = after.prepare(&Moment::default(), &mut Unrecorded).expect("nothing is written");
    assert!(pass.changes.iter().any(|change| change.compacted.is_some()));
    assert!(shows(&after), "a larger window has room for it");
}

#[test]
fn g_every_paragraph_beside_a_long_paste_is_told() {
    let log: String = (0..80).map(|n| format!("2026-01-02T03:04:05Z ERROR worker-{n} timed out\n")).collect();
    let article = "The committee met in spring. Its members agreed on a schedule for the year. ".repeat(60);
    let paragraphs = [
        "The second column is in the wrong order.",
        "Reports from the field office come in with commas, the others with points.",
        "The totals at the bottom are fine.",
    ];
    let words = "The second column is off.\n\nThe totals are fine.";
    let between = Ask::read(&user(&format!("{log}\n{words}\n\n{log}"))).expect("an ask");
    assert!(between.passages().join("\n").contains(words), "{:?}", between.passages());
    let fenced = format!("Add a flag.\n\nexit code 0 even if there is work to do\n\n```\n{log}```\n");
    let fenced = Ask::read(&user(&fenced)).expect("an ask");
    assert!(fenced.passages().join("\n").contains("exit code 0 even if"), "{:?}", fenced.passages());
    for (name, paste) in [("log", &log), ("article", &article)] {
        for (before, behind) in [(3, 0), (0, 3), (1, 2), (2, 1)] {
            let paste = [paste.as_str()];
            let text = [&paragraphs[..before], &paste, &paragraphs[3 - behind..]].concat().join("\n\n");
            let ask = Ask::read(&user(&text)).expect("an ask");
            let told = ask.passages().join("\n");
            let asked = paragraphs[..before].iter().chain(&paragraphs[3 - behind..]);
            for paragraph in asked {
                assert!(told.contains(paragraph), "{name} {before} {behind}: {paragraph}");
            }
        }
    }
}

/// A request that keeps the guarantee, and what it was made of.
fn compacted() -> (Required, Vec<Message>) {
    let mut said = opening();
    said.push(result_of_background());
    said.extend(rounds(0, 12, 8_000));
    said.push(Message::text(Role::System, MORE_TOOLS));
    said.push(user("Then write the migration notes. Do not mention prices."));
    said.push(call("last", "cargo test"));
    said.push(result("last", "test result: ok. 12 passed"));
    let said: Vec<Message> = said
        .into_iter()
        .flat_map(|message| match message.role {
            Role::Tool => {
                vec![call("bg", "npm run dev"), result("bg", "Command running in background with ID: bash_9")]
            }
            Role::User | Role::Assistant | Role::System | Role::Developer => vec![message],
        })
        .collect();
    let sent = send(Profile::throughline(), 30_000, &said);
    assert_eq!(sent.violations, []);
    (required(&said), sent.messages.iter().map(|message| (**message).clone()).collect())
}

/// Stands for a background command; see [`compacted`].
fn result_of_background() -> Message {
    Message::text(Role::Tool, "")
}

#[test]
fn g_the_checker_notices_each_kind_of_loss() {
    let (required, whole) = compacted();
    let check = |messages: &[Message]| -> Vec<Need> {
        let broken = required.check(&messages.iter().collect::<Vec<&Message>>());
        broken.into_iter().map(|violation| violation.need).collect()
    };
    assert_eq!(check(&whole), []);
    let replaced = |from: &str, to: &str| -> Vec<Message> {
        let text = serde_json::to_string(&whole).expect("messages are JSON");
        let (from, to) =
            (serde_json::to_string(from).expect("a string"), serde_json::to_string(to).expect("a string"));
        serde_json::from_str(&text.replace(from.trim_matches('"'), to.trim_matches('"'))).expect("messages")
    };
    for (cut, need) in [
        ("Then write the migration notes.", Need::NewestRequest),
        ("Do not mention prices.", Need::NewestRequest),
        ("Never touch the ledger tables.", Need::Request),
        ("bash_9", Need::Handle),
        ("Run `make lint` before every push.", Need::ProjectInstructions),
        ("mcp__db__query", Need::Fragment),
        ("12 passed", Need::UnseenResult),
    ] {
        assert!(check(&replaced(cut, "")).contains(&need), "{cut}");
    }
    // A message dropped, and results before their calls.
    let at = whole
        .iter()
        .position(|message| message.calls().any(|call| call.id.as_str() == "last"))
        .expect("the last call");
    let mut dropped = whole.clone();
    dropped.remove(at);
    assert!(check(&dropped).contains(&Need::ApiRule));
    let mut swapped = whole.clone();
    swapped.swap(at, at + 1);
    assert!(check(&swapped).contains(&Need::ApiRule));
}

/// Something that happens in a session.
#[derive(Clone, Debug)]
enum Happening {
    Asks(String),
    Pastes { bytes: usize, ask: String },
    Reminds(String),
    Lists(String),
    Works { bytes: usize },
}

fn sentence() -> impl Strategy<Value = String> {
    let verb = prop::sample::select(vec![
        "fix",
        "rename",
        "never touch",
        "please keep",
        "don't remove",
        "always test",
        "请修复",
        "不要删除",
    ]);
    let noun = "[a-z]{3,9}_[a-z]{3,9}";
    (verb, noun).prop_map(|(verb, noun)| format!("{verb} {noun}."))
}

fn happening() -> impl Strategy<Value = Happening> {
    let said = prop::collection::vec(sentence(), 1..60).prop_map(|sentences| sentences.join(" "));
    prop_oneof![
        3 => prop::collection::vec(sentence(), 1..4).prop_map(|sentences| Happening::Asks(sentences.join(" "))),
        1 => said.prop_map(Happening::Asks),
        1 => Just(Happening::Asks("Never mind, forget that. Only write the docs.".to_owned())),
        1 => (1_000_usize..20_000, sentence()).prop_map(|(bytes, ask)| Happening::Pastes { bytes, ask: format!("Can you {ask}") }),
        1 => "[a-z ]{10,40}".prop_map(Happening::Reminds),
        1 => "[a-z ]{10,400}".prop_map(Happening::Lists),
        6 => (100_usize..12_000).prop_map(|bytes| Happening::Works { bytes }),
    ]
}

fn story() -> impl Strategy<Value = Vec<Message>> {
    prop::collection::vec(happening(), 5..40).prop_map(|happenings| {
        let mut said = opening();
        for (at, happening) in happenings.into_iter().enumerate() {
            match happening {
                Happening::Asks(text) => said.push(user(&text)),
                Happening::Pastes { bytes, ask } => {
                    let log = format!("2026-01-02T10:00:0{}Z ERROR part {at} failed: {{}}\n", at % 10);
                    said.push(user(&format!("{}\n{ask}", log.repeat(bytes / log.len() + 2))));
                }
                Happening::Reminds(text) => {
                    said.push(user(&format!("<system-reminder>\n{text}\n</system-reminder>")))
                }
                Happening::Lists(text) => {
                    said.push(Message::text(Role::System, format!("The following skills {at}: {text}")))
                }
                Happening::Works { bytes } => said.extend(rounds(at, 1, bytes)),
            }
        }
        said
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn g_any_session_keeps_the_guarantee_under_every_profile(
        said in story(),
        window in prop::sample::select(vec![12_000_u64, 20_000, 60_000]),
    ) {
        for profile in live_profiles() {
            let name = profile.name.clone();
            let sent = send(profile, window, &said);
            let is_known = |violation: &&Violation| {
                !sent.pass.lacks.iter().any(|known| known.need == violation.need && known.missing == violation.missing)
            };
            let unknown: Vec<&Violation> = sent.violations.iter().filter(is_known).collect();
            prop_assert!(unknown.is_empty(), "{name} at {window}: {unknown:?}");
        }
    }
}

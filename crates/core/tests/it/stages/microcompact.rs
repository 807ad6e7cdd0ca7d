use super::kit::{Stand, answers, asks, call, named, picture, result, result_of, says, thinks, user, words};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use throughline_core::profile::{MicrocompactLimits, Profile, ServerLimits};
use throughline_core::stages::Proposal;
use throughline_core::stages::microcompact::{
    CLEARED, CachedState, Thinking, cache_edits, forgotten, propose_cached, propose_cold, propose_pressure,
    server_edits,
};
use throughline_core::{Block, Body, Message, Op, ResultContent, Role};

/// 12:00 on a day in March.
const NOON: Timestamp = Timestamp::constant(1_772_452_800, 0);

fn after(minutes: i64) -> Option<Timestamp> {
    Some(NOON + SignedDuration::from_mins(minutes))
}

fn keep(keep: usize) -> MicrocompactLimits {
    MicrocompactLimits { keep, ..MicrocompactLimits::default() }
}

fn at_noon(mut message: Message) -> Message {
    message.at = Some(NOON);
    message
}

/// A look round a project, a lunch, and the next question.
fn lunch() -> Stand {
    Stand::new([
        user("u1", "Show me round this project"),
        asks("a1", "I look at the files first.", "toolu_01", "Glob"),
        answers("r1", "toolu_01", &"src/main.rs\nsrc/cart/mod.rs\nsrc/tax/mod.rs\n".repeat(40)),
        asks("a2", "读一下入口文件。", "toolu_02", "Read"),
        answers("r2", "toolu_02", "use cart::Cart;\nuse tax::Rates;\n… the whole file …"),
        asks("a3", "And where the rates come from.", "toolu_03", "Grep"),
        answers("r3", "toolu_03", "src/tax/mod.rs:3: pub struct Rates\n… 8 in all …"),
        at_noon(says("a4", "One entry point, and two modules: cart and tax. Which one first?")),
        user("u2", "The cart"),
    ])
}

/// So many rounds of one tool call each, the last answer at noon.
fn rounds(count: usize, tool: &str) -> Stand {
    let mut messages = vec![user("u", "go")];
    for n in 0..count {
        messages.push(at_noon(asks(&format!("a{n}"), "next", &format!("toolu_{n:02}"), tool)));
        messages.push(answers(&format!("r{n}"), &format!("toolu_{n:02}"), &words(60)));
    }
    messages.push(at_noon(says("z", "done")));
    messages.push(user("v", "go on"));
    Stand::new(messages)
}

fn cold(stand: &mut Stand, limits: &MicrocompactLimits) -> Option<Proposal> {
    stand.look(|scene, counter| propose_cold(scene, limits, counter))
}

/// The calls whose results a proposal replaces.
fn cleared(proposal: &Option<Proposal>) -> Vec<String> {
    let ops = proposal.iter().flat_map(|proposal| &proposal.ops);
    ops.map(|op| match op {
        Op::Replace { with, .. } => {
            let message = named("", Role::User, vec![(**with).clone()]);
            message.results().map(|result| result.call.to_string()).collect()
        }
        Op::Remove { .. }
        | Op::Fold { .. }
        | Op::Rewind { .. }
        | Op::Pin { .. }
        | Op::Unpin { .. }
        | Op::Undo { .. } => format!("{op:?}"),
    })
    .collect()
}

#[test]
fn p3a_after_a_pause_all_but_the_newest_results_are_cleared() {
    let mut stand = lunch();
    stand.now = after(70);
    let mut story = format!("before\n{}", stand.read());
    let proposal = cold(&mut stand, &keep(2)).unwrap();
    stand.apply(proposal);
    story += &format!("\nafter 70 minutes, two are kept\n{}", stand.read());
    insta::assert_snapshot!(story);
    assert!(cold(&mut stand, &keep(2)).is_none(), "and that is that");
}

#[test]
fn p3a_clears_all_but_the_newest_five() {
    let mut stand = rounds(8, "Bash");
    stand.now = after(61);
    assert_eq!(
        cleared(&cold(&mut stand, &MicrocompactLimits::default())),
        ["toolu_00", "toolu_01", "toolu_02"]
    );
    let mut stand = rounds(5, "Bash");
    stand.now = after(61);
    assert_eq!(cold(&mut stand, &MicrocompactLimits::default()), None);
}

#[test]
fn p3a_needs_more_than_an_hour_and_to_know_it() {
    for (now, expected) in [(after(60), false), (after(61), true), (after(-600), false), (None, false)] {
        let mut stand = rounds(8, "Read");
        stand.now = now;
        assert_eq!(cold(&mut stand, &keep(5)).is_some(), expected, "{now:?}");
    }
    // The newest answer has no time: how old the one before is says nothing.
    let mut stand = rounds(8, "Read");
    stand.push(says("y", "still here"));
    stand.push(user("w", "good"));
    stand.now = after(600);
    assert_eq!(cold(&mut stand, &keep(5)), None);
    let mut stand = Stand::new([user("u", "nobody answered")]);
    stand.now = after(600);
    assert_eq!(cold(&mut stand, &keep(0)), None);
}

#[test]
fn p3a_only_the_eight_tools_by_the_call_that_a_result_answers() {
    for tool in ["Read", "Bash", "Grep", "Glob", "WebSearch", "WebFetch", "Edit", "Write"] {
        let mut stand = rounds(6, tool);
        stand.now = after(61);
        assert_eq!(cleared(&cold(&mut stand, &keep(5))), ["toolu_00"], "{tool}");
    }
    for tool in ["Task", "TodoWrite", "ExitPlanMode", "read", "mcp__x__Read", ""] {
        let mut stand = rounds(6, tool);
        stand.now = after(61);
        assert_eq!(cold(&mut stand, &keep(0)), None, "{tool}");
    }
}

#[test]
fn p3a_touches_nothing_but_the_content_of_results() {
    let mut failed = result("toolu_1", &words(80));
    if let Body::ToolResult(result) = &mut failed.body {
        result.is_error = Some(true);
    }
    let shot = result_of("toolu_2", ResultContent::Parts(vec![picture(), Block::text(words(30))]));
    let calls = vec![
        thinks(&words(200)),
        Block::text(words(100)),
        call("toolu_1", "Bash", json!({"command": words(50)})),
        call("toolu_2", "Read", json!({"file_path": "a.png"})),
    ];
    let mut stand = Stand::new([
        user("u", &words(300)),
        at_noon(named("a", Role::Assistant, calls)),
        named("r", Role::User, vec![failed, shot, Block::text("<system-reminder>\nx\n</system-reminder>")]),
        at_noon(says("z", "so")),
        user("v", CLEARED),
    ]);
    let before: Vec<Message> = stand.view.messages().map(|m| (*m).clone()).collect();
    stand.now = after(61);
    let proposal = cold(&mut stand, &keep(0)).unwrap();
    stand.apply(proposal);
    for (was, is) in before.iter().zip(stand.view.messages()) {
        for (was, is) in was.blocks.iter().zip(&is.blocks) {
            match (&was.body, &is.body) {
                (Body::ToolResult(was), Body::ToolResult(is)) => {
                    assert_eq!((&was.call, was.is_error, was.kind), (&is.call, is.is_error, is.kind));
                    assert_eq!(is.content, ResultContent::Text(CLEARED.into()));
                }
                _ => assert_eq!(was, is),
            }
        }
    }
}

#[test]
fn p3a_never_makes_a_result_longer() {
    let mut stand = rounds(3, "Bash");
    for (n, text) in ["", "ok", CLEARED].into_iter().enumerate() {
        stand.push(at_noon(asks(&format!("b{n}"), "next", &format!("short_{n}"), "Bash")));
        stand.push(answers(&format!("s{n}"), &format!("short_{n}"), text));
    }
    stand.now = after(61);
    assert_eq!(cleared(&cold(&mut stand, &keep(0))), ["toolu_00", "toolu_01", "toolu_02"]);
}

#[test]
fn p3a_with_recall_a_handle_stands_behind_the_marker() {
    let mut stand = rounds(2, "Bash").with_recall();
    stand.now = after(61);
    let proposal = cold(&mut stand, &keep(1)).unwrap();
    stand.apply(proposal);
    let shown = stand.view.messages().nth(2).unwrap().to_text();
    assert!(shown.starts_with(&format!("{CLEARED} ")) && shown.contains("recall"), "{shown}");
    assert_eq!(cold(&mut stand, &keep(1)), None, "cleared is cleared");
}

#[test]
fn p3b_with_a_warm_cache_the_view_stays_and_the_request_carries_the_deletions() {
    let mut stand = lunch();
    stand.now = after(10);
    let before = stand.read();
    let mut state = CachedState::default();
    let edit = stand.look(|scene, counter| propose_cached(scene, &keep(2), &state, counter)).unwrap();
    state.extend(&edit);
    assert_eq!(cache_edits(&state), json!([{"action": "clear", "tool_use_id": "toolu_01"}]));
    assert_eq!(stand.read(), before);
    assert_eq!(stand.look(|scene, counter| forgotten(scene, &state, counter)), edit.freed);
    assert_eq!(stand.look(|scene, counter| propose_cached(scene, &keep(2), &state, counter)), None);

    // Later ones come behind: what was deleted before is carried on.
    stand.push(asks("a5", "I read it.", "toolu_04", "Read"));
    stand.push(answers("r5", "toolu_04", &words(50)));
    stand.push(at_noon(says("a6", "so")));
    stand.push(user("u3", "and the tax?"));
    let edit = stand.look(|scene, counter| propose_cached(scene, &keep(2), &state, counter)).unwrap();
    state.extend(&edit);
    state.extend(&edit);
    assert_eq!(state.deleted, ["toolu_01", "toolu_02"].map(Into::into));
    let text = serde_json::to_string(&state).unwrap();
    assert_eq!(text, r#"{"deleted":["toolu_01","toolu_02"]}"#);
    assert_eq!(serde_json::from_str::<CachedState>(&text).unwrap(), state);

    // Compaction took the first call away; the other is still there.
    let left = Stand::new(stand.view.messages().skip(3).map(|m| (*m).clone()).collect::<Vec<_>>());
    assert!(state.retain(left.entries()));
    assert_eq!(state.deleted, ["toolu_02"].map(Into::into));
    assert!(!state.retain(left.entries()));
}

#[test]
fn p3b_names_no_result_that_is_cleared_in_the_view() {
    let mut stand = rounds(8, "Bash").with_recall();
    stand.now = after(10);
    let mut state = CachedState::default();
    let edit = stand.look(|scene, counter| propose_cached(scene, &keep(5), &state, counter)).unwrap();
    state.extend(&edit);
    assert_eq!(state.deleted, ["toolu_00", "toolu_01", "toolu_02"].map(Into::into));
    stand.now = after(70);
    let proposal = cold(&mut stand, &keep(5)).unwrap();
    stand.apply(proposal);
    assert!(state.retain(stand.entries()), "what is cleared need not be deleted");
    assert_eq!(state, CachedState::default());
    // The pause is over: the cache is warm again.
    stand.now = after(10);
    assert_eq!(stand.look(|scene, counter| propose_cached(scene, &keep(5), &state, counter)), None);
}

#[test]
fn p3a_is_off_without_a_limit_and_in_the_claude_profile() {
    let mut stand = rounds(8, "Read");
    stand.now = after(600);
    assert_eq!(cold(&mut stand, &MicrocompactLimits { cold_minutes: None, ..keep(5) }), None);
    let minutes = |profile: Profile| profile.microcompact.and_then(|limits| limits.cold_minutes);
    assert_eq!(minutes(Profile::claude()), None);
    assert_eq!(minutes(Profile::throughline()), Some(60));
}

#[test]
fn p3b_does_nothing_when_cold_or_off_or_before_anything_was_sent() {
    let propose = |stand: &mut Stand, limits: &MicrocompactLimits| {
        stand.look(|scene, counter| propose_cached(scene, limits, &CachedState::default(), counter))
    };
    let mut stand = lunch();
    stand.now = after(70);
    assert_eq!(propose(&mut stand, &keep(0)), None);
    stand.now = after(10);
    assert_eq!(propose(&mut stand, &MicrocompactLimits { cached: false, ..keep(0) }), None);
    // The newest results were not sent yet: no cache holds them.
    let mut stand = Stand::new([
        user("u", "go"),
        asks("a", "yes", "toolu_1", "Read"),
        answers("r", "toolu_1", &words(50)),
    ]);
    assert_eq!(propose(&mut stand, &keep(0)), None);
    assert_eq!(propose(&mut Stand::new([]), &keep(0)), None);
}

#[test]
fn p3_under_pressure_one_pass_frees_a_lot_or_does_nothing() {
    let mut stand = rounds(40, "Read");
    let total = stand.total();
    let limits = |tokens: Option<u64>| MicrocompactLimits { pressure_tokens: tokens, ..keep(5) };
    let press = |stand: &mut Stand, tokens: Option<u64>| {
        stand.look(|scene, counter| propose_pressure(scene, &limits(tokens), counter))
    };
    assert_eq!(press(&mut stand, None), None);
    assert_eq!(press(&mut stand, Some(total)), None, "not over it");
    let proposal = press(&mut stand, Some(total - 1));
    assert_eq!(cleared(&proposal).len(), 35, "all at once, whatever the excess");
    stand.apply(proposal.unwrap());
    // One more old result is not worth a cache.
    stand.push(asks("b", "next", "toolu_x", "Read"));
    stand.push(answers("s", "toolu_x", &words(60)));
    assert_eq!(press(&mut stand, Some(100)), None);
}

#[test]
fn p3_ten_thousand_results_in_one_message_are_cleared_once() {
    let calls = (0..10_000).map(|n| call(&format!("toolu_{n}"), "Grep", json!({}))).collect();
    let results = (0..10_000).map(|n| result(&format!("toolu_{n}"), &words(20))).collect();
    let mut stand = Stand::new([
        user("u", "go"),
        at_noon(named("a", Role::Assistant, calls)),
        named("r", Role::User, results),
        at_noon(says("z", "done")),
        user("v", "and?"),
    ]);
    stand.now = after(61);
    let proposal = cold(&mut stand, &keep(5));
    assert_eq!(cleared(&proposal).len(), 9_995);
    stand.apply(proposal.unwrap());
    assert_eq!(cold(&mut stand, &keep(5)), None);
}

#[test]
fn w4_thinking_comes_first_and_the_figures_are_the_providers() {
    assert_eq!(
        server_edits(&ServerLimits::default(), Thinking::On),
        json!([
            {"type": "clear_thinking_20251015", "keep": "all"},
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": 180000},
                "clear_at_least": {"type": "input_tokens", "value": 140000}
            }
        ])
    );
    // The provider rejects an edit of thinking blocks where the model does not think.
    let without = server_edits(&ServerLimits::default(), Thinking::Off);
    assert_eq!(without.as_array().unwrap().len(), 1);
    assert_eq!(without[0]["type"], "clear_tool_uses_20250919");
    for (request, thinking) in [
        (json!({"type": "enabled", "budget_tokens": 1024}), Thinking::On),
        (json!({"type": "adaptive"}), Thinking::On),
        (json!({"type": "disabled"}), Thinking::Off),
    ] {
        assert_eq!(Thinking::from_request(Some(&request)), thinking, "{request}");
    }
    assert_eq!(Thinking::from_request(None), Thinking::Off);
}

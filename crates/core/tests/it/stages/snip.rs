use super::kit::{Stand, answers, asks, call, named, picture, read, result, says, thinks, user, words};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashSet;
use throughline_core::profile::SnipLimits;
use throughline_core::stages::Proposal;
use throughline_core::stages::snip::{
    self, Request, SnipError, Tags, answer, definition, edit_id, find_calls, marked, parse, tag,
};
use throughline_core::{
    Block, Body, CallKind, Fragment, Message, MessageId, Op, Role, Speaker, ToolCall, ToolInput, Wire,
};

/// Two turns: a search that the user gives up, then something more urgent.
fn two_turns() -> Stand {
    Stand::new([
        user("u1", "List every FIXME in this project, I want to clear them up"),
        asks("a1", "I search for them.", "toolu_01", "Grep"),
        answers(
            "r1",
            "toolu_01",
            "src/cart.rs:12: // FIXME: rounding\nsrc/tax.rs:7: // FIXME: rates\n… 31 in all …",
        ),
        asks("a2", "I open cart.rs to see what the rounding is about.", "toolu_02", "Read"),
        answers("r2", "toolu_02", &words(400)),
        user("u2", "先放一放:结账页面在线上报错,先修这个"),
        asks("a3", "The checkout first, then. I read the error log.", "toolu_03", "Bash"),
        answers("r3", "toolu_03", "checkout: 500 at 12:01"),
    ])
    .with_snip()
}

fn sent(stand: &Stand) -> String {
    let tags = Tags::of(stand.entries());
    read(stand.view.messages().enumerate().map(|(at, message)| (*tags.mark(at, message)).clone()))
}

fn tag_at(stand: &Stand, at: usize) -> String {
    Tags::of(stand.entries()).get(at).unwrap_or_default().to_owned()
}

fn snip(stand: &mut Stand, ids: &[String]) -> Result<Proposal, SnipError> {
    stand.look(|scene, _| snip::propose(scene, ids, "not needed"))
}

fn snip_call(id: &str, input: serde_json::Value) -> Block {
    call(id, "Snip", input)
}

fn ids(stand: &Stand) -> Vec<&str> {
    stand.entries().iter().map(|entry| entry.message.id.as_str()).collect()
}

#[test]
fn p2_a_turn_goes_from_its_user_message_to_the_next_one() {
    let mut stand = two_turns();
    let first = tag_at(&stand, 0);
    let mut story = format!("before\n{}", sent(&stand));
    let proposal = snip(&mut stand, std::slice::from_ref(&first)).unwrap();
    assert_eq!(
        proposal.ops,
        [Op::Remove { messages: ["u1", "a1", "r1", "a2", "r2"].map(Into::into).into() }]
    );
    stand.apply(proposal);
    story += &format!("\nafter Snip {{\"ids\": [\"{first}\"]}}\n{}", sent(&stand));
    insta::assert_snapshot!(story);
}

#[test]
fn p2_the_words_in_the_ledger_stay_clean() {
    let stand = two_turns();
    assert!(sent(&stand).contains("[id:"));
    assert!(!stand.read().contains("[id:"));
}

#[test]
fn p2_only_real_user_messages_are_tagged() {
    let mut meta = user("m", "a hook says so");
    meta.flags.meta = true;
    let mut summary = user("s", "what happened so far");
    summary.flags.summary = true;
    let stand = Stand::new([
        user("x", &Fragment::Environment.render("<cwd>/x</cwd>")),
        meta,
        summary,
        user("u", "hello"),
        asks("a", "yes", "toolu_1", "Read"),
        answers("r", "toolu_1", "text"),
    ]);
    assert_eq!(Tags::of(stand.entries()).places(), [3]);
}

#[test]
fn p2_a_tag_is_the_first_ten_digits_of_the_id_in_base_36() {
    assert_eq!(tag(&"550e8400-e29b-41d4-a716-446655440000".into()), "4ntnke");
    assert_eq!(tag(&"ffffffff-ff9b-41d4-a716-446655440000".into()), expected(0xff_ffff_ffff));
    assert_eq!(tag(&"00000000-00ff-41d4-a716-446655440000".into()), "000000", "padded");
    // Ids of one moment share their first digits: their tags must not.
    let tags: HashSet<String> = (0..500).map(|_| tag(&MessageId::fresh())).collect();
    assert_eq!(tags.len(), 500);
}

/// The slow way.
fn expected(number: u64) -> String {
    let mut text = String::new();
    let mut rest = number;
    while rest > 0 {
        text.insert(0, char::from_digit((rest % 36) as u32, 36).unwrap_or_default());
        rest /= 36;
    }
    text.chars().take(6).collect()
}

#[test]
fn p2_the_mark_stands_behind_the_last_words_of_the_user() {
    let reminder = Fragment::SystemReminder.render("it is Tuesday");
    let message = named("u", Role::User, vec![Block::text("fix it"), Block::text(reminder.clone())]);
    let copy = marked(&message, "abc123");
    assert_eq!(copy.blocks, [Block::text("fix it\n[id:abc123]"), Block::text(reminder)]);
    let copy = marked(&named("u", Role::User, vec![picture()]), "abc123");
    assert_eq!(copy.blocks, [picture(), Block::text("[id:abc123]")]);
    assert!(copy.is_real_user());
}

#[test]
fn p2_messages_that_would_share_a_tag_get_two_and_later_words_change_none() {
    let id = |n: usize| format!("550e8400-e29b-41d4-a716-44665544000{n}");
    let mut stand = Stand::new((0..5).flat_map(|n| [user(&id(n), "hi"), says(&format!("a{n}"), "hello")]));
    let tags = |stand: &Stand| -> Vec<String> {
        let tags = Tags::of(stand.entries());
        tags.places().iter().map(|&at| tags.get(at).unwrap().to_owned()).collect()
    };
    let before = tags(&stand);
    assert_eq!(before.iter().collect::<HashSet<_>>().len(), 5);
    stand.push(user(&id(5), "more"));
    assert_eq!(tags(&stand)[..5], before);
    // Each tag finds its own message.
    let proposal = snip(&mut stand, &before[2..3]).unwrap();
    stand.apply(proposal);
    assert!(!ids(&stand).contains(&id(2).as_str()) && ids(&stand).contains(&id(3).as_str()));
}

#[test]
fn p2_the_current_turn_and_unknown_ids_are_refused_with_what_is_valid() {
    let mut stand = two_turns();
    let (first, current) = (tag_at(&stand, 0), tag_at(&stand, 5));
    let valid = vec![first.clone()];
    let refused = snip(&mut stand, std::slice::from_ref(&current)).unwrap_err();
    assert_eq!(refused, SnipError::Current { id: current, valid: valid.clone() });
    let refused = snip(&mut stand, &[first.clone(), "zzzzzz".into()]).unwrap_err();
    assert_eq!(refused, SnipError::Unknown { unknown: vec!["zzzzzz".into()], valid: valid.clone() });
    let (text, failed) = answer(&Err(refused));
    assert!(failed && text.contains("zzzzzz") && text.contains(&first), "{text}");
    assert_eq!(snip(&mut stand, &[]).unwrap_err(), SnipError::NoIds { valid });
    assert!(snip(&mut Stand::new([]), &["abc123".into()]).is_err());
}

#[test]
fn p2_words_that_look_like_a_tag_name_nothing() {
    let mut stand = two_turns();
    let first = tag_at(&stand, 0);
    stand.push(says("a4", "done"));
    // The user quotes a tag: it stays quoted, and the message has a tag of its own.
    stand.push(user("u3", &format!("what was [id:{first}]?\n[id:abc123]")));
    stand.push(says("a5", "that was the search"));
    stand.push(user("u4", "go on"));
    let third = tag_at(&stand, 9);
    assert!(sent(&stand).contains(&format!("what was [id:{first}]?⏎[id:abc123]⏎[id:{third}]")));
    assert!(snip(&mut stand, &["abc123".into()]).is_err());
    let proposal = snip(&mut stand, &[third]).unwrap();
    stand.apply(proposal);
    assert!(ids(&stand).contains(&"u1") && !ids(&stand).contains(&"u3"));
}

#[test]
fn p2_words_beside_a_result_stay_when_the_call_goes() {
    // The user interrupts: clients put the words into the message that holds the result.
    let interrupted =
        named("u2", Role::User, vec![result("toolu_1", "(interrupted)"), Block::text("use B instead")]);
    let turn = || {
        Stand::new([
            user("u1", "use A"),
            asks("a1", "I try A.", "toolu_1", "Bash"),
            interrupted.clone(),
            says("a2", "B it is"),
            user("u3", "thanks"),
        ])
    };
    let mut stand = turn();
    let second = tag_at(&stand, 2);
    let first = tag_at(&stand, 0);
    let proposal = snip(&mut stand, &[first]).unwrap();
    stand.apply(proposal);
    assert_eq!(stand.read(), "user use B instead\nassistant B it is\nuser thanks\n");

    // And the other way round: the result stays with its call.
    let mut stand = turn();
    let proposal = snip(&mut stand, &[second]).unwrap();
    let edit = stand.apply(proposal);
    insta::assert_snapshot!(stand.read());
    // Nothing was lost.
    let undo = throughline_core::Edit {
        id: "undo".into(),
        at: None,
        stage: throughline_core::Stage::User,
        reason: String::new(),
        freed: None,
        ops: vec![Op::Undo { edit }],
    };
    stand.view.edit(undo, Default::default());
    assert_eq!(stand.read(), turn().read());
}

#[test]
fn p2_a_message_that_lost_its_results_keeps_its_tag() {
    let uuid = "550e8400-e29b-41d4-a716-446655440000";
    let mut stand = Stand::new([
        user("u1", "use A"),
        asks("a1", "I try A.", "toolu_1", "Bash"),
        named(uuid, Role::User, vec![result("toolu_1", "no"), Block::text("use B instead")]),
        says("a2", "B it is"),
        user("u3", "thanks"),
    ]);
    let before = tag_at(&stand, 2);
    let first = tag_at(&stand, 0);
    let proposal = snip(&mut stand, &[first]).unwrap();
    stand.apply(proposal);
    assert_eq!(tag_at(&stand, 0), before);
}

#[test]
fn p2_summaries_and_what_projects_say_outlive_the_turn_they_stand_in() {
    let mut summary = user("s", "folded");
    summary.flags.summary = true;
    let mut stand = Stand::new([
        user("u1", "one"),
        says("a1", "yes"),
        summary,
        says("a2", "yes"),
        user("e", &Fragment::Environment.render("<cwd>/y</cwd>")),
        named("d", Role::Developer, vec![Block::text("ask before you write")]),
        user("u2", "two"),
    ]);
    let first = tag_at(&stand, 0);
    let proposal = snip(&mut stand, &[first]).unwrap();
    stand.apply(proposal);
    assert_eq!(ids(&stand), ["s", "e", "d", "u2"]);
}

#[test]
fn p2_project_instructions_beside_the_first_words_stay() {
    let rules = Fragment::SystemReminder.render("# CLAUDE.md\nnever push");
    let opening = || named("u1", Role::User, vec![Block::text(rules.clone()), Block::text("one")]);
    let mut stand =
        Stand::new([opening(), says("a1", "yes"), user("u2", "two"), says("a2", "no"), user("u3", "three")]);
    let (first, second) = (tag_at(&stand, 0), tag_at(&stand, 2));
    let proposal = snip(&mut stand, &[first]).unwrap();
    stand.apply(proposal);
    assert!(stand.read().starts_with("user <system-reminder>⏎# CLAUDE.md⏎never push"), "{}", stand.read());
    assert!(!stand.read().contains("user one"));
    // Elsewhere a reminder belongs to its turn.
    let mut late = opening();
    late.id = "u2".into();
    let mut stand =
        Stand::new([user("u1", "zero"), says("a1", "yes"), late, says("a2", "no"), user("u3", "three")]);
    let proposal = snip(&mut stand, &[second]).unwrap();
    stand.apply(proposal);
    assert!(!stand.read().contains("CLAUDE.md"));
}

#[test]
fn p2_an_answer_that_goes_on_behind_the_turn_is_not_torn() {
    let record = |id: &str, blocks| Message { group: Some("g".into()), ..named(id, Role::Assistant, blocks) };
    let mut stand = Stand::new([
        user("u0", "zero"),
        says("a0", "yes"),
        user("u1", "one"),
        record("a1", vec![thinks("hm"), call("toolu_1", "Read", json!({}))]),
        answers("r1", "toolu_1", "x"),
        user("u2", "two"),
        record("a2", vec![Block::text("so")]),
        user("u3", "three"),
    ]);
    let tag = tag_at(&stand, 2);
    let proposal = snip(&mut stand, &[tag]).unwrap();
    assert_eq!(proposal.ops, [Op::Remove { messages: vec!["u1".into()] }]);
}

#[test]
fn p2_calls_in_the_history_are_judged_by_what_was_there_when_they_were_made() {
    let mut stand = two_turns();
    let (first, second) = (tag_at(&stand, 0), tag_at(&stand, 5));
    let calls = vec![
        snip_call("toolu_04", json!({"ids": [first], "reason": "the search was given up"})),
        snip_call("toolu_05", json!({"ids": [second], "reason": "a try at the current turn"})),
    ];
    stand.push(named("a4", Role::Assistant, calls));
    stand.push(named("r4", Role::User, vec![result("toolu_04", "ok"), result("toolu_05", "refused")]));
    stand.push(says("a5", "now the fix"));
    stand.push(user("u3", "and then?"));
    let found = find_calls(stand.entries());
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].at, edit_id(&found[0].call).as_str()), (8, "snip-toolu_04"));

    let proposal = stand.look(|scene, _| snip::propose_call(scene, &found[0])).unwrap();
    assert_eq!(proposal.reason, "the search was given up");
    stand.apply(proposal);
    // The second call was refused then; that the turn is over by now changes nothing.
    let refused = stand.look(|scene, _| snip::propose_call(scene, &found[1])).unwrap_err();
    assert!(matches!(refused, SnipError::Current { .. }), "{refused}");
    let left = find_calls(stand.entries());
    assert_eq!(left.iter().map(|c| c.call.as_str()).collect::<Vec<_>>(), ["toolu_05"]);
}

#[test]
fn p2_models_write_ids_in_many_ways() {
    let cases = [
        (json!({"ids": ["abc123", "def456"]}), vec!["abc123", "def456"]),
        (json!({"ids": "abc123"}), vec!["abc123"]),
        (json!({"ids": ["[id:abc123]", "id:def456", "ABC123"]}), vec!["abc123", "def456"]),
        (json!({"id": "abc123"}), vec!["abc123"]),
        (json!({"ids": [7, null]}), vec![]),
        (json!({}), vec![]),
        (json!("abc123"), vec![]),
    ];
    for (input, expected) in cases {
        assert_eq!(parse(&ToolInput::Json(input.clone())).ids, expected, "{input}");
        assert_eq!(parse(&ToolInput::JsonText(input.to_string())).ids, expected, "{input}");
    }
    assert_eq!(parse(&ToolInput::Text("abc123".into())), Request::default());
}

#[test]
fn p2_the_tool_is_defined_for_every_wire() {
    let all: Vec<String> = [Wire::Anthropic, Wire::Responses, Wire::Chat]
        .map(|wire| serde_json::to_string_pretty(&definition(wire)).unwrap())
        .into();
    insta::assert_snapshot!(all.join("\n"));
}

fn nudge(stand: &mut Stand, tokens: u64) -> Option<Message> {
    stand.look(|scene, _| snip::nudge(scene, &SnipLimits { nudge_tokens: tokens }))
}

#[test]
fn p2_the_reminder_comes_once_for_each_growth() {
    let mut stand = two_turns();
    let total = stand.total();
    assert_eq!(nudge(&mut stand, total + 1), None);
    let reminder = nudge(&mut stand, total).unwrap();
    assert_eq!(Some(&reminder), nudge(&mut stand, total).as_ref(), "the same view, the same message");
    assert!(!reminder.is_real_user());
    assert_eq!(Fragment::recognise(Speaker::User, &reminder.to_text()), Some(Fragment::SystemReminder));
    insta::assert_snapshot!(reminder.to_text());
    stand.push(reminder);
    stand.check();
    assert_eq!(nudge(&mut stand, 100), None, "once");
    stand.push(says("a4", &words(200)));
    stand.push(user("u3", "and?"));
    assert!(nudge(&mut stand, 100).is_some(), "it grew again");
    stand.push(named("a5", Role::Assistant, vec![snip_call("toolu_09", json!({"ids": ["x"]}))]));
    stand.push(answers("r5", "toolu_09", "no"));
    assert_eq!(nudge(&mut stand, 100), None, "the model knows");
}

#[test]
fn p2_no_reminder_where_it_helps_nobody() {
    let mut stand = two_turns();
    stand.tools.snip = false;
    assert_eq!(nudge(&mut stand, 1), None, "no tool");
    let mut stand = Stand::new([user("u", &words(100))]).with_snip();
    assert_eq!(nudge(&mut stand, 1), None, "nothing that could be dropped");
    let mut stand = two_turns();
    stand.push(says("a4", "half an answ"));
    assert_eq!(nudge(&mut stand, 1), None, "the model is to go on with its own words");
    assert_eq!(nudge(&mut Stand::new([]).with_snip(), 0), None);
}

#[test]
fn p2_a_person_who_quotes_the_reminder_is_heard() {
    let mut stand = two_turns();
    let text = nudge(&mut stand, 1).unwrap().to_text();
    let mut typed = user("u3", &text);
    typed.flags.typed = true;
    stand.push(says("a4", "done"));
    stand.push(typed);
    assert!(nudge(&mut stand, 100).is_some(), "that was no reminder");
    assert!(Tags::of(stand.entries()).places().contains(&9));
}

#[test]
fn p2_a_turn_of_ten_thousand_calls_goes_as_one() {
    let mut messages = vec![user("u0", "all of it")];
    for n in 0..10_000 {
        messages.push(asks(&format!("a{n}"), "next", &format!("toolu_{n}"), "Read"));
        messages.push(answers(&format!("r{n}"), &format!("toolu_{n}"), "text"));
    }
    messages.push(user("u1", "enough"));
    let mut stand = Stand::new(messages);
    let first = tag_at(&stand, 0);
    let proposal = snip(&mut stand, &[first]).unwrap();
    stand.apply(proposal);
    assert_eq!(ids(&stand), ["u1"]);
}

#[test]
fn p2_calls_that_need_no_result_do_not_count_as_snips() {
    let hosted = ToolCall {
        id: "srv_1".into(),
        name: "web_search".into(),
        input: ToolInput::Json(json!({"ids": ["abc123"]})),
        kind: CallKind::Hosted,
    };
    let stand = Stand::new([
        user("u", "x"),
        named("a", Role::Assistant, vec![Body::ToolCall(hosted).into()]),
        user("v", "y"),
    ]);
    assert_eq!(find_calls(stand.entries()), []);
}

proptest! {
    #[test]
    fn p2_no_arguments_are_too_odd(text in "\\PC*", ids in proptest::collection::vec("\\PC{0,8}", 0..4)) {
        let request = parse(&ToolInput::JsonText(text));
        prop_assert!(request.ids.iter().all(|id| !id.is_empty()));
        let mut stand = two_turns();
        let tags = [tag_at(&stand, 0), tag_at(&stand, 5)];
        let outcome = snip(&mut stand, &ids);
        prop_assert!(outcome.is_err() || ids.iter().all(|id| tags.contains(id)));
    }
}

//! When notes are due (N2), and how far they reach (N5).

use crate::common::{calls, gives, seen};
use serde_json::json;
use throughline_core::{Flags, GroupId, Message, Role};
use throughline_memory::notes::{Due, LastTurn, NotesLimits, Observation, Thread, Trigger, boundary};

const LIMITS: NotesLimits = NotesLimits {
    first_tokens: 10_000,
    growth_tokens: 5_000,
    tool_calls: 3,
    section_tokens: 2_000,
    total_tokens: 12_000,
    failures: 3,
    wait_seconds: 15,
};

fn due(trigger: &Trigger) -> Option<Due> {
    trigger.due(&LIMITS)
}

#[test]
fn n2_first_written_at_ten_thousand_tokens() {
    for (tokens, calls, last_turn, expected) in [
        (0, 0, LastTurn::Rests, None),
        (9_999, 50, LastTurn::Rests, None),
        (10_000, 0, LastTurn::Rests, Some(Due::First)),
        (10_000, 0, LastTurn::Calls, Some(Due::First)),
        (10_000, 1, LastTurn::Calls, Some(Due::First)),
        (900_000, 0, LastTurn::Calls, Some(Due::First)),
    ] {
        let mut trigger = Trigger::default();
        trigger.observe(seen(tokens, calls, last_turn));
        assert_eq!(due(&trigger), expected, "{tokens} {calls} {last_turn:?}");
    }
    assert_eq!(due(&Trigger::default()), None, "nothing was seen yet");
}

#[test]
fn n2_then_by_growth_and_calls_or_a_break() {
    for (growth, calls, last_turn, expected) in [
        (4_999, 0, LastTurn::Rests, None),
        (4_999, 3, LastTurn::Calls, None),
        (4_999, 30, LastTurn::Rests, None),
        (5_000, 2, LastTurn::Calls, None),
        (50_000, 2, LastTurn::Calls, None),
        (5_000, 3, LastTurn::Calls, Some(Due::Calls)),
        (5_000, 3, LastTurn::Rests, Some(Due::Calls)),
        (5_000, 2, LastTurn::Rests, Some(Due::Break)),
        (5_000, 0, LastTurn::Rests, Some(Due::Break)),
    ] {
        let mut trigger = Trigger::default();
        trigger.observe(seen(12_000, 7, LastTurn::Rests));
        trigger.attempted();
        assert_eq!(due(&trigger), None);
        trigger.observe(seen(12_000 + growth, calls, last_turn));
        assert_eq!(due(&trigger), expected, "{growth} {calls} {last_turn:?}");
    }
}

#[test]
fn n2_calls_add_up_between_updates_and_begin_anew() {
    let mut trigger = Trigger::default();
    trigger.observe(seen(10_000, 9, LastTurn::Calls));
    trigger.attempted();
    for tokens in [12_000, 14_000, 15_000] {
        assert_eq!(due(&trigger), None);
        trigger.observe(seen(tokens, 1, LastTurn::Calls));
    }
    assert_eq!(due(&trigger), Some(Due::Calls));
    trigger.attempted();
    trigger.observe(seen(40_000, 2, LastTurn::Calls));
    assert_eq!(due(&trigger), None);
}

#[test]
fn n2_main_thread_only() {
    let mut trigger = Trigger::default();
    trigger.observe(Observation { thread: Thread::Other, ..seen(90_000, 9, LastTurn::Rests) });
    assert_eq!(due(&trigger), None);
    trigger.observe(seen(10_000, 0, LastTurn::Rests));
    trigger.attempted();
    trigger.observe(Observation { thread: Thread::Other, ..seen(90_000, 9, LastTurn::Rests) });
    assert_eq!(due(&trigger), None);
    trigger.observe(seen(15_000, 2, LastTurn::Calls));
    assert_eq!(due(&trigger), None, "calls of others are not counted");
}

#[test]
fn n2_growth_is_counted_from_the_compacted_context() {
    let mut trigger = Trigger::default();
    trigger.observe(seen(160_000, 0, LastTurn::Rests));
    trigger.attempted();
    trigger.observe(seen(20_000, 5, LastTurn::Rests));
    assert_eq!(due(&trigger), None);
    trigger.observe(seen(25_000, 0, LastTurn::Rests));
    assert_eq!(due(&trigger), Some(Due::Calls));
}

#[test]
fn n7_a_resumed_session_waits_for_growth() {
    let mut known = Trigger::resumed(Some(30_000));
    known.observe(seen(34_999, 0, LastTurn::Rests));
    assert_eq!(due(&known), None);
    known.observe(seen(35_000, 0, LastTurn::Rests));
    assert_eq!(due(&known), Some(Due::Break));
    let mut unknown = Trigger::resumed(None);
    assert_eq!(due(&unknown), None);
    unknown.observe(seen(90_000, 9, LastTurn::Rests));
    assert_eq!(due(&unknown), None);
    unknown.observe(seen(95_000, 0, LastTurn::Rests));
    assert_eq!(due(&unknown), Some(Due::Calls));
}

#[test]
fn n2_what_is_seen_is_read_from_messages() {
    let said = [
        Message::text(Role::User, "Go."),
        calls("c1", "Bash", json!({})),
        gives("c1", "ok"),
        calls("c2", "Bash", json!({})),
        gives("c2", "ok"),
    ];
    let of = |messages: &[Message]| Observation::of(1, messages, Thread::Main);
    assert_eq!((of(&said).calls, of(&said).last_turn), (2, LastTurn::Calls));
    let mut ended = said.to_vec();
    ended.push(Message::text(Role::Assistant, "Done."));
    assert_eq!((of(&ended).calls, of(&ended).last_turn), (2, LastTurn::Rests));
    // Records of one answer: the call comes before the words.
    let mut parts = vec![calls("c1", "Bash", json!({})), Message::text(Role::Assistant, "I look.")];
    parts.iter_mut().for_each(|message| message.group = Some(GroupId::new("g")));
    assert_eq!(of(&parts).last_turn, LastTurn::Calls);
}

#[test]
fn n5_the_boundary_is_the_last_message_unless_a_call_is_open() {
    let user = Message::text(Role::User, "Go.");
    let (one, two) = (calls("c1", "Bash", json!({})), calls("c2", "Bash", json!({})));
    let (first, second) = (gives("c1", "ok"), gives("c2", "ok"));
    let done = Message::text(Role::Assistant, "Done.");
    let none: [&Message; 0] = [];
    assert_eq!(boundary(none), None);
    assert_eq!(boundary([&user]), Some(user.id.clone()));
    assert_eq!(boundary([&user, &one]), None);
    assert_eq!(boundary([&user, &one, &first]), Some(first.id.clone()));
    assert_eq!(boundary([&user, &one, &first, &done]), Some(done.id.clone()));
    // Parallel calls: both must be answered.
    assert_eq!(boundary([&user, &one, &two, &first]), None);
    assert_eq!(boundary([&user, &one, &two, &second, &first]), Some(first.id.clone()));
    // Words of the user do not close a call.
    assert_eq!(boundary([&user, &one, &user]), None);
    let mut shown = Message::text(Role::Assistant, "banner");
    shown.flags = Flags { display_only: true, ..Flags::default() };
    assert_eq!(boundary([&user, &done, &shown]), Some(done.id.clone()));
}

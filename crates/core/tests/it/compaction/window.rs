use super::{call, result, said};
use proptest::prelude::*;
use serde_json::json;
use throughline_core::compaction::{Keep, align};
use throughline_core::profile::CompactLimits;
use throughline_core::{Body, Entry, GroupId, Message, Role, invariants};

fn limits() -> CompactLimits {
    CompactLimits { keep_tokens: 10_000, keep_texts: 5, keep_most: 40_000, ..CompactLimits::default() }
}

fn texts(count: usize) -> Vec<Entry> {
    (0..count)
        .map(|n| said(&format!("m{n}"), if n % 2 == 0 { Role::User } else { Role::Assistant }, "words"))
        .collect()
}

#[test]
fn p5a_what_the_notes_do_not_cover_is_kept_where_it_is_enough() {
    let entries = texts(20);
    let tokens = vec![2_000; 20];
    let keep = Keep { entries: &entries, tokens: &tokens, from: 10, floor: 0 };
    assert_eq!(keep.start(&limits()), 10);
}

#[test]
fn p5a_both_minima_must_hold_before_the_search_back_stops() {
    let entries = texts(20);
    // Enough tokens in two messages, but not five that speak.
    let tokens = vec![6_000; 20];
    let keep = Keep { entries: &entries, tokens: &tokens, from: 18, floor: 0 };
    assert_eq!(keep.start(&limits()), 15);
    // Five that speak, but too few tokens.
    let tokens = vec![1_000; 20];
    let keep = Keep { entries: &entries, tokens: &tokens, from: 15, floor: 0 };
    assert_eq!(keep.start(&limits()), 10);
}

#[test]
fn p5a_the_cap_stops_the_search_back_whatever_the_minima() {
    let mut entries = texts(4);
    entries.extend((0..10).flat_map(|n| {
        let id = format!("c{n}");
        [call(&format!("a{n}"), &id, "Read", json!({}), ""), result(&format!("r{n}"), &id, "long")]
    }));
    // The calls hold no text: five speaking messages are far away.
    let tokens: Vec<u64> = entries.iter().map(|_| 9_000).collect();
    let keep = Keep { entries: &entries, tokens: &tokens, from: entries.len(), floor: 0 };
    let start = keep.start(&limits());
    let kept: u64 = tokens[start..].iter().sum();
    // One message over the cap, and the call of its result.
    assert!((40_000..=54_000).contains(&kept), "{kept}");
}

#[test]
fn p5a_the_previous_boundary_is_not_crossed() {
    let entries = texts(20);
    let tokens = vec![100; 20];
    let keep = Keep { entries: &entries, tokens: &tokens, from: 18, floor: 12 };
    assert_eq!(keep.start(&limits()), 12);
}

#[test]
fn p5a_no_pair_and_no_reasoning_group_is_split() {
    let group: GroupId = "g".into();
    let mut thinking = Message::new(
        Role::Assistant,
        vec![Body::Reasoning { text: "hm".into(), seal: Some("s".into()) }.into()],
    );
    thinking.group = Some(group.clone());
    let mut first = call("a1", "c1", "Read", json!({}), "one");
    let mut second = call("a2", "c2", "Read", json!({}), "two");
    for entry in [&mut first, &mut second] {
        let mut message = (*entry.message).clone();
        message.group = Some(group.clone());
        *entry = message.into();
    }
    let entries = vec![
        said("u", Role::User, "go"),
        thinking.into(),
        first,
        second,
        result("r1", "c1", "x"),
        result("r2", "c2", "y"),
        said("end", Role::Assistant, "done"),
    ];
    assert_eq!(align(&entries, 5), 1, "the second result needs both calls, and they their reasoning");
    assert_eq!(align(&entries, 4), 1);
    assert_eq!(align(&entries, 6), 6);
    assert_eq!(align(&entries, 1), 1);
    assert_eq!(align(&entries, 7), 7);
}

proptest! {
    #[test]
    fn p5a_w2_what_is_kept_behind_a_summary_keeps_the_rules(parallel in prop::collection::vec(1_usize..4, 1..12), from in 0_usize..60) {
        let mut entries = vec![said("u", Role::User, "go")];
        for (n, calls) in parallel.iter().enumerate() {
            for c in 0..*calls {
                entries.push(call(&format!("a{n}.{c}"), &format!("c{n}.{c}"), "Read", json!({}), "look"));
            }
            for c in 0..*calls {
                entries.push(result(&format!("r{n}.{c}"), &format!("c{n}.{c}"), "x"));
            }
        }
        let tokens = vec![500; entries.len()];
        let keep = Keep { entries: &entries, tokens: &tokens, from: from.min(entries.len()), floor: 0 };
        for start in [keep.start(&limits()), keep.start_within(&limits(), 3_000)] {
            let mut view = vec![Message::text(Role::User, "summary")];
            view.extend(entries[start..].iter().map(|entry| (*entry.message).clone()));
            prop_assert_eq!(invariants::check(&view), vec![]);
        }
    }
}

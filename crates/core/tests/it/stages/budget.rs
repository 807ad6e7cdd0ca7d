use super::kit::{Stand, answers, asks, call, named, picture, result, result_of, says, user};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashSet;
use throughline_core::profile::BudgetLimits;
use throughline_core::stages::budget::{
    Outcome, Placeholder, ROW_CHARS, SavedFiles, file_name, fit, propose, recognise, rows,
};
use throughline_core::{Block, Body, Message, ResultContent, Role, Shape, Wire};

fn budget(stand: &mut Stand) -> Option<Outcome> {
    budget_with(stand, &BudgetLimits::default())
}

fn budget_with(stand: &mut Stand, limits: &BudgetLimits) -> Option<Outcome> {
    stand.look(|scene, counter| propose(scene, limits, SAVED, counter))
}

/// A client whose model can read what is saved.
const SAVED: SavedFiles<'static> =
    SavedFiles { path: &|file_name| Some(format!("/session/{file_name}")), are_readable: true };
/// A client of which that is not known.
const UNREADABLE: SavedFiles<'static> = SavedFiles { are_readable: false, ..SAVED };

fn fitted(stand: &mut Stand, saved: SavedFiles<'_>, excess: u64) -> Option<Outcome> {
    stand.look(|scene, counter| fit(scene, &BudgetLimits::default(), saved, excess, counter))
}

fn log(chars: usize) -> String {
    (0..).map(|n| format!("12:00:{n:05} GET /api/login 500\n")).collect_upto(chars)
}

trait CollectUpto {
    fn collect_upto(self, chars: usize) -> String;
}

impl<I: Iterator<Item = String>> CollectUpto for I {
    fn collect_upto(self, chars: usize) -> String {
        let mut text = String::with_capacity(chars);
        for line in self {
            if text.len() + line.len() >= chars {
                text.push_str(&"x".repeat(chars - text.len()));
                break;
            }
            text.push_str(&line);
        }
        text
    }
}

/// One answer that calls so many tools at once, and the results in one message.
fn parallel(sizes: &[usize]) -> Stand {
    let id = |n: usize| format!("toolu_{n:02}");
    let calls = (0..sizes.len()).map(|n| call(&id(n), "Bash", json!({"command": "cat log"}))).collect();
    let results = sizes.iter().enumerate().map(|(n, &size)| result(&id(n), &log(size))).collect();
    Stand::new([
        user("u", "look at the logs"),
        named("a", Role::Assistant, calls),
        named("r", Role::User, results),
    ])
}

fn replaced(outcome: Option<Outcome>) -> Vec<String> {
    outcome.map_or(Vec::new(), |o| o.persist.into_iter().map(|file| file.call.to_string()).collect())
}

#[test]
fn p1_a_result_over_50_000_characters_becomes_a_preview() {
    let text = log(317_842);
    let mut stand = Stand::new([
        user("u", "why does the login fail?"),
        asks("a", "I look at the log.", "toolu_abc", "Bash"),
        answers("r", "toolu_abc", &text),
    ]);
    let outcome = budget(&mut stand).unwrap();
    assert_eq!(outcome.persist.len(), 1);
    assert_eq!(outcome.persist[0].file_name, "tool-results/toolu_abc.txt");
    assert_eq!(outcome.persist[0].text, text, "the file holds every character");
    stand.apply(outcome.proposal);
    insta::assert_snapshot!(stand.read());

    let shown = stand.view.messages().nth(2).unwrap().to_text();
    let start = "<persisted-output>\nOutput too large (317842 chars). Full output saved to: \
                 /session/tool-results/toolu_abc.txt\n\nPreview (first 2 KB):\n";
    let preview = shown.strip_prefix(start).unwrap().strip_suffix("\n</persisted-output>").unwrap();
    assert_eq!(preview, &text[..2_048]);
}

#[test]
fn p1_characters_count_and_not_bytes_and_the_limit_itself_fits() {
    for (chars, expected) in [(50_000, 0), (50_001, 1)] {
        let mut stand = Stand::new([
            user("u", "读日志"),
            asks("a", "好", "toolu_1", "Bash"),
            answers("r", "toolu_1", &"日".repeat(chars)),
        ]);
        let outcome = budget(&mut stand);
        assert_eq!(replaced(outcome.clone()).len(), expected, "{chars}");
        if let Some(outcome) = outcome {
            stand.apply(outcome.proposal);
            let shown = stand.view.messages().nth(2).unwrap().to_text();
            assert!(shown.contains("(50001 chars)"));
            assert_eq!(shown.matches('日').count(), 682, "2,048 bytes, cut between characters");
        }
    }
}

#[test]
fn p1_the_largest_results_of_one_message_go_until_the_rest_fits() {
    let mut stand = parallel(&[45_000, 49_000, 48_000, 40_000, 30_000]);
    let outcome = budget(&mut stand).unwrap();
    assert_eq!(outcome.persist.iter().map(|f| f.call.as_str()).collect::<Vec<_>>(), ["toolu_01"]);
    stand.apply(outcome.proposal);
    assert!(budget(&mut stand).is_none(), "and that was enough");
}

#[test]
fn p1_of_results_as_large_the_earliest_goes_first() {
    assert_eq!(replaced(budget(&mut parallel(&[45_000; 5]))), ["toolu_00"]);
    assert_eq!(replaced(budget(&mut parallel(&[40_000; 5]))), Vec::<String>::new(), "200,000 fit");
}

#[test]
fn p1_results_recorded_one_by_one_are_one_message() {
    let mut messages = vec![user("u", "look")];
    for n in 0..5 {
        let mut record = asks(&format!("a{n}"), "so", &format!("toolu_{n}"), "Bash");
        record.group = Some("g".into());
        messages.push(record);
    }
    messages.extend((0..5).map(|n| answers(&format!("r{n}"), &format!("toolu_{n}"), &log(45_000))));
    assert_eq!(replaced(budget(&mut Stand::new(messages.clone()))), ["toolu_0"]);
    // Results written between the records of one answer are sent behind it, together.
    let order = [0, 1, 6, 2, 7, 3, 8, 4, 9, 5, 10];
    let woven: Vec<Message> = order.into_iter().map(|n: usize| messages[n].clone()).collect();
    assert_eq!(replaced(budget(&mut Stand::new(woven.clone()))), ["toolu_0"]);
    // Answers of their own are not.
    let apart = woven.into_iter().map(|mut message| {
        message.group = None;
        message
    });
    assert_eq!(replaced(budget(&mut Stand::new(apart))), Vec::<String>::new());
}

#[test]
fn p1_what_was_sent_never_changes() {
    let mut stand = parallel(&[60_000]);
    stand.sent = 3;
    assert!(budget(&mut stand).is_none(), "sent whole, it stays whole");
    // What is new in the same message must make room alone.
    let mut stand = Stand::new([
        user("u", "look"),
        named("a", Role::Assistant, (0..5).map(|n| call(&format!("toolu_{n}"), "Bash", json!({}))).collect()),
    ]);
    for n in 0..5 {
        stand.push(answers(&format!("r{n}"), &format!("toolu_{n}"), &log(49_000 - n * 1_000)));
    }
    stand.sent = 5;
    assert_eq!(replaced(budget(&mut stand)), ["toolu_3"]);
}

#[test]
fn p1_what_was_replaced_stays_replaced_and_is_not_replaced_again() {
    let mut stand = parallel(&[60_000, 10]);
    let outcome = budget(&mut stand).unwrap();
    stand.apply(outcome.proposal);
    let before = stand.read();
    let strict =
        BudgetLimits { result_chars: 100, message_chars: 100, preview_bytes: 10, ..BudgetLimits::default() };
    assert!(budget_with(&mut stand, &strict).is_none());
    assert_eq!(stand.read(), before);
}

#[test]
fn p1_pictures_stay_and_only_words_are_put_aside() {
    let parts = vec![Block::text(log(30_000)), picture(), Block::text(log(30_000))];
    let mut stand = Stand::new([
        user("u", "look"),
        asks("a", "I look.", "toolu_1", "Bash"),
        named("r", Role::User, vec![result_of("toolu_1", ResultContent::Parts(parts))]),
    ]);
    let outcome = budget(&mut stand).unwrap();
    assert_eq!(outcome.persist[0].text, format!("{}\n{}", log(30_000), log(30_000)));
    stand.apply(outcome.proposal);
    let Body::ToolResult(shown) = &stand.view.messages().nth(2).unwrap().blocks[0].body else { panic!() };
    let ResultContent::Parts(parts) = &shown.content else { panic!("{shown:?}") };
    assert!(matches!(parts[0].body, Body::Text(_)) && parts[1] == picture() && parts.len() == 2);
}

#[test]
fn p1_what_a_client_wrote_around_a_result_stays_but_not_its_content() {
    let canonical = json!({"tool_use_id": "toolu_1", "type": "tool_result", "content": ""});
    let original =
        json!({"type": "tool_result", "tool_use_id": "toolu_1", "content": 7, "cache_control": {}});
    let shape =
        Shape::between(Wire::Anthropic, canonical.as_object().unwrap(), original.as_object().unwrap());
    let mut block = result("toolu_1", &log(60_000));
    block.shape = shape;
    let mut stand =
        Stand::new([user("u", "x"), asks("a", "y", "toolu_1", "Bash"), named("r", Role::User, vec![block])]);
    let outcome = budget(&mut stand).unwrap();
    stand.apply(outcome.proposal);
    let shown = stand.view.messages().nth(2).unwrap();
    let shape = shown.blocks[0].shape.as_ref().unwrap();
    assert_eq!(shape.get("content"), None, "the preview is sent, not the 7");
    assert_eq!(shape.get("cache_control"), Some(&json!({})));
}

#[test]
fn p1_a_preview_is_made_only_where_it_is_smaller() {
    let limits = BudgetLimits { result_chars: 10, message_chars: 20, ..BudgetLimits::default() };
    let mut stand = parallel(&[60, 60]);
    assert!(budget_with(&mut stand, &limits).is_none(), "the frame alone is longer than that");
}

#[test]
fn p1_with_recall_the_preview_names_its_handle_and_without_it_does_not() {
    let mut stand = parallel(&[60_000]).with_recall();
    let outcome = budget(&mut stand).unwrap();
    stand.apply(outcome.proposal);
    assert!(stand.read().contains("recall"));
    let mut stand = parallel(&[60_000]);
    let outcome = budget(&mut stand).unwrap();
    stand.apply(outcome.proposal);
    assert!(!stand.read().contains("recall"));
}

#[test]
fn p1_two_results_of_one_id_are_saved_apart() {
    // No provider sends this, but a ledger may hold it.
    let mut stand = Stand::new([
        user("u", "x"),
        asks("a", "y", "toolu_1", "Bash"),
        answers("r", "toolu_1", &"a ".repeat(30_000)),
        asks("b", "y", "toolu_1", "Bash"),
        answers("s", "toolu_1", &"b ".repeat(30_000)),
    ]);
    let files = budget(&mut stand).unwrap().persist;
    assert_eq!(files.len(), 2);
    assert_ne!(files[0].file_name, files[1].file_name);
}

#[test]
fn p1_results_that_only_the_provider_reads_are_left() {
    let mut block = result("toolu_1", &log(60_000));
    if let Body::ToolResult(result) = &mut block.body {
        result.kind = throughline_core::CallKind::ToolSearch;
    }
    let mut stand =
        Stand::new([user("u", "x"), asks("a", "y", "toolu_1", "Bash"), named("r", Role::User, vec![block])]);
    assert!(budget(&mut stand).is_none());
}

#[test]
fn p1_nothing_is_done_to_nothing() {
    assert!(budget(&mut Stand::new([])).is_none());
    let empty =
        [named("u", Role::User, vec![]), says("a", ""), named("r", Role::User, vec![result("x", "")])];
    assert!(budget(&mut Stand::new(empty)).is_none());
}

#[test]
fn p1_ten_thousand_results_and_five_megabytes_are_no_trouble() {
    let mut stand = parallel(&vec![300; 10_000]);
    let outcome = budget(&mut stand).map(|outcome| outcome.persist.len());
    assert_eq!(outcome, None, "each preview would be longer than what it stands for");
    let limits = BudgetLimits { preview_bytes: 0, ..BudgetLimits::default() };
    let files = budget_with(&mut stand, &limits).unwrap().persist;
    assert!(files.len() > 9_000, "{}", files.len());

    let mut stand = parallel(&[5 << 20]);
    let outcome = budget(&mut stand).unwrap();
    assert_eq!(outcome.persist[0].text.len(), 5 << 20);
    stand.apply(outcome.proposal);
    assert!(stand.total() < 2_500);
}

#[test]
fn p1_hostile_ids_name_files_in_the_folder_only() {
    for id in [
        "../../etc/passwd",
        "/etc/passwd",
        "..",
        ".",
        "",
        "a\\b",
        "a\0b",
        "CON",
        "lpt1",
        "日本",
        "a b",
        "x\n",
    ] {
        let name = file_name(&id.into());
        let rest = name.strip_prefix("tool-results/").and_then(|n| n.strip_suffix(".txt")).unwrap();
        assert!(rest.chars().all(|c| c.is_ascii_alphanumeric() || "_-.".contains(c)), "{name}");
        assert!(!rest.contains("..") && rest.len() > 20, "{name}");
    }
    assert!(file_name(&"x".repeat(9_000).as_str().into()).len() < 120);
    assert_eq!(file_name(&"call_AbC-1".into()), "tool-results/call_AbC-1.txt");
}

/// A call of a tool, and its result.
fn one(tool: &str, input: serde_json::Value, text: &str) -> Stand {
    Stand::new([
        user("u", "look"),
        named("a", Role::Assistant, vec![call("toolu_1", tool, input)]),
        answers("r", "toolu_1", text),
    ])
}

fn shown(stand: &Stand, at: usize) -> String {
    stand.view.messages().nth(at).map(|message| message.to_text()).unwrap_or_default()
}

#[test]
fn p1_file_reads_are_exempt_whatever_the_client_calls_them() {
    let tools = [
        ("Read", json!({"file_path": "/a/long.rs"})),
        ("read_file", json!({"path": "/a/long.rs"})),
        ("mcp__files__read_file", json!({"path": "/a/long.rs"})),
        ("str_replace_based_edit_tool", json!({"command": "view", "path": "/a/long.rs"})),
    ];
    for (tool, input) in tools {
        assert!(budget(&mut one(tool, input, &log(66_000))).is_none(), "{tool}");
    }
    assert!(budget(&mut one("Bash", json!({"command": "cat /a/long.rs"}), &log(66_000))).is_some());
    let limits = BudgetLimits { exempt: vec!["Grep".to_owned()], ..BudgetLimits::default() };
    let mut read = one("Read", json!({"file_path": "/a/long.rs"}), &log(66_000));
    assert!(budget_with(&mut read, &limits).is_some(), "which tools are exempt is data");
    assert!(budget_with(&mut one("Grep", json!({"pattern": "x"}), &log(66_000)), &limits).is_none());
}

#[test]
fn p1_without_a_way_back_nothing_is_put_aside_by_size() {
    let mut stand = one("Bash", json!({"command": "make"}), &log(66_000));
    let by_size = |stand: &mut Stand| {
        stand.look(|scene, counter| propose(scene, &BudgetLimits::default(), UNREADABLE, counter))
    };
    assert!(by_size(&mut stand).is_none());
    let mut stand = stand.with_recall();
    let outcome = by_size(&mut stand).unwrap();
    stand.apply(outcome.proposal);
    let text = shown(&stand, 2);
    assert!(!text.contains("/session/"), "a path that the client may not open is not named: {text}");
    assert!(recognise(&text).unwrap().handle.is_some());
}

#[test]
fn p1_what_is_read_back_is_never_put_aside() {
    let mut stand = one("Recall", json!({"handle": "k3f9x2"}), &log(66_000)).with_recall();
    assert!(budget(&mut stand).is_none() && fitted(&mut stand, SAVED, 10_000).is_none());
    let path = "/session/tool-results/toolu_0.txt";
    let mut stand = one("Read", json!({"file_path": path, "offset": 200}), &log(66_000));
    assert!(budget(&mut stand).is_none() && fitted(&mut stand, SAVED, 10_000).is_none());
    // Files of that name elsewhere are like any other.
    let mut stand = one("Read", json!({"file_path": "/other/tool-results/toolu_0.txt"}), &log(66_000));
    assert!(fitted(&mut stand, SAVED, 10_000).is_some());
}

#[test]
fn p1_a_result_that_does_not_fit_keeps_its_head_and_its_tail() {
    let text = log(66_000);
    for (mut stand, saved) in [
        (one("Bash", json!({"command": "make"}), &text), SAVED),
        (one("Bash", json!({"command": "make"}), &text).with_recall(), UNREADABLE),
        (one("Bash", json!({"command": "make"}), &text), UNREADABLE),
    ] {
        let before = stand.total();
        let outcome = fitted(&mut stand, saved, 10_000).unwrap();
        assert_eq!(outcome.persist[0].text, text, "the file holds every character");
        stand.apply(outcome.proposal);
        let after = stand.total();
        assert!(
            after <= before - 10_000 && after >= before - 11_000,
            "as much as there is room for: {after}"
        );
        let shown = shown(&stand, 2);
        let (first, rest) = shown.split_once("\nBeginning:\n").unwrap().1.split_once("\n[… ").unwrap();
        let (note, last) = rest.split_once(" …]\nEnd:\n").unwrap();
        let last = last.strip_suffix("\n</persisted-output>").unwrap();
        assert!(
            text.starts_with(first) && text.ends_with(last) && first.len() > 10_000 && last.len() > 10_000
        );
        let found = recognise(&shown).unwrap();
        assert_eq!(found.chars, 66_000);
        let is_readable = saved.are_readable;
        if is_readable {
            // The row that the note names is the first that is not shown whole.
            let row: usize = note.rsplit("`offset` ").next().unwrap().parse().unwrap();
            let before: String = rows(&text).take(row - 1).map(|row| format!("{row}\n")).collect();
            assert_eq!(before.trim_end(), first);
        }
        let path = (!stand.tools.recall).then(|| "/session/tool-results/toolu_1.txt".to_owned());
        let handle = stand.tools.recall.then(|| throughline_core::recall::short_id(&"r".into()));
        assert_eq!(found, Placeholder { chars: 66_000, handle, path });
        assert!(fitted(&mut stand, saved, 10_000).is_none(), "and that is decided");
    }
}

#[test]
fn p1_the_largest_results_go_first_and_as_few_as_needed() {
    let mut stand = parallel(&[30_000, 90_000, 60_000]);
    assert_eq!(replaced(fitted(&mut stand, SAVED, 5_000)), ["toolu_01"]);
    let mut stand = parallel(&[30_000, 90_000, 60_000]);
    assert_eq!(replaced(fitted(&mut stand, SAVED, 50_000)), ["toolu_01", "toolu_02"]);
    // Seen before, it stays as it was seen.
    stand.sent = 3;
    assert!(fitted(&mut stand, SAVED, 5_000).is_none());
}

#[test]
fn p1_file_reads_are_cut_only_where_the_others_are_not_enough() {
    let calls = vec![
        call("toolu_0", "Read", json!({"file_path": "/a/b.rs"})),
        call("toolu_1", "Bash", json!({"command": "make"})),
    ];
    let results = vec![result("toolu_0", &log(90_000)), result("toolu_1", &log(30_000))];
    let messages = [user("u", "look"), named("a", Role::Assistant, calls), named("r", Role::User, results)];
    assert_eq!(replaced(fitted(&mut Stand::new(messages.clone()), SAVED, 5_000)), ["toolu_1"]);
    assert_eq!(replaced(fitted(&mut Stand::new(messages), SAVED, 30_000)), ["toolu_1", "toolu_0"]);
}

#[test]
fn p1_only_our_own_placeholders_are_recognised() {
    for text in [
        "",
        "<persisted-output>",
        "<persisted-output>\nOutput too large (x chars).\n</persisted-output>",
        "<persisted-output>\nOutput too large (7 chars).",
        "grep: <persisted-output>\nOutput too large (7 chars).\n</persisted-output>",
    ] {
        assert_eq!(recognise(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn p1_rows_lose_no_character(lines in proptest::collection::vec("[a日]{0,3}", 0..6), wide in 0..3usize) {
        let mut lines = lines;
        lines.push("é".repeat(wide * ROW_CHARS + wide));
        let text = lines.join("\n");
        prop_assert_eq!(rows(&text).collect::<String>(), text.replace('\n', ""));
        prop_assert!(rows(&text).all(|row| row.chars().count() <= ROW_CHARS));
    }

    #[test]
    fn p1_two_ids_never_name_one_file(ids in proptest::collection::hash_set("[a-c./\\\\ .]{0,4}|[a-f0-9.]{30,34}", 0..20)) {
        let names: HashSet<String> = ids.iter().map(|id| file_name(&id.as_str().into())).collect();
        prop_assert_eq!(names.len(), ids.len());
        // Not even if one is made to look like the name of another.
        for id in &ids {
            let name = file_name(&id.as_str().into());
            let rest = name.trim_start_matches("tool-results/").trim_end_matches(".txt");
            if rest != id {
                prop_assert_ne!(file_name(&rest.into()), name.clone());
            }
        }
    }
}

//! P5e: what comes back behind a compaction.

use super::{call, result, said};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use throughline_core::compaction::{Compaction, Draft, HostContext, Scaffold, Trigger};
use throughline_core::facts::Facts;
use throughline_core::pipeline::{Moment, Notice, Pipeline, Settings, Unrecorded};
use throughline_core::profile::{CompactLimits, Profile, Strategy};
use throughline_core::stages::{OwnTools, Scene};
use throughline_core::tokens::Counter;
use throughline_core::{Body, CallKind, Entry, Message, Role, ToolCall, ToolInput, ToolResult};

/// A compaction of everything, with what a host supplies.
fn compact(entries: &[Entry], host: &HostContext) -> Result<Draft, String> {
    let mut counter = Counter::for_model("gpt-5");
    let mut facts = Facts::default();
    facts.set_cwd("/app");
    entries.iter().for_each(|entry| facts.push(&entry.message));
    let tokens: Vec<u64> = entries.iter().map(|entry| counter.message(&entry.shown()).total()).collect();
    let scene =
        Scene { entries, tokens: &tokens, overhead: 0, now: None, sent: 0, tools: OwnTools::default() };
    let limits = CompactLimits::default();
    let compaction = Compaction {
        scene,
        facts: &facts,
        limits: &limits,
        threshold: 30_000,
        trigger: Trigger::PreTurn,
        instructions: None,
        notes: None,
        left_out: &[],
        scaffold: Scaffold::Keep,
        host,
        guarantee: false,
    };
    compaction
        .offline(Strategy::Summary, &mut counter, &mut |_, _| String::new())
        .map_err(|why| why.to_string())
}

/// The files that came back: path and content.
fn restored(draft: &Draft) -> Vec<(String, String)> {
    let texts = draft.entries.iter().map(|entry| entry.message.to_text());
    texts
        .filter_map(|text| {
            let rest = text.strip_prefix("<system-reminder>\n<attachment: ")?.to_owned();
            let (path, content) = rest.split_once(">\n")?;
            let content = content.trim_end_matches("</system-reminder>").trim_end();
            Some((path.to_owned(), content.to_owned()))
        })
        .collect()
}

/// A conversation that is long enough to be worth condensing, with some entries in it.
fn session(work: Vec<Entry>) -> Vec<Entry> {
    let mut entries = vec![said("u0", Role::User, "Fix the login.")];
    entries.extend(work);
    entries.push(said(
        "talk",
        Role::Assistant,
        &"I looked at this part, and it is as it should be. ".repeat(400),
    ));
    entries.push(said("u1", Role::User, "Go on."));
    entries
}

fn tool(n: usize, name: &str, input: Value, text: &str) -> Vec<Entry> {
    let id = format!("c{n}");
    vec![call(&format!("a{n}"), &id, name, input, ""), result(&format!("r{n}"), &id, text)]
}

fn failed(n: usize, name: &str, input: Value, text: &str) -> Vec<Entry> {
    let mut entries = tool(n, name, input, text);
    let mut message = (*entries[1].message).clone();
    if let Body::ToolResult(result) = &mut message.blocks[0].body {
        result.is_error = Some(true);
    }
    entries[1] = message.into();
    entries
}

fn read(n: usize, path: &str, text: &str) -> Vec<Entry> {
    tool(n, "Read", json!({"file_path": path}), text)
}

#[test]
fn p5e_the_last_five_of_eight_parallel_reads_come_back() {
    let paths = ["h", "g", "f", "e", "d", "c", "b", "a"].map(|name| format!("src/{name}.rs"));
    let mut asked = Message::text(Role::Assistant, "");
    asked.id = "a".into();
    let mut results = Vec::new();
    for (n, path) in paths.iter().enumerate() {
        asked.blocks.push(
            Body::ToolCall(ToolCall {
                id: format!("c{n}").into(),
                name: "Read".to_owned(),
                input: ToolInput::Json(json!({"file_path": path})),
                kind: CallKind::Function,
            })
            .into(),
        );
        results.push(Body::ToolResult(ToolResult::text(format!("c{n}").into(), format!("// {path}"))).into());
    }
    let answer = Message::new(Role::User, results);
    let draft = compact(&session(vec![asked.into(), answer.into()]), &HostContext::default()).unwrap();
    let names: Vec<String> = restored(&draft).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names, ["src/a.rs", "src/b.rs", "src/c.rs", "src/d.rs", "src/e.rs"]);
}

#[test]
fn p5e_own_edits_are_part_of_a_file_that_comes_back() {
    let mut work = read(1, "/app/a.rs", "     1→fn a() {\n     2→    one();\n     3→}\n");
    let edit = json!({"file_path": "/app/a.rs", "old_string": "one();", "new_string": "two();"});
    work.extend(tool(2, "Edit", edit, "Edited."));
    work.extend(read(3, "/app/b.rs", "b"));
    work.extend(tool(4, "Write", json!({"file_path": "/app/b.rs", "content": "all new"}), "Written."));
    let draft = compact(&session(work), &HostContext::default()).unwrap();
    let expected = [("b.rs", "all new"), ("a.rs", "fn a() {\n    two();\n}")];
    assert_eq!(restored(&draft), expected.map(|(path, text)| (path.to_owned(), text.to_owned())));
}

#[test]
fn p5e_a_file_whose_state_is_not_known_does_not_come_back() {
    let edit = |old: &str| json!({"file_path": "a.rs", "old_string": old, "new_string": "x"});
    let bash = |command: &str| json!({"command": command});
    let patch = "*** Begin Patch\n*** Update File: a.rs\n@@\n-a\n+b\n*** End Patch";
    let changes: [(&str, Vec<Entry>); 7] = [
        ("an edit of a part that was not shown", tool(2, "Edit", edit("elsewhere"), "Edited.")),
        ("a patch", tool(2, "apply_patch", json!({"input": patch}), "Done.")),
        ("a command that removes it", tool(2, "Bash", bash("rm a.rs"), "")),
        ("a command that changes it", tool(2, "Bash", bash("sed -i s/x/y/ a.rs"), "")),
        ("a checkout", tool(2, "Bash", bash("git checkout ."), "")),
        ("a redirection", tool(2, "Bash", bash("cat b.rs >a.rs"), "")),
        (
            "a read that did not find it",
            failed(2, "Read", json!({"file_path": "a.rs"}), "File does not exist."),
        ),
    ];
    for (what, change) in changes {
        let work = [read(1, "a.rs", "fn a() {}"), change].concat();
        assert_eq!(restored(&compact(&session(work), &HostContext::default()).unwrap()), [], "{what}");
    }
    for (what, harmless) in [
        ("a refused edit", failed(2, "Edit", edit("fn"), "refused")),
        ("a look", tool(2, "Bash", bash("cat a.rs 2>/dev/null"), "fn a() {}")),
    ] {
        let work = [read(1, "a.rs", "fn a() {}"), harmless].concat();
        assert_eq!(restored(&compact(&session(work), &HostContext::default()).unwrap()).len(), 1, "{what}");
    }
}

#[test]
fn p5e_a_host_that_reads_files_decides_what_is_in_them() {
    let work = [read(1, "/app/a.rs", "old"), read(2, "/app/gone.rs", "old"), read(3, "/app/b.rs", "old")];
    let files = BTreeMap::from([("a.rs", "new a"), ("b.rs", "new b")]);
    let files = files.into_iter().map(|(path, text)| (path.to_owned(), text.to_owned())).collect();
    let host = HostContext { files: Some(files), ..HostContext::default() };
    let expected = [("b.rs", "new b"), ("a.rs", "new a")];
    assert_eq!(
        restored(&compact(&session(work.concat()), &host).unwrap()),
        expected.map(|(path, text)| (path.to_owned(), text.to_owned()))
    );
}

#[test]
fn p5e_a_refused_plan_is_not_the_plan() {
    let plan = |n: usize, text: &str| json!({"plan": format!("Plan {n}: {text}")});
    let told = |work: Vec<Entry>| {
        let draft = compact(&session(work), &HostContext::default()).unwrap();
        let texts: Vec<String> = draft.entries.iter().map(|entry| entry.message.to_text()).collect();
        texts.into_iter().find(|text| text.contains("<plan>"))
    };
    let refusal = "The user doesn't want to proceed with this tool use. The tool use was rejected";
    let refused = failed(2, "ExitPlanMode", plan(2, "Drop the table."), refusal);
    // Some wires have no mark for errors.
    let refused_in_words = tool(2, "ExitPlanMode", plan(2, "Drop the table."), refusal);
    let approved = tool(1, "ExitPlanMode", plan(1, "Add a column."), "User has approved your plan.");
    assert_eq!(told(refused.clone()), None);
    assert_eq!(told(refused_in_words), None);
    let text = told([approved, refused].concat()).unwrap();
    assert!(text.contains("Plan 1: Add a column.") && !text.contains("Drop the table"), "{text}");
}

#[test]
fn p5e_what_the_model_must_know_again_is_never_left_out() {
    // Behind the summary there is no room that would be worth its while.
    let required = Message::text(
        Role::User,
        format!("<system-reminder>\nIndent so. {}\n</system-reminder>", "x ".repeat(3_000)),
    );
    let entries = session(read(1, "a.rs", "text"));
    let host = HostContext { required: vec![required.clone()], ..HostContext::default() };
    let draft = compact(&entries, &host).unwrap();
    assert_eq!(draft.entries.last().unwrap().message.id, required.id);
    // What a newer message replaces goes with the rest.
    let outdated = HostContext { outdated: vec!["u1".into()], ..host };
    let draft = compact(&entries, &outdated).unwrap();
    assert!(draft.entries.iter().all(|entry| entry.message.id.as_str() != "u1"));
}

#[test]
fn p5c_repeated_handoffs_are_warned_of_also_after_a_resume() {
    let mut pipeline =
        Pipeline::new(Profile::codex(), Settings { window: 20_000, ..Settings::for_model("gpt-5") });
    pipeline.set_compactions(1);
    for n in 0..3 {
        pipeline.push(said(&format!("u{n}"), Role::User, "Go on."));
        pipeline.push(said(&format!("a{n}"), Role::Assistant, &"It is as it should be. ".repeat(600)));
    }
    let moment = Moment { compact: Some(Trigger::Manual), ..Moment::default() };
    let pass = pipeline.prepare(&moment, &mut Unrecorded).unwrap();
    assert!(pass.notices.contains(&Notice::CompactedOften(2)), "{:?}", pass.notices);
    assert!(pass.notices.iter().all(Notice::is_warning));
}

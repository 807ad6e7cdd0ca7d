//! `exec`, as a script uses it.

use crate::agent_kit::{Wire, workshop};
use serde_json::{Value, json};
use std::io::Write;
use std::process::Stdio;
use throughline_testkit::{Answer, Fault, Playbook, Server, playbook::last_user};

#[test]
fn a_prompt_is_answered_and_the_outcome_is_printed_in_each_format() {
    let server = Server::start("All is well.").unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let (out, err, code) = shop.exec(&["how is it?"]);
    assert_eq!((out.as_str(), err.as_str(), code), ("All is well.\n", "", 0));

    let (out, _, code) = shop.exec(&["how is it?", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (result["outcome"].as_str(), result["text"].as_str(), code),
        (Some("done"), Some("All is well."), 0)
    );
    assert!(result["spent"]["usage"]["output"].as_u64().unwrap() > 0);
    assert!(std::path::Path::new(result["ledger"].as_str().unwrap()).is_file());

    let (out, _, _) = shop.exec(&["how is it?", "--output-format", "stream-json"]);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let types: Vec<&str> = lines.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!((types[0], types[types.len() - 1]), ("session", "result"));
    let said: String =
        lines.iter().filter(|line| line["type"] == "text").filter_map(|line| line["text"].as_str()).collect();
    assert_eq!(said, "All is well.");
}

#[test]
fn h5_what_an_answer_cites_is_printed_in_no_format_and_in_no_transcript() {
    let block = "<oai-mem-citation>\n<citation_entries>\nhandbook/project/MEMORY.md:1-2|note=[x]\n</citation_entries>\n\
                 <rollout_ids>\n0192aaaa-0001\n</rollout_ids>\n</oai-mem-citation>";
    let answer = Answer::text(format!("All is well.\n\n{block}")).deltas(4);
    let server = Server::start(Playbook::new().otherwise(answer)).unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let (out, err, code) = shop.exec(&["how is it?"]);
    assert_eq!((out.as_str(), err.as_str(), code), ("All is well.\n", "", 0));
    let (out, _, _) = shop.exec(&["how is it?", "--output-format", "json"]);
    let result: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(result["text"], "All is well.");
    let ledger = std::fs::read_to_string(result["ledger"].as_str().unwrap()).unwrap();
    assert!(ledger.contains("</oai-mem-citation>"), "the record keeps it");
    let (out, _, _) = shop.exec(&["how is it?", "--output-format", "stream-json"]);
    assert!(out.contains("All is well.") && !out.contains("oai-mem"), "{out}");
    let session = result["session"].as_str().unwrap();
    for args in
        [vec!["sessions", "show", session], vec!["sessions", "export", session, "--format", "markdown"]]
    {
        let output = shop.command(&args).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains("All is well.") && !text.contains("oai-mem"), "{args:?}: {text}");
    }
}

#[test]
fn the_prompt_can_be_piped_and_a_session_goes_on() {
    let server = Server::start("Yes.").unwrap();
    let shop = workshop(&server, Wire::Responses);
    let mut child = shop
        .command(&["exec", "--model", "gpt-5", "review this"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(b"the diff\n").unwrap();
    assert!(child.wait_with_output().unwrap().status.success());
    let asked = server.last().unwrap().last_user_text();
    assert!(asked.contains("review this") && asked.contains("the diff"), "{asked}");

    let list = shop.list();
    assert!(list.contains("review this") && list.contains("1 turn"), "{list}");

    let (_, _, code) = shop.exec(&["-c", "and now?"]);
    assert_eq!(code, 0);
    let seen = server.last().unwrap();
    let text = seen.json().to_string();
    assert!(text.contains("review this") && text.contains("and now?"), "{text}");
    assert_eq!(text.matches("<cwd>").count(), 1, "what was told is not told again");
}

#[test]
fn every_way_to_end_has_its_exit_status() {
    let calls = Answer::text("I look.").call("Glob", json!({"pattern": "*"}));
    let server = Server::start(
        Playbook::new()
            .when(last_user("fails"), Fault::Unauthorized)
            .when(|seen: &throughline_testkit::Seen| seen.json().to_string().contains("for ever"), calls)
            .otherwise("Done."),
    )
    .unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let (_, err, code) = shop.exec(&["this fails"]);
    assert_eq!(code, 1, "{err}");
    assert!(err.contains("error") && !err.contains("sk-test-1"), "{err}");
    let (_, err, code) = shop.exec(&["look for ever", "--max-turns", "3"]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("as many steps"), "{err}");
    for wrong in [
        &["x", "--permission-mode", "yolo"][..],
        &["x", "--output-format", "xml"],
        &["x", "--max-turns", "many"],
    ] {
        let (_, err, code) = shop.exec(wrong);
        assert_eq!(code, 2, "{wrong:?}: {err}");
    }
    let (_, err, code) = shop.exec(&["-r", "no-such-session", "x"]);
    assert_eq!(code, 1);
    assert!(err.contains("no-such-session"), "{err}");
}

#[test]
fn what_is_not_permitted_is_refused_with_the_rule_that_would_permit_it() {
    let write = Answer::empty().call("Write", json!({"file_path": "a.txt", "content": "x"}));
    let server = Server::start(vec![write.into(), "I could not.".into()]).unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let (out, _, code) = shop.exec(&["write a.txt"]);
    assert_eq!((out.as_str(), code), ("I could not.\n", 0));
    assert!(!shop.path("a.txt").exists());
    let told = server.last().unwrap().json().to_string();
    assert!(
        told.contains("nobody is there to ask") && told.contains("--permission-mode accept-edits"),
        "{told}"
    );
}

#[test]
fn a_wrong_rule_is_named_and_nothing_begins() {
    let server = Server::start("never").unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let (_, err, code) = shop.exec(&["x", "--allow", "Bash("]);
    assert_eq!(code, 1);
    assert!(err.contains("Bash("), "{err}");
    assert_eq!(server.count(), 0);
}

#[test]
fn a4_show_context_prints_what_a_session_would_be_told_and_asks_nobody() {
    let server = Server::start("never").unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    shop.write("AGENTS.md", "Use tabs.\n");
    let (out, err, code) = shop.exec(&["--show-context"]);
    assert_eq!(code, 0, "{err}");
    for part in ["Use tabs.", "<environment_context>", "<permissions instructions>", "tokens", "tools"] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let (out, _, _) = shop.exec(&["--show-context", "--json"]);
    let report: Value = serde_json::from_str(&out).unwrap();
    let kinds: Vec<&str> =
        report["told"]["parts"].as_array().unwrap().iter().filter_map(|part| part["kind"].as_str()).collect();
    assert!(
        kinds.contains(&"project_instructions") && report["tools"]["tokens"].as_u64().unwrap() > 500,
        "{report}"
    );
    assert_eq!(server.count(), 0);
    assert!(shop.sessions().is_empty(), "no session was begun");
}

#[test]
fn a_line_that_can_t_be_read_is_told_and_the_stream_goes_on() {
    let server = Server::start("Yes.").unwrap();
    let shop = workshop(&server, Wire::Anthropic);
    let mut agent = shop.start(&["--model", "claude-sonnet-4-5"]);
    agent.send(&json!({"type": "user"}));
    let warning = agent.until(|event| event["type"] == "warning");
    assert!(warning["text"].as_str().unwrap().contains("line 1"), "{warning}");
    agent.say("hello");
    assert_eq!(agent.until_result()["text"], "Yes.");
    agent.send(&json!({"type": "compact"}));
    agent.send(&json!({"type": "permission_mode", "mode": "plan"}));
    agent.say("and now?");
    assert_eq!(agent.until_result()["outcome"], "done");
    let told = server.last().unwrap().json().to_string();
    assert!(told.contains("Permission mode: plan"), "{told}");
    agent.finish();
}

//! Defects that were found by hunting, each kept from coming back.

use crate::common::{answer, checkpoint, edit, ids, said, scratch, summary, time, user, writer};
use throughline_core::{
    Block, Body, Entry, MemoryMode, Op, Record, ResultContent, Role, ToolCall, ToolInput, ToolResult,
};
use throughline_ledger::{ProblemKind, SyncPolicy, TAIL, Writer, check, list, newest_card, resume, session};

#[test]
fn l1_a_deeply_nested_tool_input_is_read_back() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let deep = format!("{}\"base64\"{}", "[".repeat(127), "]".repeat(127));
    let input = ToolInput::Json(serde_json::from_str(&deep).unwrap());
    let call = ToolCall { id: "c".into(), name: "Deep".into(), input, kind: Default::default() };
    let mut message = said(Role::Assistant, "deep");
    message.blocks.push(Body::ToolCall(call).into());
    let origin = w.append(&[Record::Message(Box::new(message.clone()))]).unwrap().remove(0);
    let keep = Entry::new(message.clone(), origin).to_item();
    let mut brought = message.clone();
    brought.id = "deep too".into();
    w.append(&[checkpoint("k", vec![throughline_core::Item::New(Box::new(brought)), keep])]).unwrap();
    let resumed = resume(&s.home, w.path()).unwrap();
    assert_eq!(resumed.problems, []);
    assert_eq!(*resumed.view.entries()[1].message, message);
}

#[test]
fn l1_what_could_not_be_read_back_is_refused_before_it_is_acknowledged() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let mut deep = serde_json::json!(1);
    for _ in 0..300 {
        deep = serde_json::Value::Array(vec![deep]);
    }
    let mut message = said(Role::Assistant, "too deep");
    message.blocks.push(Body::Unknown(deep).into());
    let error = w.append(&[user("a"), Record::Message(Box::new(message))]).unwrap_err();
    assert!(error.to_string().contains("nested deeper"), "{error}");
    w.append(&[user("b")]).unwrap();
    assert_eq!(ids(&resume(&s.home, w.path()).unwrap().view), ["b"], "nothing of the refused batch is there");
    assert_eq!(w.card().messages, 1, "and it was not counted");
}

#[test]
fn l1_a_record_of_very_many_parts_is_kept_and_survives_a_compaction() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let parts = (0..2_200).map(|n| Block::text(format!("{n} ").repeat(31_000 / 6))).collect();
    let content = ResultContent::Parts(parts);
    let result = ToolResult { call: "c".into(), kind: Default::default(), content, is_error: None };
    let mut message = said(Role::User, "huge");
    message.blocks = vec![Body::ToolResult(result).into()];
    let before = w.end();
    let origin = w.append(&[Record::Message(Box::new(message.clone()))]).unwrap().remove(0);
    assert!(w.end() - before < 1 << 20);
    w.append(&[checkpoint("k", vec![Entry::new(message.clone(), origin).to_item()])]).unwrap();
    assert_eq!(*resume(&s.home, w.path()).unwrap().view.entries()[0].message, message);
}

#[test]
fn l7_a_fork_whose_parent_lost_its_end_still_opens() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), user("b")]).unwrap();
    let path = w.path().to_owned();
    let mut fork = session::fork(&s.home, &path, None, time(9)).unwrap();
    fork.append(&[user("c")]).unwrap();
    drop(w);
    let text = std::fs::read(&path).unwrap();
    std::fs::write(&path, &text[..text.len() - 30]).unwrap();
    let resumed = resume(&s.home, fork.path()).unwrap();
    assert_eq!(ids(&resumed.view), ["a", "c"]);
    assert!(resumed.problems.iter().any(|p| matches!(p.kind, ProblemKind::ShortParent(_))));
    check(&s.home, fork.path()).unwrap();
    session::fork(&s.home, fork.path(), None, time(10)).unwrap();
}

#[test]
fn l7_a_wild_offset_is_reported_and_the_rest_resumes() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    let mut entry = Entry::from(said(Role::User, "gone"));
    entry.origin.offset = u64::MAX / 2 + 1;
    w.append(&[checkpoint("k", vec![summary("sum"), entry.to_item()])]).unwrap();
    let resumed = resume(&s.home, w.path()).unwrap();
    assert_eq!(ids(&resumed.view), ["sum"]);
    assert_eq!(resumed.problems[0].kind, ProblemKind::MissingMessage("gone".into()));
}

#[test]
fn l5_a_lost_parent_is_never_mistaken_for_a_session_whose_id_begins_alike() {
    let s = scratch();
    let mut parent = writer(&s.home, "pp");
    parent.append(&[user("a")]).unwrap();
    let fork = session::fork(&s.home, parent.path(), None, time(9)).unwrap();
    writer(&s.home, "pp-agent-7").append(&[user("of the agent")]).unwrap();
    std::fs::remove_file(parent.path()).unwrap();
    let resumed = resume(&s.home, fork.path()).unwrap();
    assert_eq!(ids(&resumed.view), Vec::<String>::new());
    assert!(matches!(resumed.problems[0].kind, ProblemKind::MissingParent(_)));
}

#[test]
fn l5_a_hundred_forks_of_forks_resume() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("m0")]).unwrap();
    for n in 1..=100 {
        w = session::fork(&s.home, w.path(), None, time(n)).unwrap();
        w.append(&[user(&format!("m{n}"))]).unwrap();
    }
    let resumed = resume(&s.home, w.path()).unwrap();
    assert_eq!(resumed.view.entries().len(), 101);
    assert_eq!(resumed.problems, []);
}

#[test]
fn l5_a_fork_at_a_summary_takes_no_more_than_the_summary() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b")]).unwrap();
    let kept = resume(&s.home, w.path()).unwrap().view.entries()[1].to_item();
    w.append(&[checkpoint("k", vec![summary("sum"), kept]), user("c")]).unwrap();
    let fork = session::fork(&s.home, w.path(), Some(&"sum".into()), time(9)).unwrap();
    assert_eq!(ids(&resume(&s.home, fork.path()).unwrap().view), ["sum"]);
}

#[test]
fn l5_what_a_parent_said_after_the_fork_is_not_the_forks() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), user("b")]).unwrap();
    let fork = session::fork(&s.home, w.path(), Some(&"a".into()), time(9)).unwrap();
    w.append(&[user("later")]).unwrap();
    assert!(session::fork(&s.home, fork.path(), Some(&"later".into()), time(10)).is_err());
}

#[test]
fn a_fork_of_a_polluted_session_is_polluted() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.update_card(|card| card.memory_mode = MemoryMode::Polluted).unwrap();
    let fork = session::fork(&s.home, w.path(), None, time(9)).unwrap();
    assert_eq!(fork.card().memory_mode, MemoryMode::Polluted);
}

#[test]
fn l5_undoing_again_goes_further_back() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let remove = |id: &str| Op::Remove { messages: vec![id.into()] };
    w.append(&[user("a"), user("b"), edit("e1", remove("a")), edit("e2", remove("b"))]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    assert_eq!(session::undo(&s.home, &path, None, time(1)).unwrap().target.as_str(), "e2");
    assert_eq!(session::undo(&s.home, &path, None, time(2)).unwrap().target.as_str(), "e1");
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b"]);
    let error = session::undo(&s.home, &path, None, time(3)).unwrap_err();
    assert_eq!(error.to_string(), "there is nothing to undo in this session");
}

#[test]
fn l6_no_title_tag_or_folder_is_long_enough_to_hide_the_card() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.update_card(|card| {
        card.title = Some(format!("data:base64,{}", "标题".repeat(40_000)));
        card.tags = (0..600).map(|n| format!("tag-{n}-{}", "x".repeat(100))).collect();
        card.cwd = Some("/deep".repeat(10_000));
    })
    .unwrap();
    let before = w.end();
    for n in 0..100 {
        w.append(&[user(&format!("m{n}"))]).unwrap();
    }
    assert!(w.end() - before < 150_000, "the card is not repeated with every message");
    let file = std::fs::File::open(w.path()).unwrap();
    let (at, card) = newest_card(&file, w.path(), w.end()).unwrap().unwrap();
    assert!(w.end() - at <= TAIL);
    assert!(card.title.unwrap().starts_with("data:base64,标题"));
    assert!(list(&s.home).unwrap()[0].card.title.is_some());
    assert_eq!(check(&s.home, w.path()).unwrap().problems, []);
}

#[test]
fn a_later_meta_line_tells_more_and_hides_nothing() {
    let s = scratch();
    let mut parent = writer(&s.home, "parent");
    parent.append(&[user("a")]).unwrap();
    let mut w = writer(&s.home, "child");
    w.append(&[user("b")]).unwrap();
    let mut meta = crate::common::meta("child");
    meta.forked_from = Some(throughline_core::ForkPoint {
        session: "parent".into(),
        path: s.home.relative(parent.path()),
        offset: parent.end(),
        message: None,
    });
    w.append(&[Record::Meta(Box::new(meta)), user("c")]).unwrap();
    assert_eq!(ids(&resume(&s.home, w.path()).unwrap().view), ["a", "b", "c"]);
}

/// A file may not grow beyond a limit in the middle of a batch, as on a full disk.
#[cfg(target_os = "linux")]
#[test]
fn l7_half_a_batch_never_takes_effect() {
    const CHILD: &str = "THROUGHLINE_TEST_FULL_DISK";
    let Some(root) = std::env::var_os(CHILD) else {
        // In a process of its own, with SIGXFSZ ignored so that the write fails instead.
        let s = scratch();
        let script =
            "trap '' XFSZ; ulimit -f 40; exec \"$0\" --exact hardening::l7_half_a_batch_never_takes_effect";
        let status = std::process::Command::new("bash")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .env(CHILD, s.home.root())
            .stdout(std::process::Stdio::null())
            .status();
        match status {
            Ok(status) => assert!(status.success()),
            Err(error) => {
                let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
                assert!(!required, "bash is needed for this test: {error}");
                eprintln!("skipped: bash is needed to limit the size of files ({error})");
            }
        }
        return;
    };
    let home = throughline_ledger::Home::new(root);
    let mut w = writer(&home, "s");
    w.append(&[user("a")]).unwrap();
    let end = w.end();
    let mut big = said(Role::User, "big");
    big.blocks.extend((0..3).map(|n| Block::text(format!("{n} ").repeat(10_000))));
    let batch = [edit("e", Op::Rewind { to: None }), user("b"), Record::Message(Box::new(big))];
    w.append(&batch).unwrap_err();
    assert_eq!(std::fs::metadata(w.path()).unwrap().len(), end, "the file is as it was");
    assert_eq!(w.card().messages, 1);
    w.append(&[user("c")]).unwrap();
    let resumed = resume(&home, w.path()).unwrap();
    assert_eq!(ids(&resumed.view), ["a", "c"]);
    assert_eq!(resumed.problems, []);
    drop(w);
    Writer::open(&home, &home.find("s").unwrap(), SyncPolicy::Never).unwrap();
}

use crate::common::{answer, checkpoint, ids, scratch, summary, time, user, writer};
use throughline_core::MessageId;
use throughline_ledger::{LedgerError, SyncPolicy, Writer, check, resume, session};

#[test]
fn l5_a_fork_reads_its_parent_and_copies_nothing() {
    let s = scratch();
    let mut w = writer(&s.home, "parent");
    w.append(&[user("a"), answer("b"), user("c"), answer("d")]).unwrap();
    let at = MessageId::from("b");
    let mut fork = session::fork(&s.home, w.path(), Some(&at), time(9)).unwrap();
    fork.append(&[user("e")]).unwrap();
    w.append(&[user("later in the parent")]).unwrap();

    assert_eq!(ids(&resume(&s.home, fork.path()).unwrap().view), ["a", "b", "e"]);
    assert!(fork.end() < 2000);
    assert_eq!(check(&s.home, fork.path()).unwrap().problems, []);
}

#[test]
fn l5_a_fork_of_a_fork_keeps_messages_of_both_through_a_checkpoint() {
    let s = scratch();
    let mut w = writer(&s.home, "one");
    w.append(&[user("a"), answer("b")]).unwrap();
    let mut two = session::fork(&s.home, w.path(), None, time(9)).unwrap();
    two.append(&[user("c")]).unwrap();
    let mut three = session::fork(&s.home, two.path(), None, time(10)).unwrap();
    let entries = resume(&s.home, three.path()).unwrap().view.entries().to_vec();
    let mut items = vec![summary("sum")];
    items.extend(entries.iter().map(|entry| entry.to_item()));
    three.append(&[checkpoint("k", items), user("d")]).unwrap();
    let resumed = resume(&s.home, three.path()).unwrap();
    assert_eq!(resumed.problems, []);
    assert_eq!(ids(&resumed.view), ["sum", "a", "b", "c", "d"]);
}

#[test]
fn l5_a_fork_before_a_compaction_sees_what_stood_then() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b"), checkpoint("k", vec![summary("sum")]), user("c")]).unwrap();
    let fork = session::fork(&s.home, w.path(), Some(&"a".into()), time(9)).unwrap();
    assert_eq!(ids(&resume(&s.home, fork.path()).unwrap().view), ["a"]);
}

#[test]
fn l5_a_lost_parent_is_reported_and_the_fork_still_opens() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    let mut fork = session::fork(&s.home, w.path(), None, time(9)).unwrap();
    fork.append(&[user("b")]).unwrap();
    std::fs::remove_file(w.path()).unwrap();
    let resumed = resume(&s.home, fork.path()).unwrap();
    assert_eq!(ids(&resumed.view), ["b"]);
    assert_eq!(resumed.problems.len(), 1);
}

#[test]
fn l5_rollback_takes_whole_turns_and_can_be_undone() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b"), user("c"), answer("d"), user("e")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    session::rollback(&s.home, &path, 2, time(3)).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b"]);
    let error = session::rollback(&s.home, &path, 2, time(4)).unwrap_err();
    assert!(matches!(error, LedgerError::TooFewTurns { asked: 2, there: 1 }));
    session::undo(&s.home, &path, None, time(5)).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b", "c", "d", "e"]);
}

#[test]
fn l5_undo_tells_an_unknown_edit_from_one_behind_a_checkpoint() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let remove = throughline_core::Op::Remove { messages: vec!["a".into()] };
    let records = [user("a"), crate::common::edit("e", remove), checkpoint("k", vec![summary("sum")])];
    w.append(&records).unwrap();
    let path = w.path().to_owned();
    drop(w);
    let undo = |id: &str| session::undo(&s.home, &path, Some(id.into()), time(3)).unwrap_err().to_string();
    assert_eq!(undo("e"), "edit e lies behind checkpoint k; undo that checkpoint first");
    assert_eq!(undo("nope"), "this session has no edit nope");
}

#[test]
fn l8_two_writers_never_hold_one_ledger_and_readers_are_not_blocked() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    let second = Writer::open(&s.home, w.path(), SyncPolicy::Never);
    assert!(matches!(second, Err(LedgerError::Locked { .. })));
    assert_eq!(ids(&resume(&s.home, w.path()).unwrap().view), ["a"]);
    let path = w.path().to_owned();
    drop(w);
    Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
}

#[test]
fn sessions_are_found_by_a_unique_beginning_of_their_id() {
    let s = scratch();
    for id in ["abc1", "abc2", "xyz", "xyz-agent-7"] {
        writer(&s.home, id);
    }
    assert_eq!(s.home.find("xy").unwrap(), s.home.find("xyz").unwrap(), "not its sub-agent");
    assert!(s.home.find("xy").is_ok());
    assert!(s.home.find("abc1").is_ok());
    assert!(matches!(s.home.find("abc"), Err(LedgerError::Ambiguous { .. })));
    assert!(matches!(s.home.find("q"), Err(LedgerError::NoSession(_))));
}

#[cfg(unix)]
#[test]
fn files_are_for_their_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user(&"long".repeat(20_000))]).unwrap();
    let mut stack = vec![s.home.root().to_owned()];
    let mut files = 0;
    while let Some(path) = stack.pop() {
        let mode = path.metadata().unwrap().permissions().mode() & 0o777;
        if path.is_dir() {
            assert_eq!(mode, 0o700, "{}", path.display());
            stack.extend(std::fs::read_dir(&path).unwrap().map(|e| e.unwrap().path()));
        } else {
            assert_eq!(mode, 0o600, "{}", path.display());
            files += 1;
        }
    }
    assert!(files >= 3, "a ledger, a blob and a marker");
}

use crate::common::{answer, checkpoint, edit, ids, resumed_ids, said, scratch, summary, user, writer};
use proptest::prelude::*;
use throughline_core::{Block, Entry, Op, Record, Role, View};
use throughline_ledger::{Home, Writer, resume, session};

#[test]
fn l4_resume_takes_the_newest_checkpoint_and_replays_only_what_came_after() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    for n in 0..2000 {
        w.append(&[user(&format!("old{n}"))]).unwrap();
    }
    let kept = w.append(&[user("kept")]).unwrap().remove(0);
    let keep = Entry::new(said(Role::User, "kept"), kept).to_item();
    w.append(&[checkpoint("k", vec![summary("sum"), keep])]).unwrap();
    w.append(&[answer("new"), edit("e", Op::Remove { messages: vec!["kept".into()] })]).unwrap();

    let resumed = resume(&s.home, w.path()).unwrap();
    assert_eq!(ids(&resumed.view), ["sum", "new"]);
    assert!(resumed.scanned < 3000, "read {} of {} bytes", resumed.scanned, w.end());
}

#[test]
fn l3_ten_compactions_over_the_same_messages_copy_none_of_them() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let big = "x".repeat(20_000);
    let mut view = View::default();
    for n in 0..20 {
        let mut message = said(Role::User, &format!("m{n}"));
        message.blocks.push(Block::text(big.clone()));
        let origin = w.append(&[Record::Message(Box::new(message.clone()))]).unwrap().remove(0);
        view.push(Entry::new(message, origin));
    }
    let before = w.end();
    for k in 0..10 {
        let mut items = vec![summary(&format!("sum{k}"))];
        items.extend(view.entries().iter().map(Entry::to_item));
        w.append(&[checkpoint(&format!("k{k}"), items)]).unwrap();
    }
    let grown = w.end() - before;
    assert!(grown < 20_000, "ten compactions wrote {grown} bytes over 400,000 bytes of kept messages");
    assert_eq!(resumed_ids(&s.home, &w).len(), 21);
}

#[test]
fn l3_a_summary_kept_by_a_later_checkpoint_is_found_in_the_earlier_one() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    w.append(&[checkpoint("k1", vec![summary("sum1")])]).unwrap();
    let entries = resume(&s.home, w.path()).unwrap().view.entries().to_vec();
    let mut items = vec![summary("sum2")];
    items.extend(entries.iter().map(Entry::to_item));
    w.append(&[checkpoint("k2", items)]).unwrap();
    assert_eq!(resumed_ids(&s.home, &w), ["sum2", "sum1"]);
}

#[test]
fn l4_an_undone_checkpoint_is_passed_over() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b"), checkpoint("k", vec![summary("sum")]), answer("c")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["sum", "c"]);
    session::undo(&s.home, &path, Some("k".into()), crate::common::time(3)).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b", "c"]);
    let by = resume(&s.home, &path).unwrap().view.edits().last().unwrap().0.clone();
    session::undo(&s.home, &path, Some(by), crate::common::time(4)).unwrap();
    let resumed = resume(&s.home, &path).unwrap();
    assert_eq!(ids(&resumed.view), ["sum", "c"], "undoing the undo redoes");
    assert_eq!(resumed.problems, []);
    let by = resumed.view.edits().last().unwrap().0.clone();
    session::undo(&s.home, &path, Some(by), crate::common::time(5)).unwrap();
    assert_eq!(ids(&resume(&s.home, &path).unwrap().view), ["a", "b", "c"], "and so on");
}

#[test]
fn l2_long_payloads_and_pictures_live_in_blobs_and_come_back_whole() {
    use throughline_core::{Body, Media, Message, Source};
    let s = scratch();
    let mut w = writer(&s.home, "s");
    let picture = Source::Base64 { media_type: "image/png".into(), data: "iVBORw0KGgo=".into() };
    let mut message = Message::new(
        Role::User,
        vec![Block::text("y".repeat(100_000)), Body::Image(Media { source: picture }).into()],
    );
    message.id = "big".into();
    let before = w.end();
    w.append(&[Record::Message(Box::new(message.clone()))]).unwrap();
    assert!(w.end() - before < 2000);
    let resumed = resume(&s.home, w.path()).unwrap();
    assert_eq!(*resumed.view.entries()[0].message, message);
    assert_eq!(resumed.problems, []);
}

#[derive(Clone, Debug)]
enum Step {
    Say,
    Edit(Op),
    Compact { keep_from: usize },
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = (0..10usize).prop_map(|n| format!("m{n}"));
    let op = prop_oneof![
        proptest::collection::vec(id.clone(), 0..3)
            .prop_map(|ids| Op::Remove { messages: ids.into_iter().map(Into::into).collect() }),
        proptest::option::of(id.clone()).prop_map(|to| Op::Rewind { to: to.map(Into::into) }),
        id.clone().prop_map(|m| Op::Pin { messages: vec![m.into()] }),
        id.clone().prop_map(|m| Op::Unpin { messages: vec![m.into()] }),
        id.clone().prop_map(|m| Op::Replace {
            message: m.into(),
            block: 0,
            with: Block::text("cleared").into()
        }),
        (id.clone(), id).prop_map(|(a, b)| Op::Fold {
            first: a.into(),
            last: b.into(),
            with: Box::new(said(Role::User, "folded"))
        }),
        (0..16usize).prop_map(|n| Op::Undo { edit: format!("e{n}").into() }),
    ];
    let step = prop_oneof![
        4 => Just(Step::Say),
        4 => op.prop_map(Step::Edit),
        1 => (0..8usize).prop_map(|keep_from| Step::Compact { keep_from }),
        1 => Just(Step::Reopen),
    ];
    proptest::collection::vec(step, 1..24)
}

/// A session in memory that follows what is written, as an engine would.
struct Live {
    writer: Writer,
    view: View,
    said: usize,
}

impl Live {
    fn take(&mut self, home: &Home, n: usize, step: Step) {
        match step {
            Step::Say => {
                let message = said(Role::User, &format!("m{}", self.said));
                self.said += 1;
                let origin =
                    self.writer.append(&[Record::Message(Box::new(message.clone()))]).unwrap().remove(0);
                self.view.push(Entry::new(message, origin));
            }
            Step::Edit(op) => {
                let Record::Edit(edit) = edit(&format!("e{n}"), op) else { panic!("an edit") };
                // What the view can't undo is refused before it is written.
                if edit.undoes().all(|target| self.view.check_undo(target).is_ok()) {
                    let origin = self.writer.append(&[Record::Edit(edit.clone())]).unwrap().remove(0);
                    self.view.edit(*edit, origin);
                    if self.view.is_stale() {
                        self.view = resume(home, self.writer.path()).unwrap().view;
                    }
                }
            }
            Step::Compact { keep_from } => {
                let kept = self.view.entries().iter().skip(keep_from);
                let mut items = vec![summary(&format!("sum{n}"))];
                items.extend(kept.map(Entry::to_item));
                let record = checkpoint(&format!("e{n}"), items);
                self.writer.append(&[record]).unwrap();
                self.view = resume(home, self.writer.path()).unwrap().view;
            }
            Step::Reopen => {}
        }
    }
}

proptest! {
    #[test]
    fn l4_resume_is_the_live_view_after_any_history(steps in steps()) {
        let s = scratch();
        let mut live = Live { writer: writer(&s.home, "s"), view: View::default(), said: 0 };
        for (n, step) in steps.into_iter().enumerate() {
            live.take(&s.home, n, step);
            let resumed = resume(&s.home, live.writer.path()).unwrap();
            prop_assert_eq!(&resumed.problems, &vec![]);
            prop_assert_eq!(resumed.view.entries(), live.view.entries());
        }
    }
}

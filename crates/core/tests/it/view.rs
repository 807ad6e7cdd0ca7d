use crate::arbitrary::message;
use proptest::prelude::*;
use throughline_core::{
    Block, Checkpoint, Edit, EditId, Entry, Item, Message, MessageId, Op, Origin, Role, Stage, UndoError,
    View,
};

fn said(id: &str) -> Entry {
    let mut message = Message::text(Role::User, id);
    message.id = id.into();
    message.into()
}

fn edit(id: &str, op: Op) -> Edit {
    Edit { id: id.into(), at: None, stage: Stage::User, reason: String::new(), freed: None, ops: vec![op] }
}

fn view(ids: &[&str]) -> View {
    let mut view = View::default();
    ids.iter().for_each(|id| view.push(said(id)));
    view
}

fn shown(view: &View) -> Vec<String> {
    view.messages().map(|m| m.to_text()).collect()
}

#[test]
fn edits_change_the_view_and_undo_brings_it_back() {
    let ops = [
        (Op::Remove { messages: vec!["b".into()] }, vec!["a", "c"]),
        (Op::Rewind { to: Some("a".into()) }, vec!["a"]),
        (Op::Rewind { to: None }, vec![]),
        (Op::Replace { message: "c".into(), block: 0, with: Block::text("x").into() }, vec!["a", "b", "x"]),
        (
            Op::Fold {
                first: "a".into(),
                last: "b".into(),
                with: Box::new(Message::text(Role::User, "a to b")),
            },
            vec!["a to b", "c"],
        ),
    ];
    for (op, expected) in ops {
        let mut view = view(&["a", "b", "c"]);
        view.edit(edit("e", op), Origin::default());
        assert_eq!(shown(&view), expected);
        view.edit(edit("undo", Op::Undo { edit: "e".into() }), Origin::default());
        assert_eq!(shown(&view), ["a", "b", "c"]);
        view.edit(edit("redo", Op::Undo { edit: "undo".into() }), Origin::default());
        assert_eq!(shown(&view), expected, "undoing an undo redoes");
    }
}

#[test]
fn a_view_can_forget_what_lies_behind_its_newest_checkpoint() {
    let mut view = view(&["a", "b"]);
    let kept = view.entries()[1].clone();
    view.replace(&checkpoint("k", &kept), vec![kept]);
    view.push(said("c"));
    view.edit(edit("e", Op::Remove { messages: vec!["c".into()] }), Origin::default());
    view.rebase();
    assert_eq!(shown(&view), ["b"]);
    assert_eq!(view.base_checkpoint(), Some(&"k".into()));
    // What is newer can still be undone; what is older needs the ledger.
    view.edit(edit("undo", Op::Undo { edit: "e".into() }), Origin::default());
    assert_eq!(shown(&view), ["b", "c"]);
    assert!(!view.is_stale());
    view.edit(edit("back", Op::Undo { edit: "k".into() }), Origin::default());
    assert!(view.is_stale());
    // Behind an undo nothing is forgotten.
    view.rebase();
    assert!(view.is_stale());
}

fn checkpoint(id: &str, kept: &Entry) -> Checkpoint {
    Checkpoint {
        id: id.into(),
        at: None,
        strategy: "notes".into(),
        trigger: String::new(),
        tokens_before: None,
        tokens_after: None,
        check: None,
        preserved: None,
        items: vec![kept.to_item()],
    }
}

#[test]
fn a_checkpoint_can_be_undone_and_later_words_stay() {
    let mut view = view(&["a", "b"]);
    let kept = view.entries()[1].clone();
    let checkpoint = checkpoint("k", &kept);
    view.replace(&checkpoint, vec![kept]);
    view.push(said("c"));
    assert_eq!(shown(&view), ["b", "c"]);
    view.edit(edit("undo", Op::Undo { edit: "k".into() }), Origin::default());
    assert_eq!(shown(&view), ["a", "b", "c"]);
}

#[test]
fn what_lies_behind_the_base_says_so() {
    let mut view = View::from_checkpoint("k".into(), vec![said("a")]);
    let behind = UndoError::BehindCheckpoint { edit: "older".into(), checkpoint: "k".into() };
    assert_eq!(view.check_undo(&"older".into()), Err(behind));
    assert_eq!(View::default().check_undo(&"x".into()), Err(UndoError::Unknown("x".into())));
    // The base itself can be undone; then the view must be resumed from further back.
    assert_eq!(view.check_undo(&"k".into()), Ok(()));
    view.edit(edit("u", Op::Undo { edit: "k".into() }), Origin::default());
    assert!(view.is_stale());
}

#[test]
fn an_edit_that_did_more_than_replace_is_not_half_undone_behind_a_checkpoint() {
    let mut first = view(&["a", "b"]);
    let replace = Op::Replace { message: "a".into(), block: 0, with: Block::text("cleared").into() };
    let mut mixed = edit("e", replace);
    mixed.ops.push(Op::Remove { messages: vec!["b".into()] });
    first.edit(mixed, Origin::default());
    let view = View::from_checkpoint("k".into(), first.entries().to_vec());
    assert!(view.check_undo(&"e".into()).is_err());
}

#[test]
fn undoing_again_goes_further_back() {
    let mut view = view(&["a", "b", "c"]);
    view.edit(edit("e1", Op::Remove { messages: vec!["a".into()] }), Origin::default());
    view.edit(edit("e2", Op::Remove { messages: vec!["b".into()] }), Origin::default());
    for (n, expected) in [["b", "c"].as_slice(), &["a", "b", "c"]].into_iter().enumerate() {
        let newest = view.newest_undoable().unwrap().clone();
        view.edit(edit(&format!("u{n}"), Op::Undo { edit: newest }), Origin::default());
        assert_eq!(shown(&view), expected);
    }
    assert_eq!(view.newest_undoable(), None);
}

#[test]
fn a_replacement_that_a_checkpoint_kept_can_still_be_undone() {
    let mut first = view(&["a"]);
    let replace = Op::Replace { message: "a".into(), block: 0, with: Block::text("cleared").into() };
    first.edit(edit("e", replace), Origin::default());
    let mut view = View::from_checkpoint("k".into(), first.entries().to_vec());
    assert_eq!(shown(&view), ["cleared"]);
    view.edit(edit("u", Op::Undo { edit: "e".into() }), Origin::default());
    assert_eq!(shown(&view), ["a"]);
}

#[test]
fn a_checkpoint_names_kept_messages_and_does_not_copy_them() {
    let mut entry = said("a");
    entry.origin.offset = 42;
    let item = serde_json::to_string(&entry.to_item()).unwrap();
    assert_eq!(item, r#"{"keep":{"id":"a","offset":42}}"#);
    assert_eq!(serde_json::from_str::<Item>(&item).unwrap(), entry.to_item());
}

#[derive(Clone, Debug)]
enum Step {
    Say(Box<Message>),
    Edit(Op),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = (0..8usize).prop_map(|n| MessageId::new(format!("m{n}")));
    let op = prop_oneof![
        proptest::collection::vec(id.clone(), 0..3).prop_map(|messages| Op::Remove { messages }),
        proptest::option::of(id.clone()).prop_map(|to| Op::Rewind { to }),
        id.clone().prop_map(|m| Op::Pin { messages: vec![m] }),
        id.clone().prop_map(|m| Op::Unpin { messages: vec![m] }),
        (id.clone(), 0..3usize).prop_map(|(message, block)| Op::Replace {
            message,
            block,
            with: Block::text("placeholder").into()
        }),
        (id.clone(), id).prop_map(|(first, last)| Op::Fold {
            first,
            last,
            with: Box::new(Message::text(Role::User, "folded"))
        }),
        (0..8usize).prop_map(|n| Op::Undo { edit: EditId::new(format!("e{n}")) }),
    ];
    let step = prop_oneof![message().prop_map(|m| Step::Say(Box::new(m))), op.prop_map(Step::Edit)];
    proptest::collection::vec(step, 0..16)
}

proptest! {
    #[test]
    fn undoing_every_edit_gives_back_everything_said(steps in steps()) {
        let mut view = View::default();
        let mut all = Vec::new();
        let mut edits = Vec::new();
        for (n, step) in steps.into_iter().enumerate() {
            match step {
                Step::Say(mut message) => {
                    message.id = format!("m{}", all.len()).into();
                    all.push(message.id.clone());
                    view.push((*message).into());
                }
                Step::Edit(op) => {
                    let id = format!("e{n}");
                    view.edit(edit(&id, op), Origin::default());
                    edits.push(id);
                }
            }
        }
        // Newest first, so that undos are taken back before what they undid.
        for id in edits.iter().rev() {
            let live = view.edits().any(|(e, live)| e.as_str() == id && live);
            if live {
                let undo = edit(&format!("undo-{id}"), Op::Undo { edit: id.as_str().into() });
                view.edit(undo, Origin::default());
            }
        }
        let left: Vec<_> = view.entries().iter().map(|e| e.message.id.clone()).collect();
        prop_assert_eq!(left, all);
        prop_assert!(view.entries().iter().all(|e| e.overlays.is_empty()));
    }
}

use super::{Fate, Story, fold};
use proptest::prelude::*;
use std::collections::HashSet;
use throughline_core::{
    Block, Checkpoint, Edit, EditId, Item, Message, MessageId, Op, Origin, Record, Role, Stage, View,
};

/// What happens to a conversation, by places in what there is at the time.
#[derive(Clone, Debug)]
enum Happens {
    Said,
    Told,
    Replace(usize),
    Remove(usize),
    Fold(usize, usize),
    Rewind(usize),
    Compact(usize),
    Undo(usize),
}

fn happens() -> impl Strategy<Value = Happens> {
    let place = 0..64_usize;
    prop_oneof![
        6 => Just(Happens::Said),
        1 => Just(Happens::Told),
        2 => place.clone().prop_map(Happens::Replace),
        1 => place.clone().prop_map(Happens::Remove),
        1 => (place.clone(), 0..4_usize).prop_map(|(at, more)| Happens::Fold(at, more)),
        1 => place.clone().prop_map(Happens::Rewind),
        1 => (0..4_usize).prop_map(Happens::Compact),
        2 => place.prop_map(Happens::Undo),
    ]
}

/// A ledger in which all of it happens, and its view.
fn ledger(all: Vec<Happens>) -> (Vec<(Origin, Record)>, View) {
    let mut records = Vec::new();
    let mut view = View::default();
    let mut changes: Vec<EditId> = Vec::new();
    for (number, happens) in all.into_iter().enumerate() {
        let ids: Vec<MessageId> = view.entries().iter().map(|entry| entry.message.id.clone()).collect();
        let at = |place: usize| ids.get(place % ids.len().max(1)).cloned();
        let mut message = Message::text(Role::User, format!("number {number}"));
        let op = match happens {
            Happens::Said | Happens::Told => {
                message.flags.meta = matches!(happens, Happens::Told);
                view.push(message.clone().into());
                records.push((Origin::default(), Record::Message(Box::new(message))));
                continue;
            }
            Happens::Compact(keep) => {
                message.flags.summary = true;
                let kept = view.entries().iter().skip(ids.len().saturating_sub(keep)).cloned();
                let entries: Vec<_> = std::iter::once(message.clone().into()).chain(kept).collect();
                let items = entries.iter().skip(1).map(throughline_core::Entry::to_item);
                let items = std::iter::once(Item::New(Box::new(message))).chain(items).collect();
                let checkpoint = Checkpoint {
                    id: EditId::fresh(),
                    at: None,
                    strategy: "summary".to_owned(),
                    trigger: String::new(),
                    tokens_before: None,
                    tokens_after: None,
                    check: None,
                    preserved: None,
                    items,
                };
                changes.push(checkpoint.id.clone());
                view.replace(&checkpoint, entries);
                records.push((Origin::default(), Record::Checkpoint(Box::new(checkpoint))));
                continue;
            }
            Happens::Replace(place) => at(place).map(|message| Op::Replace {
                message,
                block: 0,
                with: Box::new(Block::text("short")),
            }),
            Happens::Remove(place) => at(place).map(|id| Op::Remove { messages: vec![id] }),
            Happens::Fold(place, more) => {
                let first = place % ids.len().max(1);
                let last = (first + more).min(ids.len().saturating_sub(1));
                at(first).zip(at(last)).map(|(first, last)| Op::Fold { first, last, with: Box::new(message) })
            }
            Happens::Rewind(place) => at(place).map(|id| Op::Rewind { to: Some(id) }),
            Happens::Undo(place) => {
                changes.get(place % changes.len().max(1)).cloned().map(|edit| Op::Undo { edit })
            }
        };
        let Some(op) = op else { continue };
        let edit = Edit {
            id: EditId::fresh(),
            at: None,
            stage: Stage::User,
            reason: String::new(),
            freed: None,
            ops: vec![op],
        };
        changes.push(edit.id.clone());
        view.edit(edit.clone(), Origin::default());
        records.push((Origin::default(), Record::Edit(Box::new(edit))));
    }
    (records, view)
}

fn shown(story: &Story) -> Vec<MessageId> {
    let seen = |fate| match fate {
        Fate::AsSaid | Fate::Replaced | Fate::Ours => true,
        Fate::Condensed | Fate::Dropped => false,
    };
    story.lines.iter().filter(|line| seen(line.fate)).map(|line| line.message.id.clone()).collect()
}

proptest! {
    #[test]
    fn a_story_shows_what_the_view_shows_and_accounts_for_the_rest(all in prop::collection::vec(happens(), 0..60)) {
        let (records, view) = ledger(all);
        let said: HashSet<MessageId> = records.iter().filter_map(|(_, record)| match record {
            Record::Message(message) => (!message.flags.meta).then(|| message.id.clone()),
            Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Edit(_) | Record::Checkpoint(_)
            | Record::Card(_) => None,
        }).collect();
        let story = fold::tell(records);
        let seen: Vec<MessageId> = view.entries().iter().map(|entry| entry.message.id.clone()).collect();
        let told: HashSet<MessageId> = shown(&story).into_iter().collect();
        prop_assert_eq!(&told, &seen.iter().cloned().collect::<HashSet<_>>());
        // Everything that was said is there once, or was left behind by the client.
        let lines: Vec<&MessageId> = story.lines.iter().map(|line| &line.message.id).collect();
        prop_assert_eq!(lines.len(), lines.iter().collect::<HashSet<_>>().len());
        let of_client = lines.iter().filter(|id| said.contains(**id)).count() as u64;
        prop_assert_eq!(of_client + story.left, said.len() as u64);
        // A change that took something away is named, and is in force.
        for line in &story.lines {
            let by = line.by.as_ref().map(|by| story.changes.iter().find(|change| change.id() == by).unwrap());
            match line.fate {
                Fate::Replaced | Fate::Condensed | Fate::Dropped => prop_assert!(by.unwrap().is_live),
                Fate::AsSaid | Fate::Ours => prop_assert!(by.is_none()),
            }
        }
    }
}

#[test]
fn what_a_fold_took_stands_behind_its_placeholder() {
    let messages: Vec<Message> = (0..4).map(|at| Message::text(Role::User, format!("{at}"))).collect();
    let mut placeholder = Message::text(Role::User, "two of them");
    placeholder.flags.summary = true;
    let edit = Edit {
        id: EditId::fresh(),
        at: None,
        stage: Stage::Collapse,
        reason: "too long".to_owned(),
        freed: Some(7),
        ops: vec![Op::Fold {
            first: messages[1].id.clone(),
            last: messages[2].id.clone(),
            with: Box::new(placeholder),
        }],
    };
    let mut records: Vec<(Origin, Record)> =
        messages.into_iter().map(|message| (Origin::default(), Record::Message(Box::new(message)))).collect();
    records.push((Origin::default(), Record::Edit(Box::new(edit))));
    let story = fold::tell(records);
    let told: Vec<(String, Fate)> =
        story.lines.iter().map(|line| (line.message.to_text(), line.fate)).collect();
    let told: Vec<(&str, Fate)> = told.iter().map(|(text, fate)| (text.as_str(), *fate)).collect();
    assert_eq!(
        told,
        [
            ("0", Fate::AsSaid),
            ("two of them", Fate::Ours),
            ("1", Fate::Condensed),
            ("2", Fate::Condensed),
            ("3", Fate::AsSaid)
        ]
    );
    let (passages, all) = story.passages(&story.changes[0], super::Length::LISTED);
    assert_eq!(all, 1);
    assert_eq!(passages[0].who, "2 messages");
    assert_eq!(passages[0].before, "user: 1\nuser: 2\n");
    assert_eq!(passages[0].after.as_deref(), Some("two of them"));
}

#[test]
fn what_was_told_names_its_sources() {
    let mut message = Message::text(Role::User, "what is remembered");
    message.flags.meta = true;
    let data = serde_json::json!({ "message": message.id, "memories": ["one.md", "two.md"], "sessions": 3 });
    let event = throughline_core::Event { at: None, name: "memory.told".to_owned(), data };
    let records = vec![
        (Origin::default(), Record::Message(Box::new(message.clone()))),
        (Origin::default(), Record::Event(Box::new(event))),
    ];
    let story = fold::tell(records);
    assert_eq!(story.sources(&message), ["one.md", "two.md"]);
    assert!(story.sources(&Message::text(Role::User, "another")).is_empty());
}

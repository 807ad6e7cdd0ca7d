//! A home in a temporary folder and the few words that tests need to fill it.

use jiff::Timestamp;
use throughline_core::{Edit, Item, Message, Meta, Op, Record, Role, SessionId, Stage, View};
use throughline_ledger::{Home, SyncPolicy, Writer, resume, session};

pub(crate) struct Scratch {
    pub(crate) home: Home,
    _dir: tempfile::TempDir,
}

pub(crate) fn scratch() -> Scratch {
    let dir = tempfile::tempdir().unwrap();
    Scratch { home: Home::new(dir.path().join("home")), _dir: dir }
}

pub(crate) fn time(n: i64) -> Timestamp {
    Timestamp::from_second(1_760_000_000 + n).unwrap()
}

pub(crate) fn meta(id: &str) -> Meta {
    let mut meta = Meta::new(SessionId::new(id), time(0), "throughline");
    meta.cwd = Some("/proj/orchard".into());
    meta
}

pub(crate) fn writer(home: &Home, id: &str) -> Writer {
    Writer::create(home, meta(id), SyncPolicy::Never).unwrap()
}

pub(crate) fn said(role: Role, id: &str) -> Message {
    let mut message = Message::text(role, format!("words of {id}"));
    message.id = id.into();
    message.at = Some(time(1));
    message
}

pub(crate) fn user(id: &str) -> Record {
    Record::Message(Box::new(said(Role::User, id)))
}

pub(crate) fn answer(id: &str) -> Record {
    Record::Message(Box::new(said(Role::Assistant, id)))
}

pub(crate) fn edit(id: &str, op: Op) -> Record {
    let ops = vec![op];
    Record::Edit(Box::new(Edit {
        id: id.into(),
        at: None,
        stage: Stage::User,
        reason: String::new(),
        freed: None,
        ops,
    }))
}

pub(crate) fn checkpoint(id: &str, items: Vec<Item>) -> Record {
    let mut checkpoint = session::checkpoint(time(2), "notes", "auto", items);
    checkpoint.id = id.into();
    Record::Checkpoint(Box::new(checkpoint))
}

pub(crate) fn summary(id: &str) -> Item {
    let mut message = said(Role::User, id);
    message.flags.summary = true;
    Item::New(Box::new(message))
}

pub(crate) fn ids(view: &View) -> Vec<String> {
    view.entries().iter().map(|entry| entry.message.id.to_string()).collect()
}

pub(crate) fn resumed_ids(home: &Home, writer: &Writer) -> Vec<String> {
    let resumed = resume(home, writer.path()).unwrap();
    assert_eq!(resumed.problems, []);
    ids(&resumed.view)
}

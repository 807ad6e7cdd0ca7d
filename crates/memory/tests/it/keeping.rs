//! Notes over the life of a session.

use crate::common::{House, begin, calls, counter, knowledge, offline, seen, session};
use serde_json::json;
use throughline_core::{Event, Message, Record, Role};
use throughline_memory::notes::{
    Author, Due, LastTurn, NotesLimits, NotesRecord, Observation, Thread, UPDATED, Update, Wording,
    text_hash, update,
};
use throughline_model::{CancelToken, Caps, Prefix, Tail, Wire};

async fn written(house: &House, messages: &[Message]) -> Event {
    let mut keeper = house.keeper();
    let job = begin(&mut keeper, messages);
    keeper.finish(offline(job, messages).await, None)
}

#[tokio::test]
async fn n2_due_then_under_way_then_not_due() {
    let house = House::new();
    let mut keeper = house.keeper();
    let messages = session();
    keeper.observe(seen(9_000, 3, LastTurn::Rests));
    assert_eq!(keeper.due(), None);
    keeper.observe(seen(11_000, 1, LastTurn::Rests));
    assert_eq!(keeper.due(), Some(Due::First));
    let job = begin(&mut keeper, &messages);
    assert_eq!(keeper.due(), None, "one runs");
    let updated = offline(job, &messages).await;
    assert!(keeper.is_running(), "until it is taken in");
    let event = keeper.finish(updated, None);
    let record = NotesRecord::from_event(&event).unwrap();
    assert_eq!((record.by, record.context_tokens), (Author::Offline, 11_000));
    assert_eq!(record.hash, text_hash(&house.text()));
    assert!(!keeper.is_running());
    keeper.observe(seen(15_999, 9, LastTurn::Rests));
    assert_eq!(keeper.due(), None);
    keeper.observe(seen(16_000, 0, LastTurn::Rests));
    assert_eq!(keeper.due(), Some(Due::Calls));
}

#[test]
fn a5_other_threads_have_no_notes() {
    let house = House::new();
    let mut keeper = house.keeper();
    keeper.observe(Observation { thread: Thread::Other, ..seen(90_000, 9, LastTurn::Rests) });
    assert_eq!(keeper.due(), None);
}

#[tokio::test]
async fn n5_the_boundary_moves_only_when_no_call_is_open() {
    let house = House::new();
    let mut keeper = house.keeper();
    let mut messages = session();
    let job = begin(&mut keeper, &messages);
    keeper.finish(offline(job, &messages).await, None);
    let first = messages.last().unwrap().id.clone();
    assert_eq!(keeper.notes().unwrap().unwrap().covers, Some(first.clone()));
    messages.push(Message::text(Role::User, "And now the docs."));
    messages.push(calls("c9", "Bash", json!({"command": "make docs"})));
    let job = begin(&mut keeper, &messages);
    keeper.finish(offline(job, &messages).await, None);
    let notes = keeper.notes().unwrap().unwrap();
    assert!(notes.text.contains("make docs"));
    assert_eq!(notes.covers, Some(first), "the call waits for its result");
}

#[tokio::test]
async fn n5_a_failed_update_moves_no_boundary() {
    let house = House::new();
    let mut keeper = house.keeper();
    let mut messages = session();
    let job = begin(&mut keeper, &messages);
    keeper.finish(offline(job, &messages).await, None);
    let first = messages.last().map(|message| message.id.clone());
    messages.push(Message::text(Role::User, "Go on."));
    let job = begin(&mut keeper, &messages);
    let failed = fail(job, &messages).await;
    assert_eq!(keeper.finish(failed, None).name, "notes.failed");
    assert_eq!(keeper.notes().unwrap().unwrap().covers, first);
}

/// An update by a model that can't be asked.
async fn fail(
    job: throughline_memory::notes::Job,
    messages: &[Message],
) -> throughline_memory::notes::Updated {
    let nowhere = throughline_testkit::Nowhere::new().unwrap();
    let provider = throughline_model::Provider {
        base_url: Some(nowhere.url().unwrap()),
        retries: throughline_model::Retries { attempts: 1, ..throughline_model::Retries::default() },
        ..throughline_model::Provider::new("test", Wire::Chat, "m")
    };
    let model = throughline_model::Http::new(&provider, &|_: &str| None).unwrap();
    let prefix =
        Prefix::new(Wire::Chat, br#"{"model":"m","messages":[{"role":"user","content":"Go."}]}"#.to_vec())
            .unwrap();
    let by = throughline_memory::ByModel {
        model: &model,
        prefix: &prefix,
        since: &[],
        caps: &Caps { turns: 1, ..Caps::default() },
        price: &throughline_core::cost::Price::unknown(),
        tail: Tail::default(),
        cancel: CancelToken::new(),
    };
    update(Update { job, model: Some(by), knowledge: &knowledge(messages), counter: &mut counter() }).await
}

#[tokio::test]
async fn after_failures_in_a_row_the_offline_scribe_writes_and_the_model_gets_another_chance() {
    let house = House::new();
    let limits = NotesLimits { failures: 2, ..NotesLimits::default() };
    let mut keeper = house.keeper_with(Wording::default(), limits, &[]);
    let messages = session();
    let mut authors = Vec::new();
    for _ in 0..8 {
        let author = keeper.author();
        let job = begin(&mut keeper, &messages);
        let updated = match author {
            Author::Model => fail(job, &messages).await,
            Author::Offline => offline(job, &messages).await,
        };
        keeper.finish(updated, None);
        authors.push(author);
    }
    use Author::{Model, Offline};
    assert_eq!(authors, [Model, Model, Offline, Offline, Model, Offline, Offline, Model]);
}

#[tokio::test]
async fn n7_resume_finds_the_boundary_by_the_files_hash() {
    let house = House::new();
    let messages = session();
    let event = written(&house, &messages).await;
    // Through the ledger's own form.
    let mut line = Vec::new();
    Record::Event(Box::new(event)).write(&mut line).unwrap();
    let Record::Event(event) = Record::parse(&line).unwrap() else { panic!("an event") };
    let other = Event { name: "usage".to_owned(), ..(*event).clone() };
    let mut stale = (*event).clone();
    stale.data["hash"] = "0000".into();
    stale.data["covers"] = "elsewhere".into();
    let nonsense = Event { data: json!({"hash": 3}), ..(*event).clone() };
    let events = [other, stale, nonsense, *event];
    let keeper = house.keeper_with(Wording::default(), NotesLimits::default(), &events);
    let notes = keeper.notes().unwrap().unwrap();
    assert_eq!(notes.covers.as_ref(), messages.last().map(|message| &message.id));
    assert_eq!(notes.text, house.text());
}

#[tokio::test]
async fn p5a_notes_that_somebody_changed_have_no_boundary() {
    let house = House::new();
    let messages = session();
    let event = written(&house, &messages).await;
    let changed = house.text() + "By hand.\n";
    house.file.write(&changed).unwrap();
    let keeper = house.keeper_with(Wording::default(), NotesLimits::default(), &[event]);
    let notes = keeper.notes().unwrap().unwrap();
    assert_eq!((notes.text, notes.covers), (changed, None));
}

#[tokio::test]
async fn p5a_a_boundary_that_left_the_view_is_unknown() {
    let house = House::new();
    let mut keeper = house.keeper();
    let messages = session();
    let job = begin(&mut keeper, &messages);
    keeper.finish(offline(job, &messages).await, None);
    keeper.compacted(|id| messages.iter().any(|message| message.id == *id));
    assert!(keeper.notes().unwrap().unwrap().covers.is_some());
    keeper.compacted(|_| false);
    assert!(keeper.notes().unwrap().unwrap().covers.is_none());
}

#[test]
fn p5a_no_notes_and_the_empty_template_are_no_notes() {
    let house = House::new();
    let keeper = house.keeper();
    assert_eq!(keeper.notes().unwrap(), None);
    house.file.write(Wording::default().template.text()).unwrap();
    assert_eq!(keeper.notes().unwrap(), None);
    assert_eq!(house.keeper().due(), None);
}

#[test]
fn records_read_back_what_they_wrote() {
    let record = NotesRecord {
        covers: Some("m-1".into()),
        tokens: 7,
        context_tokens: 8,
        hash: "h".to_owned(),
        by: Author::Model,
        receipt: Some("r-1".to_owned()),
    };
    let event = record.to_event(None);
    assert_eq!((event.name.as_str(), &event.data["covers"]), (UPDATED, &json!("m-1")));
    assert_eq!(NotesRecord::from_event(&event), Some(record));
}

use super::*;
use crate::manage::Purpose;
use serde_json::json;

fn recognised(client: &str) -> Recognised {
    Recognised {
        wire: Wire::Chat,
        client: Client::Other(client.to_owned()),
        client_version: None,
        session: None,
        client_session: None,
        agent: None,
        parent: None,
        purpose: Purpose::Turn,
    }
}

fn body(texts: &[&str]) -> Body {
    let messages: Vec<_> = texts
        .iter()
        .enumerate()
        .map(|(at, text)| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": text}))
        .collect();
    Body::parse(Wire::Chat, json!({"messages": messages}).to_string()).unwrap()
}

/// Begins a conversation and answers it.
fn begin(lineage: &Lineage, opening: &str, answer: Option<&str>) -> Place {
    let who = recognised("talker");
    let place = Place { key: ThreadKey::fresh(&who.client), created: Timestamp::UNIX_EPOCH, opening: 1 };
    let first = body(&[opening]);
    lineage.begin(&who, &place, Some(&first)).unwrap();
    if let Some(answer) = answer {
        let tip = content_id(None, &first.message(0).unwrap());
        let mut said = body(&[opening, answer]).message(1).unwrap();
        said.id = content_id(Some(&tip), &said);
        lineage.answered(&place.key, Some(&tip), &[said]);
    }
    place
}

fn find(lineage: &Lineage, client: &str, texts: &[&str]) -> Option<Place> {
    lineage.unnamed(&recognised(client), &body(texts), &|_| false)
}

#[test]
fn what_the_model_said_tells_conversations_apart() {
    let folder = tempfile::tempdir().unwrap();
    let lineage = Lineage::new(&Home::new(folder.path()));
    let one = begin(&lineage, "hello", Some("Good day."));
    let two = begin(&lineage, "hello", Some("Hi."));
    assert_eq!(find(&lineage, "talker", &["hello", "Good day.", "and?"]), Some(one));
    assert_eq!(find(&lineage, "talker", &["hello", "Hi.", "and?"]), Some(two));
    assert_eq!(find(&lineage, "talker", &["hello"]), None, "both were answered");
    assert_eq!(find(&lineage, "other", &["hello", "Hi.", "and?"]), None, "another client's");
    assert_eq!(find(&lineage, "talker", &["good morning", "Hi.", "and?"]), None);
}

#[test]
fn what_was_not_answered_may_be_tried_again_or_said_differently() {
    let folder = tempfile::tempdir().unwrap();
    let lineage = Lineage::new(&Home::new(folder.path()));
    let place = begin(&lineage, "hello", None);
    assert_eq!(find(&lineage, "talker", &["hello"]), Some(place.clone()));
    let busy = lineage.unnamed(&recognised("talker"), &body(&["hello"]), &|_| true);
    assert_eq!(busy, None, "it is being asked");
    // Somebody answered it after all.
    assert_eq!(find(&lineage, "talker", &["hello", "Hi.", "and?"]), Some(place.clone()));
    assert_eq!(find(&lineage, "talker", &["hello", "Hi.", "or?"]), Some(place));
    assert_eq!(find(&lineage, "talker", &["hello"]), None);
}

#[test]
fn servers_on_one_home_learn_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path());
    let (here, there) = (Lineage::new(&home), Lineage::new(&home));
    assert_eq!(find(&there, "talker", &["hello", "Hi.", "and?"]), None);
    let place = begin(&here, "hello", Some("Hi."));
    assert_eq!(find(&there, "talker", &["hello", "Hi.", "and?"]), Some(place.clone()));
    assert_eq!(there.named(&place.key), Some(place));
}

#[test]
fn the_index_is_bounded_and_a_broken_line_costs_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::new(folder.path());
    let place = begin(&Lineage::new(&home), "hello", Some("Hi."));
    let file = folder.path().join("proxy/conversations.jsonl");
    let mut text = std::fs::read_to_string(&file).unwrap();
    text.insert_str(0, "no line\n");
    for number in 0..MOST {
        let created = Timestamp::from_second(number as i64 + 1).unwrap();
        let line = json!({"key": format!("k{number}"), "created": created, "client": "x", "wire": "chat"});
        text += &format!("{line}\n");
    }
    std::fs::write(&file, text).unwrap();
    let lineage = Lineage::new(&home);
    assert_eq!(lineage.named(&place.key), None, "the oldest is forgotten");
    // Unless it has a ledger, for this process and for later ones.
    let old = ThreadKey::named(&Client::Codex, Wire::Responses, "t-1", None);
    let path = home.ledger_path(place.created, &old.session());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, "").unwrap();
    let found = Lineage::new(&home).named(&old).map(|place| place.path(&home));
    assert_eq!(found, Some(path));
    assert!(lineage.named(&ThreadKey::known("k0")).is_some());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), MOST);
}

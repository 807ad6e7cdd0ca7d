use crate::common::{answer, scratch, user, writer};
use throughline_core::Record;
use throughline_ledger::{SyncPolicy, TAIL, Writer, list, newest_card, session};

#[test]
fn l6_title_and_tags_stay_in_the_last_16_kb_whatever_is_appended() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.update_card(|card| card.title = Some("Orchard".into())).unwrap();
    for n in 0..200 {
        let mut message = crate::common::said(throughline_core::Role::User, &format!("m{n}"));
        message.blocks.push(throughline_core::Block::text("x".repeat(n * 97 % 20_000)));
        w.append(&[Record::Message(Box::new(message))]).unwrap();
        let file = std::fs::File::open(w.path()).unwrap();
        let (at, card) = newest_card(&file, w.path(), w.end()).unwrap().unwrap();
        assert!(w.end() - at <= TAIL, "the card begins {} bytes before the end", w.end() - at);
        assert_eq!(card.title.as_deref(), Some("Orchard"));
    }
}

#[test]
fn l5_the_list_shows_newest_first_with_counts_and_first_words() {
    let s = scratch();
    let mut a = writer(&s.home, "a");
    a.append(&[user("hello"), answer("b")]).unwrap();
    let path = a.path().to_owned();
    drop(a);
    session::set_title(&s.home, &path, Some("Named".into())).unwrap();
    session::change_tags(&s.home, &path, &["x".into(), "y".into()], &[]).unwrap();
    session::change_tags(&s.home, &path, &["x".into()], &["y".into()]).unwrap();
    writer(&s.home, "empty");

    let listed = list(&s.home).unwrap();
    let shown: Vec<_> = listed.iter().map(|l| l.card.session.as_ref().unwrap().as_str()).collect();
    assert_eq!(shown, ["a", "empty"]);
    let card = &listed[0].card;
    assert_eq!(card.prompt.as_deref(), Some("words of hello"));
    assert_eq!((card.messages, card.turns), (2, 1));
    assert_eq!((card.title.as_deref(), card.tags.as_slice()), (Some("Named"), &["x".to_owned()][..]));
}

#[test]
fn l6_a_crash_before_the_first_card_leaves_a_session_that_lists_and_opens() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    // As if the process had died after the first line.
    let text = std::fs::read_to_string(&path).unwrap();
    let first: String = text.lines().take(1).map(|line| format!("{line}\n")).collect();
    std::fs::write(&path, first).unwrap();
    let listed = list(&s.home).unwrap();
    assert_eq!(listed[0].card.session.as_ref().unwrap().as_str(), "s");
    let mut w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
    w.append(&[user("b")]).unwrap();
    assert_eq!(w.card().turns, 1);
}

#[test]
fn counts_that_a_crash_left_out_of_the_card_are_made_good_on_opening() {
    let s = scratch();
    let mut w = writer(&s.home, "s");
    w.append(&[user("a"), answer("b"), user("c")]).unwrap();
    let path = w.path().to_owned();
    drop(w);
    let w = Writer::open(&s.home, &path, SyncPolicy::Never).unwrap();
    assert_eq!((w.card().messages, w.card().turns), (3, 2));
}

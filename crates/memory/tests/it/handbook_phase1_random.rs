//! Whatever was said and taken back, and however much of it (H2).

use crate::common::gives;
use crate::extract_common::{assistant, user};
use crate::handbook_phase1_common::{House, Small, answer, hours_ago, now};
use proptest::prelude::*;
use throughline_core::{Message, MessageId, Meta, Record, SessionId};
use throughline_ledger::{SyncPolicy, Writer, resume, session};
use throughline_memory::handbook::phase1::KeptMessages;
use throughline_model::Wire;
use throughline_testkit::{Reply, Server};

/// Something that happens to a session.
#[derive(Clone, Debug)]
enum Step {
    Say,
    Answer,
    Back(usize),
    Undo,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![4 => Just(Step::Say), 3 => Just(Step::Answer), 2 => (1_usize..4).prop_map(Step::Back), 1 => Just(Step::Undo)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn h2_what_counts_is_what_the_view_shows_where_only_people_changed_it(steps in prop::collection::vec(step(), 1..24), forks in any::<bool>()) {
        let house = House::new();
        let mut path = house.session("s", 7, &[user("begin"), assistant("yes")]);
        if forks {
            let fork = session::fork(&house.home, &path, None, now()).unwrap();
            path = fork.path().to_owned();
        }
        for (at, step) in steps.iter().enumerate() {
            match step {
                Step::Say => house.append(&path, &[Record::Message(Box::new(user(&format!("say {at}"))))]),
                Step::Answer => house.append(&path, &[Record::Message(Box::new(assistant(&format!("answer {at}"))))]),
                // Some can't be done, and then nothing happens.
                Step::Back(turns) => drop(session::rollback(&house.home, &path, *turns, now())),
                Step::Undo => drop(session::undo(&house.home, &path, None, now())),
            }
        }
        let (kept, reader) = house.kept(&path);
        let view = resume(&house.home, &path).unwrap().view;
        let shown: Vec<&MessageId> =
            view.entries().iter().filter(|entry| entry.origin.session.is_none()).map(|entry| &entry.message.id).collect();
        prop_assert_eq!(kept.iter().map(|message| &message.id).collect::<Vec<_>>(), shown);
        prop_assert_eq!(reader.tally().kept as usize, kept.len());
    }

    #[test]
    fn h2_any_answer_of_a_model_gives_only_what_the_session_bears_out(raw in "(## Preferences\n|## Procedures\n|## Tasks\n|- |\\[m[0-9]{1,2}\\]|\"never push\"|`ls`|push|always |\n|[a-z ]{1,9}){0,40}") {
        let house = House::new();
        let messages = [user("Please never push to main."), assistant("ok"), gives("c", "always push to main")];
        let path = house.session("s", 7, &messages);
        let server = Server::start(Reply::from(answer(&raw, "It was done.", "x").as_str())).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let small = Small::new(Wire::Chat, &server);
        let read = runtime.block_on(house.read("s", &path, small.reader(), false)).unwrap();
        crate::handbook_phase1_common::assert_borne_out(&read, &messages);
        for finding in crate::handbook_phase1_common::findings(&read) {
            prop_assert!(finding.text.chars().count() <= 401 && !finding.text.contains('\n'));
            if finding.kind == throughline_memory::handbook::FindingKind::Preference {
                prop_assert_eq!(&finding.text, "Please never push to main.");
            }
        }
    }
}

#[tokio::test]
#[ignore = "writes and reads 300 MB"]
async fn h2_a_session_of_300_mb_is_read_offline_and_in_sections() {
    let house = House::new();
    let meta = Meta::new(SessionId::new("large"), hours_ago(9), "throughline");
    let mut writer = Writer::create(&house.home, meta, SyncPolicy::Never).unwrap();
    let result = "src/a.rs:12: running some::module::case ... ok\n".repeat(400);
    let mut said: Vec<Message> = Vec::new();
    while writer.end() < 300 << 20 {
        let n = said.len();
        said = vec![
            user(&format!("In this project, never use tool-{n}.")),
            gives("c", &result),
            assistant("Done."),
        ];
        let records: Vec<Record> =
            said.iter().cloned().map(|message| Record::Message(Box::new(message))).collect();
        writer.append(&records).unwrap();
    }
    writer.update_card(|_| {}).unwrap();
    let path = writer.path().to_owned();
    drop(writer);
    let mut kept = KeptMessages::open(&house.home, &path).unwrap();
    while kept.next_message().unwrap().is_some() {}
    assert!(kept.tally().kept > 30_000 && kept.bytes() > 300 << 20);
    assert!(house.offline("large", &path).await.is_ok());
    let server = Server::start(Reply::from(answer("", "", "").as_str())).unwrap();
    let read =
        house.read("large", &path, Small::new(Wire::Anthropic, &server).reader(), false).await.unwrap();
    assert_eq!((server.count(), read.extracted.extraction), (12, None));
    assert!(read.left_out > 0);
}

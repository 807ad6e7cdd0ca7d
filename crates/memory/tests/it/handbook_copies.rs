//! One conversation of a client in two ledgers, by way of the proxy and imported: it is learnt from once.

use crate::extract_common::{assistant, user};
use crate::handbook_phase1_common::{House, hours_ago, now};
use crate::store_kit::{World, extracts};
use serde_json::{Value, json};
use throughline_core::{ClientSession, MemoryMode, Message, Meta, SessionId};
use throughline_ledger::{list, session_of};
use throughline_memory::handbook::phase1::{
    Eligibility, Ineligible, Phase1, eligible, extract_session, wanted,
};
use throughline_memory::handbook::{HandbookLimits, Scope};
use throughline_memory::store::{Claim, Held, JobKey};

const SESSION: &str = "5e551011-0000-4000-8000-0000000000aa";
const PROXIED: &str = "0b7d1f8e-5a51-5c43-9d67-000000000001";
const RULE: &str = "Never commit without running `cargo fmt` first.";

/// The ledger that a proxy makes of a session.
fn by_proxy(house: &House, hours: i64, said: &[Message]) -> std::path::PathBuf {
    let meta = Meta {
        client_session: Some(ClientSession::new("claude", SESSION, None)),
        cwd: Some("/proj/demo".to_owned()),
        ..Meta::new(SessionId::new(PROXIED), hours_ago(hours + 1), "claude")
    };
    house.session_with(meta, hours, said)
}

/// The client's transcript of it: so many turns.
fn transcript(turns: usize) -> Vec<Value> {
    let uuid = |n: usize| format!("00000000-0000-4000-8000-{n:012}");
    let line = |n: usize, role: &str, text: &str| {
        json!({"parentUuid": n.checked_sub(1).map(uuid), "isSidechain": false, "sessionId": SESSION, "cwd": "/proj/demo",
            "type": role, "uuid": uuid(n), "timestamp": format!("2026-03-01T0{n}:00:00Z"),
            "message": {"role": role, "content": [{"type": "text", "text": text}]}})
    };
    let said = [
        (RULE, "Understood."),
        ("And the tests?", "They pass."),
        ("Always use tabs in this repository.", "Yes."),
    ];
    let pairs = said.iter().take(turns).enumerate();
    pairs
        .flat_map(|(n, (ask, answer))| [line(2 * n, "user", ask), line(2 * n + 1, "assistant", answer)])
        .collect()
}

/// Reads what is to be read, as a worker does; the sessions that the store has learnt from.
async fn learn(house: &House, kit: &World) -> Vec<String> {
    let listed = list(&house.home).unwrap();
    let all = wanted(&house.home, &house.id, &listed, &Eligibility::everything(now()));
    kit.store.enqueue(&all).await.unwrap();
    let limits = HandbookLimits::default();
    for lease in kit.claim(Claim { most: 10, home: house.id.clone(), ..extracts("w") }).await {
        let (JobKey::Extract(session), Some(place)) = (&lease.job, &lease.at) else { panic!("{lease:?}") };
        let job = Phase1 {
            home: &house.home,
            session,
            place,
            model: None,
            or_offline: false,
            limits: &limits,
            now: now(),
        };
        let extracted = extract_session(job).await.unwrap();
        assert_eq!(kit.store.finish_extract(&lease, &extracted).await.unwrap(), Held::Held);
    }
    kit.sessions(&Scope::Global, None).await
}

#[tokio::test]
async fn h2_a_session_of_the_proxy_and_its_transcript_are_learnt_from_once() {
    let house = House::new();
    let kit = World::sqlite().await.unwrap();
    // Imported first, then gone on with through the proxy, which is sent all of it.
    house.import(&format!("{SESSION}.jsonl"), &transcript(1));
    assert_eq!(learn(&house, &kit).await, [SESSION]);
    let proxied = by_proxy(
        &house,
        5,
        &[user(RULE), assistant("Understood."), user("And the tests?"), assistant("They pass.")],
    );
    assert_eq!(learn(&house, &kit).await, [PROXIED], "in place of the other");
    assert_eq!(learn(&house, &kit).await, [PROXIED]);
    // It went on without the proxy: now the transcript is the fuller one.
    house.import(&format!("{SESSION}.jsonl"), &transcript(3));
    assert_eq!(learn(&house, &kit).await, [SESSION]);
    // And with it again.
    let more = ["Always use tabs in this repository.", "One more thing."].map(user);
    let records: Vec<_> =
        more.into_iter().map(|one| throughline_core::Record::Message(Box::new(one))).collect();
    house.append(&proxied, &records);
    house.change_card(&proxied, |card| card.updated = Some(hours_ago(1)));
    assert_eq!(learn(&house, &kit).await, [PROXIED]);
    assert!(kit.job(&JobKey::Extract(SESSION.into())).await.is_none(), "nothing waits to be learnt again");
}

#[test]
fn h7_what_is_said_of_one_ledger_of_a_session_goes_for_the_other() {
    let house = House::new();
    house.import(&format!("{SESSION}.jsonl"), &transcript(3));
    let proxied = by_proxy(&house, 5, &[user(RULE), assistant("Understood.")]);
    let judged = |by: &Eligibility| {
        let listed = list(&house.home).unwrap();
        let (chosen, others) = eligible(&listed, by);
        (chosen.iter().map(|one| session_of(&one.path).unwrap().to_owned()).collect::<Vec<_>>(), others)
    };
    let all = Eligibility::everything(now());
    let (chosen, others) = judged(&all);
    assert_eq!((chosen, others), (vec![SESSION.to_owned()], [(Ineligible::Copy, 1)].into()));
    let held = Eligibility { current: Some(PROXIED.into()), ..all.clone() };
    assert_eq!(judged(&held).1, [(Ineligible::Current, 2)].into(), "it is being held");
    house.change_card(&proxied, |card| card.memory_mode = MemoryMode::Disabled);
    assert_eq!(judged(&all).1, [(Ineligible::Disabled, 2)].into());
}

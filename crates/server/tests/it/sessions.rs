//! Conversations are recognised, kept, and end up whole in their ledgers.

use crate::kit::{Asking, Reply, World, proxy_before};
use crate::talk::{Talk, messages, nobody_writes, records, view, views};
use crate::too_long::conversation;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use throughline_core::{Edit, Record, Role, Wire};
use throughline_ledger::{Home, list};
use throughline_server::Running;
use throughline_testkit::{Answer, Fault, Playlist, Reply as Said, Seen, Server};

/// An answer that says what it answers.
fn echo(seen: &Seen) -> Said {
    Answer::text(format!("You said: {}", seen.last_user_text())).into()
}

/// Another server on the same home.
async fn again(provider: &Server, home: &Home) -> Running {
    let home = home.clone();
    proxy_before(provider.address(), move |settings| settings.home = home).await.0
}

fn only(home: &Home) -> std::path::PathBuf {
    let ledgers = home.ledgers().unwrap();
    assert_eq!(ledgers.len(), 1, "one conversation, one ledger");
    ledgers[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_first_words_twice_are_two_conversations() {
    let world = World::new(echo).await;
    let proxy = world.proxy.address();
    let (mut one, mut two) = (Talk::default(), Talk::default());
    one.say(proxy, "hello").await;
    two.say(proxy, "hello").await;
    one.say(proxy, "first").await;
    two.say(proxy, "second").await;
    one.say(proxy, "and on").await;
    let home = world.home.clone();
    world.proxy.stop().await;
    let mut said = vec![one.texts(), two.texts()];
    said.sort();
    assert_eq!(views(&home), said);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_failed_and_is_tried_again_is_the_same_conversation() {
    let world = World::new(Playlist::new().then(Fault::Overloaded).forever(Answer::text("Good day."))).await;
    let mut talk = Talk::default();
    talk.messages.push(json!({"role": "user", "content": "hello"}));
    assert_ne!(talk.ask(world.proxy.address()).await.status, 200);
    assert_eq!(talk.ask(world.proxy.address()).await.status, 200);
    let home = world.home.clone();
    world.proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), ["hello", "Good day."]);
}

#[tokio::test(flavor = "multi_thread")]
async fn examples_before_a_question_do_not_make_questions_one_conversation() {
    let world = World::new(echo).await;
    for question in ["one?", "two?"] {
        let examples = [("user", "2+2?"), ("assistant", "4")];
        let mut talk = Talk {
            messages: examples.iter().map(|(role, text)| json!({"role": role, "content": text})).collect(),
        };
        talk.say(world.proxy.address(), question).await;
    }
    let home = world.home.clone();
    world.proxy.stop().await;
    assert_eq!(views(&home).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn going_back_is_a_branch_in_the_same_ledger() {
    let world = World::new(echo).await;
    let proxy = world.proxy.address();
    let mut talk = Talk::default();
    talk.say(proxy, "hello").await;
    talk.say(proxy, "left").await;
    let left = talk.texts();
    talk.messages.truncate(2);
    talk.say(proxy, "right").await;
    let home = world.home.clone();
    world.proxy.stop().await;
    let path = only(&home);
    assert_eq!(view(&home, &path), talk.texts());
    let held: Vec<String> = messages(&home, &path).iter().map(|message| message.to_text()).collect();
    assert!(held.contains(&left[2]), "what was left is still there: {held:?}");
    assert!(records(&home, &path).iter().any(|record| matches!(record, Record::Event(event)
        if event.name == "proxy.unrepeated" && event.data.to_string().contains("You said: left"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_goes_on_after_a_restart_a_crash_and_without_the_index() {
    let world = World::new(echo).await;
    let home = world.home.clone();
    let mut talk = Talk::default();
    talk.say(world.proxy.address(), "hello").await;
    talk.say(world.proxy.address(), "more").await;
    drop(world.proxy);
    nobody_writes(&home).await;
    let held = messages(&home, &only(&home));
    assert_eq!(held.len(), 3, "what was acknowledged is there");
    let proxy = again(&world.provider, &home).await;
    talk.say(proxy.address(), "after a crash").await;
    proxy.stop().await;
    std::fs::remove_file(home.root().join("proxy/conversations.jsonl")).unwrap();
    let proxy = again(&world.provider, &home).await;
    talk.say(proxy.address(), "without the index").await;
    proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), talk.texts());
    let index = std::fs::metadata(home.root().join("proxy/conversations.jsonl")).unwrap();
    assert_eq!(index.permissions().mode() & 0o777, 0o600);
}

fn claude(session: &str, messages: &Value) -> Asking {
    let body = json!({"model": "claude-opus-4-5", "max_tokens": 32000, "messages": messages,
        "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}]});
    Asking::post("/v1/messages?beta=true", body.to_string())
        .header("x-claude-code-session-id", session)
        .header("User-Agent", "claude-cli/2.1.325 (external, sdk-cli)")
}

const ENVIRONMENT: &str = "# Environment\nYou are here: \n - Primary working directory: /home/me/shop\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_by_the_client_is_a_branch_in_the_same_ledger() {
    let world = World::new(echo).await;
    let old = json!([{"role": "user", "content": "build it"}, {"role": "system", "content": ENVIRONMENT},
        {"role": "assistant", "content": "It is built."}, {"role": "user", "content": "test it"}]);
    assert_eq!(world.ask(claude("s-1", &old)).await.status, 200);
    let new = json!([{"role": "user", "content": "This session is being continued. Summary: it is built."},
        {"role": "user", "content": "go on"}]);
    assert_eq!(world.ask(claude("s-1", &new)).await.status, 200);
    let home = world.home.clone();
    world.proxy.stop().await;
    let path = only(&home);
    let held: Vec<String> = messages(&home, &path).iter().map(|message| message.to_text()).collect();
    assert!(held.contains(&"test it".to_owned()) && held.contains(&"go on".to_owned()), "{held:?}");
    let shown = view(&home, &path);
    assert!(shown[0].starts_with("This session is being continued"), "{shown:?}");
    assert_eq!(shown[1..], ["go on", "You said: go on"]);
    assert!(
        records(&home, &path)
            .iter()
            .any(|record| matches!(record, Record::Edit(edit) if edit.reason == Edit::GOES_ON_ELSEWHERE))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_shows_who_spoke_where_and_with_which_model_and_a_sub_agent_has_its_own() {
    let world = World::new(echo).await;
    let said =
        json!([{"role": "user", "content": "build the shop"}, {"role": "system", "content": ENVIRONMENT}]);
    world.ask(claude("s-1", &said)).await;
    world.ask(claude("s-1", &said).header("x-claude-code-agent-id", "a1")).await;
    // What is no turn leaves no trace.
    let title = json!({"model": "m", "max_tokens": 20, "messages": [{"role": "user", "content": "title?"}]});
    world
        .ask(Asking::post("/v1/messages", title.to_string()).header("x-claude-code-session-id", "s-9"))
        .await;
    let home = world.home.clone();
    let snapshot = world.proxy.stop().await.unwrap();
    let listed = list(&home).unwrap();
    assert_eq!(listed.len(), 2);
    let main = listed.iter().find(|one| one.card.parent_session.is_none()).unwrap();
    let sub = listed.iter().find(|one| one.card.parent_session.is_some()).unwrap();
    assert_eq!(sub.card.parent_session, main.card.session);
    for one in [main, sub] {
        assert_eq!((one.card.client.as_str(), one.card.cwd.as_deref()), ("claude", Some("/home/me/shop")));
        assert_eq!(one.card.model.as_deref(), Some("claude-opus-4-5"));
        assert_eq!(one.card.prompt.as_deref(), Some("build the shop"));
    }
    assert_eq!(snapshot.sessions.len(), 2);
    assert!(snapshot.sessions.iter().all(|session| !session.awake && session.figures.requests == 1));
}

/// The last answer comes back in some form, or not at all, after the conversation came to rest.
async fn comes_back(change: impl FnOnce(&mut Talk)) {
    let world = World::new(echo).await;
    let home = world.home.clone();
    let mut talk = Talk::default();
    talk.say(world.proxy.address(), "hello").await;
    talk.say(world.proxy.address(), "more").await;
    world.proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), talk.texts(), "the last answer is in the ledger");
    let proxy = again(&world.provider, &home).await;
    change(&mut talk);
    talk.say(proxy.address(), "and then").await;
    let sent: Value = serde_json::from_slice(&world.provider.requests().last().unwrap().body).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap()[..], talk.messages[..talk.messages.len() - 1]);
    proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), talk.texts());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_answer_may_come_back_as_it_was() {
    comes_back(|_| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_answer_may_come_back_in_other_words() {
    comes_back(|talk| talk.messages[3]["content"] = "You said more.".into()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_answer_may_not_come_back_at_all() {
    comes_back(|talk| drop(talk.messages.pop())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_came_back_after_it_was_left_out_is_shown_again() {
    let world =
        World::new(Playlist::new().then("One.").then("Two.").then(Fault::Overloaded).forever("Three.")).await;
    let home = world.home.clone();
    let mut talk = Talk::default();
    talk.say(world.proxy.address(), "hello").await;
    talk.say(world.proxy.address(), "more").await;
    world.proxy.stop().await;
    // Without the answer, and nobody answers; then with it.
    let proxy = again(&world.provider, &home).await;
    let whole = talk.messages.clone();
    talk.messages.pop();
    assert_ne!(talk.ask(proxy.address()).await.status, 200);
    proxy.stop().await;
    let proxy = again(&world.provider, &home).await;
    talk.messages = whole;
    talk.say(proxy.address(), "and then").await;
    let sent: Value = serde_json::from_slice(&world.provider.requests().last().unwrap().body).unwrap();
    assert_eq!(sent["messages"].as_array().unwrap().len(), 5);
    proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), talk.texts());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_idle_rests_lets_go_of_its_ledger_and_goes_on() {
    let world =
        World::with(echo, |settings| settings.limits.rest = std::time::Duration::from_millis(1)).await;
    let mut talk = Talk::default();
    for text in ["hello", "more", "and more"] {
        talk.say(world.proxy.address(), text).await;
        while world.proxy.snapshot().unwrap().sessions.iter().any(|session| session.awake) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        nobody_writes(&world.home).await;
    }
    let home = world.home.clone();
    world.proxy.stop().await;
    assert_eq!(view(&home, &only(&home)), talk.texts());
    let said = messages(&home, &only(&home));
    assert_eq!(said.len(), 6, "nothing is there twice");
    assert_eq!(said.iter().filter(|message| message.role == Role::Assistant).count(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_be_awake_are_not() {
    let world = World::with(echo, |settings| settings.limits.awake = 2).await;
    for number in 0..6 {
        Talk::default().say(world.proxy.address(), &format!("hello {number}")).await;
    }
    let awake = |snapshot: throughline_server::Snapshot| {
        snapshot.sessions.iter().filter(|session| session.awake).count()
    };
    while awake(world.proxy.snapshot().unwrap()) > 2 {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert_eq!(world.proxy.snapshot().unwrap().sessions.len(), 6);
}

fn usage(reply: &Reply) -> Value {
    let reply: Value = serde_json::from_slice(&reply.body).unwrap();
    reply["usage"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_requests_came_to_is_known_now_later_and_without_a_server() {
    let world = World::new(echo).await;
    let home = world.home.clone();
    let ask = |text: &str| claude("s-1", &json!([{"role": "user", "content": text}]));
    let reply = world.ask(ask("hello")).await;
    let input = usage(&reply)["input_tokens"].as_u64().unwrap();
    let snapshot = world.proxy.stop().await.unwrap();
    let one = &snapshot.sessions[0];
    assert_eq!(
        (one.figures.requests, one.figures.changed, one.figures.edits),
        (1, 1, 0),
        "Recall is offered"
    );
    assert_eq!(one.figures.usage.input, input);
    assert!(one.figures.dollars.as_f64() > 0.0 && one.figures.dollars_with.as_f64() > 0.0);
    let offered = one.figures.prompt_with - one.figures.prompt_without;
    assert!((100..400).contains(&offered), "our tool is counted as ours: {offered}");
    assert_eq!(one.model.as_deref(), Some("claude-opus-4-5"));
    let context = one.context.unwrap();
    assert_eq!((context.sent(), context.gone), (one.figures.prompt_with, 0));
    assert_eq!(snapshot.total, one.figures);
    let (stats, unread) = throughline_server::stats(&home, None).unwrap();
    assert!(unread.is_empty());
    assert_eq!((&stats.total, &stats.sessions[0].figures), (&snapshot.total, &snapshot.total));
    assert_eq!(stats.models.keys().collect::<Vec<_>>(), ["claude-opus-4-5"]);
    assert_eq!(stats.clients.keys().collect::<Vec<_>>(), ["claude"]);
    let later = stats.sessions[0].last.map(|last| last + std::time::Duration::from_secs(1));
    assert_eq!(throughline_server::stats(&home, later).unwrap().0.total.requests, 0);
    let proxy = again(&world.provider, &home).await;
    ask("and then").of(proxy.address()).await;
    let snapshot = proxy.stop().await.unwrap();
    assert_eq!(snapshot.sessions[0].figures.requests, 2, "earlier runs count");
    assert_eq!(snapshot.total.requests, 1, "this run alone");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_out_is_counted() {
    let world = World::with(echo, |settings| settings.manage.as_mut().unwrap().window = Some(16_000)).await;
    let body = conversation(Wire::Anthropic, 60);
    let ask = Asking::post("/v1/messages", body.to_string()).header("x-throughline-session", "one");
    assert_eq!(world.ask(ask).await.status, 200);
    let sent = world.provider.requests()[0].tokens;
    let snapshot = world.proxy.stop().await.unwrap();
    let one = &snapshot.sessions[0];
    assert!(one.figures.changed == 1 && one.figures.edits > 0, "{one:?}");
    assert!(one.figures.prompt_with < one.figures.prompt_without, "{one:?}");
    assert!(one.figures.saved().as_f64() > 0.0, "{one:?}");
    let context = one.context.unwrap();
    assert!(context.gone > 0 && context.summaries + context.shortened + context.told > 0, "{context:?}");
    assert_eq!(context.sent(), one.figures.prompt_with);
    assert!(one.figures.prompt_with.abs_diff(sent) * 10 < sent, "{} and {sent}", one.figures.prompt_with);
    assert!(one.window == Some(16_000) && one.threshold.is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_that_is_to_live_longer_costs_what_it_costs() {
    let world = World::new(echo).await;
    let text = "Some words that are worth keeping for a while. ".repeat(500);
    for (session, mark) in
        [("short", json!({"type": "ephemeral"})), ("long", json!({"type": "ephemeral", "ttl": "1h"}))]
    {
        let block = json!({"type": "text", "text": text, "cache_control": mark});
        world.ask(claude(session, &json!([{"role": "user", "content": [block]}]))).await;
    }
    let snapshot = world.proxy.stop().await.unwrap();
    // The one used last comes first.
    let [long, short] = &snapshot.sessions[..] else { panic!("{snapshot:?}") };
    assert_eq!(long.figures.prompt_with, short.figures.prompt_with);
    assert!(long.figures.dollars_with > short.figures.dollars_with, "{snapshot:?}");
}

//! What was changed can be had back, and stays.

use super::{Conversation, long_result, world, world_with};
use crate::kit::Asking;
use serde_json::{Value, json};
use throughline_core::profile::Profile;
use throughline_testkit::Answer;

async fn newest_edit(world: &crate::kit::World, id: &str) -> Value {
    world.value(&format!("/throughline/api/sessions/{id}/edits")).await["list"][0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_edit_is_gone_from_the_next_request_and_from_all_later_ones() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("undo");
    talk.say(&world, "show me the log", "Seen.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    assert!(!world.sent().to_string().contains("the-needle"), "put aside");
    let id = world.only_session().await;
    let edit = newest_edit(&world, &id).await;
    assert_eq!(
        (&edit["stage"], &edit["undo"], &edit["in_force"]),
        (&json!("budget"), &json!("possible"), &json!(true))
    );
    assert!(edit["passages"][0]["before"].as_str().unwrap().starts_with("line 0:"), "{edit}");

    let reply =
        world.tell(&format!("/throughline/api/sessions/{id}/undo"), json!({ "edit": edit["id"] })).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    for turn in 0..3 {
        talk.say(&world, &format!("go on {turn}"), "Seen.").await;
        let history = &talk.messages[..talk.messages.len() - 1];
        assert_eq!(world.sent()["messages"], json!(history), "turn {turn}: as the client has it");
    }
    // A restart changes nothing about it: the ledger remembers.
    let undone = newest_edit(&world, &id).await;
    assert_eq!(
        (&undone["stage"], &undone["undoes"], &undone["undo"]),
        (&json!("user"), &edit["id"], &json!("redo"))
    );
    assert_eq!(undone["reason"], format!("undid {} by a control call", edit["id"].as_str().unwrap()));
    assert_eq!(
        world.value(&format!("/throughline/api/sessions/{id}/edits")).await["all"],
        2,
        "no stage did it again"
    );

    let again =
        world.tell(&format!("/throughline/api/sessions/{id}/undo"), json!({ "edit": edit["id"] })).await;
    assert_eq!(again.status, 409, "{}", again.text());
    // And it can be redone.
    let redo =
        world.tell(&format!("/throughline/api/sessions/{id}/undo"), json!({ "edit": undone["id"] })).await;
    assert_eq!(redo.status, 200, "{}", redo.text());
    talk.say(&world, "and now?", "Seen.").await;
    assert!(!world.sent().to_string().contains("the-needle"), "put aside again");
    assert_eq!(world.value(&format!("/throughline/api/sessions/{id}/edits")).await["all"], 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_undone_compaction_leaves_what_it_took_in_place() {
    let mut profile = Profile::throughline();
    profile.collapse = None;
    let world = world_with(Answer::text("Seen."), |settings| {
        let managing = settings.manage.as_mut().unwrap();
        managing.profile = profile;
        managing.window = Some(60_000);
    })
    .await;
    let mut talk = Conversation::new("compaction");
    talk.say(&world, "please remember the-first-words", "Seen.").await;
    for turn in 0..40 {
        talk.say(&world, &format!("step {turn}: {}", "some words about the work ".repeat(500)), "Seen.")
            .await;
        if world.sent()["messages"].as_array().unwrap().len() < turn {
            break;
        }
    }
    let id = world.only_session().await;
    let edit = newest_edit(&world, &id).await;
    assert_eq!(edit["stage"], "autocompact", "{edit}");
    let condensed = world.value(&format!("/throughline/api/sessions/{id}")).await;
    assert!(condensed["context"]["condensed"]["messages"].as_u64().unwrap() > 0, "{}", condensed["context"]);
    let reply =
        world.tell(&format!("/throughline/api/sessions/{id}/undo"), json!({ "edit": edit["id"] })).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    for turn in 0..2 {
        talk.say(&world, &format!("go on {turn}"), "Seen.").await;
        let sent = world.sent();
        assert_eq!(sent["messages"].as_array().unwrap().len(), talk.messages.len() - 1, "turn {turn}");
    }
    let edits = world.value(&format!("/throughline/api/sessions/{id}/edits")).await;
    assert_eq!(edits["list"][0]["undo"], "redo", "no stage did it again: {edits}");
    let told = world.value(&format!("/throughline/api/sessions/{id}")).await;
    assert_eq!(told["context"]["condensed"]["messages"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_at_rest_can_be_undone_too() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("rest");
    talk.say(&world, "show me the log", "Seen.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    let id = world.only_session().await;
    let edit = newest_edit(&world, &id).await;
    let forgotten = world.tell(&format!("/throughline/api/sessions/{id}/forget"), json!({})).await;
    assert_eq!(forgotten.text().trim(), r#"{"forgotten":true}"#);
    assert_eq!(world.value("/throughline/api/sessions").await["sessions"], json!([]));
    let reply =
        world.tell(&format!("/throughline/api/sessions/{id}/undo"), json!({ "edit": edit["id"] })).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    talk.say(&world, "go on", "Seen.").await;
    assert!(world.sent().to_string().contains("the-needle"));
    assert_eq!(world.only_session().await, id, "it came back with its next request");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_session_is_passed_on_until_it_is_resumed() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("pause");
    talk.say(&world, "show me the log", "Seen.").await;
    let id = world.only_session().await;
    let calls = format!("/throughline/api/sessions/{id}");
    assert_eq!(world.tell(&format!("{calls}/pause"), json!({})).await.text().trim(), r#"{"paused":true}"#);
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    assert!(world.sent().to_string().contains("the-needle"), "nothing is done about it");
    // It survives a rest.
    world.tell(&format!("{calls}/forget"), json!({})).await;
    talk.say(&world, "go on", "Seen.").await;
    assert_eq!(world.sent(), {
        let mut body = talk.body();
        body["messages"].as_array_mut().unwrap().pop();
        body
    });
    assert_eq!(world.value("/throughline/api/sessions").await["sessions"][0]["paused"], true);
    assert_eq!(world.tell(&format!("{calls}/resume"), json!({})).await.status, 200);
    talk.tool(&world, "toolu_2", &long_result("the-other-needle"), "Seen.").await;
    assert!(!world.sent().to_string().contains("the-other-needle"), "looked after again");
    // Side requests are passed on too.
    let count = Asking::post("/v1/messages/count_tokens", talk.body().to_string())
        .header("x-throughline-session", "pause")
        .header("user-agent", "tester/1.0");
    world.ask(count.clone()).await;
    assert_ne!(world.sent(), talk.body());
    world.tell(&format!("{calls}/pause"), json!({})).await;
    world.ask(count).await;
    assert_eq!(world.sent(), talk.body());
}

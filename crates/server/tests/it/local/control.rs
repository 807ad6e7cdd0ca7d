//! Control calls.

use super::{Conversation, long_result, world};
use serde_json::json;
use throughline_testkit::Answer;

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_told_message_by_message_with_its_fate() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("told");
    talk.say(&world, "show me the log", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    talk.say(&world, "thanks", "Welcome.").await;
    let id = world.only_session().await;
    let session = world.value(&format!("/throughline/api/sessions/{id}")).await;
    assert_eq!(session["title"], "show me the log");
    assert_eq!(session["live"]["client"], "tester");
    let fates: Vec<(&str, &str)> = session["messages"]["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| (message["who"].as_str().unwrap(), message["fate"].as_str().unwrap()))
        .collect();
    assert_eq!(
        fates,
        [
            ("user", "as_said"),
            ("model", "as_said"),
            ("model → Bash", "as_said"),
            ("result of Bash", "replaced"),
            ("model", "as_said"),
            ("user", "as_said")
        ]
    );
    let context = &session["context"];
    assert!(context["replaced"]["spared"].as_u64() > context["replaced"]["shown"].as_u64(), "{context}");
    let replaced = &session["messages"]["list"][3];
    assert!(replaced["said_tokens"].as_u64() > replaced["shown_tokens"].as_u64());
    assert_ne!(replaced["said"], replaced["shown"]);
    let one = world.value(&format!("/throughline/api/sessions/{id}?from=3&count=1")).await;
    assert_eq!(one["messages"]["list"], json!([replaced]));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_not_is_said_so() {
    let world = world(Answer::text("Seen.")).await;
    for (path, status, kind) in [
        ("/throughline/api/sessions/none", 404, "no_session"),
        ("/throughline/api/sessions/none/edits", 404, "no_session"),
        ("/throughline/api/sessions/..%2f..%2fetc/edits", 404, "no_session"),
        ("/throughline/api/what", 404, "not_found"),
        ("/throughline/api/sessions/none/undo", 405, "method"),
        ("/throughline/api/stats?since=yesterday", 400, "since"),
    ] {
        let reply = world.look(path).await;
        assert_eq!(reply.status, status, "{path}");
        let value: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(value["error"]["type"], kind, "{path}");
    }
    let mut talk = Conversation::new("none");
    talk.say(&world, "hello", "Good day.").await;
    let id = world.only_session().await;
    let calls = format!("/throughline/api/sessions/{id}/undo");
    assert_eq!(world.tell(&calls, json!({})).await.status, 400);
    assert_eq!(world.tell(&calls, json!({ "edit": "none" })).await.status, 409);
    assert_eq!(world.look("/throughline/sessions/none").await.status, 404);
    assert_eq!(world.look(&format!("/throughline/sessions/{id}/edits/none")).await.status, 404);
}

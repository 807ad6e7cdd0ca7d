//! Pages, without a browser.

use super::{Conversation, long_result, world};
use crate::kit::World;
use serde_json::{Value, json};
use throughline_testkit::Answer;

const EVIL: &str = "</pre></title><script>alert('x')</script><img src=x onerror=alert(1)>\" onload=\"";

#[tokio::test(flavor = "multi_thread")]
async fn everything_from_a_session_is_escaped() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("evil");
    talk.say(&world, EVIL, EVIL).await;
    talk.tool(&world, "toolu_1", &format!("{EVIL}\n{}", long_result(EVIL)), EVIL).await;
    talk.say(&world, EVIL, EVIL).await;
    let id = world.only_session().await;
    let edits = world.value(&format!("/throughline/api/sessions/{id}/edits")).await;
    let edit = edits["list"][0]["id"].as_str().unwrap();
    for path in [
        "/".to_owned(),
        format!("/throughline/sessions/{id}"),
        format!("/throughline/sessions/{id}?part=1"),
        format!("/throughline/sessions/{id}/edits/{edit}"),
    ] {
        let reply = world.look(&path).await;
        assert_eq!(reply.status, 200);
        let page = reply.text();
        assert!(page.contains("&lt;script&gt;alert("), "{path} shows it");
        for tag in ["<script>", "<img", "\" onload", "</pre></title>"] {
            assert!(!page.contains(tag), "{path}: {tag}");
        }
        assert!(page.matches("<script").count() <= 1, "only our own file");
    }
}

/// A client that was at work for long: its whole history comes in one request.
async fn long(world: &World, messages: usize) -> String {
    let mut talk = Conversation::new("long");
    for at in 0..messages / 2 {
        talk.messages
            .push(json!({ "role": "user", "content": format!("question {at}: {}", "word ".repeat(100)) }));
        talk.messages
            .push(json!({ "role": "assistant", "content": format!("answer {at}: {}", "word ".repeat(100)) }));
    }
    talk.messages.push(json!({ "role": "user", "content": "the last question" }));
    talk.send(world).await;
    world.only_session().await
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_messages_are_a_small_page() {
    let world = super::world_with(Answer::text("Seen."), |settings| {
        // A debug build reads so long a history slowly; that is not what is tested.
        settings.limits.our_time = std::time::Duration::from_secs(300);
    })
    .await;
    let id = long(&world, 10_000).await;
    let page = world.look(&format!("/throughline/sessions/{id}")).await;
    assert_eq!(page.status, 200);
    assert!(page.body.len() < 400_000, "{}", page.body.len());
    let text = page.text();
    assert!(text.contains("the last question") && !text.contains("question 17:"));
    assert!(text.contains("← earlier"));
    let pages = 10_001_usize.div_ceil(50);
    let first = world.look(&format!("/throughline/sessions/{id}?messages={}", pages - 1)).await.text();
    assert!(first.contains("question 0:") && first.contains("later →") && !first.contains("← earlier"));
    let beyond = world.look(&format!("/throughline/sessions/{id}?messages=99999999&edits=99999999")).await;
    assert_eq!(beyond.status, 200, "the last page there is");
    let value = world.look(&format!("/throughline/api/sessions/{id}?count=999999999")).await;
    let value: Value = serde_json::from_slice(&value.body).unwrap();
    assert_eq!(value["messages"]["list"].as_array().unwrap().len(), 500);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_changed_is_sent_again() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("parts");
    talk.say(&world, "hello", "Good day.").await;
    let id = world.only_session().await;
    let page = format!("/throughline/sessions/{id}?part=1");
    // What is learnt from the answer comes a moment later.
    let settled = async |path: &str| loop {
        let version = world.look(path).await.header("x-throughline-version").unwrap().to_owned();
        let again = world.look(&format!("{path}&since={version}")).await;
        if again.status == 204 {
            assert!(again.body.is_empty());
            return version;
        }
    };
    let before = settled(&page).await;
    let home = settled("/?part=1").await;
    talk.say(&world, "and now?", "Good day.").await;
    let after = world.look(&format!("{page}&since={before}")).await;
    assert_eq!(after.status, 200);
    assert!(after.text().contains("and now?") && !after.text().contains("<html"));
    assert_eq!(world.look(&format!("/?part=1&since={home}")).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_manages_nothing_says_so() {
    let world = super::world_with(Answer::text("Seen."), |settings| settings.manage = None).await;
    assert!(world.look("/").await.text().contains("only passed on"));
    assert_eq!(world.value("/throughline/api/sessions").await["managed"], false);
    assert_eq!(world.look("/throughline/sessions/none").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_an_earlier_server_are_there_with_what_they_came_to() {
    let before = world(Answer::text("Seen.")).await;
    Conversation::new("earlier").say(&before, "What did we say yesterday?", "Seen.").await;
    let id = before.only_session().await;
    let home = before.home.clone();
    before.proxy.stop().await;
    let world = super::world_with(Answer::text("Seen."), |settings| settings.home = home).await;
    let link = format!("href=\"/throughline/sessions/{id}\"");
    let page = world.look("/").await.text();
    let (_, earlier) = page.split_once("<h2>Earlier</h2>").expect("a list of them");
    assert!(earlier.contains(&link) && earlier.contains("What did we say yesterday?"), "{earlier}");
    let page = world.look(&format!("/throughline/sessions/{id}")).await.text();
    assert!(page.contains("Cost <span class=\"dim\">1 request</span>"), "{page}");
    // Once it goes on, it is one of this server's.
    Conversation::new("earlier").say(&world, "What did we say yesterday?", "Seen.").await;
    let page = world.look("/").await.text();
    assert!(page.contains(&link) && !page.contains("<h2>Earlier</h2>"), "{page}");
}

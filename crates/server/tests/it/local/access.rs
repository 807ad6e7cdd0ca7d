//! Who may look, and who may press buttons.

use super::{Conversation, TOKEN, long_result, world};
use crate::kit::{Asking, Reply, World};
use throughline_testkit::Answer;

/// What a browser holds once it opened the whole address.
async fn cookie(world: &World) -> String {
    let reply = world.ask(Asking::get(&format!("/?token={TOKEN}"))).await;
    assert_eq!((reply.status, reply.header("location")), (303, Some("/")));
    let cookie = reply.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert!(!cookie.contains(TOKEN), "other servers of this machine get the cookie too");
    cookie.split(';').next().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_opens_the_page_and_leaves_the_address() {
    let world = world(Answer::text("Good day.")).await;
    let cookie = cookie(&world).await;
    let page = world.ask(Asking::get("/").header("Cookie", &cookie)).await;
    assert_eq!(page.status, 200);
    assert!(page.text().contains("No session yet"));
    assert!(page.text().contains(&format!("ANTHROPIC_BASE_URL=http://{}", world.proxy.address())));
    assert_eq!(world.ask(Asking::get("/?token=another")).await.status, 401);
    let bearer = cookie.split_once('=').unwrap().1;
    let reply = world.ask(Asking::get("/").header("Authorization", &format!("Bearer {bearer}"))).await;
    assert_eq!(reply.status, 401, "the cookie is no bearer token");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_token_there_is_nothing_to_see_but_how_to_get_it() {
    let world = world(Answer::text("Good day.")).await;
    for path in [
        "/",
        "/metrics",
        "/throughline/sessions/x",
        "/throughline/sessions/x/edits/y",
        "/throughline/api/sessions",
        "/throughline/api/stats",
        "/throughline/anything",
    ] {
        let reply = world.ask(Asking::get(path)).await;
        assert_eq!(reply.status, 401, "{path}");
        assert!(reply.header("www-authenticate").is_some());
        assert!(!reply.text().contains(TOKEN));
    }
    let page = world.ask(Asking::get("/").header("Accept", "text/html")).await;
    assert!(page.text().contains("needs its token") && page.text().contains("?token=…"));
    for path in ["undo", "pause", "forget"] {
        let asking = Asking::post(&format!("/throughline/sessions/x/{path}"), "edit=y");
        assert_eq!(world.ask(asking).await.status, 401);
        let asking = Asking::post(&format!("/throughline/api/sessions/x/{path}"), "{}");
        assert_eq!(world.ask(asking).await.status, 401);
    }
    assert_eq!(world.ask(Asking::get("/throughline/assets/page.css")).await.status, 200);
    assert_eq!(world.ask(Asking::get("/throughline/assets/../page.css")).await.status, 404);
    assert!(world.provider.requests().is_empty(), "nothing of ours goes to the provider");
}

#[tokio::test(flavor = "multi_thread")]
async fn browsers_are_told_to_load_and_run_nothing_from_elsewhere() {
    let world = world(Answer::text("Good day.")).await;
    for path in ["/", "/throughline/api/sessions", "/throughline/assets/page.js", "/throughline/none"] {
        let reply = world.look(path).await;
        let policy = reply.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"));
        assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(reply.header("referrer-policy"), Some("same-origin"));
        assert_eq!(reply.header("cache-control"), Some("no-store"));
    }
    let page = world.look("/").await.text();
    for inline in ["<script>", "<style>", " style=", " onclick=", "http-equiv"] {
        assert!(!page.contains(inline), "{inline}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_button_works_only_on_our_own_page() {
    let world = world(Answer::text("Good day.")).await;
    let mut talk = Conversation::new("buttons");
    talk.say(&world, "hello", "Good day.").await;
    talk.tool(&world, "toolu_1", &long_result("needle"), "Seen.").await;
    let cookie = cookie(&world).await;
    let id = world.only_session().await;
    let page = format!("/throughline/sessions/{id}");
    let html = world.ask(Asking::get(&page).header("Cookie", &cookie)).await.text();
    let form = html.split("name=\"form\" value=\"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let press = async |body: String, headers: &[(&str, &str)]| -> Reply {
        let mut asking = Asking::post(&format!("{page}/pause"), body)
            .header("Cookie", &cookie)
            .header("Content-Type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            asking = asking.header(name, value);
        }
        world.ask(asking).await
    };
    let here = format!("http://{}", world.proxy.address());
    assert_eq!(
        press("on=1".to_owned(), &[("Origin", &here)]).await.status,
        403,
        "no proof that the form is ours"
    );
    assert_eq!(press("on=1&form=guess".to_owned(), &[("Origin", &here)]).await.status, 403);
    let ours = format!("on=1&form={form}");
    assert_eq!(press(ours.clone(), &[("Origin", "http://evil.example")]).await.status, 403);
    assert_eq!(press(ours.clone(), &[("Origin", "null")]).await.status, 403);
    let paused = async || world.value("/throughline/api/sessions").await["sessions"][0]["paused"].clone();
    assert_eq!(paused().await, false, "nothing happened so far");
    let done = press(ours, &[("Origin", &here)]).await;
    assert_eq!((done.status, done.header("location")), (303, Some(format!("{page}?did=paused").as_str())));
    assert_eq!(paused().await, true);
    // A control call takes no cookie for a change.
    let asking =
        Asking::post(&format!("/throughline/api/sessions/{id}/resume"), "{}").header("Cookie", &cookie);
    assert_eq!(world.ask(asking).await.status, 403);
    assert_eq!(paused().await, true);
}

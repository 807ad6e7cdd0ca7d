//! The page in a real Chromium.

use super::driver::{Browser, key};
use super::{Conversation, TOKEN, long_result, world};
use crate::kit::World;
use serde_json::json;
use throughline_testkit::Answer;

/// A browser that opened the whole address.
async fn browser_at(world: &World) -> Option<Browser> {
    let browser = Browser::start().await?;
    browser.look_like(1280, "light").await;
    browser.open(&format!("http://{}/?token={TOKEN}", world.proxy.address())).await;
    assert_eq!(
        browser.address().await,
        format!("http://{}/", world.proxy.address()),
        "the token is gone from it"
    );
    Some(browser)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_live_session_shows_up_by_itself_and_is_undone_by_a_click() {
    let world = world(Answer::text("Seen.")).await;
    let Some(browser) = browser_at(&world).await else { return };
    browser.until_says("No session yet").await;
    browser.shoot("empty").await;
    let mut talk = Conversation::new("live");
    talk.say(&world, "Show me the log of the last build", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    browser.until_says("Show me the log of the last build").await;
    browser.click("[data-item]").await;
    browser.until_says("Put a long result aside").await;
    assert!(!world.sent().to_string().contains("the-needle"));
    browser.click(".edit summary").await;
    browser.until("document.querySelector('.edit .was pre').innerText.startsWith('line 0:')").await;
    // What happens meanwhile shows up, and what was opened stays open.
    talk.say(&world, "And what else is there?", "Nothing.").await;
    browser.until_says("And what else is there?").await;
    browser.until("document.querySelector('.edit details').open").await;
    browser.click(".edit form button").await;
    browser.until_says("The next request has it as it was").await;
    talk.say(&world, "Go on", "Done.").await;
    assert!(world.sent().to_string().contains("the-needle"));
    browser.until_says("Undone by hand").await;
    browser.assert_well_behaved(world.proxy.address()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_can_be_done_with_the_keyboard() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("keys");
    talk.say(&world, "Show me the log", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    let Some(browser) = browser_at(&world).await else { return };
    browser.until_says("Show me the log").await;
    browser.press(key::TAB).await;
    assert_eq!(
        browser.run("return document.activeElement.className").await,
        "skip",
        "the first stop skips the rest"
    );
    let seen = "getComputedStyle(document.activeElement).outlineStyle !== 'none' && document.activeElement.getBoundingClientRect().left >= 0";
    browser.until(seen).await;
    browser.press("j").await;
    browser.until("document.activeElement.id.startsWith('session-')").await;
    browser.until(seen).await;
    browser.press(key::ENTER).await;
    browser.until_says("Context by fate").await;
    // By Tab alone, to the button.
    for stops in 0.. {
        assert!(stops < 100, "Undo can't be reached");
        browser.press(key::TAB).await;
        if browser.run("return document.activeElement.textContent").await == "Undo" {
            break;
        }
    }
    browser.until(seen).await;
    browser.press(key::ENTER).await;
    browser.until_says("The next request has it as it was").await;
    // To an entry and into it, then back to all sessions.
    browser.press("k").await;
    browser.until("document.activeElement.matches('summary[data-item]')").await;
    browser.press(key::ENTER).await;
    browser.until("document.activeElement.parentElement.open").await;
    browser.press("h").await;
    browser.until("location.pathname === '/'").await;
    browser.assert_well_behaved(world.proxy.address()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_legible_in_the_dark_in_the_light_and_on_a_phone() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("looks");
    talk.say(&world, "Show me the log", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result(&"long-word".repeat(200)), "Seen.").await;
    talk.say(&world, &"a-very-long-word-without-a-break".repeat(40), "Yes.").await;
    let Some(browser) = browser_at(&world).await else { return };
    let id = world.only_session().await;
    let page = format!("http://{}/throughline/sessions/{id}", world.proxy.address());
    let mut colours = Vec::new();
    for scheme in ["light", "dark"] {
        for width in [1280, 390] {
            browser.look_like(width, scheme).await;
            for (name, address) in
                [("home", format!("http://{}/", world.proxy.address())), ("session", page.clone())]
            {
                browser.open(&address).await;
                browser.shoot(&format!("{name}-{scheme}-{width}-closed")).await;
                browser
                    .run("document.querySelectorAll('details').forEach(details => details.open = true)")
                    .await;
                let wide =
                    "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
                assert_eq!(browser.run(wide).await, 0, "{name} at {width} does not scroll sideways");
                browser.shoot(&format!("{name}-{scheme}-{width}")).await;
            }
        }
        let colour =
            "const style = getComputedStyle(document.body); return [style.color, style.backgroundColor]";
        colours.push(browser.run(colour).await);
    }
    assert_ne!(colours[0], colours[1]);
    for pair in &colours {
        assert!(contrast(&pair[0], &pair[1]) > 7.0, "{pair}");
    }
    browser.assert_well_behaved(world.proxy.address()).await;
}

/// The contrast of two colours by WCAG.
fn contrast(a: &serde_json::Value, b: &serde_json::Value) -> f64 {
    let light = |colour: &serde_json::Value| {
        let numbers = colour.as_str().unwrap().trim_start_matches("rgb(").trim_end_matches(')').split(", ");
        let parts = numbers.map(|n| n.parse::<f64>().unwrap() / 255.0);
        let parts: Vec<f64> =
            parts.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }).collect();
        0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
    };
    let (a, b) = (light(a), light(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_in_a_transcript_stays_text() {
    const EVIL: &str = "</pre><script>window.harm = 1</script><img src=x onerror='window.harm = 2'>";
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("harm");
    talk.say(&world, EVIL, EVIL).await;
    talk.tool(&world, "toolu_1", &format!("{EVIL}{}", long_result(EVIL)), EVIL).await;
    talk.say(&world, EVIL, EVIL).await;
    let Some(browser) = browser_at(&world).await else { return };
    browser.until_says("<script>window.harm").await;
    browser.click("[data-item]").await;
    browser.until_says("Context by fate").await;
    browser.run("document.querySelectorAll('details').forEach(details => details.open = true)").await;
    // Once more by way of the script that brings news.
    talk.say(&world, &format!("again {EVIL}"), "Yes.").await;
    browser.until_says("again </pre><script>").await;
    assert_eq!(browser.run("return window.harm === undefined").await, true);
    assert_eq!(browser.run("return document.images.length").await, 0);
    assert_eq!(browser.run("return document.scripts.length").await, 1, "our own");
    // Even where one got in, it would not run.
    browser.run("const s = document.createElement('script'); s.textContent = 'window.harm = 3'; document.body.append(s)").await;
    assert_eq!(browser.run("return window.harm === undefined").await, true);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_works_without_script() {
    let world = world(Answer::text("Seen.")).await;
    let mut talk = Conversation::new("plain");
    talk.say(&world, "Show me the log", "Here.").await;
    talk.tool(&world, "toolu_1", &long_result("the-needle"), "Seen.").await;
    let Some(browser) = Browser::start().await else { return };
    browser.command("Emulation.setScriptExecutionDisabled", json!({ "value": true })).await;
    browser.open(&format!("http://{}/?token={TOKEN}", world.proxy.address())).await;
    browser.click("[data-item]").await;
    browser.until_at(&world.only_session().await).await;
    browser.click(".edit summary").await;
    browser.click(".edit form button").await;
    browser.until_at("?did=undone").await;
    talk.say(&world, "Go on", "Done.").await;
    assert!(world.sent().to_string().contains("the-needle"));
    browser.assert_well_behaved(world.proxy.address()).await;
}

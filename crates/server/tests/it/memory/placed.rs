//! Where what is told stands in a request, and that it stays there.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn the_provider_sees_each_request_begin_with_the_one_before_over_20_turns_and_a_restart() {
    for shape in SHAPES {
        let town = Town::new();
        let ours = town.project("ours");
        for n in 0..8 {
            let body = format!("Subsystem{n} must be deployed by tools/deploy{n}.sh only.");
            town.remember(&ours, Tier::Project, &format!("How subsystem{n} is deployed"), &body);
        }
        let mut proxy = town.proxy_with(with_project(shape, &ours)).await;
        let mut talk = Talk::new(shape, "s", &ours);
        for n in 0..20 {
            if n == 9 {
                proxy.stop().await;
                proxy = town.proxy_with(with_project(shape, &ours)).await;
            }
            if n % 3 == 2 {
                talk.say(&format!("Look at subsystem{}.", n % 8));
                talk.used_tool(&format!("call_{n}"), "a file");
                talk.ask(&proxy).await;
                talk.answered("Done.");
            } else {
                talk.turn(&format!("Please deploy subsystem{}.", n % 8), &proxy).await;
            }
        }
        proxy.stop().await;
        let sent = town.sent();
        assert_eq!(sent.len(), 20);
        for (n, pair) in sent.windows(2).enumerate() {
            let before = pair[0].body.strip_suffix(b"]}").unwrap();
            assert!(
                pair[1].body.starts_with(before),
                "{shape:?} {n}:\n{}\n{}",
                String::from_utf8_lossy(&pair[0].body),
                String::from_utf8_lossy(&pair[1].body)
            );
        }
        let last = town.last();
        assert_eq!(last.matches(START).count(), 1, "{shape:?}: told once");
        for n in 0..8 {
            let times = last.matches(&format!("tools/deploy{n}.sh only")).count();
            assert!(times <= 1, "{shape:?}: {n} came {times} times");
        }
        assert!(last.contains("tools/deploy1.sh only"), "{shape:?}: {last}");
        // What stands before an answer of Anthropic's is a system message only where it may.
        if shape == Shape::Claude {
            check_anthropic_order(&last);
        }
    }
}

/// A system message stands right before an answer, or last; and what we say stands behind words or results of the user's role.
fn check_anthropic_order(body: &str) {
    let body: Value = serde_json::from_str(body).unwrap();
    let roles: Vec<&str> = body["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    for pair in roles.windows(2) {
        assert!(pair[0] != "system" || pair[1] == "assistant", "{roles:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_said_between_a_call_and_its_result_nor_into_an_answer_that_goes_on() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    let proxy = town.proxy().await;
    // The client has the model go on with an answer that it begins itself.
    let mut talk = Talk::new(Shape::Claude, "prefilled", &ours);
    talk.say("Name a colour.");
    talk.answered("The colour is");
    talk.ask(&proxy).await;
    assert!(!town.last().contains(START));
    // The next request has room.
    talk.say("Go on.");
    talk.ask(&proxy).await;
    assert!(town.last().contains(START));
    // A request that ends with results: it comes behind all of them.
    let mut talk = Talk::new(Shape::Chat, "results", &ours);
    talk.messages.push(json!({"role": "user", "content": "Look around."}));
    talk.used_tool("c1", "a file");
    talk.ask(&proxy).await;
    proxy.stop().await;
    let body: Value = serde_json::from_str(&town.last()).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let call = messages.iter().position(|message| message["tool_calls"].is_array()).unwrap();
    assert_eq!(messages[call + 1]["role"], "tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_comes_again_behind_a_compaction_of_the_clients() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    let proxy = town.proxy().await;
    let mut talk = Talk::new(Shape::Codex, "s", &ours);
    talk.turn("Good day.", &proxy).await;
    talk.turn("And good night.", &proxy).await;
    assert_eq!(town.last().matches(START).count(), 1);
    let mut after = Talk::new(Shape::Codex, "s", &ours);
    after.say("Another language model started to solve this problem. Summary: they said good day.");
    after.turn("Go on.", &proxy).await;
    proxy.stop().await;
    assert_eq!(town.last().matches(START).count(), 1, "{}", town.last());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_comes_again_behind_a_compaction_of_ours_and_notes_are_kept() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    let proxy = town
        .proxy_with(|managing| {
            managing.window = Some(40_000);
        })
        .await;
    let mut talk = Talk::new(Shape::Codex, "s", &ours);
    let long = "The quick brown fox jumps over the lazy dog near the river bank today. ".repeat(250);
    let mut compacted = 0;
    for n in 0..16 {
        talk.turn(&format!("Part {n} is here. {long}"), &proxy).await;
        let told = town.last();
        assert_eq!(told.matches(START).count(), 1, "{n}");
        compacted += usize::from(town.sent().last().unwrap().request().unwrap().messages.len() < n);
    }
    let notes = || walk(&town.home().root().join("projects"));
    until(|| notes().iter().any(|path| path.ends_with("session-memory/summary.md"))).await;
    proxy.stop().await;
    assert!(compacted > 0);
}

//! Compactions that clients ask their provider for are answered here, where the user wants that.

use crate::kit::{Asking, Reply, World, proxy_before};
use crate::too_long::events;
use serde_json::{Value, json};
use std::os::unix::fs::PermissionsExt as _;
use throughline_core::{Usage, Wire};
use throughline_model::{Http, Provider};
use throughline_server::{Scribe, Settings};
use throughline_testkit::{Answer, Playbook, playbook};
use throughline_wire::sse;
use throughline_wire::stream::StreamDecoder;
use throughline_wire::{Response, Stop};

/// The request for a summary as Claude Code makes it, in our own words behind its mark.
fn claude_ask(instructions: &str) -> String {
    format!(
        "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nWrite an <analysis> and a <summary>.{instructions}\n\n\
         REMINDER: Do NOT call any tools."
    )
}

fn taking_over(settings: &mut Settings) {
    settings.manage.as_mut().unwrap().take_over_compaction = true;
}

/// A provider that would give itself away.
fn provider() -> Playbook {
    let asked_for_summary =
        |seen: &throughline_testkit::Seen| String::from_utf8_lossy(&seen.body).contains("CRITICAL: Respond");
    Playbook::new()
        .when(asked_for_summary, Answer::text("<summary>BY THE PROVIDER</summary>"))
        .when(playbook::body("CONTEXT CHECKPOINT"), Answer::text("BY THE PROVIDER"))
        .otherwise(Answer::text("Good day."))
}

/// Turns of work with a tool, as a client of a wire keeps them.
fn turns(wire: Wire, range: std::ops::Range<usize>) -> Vec<Value> {
    let mut all = Vec::new();
    for turn in range {
        let ask = format!("Turn {turn}: look at src/part_{turn}.rs. Never touch file_{turn}.lock.");
        let path = format!("src/part_{turn}.rs");
        let text: String =
            (0..25).map(|line| format!("let value_{turn}_{line} = {};\n", turn * line)).collect();
        let id = format!("call_{turn}");
        match wire {
            Wire::Anthropic => all.extend([
                json!({"role": "user", "content": [{"type": "text", "text": ask}]}),
                json!({"role": "assistant", "content": [
                    {"type": "tool_use", "id": id, "name": "Read", "input": {"file_path": path}}]}),
                json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]}),
                json!({"role": "assistant", "content": [{"type": "text", "text": format!("Part {turn} is fine.")}]}),
            ]),
            Wire::Responses | Wire::Chat => all.extend([
                user(&ask),
                json!({"type": "function_call", "call_id": id, "name": "read_file", "arguments": json!({"path": path}).to_string()}),
                json!({"type": "function_call_output", "call_id": id, "output": text}),
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": format!("Part {turn} is fine.")}]}),
            ]),
        }
    }
    all
}

fn user(text: &str) -> Value {
    json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]})
}

fn claude(messages: &[Value]) -> Asking {
    let tools = json!([{"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}]);
    let body = json!({"model": "claude-opus-5-5", "max_tokens": 32000, "system": "Be brief.", "tools": tools,
        "stream": true, "messages": messages});
    Asking::post("/v1/messages?beta=true", body.to_string())
        .header("user-agent", "claude-cli/2.1.325 (external, cli)")
        .header("x-claude-code-session-id", "5f0c2a1e-0000-4000-8000-000000000001")
}

/// The same with the asking in the last message of the user.
fn claude_compacts(messages: &[Value], instructions: &str) -> Asking {
    let mut messages = messages.to_vec();
    messages.push(json!({"role": "user", "content": [{"type": "text", "text": claude_ask(instructions)}]}));
    claude(&messages)
}

fn codex(kind: &str, implementation: &str, input: &[Value]) -> Asking {
    let thread = "01a1e183-0000-7000-8000-000000000002";
    let said = json!({"thread_id": thread, "session_id": thread, "request_kind": kind,
        "compaction": {"implementation": implementation}});
    let body = json!({"model": "gpt-5.5", "stream": true, "store": false, "input": input});
    Asking::post("/v1/responses", body.to_string())
        .header("user-agent", "codex_exec/0.166.0 (Linux)")
        .header("thread-id", thread)
        .header("session-id", thread)
        .header("x-codex-turn-metadata", &said.to_string())
}

/// The answer of a stream, which must be a whole one.
fn streamed(wire: Wire, reply: &Reply) -> Response {
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert!(reply.header("content-type").unwrap().starts_with("text/event-stream"));
    let mut decoder = StreamDecoder::new(wire);
    let mut found = Vec::new();
    sse::Parser::new(1 << 24).push(&reply.body, &mut found).unwrap();
    found.iter().for_each(|event| drop(decoder.push(event).unwrap()));
    assert!(decoder.is_complete());
    decoder.finish()
}

fn text_of(response: &Response) -> String {
    response.messages.iter().map(|message| message.to_text()).collect()
}

/// The one summary in the tags that Claude Code looks for.
fn summary_of(reply: &Reply) -> String {
    let response = streamed(Wire::Anthropic, reply);
    assert_eq!((response.stop.clone(), response.usage), (Stop::EndTurn, Usage::default()));
    let text = text_of(&response);
    assert!(!text.contains("<analysis>"), "{text}");
    let text = text.trim().strip_prefix("<summary>").unwrap().strip_suffix("</summary>").unwrap();
    text.trim().to_owned()
}

/// How Claude Code goes on from a summary.
fn continued(summary: &str) -> Value {
    json!({"role": "user", "content": format!("This session is being continued from a previous conversation that ran \
        out of context.\n\nSummary:\n{summary}")})
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_gets_a_checked_summary_again_and_again_and_after_a_restart() {
    let world = World::with(provider(), taking_over).await;
    let first = turns(Wire::Anthropic, 0..12);
    world.ask(claude(&first[..first.len() - 1])).await;
    let reply = world.ask(claude_compacts(&first, "\n\nAdditional Instructions:\nmind the lock files")).await;
    let summary = summary_of(&reply);
    assert!(!summary.contains("BY THE PROVIDER"));
    assert!(
        summary.contains("Never touch file_0.lock") && summary.contains("Never touch file_11.lock"),
        "{summary}"
    );
    assert!(
        summary.contains("mind the lock files"),
        "what the user typed behind /compact is minded: {summary}"
    );
    assert_eq!(world.provider.requests().len(), 1, "nobody else was asked");

    // The client goes on from its own frame around our text; what is new is condensed with what was condensed before.
    let mut second = vec![continued(&summary)];
    second.extend(turns(Wire::Anthropic, 12..20));
    let reply = world.ask(claude(&second[..second.len() - 1])).await;
    assert!(text_of(&streamed(Wire::Anthropic, &reply)).contains("Good day."));
    let sent = world.provider.requests().pop().unwrap();
    assert!(String::from_utf8_lossy(&sent.body).contains("This session is being continued"));
    let again = summary_of(&world.ask(claude_compacts(&second, "")).await);
    assert!(
        again.contains("Never touch file_3.lock") && again.contains("Never touch file_17.lock"),
        "{again}"
    );
    assert!(!again.contains("mind the lock files"), "that was for the one before");

    // After a restart the ledger remembers all of it.
    let home = world.home.clone();
    world.proxy.stop().await;
    let (proxy, _home) = proxy_before(world.provider.address(), |settings| {
        taking_over(settings);
        settings.home = home.clone();
    })
    .await;
    let mut third = vec![continued(&again)];
    third.extend(turns(Wire::Anthropic, 20..26));
    claude(&third[..third.len() - 1]).of(proxy.address()).await;
    let reply = claude_compacts(&third, "").of(proxy.address()).await;
    let last = summary_of(&reply);
    assert!(last.contains("Never touch file_1.lock") && last.contains("Never touch file_25.lock"), "{last}");
    assert!(!last.contains("This session is being continued"), "a frame is nobody's words: {last}");

    let kept = events(&home, "proxy.compacted");
    assert_eq!(kept.len(), 3);
    assert_eq!(kept[0].data["instructions"], "mind the lock files");
    for (event, text) in kept.iter().zip([&summary, &again, &last]) {
        assert_eq!(event.data["text"].as_str().unwrap().trim(), text);
        assert!(event.data["check"]["score"].as_f64().unwrap() > 0.5);
        let session = home.ledgers().unwrap().len();
        assert_eq!(session, 1, "one conversation, one ledger");
        let page = pages(&home)
            .into_iter()
            .find(|page| page.ends_with(event.data["file"].as_str().unwrap()))
            .unwrap();
        assert!(std::fs::read_to_string(&page).unwrap().contains(text.as_str()));
        assert_eq!(std::fs::metadata(&page).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

/// The readable copies.
fn pages(home: &throughline_ledger::Home) -> Vec<std::path::PathBuf> {
    let sessions = std::fs::read_dir(home.root().join("sessions-data")).unwrap();
    let folders = sessions.map(|session| session.unwrap().path().join("compactions"));
    let pages = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    pages.map(|page| page.unwrap().path()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn claude_code_may_ask_for_it_in_one_piece() {
    let world = World::with(provider(), taking_over).await;
    let mut messages = turns(Wire::Anthropic, 0..12);
    messages.push(json!({"role": "user", "content": claude_ask("")}));
    let body = json!({"model": "claude-opus-5-5", "max_tokens": 32000, "messages": messages,
        "tools": [{"name": "Read", "input_schema": {}}]});
    let ask = Asking::post("/v1/messages", body.to_string()).header("x-claude-code-session-id", "s");
    let reply = world.ask(ask).await;
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert!(answer["content"][0]["text"].as_str().unwrap().starts_with("<summary>"));
    assert_eq!(answer["usage"]["output_tokens"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn codex_gets_a_handoff_for_its_own_prompt() {
    let world = World::with(provider(), taking_over).await;
    let mut input = turns(Wire::Responses, 0..12);
    input.push(user("You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff."));
    let reply = world.ask(codex("compaction", "responses", &input)).await;
    let response = streamed(Wire::Responses, &reply);
    let text = text_of(&response);
    assert_eq!(response.messages.len(), 1);
    assert!(text.contains("part_11.rs") && !text.contains("BY THE PROVIDER"), "{text}");
    assert_eq!(response.usage, Usage::default());
    // Codex goes on with the user's words and the text in a frame of its own.
    let words = (0..12).map(|turn| turns(Wire::Responses, turn..turn + 1).swap_remove(0));
    let mut next: Vec<Value> = words.collect();
    next.push(user(&format!("Another language model started to solve this problem and wrote:\n{text}")));
    next.extend(turns(Wire::Responses, 12..22));
    next.push(user("You are performing a CONTEXT CHECKPOINT COMPACTION. Write a handoff."));
    let again =
        text_of(&streamed(Wire::Responses, &world.ask(codex("compaction", "responses", &next)).await));
    assert!(again.contains("part_21.rs"), "{again}");
    assert!(!again.contains("Another language model started"), "a frame is nobody's words: {again}");
    assert!(world.provider.requests().is_empty());
}

/// The one opaque item of an answer.
fn opaque(reply: &Reply) -> Value {
    let body = streamed(Wire::Responses, reply).encode();
    let items = body["output"].as_array().unwrap();
    assert_eq!(items.len(), 1);
    assert_eq!(items[0]["type"], "compaction");
    items[0].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opaque_item_stands_for_the_summary_in_all_later_requests() {
    let world = World::with(provider(), taking_over).await;
    let trigger = json!({"type": "compaction_trigger"});
    let mut input = turns(Wire::Responses, 0..12);
    world.ask(codex("turn", "", &input[..input.len() - 1])).await;
    input.push(trigger.clone());
    let item = opaque(&world.ask(codex("compaction", "responses_compaction_v2", &input)).await);
    let sealed = item["encrypted_content"].as_str().unwrap().to_owned();
    assert!(sealed.starts_with("throughline.v1.") && sealed.len() < 120, "{sealed}");

    // The client repeats it; the provider gets words.
    let mut next = vec![user("Turn 0: look at src/part_0.rs."), item.clone()];
    next.extend(turns(Wire::Responses, 12..20));
    next.push(user("And now?"));
    let reply = world.ask(codex("turn", "", &next)).await;
    assert!(text_of(&streamed(Wire::Responses, &reply)).contains("Good day."));
    let sent = world.provider.requests().pop().unwrap();
    let words = String::from_utf8_lossy(&sent.body).into_owned();
    assert!(!words.contains("throughline.v1") && !words.contains("\"compaction\""), "{words}");
    assert!(words.contains("part_11.rs") && words.contains("And now?"));
    let of = |seen: &throughline_testkit::Seen| seen.json()["input"][1].clone();
    let expanded = of(&sent);
    assert_eq!(expanded["role"], "user");

    // Twice in a row, and after a restart.
    next.push(trigger.clone());
    let second = opaque(&world.ask(codex("compaction", "responses_compaction_v2", &next)).await);
    assert_ne!(second["encrypted_content"], item["encrypted_content"]);
    let home = world.home.clone();
    world.proxy.stop().await;
    let (proxy, _home) = proxy_before(world.provider.address(), |settings| {
        taking_over(settings);
        settings.home = home.clone();
    })
    .await;
    let last = vec![user("Turn 0: look at src/part_0.rs."), second, user("And now?")];
    codex("turn", "", &last).of(proxy.address()).await;
    let sent = world.provider.requests().pop().unwrap();
    assert!(of(&sent)["content"][0]["text"].as_str().unwrap().contains("part_19.rs"));
    // The first one is still known, too.
    codex("turn", "", &next[..next.len() - 1]).of(proxy.address()).await;
    assert_eq!(of(&world.provider.requests().pop().unwrap()), expanded);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_ours_or_not_to_be_found_is_dealt_with() {
    let world = World::with(provider(), taking_over).await;
    let foreign = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAAAABpM0Yj-="});
    world.ask(codex("turn", "", &[user("hello"), foreign.clone(), user("And now?")])).await;
    let sent = world.provider.requests().pop().unwrap();
    assert_eq!(sent.json()["input"][1], foreign, "somebody else's is left alone");
    let lost =
        "throughline.v1.0b6f8f2e-4c0e-5a3e-9a39-0d9f7a3f3a11.00112233445566778899aabbccddeeff.000000000000";
    let lost = json!({"type": "compaction", "id": "cmp_2", "encrypted_content": lost});
    let reply = world.ask(codex("turn", "", &[user("hello"), lost, user("And now?")])).await;
    assert!(text_of(&streamed(Wire::Responses, &reply)).contains("Good day."));
    let sent = world.provider.requests().pop().unwrap();
    let item = &sent.json()["input"][1];
    assert_eq!((item["type"].as_str(), item["role"].as_str()), (Some("message"), Some("user")));
    assert!(item["content"][0]["text"].as_str().unwrap().contains("can't find it"));
    // Who mentions a blob says something, and it stays what was said.
    let said = user("what is throughline.v1.x?");
    world.ask(codex("turn", "", std::slice::from_ref(&said))).await;
    assert_eq!(world.provider.requests().pop().unwrap().json()["input"][0], said);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_endpoint_gives_the_new_input() {
    let world = World::with(provider(), taking_over).await;
    let mut input = vec![
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]}),
    ];
    input.extend(turns(Wire::Responses, 0..30));
    let body = json!({"model": "gpt-5.5", "input": input}).to_string();
    let reply = world.ask(Asking::post("/v1/responses/compact", body)).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let answer: Value = serde_json::from_slice(&reply.body).unwrap();
    assert_eq!(answer["object"], "response.compaction");
    assert_eq!(answer["usage"]["total_tokens"], 0);
    assert!(answer["created_at"].is_i64() && answer["id"].is_string());
    let output = answer["output"].as_array().unwrap();
    assert_eq!(output[0]["role"], "developer", "what the application said stays");
    assert_eq!(output.iter().filter(|item| item["type"] == "compaction").count(), 1);
    assert!(output.iter().any(|item| item["role"] == "user" && item.to_string().contains("file_29.lock")));
    assert!(world.provider.requests().is_empty());
    // It is what the client goes on with.
    let mut next = output.clone();
    next.push(user("And now?"));
    let body = json!({"model": "gpt-5.5", "input": next}).to_string();
    let reply = world.ask(Asking::post("/v1/responses", body)).await;
    assert_eq!(reply.status, 200);
    let sent = String::from_utf8(world.provider.requests().pop().unwrap().body).unwrap();
    assert!(sent.contains("part_29.rs") && !sent.contains("throughline.v1"), "{sent}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_too_little_to_condense_is_asked_of_the_provider() {
    let world = World::with(provider(), taking_over).await;
    let reply = world.ask(claude_compacts(&turns(Wire::Anthropic, 0..1)[..1], "")).await;
    assert!(text_of(&streamed(Wire::Anthropic, &reply)).contains("BY THE PROVIDER"));
}

/// A conversation with a result so long that it is put aside.
fn with_long_result() -> Vec<Value> {
    let mut messages = turns(Wire::Anthropic, 0..2);
    messages[1]["content"][0]["name"] = "Bash".into();
    messages[2]["content"][0]["content"] = "a long line of output\n".repeat(4_000).into();
    messages
}

#[tokio::test(flavor = "multi_thread")]
async fn a_compaction_that_is_not_taken_over_is_sent_as_the_conversation_was() {
    let world = World::with(provider(), putting_aside).await;
    let messages = with_long_result();
    world.ask(claude(&messages[..messages.len() - 1])).await;
    let reply = world.ask(claude_compacts(&messages, "")).await;
    assert!(text_of(&streamed(Wire::Anthropic, &reply)).contains("BY THE PROVIDER"));
    let seen = world.provider.requests();
    assert!(seen[0].body.len() < 20_000, "the result is put aside");
    assert!(seen[1].body.len() < 20_000, "and it is in the compaction too");
    assert_eq!(seen[0].json()["messages"][2], seen[1].json()["messages"][2]);
    assert!(seen[1].cached > 0, "so that the cache hits");
    assert!(events(&world.home, "proxy.compacted").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_are_counted_of_what_would_be_sent() {
    let world = World::with(provider(), putting_aside).await;
    let messages = with_long_result();
    world.ask(claude(&messages)).await;
    let body = json!({"model": "claude-opus-5-5", "messages": messages}).to_string();
    let count = Asking::post("/v1/messages/count_tokens?beta=true", body)
        .header("user-agent", "claude-cli/2.1.325 (external, cli)")
        .header("x-claude-code-session-id", "5f0c2a1e-0000-4000-8000-000000000001");
    let reply = world.ask(count.clone()).await;
    let counted: Value = serde_json::from_slice(&reply.body).unwrap();
    assert!(counted["input_tokens"].as_u64().unwrap() < 6_000, "{counted}");
    // Something else that is counted, such as a tool, goes as it is.
    let other =
        json!({"model": "claude-opus-5-5", "messages": [{"role": "user", "content": "foo"}]}).to_string();
    let ask = Asking::post("/v1/messages/count_tokens", other.clone())
        .header("x-claude-code-session-id", "5f0c2a1e-0000-4000-8000-000000000001");
    world.ask(ask).await;
    assert_eq!(world.provider.requests().pop().unwrap().body, other.into_bytes());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_conversation_that_rested_is_condensed_by_the_provider_as_it_was_sent() {
    let world = World::with(provider(), putting_aside).await;
    let messages = with_long_result();
    world.ask(claude(&messages[..messages.len() - 1])).await;
    let home = world.home.clone();
    world.proxy.stop().await;
    let (proxy, _home) = proxy_before(world.provider.address(), |settings| settings.home = home).await;
    claude_compacts(&messages, "").of(proxy.address()).await;
    let seen = world.provider.requests();
    assert_eq!(seen[0].json()["messages"][2], seen[1].json()["messages"][2]);
    assert!(seen[1].body.len() < 20_000);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_users_own_model_may_write_it() {
    let scribe = throughline_testkit::Server::start(Answer::text(
        "<summary>All parts were looked at; src/part_11.rs came last. WRITTEN BY A MODEL.</summary>",
    ))
    .unwrap();
    let set = |scribe: &throughline_testkit::Server, settings: &mut Settings| {
        let address = format!("http://{}", scribe.address());
        let variable = move |name: &str| match name {
            "ANTHROPIC_API_KEY" => Some("sk-test".to_owned()),
            "ANTHROPIC_BASE_URL" => Some(address.clone()),
            "ANTHROPIC_MODEL" => Some("claude-sonnet-4-5".to_owned()),
            _ => None,
        };
        let provider = Provider::from_environment(&variable, None).unwrap().unwrap();
        let model = Http::new(&provider, &variable).unwrap();
        settings.manage.as_mut().unwrap().scribe = Some(Scribe(std::sync::Arc::new(model)));
        taking_over(settings);
    };
    let world = World::with(provider(), |settings| set(&scribe, settings)).await;
    let summary = summary_of(&world.ask(claude_compacts(&turns(Wire::Anthropic, 0..12), "")).await);
    assert!(summary.contains("WRITTEN BY A MODEL"), "{summary}");
    assert!(summary.contains("Never touch file_2.lock"), "the check adds what is missing: {summary}");
    assert!(!events(&world.home, "receipt").is_empty(), "what it cost is written down");
    // A model that fails costs the client nothing: the offline scribe writes.
    let broken = throughline_testkit::Server::start(throughline_testkit::Fault::Unauthorized).unwrap();
    let world = World::with(provider(), |settings| set(&broken, settings)).await;
    let summary = summary_of(&world.ask(claude_compacts(&turns(Wire::Anthropic, 0..12), "")).await);
    assert!(summary.contains("Never touch file_2.lock"), "{summary}");
    assert_eq!(events(&world.home, "proxy.compacted")[0].data["by"], "the offline scribe");
}

/// Long results are put aside by their size.
fn putting_aside(settings: &mut throughline_server::Settings) {
    settings.manage.as_mut().unwrap().profile = throughline_core::profile::Profile::claude();
}

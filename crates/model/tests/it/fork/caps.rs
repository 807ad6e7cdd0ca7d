//! Every limit stops a fork, and the end names it.

use super::{AMPLE, Editor, Setting, model, parent};
use crate::support::WIRES;
use serde_json::json;
use throughline_core::cost::{Price, Rate, Rates};
use throughline_model::{Cap, Caps, End, Forked, Prefix, Tail, Usage, Wire};
use throughline_testkit::{Answer, Fault, Server, Stall};

fn busy() -> Answer {
    Answer::text("On it.").call("Edit", json!({"path": "notes.md"}))
}

async fn capped(wire: Wire, server: &Server, caps: Caps) -> (Forked, usize) {
    let mut tools = Editor::default();
    let forked = Setting { caps, ..Setting::of(wire) }.run(&model(wire, server), &mut tools).await;
    (forked, tools.calls.len())
}

fn cap(forked: &Forked) -> Option<Cap> {
    if let End::Capped(cap) = forked.end { Some(cap) } else { None }
}

#[tokio::test]
async fn turns() {
    for wire in WIRES {
        let server = Server::start(busy()).unwrap();
        let (forked, calls) = capped(wire, &server, Caps { turns: 3, ..AMPLE }).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Turns), 3), "{wire:?}");
        // The last answer was paid for, so it counts.
        assert_eq!(calls, 3);
        assert_eq!(forked.receipt.outcome, "capped: turns");
        assert_eq!(super::unpaired(&forked.messages), 0);
    }
    let server = Server::start(busy()).unwrap();
    let (forked, _) = capped(Wire::Chat, &server, Caps { turns: 0, ..AMPLE }).await;
    assert_eq!((cap(&forked), server.count()), (Some(Cap::Turns), 0));
}

#[tokio::test]
async fn input() {
    for wire in WIRES {
        let usage = Usage { input: 1_000, cache_read: 9_000, output: 50, ..Usage::default() };
        let server = Server::start(busy().usage(usage)).unwrap();
        // Two prompts of 10,000; a third would be 10,000 and the answer.
        let (forked, _) = capped(wire, &server, Caps { input_tokens: 30_010, ..AMPLE }).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Input), 2), "{wire:?}");
    }
    // The first prompt is counted before it is sent.
    let server = Server::start(busy()).unwrap();
    let (forked, _) = capped(Wire::Anthropic, &server, Caps { input_tokens: 200, ..AMPLE }).await;
    assert_eq!((cap(&forked), server.count()), (Some(Cap::Input), 0));
}

#[tokio::test]
async fn output() {
    for wire in WIRES {
        let usage = Usage { input: 1_000, output: 400, ..Usage::default() };
        let server = Server::start(busy().usage(usage)).unwrap();
        let (forked, _) = capped(wire, &server, Caps { output_tokens: 1_000, ..AMPLE }).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Output), 3), "{wire:?}");
        if wire == Wire::Anthropic {
            let asked: Vec<_> =
                server.requests().iter().map(|seen| seen.json()["max_tokens"].clone()).collect();
            assert_eq!(asked, [1_000, 600, 200]);
        } else {
            // The parent set no limit.
            assert!(server.requests().iter().all(|seen| seen.request().unwrap().max_output().is_none()));
        }
    }
}

#[tokio::test]
async fn an_answer_that_reaches_its_limit_is_capped_with_what_it_said() {
    for wire in WIRES {
        let server = Server::start(Fault::MaxTokens).unwrap();
        let (forked, _) = capped(wire, &server, AMPLE).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Output), 1), "{wire:?}");
        assert!(forked.text.starts_with("The"), "{wire:?}: {}", forked.text);
    }
}

fn price() -> Price {
    let rates = Rates {
        input: Rate::per_million(10.0),
        write_short: Rate::per_million(12.5),
        write_long: Rate::per_million(20.0),
        read: Rate::per_million(1.0),
        output: Rate::per_million(50.0),
    };
    Price { rates, ..Price::unknown() }
}

#[tokio::test]
async fn dollars() {
    for wire in WIRES {
        // Ten cents each, and what follows is not in the cache.
        let usage = Usage { input: 9_000, output: 200, ..Usage::default() };
        let server = Server::start(busy().usage(usage)).unwrap();
        let setting = Setting { caps: Caps { dollars: 0.25, ..AMPLE }, price: price(), ..Setting::of(wire) };
        let forked = setting.run(&model(wire, &server), &mut Editor::default()).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Dollars), 2), "{wire:?}");
        assert_eq!(forked.receipt.dollars, 0.2);
    }
    // With half a cent left behind the prompt, an answer of a hundred tokens is all that it may be.
    let usage = Usage { input: 9_000, output: 200, ..Usage::default() };
    let server = Server::start(busy().usage(usage)).unwrap();
    let caps = Caps { dollars: 0.21, ..AMPLE };
    let tail = Tail { max_output: Some(4_000), ..Tail::default() };
    let setting = Setting { caps, price: price(), tail, ..Setting::of(Wire::Chat) };
    setting.run(&model(Wire::Chat, &server), &mut Editor::default()).await;
    let asked: Vec<u64> =
        server.requests().iter().map(|seen| seen.request().unwrap().max_output().unwrap()).collect();
    assert_eq!(asked.len(), 2);
    assert!((3_900..=4_000).contains(&asked[0]) && (64..400).contains(&asked[1]), "{asked:?}");
}

#[tokio::test]
async fn a_free_model_needs_no_money() {
    let server = Server::start("Done.").unwrap();
    let (forked, _) = capped(Wire::Chat, &server, Caps { dollars: 0.0, ..AMPLE }).await;
    assert!(forked.end.is_done());
    let setting = Setting { caps: Caps { dollars: 0.0, ..AMPLE }, price: price(), ..Setting::of(Wire::Chat) };
    let forked = setting.run(&model(Wire::Chat, &server), &mut Editor::default()).await;
    assert_eq!((cap(&forked), server.count()), (Some(Cap::Dollars), 1));
}

#[tokio::test]
async fn seconds() {
    for wire in WIRES {
        let server = Server::start(Fault::Stall(Stall::BeforeHead)).unwrap();
        let (forked, _) = capped(wire, &server, Caps { seconds: 1, ..AMPLE }).await;
        assert_eq!((cap(&forked), server.count()), (Some(Cap::Seconds), 1), "{wire:?}");
        // Nobody said what it cost.
        assert!(forked.receipt.estimated && forked.receipt.usage.input > 0, "{:?}", forked.receipt);
    }
    let server = Server::start("Done.").unwrap();
    let (forked, _) = capped(Wire::Chat, &server, Caps { seconds: 0, ..AMPLE }).await;
    assert_eq!((cap(&forked), server.count()), (Some(Cap::Seconds), 0));
}

#[tokio::test]
async fn thinking_has_its_budget_beside_the_limit() {
    let body = String::from_utf8(parent(Wire::Anthropic)).unwrap();
    let body = body.replace(
        r#""max_tokens": 4096"#,
        r#""max_tokens": 9000, "thinking": {"type":"enabled","budget_tokens":8000}"#,
    );
    let server = Server::start("Done.").unwrap();
    let prefix = Prefix::new(Wire::Anthropic, body).unwrap();
    let setting =
        Setting { prefix, caps: Caps { output_tokens: 1_000, ..AMPLE }, ..Setting::of(Wire::Anthropic) };
    assert!(setting.run(&model(Wire::Anthropic, &server), &mut Editor::default()).await.end.is_done());
    let body = server.requests()[0].json().clone();
    assert_eq!((&body["max_tokens"], &body["thinking"]["budget_tokens"]), (&json!(9_000), &json!(8_000)));
}

#[test]
fn caps_are_read_with_defaults_and_without_slips() {
    let caps: Caps = serde_json::from_str(r#"{"turns": 2}"#).unwrap();
    assert_eq!(caps, Caps { turns: 2, ..Caps::default() });
    assert!(serde_json::from_str::<Caps>(r#"{"turn": 2}"#).is_err());
}

//! What a fork says it cost.

use super::{Editor, Setting, model, parent, prefix};
use crate::support::WIRES;
use serde_json::json;
use throughline_core::cost::{LongContext, Price, Rate, Rates};
use throughline_model::{Prefix, Receipt, Usage, Wire};
use throughline_testkit::{Answer, Ending, Fault, Figures, Reply, Server};

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

const FIRST: Usage = Usage { input: 100, cache_read: 10_000, cache_write: 0, output: 20, reasoning: 5 };
const SECOND: Usage = Usage { input: 300, cache_read: 10_000, cache_write: 0, output: 40, reasoning: 0 };

fn two_turns() -> Vec<Reply> {
    vec![
        Answer::text("On it.").call("Edit", json!({})).usage(FIRST).into(),
        Answer::text("Done.").usage(SECOND).into(),
    ]
}

async fn receipt(wire: Wire, server: &Server, price: Price) -> Receipt {
    let forked =
        Setting { price, ..Setting::of(wire) }.run(&model(wire, server), &mut Editor::default()).await;
    assert!(forked.end.is_done(), "{wire:?}: {:?}", forked.end);
    forked.receipt
}

#[tokio::test]
async fn a_receipt_adds_up() {
    for wire in WIRES {
        let server = Server::start(two_turns()).unwrap();
        let receipt = receipt(wire, &server, price()).await;
        let usage = Usage { input: 400, cache_read: 20_000, cache_write: 0, output: 60, reasoning: 5 };
        assert_eq!((receipt.usage, receipt.requests), (usage, 2), "{wire:?}");
        // 400 × 10 + 20,000 × 1 + 60 × 50, per million.
        assert_eq!(receipt.dollars, 0.027);
        assert_eq!((receipt.job.as_str(), receipt.model.as_str()), ("notes", "test-model"));
        assert_eq!((receipt.outcome.as_str(), receipt.estimated, receipt.tokens()), ("done", false, 20_460));
        assert_eq!(receipt.shared_bytes, 2 * prefix(wire).len() as u64);
        let sent: usize = server.requests().iter().map(|seen| seen.body.len()).sum();
        assert_eq!(receipt.sent_bytes, sent as u64);
        assert!((receipt.session.as_ref(), receipt.changed.as_slice()) == (None, &[]));

        let text = serde_json::to_string(&receipt).unwrap();
        assert!(!text.contains("On it.") && !text.contains("careful"), "{text}");
        assert_eq!(serde_json::from_str::<Receipt>(&text).unwrap(), receipt);
    }
}

#[tokio::test]
async fn long_prompts_are_billed_one_by_one() {
    let dear = Price { long: Some(LongContext { over: 10_200, input: 2.0, output: 2.0 }), ..price() };
    let server = Server::start(two_turns()).unwrap();
    let receipt = receipt(Wire::Anthropic, &server, dear).await;
    // Only the second prompt is over the limit: 1.2 cents, and twice 1.5.
    assert_eq!(receipt.dollars, 0.042);
}

#[tokio::test]
async fn writing_for_an_hour_costs_more() {
    let body = String::from_utf8(parent(Wire::Anthropic)).unwrap();
    let body = body.replace(r#"{"type":"ephemeral"}"#, r#"{"type":"ephemeral","ttl":"1h"}"#);
    let usage = Usage { cache_write: 1_000, ..Usage::default() };
    let server = Server::start(Answer::text("Done.").usage(usage)).unwrap();
    let cost = async |prefix: Prefix| {
        let setting = Setting { prefix, price: price(), ..Setting::of(Wire::Anthropic) };
        setting.run(&model(Wire::Anthropic, &server), &mut Editor::default()).await.receipt.dollars
    };
    assert_eq!(cost(prefix(Wire::Anthropic)).await, 0.0125);
    assert_eq!(cost(Prefix::new(Wire::Anthropic, body).unwrap()).await, 0.02);
}

#[tokio::test]
async fn what_was_wasted_is_paid_for() {
    let cut = Answer::text("Half of it and no more")
        .usage(FIRST)
        .spoilt_by(Fault::CutAfterEvents(4, Ending::Clean));
    let server = Server::start(vec![cut, Answer::text("Done.").usage(SECOND).into()]).unwrap();
    let receipt = receipt(Wire::Anthropic, &server, price()).await;
    assert_eq!(receipt.requests, 2);
    assert_eq!(receipt.usage.cache_read, 20_000);
    assert_eq!(receipt.usage.input, 400);
    // One body, however often it was sent.
    assert_eq!(receipt.sent_bytes, server.requests()[0].body.len() as u64);
}

#[tokio::test]
async fn wrong_figures_are_replaced_by_an_estimate() {
    for figures in [Figures::Missing, Figures::Absurd, Figures::Zero] {
        let server = Server::start(Answer::text("Done.").figures(figures.clone())).unwrap();
        let receipt = receipt(Wire::Chat, &server, price()).await;
        assert!(receipt.estimated, "{figures:?}");
        assert!((100..10_000).contains(&receipt.usage.input), "{figures:?}: {:?}", receipt.usage);
        assert!(receipt.dollars > 0.0 && receipt.dollars < 1.0);
    }
}

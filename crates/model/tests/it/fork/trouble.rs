//! Faults, cancellation, the wrong model.

use super::{AMPLE, Editor, Setting, model, unpaired};
use crate::support::{WIRES, provider, quick};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use throughline_core::ToolCall;
use throughline_model::{CancelToken, Cap, Caps, End, ErrorKind, Provider, Retries, Timeouts, Toolbox, Wire};
use throughline_testkit::{Answer, Fault, Server, Stall, Wording};

const ATTEMPTS: u32 = 2;
const TURNS: u32 = 3;

#[tokio::test]
async fn every_fault_ends_within_bounds() {
    let mut wrong = Vec::new();
    for (name, fault) in Fault::all() {
        for wire in WIRES {
            let server = Server::start(fault.clone()).unwrap();
            let idle_ms = if matches!(fault, Fault::Stall(_)) { 50 } else { Timeouts::default().idle_ms };
            let settings = Provider {
                retries: Retries { attempts: ATTEMPTS, ..Retries::default() },
                timeouts: Timeouts { idle_ms, ..Timeouts::default() },
                ..provider(wire, &server)
            };
            let (model, _) = quick(&settings);
            let setting = Setting { caps: Caps { turns: TURNS, ..AMPLE }, ..Setting::of(wire) };
            let forked = setting.run(&model, &mut Editor::default()).await;
            let most = match &forked.end {
                // Each is followed once, and leads nowhere.
                End::Failed(_) if matches!(fault, Fault::Redirect(..)) => 2,
                End::Failed(_) => ATTEMPTS,
                End::Done | End::Capped(Cap::Output) => 1,
                End::Capped(Cap::Turns) => TURNS,
                End::Capped(_) | End::Cancelled => 0,
            };
            let is_told = forked.receipt.outcome == forked.end.to_string();
            if server.count() > most as usize || unpaired(&forked.messages) > 0 || !is_told {
                wrong.push(format!("{name} on {wire:?}: {:?} after {} requests", forked.end, server.count()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn too_long_is_for_the_caller_to_decide() {
    for wire in WIRES {
        let server = Server::start(Fault::too_long(Wording::Anthropic)).unwrap();
        let forked = Setting::of(wire).run(&model(wire, &server), &mut Editor::default()).await;
        let End::Failed(error) = &forked.end else { panic!("{:?}", forked.end) };
        assert_eq!((error.kind(), error.gap(), server.count()), (ErrorKind::TooLong, Some(15_000), 1));
        assert_eq!(forked.receipt.outcome, "failed: too_long");
        // A request that was turned down costs nothing.
        assert_eq!((forked.receipt.tokens(), forked.receipt.requests), (0, 1));
    }
}

#[tokio::test]
async fn a_failure_keeps_what_was_done_before_it() {
    let replies = vec![Answer::text("On it.").call("Edit", json!({})).into(), Fault::Invalid.into()];
    let server = Server::start(replies).unwrap();
    let mut tools = Editor::default();
    let forked = Setting::of(Wire::Anthropic).run(&model(Wire::Anthropic, &server), &mut tools).await;
    assert!(matches!(&forked.end, End::Failed(error) if error.kind() == ErrorKind::Invalid));
    assert_eq!((tools.calls.len(), forked.receipt.requests, forked.text.as_str()), (1, 2, "On it."));
    assert!(forked.receipt.usage.output > 0);
    assert_eq!(unpaired(&forked.messages), 0);
}

#[tokio::test]
async fn a_cancelled_fork_sends_nothing() {
    let server = Server::start("Done.").unwrap();
    let cancel = CancelToken::new();
    cancel.cancel();
    let setting = Setting { cancel, ..Setting::of(Wire::Chat) };
    let forked = setting.run(&model(Wire::Chat, &server), &mut Editor::default()).await;
    assert!(matches!(forked.end, End::Cancelled));
    assert_eq!((server.count(), forked.receipt.outcome.as_str()), (0, "cancelled"));
}

#[tokio::test]
async fn cancelling_stops_a_request() {
    for wire in WIRES {
        let server = Arc::new(Server::start(Fault::Stall(Stall::BeforeBody)).unwrap());
        let cancel = CancelToken::new();
        let model = model(wire, &server);
        let stop = {
            let (server, cancel) = (Arc::clone(&server), cancel.clone());
            async move {
                tokio::task::spawn_blocking(move || server.wait_for(1, Duration::from_secs(30)))
                    .await
                    .unwrap();
                cancel.cancel();
            }
        };
        let mut tools = Editor::default();
        let setting = Setting { cancel, ..Setting::of(wire) };
        let (forked, ()) = tokio::join!(setting.run(&model, &mut tools), stop);
        assert!(matches!(forked.end, End::Cancelled), "{wire:?}: {:?}", forked.end);
        assert_eq!(server.count(), 1);
    }
}

/// Cancels when it is called.
struct Cancels(CancelToken, u32);

impl Toolbox for Cancels {
    fn call(&mut self, _: &ToolCall) -> Result<String, String> {
        self.0.cancel();
        self.1 += 1;
        Ok("Done.".to_owned())
    }
}

#[tokio::test]
async fn cancelling_between_calls_leaves_pairs() {
    let answer = Answer::empty().call("Edit", json!({})).call("Edit", json!({}));
    let server = Server::start(answer).unwrap();
    let mut tools = Cancels(CancelToken::new(), 0);
    let setting = Setting { cancel: tools.0.clone(), ..Setting::of(Wire::Responses) };
    let forked = setting.run(&model(Wire::Responses, &server), &mut tools).await;
    assert!(matches!(forked.end, End::Cancelled));
    assert_eq!((tools.1, server.count(), unpaired(&forked.messages)), (1, 1, 0));
}

#[tokio::test]
async fn a_model_of_another_wire_is_not_asked() {
    let server = Server::start("Done.").unwrap();
    let forked = Setting::of(Wire::Anthropic).run(&model(Wire::Chat, &server), &mut Editor::default()).await;
    assert!(matches!(&forked.end, End::Failed(error) if error.kind() == ErrorKind::Config));
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn a_request_without_messages_fails_before_it_is_sent() {
    let server = Server::start("Done.").unwrap();
    let prefix = throughline_model::Prefix::new(Wire::Chat, r#"{"model":"m"}"#).unwrap();
    let setting = Setting { prefix, ..Setting::of(Wire::Chat) };
    let forked = setting.run(&model(Wire::Chat, &server), &mut Editor::default()).await;
    assert!(matches!(&forked.end, End::Failed(error) if error.kind() == ErrorKind::Invalid));
    assert_eq!(server.count(), 0);
}

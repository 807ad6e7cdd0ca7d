//! What the model is told, and what it is asked again.

use super::{Editor, Setting, model, unpaired};
use crate::support::WIRES;
use serde_json::json;
use throughline_core::Message;
use throughline_model::{NoTools, Wire};
use throughline_testkit::{Answer, Reply, Server};
use throughline_wire::Stop;

fn results(server: &Server) -> Vec<String> {
    let request = server.last().unwrap().request().unwrap();
    request
        .messages
        .iter()
        .flat_map(Message::results)
        .map(|result| result.content.to_text().into_owned())
        .collect()
}

#[tokio::test]
async fn every_call_of_an_answer_gets_its_result_and_refusals_are_told() {
    for wire in WIRES {
        let first = Answer::text("Several at once.")
            .thinking("What first?")
            .call("Edit", json!({"path": "a"}))
            .call("Bash", json!({"command": "rm -rf /"}))
            .free_call("apply_patch", "*** Begin Patch")
            .call("Unheard-of", json!({}));
        let server = Server::start(vec![first.into(), Reply::from("Done.")]).unwrap();
        let mut tools = Editor::default();
        let forked = Setting::of(wire).run(&model(wire, &server), &mut tools).await;
        assert!(forked.end.is_done(), "{wire:?}: {:?}", forked.end);
        assert_eq!(tools.calls, ["Edit", "Bash", "apply_patch", "Unheard-of"]);
        let told = results(&server);
        assert_eq!(
            told,
            [
                "The file was changed.",
                "Bash is not for you.",
                "apply_patch is not for you.",
                "Unheard-of is not for you."
            ],
            "{wire:?}"
        );
        assert_eq!(unpaired(&forked.messages), 0, "{wire:?}");
        let request = server.last().unwrap().request().unwrap();
        assert_eq!(unpaired(&request.messages), 0, "{wire:?}");
        if wire == Wire::Anthropic {
            let body = server.last().unwrap().json().clone();
            let blocks = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
            assert_eq!(blocks[0].get("is_error"), None);
            assert_eq!(blocks[1]["is_error"], true);
        }
    }
}

#[tokio::test]
async fn without_tools_nothing_is_done() {
    for wire in WIRES {
        let first = Answer::empty().call("Edit", json!({}));
        let server = Server::start(vec![first.into(), Reply::from("In words, then.")]).unwrap();
        let forked = Setting::of(wire).run(&model(wire, &server), &mut NoTools).await;
        assert!(forked.end.is_done());
        assert_eq!(forked.text, "In words, then.");
        assert_eq!(results(&server), ["Edit can't be used here: no tool can. Answer in words only."]);
    }
}

#[tokio::test]
async fn a_paused_answer_is_gone_on_with() {
    let first = Answer::text("Wait.").stop(Stop::Paused);
    let server = Server::start(vec![first.into(), Reply::from("Done.")]).unwrap();
    let forked = Setting::of(Wire::Anthropic).run(&model(Wire::Anthropic, &server), &mut NoTools).await;
    assert!(forked.end.is_done());
    assert_eq!((forked.text.as_str(), server.count()), ("Done.", 2));
    let body = server.last().unwrap().json().clone();
    let last = body["messages"].as_array().unwrap().last().unwrap();
    assert_eq!((&last["role"], &last["content"][0]["text"]), (&json!("assistant"), &json!("Wait.")));
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_not_carried_out() {
    for wire in WIRES {
        let first = Answer::empty()
            .call("Edit", json!({"path": "whole"}))
            .call("Edit", json!({"path": "half"}))
            .stop(Stop::MaxTokens);
        let server = Server::start(vec![first.into(), Reply::from("Done.")]).unwrap();
        let mut tools = Editor::default();
        let forked = Setting::of(wire).run(&model(wire, &server), &mut tools).await;
        assert!(forked.end.is_done(), "{wire:?}: {:?}", forked.end);
        assert_eq!(tools.calls.len(), 1, "{wire:?}");
        let told = results(&server);
        assert_eq!(told[0], "The file was changed.");
        assert!(told[1].contains("cut off"), "{wire:?}: {told:?}");
    }
}

#[tokio::test]
async fn the_text_is_that_of_the_last_answer() {
    let server = Server::start(Answer::text("One.").and_text("Two.").thinking("Not this.")).unwrap();
    let forked = Setting::of(Wire::Anthropic).run(&model(Wire::Anthropic, &server), &mut NoTools).await;
    assert_eq!(forked.text, "One.\nTwo.");
    assert_eq!(forked.messages[0].to_text(), "Update the notes.");
}

//! What `exec --input-format stream-json` reads: an object a line.

use serde_json::Value;
use throughline_agent::agent::Said;
use throughline_agent::permissions::Mode;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc;

/// What came in.
#[derive(Debug, PartialEq)]
pub(super) enum Incoming {
    /// `{"type": "user", "text": …}`, or with the message of the Anthropic format: a turn.
    User(Said),
    /// `{"type": "steer", "text": …}`: told the model at its next step.
    Steer(String),
    /// `{"type": "interrupt"}`: the turn that runs is stopped.
    Interrupt,
    /// `{"type": "model", "model": …}`: another model from the next turn on.
    Model(String),
    /// `{"type": "permission_mode", "mode": …}`.
    Mode(Mode),
    /// `{"type": "compact", "focus": …}`: make room before the next turn.
    Compact(Option<String>),
    /// None of these.
    Wrong(String),
}

/// Lines that wait to be taken.
const WAITING: usize = 64;

/// Reads standard input in the background.
pub(super) fn read_lines() -> mpsc::Receiver<Incoming> {
    let (send, receive) = mpsc::channel(WAITING);
    tokio::spawn(async move {
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let mut number = 0;
        while let Ok(Some(line)) = lines.next_line().await {
            number += 1;
            if !line.trim().is_empty() && send.send(parse(&line, number)).await.is_err() {
                break;
            }
        }
    });
    receive
}

fn parse(line: &str, number: usize) -> Incoming {
    let wrong = |why: String| {
        Incoming::Wrong(format!(
            "line {number} of standard input: {why}; a line is like {{\"type\": \"user\", \"text\": \"…\"}}, or of type steer, interrupt, model, permission_mode or compact"
        ))
    };
    let value: Value = match serde_json::from_str(line) {
        Ok(value) => value,
        Err(error) => return wrong(format!("not JSON ({error})")),
    };
    let text = text_of(&value);
    match (value["type"].as_str(), text) {
        (Some("user"), Some(text)) => Incoming::User(Said::from(text)),
        (Some("steer"), Some(text)) => Incoming::Steer(text),
        (Some("interrupt"), _) => Incoming::Interrupt,
        (Some("compact"), _) => Incoming::Compact(value["focus"].as_str().map(str::to_owned)),
        (Some("model"), _) => match value["model"].as_str() {
            Some(model) => Incoming::Model(model.to_owned()),
            None => wrong("it names no `model`".to_owned()),
        },
        (Some("permission_mode"), _) => match value["mode"].as_str().unwrap_or_default().parse() {
            Ok(mode) => Incoming::Mode(mode),
            Err(why) => wrong(why),
        },
        (Some("user" | "steer"), None) => wrong("it has no text".to_owned()),
        (Some(other), _) => wrong(format!("the type {other:?} is not known")),
        (None, _) => wrong("it has no type".to_owned()),
    }
}

/// The words: `text`, or the content of a message as a string or as text blocks.
fn text_of(value: &Value) -> Option<String> {
    let content = &value["message"]["content"];
    let blocks = || {
        let texts: Vec<&str> =
            content.as_array()?.iter().filter_map(|block| block["text"].as_str()).collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    };
    let text = value["text"].as_str().or_else(|| content.as_str()).map(str::to_owned).or_else(blocks);
    text.filter(|text| !text.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_every_form_are_read_and_others_are_named() {
        assert_eq!(parse(r#"{"type":"user","text":"hi"}"#, 1), Incoming::User("hi".into()));
        let message = r#"{"type":"user","message":{"role":"user","content":[{"type":"text","text":"hi"}]}}"#;
        assert_eq!(parse(message, 1), Incoming::User("hi".into()));
        assert_eq!(parse(r#"{"type":"interrupt"}"#, 1), Incoming::Interrupt);
        for (line, why) in [
            ("x", "not JSON"),
            ("{}", "no type"),
            (r#"{"type":"user"}"#, "no text"),
            (r#"{"type":"z"}"#, "not known"),
        ] {
            let Incoming::Wrong(said) = parse(line, 7) else { panic!("{line} was taken") };
            assert!(said.contains("line 7") && said.contains(why), "{said}");
        }
    }
}

//! Spans and metrics of sessions.

#[cfg(feature = "otel")]
mod collector;
mod heard;
#[cfg(feature = "otel")]
mod otel;
mod spans;

use crate::session::{Stage, long_words};
use throughline_core::{Message, Role};
use throughline_engine::config::Telemetry;
use throughline_engine::session::Session;
use throughline_engine::telemetry;
use throughline_model::CancelToken;

/// What nobody may hear of.
const SECRET: &str = "xylophonium";

/// Talks about a secret, until the view was replaced.
async fn talk_until_compacted(session: &mut Session) {
    for n in 0..40 {
        let mut message = long_words(n);
        message.blocks.extend(Message::text(Role::User, format!("The word is {SECRET}.")).blocks);
        session.record(message).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        session.after_turn().await.unwrap();
        session.settle().await.unwrap();
        if session.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary) {
            return;
        }
    }
    panic!("it was never compacted");
}

/// A folder whose name is secret, too.
fn secretive(mut stage: Stage) -> Stage {
    stage.cwd = Some(format!("/work/{SECRET}"));
    stage
}

#[test]
fn it_is_off_unless_switched_on() {
    let settings = Telemetry::default();
    assert!(!settings.enabled);
    // Nothing is looked at, not even what can't be used.
    let nonsense = Telemetry { endpoint: "nonsense".to_owned(), ..settings };
    drop(telemetry::start(&nonsense, &|_| None).unwrap());
    let on = Telemetry { enabled: true, ..nonsense };
    let off = |name: &str| (name == "OTEL_SDK_DISABLED").then(|| "true".to_owned());
    drop(telemetry::start(&on, &off).unwrap());
}

#[cfg(not(feature = "otel"))]
#[test]
fn a_build_without_an_exporter_says_so() {
    let on = Telemetry { enabled: true, ..Telemetry::default() };
    let error = telemetry::start(&on, &|_| None).unwrap_err();
    assert!(error.to_string().contains("--features otel"), "{error}");
}

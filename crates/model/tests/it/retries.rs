//! When a request is sent again, and when not.

use crate::support::{bytes, provider, quick};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_model::{
    Call, Delivery, Delta, ErrorKind, Http, Limits, Model, Provider, Retries, Usage, Wire,
};
use throughline_testkit::{Answer, Ending, Fault, Http as Plain, Playlist, RetryAfter, Server};

fn whole() -> bytes::Bytes {
    bytes(Wire::Chat, Delivery::Whole)
}

#[tokio::test]
async fn a_passing_fault_passes_and_the_bytes_stay_the_same() {
    let script =
        Playlist::new().then(Fault::Overloaded).then(Fault::Hangup).then(Fault::ServerError).then("Yes.");
    let server = Server::start(script).unwrap();
    let (model, waits) = quick(&provider(Wire::Chat, &server));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    let model = model.with_observer(move |retry| told.lock().unwrap().push((retry.attempt, retry.kind)));
    let answer = model.send(Call::new(whole())).await.unwrap();
    assert_eq!(answer.attempts, 4);
    assert_eq!(waits.all(), [500, 1_000, 2_000].map(Duration::from_millis));
    assert_eq!(
        *seen.lock().unwrap(),
        [(1, ErrorKind::Overloaded), (2, ErrorKind::Connection), (3, ErrorKind::Server)]
    );
    assert!(server.requests().iter().all(|request| request.body == whole()));
}

#[tokio::test]
async fn retry_after_is_honoured() {
    for (again, expected) in [
        (RetryAfter::Seconds(7), 7_000..=7_000),
        (RetryAfter::Millis(1_250), 1_250..=1_250),
        (RetryAfter::InWords(1_250), 1_250..=1_250),
        // Between the server's clock and ours a little passes.
        (RetryAfter::Date(50), 1..=50_000),
        (RetryAfter::Nonsense, 500..=500),
        (RetryAfter::Unsaid, 500..=500),
    ] {
        let server = Server::start(Playlist::new().then(Fault::RateLimited(again)).then("Yes.")).unwrap();
        let (model, waits) = quick(&provider(Wire::Chat, &server));
        model.send(Call::new(whole())).await.unwrap();
        let waits: Vec<u128> = waits.all().iter().map(Duration::as_millis).collect();
        assert!(waits.len() == 1 && expected.contains(&waits[0]), "{again:?}: {waits:?}");
    }
}

#[tokio::test]
async fn a_wait_beyond_patience_is_an_error_that_says_when() {
    let server = Server::start(Fault::RateLimited(RetryAfter::Seconds(3_600))).unwrap();
    let (model, waits) = quick(&provider(Wire::Chat, &server));
    let error = model.send(Call::new(whole())).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3_600)));
    assert!(error.to_string().contains("3600 s"), "{error}");
    assert_eq!((server.count(), waits.all().len()), (1, 0));
}

#[tokio::test]
async fn the_providers_advice_is_taken() {
    let failed = |status, advice| {
        Plain::json(status, &serde_json::json!({"error": {"message": "odd"}}))
            .header("x-should-retry", advice)
    };
    for (reply, requests) in [(failed(500, "false"), 1), (failed(418, "true"), 3), (failed(413, "true"), 1)] {
        let server = Server::start(throughline_testkit::Reply::from(reply)).unwrap();
        let retries = Retries { attempts: 3, ..Retries::default() };
        let (model, _) = quick(&Provider { retries, ..provider(Wire::Chat, &server) });
        model.send(Call::new(whole())).await.unwrap_err();
        assert_eq!(server.count(), requests);
    }
}

#[tokio::test]
async fn a_call_may_allow_fewer_attempts() {
    let server = Server::start(Fault::Overloaded).unwrap();
    let (model, _) = quick(&provider(Wire::Chat, &server));
    for (attempts, sent) in [(0, 1), (1, 2), (2, 4)] {
        let limits = Limits { attempts: Some(attempts), ..Limits::default() };
        model.send(Call::new(whole()).within(limits)).await.unwrap_err();
        assert_eq!(server.count(), sent, "after {attempts}");
    }
}

#[tokio::test]
async fn a_cut_answer_is_asked_for_again_only_if_nobody_heard_it() {
    let script = || Playlist::new().then(Fault::CutAfterEvents(6, Ending::Abrupt)).then("Yes.");
    let sent = bytes(Wire::Anthropic, Delivery::Streamed);

    let server = Server::start(script()).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let answer = model.send(Call::new(sent.clone())).await.unwrap();
    assert_eq!(answer.attempts, 2);
    assert!(answer.wasted.input > 0, "the first attempt was paid for: {:?}", answer.wasted);

    let server = Server::start(script()).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let mut heard = String::new();
    let mut listener = |delta| {
        if let Delta::Text(text) = delta {
            heard.push_str(&text);
        }
    };
    let error = model.send(Call::new(sent.clone()).listen(&mut listener)).await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::CutOff, 1));
    assert!(!heard.is_empty());

    // Before a word was heard, a listener is no obstacle.
    let server =
        Server::start(Playlist::new().then(Fault::CutAfterEvents(1, Ending::Abrupt)).then("Yes.")).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let mut heard = String::new();
    let mut listener = |delta| {
        if let Delta::Text(text) = delta {
            heard.push_str(&text);
        }
    };
    let answer = model.send(Call::new(sent).listen(&mut listener)).await.unwrap();
    assert_eq!((answer.attempts, heard.as_str()), (2, "Yes."));
}

#[tokio::test]
async fn a_wait_that_ends_behind_the_deadline_is_not_begun() {
    let server = Server::start(Fault::RateLimited(RetryAfter::Seconds(50))).unwrap();
    // The real clock: this test would last 50 s if the wait were begun.
    let model = Http::new(&provider(Wire::Chat, &server), &crate::support::nothing).unwrap();
    let limits = Limits { deadline: Some(Duration::from_secs(20)), ..Limits::default() };
    let error = model.send(Call::new(whole()).within(limits)).await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::RateLimited, 1));
}

#[tokio::test]
async fn usage_of_an_answer_at_the_first_attempt_is_not_wasted() {
    let server = Server::start(Answer::text("Yes.")).unwrap();
    let (model, _) = quick(&provider(Wire::Chat, &server));
    assert_eq!(model.send(Call::new(whole())).await.unwrap().wasted, Usage::default());
}

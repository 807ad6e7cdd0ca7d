//! Cancellation, silence, deadlines.

use crate::support::{bytes, nothing, provider, quick};
use std::sync::Arc;
use std::time::Duration;
use throughline_model::{
    Call, CancelToken, Delivery, Delta, ErrorKind, Http, Limits, Model, Provider, Timeouts, Wire,
};
use throughline_testkit::{Fault, RetryAfter, Server, Stall};

/// Longer than anything here takes; reached only if something is broken.
const LONG: Duration = Duration::from_secs(30);

async fn departures(server: &Arc<Server>) -> usize {
    let server = Arc::clone(server);
    tokio::task::spawn_blocking(move || server.wait_for_departures(1, LONG)).await.unwrap()
}

#[tokio::test]
async fn cancelling_drops_the_connection() {
    for stall in [Stall::BeforeHead, Stall::BeforeBody] {
        let server = Arc::new(Server::start(Fault::Stall(stall)).unwrap());
        let (model, _) = quick(&provider(Wire::Anthropic, &server));
        let cancel = CancelToken::new();
        let call = Call::new(bytes(Wire::Anthropic, Delivery::Streamed)).cancelled_by(cancel.clone());
        let arrived = {
            let server = Arc::clone(&server);
            async move {
                tokio::task::spawn_blocking(move || server.wait_for(1, LONG)).await.unwrap();
                cancel.cancel();
            }
        };
        let (result, ()) = tokio::join!(model.send(call), arrived);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled, "{stall:?}");
        assert_eq!(departures(&server).await, 1, "{stall:?}");
        assert_eq!(server.count(), 1, "{stall:?}");
    }
}

#[tokio::test]
async fn cancelling_in_the_middle_keeps_what_had_come() {
    let server = Arc::new(Server::start(Fault::Stall(Stall::AfterEvents(6))).unwrap());
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let cancel = CancelToken::new();
    let mut listener = {
        let cancel = cancel.clone();
        move |_: Delta| cancel.cancel()
    };
    let call =
        Call::new(bytes(Wire::Anthropic, Delivery::Streamed)).cancelled_by(cancel).listen(&mut listener);
    let error = model.send(call).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    assert!(error.partial().unwrap().messages[0].to_text().starts_with("The"), "{error:?}");
    assert_eq!(departures(&server).await, 1);
}

#[tokio::test]
async fn a_cancelled_call_is_not_begun() {
    let server = Server::start(Fault::Overloaded).unwrap();
    let (model, _) = quick(&provider(Wire::Chat, &server));
    let cancel = CancelToken::new();
    cancel.cancel();
    let error =
        model.send(Call::new(bytes(Wire::Chat, Delivery::Whole)).cancelled_by(cancel)).await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::Cancelled, 0));
}

#[tokio::test]
async fn cancelling_ends_a_wait_between_attempts() {
    let server = Server::start(Fault::RateLimited(RetryAfter::Seconds(50))).unwrap();
    let cancel = CancelToken::new();
    // The observer is told before the wait begins.
    let stop = cancel.clone();
    let model =
        Http::new(&provider(Wire::Chat, &server), &nothing).unwrap().with_observer(move |_| stop.cancel());
    let error =
        model.send(Call::new(bytes(Wire::Chat, Delivery::Whole)).cancelled_by(cancel)).await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::Cancelled, 1));
}

#[tokio::test]
async fn dropping_the_future_drops_the_connection() {
    let server = Arc::new(Server::start(Fault::Stall(Stall::BeforeBody)).unwrap());
    let model = Arc::new(Http::new(&provider(Wire::Chat, &server), &nothing).unwrap());
    let task = tokio::spawn({
        let model = Arc::clone(&model);
        async move { model.send(Call::new(bytes(Wire::Chat, Delivery::Streamed))).await.map(|_| ()) }
    });
    let waiting = Arc::clone(&server);
    tokio::task::spawn_blocking(move || waiting.wait_for(1, LONG)).await.unwrap();
    task.abort();
    assert_eq!(departures(&server).await, 1);
}

#[tokio::test]
async fn the_deadline_covers_everything() {
    let server = Arc::new(Server::start(Fault::Stall(Stall::AfterEvents(6))).unwrap());
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    let limits = Limits { deadline: Some(Duration::from_millis(200)), ..Limits::default() };
    let error =
        model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed)).within(limits)).await.unwrap_err();
    assert_eq!((error.kind(), server.count()), (ErrorKind::Deadline, 1));
    assert_eq!(departures(&server).await, 1);

    let total = Provider {
        timeouts: Timeouts { total_ms: 100, ..Timeouts::default() },
        ..provider(Wire::Anthropic, &server)
    };
    let (model, _) = quick(&total);
    let error = model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Deadline);
}

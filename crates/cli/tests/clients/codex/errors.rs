//! What goes wrong on the provider's side reaches the client as it is.

use super::runs;
use crate::kit::{Codex, Play, Stage, Way, both_ways, confined, says, through};
use throughline_testkit::{Ending, ErrorEvent, Fault, Playlist, Reply, RetryAfter};

/// The third request of a session meets with this, once; then all goes on.
fn third_meets(fault: Reply) -> Playlist {
    Playlist::new()
        .then(runs("I look.", "echo one"))
        .then(runs("And again.", "echo two"))
        .then(fault)
        .then(runs("Where were we?", "echo three"))
        .then(says("It went well in the end."))
}

fn recovers_from(fault: impl Fn() -> Reply) {
    let Some(_) = Codex::find() else { return };
    both_ways(Play {
        script: || third_meets(fault()),
        act: |stage: &Stage| {
            let ran = stage.codex(&[], &["Count"]).ok();
            assert!(ran.out.contains("It went well in the end."), "{}", ran.out);
            assert_eq!(stage.requests().len(), 5);
        },
    });
}

/// From the second request on a session meets with this, and that is the end of it.
fn gives_up_at(fault: impl Fn() -> Reply) {
    let Some(_) = Codex::find() else { return };
    both_ways(Play {
        script: || Playlist::new().then(runs("I look.", "echo one")).forever(fault()),
        act: |stage: &Stage| {
            let ran = stage.codex(&[], &["Count"]);
            assert_eq!(ran.code, Some(1), "{}", ran.out);
            assert!(ran.out.contains("turn.failed"), "{}", ran.out);
        },
    });
}

#[test]
fn a_rate_limit_is_waited_for() {
    confined(|| recovers_from(|| Fault::RateLimited(RetryAfter::Seconds(1)).into()));
}

#[test]
fn an_error_of_the_server_is_tried_again() {
    confined(|| recovers_from(|| Fault::ServerError.into()));
}

#[test]
fn a_connection_that_breaks_within_the_stream_is_tried_again() {
    confined(|| recovers_from(|| says("Let me see.").spoilt_by(Fault::CutAfterEvents(3, Ending::Abrupt))));
}

#[test]
fn a_kept_connection_that_breaks_before_the_answer_is_not_noticed() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let stopped = through(Way::Serve(""), third_meets(Fault::Hangup.into()), |stage| {
            let ran = stage.codex(&[], &["Count"]).ok();
            assert!(ran.out.contains("It went well in the end."), "{}", ran.out);
            let seen = stage.requests();
            assert_eq!((stage.heard().len(), seen.len()), (4, 5), "one of them was sent twice");
            assert_eq!(seen[2].body, seen[3].body);
        });
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn an_overloaded_provider_ends_the_turn() {
    confined(|| gives_up_at(|| says("Let me see.").spoilt_by(Fault::ErrorAfter(2, ErrorEvent::Overloaded))));
}

#[test]
fn a_wrong_key_ends_the_turn() {
    confined(|| gives_up_at(|| Fault::Unauthorized.into()));
}

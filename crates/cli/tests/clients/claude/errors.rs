//! What goes wrong on the provider's side reaches the client as it is.

use super::{asked, runs};
use crate::kit::{Claude, Play, Stage, Way, both_ways, confined, says, through};
use std::time::Duration;
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
    let Some(_) = Claude::find() else { return };
    both_ways(Play {
        script: || third_meets(fault()),
        act: |stage: &Stage| {
            let ran = stage.claude(&asked("Count")).ok();
            assert_eq!(ran.event("result")["result"], "It went well in the end.");
            assert_eq!(stage.requests().len(), 5);
        },
    });
}

#[test]
fn a_rate_limit_is_waited_for() {
    confined(|| recovers_from(|| Fault::RateLimited(RetryAfter::Seconds(1)).into()));
}

#[test]
fn an_overloaded_provider_is_asked_again() {
    confined(|| recovers_from(|| Fault::Overloaded.into()));
}

#[test]
fn an_error_of_the_server_is_tried_again() {
    confined(|| recovers_from(|| Fault::ServerError.into()));
}

#[test]
fn an_error_within_the_stream_is_tried_again() {
    confined(|| {
        recovers_from(|| says("Let me see.").spoilt_by(Fault::ErrorAfter(2, ErrorEvent::Overloaded)))
    });
}

#[test]
fn a_connection_that_breaks_within_the_stream_is_tried_again() {
    // What it costs is heard well before: at the same moment it is the client's luck.
    let slowly = || says("Let me see.").slowly(Duration::from_millis(200));
    confined(|| recovers_from(|| slowly().spoilt_by(Fault::CutAfterEvents(3, Ending::Abrupt))));
}

#[test]
fn a_kept_connection_that_breaks_before_the_answer_is_not_noticed() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = through(Way::Serve(""), third_meets(Fault::Hangup.into()), |stage| {
            let ran = stage.claude(&asked("Count")).ok();
            assert_eq!(ran.event("result")["result"], "It went well in the end.");
            let seen = stage.requests();
            assert_eq!((stage.heard().len(), seen.len()), (4, 5), "one of them was sent twice");
            assert_eq!(seen[2].body, seen[3].body);
        });
        assert_eq!(stopped.complaints, "");
    });
}

#[test]
fn a_wrong_key_ends_the_session() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || Playlist::new().forever(Fault::Unauthorized),
            act: |stage: &Stage| {
                let ran = stage.claude_with(&[("CLAUDE_CODE_MAX_RETRIES", "1")], &asked("Count"));
                assert_eq!(ran.code, Some(1));
                assert_eq!(ran.event("result")["is_error"], true);
            },
        });
    });
}

#[test]
fn an_answer_that_reached_its_limit_is_gone_on_with() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        both_ways(Play {
            script: || {
                Playlist::new()
                    .then(says("This is going to be long, very long.").spoilt_by(Fault::MaxTokens))
                    .then(says("And here it ends."))
            },
            act: |stage: &Stage| {
                stage.claude(&asked("Tell me")).ok();
                assert_eq!(stage.requests().len(), 2);
            },
        });
    });
}

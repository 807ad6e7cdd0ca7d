//! Sessions that outgrow the window, kept small on the way.

use super::{asked, bash, runs};
use crate::kit::{Claude, Stage, Stopped, Way, are_whole, confined, through};
use throughline_testkit::{Answer, Fault, Playlist, Script, Window, Wording};

/// How many commands are run, each with some 25 KB of output.
const ROUNDS: usize = 14;

/// A model whose window ends before the session does. It counts what it is sent, and the client believes it.
fn provider() -> impl Script {
    let mut script = Playlist::new();
    for round in 0..ROUNDS {
        let command = format!("seq -f 'round {round} line %05g of a long log' 1 800");
        script = script.then(Answer::text(format!("Round {round}.")).call("Bash", bash(&command)));
    }
    Window { limit: 66_000, wording: Wording::Anthropic, script: script.then(Answer::text("All read.")) }
}

/// A client that would condense at 67,000 tokens reads all of it, and does not.
fn reads_all(stage: &Stage) {
    let small = [("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")];
    let ran = stage.claude_with(&small, &asked("Read all the logs")).ok();
    let sizes: Vec<u64> = stage.requests().iter().map(|seen| seen.tokens).collect();
    assert_eq!(ran.event("result")["result"], "All read.", "{sizes:?}");
    assert!(!ran.out.contains("compact_boundary"), "the client condensed: {sizes:?}");
    assert_eq!(sizes.len(), ROUNDS + 1, "{sizes:?}");
    let transcript = stage.transcript();
    for round in 0..ROUNDS {
        assert!(transcript.contains(&format!("round {round} line 00800 of a long log")), "{round}");
    }
    are_whole(&stage.requests());
}

fn is_in_the_ledger(stopped: &Stopped) {
    assert_eq!(stopped.sessions().len(), 1);
    let kept = format!("{:?}", stopped.messages(&stopped.sessions()[0]));
    assert!((0..ROUNDS).all(|round| kept.contains(&format!("Round {round}."))), "the ledger has all of it");
    assert_eq!(stopped.complaints, "");
}

#[test]
fn a_long_session_stays_small_and_the_client_never_condenses_it() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = through(Way::Serve("[window]\ntokens = 50000\n"), provider(), |stage| {
            reads_all(stage);
            let (sent, arrived) = stage.last_sizes();
            assert!(arrived < sent * 2 / 3, "{arrived} bytes of {sent} arrived");
        });
        is_in_the_ledger(&stopped);
    });
}

#[test]
fn a_client_that_throughline_starts_never_condenses_by_itself() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        // Nothing is configured: when the client would do it is read from its own settings.
        is_in_the_ledger(&through(Way::Run, provider(), reads_all));
    });
}

#[test]
fn a_prompt_that_is_too_long_is_cured_before_the_client_hears_of_it() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let script = Playlist::new()
            .then(runs("I look.", "seq -f 'line %05g of the log' 1 1200"))
            .then(runs("And again.", "seq -f 'line %05g of the other log' 1 1000"))
            .then(Fault::too_long(Wording::Anthropic))
            .forever(Answer::text("It fits."));
        through(Way::Serve(""), script, |stage| {
            let ran = stage.claude(&asked("Read the logs")).ok();
            assert_eq!(ran.event("result")["result"], "It fits.");
            assert!(!ran.out.contains("compact_boundary") && !ran.out.contains("api_retry"), "{}", ran.out);
            let (seen, heard) = (stage.requests(), stage.heard());
            assert_eq!((heard.len(), seen.len()), (3, 4), "the proxy asked once more");
            assert!(seen[3].tokens < seen[2].tokens, "with less");
        });
    });
}

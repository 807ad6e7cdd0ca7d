//! Sessions that outgrow the window, kept small on the way.

use super::exec;
use crate::kit::{Codex, Way, are_whole, confined, through};
use throughline_testkit::{Answer, Playlist, Window, Wording};

/// How many commands are run, each with some 25 KB of output.
const ROUNDS: usize = 14;

#[test]
fn a_long_session_stays_small_and_the_client_never_condenses_it() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let mut script = Playlist::new();
        for round in 0..ROUNDS {
            let command = format!("seq -f 'round {round} line %05g of a long log' 1 800");
            script =
                script.then(Answer::text(format!("Round {round}.")).call("exec_command", exec(&command)));
        }
        let script = Window {
            limit: 60_000,
            wording: Wording::OpenAiInput,
            script: script.then(Answer::text("All read.")),
        };
        let stopped = through(Way::Serve("[window]\ntokens = 50000\n"), script, |stage| {
            let ran = stage.codex(&["model_auto_compact_token_limit = 60000"], &["Read all the logs"]).ok();
            assert!(ran.out.contains("All read."), "{}", ran.out);
            let transcript = stage.transcript();
            assert!(!transcript.contains("\"type\":\"compacted\""), "the client did not condense");
            for round in 0..ROUNDS {
                assert!(transcript.contains(&format!("round {round} line 00800 of a long log")), "{round}");
            }
            are_whole(&stage.requests());
            let (sent, arrived) = stage.last_sizes();
            assert!(arrived < sent * 2 / 3, "{arrived} bytes of {sent} arrived");
        });
        assert_eq!(stopped.sessions().len(), 1);
        let kept = format!("{:?}", stopped.messages(&stopped.sessions()[0]));
        assert!(
            (0..ROUNDS).all(|round| kept.contains(&format!("Round {round}."))),
            "the ledger has all of it"
        );
        assert_eq!(stopped.complaints, "");
    });
}

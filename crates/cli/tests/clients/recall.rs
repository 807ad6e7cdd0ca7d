//! Tools of the proxy's own, which the clients never hear of.

use crate::kit::{Claude, Codex, Stage, Stopped, Way, are_whole, confined, says, through};
use serde_json::{Value, json};
use throughline_testkit::{Answer, Playlist};

/// How a tool or a call of it is written.
const NAMED: &str = "\"name\":\"Recall\"";

/// The model looks at a command's output, then searches the session by our tool, then uses the client's tool again.
fn script(tool: &str, input: impl Fn(&str) -> Value) -> Playlist {
    let recalls =
        |text: &str| -> Answer { says(text).call("Recall", json!({ "query": "the colour of the door" })) };
    Playlist::new()
        .then(says("I look.").call(tool, input("echo the colour of the door is green")))
        .then(recalls("Which was it?"))
        .then(says("Green, and I say so.").call(tool, input("echo green")))
        .then(recalls("Once more."))
        .then(says("The door is green."))
}

/// The provider heard of our tool, the client did not.
fn only_the_model_knows(stage: &Stage) {
    let (heard, seen) = (stage.heard(), stage.requests());
    assert_eq!((heard.len(), seen.len()), (3, 5), "two requests are the proxy's own");
    assert!(seen.iter().all(|seen| seen.tools().contains(&"Recall")), "the same tools each time");
    for heard in &heard {
        assert!(!String::from_utf8_lossy(&heard.body).contains(NAMED), "the client does not know it");
    }
    assert!(!stage.transcript().contains(NAMED), "nor does what it keeps");
    let after = |at: usize| String::from_utf8_lossy(&seen[at].body).into_owned();
    for at in [2, 3, 4] {
        let body = after(at);
        assert!(body.contains("the colour of the door"), "{body}");
        assert_eq!(
            body.matches("Which was it?").count(),
            1,
            "what the model said stays as it said it: {body}"
        );
    }
    assert!(seen[4].shares(&seen[3]) > 1_000 && after(4).matches("\"Recall\"").count() >= 3, "{}", after(4));
    are_whole(&seen);
}

fn is_kept(stopped: &Stopped) {
    assert_eq!(stopped.sessions().len(), 1, "{:?}", stopped.sessions());
    assert_eq!(stopped.complaints, "");
}

#[test]
fn claude_does_not_notice_what_the_proxy_answers() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let input = |command: &str| json!({ "command": command, "description": "Look" });
        let stopped = through(Way::Serve(""), script("Bash", input), |stage| {
            let session = "6d0a1d70-5f0e-4c58-9d0b-0a5b3a1c0001";
            let ran = stage.claude(&["-p", "What colour is the door?", "--session-id", session]).ok();
            let said = ran.event("result")["result"].as_str().unwrap().to_owned();
            assert!(said.contains("The door is green."), "{said}");
            only_the_model_knows(stage);
        });
        is_kept(&stopped);
    });
}

#[test]
fn codex_does_not_notice_what_the_proxy_answers() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let input = |command: &str| json!({ "cmd": command, "yield_time_ms": 10000 });
        let stopped = through(Way::Serve(""), script("exec_command", input), |stage| {
            let ran = stage.codex(&[], &["What colour is the door?"]).ok();
            assert!(ran.out.contains("The door is green."), "{}", ran.out);
            only_the_model_knows(stage);
        });
        is_kept(&stopped);
    });
}

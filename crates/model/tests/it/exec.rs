//! Commands as models.
#![cfg(unix)]

use crate::support::{WIRES, bytes, request};
use std::io::Read;
use std::time::Duration;
use throughline_core::{Message, Role};
use throughline_model::{
    Argv, Call, CancelToken, Delivery, Delta, ErrorKind, Exec, ExecSettings, Input, Limits, Model,
    ModelError, Output, Wire,
};
use throughline_wire::Stop;
use tokio::sync::oneshot;

fn shell(wire: Wire, script: &str) -> ExecSettings {
    ExecSettings {
        model: "m".to_owned(),
        ..ExecSettings::new("cmd", wire, Argv::new(["sh", "-c", script]).unwrap())
    }
}

fn call(wire: Wire) -> Call<'static> {
    Call::new(bytes(wire, Delivery::Whole))
}

#[tokio::test]
async fn text_out_is_an_answer_on_each_wire() {
    for wire in WIRES {
        let model = Exec::new(shell(wire, "cat > /dev/null; echo 'It is done.'"));
        let mut heard = String::new();
        let mut listener = |delta| {
            if let Delta::Text(text) = delta {
                heard.push_str(&text);
            }
        };
        let answer = model.send(call(wire).listen(&mut listener)).await.unwrap();
        assert_eq!(answer.response.messages[0].to_text(), "It is done.");
        assert_eq!(answer.response.messages[0].role, Role::Assistant);
        assert_eq!(answer.response.stop, Stop::EndTurn);
        assert!(answer.estimated && answer.response.usage.input > 0 && answer.response.usage.output > 0);
        assert_eq!(heard, "It is done.");
    }
}

#[tokio::test]
async fn json_goes_in_as_it_is_and_may_come_out() {
    let script = r#"grep -q 'Do the tests pass' && echo '{"role": "assistant", "content": [{"type": "text", "text": "Yes."}], "stop_reason": "max_tokens", "usage": {"input_tokens": 5, "output_tokens": 2}}'"#;
    let model = Exec::new(ExecSettings { output: Output::Json, ..shell(Wire::Anthropic, script) });
    let answer = model.send(call(Wire::Anthropic)).await.unwrap();
    assert_eq!(
        (answer.response.stop, answer.response.usage.input, answer.estimated),
        (Stop::MaxTokens, 5, false)
    );

    let model = Exec::new(ExecSettings { output: Output::Json, ..shell(Wire::Chat, "echo oops") });
    assert_eq!(model.send(call(Wire::Chat)).await.unwrap_err().kind(), ErrorKind::Malformed);
}

#[tokio::test]
async fn a_conversation_can_be_put_into_words() {
    let model = Exec::new(ExecSettings { input: Input::Text, ..shell(Wire::Anthropic, "cat") });
    let alone = model.send(call(Wire::Anthropic)).await.unwrap();
    assert_eq!(alone.response.messages[0].to_text(), "Do the tests pass?");

    let mut talk = request(Wire::Anthropic);
    talk.envelope.insert("system".to_owned(), "Be brief.".into());
    talk.messages.push(Message::text(Role::Assistant, "They do."));
    talk.messages.push(Message::text(Role::User, "Sure?"));
    let answer = model.send(Call::new(talk.to_bytes())).await.unwrap();
    let expected = "## System\n\nBe brief.\n\n## User\n\nDo the tests pass?\n\n## Assistant\n\nThey do.\n\n## User\n\nSure?";
    assert_eq!(answer.response.messages[0].to_text(), expected);

    let error = model.send(Call::new("not json")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
}

#[tokio::test]
async fn large_input_and_output_do_not_block_each_other() {
    let mut big = request(Wire::Chat);
    big.messages.push(Message::text(Role::User, "word ".repeat(400_000)));
    let sent = big.to_bytes();
    let model = Exec::new(shell(Wire::Chat, "tee /dev/stderr"));
    let answer = model.send(Call::new(sent.clone())).await.unwrap();
    assert_eq!(answer.response.messages[0].to_text().len(), sent.len());
    // Nor does input that nobody reads.
    let model = Exec::new(shell(Wire::Chat, "echo done"));
    assert!(model.send(Call::new(sent)).await.is_ok());
}

#[tokio::test]
async fn failures_say_what_the_command_said() {
    let model = Exec::new(shell(Wire::Chat, "for i in 1 2 3 4 5 6 7 8; do echo line $i >&2; done; exit 7"));
    let error = model.send(call(Wire::Chat)).await.unwrap_err();
    let ModelError::Exec { code, stderr, .. } = &error else { panic!("{error}") };
    assert_eq!(*code, Some(7));
    assert!(stderr.starts_with("line 4") && stderr.ends_with("line 8"), "{stderr}");

    let missing = ExecSettings::new("cmd", Wire::Chat, Argv::new(["/no/such/program"]).unwrap());
    let error = Exec::new(missing).send(call(Wire::Chat)).await.unwrap_err();
    assert!(matches!(&error, ModelError::Exec { code: None, .. }), "{error}");
    assert!(error.to_string().contains("/no/such/program"), "{error}");

    let silent = Exec::new(shell(Wire::Chat, "true")).send(call(Wire::Chat)).await.unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::Malformed);
}

#[tokio::test]
async fn output_is_limited() {
    let model = Exec::new(ExecSettings { answer_limit: 1_000, ..shell(Wire::Chat, "yes") });
    assert_eq!(model.send(call(Wire::Chat)).await.unwrap_err().kind(), ErrorKind::TooLarge);
}

#[tokio::test]
async fn the_environment_is_passed_and_not_shown() {
    let env = [("GREETING".to_owned(), "secret-hello".to_owned())].into();
    let settings = ExecSettings { env, ..shell(Wire::Chat, "echo $GREETING") };
    assert!(!format!("{settings:?}").contains("secret"));
    let answer = Exec::new(settings).send(call(Wire::Chat)).await.unwrap();
    assert_eq!(answer.response.messages[0].to_text(), "secret-hello");
}

/// A command that starts another one, which holds the writing end of a pipe for as long as it lives.
async fn killed_with_all_it_started(end: impl AsyncFnOnce(Exec, oneshot::Receiver<()>)) {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let script = format!("exec 3> '{}'; sleep 1000 & echo >&3; wait", pipe.display());
    let (begun, has_begun) = oneshot::channel();
    let (closed, is_closed) = oneshot::channel();
    // A thread of its own: the runtime would wait for one of its threads for as long as the pipe is held.
    std::thread::spawn(move || {
        let mut pipe = std::fs::File::open(pipe).unwrap();
        pipe.read_exact(&mut [0]).unwrap();
        begun.send(()).unwrap();
        // Ends when nobody is left who could write.
        closed.send(pipe.read_to_end(&mut Vec::new()).unwrap()).unwrap();
    });
    end(Exec::new(shell(Wire::Chat, &script)), has_begun).await;
    let rest =
        tokio::time::timeout(Duration::from_secs(20), is_closed).await.expect("somebody is still alive");
    assert_eq!(rest.unwrap(), 0);
}

#[tokio::test]
async fn cancelling_kills_the_whole_group() {
    killed_with_all_it_started(async |model, begun| {
        let cancel = CancelToken::new();
        let stop = async {
            begun.await.unwrap();
            cancel.cancel();
        };
        let (result, ()) = tokio::join!(model.send(call(Wire::Chat).cancelled_by(cancel.clone())), stop);
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Cancelled);
    })
    .await;
}

#[tokio::test]
async fn dropping_the_future_kills_the_whole_group() {
    killed_with_all_it_started(async |model, begun| {
        tokio::select! {
            biased;
            begun = begun => begun.unwrap(),
            _ = model.send(call(Wire::Chat)) => panic!("it never ends by itself"),
        }
    })
    .await;
}

#[tokio::test]
async fn a_command_has_a_deadline() {
    let model = Exec::new(shell(Wire::Chat, "sleep 1000"));
    let limits = Limits { deadline: Some(Duration::from_millis(50)), ..Limits::default() };
    assert_eq!(model.send(call(Wire::Chat).within(limits)).await.unwrap_err().kind(), ErrorKind::Deadline);
    let model = Exec::new(ExecSettings { timeout_ms: 50, ..shell(Wire::Chat, "sleep 1000") });
    assert_eq!(model.send(call(Wire::Chat)).await.unwrap_err().kind(), ErrorKind::Deadline);
}

#[tokio::test]
async fn what_a_command_leaves_behind_does_not_hold_the_answer() {
    // The one left behind holds the pipe for longer than any test lasts.
    let model = Exec::new(shell(Wire::Chat, "sleep 1000 & echo done"));
    let answer = model.send(call(Wire::Chat)).await.unwrap();
    assert_eq!(answer.response.messages[0].to_text(), "done");
}

#[test]
fn commands_are_lists_or_lines() {
    let read = |json: &str| serde_json::from_str::<Argv>(json);
    assert_eq!(read("\"claude -p\"").unwrap(), Argv::new(["claude", "-p"]).unwrap());
    assert_eq!(read("[\"llm\", \"a b\"]").unwrap().arguments(), ["a b"]);
    assert!(read("\" \"").is_err() && read("[]").is_err());
}

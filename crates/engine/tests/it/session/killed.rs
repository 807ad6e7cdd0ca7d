//! A process that is killed: what it had said is there, and the session goes on.

use super::{Stage, is_summary, long_words, obliging, runtime};
use crate::common::{WIRES, valid};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use throughline_core::{Record, Wire};
use throughline_ledger::{LedgerError, session};
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Gate, Playbook};

const FOLDER: &str = "THROUGHLINE_TEST_FOLDER";
const URL: &str = "THROUGHLINE_TEST_URL";
/// Long enough for a loaded machine to start a process.
const PATIENCE: Duration = Duration::from_secs(60);

/// The process that is killed: it talks and compacts until then.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn child() {
    let (Ok(folder), Ok(url)) = (std::env::var(FOLDER), std::env::var(URL)) else { return };
    let mut stage = Stage::new(Wire::Anthropic, obliging());
    // Some summaries never come.
    stage.idle_ms = 1_500;
    runtime().block_on(async {
        let home = throughline_ledger::Home::new(folder);
        let models = stage.models_at(&url);
        let mut session =
            throughline_engine::session::Session::open(&home, stage.start(), models, stage.settings.clone())
                .unwrap();
        for n in 0.. {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
            session.after_turn().await.unwrap();
        }
    });
}

fn spawn(stage: &Stage) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "session::killed::child", "--ignored", "--nocapture"])
        .env(FOLDER, stage.folder.path())
        .env(URL, stage.server.url())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn a_killed_process_leaves_the_old_view_or_the_new_one() {
    // Killed at each of the first requests: among them the first summaries, in flight and just answered.
    for (at, kill_at) in [1, 3, 4, 5, 6, 7, 8, 9].into_iter().enumerate() {
        let gate = Gate::new();
        let summary = Answer::text("<summary>half of it is done</summary>");
        // Every other time the summary never comes.
        let script = if at % 2 == 0 {
            Playbook::new().when(is_summary, summary.at(&gate)).otherwise("ok")
        } else {
            Playbook::new().when(is_summary, summary).otherwise("ok")
        };
        let stage = Stage::new(Wire::Anthropic, script);
        let mut child = spawn(&stage);
        let seen = stage.server.wait_for(kill_at, PATIENCE);
        child.kill().unwrap();
        child.wait().unwrap();
        gate.open();
        assert!(!seen.is_empty(), "the child said something");
        let home = stage.home();
        let ledger = home.ledgers().unwrap().pop().unwrap();
        let (mut said, mut replaced) = (0, 0);
        session::each_record(&home, &ledger, &mut |_, record| {
            match record {
                Record::Message(message) => said += usize::from(message.is_real_user()),
                Record::Checkpoint(_) => replaced += 1,
                Record::Meta(_) | Record::Turn(_) | Record::Event(_) | Record::Edit(_) | Record::Card(_) => {}
            }
            Ok::<_, LedgerError>(())
        })
        .unwrap();
        let asked = seen.iter().filter(|seen| !is_summary(seen)).count();
        assert!(said >= asked, "killed at {kill_at}: what was asked had been written down");
        let mut again = stage.resume(&ledger);
        let summaries =
            again.pipeline().view().entries().iter().filter(|entry| entry.message.flags.summary).count();
        assert_eq!(summaries, usize::from(replaced > 0), "killed at {kill_at}: one view, not two");
        runtime().block_on(async {
            again.record(long_words(99)).unwrap();
            again.ask(None, CancelToken::new()).await.unwrap();
            valid(WIRES[0], &again.prepare().await.unwrap().body);
        });
    }
}

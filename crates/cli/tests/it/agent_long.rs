//! The agent end to end: the real binary, real sockets, real files. Sixty turns with big outputs and compactions, another model, an
//! interrupt, a crash and a resume; in the end the work is done, and nothing was forgotten.

use crate::agent_kit::{Wire, workshop};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use throughline_core::{Body, Message, Role, invariants};
use throughline_testkit::{Answer, Reply, Seen, Server};

const STEPS: usize = 60;
/// The step at which the user stops the agent.
const STOPPED: usize = 20;
/// The step from which on another model answers.
const SWITCHED: usize = 30;
/// The step at which the process is killed.
const KILLED: usize = 40;

/// The scripted model: it knows the task, but of the files only what tools tell it.
#[derive(Default)]
struct Worker {
    step: usize,
    phase: usize,
    /// Steps at which it hangs, once each.
    hung: Vec<usize>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Worker {
    fn reply(&mut self, seen: &Seen) -> Reply {
        let request = seen.request().unwrap();
        let messages: Vec<&Message> = request.messages.iter().collect();
        let broken = invariants::check(&messages);
        assert!(broken.is_empty(), "request {}: {broken:?}", seen.number);
        let asked = messages.iter().rev().find_map(|message| step_of(message));
        if let Some(step) = asked.filter(|step| *step != self.step) {
            (self.step, self.phase) = (step, 0);
        }
        let results = last_results(&messages);
        let act = self.act(&results);
        self.phase += 1;
        let is_compacted =
            messages.iter().any(|message| message.to_text().contains("was condensed to save room"));
        self.log.lock().unwrap().push(format!(
            "{:>3} {} step {:>2}.{} {}{}",
            seen.number,
            seen.model(),
            self.step,
            self.phase,
            if act.calls.is_empty() { "says".to_owned() } else { act.calls.join("+") },
            if is_compacted { "  [summary]" } else { "" },
        ));
        act.answer.into()
    }

    fn act(&mut self, results: &[String]) -> Act {
        let n = self.step;
        // The view was replaced since it read: it looks again.
        if self.phase == 1 && !results.iter().any(|text| value_in(text).is_some()) {
            self.phase = 0;
        }
        let refused = results.iter().any(|text| text.contains("not been read") || text.contains("Read it"));
        match self.phase {
            0 => {
                let answer = Act::says(format!("I look at number {n}."))
                    .and("Read", json!({"file_path": format!("input/{n}.txt")}));
                if [STOPPED, KILLED].contains(&n) && !self.hung.contains(&n) {
                    self.hung.push(n);
                    // Whatever comes next is a new request.
                    self.step = 0;
                    return answer.and("Bash", json!({"command": "echo begun > begun.txt; sleep 30"}));
                }
                match n % 5 {
                    0 => answer.and("Bash", json!({"command": format!("for i in $(seq 1 900); do echo \"line $i of run {n}: ok\"; done")})),
                    1 => answer.and("Grep", json!({"pattern": "value", "path": "input", "output_mode": "content"})),
                    2 => answer.and("Glob", json!({"pattern": "input/*.txt"})),
                    3 => answer.and("TodoWrite", json!({"todos": [{"content": format!("number {n}"), "status": "in_progress"}]})),
                    _ => answer,
                }
            }
            1 => {
                let value: u64 = results.iter().find_map(|text| value_in(text)).unwrap();
                Act::calls(
                    "Write",
                    json!({"file_path": format!("out/{n}.txt"), "content": format!("{}\n", value * value)}),
                )
            }
            // Every tenth step the tally is brought up to date.
            2 if n.is_multiple_of(10) => Act::calls("Read", json!({"file_path": "tally.txt"})),
            3 if n.is_multiple_of(10) && !refused => Act::calls(
                "Edit",
                json!({"file_path": "tally.txt", "old_string": format!("done: {}", n - 10), "new_string": format!("done: {n}")}),
            ),
            _ => Act::says(format!("Number {n} is done.")),
        }
    }
}

/// An answer, and which tools it calls.
struct Act {
    answer: Answer,
    calls: Vec<&'static str>,
}

impl Act {
    fn says(text: impl Into<String>) -> Self {
        Self { answer: Answer::text(text), calls: Vec::new() }
    }

    fn calls(tool: &'static str, input: Value) -> Self {
        Self { answer: Answer::empty(), calls: Vec::new() }.and(tool, input)
    }

    fn and(mut self, tool: &'static str, input: Value) -> Self {
        self.calls.push(tool);
        Self { answer: self.answer.call(tool, input), ..self }
    }
}

fn step_of(message: &Message) -> Option<usize> {
    if message.role != Role::User {
        return None;
    }
    let text = message.to_text();
    // A summary tells which request is the newest.
    let from = text.find("Newest request [").unwrap_or(0);
    let at = from + text[from..].find("Please do number ")?;
    text[at + 17..].split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn last_results(messages: &[&Message]) -> Vec<String> {
    let last = messages.iter().rposition(|message| message.role == Role::Assistant).map_or(0, |at| at + 1);
    let blocks = messages[last..].iter().flat_map(|message| &message.blocks);
    let results = blocks.filter_map(|block| match &block.body {
        Body::ToolResult(result) => Some(result.content.to_text().into_owned()),
        Body::Text(_)
        | Body::Reasoning { .. }
        | Body::ToolCall(_)
        | Body::Image(_)
        | Body::Document(_)
        | Body::Unknown(_) => None,
    });
    results.collect()
}

fn value_in(text: &str) -> Option<u64> {
    let at = text.find("the value is ")?;
    text[at + 13..].split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn ask(n: usize) -> String {
    format!("Please do number {n}. Never touch the file keep.txt. {}", "It matters. ".repeat(n % 4))
}

#[test]
fn sixty_turns_with_an_interrupt_a_model_switch_a_crash_and_a_resume_end_well() {
    for wire in [Wire::Anthropic, Wire::Responses] {
        let log = Arc::new(Mutex::new(Vec::new()));
        let mut worker = Worker { log: log.clone(), ..Worker::default() };
        let server = Server::start(move |seen: &Seen| worker.reply(seen)).unwrap();
        let shop = workshop(&server, wire);
        shop.write("keep.txt", "as it was\n");
        shop.write("tally.txt", "done: 0\n");
        for n in 1..=STEPS {
            shop.write(&format!("input/{n}.txt"), &format!("# Input {n}\nthe value is {}\n", n + 3));
        }
        shop.config("[window]\ntokens = 30000\n[permissions]\nmode = \"accept-edits\"\nallow = [\"Bash\"]\n");

        let mut agent = shop.start(&["--model", wire.model(0)]);
        for n in 1..=STEPS {
            if n == SWITCHED {
                agent.send(&json!({"type": "model", "model": wire.model(1)}));
            }
            agent.say(&ask(n));
            if n == STOPPED || n == KILLED {
                agent.until(|event| event["type"] == "tool_started" && event["name"] == "Bash");
                shop.wait_for_file("begun.txt");
                std::fs::remove_file(shop.path("begun.txt")).unwrap();
                if n == STOPPED {
                    agent.send(&json!({"type": "interrupt"}));
                    assert_eq!(agent.until_result()["outcome"], "interrupted");
                } else {
                    agent.kill();
                    agent = shop.start(&["-c", "--model", wire.model(1)]);
                }
                agent.say(&format!("Once more. {}", ask(n)));
            }
            let result = agent.until_result();
            assert_eq!(result["outcome"], "done", "step {n}: {result}");
            assert!(
                result["text"].as_str().unwrap().contains(&format!("Number {n} is done.")),
                "step {n}: {result}"
            );
        }
        let ledger = agent.ledger.clone();
        agent.finish();

        for n in 1..=STEPS {
            assert_eq!(shop.read(&format!("out/{n}.txt")), format!("{}\n", (n + 3) * (n + 3)), "{wire:?}");
        }
        assert_eq!(shop.read("keep.txt"), "as it was\n");
        assert_eq!(shop.read("tally.txt"), format!("done: {STEPS}\n"));
        let facts = ledger_facts(&std::fs::read_to_string(ledger).unwrap());
        assert_eq!(facts["users"], STEPS + 2, "every word of the user's is in the ledger");
        assert!(facts["checkpoints"] >= 3, "{wire:?}: {facts:?}");
        assert_eq!(server.unscripted(), Vec::<usize>::new());
        insta::assert_snapshot!(format!("requests_{wire:?}"), log.lock().unwrap().join("\n"));
    }
}

/// How many lines of each kind a ledger has.
fn ledger_facts(ledger: &str) -> BTreeMap<&'static str, usize> {
    let records: Vec<Value> = ledger.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |is: &dyn Fn(&Value) -> bool| records.iter().filter(|record| is(record)).count();
    BTreeMap::from([
        ("checkpoints", count(&|record| record["kind"] == "checkpoint")),
        ("users", count(&|record| record["kind"] == "message" && record["flags"]["typed"] == true)),
    ])
}

//! What the user said and what the client told reaches the provider, whatever was condensed on the way (G).

use crate::kit::{Claude, Codex, Stage, Way, are_whole, confined, through};
use serde_json::{Value, json};
use throughline_core::{Body, Message, Role};
use throughline_testkit::{Answer, Playbook, Reply, Seen};

const SESSION: &str = "6d0a1d70-5f0e-4c58-9d0b-0a5b3a1c0017";
/// How many commands are run, each with some 25 KB of output.
const ROUNDS: usize = 12;
/// A window that the session outgrows.
const SMALL: Way<'_> = Way::Serve("[window]\ntokens = 50000\n");
const RULE: &str = "RULE-4711: name the branch of every change after its ticket.";

/// What the tools of a client are called with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Client {
    Claude,
    Codex,
}

impl Client {
    fn is_there(self) -> bool {
        match self {
            Self::Claude => Claude::find().is_some(),
            Self::Codex => Codex::find().is_some(),
        }
    }

    fn runs(self, text: &str, command: &str) -> Answer {
        match self {
            Self::Claude => {
                Answer::text(text).call("Bash", json!({"command": command, "description": "Look"}))
            }
            Self::Codex => {
                let input = json!({"cmd": command, "yield_time_ms": 10000, "max_output_tokens": 20000});
                Answer::text(text).call("exec_command", input)
            }
        }
    }

    /// Many long results, then an end.
    fn rounds(self) -> Vec<Reply> {
        let round = |n: usize| {
            self.runs(&format!("Round {n}."), &format!("seq -f 'round {n} line %05g of a long log' 1 800"))
                .into()
        };
        (0..ROUNDS).map(round).chain([Answer::text("All read.").into()]).collect()
    }

    fn ask(self, stage: &Stage, prompt: &str) {
        let ran = match self {
            Self::Claude => stage.claude(&["-p", prompt, "--session-id", SESSION]),
            Self::Codex => stage.codex(&[], &[prompt]),
        };
        assert!(ran.ok().out.contains("All read."));
    }
}

fn clients() -> impl Iterator<Item = Client> {
    [Client::Claude, Client::Codex].into_iter().filter(|client| client.is_there())
}

/// The texts that the model is told, but for its own and results.
fn told(messages: &[Message]) -> Vec<String> {
    let others = messages.iter().filter(|message| message.role != Role::Assistant);
    let blocks = others.flat_map(|message| &message.blocks);
    blocks
        .filter_map(|block| if let Body::Text(text) = &block.body { Some(text.clone()) } else { None })
        .collect()
}

fn messages(seen: &Seen) -> Vec<Message> {
    seen.request().unwrap().messages
}

/// The last request, which was condensed.
#[track_caller]
fn condensed(stage: &Stage) -> Vec<Message> {
    let last = stage.requests().pop().unwrap();
    let (sent, arrived) = stage.last_sizes();
    assert!(arrived < sent * 2 / 3, "{arrived} bytes of {sent} arrived");
    are_whole(&stage.requests());
    messages(&last)
}

/// The condensed part.
#[track_caller]
fn record(told: &[String]) -> &str {
    let found = told.iter().find(|text| text.contains("# Current State"));
    found.unwrap_or_else(|| panic!("nothing was condensed: {told:#?}"))
}

#[test]
fn a_long_file_reaches_the_model_whole() {
    confined(|| {
        for client in clients() {
            let read: Reply = match client {
                Client::Claude => {
                    Answer::text("I read.").call("Read", json!({"file_path": "long.rs"})).into()
                }
                Client::Codex => client.runs("I read.", "cat long.rs").into(),
            };
            let script = Playbook::new().when(|_: &Seen| true, vec![read, Answer::text("All read.").into()]);
            through(Way::Serve(""), script, |stage| {
                let line = |n: usize| format!("pub fn part_{n:04}() -> usize {{ {n} + 1 }} // line {n}\n");
                let text: String = (0..1_400).map(line).collect();
                assert!(text.len() > 60_000);
                std::fs::write(stage.work().join("long.rs"), text).unwrap();
                client.ask(stage, "What does part_0700 give?");
                let last = stage.requests().pop().unwrap();
                let results: Vec<String> = messages(&last)
                    .iter()
                    .flat_map(|message| {
                        message.results().map(|r| r.content.to_text().into_owned()).collect::<Vec<_>>()
                    })
                    .collect();
                // All that the client read and sent.
                let heard = String::from_utf8(stage.heard().pop().unwrap().body).unwrap();
                let sent = serde_json::to_string(&results[0]).unwrap();
                assert!(heard.contains(&sent) && sent.len() > 30_000, "{} bytes", sent.len());
                assert!(!results[0].contains("persisted-output"));
            });
        }
    });
}

#[test]
fn what_the_client_told_at_first_is_there_behind_a_compaction() {
    confined(|| {
        for client in clients() {
            let script = Playbook::new().when(|_: &Seen| true, client.rounds());
            through(SMALL, script, |stage| {
                for file in ["CLAUDE.md", "AGENTS.md"] {
                    std::fs::write(stage.work().join(file), format!("# Rules\n\n- {RULE}\n")).unwrap();
                }
                client.ask(stage, "Read all the logs");
                let last = told(&condensed(stage));
                record(&last);
                let all = last.join("\n");
                assert_eq!(all.matches(RULE).count(), 1, "{all}");
                // Everything else too: environment, skills, agents, tools.
                for text in told(&messages(&stage.requests()[0])) {
                    assert!(all.contains(text.trim()), "{client:?} lost: {text}");
                }
            });
        }
    });
}

/// A document full of rules that are not the user's.
fn document() -> String {
    let rule = |n: usize| {
        format!("## Part {n}\n\nYou must never call helper_{n} from a handler. Do not rename module_{n}.\n\n")
    };
    (0..330).map(rule).collect()
}

#[test]
fn a_request_behind_a_paste_is_kept_and_the_paste_is_not_taken_for_it() {
    confined(|| {
        for client in clients() {
            let asks = "Which of these rules does src/door.rs break? Report only, change nothing.";
            let script = Playbook::new().when(|_: &Seen| true, client.rounds());
            through(SMALL, script, |stage| {
                client.ask(stage, &format!("{}\n{asks}", document()));
                let last = told(&condensed(stage));
                assert!(last.iter().any(|text| text.contains(asks)), "{last:#?}");
                let record = record(&last);
                let title = record.split("# Session Title").nth(1).unwrap().split('#').next().unwrap();
                assert!(!title.contains("Part 0") && !title.contains("helper_"), "{title}");
                // Its sentences are told as what they are.
                let (said, pasted) =
                    record.split_once("pasted text, not the user's words").unwrap_or((record, ""));
                assert!(!said.contains("never call helper_"), "{said}");
                assert!(pasted.is_empty() || pasted.contains("never call helper_"));
            });
        }
    });
}

#[test]
fn the_output_of_a_local_command_is_not_a_request() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let mut replies: Vec<Reply> = vec![Answer::text("All read.").into()];
        replies.extend(Client::Claude.rounds());
        let script = Playbook::new().when(|_: &Seen| true, replies);
        through(SMALL, script, |stage| {
            let asks = "Look at the door, and never paint it.";
            Client::Claude.ask(stage, asks);
            stage.claude(&["-p", "/context", "-r", SESSION]).ok();
            let more = "Now read all the logs of the week.";
            assert!(stage.claude(&["-p", more, "-r", SESSION]).ok().out.contains("All read."));
            let last = told(&condensed(stage));
            let record = record(&last);
            let state = record.split("# Current State").nth(1).unwrap();
            let newest = state.lines().find(|line| line.contains("Newest request")).unwrap_or_default();
            assert!(newest.is_empty() || newest.contains(more), "{newest}");
            let all = last.join("\n");
            assert!(all.contains(asks) && all.contains(more), "{all}");
        });
    });
}

#[test]
fn a_sub_agent_keeps_its_task() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let task = "Count the lines of every log. Never delete a log. Report one number for each.";
        let of_agent = |seen: &Seen| seen.header("x-claude-code-agent-id").is_some();
        let call: Value = json!({"description": "Count", "prompt": task, "subagent_type": "general-purpose",
            "run_in_background": false});
        let main: Vec<Reply> = vec![
            Answer::text("Somebody else counts.").call("Agent", call).into(),
            Answer::text("All read.").into(),
        ];
        let script = Playbook::new().when(of_agent, Client::Claude.rounds()).when(|_: &Seen| true, main);
        through(SMALL, script, |stage| {
            Client::Claude.ask(stage, "How many lines are there?");
            let requests = stage.requests();
            let last = requests.iter().rfind(|seen| of_agent(seen)).unwrap();
            let told = told(&messages(last));
            record(&told);
            assert!(told.iter().any(|text| text.contains(task)), "{told:#?}");
            are_whole(&requests);
        });
    });
}

#[test]
fn a_sub_agent_of_codex_keeps_its_task() {
    confined(|| {
        let Some(_) = Codex::find() else { return };
        let task = "Count the lines of every log. Never delete a log. Report one number for each.";
        let of_agent = |seen: &Seen| {
            let body = String::from_utf8_lossy(&seen.body);
            body.contains("You are an agent in a team") || body.contains("multi_agent_role>You are `/root/")
        };
        let called = |id: &str, name: &str, arguments: Value| {
            Answer::empty()
                .raw(json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": name,
                "namespace": "collaboration", "arguments": arguments.to_string(), "status": "completed"}))
        };
        let round = |n: usize| -> Reply {
            let command = format!("seq -f 'round {n} line %05g of a long log' 1 800");
            let code = format!(
                "const r = await tools.exec_command({{cmd: {command:?}, yield_time_ms: 10000, max_output_tokens: 20000}});\ntext(r.output);"
            );
            Answer::empty().free_call("exec", &code).into()
        };
        let child: Vec<Reply> = (0..ROUNDS).map(round).chain([Answer::text("All counted.").into()]).collect();
        let spawn = json!({"task_name": "count", "message": task, "fork_turns": "none"});
        let main: Vec<Reply> = vec![
            called("call_a1", "spawn_agent", spawn).into(),
            called("call_a2", "wait_agent", json!({"timeout_ms": 60_000})).into(),
            Answer::text("All read.").into(),
        ];
        let script = Playbook::new().when(of_agent, child).when(|_: &Seen| true, main);
        through(SMALL, script, |stage| {
            let ran = stage.codex(&[], &["-m", "gpt-6.1-sol", "How many lines are there?"]);
            assert!(ran.ok().out.contains("All read."));
            let requests = stage.requests();
            let last = requests.iter().rfind(|seen| of_agent(seen)).expect("a request of the sub-agent");
            let body = String::from_utf8_lossy(&last.body);
            assert!(body.contains("was condensed to save room"), "{body}");
            assert!(body.contains("NEW_TASK") && body.contains(task), "{body}");
            assert!(body.contains("additional_tools"), "{body}");
            are_whole(&requests);
        });
    });
}

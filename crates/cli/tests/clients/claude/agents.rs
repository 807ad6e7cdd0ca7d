//! Agents that an agent starts.

use super::{SESSION, asked, runs};
use crate::kit::{Claude, Play, Stage, both_ways, confined, says};
use serde_json::json;
use throughline_testkit::{Playbook, Reply, Seen};

#[test]
fn a_sub_agent_has_a_ledger_of_its_own_with_its_parent() {
    confined(|| {
        let Some(_) = Claude::find() else { return };
        let stopped = both_ways(Play {
            script: || {
                let of_agent = |seen: &Seen| seen.header("x-claude-code-agent-id").is_some();
                let task = json!({
                    "description": "Count", "prompt": "Count the files here.", "subagent_type": "general-purpose",
                    "run_in_background": false,
                });
                let agent: Vec<Reply> =
                    vec![runs("I count.", "ls | wc -l").into(), says("There is one file.").into()];
                let main: Vec<Reply> = vec![
                    says("Somebody else counts.").call("Agent", task).into(),
                    says("One, I am told.").into(),
                ];
                Playbook::new().when(of_agent, agent).when(|_: &Seen| true, main)
            },
            act: |stage: &Stage| {
                let ran = stage.claude(&asked("How many files are there?")).ok();
                assert_eq!(ran.event("result")["result"], "One, I am told.");
                assert_eq!(stage.requests().len(), 4);
                assert!(
                    stage
                        .requests()
                        .iter()
                        .all(|seen| seen.header("x-claude-code-session-id") == Some(SESSION))
                );
            },
        });
        let sessions = stopped.sessions();
        assert_eq!(sessions.len(), 2, "{sessions:?}");
        let (agents, parents): (Vec<_>, Vec<_>) =
            sessions.iter().partition(|session| session["parent_session"].is_string());
        assert_eq!((agents.len(), parents.len()), (1, 1), "{sessions:#?}");
        assert_eq!(agents[0]["parent_session"], parents[0]["session"]);
        assert!(agents[0]["cwd"].as_str().unwrap().ends_with("/stage/work"), "{sessions:#?}");
        let said = |session| format!("{:?}", stopped.messages(session));
        assert!(said(agents[0]).contains("Count the files here.") && said(agents[0]).contains("I count."));
        assert!(
            said(parents[0]).contains("How many files are there?") && !said(parents[0]).contains("I count.")
        );
    });
}

//! B10: however a transcript branches, the view is the way from its root to its newest message.

use crate::import_common::{ROOT, claude_line, run, write};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashSet;
use throughline_ledger::import::Outcome;
use throughline_ledger::{Home, check, resume};

/// One more line.
#[derive(Clone, Debug)]
enum Step {
    /// On the end of one of the terminals.
    Go { terminal: usize, calls: bool },
    /// On any earlier message.
    Back { terminal: usize, to: prop::sample::Index },
    /// The result of a terminal's last call.
    Answer { terminal: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0usize..3, any::<bool>()).prop_map(|(terminal, calls)| Step::Go { terminal, calls }),
        1 => (0usize..3, any::<prop::sample::Index>()).prop_map(|(terminal, to)| Step::Back { terminal, to }),
        3 => (0usize..3).prop_map(|terminal| Step::Answer { terminal }),
    ];
    prop::collection::vec(step, 1..60)
}

/// A transcript, and the view that a reader of it expects.
#[derive(Default)]
struct Model {
    lines: Vec<String>,
    parents: Vec<Option<usize>>,
    calls: HashSet<usize>,
    /// Per terminal: its newest message, and whether that is a call.
    tips: [(Option<usize>, bool); 3],
    newest: Option<usize>,
}

impl Model {
    fn line(&mut self, parent: Option<usize>, kind: &str, content: serde_json::Value) -> usize {
        let n = self.lines.len();
        self.lines.push(claude_line(n, parent, kind, content));
        self.parents.push(parent);
        n
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Go { terminal, calls } => {
                let (tip, called) = self.tips[*terminal];
                let n = self.lines.len();
                let calls = *calls && !called && tip.is_some();
                let content = if calls {
                    json!([{"type": "tool_use", "id": format!("call{n}"), "name": "Bash", "input": {}}])
                } else {
                    json!([{"type": "text", "text": format!("w{n}")}])
                };
                self.line(tip, if calls { "assistant" } else { "user" }, content);
                if calls {
                    self.calls.insert(n);
                }
                self.tips[*terminal] = (Some(n), calls);
                self.newest = Some(n);
            }
            Step::Back { terminal, to } => {
                let mut to = Some(to.index(self.lines.len()));
                // A message that hangs on a call has its results before it, whatever it says.
                while to.is_some_and(|n| self.calls.contains(&n)) {
                    to = to.and_then(|n| self.parents[n]);
                }
                let n = self.line(
                    to,
                    "user",
                    json!([{"type": "text", "text": format!("w{}", self.lines.len())}]),
                );
                self.tips[*terminal] = (Some(n), false);
                self.newest = Some(n);
            }
            Step::Answer { terminal } => {
                let (Some(call), true) = self.tips[*terminal] else { return };
                let content =
                    json!([{"type": "tool_result", "tool_use_id": format!("call{call}"), "content": "r"}]);
                let n = self.line(Some(call), "user", content);
                self.tips[*terminal] = (Some(n), false);
                // On the way to the newest message it is part of the view; elsewhere it changes nothing.
                if self.newest == Some(call) {
                    self.newest = Some(n);
                }
            }
        }
    }

    fn view(&self) -> Vec<usize> {
        let mut way: Vec<usize> = std::iter::successors(self.newest, |n| self.parents[*n]).collect();
        way.reverse();
        way
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn b10_the_view_is_the_way_to_the_newest_message(steps in steps(), cut in any::<prop::sample::Index>()) {
        let dir = tempfile::tempdir().unwrap();
        let home = Home::new(dir.path().join("home"));
        let file = dir.path().join(format!("{ROOT}.jsonl"));
        let mut model = Model::default();
        model.step(&Step::Go { terminal: 0, calls: false });
        model.tips = [model.tips[0]; 3];
        for step in &steps {
            model.step(step);
        }
        // In two pieces, as a session that is imported while it goes on.
        write(&file, &model.lines[..=cut.index(model.lines.len())]);
        run(&home, &[&file]);
        write(&file, &model.lines);
        let report = run(&home, &[&file]);
        prop_assert!(!matches!(report.files[0].outcome, Outcome::Failed(_)));
        let ledger = home.find(ROOT).unwrap();
        let resumed = resume(&home, &ledger).unwrap();
        let shown: Vec<usize> = resumed
            .view
            .messages()
            .map(|m| usize::from_str_radix(&m.id.as_str()[..8], 16).unwrap())
            .collect();
        prop_assert_eq!(shown.iter().collect::<HashSet<_>>().len(), shown.len());
        prop_assert_eq!(shown, model.view());
        prop_assert_eq!(check(&home, &ledger).unwrap().problems, []);
    }
}

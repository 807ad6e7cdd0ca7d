//! Sub-agents: a task of its own, with a window of its own.

use super::setup::saved_output;
use super::{Agent, Desk, EndReason, Kit, Said};
use crate::assembly::{Assembled, Sources};
use crate::permissions::{describe, describe_network};
use crate::tools::Recall;
use crate::workspace::Workspace;
use crate::{Access, Event, Listener, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::sync::Arc;
use throughline_core::stages::snip;
use throughline_core::{MemoryMode, SessionId, ToolDefinition, prompt, recall};
use throughline_engine::session::{Handbooks, Session, Start};
use throughline_model::BoxFuture;

/// The tool's name.
pub(super) const NAME: &str = "Task";

/// `Task`: a sub-agent works on something and reports. The turn loop runs it: it needs what a turn has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Task;

impl Tool for Task {
    fn definition(&self) -> ToolDefinition<'_> {
        let parameters = json!({
            "type": "object",
            "properties": {
                "description": {"type": "string", "description": "The task in three to five words"},
                "prompt": {"type": "string", "description": "All that the sub-agent is told: it knows nothing else"}
            },
            "required": ["description", "prompt"]
        });
        let description = prompt(include_str!("../../../../prompts/tool_task.md"));
        ToolDefinition { name: NAME, description, parameters }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        match input["prompt"].as_str().map(str::trim) {
            Some(text) if !text.is_empty() => Ok(Access::Agent),
            Some(_) | None => {
                Err("Task needs a `prompt`: say what the sub-agent is to find out or do".to_owned())
            }
        }
    }

    fn run<'a>(&'a self, _: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async { ToolOutput::failed("a sub-agent can't begin sub-agents of its own") })
    }

    fn summary(&self, input: &Value) -> String {
        let words = input["description"].as_str().or_else(|| input["prompt"].as_str()).unwrap_or_default();
        format!("{NAME} {}", throughline_core::text::one_line(words, 80))
    }
}

/// What a sub-agent is told about itself.
const SUB_AGENT: &str = include_str!("../../../../prompts/sub_agent.md");

/// Tells what a sub-agent does as the doing of one call.
struct Nested<'a> {
    id: &'a str,
    listener: &'a dyn Listener,
}

impl Listener for Nested<'_> {
    fn hear(&self, event: Event) {
        self.listener.hear(Event::Sub { id: self.id.to_owned(), event: Box::new(event) });
    }
}

/// Tools that a sub-agent does not have: it plans nothing, remembers nothing (A5), and begins nothing of its own.
const WITHOUT: [&str; 6] =
    [NAME, "TodoWrite", crate::tools::EXIT_PLAN_MODE, "Memory", snip::NAME, recall::NAME];

/// Runs a sub-agent to its end. Its session is a ledger of its own, under the parent's.
pub(super) fn run<'a>(
    parent_kit: &'a Arc<Kit>,
    parent: &'a SessionId,
    id: &'a str,
    input: &'a Value,
    desk: &'a Desk<'a>,
) -> BoxFuture<'a, ToolOutput> {
    // A pointer, since turns hold calls and calls hold turns.
    Box::pin(async move {
        let mut kit = parent_kit.without(&WITHOUT);
        // Of the mode it is told what holds now. What plan mode asks of the one who plans is not for it.
        let mode = kit.mode.get();
        let mut sources = Sources::clone(&kit.sub_sources);
        sources.permissions = Some(describe(mode, &kit.policy));
        sources.environment.network = Some(describe_network(mode, &kit.policy));
        sources.mode_text = None;
        let briefing = Assembled::full(&sources);
        kit.frame.system = format!("{}\n\n{}", briefing.system(kit.wire()), prompt(SUB_AGENT));
        let start = Start { frame: kit.frame(), cwd: Some(kit.workspace.cwd().display().to_string()) };
        let mut settings = kit.settings.clone();
        settings.notes = None;
        settings.memory = None;
        settings.handbooks = settings.handbooks.map(Handbooks::for_helper);
        settings.tools.snip = false;
        settings.hooks = settings.hooks.for_helper();
        let opened = Session::open_under(&kit.home, parent, start, kit.models.clone(), settings);
        let mut session = match opened {
            Ok(session) => session,
            Err(error) => return ToolOutput::failed(format!("the sub-agent could not begin: {error}")),
        };
        // Its commands print into the parent's folder.
        let saved = saved_output(&session.folder(), kit.settings.window);
        let saved = saved.and(kit.workspace.all_saved());
        kit.workspace = kit.workspace.with_saved(saved);
        kit.policy = Arc::new(kit.policy.in_workspace(kit.workspace.clone()));
        if kit.settings.tools.recall {
            // What was cut from its own context it finds in its own record.
            kit.tools.add(Arc::new(Recall::new(kit.home.clone(), session.path().to_owned())));
            session.set_frame(kit.frame());
        }
        let kit = Arc::new(kit);
        for message in briefing.messages(kit.wire()) {
            if let Err(error) = session.record(message) {
                return ToolOutput::failed(format!("the sub-agent could not begin: {error}"));
            }
        }
        let nested = Nested { id, listener: desk.listener };
        let inner = Desk {
            listener: &nested,
            approver: desk.approver,
            inbox: &super::Inbox::new(),
            cancel: desk.cancel.child_token(),
        };
        session.set_file_reader(kit.file_reader());
        let mut agent = Agent::over(session, kit);
        let told = input["prompt"].as_str().unwrap_or_default();
        let turn = agent.turn(Said::from(told), &inner).await;
        parent_kit.count_sub(agent.session.spent());
        if agent.session.memory_mode() == MemoryMode::Polluted {
            parent_kit.pollute();
        }
        if matches!(&turn, Ok(end) if end.why == EndReason::Interrupted) {
            // Who stops a sub-agent at a question stops all of the turn.
            desk.cancel.cancel();
        }
        let output = match turn {
            Ok(end) => match end.why {
                EndReason::Done => ToolOutput::done(end.text),
                EndReason::Truncated
                | EndReason::MaxSteps
                | EndReason::MaxCost
                | EndReason::Halted
                | EndReason::Interrupted => {
                    let why = end.why.words().unwrap_or_default();
                    ToolOutput::failed(format!(
                        "the sub-agent did not finish ({why}). It said last:\n{}",
                        end.text
                    ))
                }
            },
            Err(error) => ToolOutput::failed(format!("the sub-agent failed: {error}")),
        };
        // What it said is safe already; only the end of its ledger is not told.
        let _ = agent.session.close("done").await;
        output
    })
}

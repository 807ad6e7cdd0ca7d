//! The calls of one answer: judged, carried out, recorded.

use super::{Agent, AgentError, Desk, task};
use crate::permissions::{Approval, Ask, Verdict};
use crate::{Access, Event, Shown, Tool, ToolContext, ToolOutput};
use futures_util::future::join_all;
use serde_json::{Value, json};
use std::sync::Arc;
use throughline_core::stages::snip;
use throughline_core::{Block, Body, ToolCall, ToolResult};
use throughline_engine::hooks::{Outcome, Permission, ToolUse};
use throughline_engine::session::reminder;

/// The event that keeps the todo list.
pub(super) const TODOS: &str = "agent.todos";

/// What came of the calls of one answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Carried {
    /// All have their results.
    All,
    /// The user wants the turn to stop here.
    Stopped,
    /// A hook wants that.
    Halted,
}

/// A call that may run.
pub(super) struct Permitted {
    pub(super) call: ToolCall,
    pub(super) input: Value,
    tool: Arc<dyn Tool>,
    access: Access,
    summary: String,
}

/// What was decided about a call.
enum Fate {
    Run,
    Refused(String),
    Stop(String),
    Halt(String),
}

impl Agent {
    /// Carries out the calls of an answer: those that change nothing several at once, the others one after the other, in the order
    /// in which the model made them. Results are recorded as they come, so that a crash loses none that is there.
    pub(super) async fn carry_out(
        &mut self,
        calls: Vec<ToolCall>,
        desk: &Desk<'_>,
    ) -> Result<Carried, AgentError> {
        let mut batch: Vec<Permitted> = Vec::new();
        for call in calls {
            if desk.cancel.is_cancelled() {
                return Ok(Carried::Stopped);
            }
            let permitted = match self.read_call(&call) {
                Ok(read) => read,
                Err(why) => {
                    self.run_batch(&mut batch, desk).await?;
                    self.finish_call(&call, call.name.clone(), ToolOutput::failed(why), desk).await?;
                    continue;
                }
            };
            let is_read_only = permitted.access.is_read_only();
            if !is_read_only {
                self.run_batch(&mut batch, desk).await?;
            }
            match self.judge(&permitted, desk).await {
                Fate::Run => batch.push(permitted),
                Fate::Refused(why) => {
                    self.run_batch(&mut batch, desk).await?;
                    self.finish_call(&call, permitted.summary, ToolOutput::failed(why), desk).await?;
                }
                Fate::Stop(why) => {
                    self.run_batch(&mut batch, desk).await?;
                    self.finish_call(&call, permitted.summary, ToolOutput::failed(why), desk).await?;
                    return Ok(Carried::Stopped);
                }
                Fate::Halt(why) => {
                    self.run_batch(&mut batch, desk).await?;
                    self.finish_call(&call, permitted.summary, ToolOutput::failed(why), desk).await?;
                    return Ok(Carried::Halted);
                }
            }
            if !is_read_only {
                self.run_batch(&mut batch, desk).await?;
            }
        }
        self.run_batch(&mut batch, desk).await?;
        Ok(if desk.cancel.is_cancelled() { Carried::Stopped } else { Carried::All })
    }

    /// Which tool a call means, and what it would do; else what the model is told.
    fn read_call(&self, call: &ToolCall) -> Result<Permitted, String> {
        let Some(tool) = self.kit.tools.find(&call.name) else {
            let names: Vec<&str> = self.kit.tools.iter().map(|tool| tool.definition().name).collect();
            return Err(format!("there is no tool {:?}; there are: {}", call.name, names.join(", ")));
        };
        let Some(input) = call.input.to_json() else {
            return Err(format!(
                "the arguments are not valid JSON (an answer that was cut off?); {} takes an object like {}",
                call.name,
                tool.definition().parameters["properties"]
            ));
        };
        let access = tool.access(&input, &self.kit.workspace)?;
        let summary = tool.summary(&input);
        Ok(Permitted { call: call.clone(), input, tool: tool.clone(), access, summary })
    }

    /// Whether a call may run: hooks are asked, then the policy, then the user.
    async fn judge(&mut self, permitted: &Permitted, desk: &Desk<'_>) -> Fate {
        let access = &permitted.access;
        let name = permitted.call.name.as_str();
        let tool = ToolUse { name, input: &permitted.input, id: permitted.call.id.as_str() };
        let mut outcome = self.session.before_tool(tool).await;
        self.after.extend(outcome.context.drain(..).map(|text| reminder(&text)));
        if let Some(why) = &outcome.halted {
            return Fate::Halt(format!("a hook stopped the turn: {why}"));
        }
        if let Some(why) = &outcome.blocked {
            return Fate::Refused(format!("a hook refused this call: {why}"));
        }
        let verdict = self.kit.policy.decide(name, access, self.kit.mode.get());
        let question = match (verdict, outcome.permission) {
            (Verdict::Deny { reason }, _) => return Fate::Refused(format!("not permitted: {reason}")),
            (Verdict::Allow, Some(Permission::Ask)) => crate::permissions::Question {
                reason: "a hook wants you to be asked".to_owned(),
                offers: Vec::new(),
            },
            (Verdict::Allow, Some(Permission::Allow | Permission::Deny) | None) => return Fate::Run,
            (Verdict::Ask(_), Some(Permission::Allow)) => return Fate::Run,
            (Verdict::Ask(question), Some(Permission::Ask | Permission::Deny) | None) => question,
        };
        let ask = Ask {
            call: permitted.call.id.to_string(),
            tool: name.to_owned(),
            summary: permitted.summary.clone(),
            access: access.clone(),
            reason: question.reason,
            offers: question.offers,
            diff: permitted.tool.preview(&permitted.input, &self.kit.workspace),
        };
        self.session.notify("permission", &format!("asked for permission: {}", ask.summary)).await;
        match desk.approve(ask).await {
            Approval::Once => Fate::Run,
            Approval::Session(rule) => {
                self.kit.policy.input().approvals.add_for_session(rule);
                Fate::Run
            }
            Approval::Project(rule) => {
                if let Err(error) = self.kit.policy.input().approvals.add(rule) {
                    desk.listener
                        .hear(Event::Warning { text: format!("the approval was not kept: {error}") });
                }
                Fate::Run
            }
            Approval::Refuse { why: None } => Fate::Refused(
                "the user refused this call. Do not try to get round it: ask what they want instead"
                    .to_owned(),
            ),
            Approval::Refuse { why: Some(why) } => Fate::Refused(format!("refused: {why}")),
            Approval::Stop => Fate::Stop("the user refused this call and stopped the turn".to_owned()),
        }
    }

    /// Runs what was permitted, all at once, and records what came of it.
    async fn run_batch(&mut self, batch: &mut Vec<Permitted>, desk: &Desk<'_>) -> Result<(), AgentError> {
        let batch = std::mem::take(batch);
        let mut own = Vec::with_capacity(batch.len());
        for permitted in &batch {
            let Permitted { call, input, summary, .. } = permitted;
            self.session.about_to_call(call)?;
            desk.listener.hear(Event::ToolStarted {
                id: call.id.to_string(),
                name: call.name.clone(),
                summary: summary.clone(),
                input: input.clone(),
            });
            own.push(self.answer_itself(permitted, desk).await);
        }
        let kit = self.kit.clone();
        let session = self.session.id().clone();
        let runs = batch.iter().zip(own).map(|(permitted, own)| {
            let (kit, session) = (&kit, &session);
            async move {
                match own {
                    Some(output) => output,
                    None if permitted.call.name == task::NAME => {
                        task::run(kit, session, permitted.call.id.as_str(), &permitted.input, desk).await
                    }
                    None => run_tool(kit, permitted, desk).await,
                }
            }
        });
        let outputs = join_all(runs).await;
        for (permitted, output) in batch.into_iter().zip(outputs) {
            let is_error = output.is_error;
            self.finish_call(&permitted.call, permitted.summary, output, desk).await?;
            if !is_error {
                self.tell_scoped(&permitted.access)?;
            }
        }
        Ok(())
    }

    /// Calls that are about the agent itself.
    async fn answer_itself(&mut self, permitted: &Permitted, desk: &Desk<'_>) -> Option<ToolOutput> {
        match permitted.call.name.as_str() {
            snip::NAME => {
                let (text, is_error) = self.session.answer_snip(&permitted.call.input);
                Some(if is_error { ToolOutput::failed(text) } else { ToolOutput::done(text) })
            }
            crate::tools::EXIT_PLAN_MODE => Some(self.leave_plan_mode(permitted, desk).await),
            crate::tools::MEMORY => self.change_memory(permitted, desk).await,
            _ => None,
        }
    }

    /// The model shows its plan: the user decides whether it is carried out.
    async fn leave_plan_mode(&mut self, permitted: &Permitted, desk: &Desk<'_>) -> ToolOutput {
        let output = run_tool(&self.kit, permitted, desk).await;
        if output.is_error || self.kit.mode.get() != crate::permissions::Mode::Plan {
            return output;
        }
        let ask = Ask {
            call: permitted.call.id.to_string(),
            tool: permitted.call.name.clone(),
            summary: "Carry out this plan?".to_owned(),
            access: Access::Inner,
            reason: "the agent leaves plan mode and begins to change things".to_owned(),
            offers: Vec::new(),
            diff: Vec::new(),
        };
        match desk.approve(ask).await {
            Approval::Once | Approval::Session(_) | Approval::Project(_) => {
                self.kit.mode.set(self.kit.after_plan);
                let text = "The user approved the plan. Plan mode is over: carry it out.";
                ToolOutput::done(text).shown(output.shown)
            }
            Approval::Refuse { why } => {
                let why = why.map(|why| format!(" They say: {why}")).unwrap_or_default();
                ToolOutput::failed(format!("The user did not approve the plan.{why} Plan mode goes on."))
                    .shown(output.shown)
            }
            Approval::Stop => {
                desk.cancel.cancel();
                ToolOutput::failed("The user stopped the turn. Plan mode goes on.").shown(output.shown)
            }
        }
    }

    /// Records what came of a call, then tells everybody.
    async fn finish_call(
        &mut self,
        call: &ToolCall,
        summary: String,
        output: ToolOutput,
        desk: &Desk<'_>,
    ) -> Result<(), AgentError> {
        let text = output.content.to_text().into_owned();
        let response = json!({"output": text, "is_error": output.is_error});
        let input = call.input.to_json().unwrap_or(Value::Null);
        let tool = ToolUse { name: &call.name, input: &input, id: call.id.as_str() };
        let outcome = self.session.after_tool(tool, &response).await;
        if let Shown::Todos(todos) = &output.shown {
            desk.listener.hear(Event::Todos { todos: todos.clone() });
            self.session.keep(TODOS, json!(todos))?;
        }
        if let Shown::Tools(names) = &output.shown {
            self.keep_found(names)?;
        }
        let is_error = output.is_error.then_some(true);
        let result = ToolResult { call: call.id.clone(), kind: call.kind, content: output.content, is_error };
        // Before anybody hears that the call ended: what was told must survive a crash.
        self.session.record_results(vec![Block::from(Body::ToolResult(result))])?;
        desk.listener.hear(Event::ToolEnded {
            id: call.id.to_string(),
            name: call.name.clone(),
            summary,
            output: text,
            is_error: output.is_error,
            shown: output.shown,
        });
        self.after.extend(said_by_hooks(outcome));
        Ok(())
    }
}

async fn run_tool(kit: &super::Kit, permitted: &Permitted, desk: &Desk<'_>) -> ToolOutput {
    let id = permitted.call.id.to_string();
    let progress =
        |text: &str| desk.listener.hear(Event::ToolProgress { id: id.clone(), text: text.to_owned() });
    // What was permitted for one file can't be led to another one in between.
    let workspace = kit.workspace.permitting(&permitted.access);
    let cx = ToolContext {
        call: permitted.call.id.as_str(),
        workspace: &workspace,
        files: &kit.files,
        mode: kit.mode.get(),
        cancel: desk.cancel.clone(),
        progress: &progress,
    };
    permitted.tool.run(&permitted.input, cx).await
}

/// What hooks want the model to know behind a tool's result. It comes behind all results of the answer.
fn said_by_hooks(outcome: Outcome) -> Vec<throughline_core::Message> {
    let texts = outcome.blocked.into_iter().chain(outcome.halted).chain(outcome.context);
    texts.map(|text| reminder(&text)).collect()
}

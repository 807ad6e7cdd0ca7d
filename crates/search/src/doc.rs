//! What of a message is searched.

use crate::flatten::flatten;
use jiff::Timestamp;
use std::collections::HashMap;
use throughline_core::{Body, CallId, Fragment, Message, MessageId, Role, SessionId, Speaker, ToolCall};

/// The most text of one message that is indexed. What lies beyond is in the ledger, not in the index.
pub(crate) const MAX_TEXT: usize = 1 << 20;

/// One message, as the index takes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Doc {
    /// The session.
    pub(crate) session: SessionId,
    /// The ledger's path relative to the sessions folder.
    pub(crate) path: String,
    /// The message.
    pub(crate) id: MessageId,
    /// Its number in the session, from 0.
    pub(crate) ordinal: u64,
    /// Who speaks.
    pub(crate) role: Role,
    /// When.
    pub(crate) at: Option<Timestamp>,
    /// Where the session ran.
    pub(crate) cwd: Option<String>,
    /// Where the message's line begins in the ledger.
    pub(crate) offset: u64,
    /// Where that line ends.
    pub(crate) end: u64,
    /// The words.
    pub(crate) words: Words,
}

/// What a message says and touches.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Words {
    /// What was said, called and answered.
    pub(crate) body: String,
    /// What the client put in: reminders, instructions, environment.
    pub(crate) scaffold: String,
    /// Tools called or answered here.
    pub(crate) tools: Vec<String>,
    /// Files those tools were pointed at.
    pub(crate) files: Vec<String>,
}

/// Which tool a call went to and which files it named: results carry only the call's id.
#[derive(Default)]
pub(crate) struct Calls {
    known: HashMap<CallId, (String, Vec<String>)>,
    order: std::collections::VecDeque<CallId>,
}

impl Calls {
    /// Calls remembered. Results follow their calls closely.
    const REMEMBERED: usize = 256;

    fn note(&mut self, call: &ToolCall, files: Vec<String>) {
        if self.order.len() == Self::REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(call.id.clone());
        self.known.insert(call.id.clone(), (call.name.clone(), files));
    }
}

impl Words {
    /// Takes the words out of a message. `calls` knows the calls before it and learns those in it.
    pub(crate) fn of(message: &Message, calls: &mut Calls) -> Self {
        let mut words = Self::default();
        let all_scaffold = message.flags.meta || is_instruction(message.role);
        for block in &message.blocks {
            match &block.body {
                Body::Text(text) => {
                    let scaffold = all_scaffold || (!message.flags.typed && is_scaffold(message.role, text));
                    let text = message.text_of(block);
                    add(if scaffold { &mut words.scaffold } else { &mut words.body }, &text);
                }
                Body::Reasoning { text, .. } => add(&mut words.body, text),
                Body::ToolCall(call) => {
                    let (text, files) = flatten(&call.input);
                    add(&mut words.body, &call.name);
                    add(&mut words.body, &text);
                    calls.note(call, files.clone());
                    words.touch(&call.name, &files);
                }
                Body::ToolResult(result) => {
                    add(&mut words.body, &result.content.to_text());
                    if let Some((tool, files)) = calls.known.get(&result.call) {
                        words.touch(tool, files);
                    }
                }
                Body::Image(_) | Body::Document(_) => {}
                Body::Unknown(value) => {
                    add(&mut words.body, &flatten(&throughline_core::ToolInput::Json(value.clone())).0);
                }
            }
        }
        words
    }

    fn touch(&mut self, tool: &str, files: &[String]) {
        if !self.tools.iter().any(|known| known == tool) {
            self.tools.push(tool.to_owned());
        }
        for file in files {
            if !self.files.contains(file) {
                self.files.push(file.clone());
            }
        }
    }
}

fn add(to: &mut String, text: &str) {
    let text = text.trim();
    if text.is_empty() || to.len() >= MAX_TEXT {
        return;
    }
    if !to.is_empty() {
        to.push('\n');
    }
    let room = MAX_TEXT.saturating_sub(to.len());
    to.push_str(&text[..text.floor_char_boundary(room)]);
}

fn is_instruction(role: Role) -> bool {
    match role {
        Role::System | Role::Developer => true,
        Role::User | Role::Assistant | Role::Tool => false,
    }
}

/// Whether a text part was put in by the client and says nothing about the work.
fn is_scaffold(role: Role, text: &str) -> bool {
    let speaker = match role {
        Role::User => Speaker::User,
        Role::Assistant => Speaker::Assistant,
        Role::System => Speaker::System,
        Role::Developer => Speaker::Developer,
        Role::Tool => return false,
    };
    let Some(fragment) = Fragment::recognise(speaker, text) else { return false };
    match fragment {
        Fragment::ModelSwitch
        | Fragment::Permissions
        | Fragment::CollaborationMode
        | Fragment::RealtimeConversation
        | Fragment::Personality
        | Fragment::Apps
        | Fragment::Skills
        | Fragment::Plugins
        | Fragment::AgentsMd
        | Fragment::UserInstructions
        | Fragment::Environment
        | Fragment::Skill
        | Fragment::Image
        | Fragment::TurnAborted
        | Fragment::SystemReminder
        | Fragment::DeferredTools
        | Fragment::RecommendedPlugins
        | Fragment::InternalContext
        | Fragment::GoalContext
        | Fragment::Interrupted
        | Fragment::CommandName
        | Fragment::CommandMessage
        | Fragment::LocalCommandCaveat
        | Fragment::CommandArgs
        | Fragment::IdeFile
        | Fragment::IdeSelection
        | Fragment::HookPrompt
        | Fragment::Env
        | Fragment::CurrentNotes => true,
        // What a person or an agent did, though a client wrote it down.
        Fragment::UserShellCommand
        | Fragment::RealtimeDelegation
        | Fragment::SubagentNotification
        | Fragment::UserAction
        | Fragment::TaskNotification
        | Fragment::LocalCommandOutput
        | Fragment::BashInput
        | Fragment::BashOutput
        | Fragment::BashErrors
        | Fragment::LocalCommandErrors
        | Fragment::TeammateMessage
        | Fragment::ProposedPlan
        | Fragment::Analysis
        | Fragment::Summary => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use throughline_core::{Block, CallKind, ToolInput, ToolResult};

    #[test]
    fn results_know_the_tool_and_the_files_of_their_call() {
        let mut calls = Calls::default();
        let call = ToolCall {
            id: "c1".into(),
            name: "Read".into(),
            input: ToolInput::Json(json!({"file_path": "/p/src/a.rs"})),
            kind: CallKind::Function,
        };
        let asked = Words::of(&Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]), &mut calls);
        assert_eq!((asked.tools, asked.files), (vec!["Read".into()], vec!["/p/src/a.rs".into()]));
        let answer = Body::ToolResult(ToolResult::text("c1".into(), "fn main() {}"));
        let answered = Words::of(&Message::new(Role::User, vec![answer.into()]), &mut calls);
        assert_eq!(answered.body, "fn main() {}");
        assert_eq!((answered.tools, answered.files), (vec!["Read".into()], vec!["/p/src/a.rs".into()]));
    }

    #[test]
    fn scaffold_is_kept_apart_from_what_was_said() {
        let mut message = Message::text(Role::User, Fragment::SystemReminder.render("it is Tuesday"));
        message.blocks.push(Block::text("fix the build"));
        let words = Words::of(&message, &mut Calls::default());
        assert_eq!(words.body, "fix the build");
        assert!(words.scaffold.contains("Tuesday"));
        let system = Words::of(&Message::text(Role::System, "be brief"), &mut Calls::default());
        assert_eq!((system.body.as_str(), system.scaffold.as_str()), ("", "be brief"));
    }

    #[test]
    fn a_huge_message_is_cut_at_a_character() {
        let words = Words::of(&Message::text(Role::User, "数".repeat(MAX_TEXT)), &mut Calls::default());
        assert!(words.body.len() <= MAX_TEXT);
    }
}

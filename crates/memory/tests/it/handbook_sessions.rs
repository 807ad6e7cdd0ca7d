//! Sessions for tests of the offline scribe, written message by message.

use serde_json::json;
use throughline_core::{
    Body, CallKind, Message, ResultContent, Role, SessionId, ToolCall, ToolInput, ToolResult,
};
use throughline_memory::handbook::{Extraction, Finding, FindingKind, Gatherer};

/// A session in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tale {
    pub(crate) messages: Vec<Message>,
    pub(crate) calls: usize,
}

impl Tale {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The user says something.
    pub(crate) fn user(mut self, text: &str) -> Self {
        self.messages.push(Message::text(Role::User, text));
        self
    }

    /// The agent says something.
    pub(crate) fn agent(mut self, text: &str) -> Self {
        self.messages.push(Message::text(Role::Assistant, text));
        self
    }

    /// A tool is called, and answers.
    pub(crate) fn tool(mut self, name: &str, input: serde_json::Value, output: &str, failed: bool) -> Self {
        self.calls += 1;
        let id = format!("c{}", self.calls);
        let call = ToolCall {
            id: id.as_str().into(),
            name: name.to_owned(),
            input: ToolInput::Json(input),
            kind: CallKind::Function,
        };
        self.messages.push(Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]));
        let result = ToolResult {
            call: id.as_str().into(),
            kind: CallKind::Function,
            content: ResultContent::Text(output.to_owned()),
            is_error: Some(failed),
        };
        self.messages.push(Message::new(Role::User, vec![Body::ToolResult(result).into()]));
        self
    }

    /// A command that works.
    pub(crate) fn ran(self, command: &str, output: &str) -> Self {
        self.tool("Bash", json!({ "command": command }), output, false)
    }

    /// A command that fails.
    pub(crate) fn failed(self, command: &str, output: &str) -> Self {
        let output = format!("Exit code 1\n{output}");
        self.tool("Bash", json!({ "command": command }), &output, true)
    }

    /// A file is changed.
    pub(crate) fn edited(self, path: &str) -> Self {
        self.tool("Edit", json!({ "file_path": path }), "The file has been updated.", false)
    }

    /// A file is read.
    pub(crate) fn read(self, path: &str, text: &str) -> Self {
        self.tool("Read", json!({ "file_path": path }), text, false)
    }

    /// What the offline scribe makes of it.
    pub(crate) fn extraction(&self) -> Extraction {
        let mut gatherer = Gatherer::new(Some("/srv/app"));
        self.messages.iter().for_each(|message| gatherer.push(message));
        gatherer.finish(&SessionId::new("session"))
    }
}

/// The texts of one kind.
pub(crate) fn texts(extraction: &Extraction, kind: FindingKind) -> Vec<&str> {
    extraction
        .findings
        .iter()
        .filter(|finding| finding.kind == kind)
        .map(|finding| finding.text.as_str())
        .collect()
}

/// Everything that a finding says.
pub(crate) fn said(finding: &Finding) -> String {
    format!(
        "{} {} {}",
        finding.text,
        finding.quote.as_deref().unwrap_or_default(),
        finding.keywords.join(" ")
    )
}

//! A home with sessions in it.

use serde_json::Value;
use throughline_core::{
    Body, CallKind, Message, MessageId, Meta, Record, Role, SessionId, ToolCall, ToolInput, ToolResult,
};
use throughline_ledger::{Home, SyncPolicy, Writer};
use throughline_search::{Hit, Query, Search};

pub(crate) struct Fixture {
    pub(crate) home: Home,
    // Keeps the folder until the test is over.
    _dir: tempfile::TempDir,
}

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { home: Home::new(dir.path().join("home")), _dir: dir }
    }

    pub(crate) fn search(&self) -> Search {
        Search::open(&self.home).unwrap()
    }

    pub(crate) fn session(&self, id: &str) -> Writer {
        self.session_in(id, "/home/ann/project")
    }

    pub(crate) fn session_in(&self, id: &str, cwd: &str) -> Writer {
        let created = jiff::Timestamp::from_second(1_760_000_000).unwrap();
        let mut meta = Meta::new(SessionId::new(id), created, "throughline");
        meta.cwd = Some(cwd.to_owned());
        Writer::create(&self.home, meta, SyncPolicy::Never).unwrap()
    }
}

/// Appends a message with a known id.
pub(crate) fn say(writer: &mut Writer, id: &str, role: Role, text: &str) {
    append(writer, id, Message::text(role, text));
}

pub(crate) fn append(writer: &mut Writer, id: &str, mut message: Message) {
    message.id = MessageId::new(id);
    let seconds: i64 = id.bytes().filter(u8::is_ascii_digit).fold(0, |n, b| n * 10 + i64::from(b - b'0'));
    message.at.get_or_insert(jiff::Timestamp::from_second(1_760_000_000 + seconds).unwrap());
    writer.append(&[Record::Message(Box::new(message))]).unwrap();
}

pub(crate) fn call(writer: &mut Writer, id: &str, tool: &str, input: Value) {
    let call = ToolCall {
        id: format!("call-{id}").into(),
        name: tool.into(),
        input: ToolInput::Json(input),
        kind: CallKind::Function,
    };
    append(writer, id, Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]));
}

pub(crate) fn answer(writer: &mut Writer, id: &str, call: &str, text: &str) {
    let result = ToolResult::text(format!("call-{call}").as_str().into(), text);
    append(writer, id, Message::new(Role::User, vec![Body::ToolResult(result).into()]));
}

pub(crate) fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

pub(crate) fn find(search: &mut Search, text: &str) -> Vec<String> {
    search.query(&Query::new(text)).unwrap().iter().map(|hit| hit.id.to_string()).collect()
}

pub(crate) fn sync(search: &mut Search) {
    search.sync(&mut |_| {}).unwrap();
}

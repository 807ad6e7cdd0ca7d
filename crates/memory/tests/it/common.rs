//! Sessions made by hand, and models that talk to the scripted server.

use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use throughline_core::cost::Price;
use throughline_core::tokens::Counter;
use throughline_core::{
    Block, Body, CallKind, Event, Message, Role, SessionId, SharedKnowledge, ToolCall, ToolDefinition,
    ToolInput, ToolResult,
};
use throughline_ledger::Home;
use throughline_memory::ByModel;
use throughline_memory::ProjectSlug;
use throughline_memory::notes::{
    Job, Keeping, LastTurn, NotesFile, NotesKeeper, NotesLimits, Observation, Thread, Update, Updated,
    Wording, update,
};
use throughline_model::{
    BoxFuture, CancelToken, Caps, Clock, Delivery, Http, Prefix, Provider, Tail, Timeouts, Wire, body,
};
use throughline_testkit::Server;
use throughline_wire::Request;

pub(crate) const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];
pub(crate) const MODEL: &str = "test-model";

pub(crate) fn counter() -> Counter {
    Counter::for_model("gpt-5.5")
}

pub(crate) fn call(id: &str, name: &str, input: Value) -> ToolCall {
    ToolCall { id: id.into(), name: name.to_owned(), input: ToolInput::Json(input), kind: CallKind::Function }
}

pub(crate) fn calls(id: &str, name: &str, input: Value) -> Message {
    Message::new(Role::Assistant, vec![Body::ToolCall(call(id, name, input)).into()])
}

pub(crate) fn gives(id: &str, text: &str) -> Message {
    let block: Block = Body::ToolResult(ToolResult::text(id.into(), text)).into();
    Message::new(Role::User, vec![block])
}

/// A small session with a request, a correction, commands, files and an error that was fixed.
pub(crate) fn session() -> Vec<Message> {
    vec![
        Message::text(Role::User, "Make the importer keep comments. Never touch the lockfile."),
        calls("c1", "Read", json!({"file_path": "/app/src/import.rs"})),
        gives("c1", "fn import() {}"),
        calls(
            "c2",
            "Edit",
            json!({"file_path": "/app/src/import.rs", "old_string": "{}", "new_string": "{ keep() }"}),
        ),
        gives("c2", "ok"),
        calls("c3", "Bash", json!({"command": "cargo test -p importer"})),
        gives("c3", "Exit code: 101\nerror[E0425]: cannot find function `keep` in this scope"),
        Message::text(Role::User, "No, use the tokenizer instead of keep(). Don't add new functions."),
        calls(
            "c4",
            "Edit",
            json!({"file_path": "/app/src/import.rs", "old_string": "keep()", "new_string": "tokens()"}),
        ),
        gives("c4", "ok"),
        calls("c5", "Bash", json!({"command": "cargo test -p importer"})),
        gives("c5", "Exit code: 0\ntest result: ok. 12 passed; 0 failed"),
        Message::text(Role::Assistant, "The importer keeps comments now; 12 tests pass."),
    ]
}

pub(crate) fn knowledge(messages: &[Message]) -> SharedKnowledge {
    let knowledge = SharedKnowledge::default();
    messages.iter().for_each(|message| knowledge.push(Arc::new(message.clone())));
    knowledge
}

/// A home in a folder that goes away.
pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) file: NotesFile,
}

impl House {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"));
        let file = NotesFile::new(&home, &ProjectSlug::of(folder.path()), &SessionId::new("s-1"));
        Self { folder, file }
    }

    pub(crate) fn keeper(&self) -> NotesKeeper {
        self.keeper_with(Wording::default(), NotesLimits::default(), &[])
    }

    /// `events` newest first.
    pub(crate) fn keeper_with(&self, wording: Wording, limits: NotesLimits, events: &[Event]) -> NotesKeeper {
        let keeping = Keeping { file: self.file.clone(), wording, limits };
        let (keeper, problem) = NotesKeeper::open(keeping, events, &mut counter()).unwrap();
        assert!(problem.is_none());
        keeper
    }

    pub(crate) fn keeper_is_refused(&self) -> bool {
        let (file, wording) = (self.file.clone(), Wording::default());
        NotesKeeper::open(Keeping { file, wording, limits: NotesLimits::default() }, [], &mut counter())
            .is_err()
    }

    pub(crate) fn text(&self) -> String {
        self.file.read().unwrap().unwrap_or_default()
    }
}

pub(crate) fn seen(context_tokens: u64, calls: u64, last_turn: LastTurn) -> Observation {
    Observation { context_tokens, calls, last_turn, thread: Thread::Main }
}

/// Begins an update of a session.
pub(crate) fn begin(keeper: &mut NotesKeeper, messages: &[Message]) -> Job {
    keeper.begin(messages).unwrap().expect("no update runs")
}

pub(crate) async fn offline(job: Job, messages: &[Message]) -> Updated {
    update(Update { job, model: None, knowledge: &knowledge(messages), counter: &mut counter() }).await
}

/// The tools that a parent offers.
pub(crate) enum Tools {
    Edit,
    None,
}

/// A conversation that was sent, and who answers.
pub(crate) struct Parent {
    pub(crate) model: Http,
    pub(crate) prefix: Prefix,
    pub(crate) messages: Vec<Message>,
    pub(crate) caps: Caps,
    pub(crate) cancel: CancelToken,
    price: Price,
}

impl Parent {
    pub(crate) fn new(wire: Wire, server: &Server, tools: Tools) -> Self {
        Self::with(wire, server, tools, Timeouts::default())
    }

    /// With a model that waits only so long.
    pub(crate) fn with(wire: Wire, server: &Server, tools: Tools, timeouts: Timeouts) -> Self {
        let messages = session();
        let mut request = Request::new(wire, MODEL);
        request.messages.clone_from(&messages);
        if let Tools::Edit = tools {
            let parameters = json!({"type": "object"});
            let tools = ["Bash", "Edit", "Read"].map(|name| {
                ToolDefinition { name, description: "A tool.", parameters: parameters.clone() }.on(wire)
            });
            request.envelope.insert("tools".to_owned(), tools.to_vec().into());
        }
        if wire == Wire::Anthropic {
            request.envelope.insert("max_tokens".to_owned(), 4_096.into());
        }
        let sent = body(&request, Delivery::Streamed);
        let provider =
            Provider { base_url: Some(server.url()), timeouts, ..Provider::new("test", wire, MODEL) };
        let model = Http::new(&provider, &|_: &str| None).unwrap().with_clock(Arc::new(Impatient));
        Self {
            model,
            prefix: Prefix::new(wire, sent.to_vec()).unwrap(),
            messages,
            caps: Caps { turns: 3, ..Caps::default() },
            cancel: CancelToken::new(),
            price: Price::unknown(),
        }
    }

    pub(crate) fn by_model(&self) -> ByModel<'_> {
        ByModel {
            model: &self.model,
            prefix: &self.prefix,
            since: &[],
            caps: &self.caps,
            price: &self.price,
            tail: Tail::default(),
            cancel: self.cancel.clone(),
        }
    }

    pub(crate) async fn update(&self, job: Job) -> Updated {
        let (model, knowledge) = (Some(self.by_model()), knowledge(&self.messages));
        update(Update { job, model, knowledge: &knowledge, counter: &mut counter() }).await
    }
}

/// Does not wait before it tries again.
struct Impatient;

impl Clock for Impatient {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}

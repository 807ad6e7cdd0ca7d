//! Spans carry the names of OpenTelemetry's GenAI conventions, and nothing that was said.

use crate::support::{bytes, provider, quick};
use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{self, ThreadId};
use throughline_model::{Call, Delivery, Model, Provider, Retries, Usage, Wire};
use throughline_testkit::{Answer, Fault, Playlist, Server};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// What this crate's spans and events say, by thread: each test has its own, and so does its runtime.
#[derive(Default)]
struct Notebook(Mutex<HashMap<ThreadId, Notes>>);

type Notes = BTreeMap<String, String>;

/// One for all tests: scoped subscribers of tests that run side by side get into each other's way.
fn notebook() -> &'static Notebook {
    static NOTEBOOK: OnceLock<Arc<Notebook>> = OnceLock::new();
    NOTEBOOK.get_or_init(|| {
        let notebook = Arc::new(Notebook::default());
        tracing::subscriber::set_global_default(Arc::clone(&notebook)).unwrap();
        notebook
    })
}

impl Notebook {
    fn of_this_thread(&self) -> Notes {
        self.0.lock().unwrap().get(&thread::current().id()).cloned().unwrap_or_default()
    }
}

struct Pen<'a>(&'a Notebook);

impl Visit for Pen<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut notes = self.0.0.lock().unwrap();
        let notes = notes.entry(thread::current().id()).or_default();
        notes.insert(field.name().to_owned(), format!("{value:?}"));
    }
}

impl Subscriber for Notebook {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("throughline_model")
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        span.record(&mut Pen(self));
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, values: &Record<'_>) {
        values.record(&mut Pen(self));
    }

    fn event(&self, event: &Event<'_>) {
        event.record(&mut Pen(self));
    }

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[tokio::test]
async fn a_call_is_a_span_and_a_repetition_an_event() {
    let notebook = notebook();
    let usage = Usage { input: 90, cache_read: 10, output: 7, ..Usage::default() };
    let script = Playlist::new().then(Fault::Overloaded).then(Answer::text("A private word.").usage(usage));
    let server = Server::start(script).unwrap();
    let (model, _) = quick(&provider(Wire::Anthropic, &server));
    model.send(Call::new(bytes(Wire::Anthropic, Delivery::Streamed))).await.unwrap();

    let notes = notebook.of_this_thread();
    let note = |name: &str| notes.get(name).map(String::as_str);
    assert_eq!(note("gen_ai.operation.name"), Some("\"chat\""));
    assert_eq!(note("gen_ai.provider.name"), Some("\"test\""));
    assert_eq!(note("gen_ai.request.model"), Some("\"test-model\""));
    assert_eq!(note("gen_ai.usage.input_tokens"), Some("100"), "cached tokens included");
    assert_eq!(note("gen_ai.usage.cache_read.input_tokens"), Some("10"));
    assert_eq!(note("gen_ai.usage.output_tokens"), Some("7"));
    assert_eq!(note("server.address"), Some("\"127.0.0.1\""));
    assert_eq!((note("error.type"), note("attempt")), (Some("\"overloaded\""), Some("1")));
    let all = format!("{notes:?}");
    assert!(!all.contains("private") && !all.contains("Do the tests"), "{all}");
}

#[tokio::test]
async fn an_error_is_named() {
    let notebook = notebook();
    let server = Server::start(Fault::Unauthorized).unwrap();
    let retries = Retries { attempts: 1, ..Retries::default() };
    let (model, _) = quick(&Provider { retries, ..provider(Wire::Chat, &server) });
    model.send(Call::new(bytes(Wire::Chat, Delivery::Whole))).await.unwrap_err();
    assert_eq!(notebook.of_this_thread().get("error.type").map(String::as_str), Some("\"auth\""));
}

//! A client without a name for its conversations: it sends the whole history each time.

use crate::kit::{Asking, Reply};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::path::Path;
use throughline_core::{Message, Record};
use throughline_ledger::{Home, Reader, resume};

/// A conversation as its client has it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Talk {
    pub(crate) messages: Vec<Value>,
}

impl Talk {
    /// Says something and takes in the answer.
    pub(crate) async fn say(&mut self, proxy: SocketAddr, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
        let reply = self.ask(proxy).await;
        let reply: Value = serde_json::from_slice(&reply.body).unwrap();
        let answer = reply["choices"][0]["message"]["content"].as_str().unwrap();
        self.messages.push(json!({"role": "assistant", "content": answer}));
    }

    /// Sends the history as it is.
    pub(crate) async fn ask(&self, proxy: SocketAddr) -> Reply {
        let body = json!({"model": "gpt-5", "messages": self.messages}).to_string();
        Asking::post("/v1/chat/completions", body).header("User-Agent", "talker/1.0").of(proxy).await
    }

    /// What was said, as the client has it.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect()
    }
}

/// Every ledger's view, in order.
pub(crate) fn views(home: &Home) -> Vec<Vec<String>> {
    let mut views: Vec<_> = home.ledgers().unwrap().iter().map(|path| view(home, path)).collect();
    views.sort();
    views
}

/// What a model would be sent now.
pub(crate) fn view(home: &Home, path: &Path) -> Vec<String> {
    resume(home, path).unwrap().view.messages().map(|message| message.to_text()).collect()
}

/// Everything that a ledger holds.
pub(crate) fn records(home: &Home, path: &Path) -> Vec<Record> {
    let mut reader = Reader::open(home, path, 0).unwrap();
    std::iter::from_fn(|| reader.next_record().unwrap()).map(|(_, record)| record).collect()
}

/// Every message that a ledger holds, in the order in which they were written.
pub(crate) fn messages(home: &Home, path: &Path) -> Vec<Message> {
    let messages = records(home, path).into_iter().filter_map(|record| match record {
        Record::Message(message) => Some(*message),
        Record::Meta(_)
        | Record::Turn(_)
        | Record::Event(_)
        | Record::Edit(_)
        | Record::Checkpoint(_)
        | Record::Card(_) => None,
    });
    messages.collect()
}

/// Waits until nobody writes to any ledger: a server that was dropped lets go of them as its tasks end.
pub(crate) async fn nobody_writes(home: &Home) {
    let is_free = |path: &Path| std::fs::File::open(path).unwrap().try_lock().is_ok();
    while !home.ledgers().unwrap().iter().all(|path| is_free(path)) {
        tokio::time::sleep(std::time::Duration::from_millis(5)).await;
    }
}

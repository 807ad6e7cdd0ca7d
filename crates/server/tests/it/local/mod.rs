//! What the server answers itself: pages, control calls, metrics.

mod access;
mod browser;
mod control;
mod driver;
mod metrics;
mod pages;
mod undo;

use crate::kit::{Asking, Reply, World};
use serde_json::{Value, json};
use throughline_server::{Settings, Token};
use throughline_testkit as testkit;

pub(crate) const TOKEN: &str = "a-token-for-tests";

/// A world whose token is known.
pub(crate) async fn world(script: impl testkit::Script + 'static) -> World {
    world_with(script, |_| {}).await
}

pub(crate) async fn world_with(
    script: impl testkit::Script + 'static,
    change: impl FnOnce(&mut Settings),
) -> World {
    World::with(script, |settings| {
        settings.manage.as_mut().unwrap().profile = throughline_core::profile::Profile::claude();
        settings.token = Token::new(TOKEN);
        change(settings);
    })
    .await
}

impl World {
    /// A page or a control call, by whoever has the token.
    pub(crate) async fn look(&self, path: &str) -> Reply {
        self.ask(Asking::get(path).header("Authorization", &format!("Bearer {TOKEN}"))).await
    }

    pub(crate) async fn value(&self, path: &str) -> Value {
        let reply = self.look(path).await;
        assert_eq!(reply.status, 200, "{path}: {}", reply.text());
        serde_json::from_slice(&reply.body).unwrap()
    }

    pub(crate) async fn tell(&self, path: &str, value: Value) -> Reply {
        let asking =
            Asking::post(path, value.to_string()).header("Authorization", &format!("Bearer {TOKEN}"));
        self.ask(asking).await
    }

    /// The one session that there is.
    pub(crate) async fn only_session(&self) -> String {
        let sessions = self.value("/throughline/api/sessions").await;
        assert_eq!(sessions["sessions"].as_array().unwrap().len(), 1, "{sessions}");
        sessions["sessions"][0]["id"].as_str().unwrap().to_owned()
    }

    /// What was sent to the provider last.
    pub(crate) fn sent(&self) -> Value {
        serde_json::from_slice(&self.provider.last().unwrap().body).unwrap()
    }
}

/// A client that keeps its history and sends all of it each time.
pub(crate) struct Conversation {
    pub(crate) name: String,
    pub(crate) messages: Vec<Value>,
}

impl Conversation {
    pub(crate) fn new(name: &str) -> Self {
        Self { name: name.to_owned(), messages: Vec::new() }
    }

    pub(crate) fn body(&self) -> Value {
        json!({ "model": "claude-opus-4-5", "max_tokens": 64, "stream": true, "messages": self.messages,
            "system": "You are a careful assistant.",
            "tools": [{ "name": "Bash", "description": "Runs.", "input_schema": { "type": "object" } }] })
    }

    /// Says something and waits for the answer, which is taken to be `answer`.
    pub(crate) async fn say(&mut self, world: &World, text: &str, answer: &str) {
        self.messages.push(json!({ "role": "user", "content": text }));
        self.send(world).await;
        self.messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": answer }] }));
    }

    /// A tool was called and answered; the answer to that is taken to be `answer`.
    pub(crate) async fn tool(&mut self, world: &World, call: &str, result: &str, answer: &str) {
        self.messages.push(json!({ "role": "assistant", "content":
            [{ "type": "tool_use", "id": call, "name": "Bash", "input": { "command": format!("show {call}") } }] }));
        self.messages.push(json!({ "role": "user", "content":
            [{ "type": "tool_result", "tool_use_id": call, "content": result }] }));
        self.send(world).await;
        self.messages.push(json!({ "role": "assistant", "content": [{ "type": "text", "text": answer }] }));
    }

    /// Sends the history as it is.
    pub(crate) async fn send(&self, world: &World) {
        let asking = Asking::post("/v1/messages", self.body().to_string())
            .header("x-throughline-session", &self.name)
            .header("user-agent", "tester/1.0");
        let reply = world.ask(asking).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
    }
}

/// A result that is put aside for its length, with a word that its preview lacks.
pub(crate) fn long_result(marker: &str) -> String {
    let mut text = String::new();
    for line in 0..1_200 {
        text.push_str(&format!("line {line}: {}\n", "all is well ".repeat(5)));
        if line == 600 {
            text.push_str(marker);
            text.push('\n');
        }
    }
    text
}

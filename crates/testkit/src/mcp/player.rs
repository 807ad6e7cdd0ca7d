//! Plays a script, whatever carries its messages.

use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Where messages go.
pub(super) trait Out {
    fn send(&mut self, message: &Value);
    fn raw(&mut self, bytes: &[u8]);
}

pub(super) struct Player {
    script: Value,
    tools: Mutex<Vec<Value>>,
    /// The call that waits for the client's answer to a request of ours.
    asking: Mutex<Option<Value>>,
}

impl Player {
    pub(super) fn new(script: Value) -> Self {
        let tools = script.get("tools").and_then(Value::as_array).cloned().unwrap_or_default();
        Self { script, tools: Mutex::new(tools), asking: Mutex::default() }
    }

    /// An entry of the script.
    pub(super) fn entry(&self, name: &str) -> Option<&Value> {
        self.script.get(name)
    }

    pub(super) fn set_tools(&self, tools: Vec<Value>) {
        *lock(&self.tools) = tools;
    }

    /// Takes a message of the client.
    pub(super) fn take(&self, message: &Value, out: &mut dyn Out) {
        self.log(message);
        let id = message.get("id").cloned().unwrap_or_default();
        let params = message.get("params").cloned().unwrap_or_default();
        match message.get("method").and_then(Value::as_str) {
            Some("initialize") => match self.steps("initialize") {
                Some(steps) => self.play(&steps, &id, out),
                None => out.send(&answer(&id, self.greeting(&params))),
            },
            Some("tools/list") => out.send(&answer(&id, self.list(&params))),
            Some("tools/call") => {
                let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
                match self.script.get("calls").and_then(|calls| calls.get(name)).and_then(Value::as_array) {
                    Some(steps) => self.play(steps, &id, out),
                    None => {
                        let arguments = params.get("arguments").cloned().unwrap_or_default();
                        out.send(&answer(&id, text(&arguments.to_string())));
                    }
                }
            }
            Some("ping") => out.send(&answer(&id, json!({}))),
            Some(_) => {}
            None if id == json!("ask") => {
                if let Some(call) = lock(&self.asking).take() {
                    let said =
                        message.get("result").or_else(|| message.get("error")).cloned().unwrap_or_default();
                    out.send(&answer(&call, text(&said.to_string())));
                }
            }
            None => {}
        }
    }

    pub(super) fn steps(&self, name: &str) -> Option<Vec<Value>> {
        self.script.get(name).and_then(Value::as_array).cloned()
    }

    fn greeting(&self, params: &Value) -> Value {
        let wanted = params.get("protocolVersion").cloned().unwrap_or_default();
        let mut greeting = json!({
            "protocolVersion": self.script.get("version").cloned().unwrap_or(wanted),
            "capabilities": self.script.get("capabilities").cloned().unwrap_or_else(|| json!({"tools": {}})),
            "serverInfo": {"name": "scripted", "version": "1"},
        });
        if let (Some(words), Some(fields)) = (self.script.get("instructions"), greeting.as_object_mut()) {
            fields.insert("instructions".to_owned(), words.clone());
        }
        greeting
    }

    fn list(&self, params: &Value) -> Value {
        let cursor =
            params.get("cursor").and_then(Value::as_str).and_then(|cursor| cursor.parse::<usize>().ok());
        let from = cursor.unwrap_or_default();
        let tool = |at: usize| json!({"name": format!("endless_{at}"), "inputSchema": {"type": "object"}});
        match self.script.get("list").and_then(Value::as_str) {
            Some("endless") => return json!({"tools": [tool(from)], "nextCursor": (from + 1).to_string()}),
            Some("circle") => return json!({"tools": [tool(from)], "nextCursor": "7"}),
            Some(_) | None => {}
        }
        let tools = lock(&self.tools);
        let page =
            self.script.get("page").and_then(Value::as_u64).and_then(|page| usize::try_from(page).ok());
        let to = page.map_or(tools.len(), |page| (from + page).min(tools.len()));
        let mut list = json!({"tools": tools.get(from..to).unwrap_or_default()});
        if let (true, Some(fields)) = (to < tools.len(), list.as_object_mut()) {
            fields.insert("nextCursor".to_owned(), json!(to.to_string()));
        }
        list
    }

    /// Plays steps on behalf of a request.
    pub(super) fn play(&self, steps: &[Value], id: &Value, out: &mut dyn Out) {
        for (name, value) in steps.iter().filter_map(Value::as_object).flatten() {
            match name.as_str() {
                "answer" => out.send(&answer(id, value.clone())),
                "error" => out.send(&json!({"jsonrpc": "2.0", "id": id, "error": value})),
                "send" => out.send(&with_id(value, id)),
                "raw" => out.raw(value.as_str().unwrap_or_default().as_bytes()),
                "fill" => (0..count(value) >> 10).for_each(|_| out.raw(&[b'x'; 1 << 10])),
                "words" => out.send(&answer(id, text(&"y".repeat(count(value))))),
                "repeat" => {
                    let times = value.get(0).map_or(0, count);
                    let steps: Vec<Value> = value.get(1).cloned().into_iter().collect();
                    (0..times).for_each(|_| self.play(&steps, id, out));
                }
                "stderr" => {
                    let _ = std::io::stderr().write_all(&vec![b'e'; count(value)]);
                }
                "ask" => {
                    *lock(&self.asking) = Some(id.clone());
                    out.send(&json!({"jsonrpc": "2.0", "id": "ask", "method": value, "params": {}}));
                }
                "tools" => {
                    self.set_tools(value.as_array().cloned().unwrap_or_default());
                    out.send(&json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}));
                }
                "env" => {
                    let variables: serde_json::Map<String, Value> =
                        std::env::vars().map(|(name, value)| (name, json!(value))).collect();
                    out.send(&answer(id, text(&json!(variables).to_string())));
                }
                "sleep" => {
                    let child = std::process::Command::new("sleep").arg("600").spawn();
                    let child = child.map(|child| child.id()).unwrap_or_default();
                    out.send(&answer(id, text(&format!("{} {child}", std::process::id()))));
                }
                "exit" => std::process::exit(i32::try_from(count(value)).unwrap_or(1)),
                _ => {}
            }
        }
    }

    fn log(&self, message: &Value) {
        let Some(path) = self.script.get("log").and_then(Value::as_str) else { return };
        if let Ok(mut file) = OpenOptions::new().create(true).append(true).open(path) {
            let _ = writeln!(file, "{message}");
        }
    }
}

fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).unwrap_or_default()
}

/// A message of the script, with the call's id where it says `"$id"`.
fn with_id(message: &Value, id: &Value) -> Value {
    match message {
        Value::String(text) if text == "$id" => id.clone(),
        Value::Object(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), with_id(value, id))).collect()
        }
        Value::Array(values) => values.iter().map(|value| with_id(value, id)).collect(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => message.clone(),
    }
}

fn answer(id: &Value, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

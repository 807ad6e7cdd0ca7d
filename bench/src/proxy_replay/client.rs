//! What a client would have sent, and the sending of it.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use throughline_core::tokens::Counter;
use throughline_core::{Message, Role, Wire, invariants};
use throughline_engine::replay::Recording;
use throughline_wire::{encode_messages, split_instructions};

/// A mark for Anthropic's cache, as it is written here.
pub(super) const MARK: &str = ",\"cache_control\":{\"type\":\"ephemeral\"}";

/// A recorded session as its client would have held it.
pub(super) struct Session {
    pub(super) name: String,
    pub(super) wire: Wire,
    pub(super) model: String,
    messages: Vec<Message>,
    /// Where the model was asked.
    asked: Vec<usize>,
    /// The client's own prompt: as many tokens as the recording had before its messages.
    prompt: String,
}

impl Session {
    pub(super) fn new(recording: &Recording) -> Self {
        let model = recording.model_or_default().to_owned();
        let mut counter = Counter::for_model(&model);
        let sentence =
            "Work in small steps, say what you found, and leave the user's files as they are unless asked. ";
        let each = counter.text(sentence).max(1);
        Self {
            name: recording.name.clone(),
            wire: if recording.client == "codex" { Wire::Responses } else { Wire::Anthropic },
            model,
            messages: recording.messages.iter().map(|message| (**message).clone()).collect(),
            asked: recording.requests.clone(),
            prompt: sentence.repeat(usize::try_from(recording.overhead / each).unwrap_or(0) + 1),
        }
    }

    pub(super) fn requests(&self) -> usize {
        self.asked.len()
    }

    /// Marks for the cache in each request.
    pub(super) fn marks(&self) -> usize {
        match self.wire {
            Wire::Anthropic => 2,
            Wire::Responses | Wire::Chat => 0,
        }
    }

    /// The body of a request.
    pub(super) fn body(&self, number: usize) -> Vec<u8> {
        // Transcripts hold results where they came in; clients send them behind their calls.
        let (said, _) = invariants::repair(self.messages[..self.asked[number]].to_vec());
        match self.wire {
            Wire::Anthropic => self.anthropic(&said),
            Wire::Responses | Wire::Chat => self.responses(&said),
        }
        .into_bytes()
    }

    fn anthropic(&self, said: &[Message]) -> String {
        let (instructions, rest) = split_instructions(said);
        let system = json!(format!("{}\n{instructions}", self.prompt));
        let mut messages: Vec<Value> = encode_messages(Wire::Anthropic, rest);
        for message in &mut messages {
            if let Some(text) = message.get("content").and_then(Value::as_str) {
                message["content"] = json!([{"type": "text", "text": text}]);
            }
            strip_marks(message);
        }
        // On the last block of the last message, where Claude Code has it.
        let marked = messages.pop().map(|last| with_mark(&last));
        let messages: Vec<String> = messages.iter().map(Value::to_string).chain(marked).collect();
        format!(
            "{{\"model\":{},\"messages\":[{}],\"system\":[{{\"type\":\"text\",\"text\":{system}{MARK}}}],\"max_tokens\":32000,\"stream\":true}}",
            json!(self.model),
            messages.join(",")
        )
    }

    fn responses(&self, said: &[Message]) -> String {
        let items: Vec<String> =
            encode_messages(Wire::Responses, said).iter().map(Value::to_string).collect();
        format!(
            "{{\"model\":{},\"instructions\":{},\"input\":[{}],\"store\":false,\"stream\":true}}",
            json!(self.model),
            json!(self.prompt),
            items.join(",")
        )
    }

    /// What the model said to a request.
    pub(super) fn answer(&self, number: usize) -> Vec<Message> {
        let to = self.asked.get(number + 1).copied().unwrap_or(self.messages.len());
        let said = self.messages[self.asked[number]..to].iter();
        said.filter(|message| message.role == Role::Assistant).cloned().collect()
    }

    /// The headers by which its client is known.
    fn headers(&self) -> String {
        match self.wire {
            Wire::Anthropic => format!(
                "user-agent: claude-cli/2.1.0 (external, cli)\r\nanthropic-version: 2023-06-01\r\nx-claude-code-session-id: {}\r\n",
                self.name
            ),
            Wire::Responses | Wire::Chat => format!(
                "user-agent: codex_exec/0.166.0\r\noriginator: codex_exec\r\nsession-id: {0}\r\nthread-id: {0}\r\n",
                self.name
            ),
        }
    }
}

fn strip_marks(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.remove("cache_control");
            map.values_mut().for_each(strip_marks);
        }
        Value::Array(list) => list.iter_mut().for_each(strip_marks),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Puts a mark on the last block of a message.
fn with_mark(message: &Value) -> String {
    let plain = message.to_string();
    let Some(last) = message["content"].as_array().and_then(|blocks| blocks.last()).map(Value::to_string)
    else {
        return plain;
    };
    match plain.rfind(&last) {
        Some(at) => {
            let end = at + last.len();
            format!("{}{MARK}{}", &plain[..end - 1], &plain[end - 1..])
        }
        None => plain,
    }
}

/// A client's connection, which is kept.
pub(super) struct Line {
    address: SocketAddr,
    open: BufReader<TcpStream>,
}

impl Line {
    pub(super) fn connect(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { address, open: BufReader::new(stream) })
    }

    /// Sends a request and reads the answer to its end; its status.
    pub(super) fn post(&mut self, session: &Session, number: usize, body: &[u8]) -> anyhow::Result<u16> {
        let path = match session.wire {
            Wire::Anthropic => "/v1/messages?beta=true",
            Wire::Responses | Wire::Chat => "/v1/responses",
        };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\n{}x-number: {number}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            self.address,
            session.headers(),
            body.len()
        );
        self.open.get_mut().write_all(head.as_bytes())?;
        self.open.get_mut().write_all(body)?;
        let first = self.line()?;
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let (mut length, mut chunked) = (0, false);
        loop {
            let header = self.line()?.to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
            chunked |= header.starts_with("transfer-encoding:");
        }
        while chunked {
            let size = usize::from_str_radix(&self.line()?, 16)?;
            self.skip(size + 2)?;
            chunked = size > 0;
        }
        self.skip(length)?;
        Ok(status)
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        anyhow::ensure!(self.open.read_line(&mut line)? > 0, "the answer broke off");
        Ok(line.trim().to_owned())
    }

    fn skip(&mut self, bytes: usize) -> anyhow::Result<()> {
        let skipped = std::io::copy(&mut self.open.by_ref().take(bytes as u64), &mut std::io::sink())?;
        anyhow::ensure!(skipped == bytes as u64, "the answer broke off");
        Ok(())
    }
}

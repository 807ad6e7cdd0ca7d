//! A provider that simulates a prompt cache on the bytes that it receives, and gives the recorded answers.

use super::client::{MARK, Session};
use anyhow::Context;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use throughline_core::Wire;
use throughline_core::cost::{CacheSim, Charge, Piece, Request, Totals, Ttl};
use throughline_core::pipeline::Settings;
use throughline_core::tokens::Counter;
use throughline_wire::splice::Body;
use throughline_wire::{Response, decode_message, encode_messages, stream};

/// The provider. Its threads end with the connections to it.
pub(super) struct Provider {
    address: SocketAddr,
    shared: Arc<Mutex<Stage>>,
}

/// What is known of the last request.
pub(super) struct Known {
    pub(super) sent: Vec<u8>,
    /// Marks for the cache in it.
    pub(super) marks: usize,
    /// What it was billed.
    pub(super) charge: Charge,
}

struct Stage {
    session: Arc<Session>,
    sim: CacheSim,
    counter: Counter,
    /// Tokens of the pieces that were seen.
    counted: HashMap<u64, u64>,
    last: Option<Known>,
}

impl Provider {
    pub(super) fn start(session: Arc<Session>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let price = Settings::for_model(&session.model).price;
        let shared = Arc::new(Mutex::new(Stage {
            sim: CacheSim::new(price, Ttl::Never),
            counter: Counter::for_model(&session.model),
            counted: HashMap::new(),
            last: None,
            session,
        }));
        let accepting = Arc::downgrade(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(shared) = accepting.upgrade() else { return };
                std::thread::spawn(move || {
                    if let Err(error) = serve(&stream, &shared) {
                        eprintln!("the provider failed: {error:#}");
                    }
                });
            }
        });
        Ok(Self { address, shared })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn totals(&self) -> Totals {
        *lock(&self.shared).sim.totals()
    }

    /// The request before, once.
    pub(super) fn last(&self) -> Option<Known> {
        lock(&self.shared).last.take()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        // Wakes the thread that accepts, so that it sees that nobody is there any more.
        let address = self.address;
        std::thread::spawn(move || drop(TcpStream::connect(address)));
    }
}

fn lock(shared: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(stream: &TcpStream, shared: &Mutex<Stage>) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some((number, body)) = read(&mut reader)? {
        let answer = lock(shared).answer(number, body)?;
        let mut writer = stream;
        write!(
            writer,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncontent-length: {}\r\n\r\n",
            answer.len()
        )?;
        writer.write_all(&answer)?;
    }
    Ok(())
}

/// The next request: its number and its body.
fn read(reader: &mut BufReader<&TcpStream>) -> anyhow::Result<Option<(usize, Vec<u8>)>> {
    let (mut length, mut number) = (0, 0);
    let mut line = String::new();
    loop {
        line.clear();
        match reader.read_line(&mut line) {
            Ok(0) => return Ok(None),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        let header = line.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse()?;
        }
        if let Some(value) = header.strip_prefix("x-number:") {
            number = value.trim().parse()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((number, body)))
}

impl Stage {
    fn answer(&mut self, number: usize, body: Vec<u8>) -> anyhow::Result<Vec<u8>> {
        let wire = self.session.wire;
        let said = self.session.answer(number);
        let output = said.iter().map(|message| self.counter.message(message).total()).sum();
        let parsed = Body::parse(wire, body.clone())?;
        let pieces = self.pieces(&parsed)?;
        let charge = self.sim.push(&Request { output, ..Request::whole(&pieces) });
        let marks = String::from_utf8_lossy(&body).matches(MARK).count();
        self.last = Some(Known { sent: body, marks, charge });
        let response = Response::from_value(wire, whole(&self.session, number, &charge))?;
        let mut bytes = Vec::new();
        stream::events(&response).iter().for_each(|event| event.write(&mut bytes));
        Ok(bytes)
    }

    /// Tools, system prompt, messages: the order in which providers read them. Marks are no part of a prompt.
    fn pieces(&mut self, body: &Body) -> anyhow::Result<Vec<Piece>> {
        let system = match body.wire() {
            Wire::Anthropic => "system",
            Wire::Responses | Wire::Chat => "instructions",
        };
        let mut pieces = Vec::with_capacity(body.len() + 2);
        for key in ["tools", system] {
            if let Some(raw) = body.raw(key) {
                let text = String::from_utf8_lossy(raw).replace(MARK, "");
                pieces.push(self.piece(&text, |counter| counter.text(&text)));
            }
        }
        for at in 0..body.len() {
            let raw = body.element(at).context("an element is missing")?;
            let text = String::from_utf8_lossy(raw).replace(MARK, "");
            let wire = body.wire();
            pieces.push(self.piece(&text, |counter| {
                let value: Value = serde_json::from_str(&text).unwrap_or_default();
                counter.message(&decode_message(wire, value)).total()
            }));
        }
        Ok(pieces)
    }

    fn piece(&mut self, text: &str, count: impl FnOnce(&mut Counter) -> u64) -> Piece {
        let mut piece = Piece::new(text.as_bytes(), 0);
        let counter = &mut self.counter;
        piece.tokens = *self.counted.entry(piece.key).or_insert_with(|| count(counter));
        piece
    }
}

/// The recorded answer, with what it cost here.
fn whole(session: &Session, number: usize, charge: &Charge) -> Value {
    let said = encode_messages(session.wire, &session.answer(number));
    match session.wire {
        Wire::Anthropic => {
            let content: Vec<Value> = said
                .into_iter()
                .flat_map(|message| match message.get("content") {
                    Some(Value::Array(blocks)) => blocks.clone(),
                    Some(Value::String(text)) => vec![json!({"type": "text", "text": text})],
                    Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
                        Vec::new()
                    }
                })
                .collect();
            let calls = content.iter().any(|block| block["type"] == "tool_use");
            json!({
                "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": session.model,
                "content": content, "stop_reason": if calls { "tool_use" } else { "end_turn" }, "stop_sequence": null,
                "usage": {
                    "input_tokens": charge.uncached, "cache_creation_input_tokens": charge.write,
                    "cache_read_input_tokens": charge.read, "output_tokens": charge.output,
                },
            })
        }
        Wire::Responses | Wire::Chat => json!({
            "id": format!("resp_{number}"), "object": "response", "status": "completed", "model": session.model,
            "output": said,
            "usage": {
                "input_tokens": charge.prompt(), "input_tokens_details": {"cached_tokens": charge.read},
                "output_tokens": charge.output, "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": charge.prompt() + charge.output,
            },
        }),
    }
}

//! The scripted server over loopback HTTP.

use super::player::{Out, Player, lock};
use crate::http::Incoming;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Heard {
    /// `POST`, `GET` or `DELETE`.
    pub method: String,
    /// Its headers.
    pub headers: Vec<(String, String)>,
    /// The message, where there is one.
    pub message: Value,
}

impl Heard {
    /// A header by its name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        crate::http::find(&self.headers, name)
    }
}

/// An MCP server on a free loopback port, at any path. It stops when dropped.
pub struct McpHttp {
    address: SocketAddr,
    shared: Arc<Shared>,
    accepting: Option<JoinHandle<()>>,
}

struct Shared {
    player: Player,
    heard: Mutex<Vec<Heard>>,
    /// Streams that clients listen to.
    listening: Mutex<Vec<TcpStream>>,
    open: Mutex<Vec<TcpStream>>,
    is_over: AtomicBool,
    /// The session was forgotten.
    is_forgetful: AtomicBool,
}

impl McpHttp {
    /// Listens on a free loopback port.
    pub fn start(script: Value) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            player: Player::new(script),
            heard: Mutex::default(),
            listening: Mutex::default(),
            open: Mutex::default(),
            is_over: AtomicBool::new(false),
            is_forgetful: AtomicBool::new(false),
        });
        let accepting = std::thread::spawn({
            let shared = Arc::clone(&shared);
            move || {
                let mut threads = Vec::new();
                for stream in listener.incoming().map_while(Result::ok) {
                    if shared.is_over.load(Ordering::SeqCst) {
                        break;
                    }
                    lock(&shared.open).extend(stream.try_clone());
                    let shared = Arc::clone(&shared);
                    threads.push(std::thread::spawn(move || shared.serve(&stream)));
                }
                shared.hang_up();
                threads.into_iter().for_each(|thread| drop(thread.join()));
            }
        });
        Ok(Self { address, shared, accepting: Some(accepting) })
    }

    /// `http://127.0.0.1:PORT/mcp`.
    pub fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Everything that arrived, in order.
    pub fn heard(&self) -> Vec<Heard> {
        lock(&self.shared.heard).clone()
    }

    /// Another list of tools, of which everybody who listens is told; how many do.
    pub fn set_tools(&self, tools: Vec<Value>) -> usize {
        self.shared.player.set_tools(tools);
        let notice = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let mut listening = lock(&self.shared.listening);
        listening.retain_mut(|stream| write!(stream, "data: {notice}\n\n").is_ok());
        listening.len()
    }

    /// From now on nobody's session is known, until it is begun anew.
    pub fn forget_sessions(&self) {
        self.shared.is_forgetful.store(true, Ordering::SeqCst);
    }
}

impl Drop for McpHttp {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
        if let Some(accepting) = self.accepting.take() {
            let _ = accepting.join();
        }
    }
}

/// The body of a reply.
#[derive(Default)]
struct Body {
    messages: Vec<Value>,
    raw: Option<Vec<u8>>,
}

impl Out for Body {
    fn send(&mut self, message: &Value) {
        self.messages.push(message.clone());
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.raw.get_or_insert_default().extend_from_slice(bytes);
    }
}

impl Shared {
    fn hang_up(&self) {
        for stream in lock(&self.open).iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn serve(&self, stream: &TcpStream) {
        while let Ok(Some(mut incoming)) = Incoming::read(stream) {
            if incoming.take_rest(stream).is_err() || self.reply(stream, incoming).is_err() {
                return;
            }
        }
    }

    fn reply(&self, mut stream: &TcpStream, incoming: Incoming) -> io::Result<()> {
        let message: Value = serde_json::from_slice(&incoming.body).unwrap_or_default();
        let Incoming { method, headers, .. } = incoming;
        let heard = Heard { method: method.clone(), headers, message: message.clone() };
        let has_session = heard.header("mcp-session-id").is_some();
        lock(&self.heard).push(heard);
        let called = message.get("method").and_then(Value::as_str).unwrap_or(&method).to_owned();
        if called == "initialize" {
            self.is_forgetful.store(false, Ordering::SeqCst);
        } else if has_session && self.is_forgetful.load(Ordering::SeqCst) {
            return whole(stream, "404 Not Found", "", b"");
        }
        if let Some(reply) = self.player.entry("replies").and_then(|replies| replies.get(&called)) {
            let text = |name: &str| reply.get(name).and_then(Value::as_str).unwrap_or_default();
            return whole(stream, text("status"), text("headers"), text("body").as_bytes());
        }
        match method.as_str() {
            "GET" => {
                write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n")?;
                lock(&self.listening).extend(stream.try_clone());
                // Whatever comes next ends it.
                let _ = Incoming::read(stream);
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            "DELETE" => whole(stream, "200 OK", "", b""),
            _ => self.post(stream, &message, &called),
        }
    }

    fn post(&self, stream: &TcpStream, message: &Value, called: &str) -> io::Result<()> {
        let mut body = Body::default();
        self.player.take(message, &mut body);
        let session = self.player.entry("session").and_then(Value::as_str).filter(|_| called == "initialize");
        let session = session.map(|name| format!("mcp-session-id: {name}\r\n")).unwrap_or_default();
        if let Some(raw) = body.raw {
            return whole(stream, "200 OK", &format!("content-type: application/json\r\n{session}"), &raw);
        }
        let is_request = message.get("id").is_some() && message.get("method").is_some();
        match (is_request, body.messages.as_slice()) {
            (false, _) => whole(stream, "202 Accepted", &session, b""),
            // Silence, until the client leaves.
            (true, []) => Incoming::read(stream).and(Err(io::ErrorKind::ConnectionAborted.into())),
            (true, messages) if self.player.entry("sse").is_some() => {
                let events: String =
                    messages.iter().map(|message| format!("event: message\ndata: {message}\n\n")).collect();
                whole(
                    stream,
                    "200 OK",
                    &format!("content-type: text/event-stream\r\n{session}"),
                    events.as_bytes(),
                )
            }
            (true, [.., last]) => {
                let headers = format!("content-type: application/json\r\n{session}");
                whole(stream, "200 OK", &headers, last.to_string().as_bytes())
            }
        }
    }
}

fn whole(mut stream: &TcpStream, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
    write!(stream, "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)
}

//! The server: a thread a connection, one answer at a time.

use crate::chat::{self, Asked, MODEL, Reply};
use crate::http::{self, Incoming};
use crate::language::{Finish, Go, Language, Made};
use crate::template::turns;
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

/// What is served.
pub(crate) struct Service {
    language: Arc<Mutex<Language>>,
    /// Tokens that prompt and answer may have together: at most what the model can hold.
    context: usize,
    served: AtomicU64,
    /// Who hears what each request took.
    log: fn(&Served<'_>),
}

/// One request, for the log.
pub(crate) struct Served<'a> {
    pub(crate) prompt: usize,
    /// What was answered.
    pub(crate) text: &'a str,
    pub(crate) made: Made,
    pub(crate) seconds: f64,
}

impl Service {
    /// Serves a model, as if it could hold `context` tokens; no more than it can.
    pub(crate) fn new(language: Arc<Mutex<Language>>, context: Option<usize>, log: fn(&Served<'_>)) -> Self {
        let holds = language.lock().unwrap_or_else(PoisonError::into_inner).context();
        let context = context.map_or(holds, |context| context.min(holds));
        Self { language, context, served: AtomicU64::new(0), log }
    }

    /// Begins to serve on the loopback, in threads that end with the process. Port 0: any that is free.
    pub(crate) fn start(self, port: u16) -> Result<SocketAddr> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))
            .with_context(|| format!("port {port} can't be used"))?;
        let address = listener.local_addr()?;
        let service = Arc::new(self);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let service = Arc::clone(&service);
                // A client that left needs no answer.
                thread::spawn(move || service.handle(&stream).ok());
            }
        });
        Ok(address)
    }

    fn handle(&self, stream: &TcpStream) -> io::Result<()> {
        stream.set_nodelay(true)?;
        let incoming = match Incoming::read(stream) {
            Ok(Some(incoming)) => incoming,
            Ok(None) => return Ok(()),
            Err(error) => return http::answer(stream, 400, &chat::invalid(&error.to_string())),
        };
        match (incoming.method.as_str(), incoming.path.as_str()) {
            ("GET", "/v1/models") => {
                let model = json!({"id": MODEL, "object": "model", "max_model_len": self.context});
                http::answer(stream, 200, &json!({"object": "list", "data": [model]}))
            }
            ("POST", "/v1/chat/completions") => self.complete(stream, &incoming.body),
            (method, path) => {
                http::answer(stream, 404, &chat::invalid(&format!("Unknown request: {method} {path}")))
            }
        }
    }

    fn complete(&self, stream: &TcpStream, body: &[u8]) -> io::Result<()> {
        let asked: Asked = match serde_json::from_slice(body) {
            Ok(asked) => asked,
            Err(error) => return http::answer(stream, 400, &chat::invalid(&error.to_string())),
        };
        let turns = match turns(&asked.messages, &asked.tools) {
            Ok(turns) => turns,
            Err(why) => return http::answer(stream, 400, &chat::invalid(&why)),
        };
        // A panic of another thread's leaves the model whole: answers are made on copies of its state.
        let mut language = self.language.lock().unwrap_or_else(PoisonError::into_inner);
        let prompt = match language.prompt(&turns) {
            Ok(prompt) => prompt,
            Err(error) => return http::answer(stream, 500, &chat::failed(&error.to_string())),
        };
        let room = match chat::room(prompt.len(), asked.most(), self.context) {
            Ok(room) => room,
            Err(error) => return http::answer(stream, 400, &error),
        };
        let begun = Instant::now();
        let mut answering = Answering { stream, reply: self.reply(), asked: &asked, text: String::new() };
        answering.begin()?;
        let made = language.answer(&prompt, room, &mut |text| answering.hear(text));
        drop(language);
        match made {
            Ok(made) => {
                let seconds = begun.elapsed().as_secs_f64();
                (self.log)(&Served { prompt: prompt.len(), text: &answering.text, made, seconds });
                answering.end(prompt.len(), &made)
            }
            Err(error) => answering.fail(&error.to_string()),
        }
    }

    fn reply(&self) -> Reply {
        let number = self.served.fetch_add(1, Ordering::Relaxed);
        let now = jiff::Timestamp::now();
        Reply { id: format!("chatcmpl-{}-{number}", now.as_millisecond()), created: now.as_second() }
    }
}

/// An answer on its way.
struct Answering<'a> {
    stream: &'a TcpStream,
    reply: Reply,
    asked: &'a Asked,
    text: String,
}

impl Answering<'_> {
    fn is_streamed(&self) -> bool {
        self.asked.stream == Some(true)
    }

    fn event(&self, data: &Value) -> io::Result<()> {
        http::event(self.stream, &data.to_string())
    }

    fn begin(&self) -> io::Result<()> {
        if self.is_streamed() {
            http::begin_events(self.stream)?;
            self.event(&self.reply.first())?;
        }
        Ok(())
    }

    fn hear(&mut self, text: &str) -> Go {
        if http::has_left(self.stream) {
            return Go::Stop;
        }
        if text.is_empty() {
            return Go::On;
        }
        self.text.push_str(text);
        if self.is_streamed() && self.event(&self.reply.piece(text)).is_err() {
            return Go::Stop;
        }
        Go::On
    }

    fn end(&self, prompt: usize, made: &Made) -> io::Result<()> {
        if made.finish == Finish::Left {
            return Ok(());
        }
        if !self.is_streamed() {
            return http::answer(self.stream, 200, &self.reply.whole(&self.text, prompt, made));
        }
        self.event(&self.reply.last(made))?;
        if self.asked.wants_usage() {
            self.event(&self.reply.figures(prompt, made))?;
        }
        http::event(self.stream, "[DONE]")
    }

    fn fail(&self, why: &str) -> io::Result<()> {
        let error = chat::failed(why);
        if self.is_streamed() { self.event(&error) } else { http::answer(self.stream, 500, &error) }
    }
}

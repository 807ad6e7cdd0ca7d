//! A client with nothing between it and the socket.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use throughline_core::Wire;
use throughline_testkit::{Fault, Server, Stall};
use throughline_wire::Response;
use throughline_wire::sse::{Event, Parser};
use throughline_wire::stream::{StreamDecoder, StreamError};

pub(crate) const WIRES: [Wire; 3] = [Wire::Anthropic, Wire::Responses, Wire::Chat];

/// Long enough for a busy machine; reached only where a test fails or a stall is expected.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// Short: for what is known not to come any more.
const SHORT: Duration = Duration::from_millis(20);

pub(crate) struct Client {
    reader: BufReader<TcpStream>,
    stall: Option<Stall>,
}

/// What came back, as far as it came.
#[derive(Debug)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Why the body is not whole as HTTP sees it.
    pub(crate) broken: Option<io::ErrorKind>,
}

impl Client {
    pub(crate) fn connect(server: &Server) -> Self {
        let stream = TcpStream::connect(server.address()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { reader: BufReader::new(stream), stall: None }
    }

    /// Waits long for all that comes before this stall, and not long for what comes behind it.
    pub(crate) fn expect(mut self, stall: Option<Stall>) -> Self {
        self.stall = stall;
        if stall == Some(Stall::BeforeHead) {
            self.lose_patience();
        }
        self
    }

    fn lose_patience(&self) {
        self.reader.get_ref().set_read_timeout(Some(SHORT)).unwrap();
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.reader.get_mut().write_all(bytes).unwrap();
    }

    pub(crate) fn post(&mut self, path: &str, body: &[u8]) -> io::Result<Got> {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", body.len());
        self.write(&[head.as_bytes(), body].concat());
        self.read(false)
    }

    pub(crate) fn read(&mut self, bodiless: bool) -> io::Result<Got> {
        let first = self.line()?;
        let status = first.split(' ').nth(1).unwrap().parse().unwrap();
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_owned(), value.to_owned()));
        }
        let mut got = Got { status, headers, body: Vec::new(), broken: None };
        if !bodiless && status >= 200 {
            got.broken = self.body(&mut got).err().map(|error| error.kind());
        }
        Ok(got)
    }

    fn body(&mut self, got: &mut Got) -> io::Result<()> {
        if self.stall == Some(Stall::BeforeBody) {
            self.lose_patience();
        }
        if let Some(length) = got.header("content-length") {
            let length: usize = length.parse().unwrap();
            if self.stall.is_some() {
                self.take(length / 2, &mut got.body)?;
                self.lose_patience();
            }
            let rest = length - got.body.len();
            return self.take(rest, &mut got.body);
        }
        assert_eq!(got.header("transfer-encoding"), Some("chunked"));
        for chunk in 0.. {
            if self.stall == Some(Stall::AfterEvents(chunk)) {
                self.lose_patience();
            }
            let size = usize::from_str_radix(&self.line()?, 16).unwrap();
            self.take(size, &mut got.body)?;
            assert_eq!(self.line()?, "");
            if size == 0 {
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
        // Byte by byte through the buffer, so that what came before a failure is kept.
        for _ in 0..length {
            let mut byte = [0];
            self.reader.read_exact(&mut byte)?;
            into.extend(byte);
        }
        Ok(())
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        match line.strip_suffix("\r\n") {
            Some(line) => Ok(line.to_owned()),
            None => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        let mut parser = Parser::default();
        let mut events = Vec::new();
        parser.push(&self.body, &mut events).unwrap();
        events.extend(parser.finish());
        events
    }

    /// The answer, and the errors on the way.
    pub(crate) fn streamed(&self, wire: Wire) -> (Response, Vec<StreamError>) {
        let mut decoder = StreamDecoder::new(wire);
        let errors = self.events().iter().filter_map(|event| decoder.push(event).err()).collect();
        (decoder.finish(), errors)
    }

    /// The answer of a reply that has nothing wrong with it.
    pub(crate) fn response(&self, wire: Wire) -> Response {
        assert_eq!((self.status, self.broken), (200, None), "{}", self.text());
        if self.header("content-type").unwrap().starts_with("text/event-stream") {
            let (response, errors) = self.streamed(wire);
            assert!(errors.is_empty(), "{errors:?}");
            response
        } else {
            Response::decode(wire, &self.body).unwrap()
        }
    }
}

/// The stall that a fault is.
pub(crate) fn stall(fault: &Fault) -> Option<Stall> {
    if let Fault::Stall(stall) = fault { Some(*stall) } else { None }
}

pub(crate) fn path(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "/v1/messages",
        Wire::Responses => "/v1/responses",
        Wire::Chat => "/v1/chat/completions",
    }
}

/// A request with one message of the user.
pub(crate) fn request(wire: Wire, text: &str, stream: bool) -> Value {
    let messages = json!([{ "role": "user", "content": text }]);
    match wire {
        Wire::Anthropic => {
            json!({ "model": "claude-sonnet-4-5", "max_tokens": 1000, "stream": stream, "messages": messages })
        }
        Wire::Responses => json!({ "model": "gpt-5", "stream": stream, "input": messages }),
        Wire::Chat => json!({
            "model": "gpt-5", "stream": stream, "stream_options": { "include_usage": true }, "messages": messages,
        }),
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(server: &Server, wire: Wire, text: &str, stream: bool) -> Got {
    try_ask(server, wire, text, stream).unwrap()
}

pub(crate) fn try_ask(server: &Server, wire: Wire, text: &str, stream: bool) -> io::Result<Got> {
    send(server, wire, &request(wire, text, stream))
}

pub(crate) fn send(server: &Server, wire: Wire, body: &Value) -> io::Result<Got> {
    Client::connect(server).post(path(wire), body.to_string().as_bytes())
}

//! A reply as bytes, and the sending of it.

use crate::answer::Answer;
use crate::events::events;
use crate::{Gate, Http, Seen};
use serde_json::Value;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What is sent, piece by piece.
pub(crate) struct Plan {
    /// Status and headers; without them nothing is sent at all.
    pub(crate) head: Option<(u16, Vec<(String, String)>)>,
    /// The body: an event each, if it is a stream.
    pub(crate) frames: Vec<Vec<u8>>,
    pub(crate) framing: Framing,
    /// The body is written in pieces of so many bytes, not by frames.
    pub(crate) pieces: Option<usize>,
    pub(crate) before: Pause,
    pub(crate) between: Duration,
    pub(crate) end: End,
}

/// How the client is told where the body ends.
#[derive(Clone, Copy)]
pub(crate) enum Framing {
    /// So many bytes, it is said.
    Length(usize),
    Chunked,
}

/// What to wait for before the first byte.
#[derive(Default)]
pub(crate) struct Pause {
    pub(crate) gate: Option<Gate>,
    pub(crate) late: Duration,
}

/// What happens behind the last frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The body ends as HTTP wants it.
    Proper,
    /// The connection is closed, whatever was promised.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing, until the client leaves.
    Stall,
}

impl Plan {
    pub(crate) fn http(http: Http) -> Self {
        Self {
            framing: Framing::Length(http.body.len()),
            head: Some((http.status, http.headers)),
            frames: vec![http.body],
            pieces: None,
            before: Pause::default(),
            between: Duration::ZERO,
            end: End::Proper,
        }
    }

    /// An answer whose body is `body`.
    pub(crate) fn answer(answer: &Answer, seen: &Seen, body: Value) -> Self {
        let delivery = &answer.delivery;
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let mut frames = vec![body.to_string().into_bytes()];
        let mut framing = Framing::Length(frames[0].len());
        if seen.streams() {
            headers[0].1 = "text/event-stream; charset=utf-8".to_owned();
            headers.push(("cache-control".to_owned(), "no-cache".to_owned()));
            framing = Framing::Chunked;
            let usage = seen.json()["stream_options"]["include_usage"] == true;
            frames = events(seen.wire, body, usage, delivery)
                .iter()
                .map(|event| {
                    let mut frame = if delivery.comments { b": keep-alive\n\n".to_vec() } else { Vec::new() };
                    event.write(&mut frame);
                    frame
                })
                .collect();
        }
        let mut pieces = delivery.pieces;
        if let Some(coding) = delivery.coding {
            headers.push(("content-encoding".to_owned(), coding.name().to_owned()));
            frames = vec![coding.encode(&frames.concat())];
            match &mut framing {
                Framing::Length(length) => *length = frames[0].len(),
                Framing::Chunked => pieces = pieces.or(Some(64)),
            }
        }
        headers.extend(crate::fault::ids(seen));
        headers.extend(answer.headers.iter().cloned());
        Self {
            head: Some((200, headers)),
            frames,
            framing,
            pieces,
            before: Pause { gate: delivery.gate.clone(), late: Duration::ZERO },
            between: delivery.between,
            end: End::Proper,
        }
    }

    /// Keeps the first `frames` frames, at most all but the last; a body in one frame is cut in half.
    pub(crate) fn keep_frames(&mut self, frames: usize) {
        match self.frames.as_mut_slice() {
            [only] => only.truncate(only.len() / 2),
            all => {
                let most = all.len().saturating_sub(1);
                self.frames.truncate(frames.min(most));
            }
        }
    }

    /// Keeps the first `bytes` bytes, at most all but the last.
    pub(crate) fn keep_bytes(&mut self, bytes: usize) {
        let total: usize = self.frames.iter().map(Vec::len).sum();
        let mut left = bytes.min(total.saturating_sub(1));
        for frame in &mut self.frames {
            frame.truncate(left);
            left -= frame.len();
        }
        self.frames.retain(|frame| !frame.is_empty());
    }

    /// Declares the body as it is now to be the whole.
    pub(crate) fn settle_length(&mut self) {
        if let Framing::Length(length) = &mut self.framing {
            *length = self.frames.iter().map(Vec::len).sum();
        }
    }

    pub(crate) fn set_header(&mut self, name: &str, value: &str) {
        if let Some((_, headers)) = &mut self.head {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// How the sending of a reply came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    /// All of it; the next request may come.
    Whole,
    /// The connection is to be closed.
    Close,
    /// The connection is to be reset.
    Reset,
    /// The client left before the end.
    Left,
}

/// The server's word that all is over, for threads that wait.
#[derive(Debug, Default)]
pub(crate) struct Stopping {
    flag: Mutex<bool>,
    changed: Condvar,
}

impl Stopping {
    pub(crate) fn now(&self) {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_set(&self) -> bool {
        *self.flag.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, unless the server stops; whether it has stopped.
    fn wait(&self, time: Duration) -> bool {
        if time.is_zero() {
            return self.is_set();
        }
        let flag = self.flag.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(flag, time, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// How often a reply that waits at a gate looks whether the server stops.
const GATE_STEP: Duration = Duration::from_millis(20);

impl Plan {
    /// Sends the reply. `bodiless`: the client asked for the head alone.
    pub(crate) fn send(&self, stream: &TcpStream, stopping: &Stopping, bodiless: bool) -> Sent {
        if let Some(gate) = &self.before.gate {
            while !gate.wait(GATE_STEP) {
                if stopping.is_set() {
                    return Sent::Close;
                }
            }
        }
        if stopping.wait(self.before.late) {
            return Sent::Close;
        }
        match self.write(stream, stopping, bodiless) {
            Ok(Some(sent)) => sent,
            Ok(None) => match self.end {
                End::Proper => Sent::Whole,
                End::Close => Sent::Close,
                End::Reset => Sent::Reset,
                End::Stall => stall(stream, stopping),
            },
            Err(_) if stopping.is_set() => Sent::Close,
            Err(_) => Sent::Left,
        }
    }

    fn write(&self, mut stream: &TcpStream, stopping: &Stopping, bodiless: bool) -> io::Result<Option<Sent>> {
        let Some((status, headers)) = &self.head else { return Ok(None) };
        let mut head = format!("HTTP/1.1 {status} {}\r\n", phrase(*status));
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match self.framing {
            Framing::Length(length) => head.push_str(&format!("content-length: {length}\r\n\r\n")),
            Framing::Chunked => head.push_str("transfer-encoding: chunked\r\n\r\n"),
        }
        stream.write_all(head.as_bytes())?;
        if bodiless {
            return Ok(Some(Sent::Whole));
        }
        let together;
        let frames: Vec<&[u8]> = match self.pieces {
            Some(bytes) => {
                together = self.frames.concat();
                together.chunks(bytes).collect()
            }
            None => self.frames.iter().map(Vec::as_slice).filter(|frame| !frame.is_empty()).collect(),
        };
        for (at, frame) in frames.into_iter().enumerate() {
            if at > 0 && stopping.wait(self.between) {
                return Ok(Some(Sent::Close));
            }
            match self.framing {
                Framing::Length(_) => stream.write_all(frame)?,
                Framing::Chunked => {
                    let chunk = [format!("{:x}\r\n", frame.len()).as_bytes(), frame, b"\r\n"].concat();
                    stream.write_all(&chunk)?;
                }
            }
        }
        if let (Framing::Chunked, End::Proper) = (self.framing, self.end) {
            stream.write_all(b"0\r\n\r\n")?;
        }
        Ok(None)
    }
}

/// Waits until the client leaves, or the server stops, which closes the socket.
fn stall(mut stream: &TcpStream, stopping: &Stopping) -> Sent {
    let mut ignored = [0; 1024];
    while stream.read(&mut ignored).is_ok_and(|read| read > 0) {}
    if stopping.is_set() { Sent::Close } else { Sent::Left }
}

fn phrase(status: u16) -> &'static str {
    match status {
        200 => "OK",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        413 => "Payload Too Large",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        529 => "Site Overloaded",
        _ => "Status",
    }
}

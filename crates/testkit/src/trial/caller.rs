//! A client that sees every byte.

use super::provider::Provider;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Nothing here takes so long unless it is stuck.
const PATIENCE: Duration = Duration::from_secs(60);
/// How much is read at once.
const READ: usize = 64 << 10;

/// What is sent.
#[derive(Clone, Debug)]
pub struct Letter {
    /// Method and target.
    pub line: String,
    /// Headers beside `host`, `content-length` and `transfer-encoding`.
    pub headers: Vec<(String, String)>,
    /// The bytes of the body.
    pub body: Vec<u8>,
}

/// How it is sent, and for how long somebody waits for the answer.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How many bytes of the body are written at a time.
    pub piece: usize,
    /// How long it waits between two pieces.
    pub pause: Duration,
    /// Whether the length of the body is not said before.
    pub chunked: bool,
    /// When the client leaves.
    pub leave: Leave,
}

/// When a client leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// With the end of the answer.
    Never,
    /// After so many bytes of its own body.
    Sending(usize),
    /// As soon as the provider has the request.
    OnArrival,
    /// With so many bytes of the answer's body.
    Reading(usize),
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// 0 if there was no answer.
    pub status: u16,
    /// The words behind the status.
    pub reason: String,
    /// In order, as they were written.
    pub headers: Vec<(String, String)>,
    /// Without its framing, as far as it came.
    pub body: Vec<u8>,
    /// How it ended.
    pub how: How,
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// As it should.
    Whole,
    /// Before it should.
    Broken,
    /// The client left.
    Left,
    /// Nothing came any more.
    Silent,
}

/// A client with a connection that it uses again where it may.
#[derive(Debug)]
pub struct Caller<'a> {
    address: SocketAddr,
    provider: &'a Provider,
    kept: Option<TcpStream>,
}

impl<'a> Caller<'a> {
    /// Of a server, which is the provider or stands before it.
    pub fn new(address: SocketAddr, provider: &'a Provider) -> Self {
        Self { address, provider, kept: None }
    }

    /// The next request gets a connection of its own.
    pub fn hang_up(&mut self) {
        self.kept = None;
    }

    /// Sends a letter for which something is planned under a number.
    pub fn send(&mut self, letter: &Letter, manner: &Manner, number: u64) -> io::Result<Outcome> {
        let mut stream = match self.kept.take() {
            Some(stream) => stream,
            None => TcpStream::connect(self.address)?,
        };
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        let nothing =
            |how| Outcome { status: 0, reason: String::new(), headers: Vec::new(), body: Vec::new(), how };
        let mut head =
            format!("{} HTTP/1.1\r\nHost: {}\r\n{}: {number}\r\n", letter.line, self.address, super::TRIAL);
        for (name, value) in &letter.headers {
            head += &format!("{name}: {value}\r\n");
        }
        head += &if manner.chunked {
            "Transfer-Encoding: chunked\r\n\r\n".to_owned()
        } else {
            format!("Content-Length: {}\r\n\r\n", letter.body.len())
        };
        // Who answers before the end of a request may close: what it said is read all the same.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| write_body(&mut stream, letter, manner));
        match manner.leave {
            Leave::Sending(_) => return Ok(nothing(How::Left)),
            Leave::OnArrival => {
                let arrived = self.provider.wait_for(number, PATIENCE);
                return Ok(nothing(if arrived { How::Left } else { How::Silent }));
            }
            Leave::Never | Leave::Reading(_) => {}
        }
        let most = if let Leave::Reading(most) = manner.leave { most } else { usize::MAX };
        let mut reading = Reading { stream: &mut stream, buffer: Vec::new(), at: 0 };
        let mut outcome = nothing(How::Broken);
        let framing = match reading.head(&mut outcome) {
            Ok(framing) => framing,
            Err(how) => return Ok(Outcome { how, ..outcome }),
        };
        outcome.how = match framing {
            _ if most == 0 => How::Left,
            Framing::Length(length) => reading.length(length, most, &mut outcome.body),
            Framing::Chunked => reading.chunks(most, &mut outcome.body),
            Framing::ToTheEnd => reading.all(most, &mut outcome.body),
        };
        let says_close = outcome.headers.iter().any(|(name, value)| {
            name.eq_ignore_ascii_case("connection") && value.to_ascii_lowercase().contains("close")
        });
        if outcome.how == How::Whole && !says_close && !matches!(framing, Framing::ToTheEnd) {
            self.kept = Some(stream);
        }
        Ok(outcome)
    }
}

fn write_body(stream: &mut TcpStream, letter: &Letter, manner: &Manner) -> io::Result<()> {
    let body = match manner.leave {
        Leave::Sending(bytes) => &letter.body[..bytes.min(letter.body.len())],
        Leave::Never | Leave::OnArrival | Leave::Reading(_) => &letter.body,
    };
    for (at, piece) in body.chunks(manner.piece.max(1)).enumerate() {
        if at > 0 && !manner.pause.is_zero() {
            std::thread::sleep(manner.pause);
        }
        if manner.chunked {
            stream.write_all(format!("{:x}\r\n", piece.len()).as_bytes())?;
        }
        stream.write_all(piece)?;
        if manner.chunked {
            stream.write_all(b"\r\n")?;
        }
    }
    if manner.chunked && !matches!(manner.leave, Leave::Sending(_)) {
        stream.write_all(b"0\r\n\r\n")?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
    ToTheEnd,
}

struct Reading<'a> {
    stream: &'a mut TcpStream,
    buffer: Vec<u8>,
    /// What of the buffer was taken.
    at: usize,
}

impl Reading<'_> {
    /// Reads more; how it ended, if it did. `Whole` stands for an end that the other side meant.
    fn more(&mut self) -> Result<(), How> {
        if self.at > READ {
            self.buffer.drain(..self.at);
            self.at = 0;
        }
        let before = self.buffer.len();
        self.buffer.resize(before + READ, 0);
        let read = self.stream.read(&mut self.buffer[before..]);
        self.buffer.truncate(before + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(How::Whole),
            Ok(_) => Ok(()),
            Err(error) if [io::ErrorKind::WouldBlock, io::ErrorKind::TimedOut].contains(&error.kind()) => {
                Err(How::Silent)
            }
            Err(_) => Err(How::Broken),
        }
    }

    fn rest(&self) -> &[u8] {
        &self.buffer[self.at..]
    }

    /// Takes everything up to and with `end`.
    fn until(&mut self, end: &[u8]) -> Result<Vec<u8>, How> {
        let mut looked = 0;
        loop {
            let from = looked;
            if let Some(at) = self.rest()[from..].windows(end.len()).position(|window| window == end) {
                let taken = self.rest()[..from + at].to_vec();
                self.at += from + at + end.len();
                return Ok(taken);
            }
            looked = self.rest().len().saturating_sub(end.len() - 1);
            self.more().map_err(early)?;
            // What was taken may have been dropped from the buffer, what is looked at was not.
        }
    }

    fn head(&mut self, outcome: &mut Outcome) -> Result<Framing, How> {
        loop {
            let head = self.until(b"\r\n\r\n")?;
            let head = String::from_utf8_lossy(&head).into_owned();
            let mut lines = head.split("\r\n");
            let mut words = lines.next().unwrap_or_default().splitn(3, ' ');
            let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
            let status = words.next().and_then(|status| status.parse().ok()).filter(|_| is_http);
            let Some(status) = status else { return Err(How::Broken) };
            if (100..200).contains(&status) {
                continue;
            }
            outcome.status = status;
            outcome.reason = words.next().unwrap_or_default().to_owned();
            outcome.headers = lines
                .filter_map(|line| line.split_once(':'))
                .map(|(name, value)| (name.to_owned(), value.trim().to_owned()))
                .collect();
            let of = |name: &str| crate::http::find(&outcome.headers, name);
            return Ok(match (of("transfer-encoding"), of("content-length")) {
                (Some(_), _) => Framing::Chunked,
                (None, Some(length)) => Framing::Length(length.parse().map_err(|_| How::Broken)?),
                (None, None) => Framing::ToTheEnd,
            });
        }
    }

    fn take(&mut self, bytes: usize, into: &mut Vec<u8>) -> usize {
        let taken = bytes.min(self.rest().len());
        into.extend_from_slice(&self.buffer[self.at..self.at + taken]);
        self.at += taken;
        taken
    }

    fn length(&mut self, length: usize, most: usize, body: &mut Vec<u8>) -> How {
        loop {
            self.take(length - body.len(), body);
            if body.len() >= most {
                body.truncate(most);
                return How::Left;
            }
            if body.len() == length {
                return How::Whole;
            }
            if let Err(how) = self.more() {
                return early(how);
            }
        }
    }

    fn chunks(&mut self, most: usize, body: &mut Vec<u8>) -> How {
        loop {
            let line = match self.until(b"\r\n") {
                Ok(line) => line,
                Err(how) => return how,
            };
            let size =
                std::str::from_utf8(&line).ok().and_then(|line| usize::from_str_radix(line.trim(), 16).ok());
            let Some(mut size) = size else { return How::Broken };
            if size == 0 {
                return if self.until(b"\r\n").is_ok() { How::Whole } else { How::Broken };
            }
            while size > 0 {
                size -= self.take(size, body);
                if body.len() >= most {
                    body.truncate(most);
                    return How::Left;
                }
                if size > 0
                    && let Err(how) = self.more()
                {
                    return early(how);
                }
            }
            match self.until(b"\r\n") {
                Ok(nothing) if nothing.is_empty() => {}
                Ok(_) => return How::Broken,
                Err(how) => return how,
            }
        }
    }

    fn all(&mut self, most: usize, body: &mut Vec<u8>) -> How {
        loop {
            self.take(usize::MAX, body);
            if body.len() >= most {
                body.truncate(most);
                return How::Left;
            }
            if let Err(how) = self.more() {
                return how;
            }
        }
    }
}

/// An end where more should have come.
fn early(how: How) -> How {
    match how {
        How::Whole | How::Broken => How::Broken,
        How::Left => How::Left,
        How::Silent => How::Silent,
    }
}

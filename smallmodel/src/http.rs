//! As much HTTP/1.1 as a server on the loopback needs: one request a connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;

const HEAD_LIMIT: u64 = 1 << 16;
const BODY_LIMIT: usize = 64 << 20;

/// A request.
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// Without the query.
    pub(crate) path: String,
    pub(crate) body: Vec<u8>,
}

impl Incoming {
    /// Reads the one request of a connection. `None` if the client left without a word.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let mut reader = BufReader::new(stream);
        let mut head = (&mut reader).take(HEAD_LIMIT);
        let mut line = String::new();
        if head.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let mut words = line.split_whitespace();
        let (Some(method), Some(target)) = (words.next(), words.next()) else {
            return Err(bad("the first line is no request"));
        };
        let path = target.split('?').next().unwrap_or_default();
        let mut incoming = Self { method: method.to_owned(), path: path.to_owned(), body: Vec::new() };
        let mut length = 0;
        loop {
            let mut line = String::new();
            if head.read_line(&mut line)? == 0 {
                return Err(bad("the head of the request has no end"));
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no colon"))?;
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse().map_err(|_| bad("content-length is no number"))?;
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(bad("this server takes bodies with a content-length only"));
            }
        }
        if length > BODY_LIMIT {
            return Err(bad("the body is larger than this server reads"));
        }
        incoming.body.resize(length, 0);
        reader.read_exact(&mut incoming.body)?;
        Ok(Some(incoming))
    }
}

/// Answers with JSON.
pub(crate) fn answer(mut stream: &TcpStream, status: u16, body: &serde_json::Value) -> io::Result<()> {
    let reason = match status {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        _ => "Internal Server Error",
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())
}

/// Begins an answer that comes piece by piece; it ends with the connection.
pub(crate) fn begin_events(mut stream: &TcpStream) -> io::Result<()> {
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\nconnection: close\r\n\r\n",
    )
}

/// One piece.
pub(crate) fn event(mut stream: &TcpStream, data: &str) -> io::Result<()> {
    stream.write_all(format!("data: {data}\n\n").as_bytes())
}

/// Whether the client has closed its side.
pub(crate) fn has_left(stream: &TcpStream) -> bool {
    let look = || -> io::Result<bool> {
        stream.set_nonblocking(true)?;
        let seen = stream.peek(&mut [0]);
        stream.set_nonblocking(false)?;
        match seen {
            Ok(bytes) => Ok(bytes == 0),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    };
    look().unwrap_or(true)
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

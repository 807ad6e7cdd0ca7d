//! HTTP/1.1 as a server reads it.
//!
//! Nothing is buffered beyond what is taken, and the last byte of a body is looked at but left in the socket until
//! [`Incoming::take_rest`]: a socket that is closed with unread bytes is reset, which is how a reset is played.

use std::io::{self, Read, Write};
use std::net::TcpStream;

const HEAD_LIMIT: usize = 1 << 20;
const BODY_LIMIT: usize = 512 << 20;

/// One request, read to its last byte but one.
pub(crate) struct Incoming {
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    pub(crate) keep_alive: bool,
    rest: Rest,
}

/// What is left in the socket.
enum Rest {
    Nothing,
    Byte,
    Trailers,
}

impl Incoming {
    /// Waits for the next request. `None` if the client has left.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let head = read_until(stream, b"\r\n\r\n", HEAD_LIMIT)?;
        if head.is_empty() {
            return Ok(None);
        }
        let head = String::from_utf8(head).map_err(|_| bad("the head of the request is not UTF-8"))?;
        let mut lines = head.split("\r\n");
        let mut words = lines.next().unwrap_or("").split(' ');
        let (Some(method), Some(target), Some(version)) = (words.next(), words.next(), words.next()) else {
            return Err(bad("the first line of the request is not `METHOD TARGET VERSION`"));
        };
        let mut headers = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a header has no colon"))?;
            headers.push((name.to_owned(), value.trim().to_owned()));
        }
        let mut incoming = Self {
            method: method.to_owned(),
            target: target.to_owned(),
            keep_alive: keeps_alive(version, &headers),
            headers,
            body: Vec::new(),
            rest: Rest::Nothing,
        };
        incoming.read_body(stream)?;
        Ok(Some(incoming))
    }

    fn read_body(&mut self, stream: &TcpStream) -> io::Result<()> {
        if find(&self.headers, "expect").is_some_and(|value| value.eq_ignore_ascii_case("100-continue")) {
            let mut stream = stream;
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        }
        if find(&self.headers, "transfer-encoding").is_some_and(|value| value.contains("chunked")) {
            self.read_chunks(stream)?;
            self.rest = Rest::Trailers;
            return Ok(());
        }
        let Some(length) = find(&self.headers, "content-length") else { return Ok(()) };
        let length: usize = length.parse().map_err(|_| bad("content-length is not a number"))?;
        let Some(all_but_one) = length.checked_sub(1) else { return Ok(()) };
        read_exactly(stream, all_but_one, &mut self.body)?;
        let mut last = [0];
        if stream.peek(&mut last)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.body.extend(last);
        self.rest = Rest::Byte;
        Ok(())
    }

    fn read_chunks(&mut self, stream: &TcpStream) -> io::Result<()> {
        loop {
            let line = read_until(stream, b"\r\n", HEAD_LIMIT)?;
            let line = String::from_utf8_lossy(&line);
            let digits = line.trim().split(';').next().unwrap_or("");
            let length = usize::from_str_radix(digits, 16).map_err(|_| bad("a chunk has no length"))?;
            if length == 0 {
                return Ok(());
            }
            read_exactly(stream, length, &mut self.body)?;
            read_until(stream, b"\r\n", 2)?;
        }
    }

    /// Takes what [`read`](Self::read) left in the socket.
    pub(crate) fn take_rest(&mut self, mut stream: &TcpStream) -> io::Result<()> {
        match std::mem::replace(&mut self.rest, Rest::Nothing) {
            Rest::Nothing => Ok(()),
            Rest::Byte => stream.read_exact(&mut [0]),
            Rest::Trailers => {
                while read_until(stream, b"\r\n", HEAD_LIMIT)?.len() > 2 {}
                Ok(())
            }
        }
    }
}

/// A header by its name, in any case.
pub(crate) fn find<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
}

fn keeps_alive(version: &str, headers: &[(String, String)]) -> bool {
    match find(headers, "connection").map(str::to_ascii_lowercase) {
        Some(value) if value.contains("close") => false,
        Some(value) if value.contains("keep-alive") => true,
        Some(_) | None => version != "HTTP/1.0",
    }
}

/// Reads up to and with `end`, and not a byte more. Empty if the client left before the first byte.
fn read_until(mut stream: &TcpStream, end: &[u8], limit: usize) -> io::Result<Vec<u8>> {
    let mut taken = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let seen = stream.peek(&mut buffer)?;
        if seen == 0 && taken.is_empty() {
            return Ok(taken);
        } else if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let before = taken.len();
        taken.extend_from_slice(&buffer[..seen]);
        let found = end_of(&taken, before, end);
        if let Some(at) = found {
            taken.truncate(at);
        }
        stream.read_exact(&mut buffer[..taken.len() - before])?;
        if found.is_some() {
            return Ok(taken);
        }
        if taken.len() > limit {
            return Err(bad("the request is larger than this server reads"));
        }
    }
}

/// Where the first `end` ends that is not wholly in the first `before` bytes: it may have begun there.
fn end_of(taken: &[u8], before: usize, end: &[u8]) -> Option<usize> {
    let from = before.saturating_sub(end.len() - 1);
    let at = taken[from..].windows(end.len()).position(|window| window == end)?;
    Some(from + at + end.len())
}

fn read_exactly(stream: &TcpStream, length: usize, into: &mut Vec<u8>) -> io::Result<()> {
    if into.len().saturating_add(length) > BODY_LIMIT {
        return Err(bad("the request is larger than this server reads"));
    }
    match stream.take(length as u64).read_to_end(into)? {
        read if read == length => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn bad(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_found_wherever_the_pieces_are_cut() {
        let text = b"POST / HTTP/1.1\r\nx: y\r\n\r\n{}";
        let end = text.len() - 2;
        for before in 0..end {
            assert_eq!(end_of(text, before, b"\r\n\r\n"), Some(end), "{before}");
        }
        assert_eq!(end_of(text, end, b"\r\n\r\n"), None);
        assert_eq!(end_of(b"\r\n\r", 0, b"\r\n\r\n"), None);
    }
}

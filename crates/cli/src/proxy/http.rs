//! Asking a server of ours: plain HTTP on this machine, one request a connection.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// The most that is read of an answer.
const MOST: u64 = 32 << 20;

/// A request.
pub(crate) struct Ask<'a> {
    pub(crate) method: &'a str,
    pub(crate) path: &'a str,
    pub(crate) headers: &'a [(&'a str, String)],
    pub(crate) body: Option<String>,
    /// How long it may take until the next byte arrives.
    pub(crate) patience: Duration,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) body: String,
    /// In how many pieces it came.
    pub(crate) pieces: usize,
}

impl Ask<'_> {
    /// Asks, and waits for the whole answer.
    pub(crate) fn of(&self, server: SocketAddr) -> io::Result<Reply> {
        let mut stream = TcpStream::connect_timeout(&server, self.patience)?;
        stream.set_read_timeout(Some(self.patience))?;
        stream.set_write_timeout(Some(self.patience))?;
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n", self.method, self.path);
        for (name, value) in self.headers {
            head += &format!("{name}: {value}\r\n");
        }
        let body = self.body.as_deref().unwrap_or_default();
        if self.body.is_some() {
            head += &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len());
        }
        stream.write_all(format!("{head}\r\n{body}").as_bytes())?;
        read(BufReader::new(stream.take(MOST)))
    }
}

fn read(mut stream: impl BufRead) -> io::Result<Reply> {
    let broken = || io::Error::new(io::ErrorKind::InvalidData, "the answer is not HTTP");
    let first = line(&mut stream)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok()).ok_or_else(broken)?;
    let mut is_chunked = false;
    loop {
        let header = line(&mut stream)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(broken)?;
        is_chunked |= name.eq_ignore_ascii_case("transfer-encoding") && value.contains("chunked");
    }
    let mut bytes = Vec::new();
    let mut pieces = 0;
    if is_chunked {
        loop {
            let size = line(&mut stream)?;
            let size = size.split(';').next().unwrap_or_default();
            let size = u64::from_str_radix(size.trim(), 16).map_err(|_| broken())?;
            if size == 0 {
                break;
            }
            let read = stream.by_ref().take(size).read_to_end(&mut bytes)?;
            if (read as u64) < size {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            line(&mut stream)?;
            pieces += 1;
        }
    } else {
        stream.read_to_end(&mut bytes)?;
        pieces = usize::from(!bytes.is_empty());
    }
    Ok(Reply { status, body: String::from_utf8_lossy(&bytes).into_owned(), pieces })
}

fn line(stream: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_whole_or_in_pieces() {
        let whole = read(&b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"[..]).unwrap();
        assert_eq!((whole.status, whole.body.as_str(), whole.pieces), (200, "ok", 1));
        let chunked =
            &b"HTTP/1.1 529 X\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n"[..];
        let chunked = read(chunked).unwrap();
        assert_eq!((chunked.status, chunked.body.as_str(), chunked.pieces), (529, "abc", 2));
    }

    #[test]
    fn what_breaks_off_is_an_error() {
        for broken in [
            &b""[..],
            b"HTTP/1.1 200 OK\r\nA: b",
            b"nonsense\r\n\r\n",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        ] {
            assert!(read(broken).is_err(), "{}", String::from_utf8_lossy(broken));
        }
    }
}

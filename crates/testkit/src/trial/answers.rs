//! What a model says, as bytes, to be spoilt.

use crate::{Answer, Server};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use throughline_core::Wire;

/// Bodies of answers on each wire, streamed and not.
#[derive(Clone, Debug)]
pub struct Answers {
    streamed: [Vec<Vec<u8>>; 3],
    whole: [Vec<Vec<u8>>; 3],
}

impl Answers {
    /// Has a model server say them.
    pub fn record() -> io::Result<Self> {
        let words = "The tests pass now. I changed two files and left the lockfile as it was. ";
        let said = [
            Answer::text(words),
            Answer::text(words.repeat(20)).thinking("What would the user want?").deltas(9),
            Answer::text("I look.").call("Read", json!({"file_path": "src/lib.rs"})).deltas(5),
        ];
        let mut answers = Self { streamed: Default::default(), whole: Default::default() };
        for answer in said {
            let server = Server::start(answer)?;
            for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
                answers.streamed[place(wire)].push(ask(&server, wire, true)?);
                answers.whole[place(wire)].push(ask(&server, wire, false)?);
            }
        }
        Ok(answers)
    }

    /// The bodies of one wire.
    pub fn of(&self, wire: Wire, streamed: bool) -> &[Vec<u8>] {
        if streamed { &self.streamed[place(wire)] } else { &self.whole[place(wire)] }
    }
}

fn place(wire: Wire) -> usize {
    match wire {
        Wire::Anthropic => 0,
        Wire::Responses => 1,
        Wire::Chat => 2,
    }
}

fn ask(server: &Server, wire: Wire, stream: bool) -> io::Result<Vec<u8>> {
    let (path, key) = match wire {
        Wire::Anthropic => ("/v1/messages", "messages"),
        Wire::Responses => ("/v1/responses", "input"),
        Wire::Chat => ("/v1/chat/completions", "messages"),
    };
    let body =
        json!({"model": "m", "stream": stream, key: [{"role": "user", "content": "hello"}]}).to_string();
    let mut connection = TcpStream::connect(server.address())?;
    // HTTP/1.0 would not be framed, but this server always frames: what is chunked is put together again.
    write!(
        connection,
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut bytes = Vec::new();
    connection.read_to_end(&mut bytes)?;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let rest = bytes.get(end + 4..).unwrap_or_default();
    Ok(if head.contains("transfer-encoding: chunked") { unchunked(rest) } else { rest.to_vec() })
}

fn unchunked(mut rest: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        let size =
            std::str::from_utf8(&rest[..end]).ok().and_then(|size| usize::from_str_radix(size, 16).ok());
        let Some(chunk) = size.filter(|size| *size > 0).and_then(|size| rest.get(end + 2..end + 2 + size))
        else {
            break;
        };
        body.extend_from_slice(chunk);
        rest = rest.get(end + 4 + chunk.len()..).unwrap_or_default();
    }
    body
}

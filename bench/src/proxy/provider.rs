//! A provider that costs next to nothing: each request gets the same stream of some twenty events.

use anyhow::Context;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Events of an answer.
const EVENTS: usize = 20;

/// Listens until the process is stopped.
pub(crate) fn serve() -> anyhow::Result<()> {
    super::raise_limit()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
        println!("{}", listener.local_addr()?);
        let pieces: &'static [Vec<u8>] = Vec::leak(pieces());
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            stream.set_nodelay(true)?;
            tokio::spawn(async move {
                // A client that leaves is nobody's fault.
                let _ = answer(stream, pieces).await;
            });
        }
    })
}

async fn answer(mut stream: TcpStream, pieces: &[Vec<u8>]) -> anyhow::Result<()> {
    let mut buffer = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
        let length = head.lines().find_map(|line| line.strip_prefix("content-length:"));
        let length: usize = length.map(|length| length.trim().parse()).transpose()?.unwrap_or(0);
        while buffer.len() < end + length {
            anyhow::ensure!(stream.read_buf(&mut buffer).await? > 0, "it left");
        }
        buffer.drain(..end + length);
        for piece in pieces {
            stream.write_all(piece).await.context("it left")?;
        }
    }
}

/// The answer as it is written: a head, then an event at a time.
fn pieces() -> Vec<Vec<u8>> {
    let event = |text: String| {
        let event = format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\",\"choices\":[{text}]}}\n\n"
        );
        format!("{:x}\r\n{event}\r\n", event.len()).into_bytes()
    };
    let mut pieces = vec![
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\ntransfer-encoding: chunked\r\n\r\n"
            .to_vec(),
    ];
    pieces.extend((0..EVENTS - 2).map(|at| {
        event(format!(
            "{{\"index\":0,\"delta\":{{\"role\":\"assistant\",\"content\":\"word {at} \"}},\"finish_reason\":null}}"
        ))
    }));
    pieces.push(event("{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}".to_owned()));
    pieces.push(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n".to_vec());
    pieces
}

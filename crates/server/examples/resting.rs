//! How much memory does a conversation take that rests? Opens many, lets them rest, and prints by how much the process grew.
//!
//! `cargo run -p throughline-server --example resting [conversations] [rounds]`

use std::error::Error;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;
use throughline_ledger::Home;
use throughline_server::{Server, Settings, Upstream, Upstreams};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).filter_map(|argument| argument.parse().ok());
    let (conversations, rounds) = (arguments.next().unwrap_or(1_000), arguments.next().unwrap_or(3));
    let provider = provider()?;
    let folder = tempfile::tempdir()?;
    let base = format!("http://{provider}");
    let upstreams =
        Upstreams { anthropic: Upstream::anthropic(&base)?, openai: Upstream::openai(&base)?, chatgpt: None };
    let mut settings = Settings::new(Home::new(folder.path()), upstreams);
    settings.limits.rest = Duration::from_millis(100);
    let proxy = Server::start(settings).await?;
    // Whatever is made once is made now.
    talk(proxy.address(), "warm-up".to_owned(), rounds).await?;
    rest(&proxy, 1).await;
    let before = resident()?;
    for number in 0..conversations {
        talk(proxy.address(), format!("conversation-{number}"), rounds).await?;
    }
    rest(&proxy, conversations + 1).await;
    let after = resident()?;
    let each = after.saturating_sub(before) as f64 / conversations as f64;
    println!(
        "{conversations} conversations of {rounds} rounds (20 KB each) at rest: {before} KB before, {after} KB after, {each:.1} KB each"
    );
    proxy.stop().await;
    Ok(())
}

/// A provider that says the same to everybody and remembers nothing.
fn provider() -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A connection that breaks is the proxy's affair.
            let _ = stream.and_then(|stream| answer(&stream));
        }
    });
    Ok(address)
}

fn answer(mut stream: &TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    std::io::copy(&mut reader.take(length), &mut std::io::sink())?;
    let body = serde_json::json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
        "content": [{"type": "text", "text": "Good day."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": 9, "output_tokens": 3}})
    .to_string();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

/// Some rounds of a conversation, each with a long result.
async fn talk(proxy: SocketAddr, name: String, rounds: usize) -> Result<(), Box<dyn Error>> {
    tokio::task::spawn_blocking(move || {
        let mut messages = Vec::new();
        for round in 0..rounds {
            let text = format!("{name}, round {round}: {}", "some words of a tool ".repeat(1_000));
            messages.push(serde_json::json!({"role": "user", "content": text}));
            let body = serde_json::json!({"model": "m", "max_tokens": 9, "messages": messages}).to_string();
            let mut stream = TcpStream::connect(proxy)?;
            write!(stream, "POST /v1/messages HTTP/1.1\r\nhost: {proxy}\r\nconnection: close\r\n")?;
            write!(stream, "x-throughline-session: {name}\r\ncontent-length: {}\r\n\r\n{body}", body.len())?;
            stream.read_to_end(&mut Vec::new())?;
            messages.push(serde_json::json!({"role": "assistant", "content": "Good day."}));
        }
        Ok::<_, std::io::Error>(())
    })
    .await??;
    Ok(())
}

async fn rest(proxy: &throughline_server::Running, all: usize) {
    let is_over = || {
        let sessions = proxy.snapshot().unwrap_or_default().sessions;
        sessions.len() == all && sessions.iter().all(|session| !session.awake)
    };
    while !is_over() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// KB of memory that the process has.
fn resident() -> Result<u64, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS")?;
    Ok(line.trim().trim_end_matches(" kB").trim().parse()?)
}

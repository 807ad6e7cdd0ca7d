//! The load generator: so many streams at once, each on a connection of its own that is kept.

use anyhow::{Context, bail};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Turns after which a conversation begins anew under another name.
const TURNS: usize = 8;

/// Nobody waits longer for an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is asked of a server.
#[derive(Clone, Copy)]
pub(super) struct Job {
    pub(super) address: SocketAddr,
    pub(super) at_once: usize,
    pub(super) time: Duration,
    /// Bytes of history with which each conversation begins.
    pub(super) history: usize,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Taken {
    pub(super) requests: u64,
    pub(super) failed: u64,
    pub(super) seconds: f64,
    /// Milliseconds to the first byte of the answer.
    pub(super) first_median: f64,
    pub(super) first_p99: f64,
}

impl Taken {
    pub(super) fn per_second(&self) -> f64 {
        self.requests as f64 / self.seconds.max(1e-9)
    }
}

/// Runs a job in a process of its own.
pub(super) fn in_a_process(job: &Job) -> anyhow::Result<Taken> {
    let arguments = [
        job.address.to_string(),
        job.at_once.to_string(),
        job.time.as_millis().to_string(),
        job.history.to_string(),
    ];
    let output =
        Command::new(std::env::current_exe()?).args(["--child", "proxy-load"]).args(&arguments).output()?;
    if !output.status.success() {
        bail!("the load generator failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    let said: Value = serde_json::from_slice(&output.stdout).context("the load generator said nothing")?;
    let number = |key: &str| said[key].as_f64().unwrap_or_default();
    Ok(Taken {
        requests: number("requests") as u64,
        failed: number("failed") as u64,
        seconds: number("seconds"),
        first_median: number("first_median"),
        first_p99: number("first_p99"),
    })
}

/// Does a job, and prints what came of it.
pub(crate) fn generate(address: &str, at_once: &str, millis: &str, history: &str) -> anyhow::Result<()> {
    super::raise_limit()?;
    let address: SocketAddr = address.parse()?;
    let (at_once, history): (usize, usize) = (at_once.parse()?, history.parse()?);
    let time = Duration::from_millis(millis.parse()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let (mut firsts, failed, seconds) = runtime.block_on(async {
        let start = Instant::now();
        let until = start + time;
        let streams: Vec<_> = (0..at_once)
            .map(|number| tokio::spawn(async move { stream(address, number, history, until).await }))
            .collect();
        let mut firsts = Vec::new();
        let mut failed = 0;
        for stream in streams {
            let (taken, lost) = stream.await.unwrap_or((Vec::new(), 1));
            firsts.extend(taken);
            failed += lost;
        }
        (firsts, failed, start.elapsed().as_secs_f64())
    });
    firsts.sort();
    let at = |share: f64| {
        let place = (firsts.len() as f64 * share) as usize;
        firsts
            .get(place.min(firsts.len().saturating_sub(1)))
            .map_or(0.0, |time: &Duration| time.as_secs_f64() * 1e3)
    };
    println!(
        "{}",
        json!({
            "requests": firsts.len(), "failed": failed, "seconds": seconds,
            "first_median": at(0.5), "first_p99": at(0.99),
        })
    );
    Ok(())
}

/// One stream after the other, until the time is over. The time to each first byte, and how many failed.
async fn stream(address: SocketAddr, number: usize, history: usize, until: Instant) -> (Vec<Duration>, u64) {
    let mut firsts = Vec::new();
    let mut failed = 0;
    let mut connection = None;
    let mut talk = Talk::new(number, history);
    while Instant::now() < until {
        let open = match connection.take() {
            Some(open) => open,
            None => match TcpStream::connect(address).await {
                Ok(open) => {
                    let _ = open.set_nodelay(true);
                    open
                }
                Err(_) => {
                    failed += 1;
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                }
            },
        };
        match tokio::time::timeout(PATIENCE, ask(open, address, &talk)).await {
            Ok(Ok((open, first))) => {
                connection = Some(open);
                firsts.push(first);
                talk.go_on();
            }
            Ok(Err(_)) | Err(_) => failed += 1,
        }
    }
    (firsts, failed)
}

async fn ask(
    mut stream: TcpStream,
    address: SocketAddr,
    talk: &Talk,
) -> anyhow::Result<(TcpStream, Duration)> {
    let request = talk.request(address);
    let start = Instant::now();
    stream.write_all(&request).await?;
    let mut buffer = Vec::with_capacity(8192);
    anyhow::ensure!(stream.read_buf(&mut buffer).await? > 0, "it left");
    let first = start.elapsed();
    anyhow::ensure!(buffer.starts_with(b"HTTP/1.1 200"), "refused");
    while !buffer.ends_with(b"\r\n0\r\n\r\n") {
        anyhow::ensure!(stream.read_buf(&mut buffer).await? > 0, "it left");
    }
    anyhow::ensure!(buffer.windows(6).any(|six| six == b"[DONE]"), "the answer has no end");
    Ok((stream, first))
}

/// A conversation of one stream.
struct Talk {
    number: usize,
    /// How many there were before it.
    generation: usize,
    history: usize,
    turn: usize,
    messages: String,
}

impl Talk {
    fn new(number: usize, history: usize) -> Self {
        let mut talk = Self { number, generation: 0, history, turn: 0, messages: String::new() };
        talk.begin();
        talk
    }

    fn begin(&mut self) {
        self.turn = 0;
        self.messages.clear();
        let mut at = 0;
        while self.messages.len() < self.history {
            let long =
                format!("step {at} of stream {}: what was read and what it means; ", self.number).repeat(30);
            self.messages +=
                &json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": long}).to_string();
            self.messages.push(',');
            at += 1;
        }
        if at % 2 == 1 {
            self.messages += "{\"role\":\"assistant\",\"content\":\"Go on.\"},";
        }
        self.messages += &format!(
            "{{\"role\":\"user\",\"content\":\"Stream {}, talk {}: what is next?\"}}",
            self.number, self.generation
        );
    }

    /// The answer came, and there is one more question.
    fn go_on(&mut self) {
        self.turn += 1;
        if self.turn == TURNS {
            self.generation += 1;
            self.begin();
            return;
        }
        self.messages += &format!(
            ",{{\"role\":\"assistant\",\"content\":\"word 0 word 1 and so on\"}},{{\"role\":\"user\",\"content\":\"Question {}?\"}}",
            self.turn
        );
    }

    fn request(&self, address: SocketAddr) -> Vec<u8> {
        let body = format!("{{\"model\":\"bench\",\"stream\":true,\"messages\":[{}]}}", self.messages);
        format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {address}\r\nuser-agent: bench/1.0\r\nauthorization: Bearer sk-bench\r\n\
             x-throughline-session: {}-{}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            self.number,
            self.generation,
            body.len()
        )
        .into_bytes()
    }
}

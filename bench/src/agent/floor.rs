//! What no client can save: the same bodies over a bare socket, the same commands by the same shell.

use super::script::{Stage, command};
use anyhow::{Context, ensure};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub(super) fn take(stage: &Stage, bodies: &[Vec<u8>], steps: usize) -> anyhow::Result<Duration> {
    let start = Instant::now();
    for (at, body) in bodies.iter().enumerate() {
        post(stage.address(), body)?;
        if at < steps {
            let mut shell = Command::new("bash");
            let output = shell.args(["-c", &command(at + 1)]).stdin(Stdio::null()).output()?;
            ensure!(output.status.success(), "bash: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    Ok(start.elapsed())
}

fn post(to: SocketAddr, body: &[u8]) -> anyhow::Result<()> {
    let mut stream = TcpStream::connect(to).context("the server is gone")?;
    stream.set_nodelay(true)?;
    let head = "POST /v1/responses HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json";
    write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n", body.len())?;
    stream.write_all(body)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    ensure!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    Ok(())
}

//! Commands run to their end, bounded in time and output, with everything they start.

use crate::Argv;
use crate::watch::{Interrupt, Watch};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, Command};

/// How long the pipes of a command that has ended are waited for: something it left behind may hold them open.
const GRACE: Duration = Duration::from_secs(1);
/// How much of what a command complains about is kept: its end.
const COMPLAINT: usize = 4 << 10;

/// What to run.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    pub(crate) argv: &'a Argv,
    /// Added to the environment of this process.
    pub(crate) env: &'a BTreeMap<String, String>,
    pub(crate) stdin: Bytes,
    /// The most bytes of output.
    pub(crate) limit: usize,
}

/// A command that has ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    /// The last lines of it.
    pub(crate) stderr: String,
}

/// Why a command did not come to its end.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// It could not be started, or its pipes broke.
    Io(io::Error),
    /// Stopped from outside.
    Interrupt(Interrupt),
    /// Too much output.
    TooLarge,
}

/// Runs a command. Whatever ends this early, a dropped future included, kills its whole process group.
pub(crate) async fn run(job: Job<'_>, watch: &Watch) -> Result<Done, Trouble> {
    let mut command = Command::new(job.argv.program());
    command.args(job.argv.arguments()).envs(job.env);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(Trouble::Io)?;
    let mut group = Group::of(&child);

    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut output = Vec::new();
    let mut complaint = Vec::new();
    let mut overflowed = false;
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input closes it: not our business.
                let _ = stdin.write_all(&job.stdin).await;
                let _ = stdin.shutdown().await;
            }
        };
        let pipes = async {
            tokio::join!(
                write,
                async { overflowed = read_up_to(stdout, job.limit, &mut output).await },
                read_tail(stderr, &mut complaint),
            );
        };
        tokio::pin!(pipes);
        tokio::select! {
            () = &mut pipes => child.wait().await.map(|status| (status, true)),
            status = child.wait() => {
                let closed = tokio::time::timeout(GRACE, &mut pipes).await.is_ok();
                status.map(|status| (status, closed))
            }
        }
    };
    let (status, closed) = watch.step(None, work).await.map_err(Trouble::Interrupt)?.map_err(Trouble::Io)?;
    if closed {
        // Nobody is left who could be killed, and the id may belong to somebody else soon.
        group.release();
    }
    if overflowed {
        return Err(Trouble::TooLarge);
    }
    Ok(Done { status, stdout: output, stderr: last_lines(&complaint) })
}

/// Reads to the end, or closes the pipe at the limit; tells which.
async fn read_up_to(pipe: Option<impl AsyncRead + Unpin>, limit: usize, into: &mut Vec<u8>) -> bool {
    let Some(pipe) = pipe else { return false };
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    let _ = pipe.take(most).read_to_end(into).await;
    into.len() > limit
}

/// Reads to the end and keeps the last bytes.
async fn read_tail(pipe: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let mut chunk = [0; 1024];
    while let Ok(count @ 1..) = pipe.read(&mut chunk).await {
        into.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = into.len().saturating_sub(COMPLAINT);
        into.drain(..excess);
    }
}

fn last_lines(bytes: &[u8]) -> String {
    const LINES: usize = 5;
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
}

/// The process group of a command; killed when dropped, unless released.
#[derive(Debug)]
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    fn release(&mut self) {
        self.leader = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            // It may have ended by itself.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }
}

/// Without process groups only the command itself is killed, by `kill_on_drop`.
#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self {}
    }

    fn release(&mut self) {}
}

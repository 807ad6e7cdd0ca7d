//! Commands run to their end, bounded in time and output, with everything they start.

pub use crate::watch::{Interrupt, Watch};
use crate::{Argv, ProgramSearch};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
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
pub struct Job<'a> {
    /// The command. No shell is involved. Its program is searched by [`ProgramSearch`].
    pub argv: &'a Argv,
    /// Its variables.
    pub env: Env<'a>,
    /// Where it runs; unset: where this process runs.
    pub cwd: Option<&'a Path>,
    /// What it reads.
    pub stdin: Bytes,
    /// The most bytes of output that are kept.
    pub limit: usize,
    /// What happens at the limit.
    pub overflow: Overflow,
}

/// The variables that a command gets.
#[derive(Clone, Copy, Debug)]
pub enum Env<'a> {
    /// Those of this process, and these.
    Also(&'a BTreeMap<String, String>),
    /// These and no others.
    Only(&'a BTreeMap<String, String>),
}

/// What happens to a command that prints more than it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Its output is closed, and the run is [`Trouble::TooLarge`].
    Fail,
    /// It runs on; what is too much is read and dropped, so that its exit status still counts.
    Cut,
}

/// A command that has ended.
#[derive(Debug)]
pub struct Done {
    /// How it ended.
    pub status: ExitStatus,
    /// What it printed, up to the limit.
    pub stdout: Vec<u8>,
    /// Whether it printed more ([`Overflow::Cut`]).
    pub is_cut: bool,
    /// What it complained about: the end of it, at most 4 KB.
    pub stderr: String,
}

impl Done {
    /// The last lines of the complaint, for a message.
    pub fn last_lines(&self) -> String {
        const LINES: usize = 5;
        let lines: Vec<&str> =
            self.stderr.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("\n")
    }
}

/// Why a command did not come to its end.
#[derive(Debug)]
pub enum Trouble {
    /// It could not be started, or its pipes broke.
    Io(io::Error),
    /// Stopped from outside.
    Interrupt(Interrupt),
    /// Too much output ([`Overflow::Fail`]).
    TooLarge,
}

/// Runs a command. Whatever ends this early, a dropped future included, kills its whole process group.
pub async fn run(job: Job<'_>, watch: &Watch) -> Result<Done, Trouble> {
    let (Env::Also(variables) | Env::Only(variables)) = job.env;
    let search = ProgramSearch::from_process(job.cwd, variables.get("PATH").map(OsStr::new));
    let mut command = Command::new(search.find(job.argv.program()).map_err(Trouble::Io)?);
    command.args(job.argv.arguments());
    match job.env {
        Env::Also(_) => {}
        Env::Only(_) => drop(command.env_clear()),
    }
    command.envs(variables).env("PATH", search.path());
    if let Some(cwd) = job.cwd {
        command.current_dir(cwd);
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(Trouble::Io)?;
    let mut group = Group::of(&child);

    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut output = Vec::new();
    let mut complaint = Vec::new();
    let work = async {
        let write = async {
            if let Some(mut stdin) = stdin {
                // A command that does not read its input closes it: not our business.
                let _ = stdin.write_all(&job.stdin).await;
                let _ = stdin.shutdown().await;
            }
        };
        let pipes = async {
            tokio::join!(write, read_up_to(stdout, &job, &mut output), read_tail(stderr, &mut complaint));
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
    let is_cut = output.len() > job.limit;
    if is_cut && job.overflow == Overflow::Fail {
        return Err(Trouble::TooLarge);
    }
    output.truncate(job.limit);
    Ok(Done { status, stdout: output, is_cut, stderr: String::from_utf8_lossy(&complaint).into_owned() })
}

/// Reads to the end, or to one byte more than the limit; what comes after is dropped, or the pipe is closed.
async fn read_up_to(pipe: Option<impl AsyncRead + Unpin>, job: &Job<'_>, into: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let most = u64::try_from(job.limit).unwrap_or(u64::MAX).saturating_add(1);
    let _ = (&mut pipe).take(most).read_to_end(into).await;
    match job.overflow {
        Overflow::Fail => {}
        Overflow::Cut => drop(tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await),
    }
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

//! A server as a child process: a message is a line.

use super::Transport;
use super::launch::Command;
use crate::mcp::clean;
use crate::mcp::inbox::{Inbox, lock};
use crate::mcp::limits::{ENDING, GARBAGE_BYTES, MESSAGE_BYTES, QUEUE, STDERR_BYTES};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use throughline_model::{BoxFuture, CancelToken, ProgramSearch};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// How long the last words of a server that has ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(super) struct Process {
    lines: mpsc::Sender<Vec<u8>>,
    inbox: Arc<Inbox>,
    stop: CancelToken,
    /// Set when nothing of it runs any more.
    gone: CancelToken,
}

impl Process {
    /// Starts the command as the leader of a process group of its own.
    pub(super) fn start(command: &Command, inbox: Arc<Inbox>) -> Result<Self, String> {
        let refused = |error: std::io::Error| {
            let program = clean::line(&command.program, 200);
            format!("`{program}` can't be started: {error}; is it installed and in PATH?")
        };
        let search = ProgramSearch::from_process(Some(&command.cwd), command.env.get("PATH").map(OsStr::new));
        // The user approved this definition: a path in it is meant, and relative to its folder.
        let program = match Path::new(&command.program) {
            path if path.components().count() > 1 => command.cwd.join(path),
            name => search.find(name).map_err(refused)?,
        };
        let mut spawn = tokio::process::Command::new(program);
        spawn.args(&command.args).env_clear().envs(&command.env).current_dir(&command.cwd);
        spawn.env("PATH", search.path());
        spawn.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        #[cfg(unix)]
        spawn.process_group(0);
        let mut child = spawn.spawn().map_err(refused)?;
        let (stdin, stdout, stderr) = match (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            (Some(stdin), Some(stdout), Some(stderr)) => (stdin, stdout, stderr),
            (_, _, _) => return Err("its pipes are not there".to_owned()),
        };
        let group = Group::of(&child);
        let (lines, to_write) = mpsc::channel(QUEUE);
        let (stop, gone) = (CancelToken::new(), CancelToken::new());
        let complaint = Arc::new(Mutex::new(Vec::new()));
        let complaining = tokio::spawn(keep_tail(stderr, Arc::clone(&complaint)));
        let keeper = Keeper {
            child,
            group,
            complaint,
            complaining,
            inbox: Arc::clone(&inbox),
            gone: Gone(gone.clone()),
        };
        tokio::spawn(keeper.run(Pipes { stdin, stdout, to_write }, stop.clone()));
        Ok(Self { lines, inbox, stop, gone })
    }
}

impl Transport for Process {
    fn send(&self, message: Value, _: Option<u64>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            let mut line = message.to_string().into_bytes();
            line.push(b'\n');
            self.lines.send(line).await.map_err(|_| self.inbox.why())
        })
    }

    fn agreed(&self, _: &str) {}

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.stop.cancel();
            self.gone.cancelled().await;
        })
    }
}

/// Whoever is no longer wanted ends: dropping the way to a server stops it.
impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

struct Pipes {
    stdin: ChildStdin,
    stdout: ChildStdout,
    to_write: mpsc::Receiver<Vec<u8>>,
}

/// Says that nothing runs any more, also when its task is dropped.
struct Gone(CancelToken);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Whoever holds the child, and sees to its end.
struct Keeper {
    child: Child,
    group: Group,
    complaint: Arc<Mutex<Vec<u8>>>,
    complaining: JoinHandle<()>,
    inbox: Arc<Inbox>,
    gone: Gone,
}

impl Keeper {
    async fn run(mut self, pipes: Pipes, stop: CancelToken) {
        let Pipes { stdin, stdout, to_write } = pipes;
        let inbox = Arc::clone(&self.inbox);
        let mut reading = Box::pin(read(stdout, &inbox));
        let end = tokio::select! {
            end = &mut reading => end,
            () = write(stdin, to_write) => End::Deaf,
            () = stop.cancelled() => End::Stopped,
        };
        // Its stdin is closed now: a well-behaved server ends by itself.
        if matches!(end, End::Stopped | End::Deaf) {
            let _ = tokio::time::timeout(ENDING, &mut reading).await;
        }
        drop(reading);
        if matches!(end, End::Silent | End::Deaf) {
            let _ = tokio::time::timeout(LAST_WORDS, &mut self.complaining).await;
        }
        // Before its id is given back, so that nobody else can have it.
        self.group.kill();
        let _ = self.child.start_kill();
        let status = self.child.wait().await.ok();
        self.complaining.abort();
        let complaint = String::from_utf8_lossy(&lock(&self.complaint)).into_owned();
        inbox.close(end.in_words(status, &complaint));
        drop(self.gone);
    }
}

/// Why a server is no longer listened to.
enum End {
    /// It closed its stdout, most likely because it ended.
    Silent,
    /// It closed its stdin.
    Deaf,
    /// A line was too long.
    TooLong,
    /// Too much of what it printed was no message.
    Garbage,
    /// It is not wanted any more.
    Stopped,
}

impl End {
    fn in_words(&self, status: Option<ExitStatus>, complaint: &str) -> String {
        match self {
            Self::Stopped => "it was stopped".to_owned(),
            Self::TooLong => format!("it sent a line of over {} MB and was stopped", MESSAGE_BYTES >> 20),
            Self::Garbage => "what it prints is not the protocol; its log belongs on stderr".to_owned(),
            Self::Silent | Self::Deaf => {
                let status =
                    status.and_then(|status| status.code()).map(|code| format!(" with status {code}"));
                let lines: Vec<&str> = complaint.lines().filter(|line| !line.trim().is_empty()).collect();
                let last = lines.get(lines.len().saturating_sub(3)..).unwrap_or_default().join(" / ");
                let last = clean::line(&last, 400);
                let said = if last.is_empty() { String::new() } else { format!("; it said: {last}") };
                format!("it ended{}{said}", status.unwrap_or_default())
            }
        }
    }
}

/// Reads lines until there are no more.
async fn read(stdout: ChildStdout, inbox: &Inbox) -> End {
    let mut stdout = BufReader::with_capacity(64 << 10, stdout);
    let mut line = Vec::new();
    let mut garbage = 0usize;
    loop {
        let (used, is_whole) = match stdout.fill_buf().await {
            Ok([]) | Err(_) => return End::Silent,
            Ok(bytes) => {
                let end = bytes.iter().position(|byte| *byte == b'\n');
                let piece = bytes.get(..end.unwrap_or(bytes.len())).unwrap_or_default();
                if line.len() + piece.len() > MESSAGE_BYTES {
                    return End::TooLong;
                }
                line.extend_from_slice(piece);
                (piece.len() + usize::from(end.is_some()), end.is_some())
            }
        };
        stdout.consume(used);
        if !is_whole {
            continue;
        }
        if !inbox.take(&line) {
            garbage += line.len() + 1;
        }
        if garbage > GARBAGE_BYTES {
            return End::Garbage;
        }
        line.clear();
        line.shrink_to(64 << 10);
    }
}

/// Writes lines until nobody has any, or nobody reads them.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Vec<u8>>) {
    while let Some(line) = lines.recv().await {
        if stdin.write_all(&line).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

/// Reads to the end and keeps the last bytes.
async fn keep_tail(mut stderr: ChildStderr, into: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 4096];
    while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
        let mut tail = lock(&into);
        tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
        let excess = tail.len().saturating_sub(STDERR_BYTES);
        tail.drain(..excess);
    }
}

/// A process group; killed when dropped.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    #[cfg(unix)]
    fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            // It may have ended by itself.
            let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
        }
    }

    /// Without process groups only the command itself is killed, by `kill_on_drop`.
    #[cfg(not(unix))]
    fn of(_: &Child) -> Self {
        Self {}
    }

    #[cfg(not(unix))]
    fn kill(&mut self) {}
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

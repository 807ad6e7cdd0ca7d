//! A command that runs, from its start to the end of all that it started.

use super::group::{Blow, Group};
use crate::sandbox::Wrapped;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use throughline_model::CancelToken;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How long what a command left behind may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long a command that is told to end may tidy up.
const TIDY: Duration = Duration::from_secs(2);
/// How often it is looked whether somebody is left.
const LOOK: Duration = Duration::from_millis(25);
/// The most that is read of what stands in the pipe when everybody was killed.
const REST: usize = 1 << 20;

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// By itself.
    Itself,
    /// It took longer than this.
    Timeout(Duration),
    /// Somebody stopped it.
    Stopped,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub why: Why,
    /// Unknown if the system does not say.
    pub status: Option<ExitStatus>,
    /// Whether it left something running, which was stopped.
    pub left_something: bool,
}

/// What ends a command before its time.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub timeout: Option<Duration>,
    pub cancel: CancelToken,
}

/// A command that runs. Dropping it kills its whole group.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    group: Group,
    /// What it prints, stdout and stderr in one; none: nobody holds the other end any more.
    pipe: Option<Receiver>,
    buffer: Vec<u8>,
    /// Holds places of protected names.
    _wrapped: Wrapped,
}

impl Running {
    /// Starts it: nothing to read, everything it prints into one pipe.
    pub(super) fn start(
        wrapped: Wrapped,
        env: &BTreeMap<OsString, OsString>,
        cwd: &Path,
    ) -> io::Result<Self> {
        let (program, arguments) = wrapped.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let (reader, writer) = io::pipe()?;
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(env).current_dir(cwd).kill_on_drop(true);
        command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        if !wrapped.own_session {
            command.process_group(0);
        }
        let child = command.spawn()?;
        // Our ends of the pipe are in there: as long as they are open it never ends.
        drop(command);
        let group = Group::of(&child);
        let pipe = Some(Receiver::from_owned_fd(reader.into())?);
        Ok(Self { child, group, pipe, buffer: vec![0; 64 << 10], _wrapped: wrapped })
    }

    pub(super) fn group(&self) -> Group {
        self.group.clone()
    }

    /// Waits until it has ended, or ends it.
    pub(super) async fn until_ended(mut self, limits: Limits, mut hear: impl FnMut(&[u8])) -> Ended {
        let deadline = limits.timeout.and_then(|allowed| Instant::now().checked_add(allowed));
        let (why, status) = loop {
            tokio::select! {
                biased;
                () = limits.cancel.cancelled() => break (Why::Stopped, None),
                () = until(deadline) => break (Why::Timeout(limits.timeout.unwrap_or_default()), None),
                // Before the pipe: somebody left behind could fill it for ever.
                status = self.child.wait() => {
                    self.group.leader_ended();
                    break (Why::Itself, status.ok());
                }
                count = read(&mut self.pipe, &mut self.buffer), if self.pipe.is_some() => {
                    hear(self.buffer.get(..count).unwrap_or_default());
                }
            }
        };
        match why {
            Why::Itself => {
                let ended_in_time = tokio::select! {
                    () = limits.cancel.cancelled() => false,
                    settled = timeout(GRACE, self.settle(&mut hear)) => settled.is_ok(),
                };
                if !ended_in_time {
                    self.finish_off(&mut hear).await;
                }
                Ended { why, status, left_something: !ended_in_time }
            }
            Why::Timeout(_) | Why::Stopped => {
                let status = self.finish_off(&mut hear).await;
                Ended { why, status, left_something: false }
            }
        }
    }

    /// Waits until nobody is left: the pipe is closed, the group is empty.
    async fn settle(&mut self, hear: &mut impl FnMut(&[u8])) {
        while self.pipe.is_some() {
            let count = read(&mut self.pipe, &mut self.buffer).await;
            hear(self.buffer.get(..count).unwrap_or_default());
        }
        while self.group.is_alive() {
            sleep(LOOK).await;
        }
        self.group.release();
    }

    /// Asks the group to end, then makes it. What stands in the pipe is still heard.
    async fn finish_off(&mut self, hear: &mut impl FnMut(&[u8])) -> Option<ExitStatus> {
        self.group.strike(Blow::Ask);
        let mut status = None;
        let tidy = async {
            loop {
                tokio::select! {
                    biased;
                    ended = self.child.wait(), if status.is_none() => {
                        self.group.leader_ended();
                        status = Some(ended);
                    }
                    count = read(&mut self.pipe, &mut self.buffer), if self.pipe.is_some() => {
                        hear(self.buffer.get(..count).unwrap_or_default());
                    }
                    () = sleep(LOOK) => {}
                }
                if status.is_some() && !self.group.is_alive() {
                    return;
                }
            }
        };
        let _ = timeout(TIDY, tidy).await;
        self.group.strike(Blow::Kill);
        if status.is_none() {
            status = Some(self.child.wait().await);
            self.group.leader_ended();
        }
        self.group.release();
        let mut rest = REST;
        while let Some(pipe) = &self.pipe {
            // Whoever left the group may hold the pipe open: what is there now is all that is waited for.
            match pipe.try_read(&mut self.buffer) {
                Ok(count @ 1..) if rest > 0 => {
                    rest = rest.saturating_sub(count);
                    hear(self.buffer.get(..count).unwrap_or_default());
                }
                Ok(_) | Err(_) => self.pipe = None,
            }
        }
        status.and_then(Result::ok)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.group.strike(Blow::Kill);
    }
}

/// Reads some bytes; a pipe that is closed or broken is taken away.
async fn read(pipe: &mut Option<Receiver>, buffer: &mut [u8]) -> usize {
    let count = match pipe {
        Some(open) => open.read(buffer).await.unwrap_or(0),
        None => 0,
    };
    if count == 0 {
        *pipe = None;
    }
    count
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

//! The first process of a command's own process namespace. With it everything ends that the command started.
//!
//! The outer process makes the namespaces and starts this program once more, as the first process in them (`init`). That one cages
//! itself, starts the command, reports how it ended, and waits until nothing is left. The outer process ends as the command did, as soon
//! as that is reported. Both are in the group that the agent signals: killing the group kills `init`, and the kernel then kills
//! whatever is in the namespace, in whatever session.

use super::{Broken, EXIT_NOT_RUN, not_run, split};
use crate::sandbox::policy::{Policy, Stage};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitOptions, getpid, getppid, kill_process, wait};
use std::ffi::OsString;
use std::io::{self, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};

/// Interval at which the outer process checks that its parent is alive.
const LOOK_NANOS: i64 = 500_000_000;

/// Starts the first process of the new namespace, and ends as the command does.
pub(super) fn start_init(policy: &Policy, command: &[OsString]) -> Result<ExitCode, Broken> {
    let parent = getppid();
    let policy = Policy { stage: Stage::Init, ..policy.clone() };
    let policy = serde_json::to_string(&policy).map_err(Broken::at("its policy"))?;
    // What stands before the policy, such as a subcommand.
    let all: Vec<OsString> = std::env::args_os().collect();
    let before = all.len().saturating_sub(command.len() + 2).max(1);
    let (mut reader, writer) = io::pipe().map_err(Broken::at("a pipe"))?;
    let mut start = Command::new("/proc/self/exe");
    start.args(all.get(1..before).unwrap_or_default()).arg(policy).arg("--").args(command);
    // The way back for the report is the one descriptor that the command itself does not need.
    start.stdin(writer);
    let mut init = start.spawn().map_err(Broken::at("starting the first process"))?;
    // Our end of the pipe is in there: as long as it is open the report never ends.
    drop(start);
    // No thread can watch: the kernel permits none between two process namespaces.
    let look = Timespec { tv_sec: 0, tv_nsec: LOOK_NANOS };
    while poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&look)).is_ok_and(|ready| ready == 0) {
        if getppid() != parent {
            // The agent is gone: so is the command.
            let _ = init.kill();
        }
    }
    let mut report = String::new();
    let _ = reader.read_to_string(&mut report);
    let status = report.trim().parse().ok().map(ExitStatus::from_raw);
    match status {
        Some(status) => Ok(end_as(status)),
        // It could not begin, and said why; or somebody killed it.
        None => Ok(init.wait().map_or(ExitCode::from(EXIT_NOT_RUN), end_as)),
    }
}

/// Runs the command as the first process, and waits until nothing is left that it started.
pub(super) fn run(command: &[OsString]) -> Result<ExitCode, Broken> {
    let (program, arguments) = split(command)?;
    let child = match Command::new(program).args(arguments).stdin(Stdio::null()).spawn() {
        Ok(child) => child,
        Err(error) => return Ok(not_run(program, &error)),
    };
    let main = pid_of(&child);
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == main => {
                let _ = rustix::io::write(rustix::stdio::stdin(), status.as_raw().to_string().as_bytes());
                close_standard_streams();
            }
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => {}
            // Nobody is left.
            Err(_) => return Ok(ExitCode::SUCCESS),
        }
    }
}

/// Lets go of the pipes: the agent reads until nobody holds them.
fn close_standard_streams() {
    if let Ok(null) = std::fs::File::options().read(true).write(true).open("/dev/null") {
        let _ = rustix::stdio::dup2_stdin(&null);
        let _ = rustix::stdio::dup2_stdout(&null);
        let _ = rustix::stdio::dup2_stderr(&null);
    }
}

fn pid_of(child: &Child) -> Option<Pid> {
    i32::try_from(child.id()).ok().and_then(Pid::from_raw)
}

/// Ends this process as another one ended.
fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal().and_then(Signal::from_named_raw) {
        let _ = kill_process(getpid(), signal);
    }
    let code = status.code().or_else(|| status.signal().map(|signal| signal + 128));
    ExitCode::from(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(EXIT_NOT_RUN))
}

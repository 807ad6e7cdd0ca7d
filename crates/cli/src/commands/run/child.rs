//! A program in our stead: the terminal, signals and the exit status are its own.

use std::io::{self, IsTerminal as _};
use std::process::ExitStatus;
use tokio::process::{Child, Command};

/// Runs it to its end.
pub(super) async fn run(mut command: Command) -> io::Result<ExitStatus> {
    let mut signals = signals::Signals::new()?;
    let mut child = command.spawn()?;
    // At a terminal ctrl-C reaches the whole group, the program included. It must not get it twice.
    let has_terminal = io::stdin().is_terminal() || io::stdout().is_terminal() || io::stderr().is_terminal();
    loop {
        tokio::select! {
            status = child.wait() => return status,
            signal = signals.next() => signals::pass_on(&child, signal, has_terminal),
        }
    }
}

/// The exit status as a shell tells it.
pub(super) fn code(status: ExitStatus) -> u8 {
    let code = status.code().unwrap_or_else(|| 128 + signals::of(status));
    u8::try_from(code).unwrap_or(u8::MAX)
}

#[cfg(unix)]
mod signals {
    use super::{Child, ExitStatus, io};
    use rustix::process::{Pid, Signal, kill_process};
    use std::os::unix::process::ExitStatusExt as _;
    use tokio::signal::unix::{self, SignalKind, signal};

    /// Those that would end us before the program has ended.
    pub(super) struct Signals {
        interrupt: unix::Signal,
        quit: unix::Signal,
        terminate: unix::Signal,
        hang_up: unix::Signal,
    }

    impl Signals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                quit: signal(SignalKind::quit())?,
                terminate: signal(SignalKind::terminate())?,
                hang_up: signal(SignalKind::hangup())?,
            })
        }

        pub(super) async fn next(&mut self) -> Signal {
            tokio::select! {
                _ = self.interrupt.recv() => Signal::INT,
                _ = self.quit.recv() => Signal::QUIT,
                _ = self.terminate.recv() => Signal::TERM,
                _ = self.hang_up.recv() => Signal::HUP,
            }
        }
    }

    pub(super) fn pass_on(child: &Child, signal: Signal, has_terminal: bool) {
        let is_of_the_terminal = signal == Signal::INT || signal == Signal::QUIT;
        if is_of_the_terminal && has_terminal {
            return;
        }
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(pid) = pid {
            // It may have ended in the meantime.
            let _ = kill_process(pid, signal);
        }
    }

    pub(super) fn of(status: ExitStatus) -> i32 {
        status.signal().unwrap_or_default()
    }
}

#[cfg(not(unix))]
mod signals {
    use super::{Child, ExitStatus, io};

    pub(super) struct Signals;

    impl Signals {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) async fn next(&mut self) {
            // The console tells the program too; we outlive it.
            let _ = tokio::signal::ctrl_c().await;
        }
    }

    pub(super) fn pass_on(_: &Child, (): (), _: bool) {}

    pub(super) fn of(_: ExitStatus) -> i32 {
        0
    }
}

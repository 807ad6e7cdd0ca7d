//! A pseudo-terminal: the exact bytes that a terminal would get.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Nothing here takes so long, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(180);
/// The question of a program where the cursor is, and the answer.
const CURSOR_QUERY: &str = "\u{1b}[6n";
const CURSOR_ANSWER: &[u8] = b"\x1b[1;1R";

/// Written when a prompt was drawn and the cursor is shown again.
pub(crate) const CURSOR_SHOWN: &str = "\u{1b}[?25h";

/// Keys that are sent when the output behind the previous text holds the next.
pub(crate) type Step<'a> = (&'a str, &'a [u8]);

/// The end of a text in bytes.
fn find(bytes: &[u8], text: &[u8]) -> Option<usize> {
    let at = (0..=bytes.len()).find(|at| bytes[*at..].starts_with(text))?;
    Some(at + text.len())
}

/// Runs a command with a pseudo-terminal as its input, output and error output. Returns all that it wrote.
pub(crate) fn run(mut command: Command, steps: &[Step<'_>]) -> String {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let name = std::ffi::OsStr::from_bytes(name.as_bytes());
    let slave = OpenOptions::new().read(true).write(true).open(name).unwrap();
    rustix::termios::tcsetwinsize(
        &slave,
        rustix::termios::Winsize { ws_row: 50, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 },
    )
    .unwrap();
    // What is typed is not part of the output.
    let mut modes = rustix::termios::tcgetattr(&slave).unwrap();
    modes.local_modes.remove(rustix::termios::LocalModes::ECHO);
    rustix::termios::tcsetattr(&slave, rustix::termios::OptionalActions::Now, &modes).unwrap();
    command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(slave);
    let mut child = command.spawn().unwrap();
    // Our ends of the terminal are in there: as long as they are open it never ends.
    drop(command);
    let mut keys = File::from(master);
    let mut output = keys.try_clone().unwrap();
    let (send, chunks) = mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // The end of a terminal is an error.
        while let Ok(count @ 1..) = output.read(&mut buffer) {
            if send.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    let (mut all, mut steps, mut seen, mut answered) = (Vec::new(), steps.iter(), 0, 0);
    let mut step = steps.next();
    loop {
        let text = String::from_utf8_lossy(&all).into_owned();
        while text.matches(CURSOR_QUERY).count() > answered {
            keys.write_all(CURSOR_ANSWER).unwrap();
            answered += 1;
        }
        while let Some((wanted, typed)) = step {
            let Some(at) = find(&all[seen..], wanted.as_bytes()) else { break };
            keys.write_all(typed).unwrap();
            (step, seen) = (steps.next(), seen + at);
        }
        match chunks.recv_timeout(PATIENCE) {
            Ok(chunk) => all.extend(chunk),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let _ = child.kill();
                panic!("the program does not end; it wrote {text:?}");
            }
        }
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&all).into_owned()
}

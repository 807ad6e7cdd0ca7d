//! The helper where there is no cage: it runs what is not to be caged, and refuses the rest.

use super::policy::Policy;
use super::support::{PROBE, Probe};
use super::{EXIT_NO_CAGE, NO_CAGE};
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

/// See the same function on Linux. Here every cage is refused.
pub fn enter(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let refuse = |why: &str| {
        eprintln!("{NO_CAGE} {why}");
        ExitCode::from(EXIT_NO_CAGE)
    };
    let Some(first) = arguments.next() else { return refuse("a policy is missing") };
    if first == PROBE {
        let none = Some("this system has no cage that Throughline knows".to_owned());
        let probe = Probe { landlock: None, namespaces: none.clone(), seccomp: none };
        println!("{}", serde_json::to_string(&probe).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    let policy: Option<Policy> = first.to_str().and_then(|text| serde_json::from_str(text).ok());
    let Some(Policy { cage: None, cwd, session, stage: _ }) = policy else {
        return refuse("there is no sandbox on this system");
    };
    let (Some(_), Some(program)) = (arguments.next(), arguments.next()) else {
        return refuse("a command is missing");
    };
    if session {
        // The leader of a group can't begin a session: then it has a group of its own already.
        let _ = rustix::process::setsid();
    }
    let error = Command::new(program).args(arguments).current_dir(cwd).exec();
    refuse(&error.to_string())
}

//! The helper: it cages itself as its policy says, then becomes the command.

mod capabilities;
mod filesystem;
mod loopback;
mod namespaces;
mod supervisor;
mod syscalls;

use super::policy::{CagePolicy, Policy, Stage, Walls};
use super::support::{OLDEST_LANDLOCK, PROBE, Probe};
use super::{EXIT_NO_CAGE, NO_CAGE};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The exit status of a helper whose command can't be run, as shells have it.
const EXIT_NOT_RUN: u8 = 126;
/// The same for a command that is not there.
const EXIT_NOT_FOUND: u8 = 127;

/// What the cage could not be built of.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {why}")]
struct Broken {
    what: &'static str,
    why: String,
}

impl Broken {
    /// Names the path.
    fn on(self, path: &Path) -> Self {
        Self { why: format!("{}: {}", path.display(), self.why), ..self }
    }

    /// For `map_err`.
    fn at<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |why| Self { what, why: why.to_string() }
    }
}

/// What the helper program does: `<policy> -- <program> <argument>…` cages this process and becomes the program. It
/// returns only if it could not: with [`EXIT_NO_CAGE`] and a message on stderr if the cage could not be built as the policy
/// says, in which case the command did not run. `--probe` prints what it can instead.
///
/// It must be called while the process has one thread only, before any runtime is started. `arguments` are those behind the
/// program's own name, or behind the subcommand.
pub fn enter(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let (policy, command) = match parse(arguments) {
        Ok(Request::Probe) => return probe(),
        Ok(Request::Run(policy, command)) => (policy, command),
        Err(broken) => return refuse(&broken),
    };
    let done = match policy.stage {
        Stage::Outer => outer(&policy, &command),
        Stage::Init => prepare(&policy).and_then(|()| supervisor::run(&command)),
    };
    done.unwrap_or_else(|broken| refuse(&broken))
}

/// The process that was started: it makes the namespaces. Where processes have one of their own, a first process in it
/// does the rest.
fn outer(policy: &Policy, command: &[OsString]) -> Result<ExitCode, Broken> {
    if policy.session {
        // The leader of a group can't begin a session: then it has a group of its own already.
        let _ = rustix::process::setsid();
    }
    if let Some(cage @ CagePolicy { walls: Walls::Namespaces, .. }) = &policy.cage {
        limit(cage)?;
        namespaces::enter(cage)?;
        return supervisor::start_init(policy, command);
    }
    prepare(policy)?;
    let (program, arguments) = split(command)?;
    Ok(not_run(program, &Command::new(program).args(arguments).exec()))
}

fn split(command: &[OsString]) -> Result<(&OsString, &[OsString]), Broken> {
    command.split_first().ok_or(Broken { what: "its arguments", why: "a command is missing".to_owned() })
}

fn not_run(program: &OsString, error: &io::Error) -> ExitCode {
    eprintln!("sandbox: {}: {error}", program.display());
    let is_missing = error.kind() == io::ErrorKind::NotFound;
    ExitCode::from(if is_missing { EXIT_NOT_FOUND } else { EXIT_NOT_RUN })
}

enum Request {
    Probe,
    Run(Box<Policy>, Vec<OsString>),
}

fn parse(mut arguments: impl Iterator<Item = OsString>) -> Result<Request, Broken> {
    let wrong = |why: &str| Broken { what: "its arguments", why: why.to_owned() };
    let first = arguments.next().ok_or_else(|| wrong("a policy is missing"))?;
    if first == PROBE {
        return Ok(Request::Probe);
    }
    let text = first.to_str().ok_or_else(|| wrong("the policy is not UTF-8"))?;
    let policy = serde_json::from_str(text).map_err(Broken::at("its policy"))?;
    if arguments.next().is_none_or(|mark| mark != "--") {
        return Err(wrong("-- is missing behind the policy"));
    }
    let command: Vec<OsString> = arguments.collect();
    if command.is_empty() {
        return Err(wrong("a command is missing"));
    }
    Ok(Request::Run(policy, command))
}

fn refuse(broken: &Broken) -> ExitCode {
    eprintln!("{NO_CAGE} {broken}");
    ExitCode::from(EXIT_NO_CAGE)
}

/// Everything before the command, in the order in which the kernel permits it. Namespaces are there already.
fn prepare(policy: &Policy) -> Result<(), Broken> {
    if let Some(cage) = &policy.cage {
        let net = match cage.walls {
            Walls::Namespaces => {
                namespaces::mount_proc();
                Net::of_policy(cage, Net::Private)
            }
            Walls::Bubblewrap => Net::of_policy(cage, Net::Private),
            Walls::Absent => Net::of_policy(cage, Net::Denied),
        };
        if cage.walls != Walls::Namespaces {
            limit(cage)?;
        }
        // Once more, by path: the working folder may lie under mounts that were not there when it was entered.
        std::env::set_current_dir(&policy.cwd).map_err(Broken::at("entering the working folder"))?;
        capabilities::drop_most();
        if cage.landlock {
            filesystem::restrict(cage, net)?;
        }
        syscalls::restrict(cage, net)?;
    }
    Ok(())
}

/// What of the network there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Net {
    /// All of it.
    Open,
    /// A loopback device that nobody else has.
    Private,
    /// None: no socket can be made.
    Denied,
}

impl Net {
    fn of_policy(cage: &CagePolicy, otherwise: Self) -> Self {
        if cage.network { Self::Open } else { otherwise }
    }
}

/// No core dumps, and a bound on processes. The kernel counts all processes of the user, so the bound lies above what the
/// whole machine runs now. It does not bind root.
fn limit(cage: &CagePolicy) -> Result<(), Broken> {
    let at_most = |resource, value: u64| {
        let hard = getrlimit(resource).maximum.map_or(value, |hard| hard.min(value));
        setrlimit(resource, Rlimit { current: Some(hard), maximum: Some(hard) })
    };
    at_most(Resource::Core, 0).map_err(Broken::at("switching off core dumps"))?;
    // `0.20 0.18 0.12 1/80 11206`: the fourth word ends with the number of all threads.
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let threads = load.split_whitespace().nth(3).and_then(|word| word.split_once('/')?.1.parse::<u64>().ok());
    if let Some(threads) = threads {
        at_most(Resource::Nproc, threads.saturating_add(cage.processes))
            .map_err(Broken::at("bounding the number of processes"))?;
    }
    Ok(())
}

/// Tries everything on this process, and says what worked.
fn probe() -> ExitCode {
    let cage = CagePolicy {
        walls: Walls::Namespaces,
        landlock: true,
        writable: Vec::new(),
        readable: vec!["/".into()],
        unreadable: Vec::new(),
        mounts: Vec::new(),
        network: false,
        unix_sockets: false,
        processes: 0,
    };
    let namespaces = namespaces::enter(&cage).err().map(|broken| broken.to_string());
    let landlock = filesystem::restrict(&cage, Net::Private).ok();
    let seccomp = syscalls::restrict(&cage, Net::Private).err().map(|broken| broken.to_string());
    match serde_json::to_string(&Probe { landlock, namespaces, seccomp }) {
        Ok(text) => println!("{text}"),
        Err(error) => eprintln!("{NO_CAGE} {error}"),
    }
    ExitCode::SUCCESS
}

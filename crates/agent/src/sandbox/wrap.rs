//! The command line by which a command runs caged.

use super::policy::{self, CagePolicy, Mount, MountKind, Policy, Stage, Walls};
use super::{SandboxError, SandboxLevel, SandboxSettings, Support};
use crate::workspace::Workspace;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What a command runs in.
#[derive(Clone, Copy, Debug)]
pub struct Cage<'a> {
    /// How much it may do.
    pub level: SandboxLevel,
    /// Where it works.
    pub workspace: &'a Workspace,
    /// Its temporary folder. It must exist.
    pub tmp: &'a Path,
}

/// A command line that runs a command in its cage. Keep it until the command has ended: it holds places of protected names.
#[derive(Debug)]
pub struct Wrapped {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Whether the program begins a session of its own. If not, whoever starts it should give it a process group.
    pub own_session: bool,
    _reserved: Reserved,
}

impl SandboxSettings {
    /// The command line that runs `command` (a program and its arguments) in a cage.
    pub fn wrap(
        &self,
        support: &Support,
        cage: Cage<'_>,
        command: Vec<OsString>,
    ) -> Result<Wrapped, SandboxError> {
        let cwd = cage.workspace.cwd().to_owned();
        if cage.level == SandboxLevel::None {
            let free = Policy { stage: Stage::Outer, session: true, cwd, cage: None };
            // Without a helper it runs all the same, only with the terminal.
            let (argv, own_session) = match self.helper.is_empty() {
                true => (command, false),
                false => (self.through_helper(&free, command)?, true),
            };
            return Ok(Wrapped { argv, own_session, _reserved: Reserved::default() });
        }
        let walls = match support {
            Support::Landlock { namespaces: true, .. } => Walls::Namespaces,
            Support::Landlock { namespaces: false, .. } => Walls::Absent,
            Support::Bubblewrap { .. } => Walls::Bubblewrap,
            Support::None { reason } => return Err(SandboxError::Unsupported(reason.clone())),
        };
        let writable = policy::writable(cage.level, cage.workspace, cage.tmp, self);
        let reserved = match (walls, cage.level) {
            (Walls::Namespaces | Walls::Bubblewrap, SandboxLevel::Workspace) => {
                Reserved::hold(policy::to_reserve(cage.workspace))
            }
            (Walls::Namespaces | Walls::Bubblewrap | Walls::Absent, _) => Reserved::default(),
        };
        let mounts = policy::mounts(cage.workspace, &writable, &self.readable_denied);
        let policy = CagePolicy {
            walls,
            landlock: !matches!(support, Support::Bubblewrap { abi: None, .. }),
            writable,
            readable: policy::readable(cage.workspace, cage.tmp, self),
            unreadable: self.unreadable.iter().filter_map(|path| path.canonicalize().ok()).collect(),
            mounts,
            network: self.network,
            unix_sockets: self.unix_sockets,
            processes: self.processes,
        };
        let argv = match support {
            Support::Landlock { .. } | Support::None { .. } => self.through_helper(
                &Policy { stage: Stage::Outer, session: true, cwd, cage: Some(policy) },
                command,
            )?,
            Support::Bubblewrap { program, .. } => {
                // The session is begun outside, so that bubblewrap's own process is in it.
                let outer = Policy { stage: Stage::Outer, session: true, cwd: cwd.clone(), cage: None };
                let mut argv = vec![program.clone().into_os_string()];
                argv.extend(bubblewrap(&policy, &cwd));
                argv.extend(self.through_helper(
                    &Policy { stage: Stage::Outer, session: false, cwd, cage: Some(policy) },
                    command,
                )?);
                self.through_helper(&outer, argv)?
            }
        };
        Ok(Wrapped { argv, own_session: true, _reserved: reserved })
    }

    fn through_helper(&self, policy: &Policy, command: Vec<OsString>) -> Result<Vec<OsString>, SandboxError> {
        let mut argv = self.helper.clone();
        argv.push(serde_json::to_string(policy)?.into());
        argv.push("--".into());
        argv.extend(command);
        Ok(argv)
    }
}

/// Bubblewrap's arguments, up to the command.
fn bubblewrap(policy: &CagePolicy, cwd: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = Vec::new();
    let mut add = |words: &[&str], paths: &[&Path]| {
        arguments.extend(words.iter().map(OsString::from));
        arguments.extend(paths.iter().map(|path| path.as_os_str().to_owned()));
    };
    add(&["--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--tmpfs", "/dev/shm"], &[]);
    for path in &policy.writable {
        add(&["--bind"], &[path, path]);
    }
    for Mount { path, kind } in &policy.mounts {
        match kind {
            MountKind::Anchor => add(&["--bind"], &[path, path]),
            MountKind::ReadOnly => add(&["--ro-bind"], &[path, path]),
            MountKind::HiddenFolder => add(&["--tmpfs"], &[path]),
            MountKind::HiddenFile => add(&["--ro-bind"], &[Path::new("/dev/null"), path]),
        }
    }
    if !policy.network {
        add(&["--unshare-net"], &[]);
    }
    // With bubblewrap's first process everything ends that the command started.
    add(&["--unshare-pid", "--proc", "/proc"], &[]);
    add(&["--chdir"], &[cwd]);
    add(&["--"], &[]);
    arguments
}

/// Folders that hold the places of protected names while commands run. Empty ones are taken away behind the last command.
#[derive(Debug, Default)]
struct Reserved {
    paths: Vec<PathBuf>,
}

/// How many commands need each of the folders. For the whole process: agents side by side may share a workspace.
static HELD: Mutex<BTreeMap<PathBuf, usize>> = Mutex::new(BTreeMap::new());

impl Reserved {
    /// Makes those that are not there, and shares those that another command made.
    fn hold(wanted: Vec<PathBuf>) -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        let mut paths = Vec::new();
        for path in wanted {
            match held.get_mut(&path) {
                Some(count) => *count += 1,
                // Where no folder can be made by us, the command can't make one either.
                None if std::fs::create_dir(&path).is_ok() => drop(held.insert(path.clone(), 1)),
                None => continue,
            }
            paths.push(path);
        }
        Self { paths }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        for path in &self.paths {
            match held.get_mut(path) {
                Some(count) if *count > 1 => *count -= 1,
                Some(_) | None => {
                    held.remove(path);
                    // Somebody else may have put something into it: then it is theirs, and stays.
                    let _ = std::fs::remove_dir(path);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_place_lasts_as_long_as_its_last_command_and_is_not_taken_from_others() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(".claude");
        let first = Reserved::hold(vec![path.clone()]);
        let second = Reserved::hold(vec![path.clone()]);
        drop(first);
        assert!(path.is_dir());
        drop(second);
        assert!(!path.exists());

        let third = Reserved::hold(vec![path.clone()]);
        std::fs::write(path.join("settings.json"), "{}").unwrap();
        drop(third);
        assert!(path.join("settings.json").exists());
        drop(Reserved::hold(vec![path.clone()]));
        assert!(path.join("settings.json").exists());
    }

    #[test]
    fn bubblewrap_is_told_what_the_helper_would_do() {
        let mount = |path: &str, kind| Mount { path: path.into(), kind };
        let policy = CagePolicy {
            walls: Walls::Bubblewrap,
            landlock: false,
            writable: vec!["/w".into()],
            readable: vec!["/".into()],
            unreadable: Vec::new(),
            mounts: vec![
                mount("/home/u/.ssh", MountKind::HiddenFolder),
                mount("/home/u/.netrc", MountKind::HiddenFile),
                mount("/w/.git", MountKind::Anchor),
                mount("/w/.git/hooks", MountKind::ReadOnly),
            ],
            network: false,
            unix_sockets: false,
            processes: 1,
        };
        let words: Vec<String> = bubblewrap(&policy, Path::new("/w"))
            .iter()
            .map(|word| word.to_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            words.join(" "),
            "--ro-bind / / --dev-bind /dev /dev --tmpfs /dev/shm --bind /w /w --tmpfs /home/u/.ssh \
             --ro-bind /dev/null /home/u/.netrc --bind /w/.git /w/.git --ro-bind /w/.git/hooks /w/.git/hooks \
             --unshare-net --unshare-pid --proc /proc --chdir /w --"
        );
    }
}

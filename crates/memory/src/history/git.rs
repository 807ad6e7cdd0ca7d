//! Git, for a repository of our own: nothing of the user's settings reaches it, and nothing in the repository is run.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use throughline_ledger::write_private;
use throughline_model::ProgramSearch;

/// All that a repository of ours has for settings. One with others is not ours: settings name programs to be run.
const CONFIG: &str = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n\thooksPath = /dev/null\n";
/// The one branch.
pub(crate) const BRANCH: &str = "refs/heads/main";
/// Loose objects in one of the 256 folders at which they are packed: about 1,500 in all.
const LOOSE: usize = 6;
/// Variables that git gets: where temporary files are, and what Windows needs to start programs.
const KEPT_VARIABLES: [&str; 5] = ["SystemRoot", "SystemDrive", "TMPDIR", "TEMP", "TMP"];
/// Packs at which they become one.
const PACKS: usize = 20;

/// A bare repository that we made.
#[derive(Clone, Debug)]
pub(crate) struct Repository {
    path: PathBuf,
}

/// Where the times of commits come from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Dates {
    /// Git's clock; the stream says `now`.
    Now,
    /// The stream.
    Given,
}

/// Why git did not do it, in words for people.
pub(crate) type Refusal = String;

impl Repository {
    /// The repository at a place, made if nothing is there. What is there must be one that we made.
    pub(crate) fn open(path: &Path) -> Result<Self, Refusal> {
        let repository = Self { path: path.to_owned() };
        if path.symlink_metadata().is_err() {
            repository.make().map_err(|error| format!("{} could not be made: {error}", path.display()))?;
        }
        repository.check()?;
        Ok(repository)
    }

    /// The repository at a place; `None` if nothing is there.
    pub(crate) fn find(path: &Path) -> Result<Option<Self>, Refusal> {
        if path.symlink_metadata().is_err() { Ok(None) } else { Self::open(path).map(Some) }
    }

    /// As `git init` does, without templates. `HEAD` comes last: without it there is no repository.
    fn make(&self) -> std::io::Result<()> {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(self.path.join("objects"))?;
        builder.create(self.path.join("refs/heads"))?;
        let write = |file: &str, text: &str| {
            write_private(&self.path, file, text.as_bytes()).map_err(std::io::Error::other)
        };
        write("config", CONFIG)?;
        write("HEAD", &format!("ref: {BRANCH}\n"))
    }

    fn check(&self) -> Result<(), Refusal> {
        let foreign = |what: &str| {
            format!(
                "{} is no history that throughline made ({what}); move it away to begin a new one",
                self.path.display()
            )
        };
        let is_folder =
            |part: &str| self.path.join(part).symlink_metadata().is_ok_and(|meta| meta.file_type().is_dir());
        if let Some(part) = ["", "objects", "refs", "refs/heads"].into_iter().find(|part| !is_folder(part)) {
            let what = format!("{} is no folder", if part.is_empty() { "it" } else { part });
            return Err(foreign(&what));
        }
        // Another common folder would bring other settings.
        if self.path.join("commondir").symlink_metadata().is_ok() {
            return Err(foreign("it has a commondir"));
        }
        for (file, wanted) in [("config", CONFIG.to_owned()), ("HEAD", format!("ref: {BRANCH}\n"))] {
            let path = self.path.join(file);
            let is_file = path.symlink_metadata().is_ok_and(|meta| meta.is_file());
            if !is_file || fs::read(&path).ok().as_deref() != Some(wanted.as_bytes()) {
                return Err(foreign(&format!("its {file} is another")));
            }
        }
        Ok(())
    }

    /// The newest commit; `None` if there is none.
    pub(crate) fn head(&self) -> Result<Option<String>, Refusal> {
        let path = self.path.join(BRANCH);
        match path.symlink_metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Ok(meta) if meta.is_file() && meta.len() < 100 => {}
            Ok(_) | Err(_) => return Err(format!("{} can't be read", path.display())),
        }
        let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let id = text.trim();
        if is_id(id) { Ok(Some(id.to_owned())) } else { Err(format!("{} holds no commit", path.display())) }
    }

    /// What a git command says.
    pub(crate) fn ask(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, Refusal> {
        let mut command = self.command(args).map_err(|error| cannot_run(&error))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| cannot_run(&error))?;
        let stdin = child.stdin.take();
        // Input and output at the same time: each may be larger than a pipe holds.
        let (sent, output) = std::thread::scope(|scope| {
            let sender = scope.spawn(move || stdin.map_or(Ok(()), |mut stdin| stdin.write_all(input)));
            let output = child.wait_with_output();
            (sender.join(), output)
        });
        let output = output.map_err(|error| cannot_run(&error))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            let said = said.lines().find(|line| !line.trim().is_empty()).unwrap_or("it did not say why");
            let name = args.first().copied().unwrap_or_default();
            return Err(format!("git {name} failed ({}): {}", output.status, said.trim()));
        }
        match sent {
            Ok(Ok(())) => Ok(output.stdout),
            Ok(Err(error)) => Err(format!("git did not take all of its input: {error}")),
            Err(_) => Err("git could not be given its input".to_owned()),
        }
    }

    /// Takes in a stream of commits, all or nothing.
    pub(crate) fn import(&self, stream: &[u8], dates: Dates) -> Result<(), Refusal> {
        // We hold the folder: a lock that is here was left by a git that was killed.
        let _ = fs::remove_file(self.path.join(format!("{BRANCH}.lock")));
        let dates = match dates {
            Dates::Now => "--date-format=now",
            Dates::Given => "--date-format=raw",
        };
        let args = ["fast-import", "--quiet", "--done", dates];
        let done = self.ask(&args, stream);
        if done.is_err() {
            self.clear_reports();
        }
        done.map(|_| ())
    }

    /// Git leaves a report of a stream that it could not read, with parts of it.
    fn clear_reports(&self) {
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with("fast_import_crash_") {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Packs loose objects when they are many. Failing leaves them as they are.
    pub(crate) fn tidy(&self) -> Result<(), Refusal> {
        let count = |folder: &str, ending: &str| {
            let listing = fs::read_dir(self.path.join("objects").join(folder));
            listing
                .into_iter()
                .flatten()
                .flatten()
                .filter(|entry| entry.file_name().to_string_lossy().ends_with(ending))
                .count()
        };
        // Names are hashes: one folder is a fair sample.
        if count("17", "") < LOOSE {
            return Ok(());
        }
        let all = if count("pack", ".pack") >= PACKS { "-adq" } else { "-dq" };
        self.ask(&["repack", all], &[]).map(|_| ())
    }

    /// Git with an environment of its own: of this process's variables it gets [`KEPT_VARIABLES`] alone.
    fn command(&self, args: &[&str]) -> std::io::Result<Command> {
        let search = ProgramSearch::from_process(Some(&self.path), None);
        let mut command = Command::new(search.find("git")?);
        command.env_clear();
        let kept = KEPT_VARIABLES.into_iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        command.envs(kept).env("PATH", search.path());
        let nothing = if cfg!(windows) { "NUL" } else { "/dev/null" };
        command
            .env("GIT_CONFIG_GLOBAL", nothing)
            .env("GIT_CONFIG_SYSTEM", nothing)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "")
            .env("GIT_DIR", ".")
            .env("LC_ALL", "C")
            .current_dir(&self.path)
            // A pack for each change would pile up; so would what nobody asked for.
            .args(["-c", "fastimport.unpackLimit=100", "-c", "gc.auto=0", "-c", "core.hooksPath=/dev/null"])
            .args(args);
        Ok(command)
    }
}

fn cannot_run(error: &std::io::Error) -> Refusal {
    if error.kind() == std::io::ErrorKind::NotFound {
        "git is not installed".to_owned()
    } else {
        format!("git can't be run: {error}")
    }
}

/// Whether a text is the whole id of an object.
pub(crate) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| b.is_ascii_hexdigit())
}

/// A path as git reads it whatever it holds.
pub(crate) fn quoted(path: &str) -> String {
    let mut out = String::with_capacity(path.len() + 2);
    out.push('"');
    for c in path.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_ascii_control() => out.push_str(&format!("\\{:03o}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

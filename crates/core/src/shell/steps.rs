//! Steps: the commands that a line runs one after the other, without what only surrounds them.

use super::word::{Joint, SimpleCommand, Word, WordKind, base_name};
use super::{CommandLine, HereDocument};

/// Scripts inside scripts are followed this deep.
const DEEPEST: usize = 4;
/// More steps than these are not read.
const MOST_STEPS: usize = 64;

/// Programs that run a script.
pub const SHELLS: &[&str] =
    &["sh", "bash", "zsh", "dash", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"];

/// Programs that run the command behind them unchanged, with their options that take a value.
const WRAPPERS: &[(&str, &[&str])] = &[
    ("env", &["-u", "-C", "-S"]),
    ("timeout", &["-k", "-s"]),
    ("gtimeout", &["-k", "-s"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("time", &["-f", "-o"]),
    ("gtime", &["-f", "-o"]),
    ("command", &[]),
    ("exec", &[]),
    ("builtin", &[]),
    ("sudo", &["-u", "-g"]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("caffeinate", &["-t", "-w"]),
    ("xvfb-run", &["-s", "-n"]),
    ("ionice", &["-c", "-n"]),
    ("setsid", &[]),
    ("unbuffer", &[]),
    ("rtk", &[]),
];

/// Folder that a step runs in, relative to where the line starts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Folder {
    /// Where the line starts.
    #[default]
    Start,
    /// Another folder: absolute, or relative to where the line starts.
    Path(String),
    /// A folder that is known only when the line runs.
    Unknown,
}

impl Folder {
    /// The folder after `cd to`.
    pub fn join(&self, to: &str) -> Self {
        let to = to.trim_end_matches('/');
        let base = match self {
            Self::Start => "",
            Self::Path(base) => base.as_str(),
            Self::Unknown if to.starts_with('/') => "",
            Self::Unknown => return Self::Unknown,
        };
        let joined = if to.starts_with(['/', '~']) || base.is_empty() {
            to.to_owned()
        } else {
            format!("{base}/{to}")
        };
        match clean_path(&joined) {
            path if path.is_empty() => Self::Start,
            path => Self::Path(path),
        }
    }
}

/// A path without `.`, doubled slashes and the `..` that can be resolved.
pub fn clean_path(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Relation of a step to the exit status of the whole line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// If the line succeeded, the step succeeded.
    Decides,
    /// A pipe or a later command hides its status.
    Masked,
}

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Program and arguments, without wrappers such as `env` and `timeout`.
    pub words: Vec<Word>,
    /// Variables that are set for it.
    pub assignments: Vec<Word>,
    /// Commands that its output is piped into.
    pub filters: Vec<Vec<Word>>,
    /// Where it runs.
    pub folder: Folder,
    /// What the line's status says about it.
    pub status: StepStatus,
    /// Here-documents that it is given.
    pub documents: Vec<HereDocument>,
    /// File that its output is redirected to; none for a step in the background, which may still be writing.
    pub output_file: Option<String>,
}

impl Step {
    /// The program's name without its folder; empty if it is known only when the line runs.
    pub fn program(&self) -> &str {
        self.words
            .first()
            .filter(|word| word.kind != WordKind::Dynamic)
            .map_or("", |word| base_name(&word.text))
    }

    /// The text of a word; empty if there is none.
    pub fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", |word| word.text.as_str())
    }
}

impl CommandLine {
    /// The steps of the line, in order. Substitutions and the headers of loops are left out.
    ///
    /// ```
    /// use throughline_core::shell::{CommandLine, Folder, StepStatus};
    ///
    /// let steps = CommandLine::read("cd web && CI=1 timeout 60 npm test 2>&1 | tail -5").steps();
    /// assert_eq!((steps.len(), steps[0].program(), steps[0].word(1)), (1, "npm", "test"));
    /// assert_eq!(steps[0].folder, Folder::Path("web".to_owned()));
    /// assert_eq!(steps[0].status, StepStatus::Masked);
    /// ```
    pub fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let start =
            Frame { folder: Folder::Start, status: StepStatus::Decides, filters: Vec::new(), depth: 0 };
        self.add_steps(&start, &mut steps);
        steps
    }

    fn add_steps(&self, frame: &Frame, steps: &mut Vec<Step>) {
        let simple: Vec<&SimpleCommand> =
            self.simple.iter().filter(|simple| !simple.is_substituted).collect();
        let mut options = ShellOptions::default();
        // Folders of the enclosing subshells, the current one last.
        let mut folders = vec![frame.folder.clone()];
        let mut at = 0;
        // Steps of groups whose output goes on into a pipe, up to the last step.
        let mut piped = steps.len();
        while let Some(first) = simple.get(at) {
            let before = at.checked_sub(1).and_then(|before| simple.get(before));
            let is_behind_group = before.is_some_and(|before| before.group_joint == Some(Joint::Pipe))
                && first.group_joint != Some(Joint::Pipe);
            let rest = simple.get(at..).unwrap_or_default();
            let length = 1 + rest.iter().take_while(|command| command.joint == Joint::Pipe).count();
            let pipeline = rest.get(..length).unwrap_or(rest);
            at += pipeline.len();
            folders.truncate(first.subshells + 1);
            while folders.len() <= first.subshells {
                folders.push(folders.last().cloned().unwrap_or_default());
            }
            if steps.len() >= MOST_STEPS {
                return;
            }
            if is_behind_group {
                for step in steps.iter_mut().skip(piped) {
                    step.filters.extend(pipeline.iter().map(|command| command.words.clone()));
                }
                continue;
            }
            if first.group_joint != Some(Joint::Pipe) {
                piped = steps.len();
            }
            let Some(folder) = folders.last_mut() else { return };
            if matches!(first.keyword, Some("for" | "case" | "select" | "[[")) {
                continue;
            }
            options.update(first);
            let words = unwrap(&first.words);
            if let Some(moved) = moved(&words, folder) {
                *folder = moved;
                continue;
            }
            let later = simple.get(at - 1..).unwrap_or_default();
            let is_hidden = frame.status == StepStatus::Masked
                || is_masked(pipeline, &options)
                || !later.iter().enumerate().all(|(offset, later)| {
                    // A line end or `;` behind the last command joins it to nothing.
                    let is_end = at + offset == simple.len()
                        && later.joint == Joint::Next
                        && later.group_joint.is_none();
                    is_end || keeps_status(later, &options)
                });
            let mut filters: Vec<Vec<Word>> =
                pipeline.iter().skip(1).map(|command| command.words.clone()).collect();
            filters.extend(frame.filters.iter().cloned());
            let status = if is_hidden { StepStatus::Masked } else { StepStatus::Decides };
            if frame.depth < DEEPEST
                && let Some(script) = script_of(&words)
            {
                let inner = Frame { folder: folder.clone(), status, filters, depth: frame.depth + 1 };
                Self::read(script).add_steps(&inner, steps);
                continue;
            }
            if words.is_empty() {
                continue;
            }
            steps.push(Step {
                words,
                assignments: first.assignments.clone(),
                filters,
                folder: folder.clone(),
                status,
                documents: self.bodies_of(first).cloned().collect(),
                output_file: output_file(first),
            });
        }
    }
}

/// The file that a command in the foreground writes its output to.
fn output_file(simple: &SimpleCommand) -> Option<String> {
    let is_background = [Some(simple.joint), simple.group_joint].contains(&Some(Joint::Background));
    let written = simple.redirects.iter().find(|redirect| redirect.writes())?;
    written.word.literal().filter(|_| !is_background).map(str::to_owned)
}

/// What surrounds a script: the line that runs it.
struct Frame {
    folder: Folder,
    status: StepStatus,
    filters: Vec<Vec<Word>>,
    depth: usize,
}

/// Options of the shell that change what a status says.
#[derive(Default)]
struct ShellOptions {
    exits_on_error: bool,
    has_pipefail: bool,
}

impl ShellOptions {
    fn update(&mut self, simple: &SimpleCommand) {
        if simple.program() != Some("set") {
            return;
        }
        for word in simple.words.iter().skip(1) {
            let is_set = word.text.starts_with('-');
            let letters = word.text.strip_prefix(['-', '+']);
            if letters.is_some_and(|letters| letters.contains('e')) {
                self.exits_on_error = is_set;
            }
            self.has_pipefail |= word.text == "pipefail";
        }
    }
}

/// Whether a pipe, a condition or a negation hides the status of a pipeline's first command.
fn is_masked(pipeline: &[&SimpleCommand], options: &ShellOptions) -> bool {
    let Some(first) = pipeline.first() else { return true };
    (pipeline.len() > 1 && !options.has_pipefail)
        || matches!(first.keyword, Some("if" | "elif" | "while" | "until" | "!"))
        || first.group_joint.is_some_and(|joint| !joint_keeps_status(joint, options))
}

/// Whether the line still fails if everything up to this command failed.
fn keeps_status(simple: &SimpleCommand, options: &ShellOptions) -> bool {
    let is_end_of_group = simple.joint == Joint::End;
    let joint = simple.group_joint.filter(|_| is_end_of_group).unwrap_or(simple.joint);
    joint == Joint::Pipe || joint_keeps_status(joint, options)
}

fn joint_keeps_status(joint: Joint, options: &ShellOptions) -> bool {
    match joint {
        Joint::End | Joint::And => true,
        Joint::Next => options.exits_on_error,
        Joint::Pipe => options.has_pipefail,
        Joint::Or | Joint::Background => false,
    }
}

/// The folder after a `cd`.
fn moved(words: &[Word], folder: &Folder) -> Option<Folder> {
    let (program, rest) = words.split_first()?;
    if !matches!(program.text.as_str(), "cd" | "pushd" | "chdir") {
        return None;
    }
    let to = rest.iter().find(|word| !word.text.starts_with('-') || word.text == "-");
    Some(match to {
        Some(word) if word.kind == WordKind::Literal && word.text != "-" => folder.join(&word.text),
        Some(_) | None => Folder::Unknown,
    })
}

/// The words of a command without the wrappers in front of it.
fn unwrap(words: &[Word]) -> Vec<Word> {
    let mut rest = words;
    while let Some((first, behind)) = rest.split_first()
        && let Some((name, with_value)) = WRAPPERS.iter().find(|(name, _)| *name == base_name(&first.text))
    {
        // `command -v` looks up, it runs nothing.
        if behind.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")) && *name == "command"
        {
            break;
        }
        let mut at = 0;
        while let Some(word) = behind.get(at) {
            let text = word.text.as_str();
            let is_duration = name.ends_with("timeout") && text.starts_with(|c: char| c.is_ascii_digit());
            if text.starts_with('-') {
                at += 1 + usize::from(with_value.contains(&text));
            } else if is_duration || (*name == "env" && word.equals.is_some()) {
                at += 1;
            } else {
                break;
            }
        }
        let Some(inner) = behind.get(at..).filter(|inner| !inner.is_empty()) else { break };
        rest = inner;
    }
    rest.to_vec()
}

/// The script of `bash -lc '…'`.
fn script_of(words: &[Word]) -> Option<&str> {
    let (program, rest) = words.split_first()?;
    if !SHELLS.contains(&base_name(&program.text)) {
        return None;
    }
    let at = rest.iter().position(|word| is_script_option(&word.text))?;
    let is_plain = rest.get(..at)?.iter().all(|word| word.text.starts_with('-'));
    let script = rest.get(at + 1).filter(|word| word.kind != WordKind::Dynamic)?;
    is_plain.then_some(script.text.as_str())
}

/// Whether an option of a shell says that a script follows, such as `-c` and `-lc`.
fn is_script_option(option: &str) -> bool {
    option.strip_prefix('-').is_some_and(|letters| {
        letters.ends_with('c') && letters.len() <= 4 && letters.chars().all(|c| c.is_ascii_alphabetic())
    })
}

/// The command line of an argument list: the script of `bash -lc`, or the words, quoted where needed.
///
/// ```
/// assert_eq!(throughline_core::shell::line_of_argv(&["bash", "-lc", "a | b"]), "a | b");
/// assert_eq!(throughline_core::shell::line_of_argv(&["rg", "a b"]), "rg 'a b'");
/// ```
pub fn line_of_argv(argv: &[&str]) -> String {
    match argv {
        [shell, option, script, ..] if SHELLS.contains(&base_name(shell)) && is_script_option(option) => {
            (*script).to_owned()
        }
        words => words.iter().map(|word| super::word::quote(word, false)).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str) -> Vec<String> {
        let told = |step: &Step| {
            let words: Vec<&str> = step.words.iter().map(|word| word.text.as_str()).collect();
            let folder = match &step.folder {
                Folder::Start => String::new(),
                Folder::Path(path) => format!("{path}: "),
                Folder::Unknown => "?: ".to_owned(),
            };
            let mask = match step.status {
                StepStatus::Decides => "",
                StepStatus::Masked => " (masked)",
            };
            format!("{folder}{}{mask}", words.join(" "))
        };
        CommandLine::read(line).steps().iter().map(told).collect()
    }

    #[test]
    fn steps_of_a_line() {
        for (line, steps) in [
            ("go test ./...", &["go test ./..."] as &[&str]),
            ("cd a && go test ./...", &["a: go test ./..."]),
            ("cd /x/a/../b; go test", &["/x/b: go test"]),
            ("cd a && (cd b && make) && make", &["a/b: make", "a: make"]),
            ("(cd a && make) 2>&1 | tail -3", &["a: make (masked)"]),
            ("{ make; make test; } | tail", &["make (masked)", "make test (masked)"]),
            ("cd \"$DIR\" && make", &["?: make"]),
            ("make | tee log | tail -3", &["make (masked)"]),
            ("set -o pipefail; make | tail -3", &["set -o pipefail (masked)", "make"]),
            ("set -e\nmake\nmake test", &["set -e", "make", "make test"]),
            ("make; make test", &["make (masked)", "make test"]),
            ("make && make test; echo done", &["make (masked)", "make test (masked)", "echo done"]),
            ("make || true", &["make (masked)", "true"]),
            ("make &", &["make (masked)"]),
            ("! make", &["make (masked)"]),
            ("if make; then echo ok; fi", &["make (masked)", "echo ok (masked)"]),
            ("for d in a b; do make -C $d; done", &["make -C $d (masked)"]),
            ("FOO=1 env BAR=2 timeout -k 5 60s nice -n 5 make", &["make"]),
            ("bash -lc 'cd a && make | tail'", &["a: make (masked)"]),
            ("timeout 9 bash -c \"make\" | tail", &["make (masked)"]),
            ("x=$(git rev-parse HEAD) && echo $x", &["echo $x"]),
            ("cat <<'E' > f\nmake; rm x\nE\nmake", &["cat (masked)", "make"]),
            ("make;", &["make"]),
            ("python3 - <<'E'\nx\nE\n", &["python3 -"]),
            ("command -v go", &["command -v go"]),
            ("[[ -d x ]] && make", &["make"]),
        ] {
            assert_eq!(told(line), steps, "{line}");
        }
    }

    #[test]
    fn odd_lines_do_not_panic() {
        for odd in [
            "",
            "|",
            "&&",
            ";;",
            "'",
            "(",
            "a <<",
            "\\",
            "$(",
            "> x",
            "FOO=1",
            "bash -c",
            "} | x",
            "fi",
            "🦀 && 日本 | x",
        ] {
            let _ = CommandLine::read(odd).steps();
        }
    }
}

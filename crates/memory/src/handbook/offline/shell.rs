//! A command line as steps, each in a form that is the same wherever and whenever it was run.

use crate::extract::pattern::patterns;
use throughline_core::shell::{self, CommandLine, Folder, StepStatus, Word};
use throughline_core::text::{head, one_line};

patterns! {
    SHORT_ASSIGNMENT = r"^[A-Z][A-Z0-9_]*=[A-Za-z0-9_,.-]{1,20}$";
    TEMPORARY = r#"(?:/private)?/(?:tmp|var/folders|var/tmp)(?:/[^\s"']*)?|\$\{?(?:TMPDIR|TMP|TEMP|SCRATCH\w*)\}?(?:/[^\s"']*)?"#;
    HOME = r"(?:/Users|/home)/[A-Za-z0-9_.-]+";
    TIME = r"\b\d{4}-?\d\d-?\d\d[T_-]\d\d[:-]?\d\d[:-]?\d\d\S*\b";
    UUID = r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b";
    SHA = r"\b(?:[0-9a-f]*[a-f][0-9a-f]*\d[0-9a-f]*|[0-9a-f]*\d[0-9a-f]*[a-f][0-9a-f]*)\b";
    NUMBER = r"^#?\d{2,}$";
}

/// Longer commands are scripts: only their beginning is read.
const LONGEST: usize = 2_000;
const MOST_STEPS: usize = 12;
/// Characters of an argument in quotes that is shown.
const SHOWN_QUOTE: usize = 28;
/// Characters of a step.
const LONGEST_STEP: usize = 160;

/// What cuts or sorts an output and is no part of what was done.
const FILTERS: [&str; 22] = [
    "head", "tail", "grep", "rg", "egrep", "sed", "awk", "wc", "sort", "uniq", "cut", "tee", "cat", "less",
    "jq", "column", "tr", "nl", "fold", "fmt", "more", "ts",
];
/// Flags whose value is different each time.
const VARIES: [&str; 14] = [
    "-run",
    "--run",
    "-t",
    "-k",
    "-m",
    "--grep",
    "--title",
    "--body",
    "--message",
    "--body-file",
    "--description",
    "--notes",
    "--testNamePattern",
    "--test-id",
];

/// One simple command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    /// In normal form.
    pub(super) text: String,
    /// Its words, in normal form.
    pub(super) words: Vec<String>,
    /// The folder that it runs in, if that is below the session's; `Elsewhere` loses it.
    pub(super) place: Place,
    /// Whether its exit status is hidden behind a pipe or what follows.
    pub(super) is_masked: bool,
    /// Whether it runs a script that stands in the command itself.
    pub(super) is_script: bool,
}

/// Where a step runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// In the session's folder.
    Here,
    /// Below it.
    Below(String),
    /// In another folder.
    Elsewhere,
}

impl Step {
    /// The program's name, without its folder.
    pub(super) fn program(&self) -> &str {
        let first = self.words.first().map_or("", String::as_str);
        first.rsplit('/').next().unwrap_or(first)
    }

    /// As it is told: with the folder, if that is not the session's.
    pub(super) fn told(&self) -> String {
        match &self.place {
            Place::Here | Place::Elsewhere => self.text.clone(),
            Place::Below(folder) => format!("cd {folder} && {}", self.text),
        }
    }
}

/// The steps of a command line, in order.
pub(super) fn steps(command: &str, cwd: Option<&str>) -> Vec<Step> {
    let line = CommandLine::read(head(command, LONGEST));
    line.steps().iter().filter_map(|step| Step::from_shell(step, cwd)).take(MOST_STEPS).collect()
}

impl Step {
    fn from_shell(step: &shell::Step, cwd: Option<&str>) -> Option<Self> {
        let words = words(step, cwd);
        let program = step.program();
        let is_inline = step
            .words
            .iter()
            .skip(1)
            .take(2)
            .any(|word| matches!(word.text.as_str(), "-c" | "-e" | "-" | "--eval"));
        let is_filtered = step
            .filters
            .iter()
            .all(|filter| filter.first().is_some_and(|program| FILTERS.contains(&program.text.as_str())));
        (!words.is_empty()).then(|| Self {
            text: one_line(&words.join(" "), LONGEST_STEP),
            is_masked: step.status == StepStatus::Masked,
            is_script: !is_filtered || !step.documents.is_empty() || (is_inline && is_interpreter(program)),
            place: Place::from_folder(&step.folder, cwd),
            words,
        })
    }
}

impl Place {
    fn from_folder(folder: &Folder, cwd: Option<&str>) -> Self {
        let path = match folder {
            Folder::Start => return Self::Here,
            Folder::Unknown => return Self::Elsewhere,
            Folder::Path(path) => path,
        };
        let cwd = cwd.unwrap_or_default();
        match path.strip_prefix(cwd).filter(|_| path.starts_with('/') && cwd.len() > 1) {
            Some("") => Self::Here,
            Some(below) if below.starts_with('/') => Self::Below(below.trim_start_matches('/').to_owned()),
            Some(_) | None if path.starts_with(['/', '~', '$', '<', '-']) || path.starts_with("..") => {
                Self::Elsewhere
            }
            Some(_) | None => Self::Below(path.clone()),
        }
    }
}

fn is_interpreter(program: &str) -> bool {
    [
        "python",
        "python3",
        "node",
        "bun",
        "deno",
        "perl",
        "ruby",
        "php",
        "bash",
        "sh",
        "zsh",
        "osascript",
        "psql",
        "sqlite3",
    ]
    .contains(&program)
}

/// The words of a step in normal form, with the short assignments in front of it.
fn words(step: &shell::Step, cwd: Option<&str>) -> Vec<String> {
    let set = step.assignments.iter().map(|word| word.text.clone());
    let mut words: Vec<String> = set.filter(|word| SHORT_ASSIGNMENT.is_in(word)).collect();
    let arguments_from = words.len() + 1;
    let mut rest = step.words.iter().peekable();
    while let Some(word) = rest.next() {
        words.push(normal(word, cwd));
        let varies = VARIES.contains(&word.text.as_str()) && words.len() > arguments_from + 1;
        if varies && rest.next().is_some() {
            words.push("…".to_owned());
        }
    }
    words
}

/// A word without what differs from run to run.
fn normal(word: &Word, cwd: Option<&str>) -> String {
    let is_quoted = !word.is_plain || word.text.contains("$(");
    if is_quoted && (word.text.chars().count() + 2 > SHOWN_QUOTE || word.text.contains('\n')) {
        return "\"…\"".to_owned();
    }
    let mut word = word.quoted();
    if let Some(cwd) = cwd.filter(|cwd| cwd.len() > 1) {
        word = word.replace(&format!("{cwd}/"), "").replace(cwd, ".");
    }
    if word.contains('/') || word.contains('$') {
        word = TEMPORARY.replaced(&word, "<tmp>");
        word = HOME.replaced(&word, "~");
    }
    if word.bytes().any(|b| b.is_ascii_digit()) {
        word = UUID.replaced(&word, "<id>");
        word = TIME.replaced(&word, "<time>");
        if NUMBER.is_in(&word) {
            return "<n>".to_owned();
        }
        let long = |word: &str| word.bytes().filter(u8::is_ascii_hexdigit).count() >= 7;
        if long(&word) && SHA.is_in(&word) && word.bytes().all(|b| b.is_ascii_hexdigit()) {
            return "<sha>".to_owned();
        }
    }
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(command: &str) -> Vec<String> {
        steps(command, Some("/srv/app")).into_iter().map(|step| step.told()).collect()
    }

    #[test]
    fn the_same_command_is_the_same_text_however_it_was_run() {
        for command in [
            "mise run test",
            "cd /srv/app && mise run test 2>&1 | tail -20",
            "mise run test > /dev/null 2>&1",
            "timeout 280 mise run test | head -50",
            "time mise run test",
            "FOO=/tmp/x mise run test",
            "# all of them\nmise run test",
        ] {
            assert_eq!(texts(command), ["mise run test"], "{command}");
        }
        assert_eq!(texts("cd web && npm test"), ["cd web && npm test"]);
        assert_eq!(texts("mise run fmt && mise run lint"), ["mise run fmt", "mise run lint"]);
        assert_eq!(texts("go build -o /tmp/x ./cmd/x"), ["go build -o <tmp> ./cmd/x"]);
        assert_eq!(texts("gh pr merge 44 --squash"), ["gh pr merge <n> --squash"]);
        assert_eq!(texts("go test ./a -run TestX -v"), ["go test ./a -run … -v"]);
        assert_eq!(texts("cat /srv/app/a.rs"), ["cat a.rs"]);
    }

    #[test]
    fn long_arguments_and_documents_are_left_out() {
        assert_eq!(
            texts(
                "gh pr create --title \"a very long title that nobody needs to read\" --body \"$(cat <<'EOF'\nx && y\nEOF\n)\""
            ),
            ["gh pr create --title … --body …"]
        );
        let script = steps("python3 - <<'EOF'\nimport os\nEOF", None);
        assert!(script.iter().all(|step| step.is_script), "{script:?}");
        assert!(steps("node -e 'x'", None)[0].is_script);
        assert!(!steps("git commit -m x", None)[0].is_script);
    }

    #[test]
    fn a_status_behind_a_pipe_or_before_a_semicolon_is_masked() {
        let masked =
            |command: &str| steps(command, None).iter().map(|step| step.is_masked).collect::<Vec<_>>();
        assert_eq!(masked("a && b"), [false, false]);
        assert_eq!(masked("a; b"), [true, false]);
        assert_eq!(masked("a | tail -3"), [true]);
        assert_eq!(masked("a && b; c && d"), [true, true, false, false]);
        assert_eq!(masked("a\nb"), [true, false]);
    }

    #[test]
    fn odd_commands_do_not_panic() {
        for odd in [
            "",
            "|",
            "&&",
            ";;",
            "'",
            "\"",
            "(",
            "a <<",
            "a <<EOF",
            "\\",
            "$(",
            "> x",
            "FOO=1",
            "🦀 && 日本 | x",
        ] {
            let _ = steps(odd, Some("/"));
        }
    }
}

//! A command line as steps, each in a form that is the same wherever and whenever it was run.

use crate::extract::pattern::patterns;
use throughline_core::text::head;

patterns! {
    ASSIGNMENT = r"^[A-Za-z_][A-Za-z0-9_]*=";
    SHORT_ASSIGNMENT = r"^[A-Z][A-Z0-9_]*=[A-Za-z0-9_,.-]{1,20}$";
    REDIRECTION = r"^(?:\d*|&)(?:>>?|<)(?:&\d+|&-)?$";
    REDIRECTED = r"^(?:\d*|&)(?:>>?|<)&?[^<>(].*$";
    TEMPORARY = r#"(?:/private)?/(?:tmp|var/folders|var/tmp)(?:/[^\s"']*)?|\$\{?(?:TMPDIR|TMP|TEMP|SCRATCH\w*)\}?(?:/[^\s"']*)?|\$\(mktemp[^)]*\)(?:/[^\s"']*)?"#;
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
    let (script, has_document) = without_documents(head(command, LONGEST));
    let mut steps: Vec<Step> = Vec::new();
    let mut place = Place::Here;
    let pipelines = pipelines(&script);
    let last = pipelines.len().saturating_sub(1);
    for (at, pipeline) in pipelines.iter().enumerate() {
        let Some(first) = pipeline.commands.first() else { continue };
        let words = words(first, cwd);
        let Some(program) = words.first() else { continue };
        if program == "cd" || program == "pushd" {
            place = moved(words.get(1).map_or("", String::as_str), &place);
            continue;
        }
        let filtered = pipeline.commands.iter().skip(1).all(|rest| is_filter(rest));
        let is_inline =
            words.iter().skip(1).take(2).any(|word| matches!(word.as_str(), "-c" | "-e" | "-" | "--eval"));
        let is_last = at == last;
        steps.push(Step {
            text: throughline_core::text::one_line(&words.join(" "), LONGEST_STEP),
            is_masked: pipeline.commands.len() > 1 || (!is_last && pipeline.joint != Joint::And),
            is_script: !filtered || has_document || (is_inline && is_interpreter(program)),
            place: place.clone(),
            words,
        });
        if steps.len() == MOST_STEPS {
            break;
        }
    }
    // What stands before `;` has no say in the exit status; what `&&` joins to the end has.
    if let Some(cut) = pipelines.iter().rposition(|pipeline| pipeline.joint == Joint::Next) {
        let behind = pipelines.len() - cut - 1;
        let before = steps.len().saturating_sub(behind);
        steps.iter_mut().take(before).for_each(|step| step.is_masked = true);
    }
    steps
}

fn is_interpreter(program: &str) -> bool {
    let program = program.rsplit('/').next().unwrap_or(program);
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

fn is_filter(command: &str) -> bool {
    command.split_whitespace().next().is_some_and(|program| FILTERS.contains(&program))
}

fn moved(to: &str, from: &Place) -> Place {
    let to = to.trim_matches(['"', '\'']).trim_end_matches('/');
    if to.is_empty() || to.starts_with(['/', '~', '$', '<', '-']) || to.starts_with("..") {
        return Place::Elsewhere;
    }
    if to == "." {
        return Place::Here;
    }
    match from {
        Place::Here => Place::Below(to.trim_start_matches("./").to_owned()),
        Place::Below(folder) => Place::Below(format!("{folder}/{to}")),
        Place::Elsewhere => Place::Elsewhere,
    }
}

/// How a pipeline is joined to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Joint {
    And,
    Next,
}

struct Pipeline {
    commands: Vec<String>,
    joint: Joint,
}

/// A script without what stands in here-documents.
fn without_documents(script: &str) -> (String, bool) {
    let mut kept = String::with_capacity(script.len());
    let mut end: Option<String> = None;
    let mut any = false;
    for line in script.lines() {
        if let Some(mark) = &end {
            if line.trim() == mark {
                end = None;
            }
            continue;
        }
        match line.split_once("<<") {
            Some((before, mark)) if !mark.starts_with('<') => {
                let name: String = mark
                    .trim_start_matches('-')
                    .trim_start()
                    .chars()
                    .skip_while(|c| matches!(c, '\'' | '"' | '\\'))
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                any = true;
                end = Some(name).filter(|name| !name.is_empty());
                kept.push_str(before);
            }
            _ => kept.push_str(line),
        }
        kept.push('\n');
    }
    (kept.replace("\\\n", " "), any)
}

fn pipelines(script: &str) -> Vec<Pipeline> {
    let mut all = Vec::new();
    let mut commands = Vec::new();
    let mut command = String::new();
    let mut quote: Option<char> = None;
    let mut depth = 0_usize;
    let mut chars = script.chars().peekable();
    let end_command = |command: &mut String, commands: &mut Vec<String>| {
        let text = std::mem::take(command);
        if !text.trim().is_empty() {
            commands.push(text.trim().to_owned());
        }
    };
    while let Some(c) = chars.next() {
        if let Some(mark) = quote {
            command.push(c);
            match c {
                '\\' if mark == '"' => command.extend(chars.next()),
                c if c == mark => quote = None,
                _ => {}
            }
            continue;
        }
        let joint = match c {
            '\'' | '"' | '`' => {
                quote = Some(c);
                None
            }
            '\\' => {
                command.push(c);
                command.extend(chars.next());
                continue;
            }
            '(' | '{' => {
                depth += 1;
                None
            }
            ')' | '}' => {
                depth = depth.saturating_sub(1);
                None
            }
            '#' if depth == 0 && (command.is_empty() || command.ends_with(char::is_whitespace)) => {
                // A comment, to the end of the line.
                while chars.peek().is_some_and(|next| *next != '\n') {
                    chars.next();
                }
                continue;
            }
            '\n' | ';' if depth == 0 => Some(Joint::Next),
            '&' if depth == 0 && chars.peek() == Some(&'&') => {
                chars.next();
                Some(Joint::And)
            }
            '|' if depth == 0 && chars.peek() == Some(&'|') => {
                chars.next();
                Some(Joint::Next)
            }
            '|' if depth == 0 => {
                if chars.peek() == Some(&'&') {
                    chars.next();
                }
                end_command(&mut command, &mut commands);
                continue;
            }
            '&' if depth == 0 && !command.ends_with('>') && chars.peek() != Some(&'>') => Some(Joint::Next),
            _ => None,
        };
        match joint {
            None => command.push(c),
            Some(joint) => {
                end_command(&mut command, &mut commands);
                if !commands.is_empty() {
                    all.push(Pipeline { commands: std::mem::take(&mut commands), joint });
                }
            }
        }
    }
    end_command(&mut command, &mut commands);
    if !commands.is_empty() {
        all.push(Pipeline { commands, joint: Joint::And });
    }
    // What follows nothing does not mask.
    if let Some(last) = all.last_mut() {
        last.joint = Joint::And;
    }
    all
}

/// The words of a simple command, in normal form.
fn words(command: &str, cwd: Option<&str>) -> Vec<String> {
    let raw = split(command);
    let mut words: Vec<String> = Vec::new();
    let mut raw = raw.into_iter().peekable();
    let mut varies = false;
    while let Some(word) = raw.next() {
        if REDIRECTION.is_in(&word) {
            // `2>&1` is whole; `> file` takes the next word.
            if !word.contains('&') {
                raw.next();
            }
            continue;
        }
        if REDIRECTED.is_in(&word) {
            continue;
        }
        if words.is_empty() {
            if ASSIGNMENT.is_in(&word) && !SHORT_ASSIGNMENT.is_in(&word) {
                continue;
            }
            if matches!(
                word.as_str(),
                "time" | "nohup" | "command" | "env" | "exec" | "!" | "(" | "{" | "then" | "do" | "else"
            ) {
                continue;
            }
            if word == "timeout" || word == "gtimeout" {
                while raw.peek().is_some_and(|next| {
                    next.starts_with('-') || next.starts_with(|c: char| c.is_ascii_digit())
                }) {
                    raw.next();
                }
                continue;
            }
        }
        if varies {
            varies = false;
            words.push("…".to_owned());
            continue;
        }
        varies = VARIES.contains(&word.as_str()) && words.len() > 1 && raw.peek().is_some();
        words.push(normal(&word, cwd));
    }
    // `FOO=1` alone runs nothing.
    if words.iter().all(|word| ASSIGNMENT.is_in(word)) {
        return Vec::new();
    }
    words
}

/// Words, with quotes kept.
fn split(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote: Option<char> = None;
    let mut depth = 0_usize;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(mark), c) if c == mark => {
                quote = None;
                word.push(c);
            }
            (_, '\\') => {
                word.push(c);
                word.extend(chars.next());
            }
            (Some(_), c) => word.push(c),
            (None, '\'' | '"' | '`') => {
                quote = Some(c);
                word.push(c);
            }
            (None, '(') => {
                depth += 1;
                word.push(c);
            }
            (None, ')') => {
                depth = depth.saturating_sub(1);
                word.push(c);
            }
            (None, c) if c.is_whitespace() && depth == 0 => {
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (None, c) => word.push(c),
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// A word without what differs from run to run.
fn normal(word: &str, cwd: Option<&str>) -> String {
    let mut word = word.to_owned();
    if let Some(cwd) = cwd.filter(|cwd| cwd.len() > 1) {
        word = word.replace(&format!("{cwd}/"), "").replace(cwd, ".");
    }
    if word.contains('/') || word.contains('$') {
        word = TEMPORARY.replaced(&word, "<tmp>");
        word = HOME.replaced(&word, "~");
    }
    let is_quoted = word.contains(['"', '\'']) || word.contains("$(");
    if is_quoted && (word.chars().count() > SHOWN_QUOTE || word.contains('\n')) {
        return "\"…\"".to_owned();
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

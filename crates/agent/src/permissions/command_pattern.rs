//! Patterns of commands in rules.
//!
//! `cargo build` is that command to the letter; `cargo test:*` every command that begins with these words; `npm run *:unit` a
//! text in which `*` stands for anything (`\*` for itself). A rule is about one simple command; what permits a line permits each of its
//! commands.

use super::command::{CommandLine, SimpleCommand, Word, WordKind, base_name};

/// A pattern of commands.
#[derive(Clone, Debug)]
pub(super) enum CommandPattern {
    /// This line, and nothing else.
    Exact { text: String, words: Option<Vec<String>> },
    /// What begins with these words.
    Prefix(Vec<String>),
    /// What looks like this; `None` stands for anything.
    Text(Vec<Option<String>>),
}

/// Options by which a harmless program runs or writes something else. A rule must name them itself.
const RISKY: &[(&str, &[&str])] = &[
    ("find", &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
    ("rg", &["--pre", "--hostname-bin", "-z", "--search-zip"]),
    ("sort", &["-o", "--output", "--compress-program"]),
    ("tree", &["-o"]),
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "-F",
            "--info-script",
        ],
    ),
    (
        "git",
        &[
            "-c",
            "--config-env",
            "--exec-path",
            "--git-dir",
            "--work-tree",
            "--upload-pack",
            "--receive-pack",
            "--exec",
            "-x",
            "--output",
            "--ext-diff",
            "-O",
            "--open-files-in-pager",
            "--extcmd",
            "--template",
        ],
    ),
    ("cargo", &["--config", "-Z", "-C"]),
    ("go", &["-exec", "-toolexec", "-modfile", "-overlay", "-C"]),
    ("npm", &["--prefix", "--script-shell", "--node-options", "--userconfig", "--globalconfig"]),
    ("sed", &["-i", "--in-place"]),
    ("curl", &["-o", "-O", "--output", "-K", "--config", "-T", "--upload-file"]),
    ("wget", &["-O", "-e", "--execute", "--use-askpass"]),
    ("ssh", &["-o", "-F"]),
    ("rsync", &["-e", "--rsh"]),
    ("make", &["--eval", "-f", "--file", "--makefile", "-C", "--directory", "-I"]),
    ("pytest", &["-p", "-c", "--rootdir", "--confcutdir", "-o"]),
    ("mvn", &["-f", "--file", "-s", "--settings", "-gs"]),
    (
        "gradle",
        &[
            "-p",
            "-b",
            "-c",
            "-I",
            "--init-script",
            "--project-dir",
            "--build-file",
            "--settings-file",
            "--include-build",
        ],
    ),
    ("zip", &["-T", "-TT", "--unzip-command"]),
    ("man", &["-P", "--pager", "-H"]),
];

impl CommandPattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if let Some(prefix) = text.strip_suffix(":*").or_else(|| text.strip_suffix(" *"))
            && !prefix.trim_end().ends_with('\\')
            && !stars(prefix)
        {
            return Self::prefix(&unescape(prefix));
        }
        if !stars(text) {
            let text = unescape(text);
            let words = literal_words(&text);
            return Ok(Self::Exact { text, words });
        }
        let mut parts = vec![Some(String::new())];
        let mut rest = text.chars();
        while let Some(c) = rest.next() {
            match c {
                '*' => parts.extend([None, Some(String::new())]),
                c => {
                    let c = if c == '\\' { rest.next().unwrap_or(c) } else { c };
                    if let Some(Some(part)) = parts.last_mut() {
                        part.push(c);
                    }
                }
            }
        }
        Ok(Self::Text(parts))
    }

    fn prefix(prefix: &str) -> Result<Self, String> {
        match literal_words(prefix) {
            Some(words) => Ok(Self::Prefix(words)),
            None => {
                Err("before `:*` stand plain words, without variables, pipes or other commands".to_owned())
            }
        }
    }

    /// Whether a line is meant to the letter.
    pub(super) fn is_exactly(&self, line: &str) -> bool {
        match self {
            Self::Exact { text, .. } => text == line.trim(),
            Self::Prefix(_) | Self::Text(_) => false,
        }
    }

    /// Whether a command is certainly meant, for a rule that permits.
    pub(super) fn covers(&self, simple: &SimpleCommand) -> bool {
        if !simple.is_certain() {
            return false;
        }
        let words: Option<Vec<&str>> = simple.words.iter().map(Word::literal).collect();
        match self {
            Self::Exact { words: Some(exact), .. } => words.is_some_and(|words| words == *exact),
            Self::Exact { words: None, .. } => false,
            Self::Prefix(prefix) => {
                let has_prefix = prefix.len() <= simple.words.len()
                    && prefix.iter().zip(&simple.words).all(|(part, word)| word.literal() == Some(part));
                has_prefix && !is_risky(simple, |option| prefix.iter().any(|part| part == option))
            }
            Self::Text(parts) => {
                let named = |option: &str| {
                    let mut texts = parts.iter().flatten();
                    texts.any(|part| part.split(' ').any(|word| word == option))
                };
                // Words of which nothing is known but a pattern of file names could be anything.
                words.is_some() && looks_like(parts, &simple.text()) && !is_risky(simple, named)
            }
        }
    }

    /// Whether a command might be meant, for a rule that asks or refuses.
    pub(super) fn may_cover(&self, simple: &SimpleCommand) -> bool {
        let Some(program) = simple.program() else { return false };
        match self {
            Self::Exact { words: Some(exact), .. } => {
                exact.len() == simple.words.len() && begins(exact, simple)
            }
            Self::Exact { words: None, .. } => false,
            Self::Prefix(prefix) => begins(prefix, simple),
            Self::Text(parts) => {
                let text = simple.text();
                let short =
                    format!("{}{}", base_name(program), text.get(program.len()..).unwrap_or_default());
                looks_like(parts, &text) || looks_like(parts, &short)
            }
        }
    }

    /// Whether a whole line looks like it, for a rule that asks or refuses.
    pub(super) fn may_be(&self, line: &str) -> bool {
        match self {
            Self::Exact { text, .. } => text == line.trim(),
            Self::Prefix(_) => false,
            Self::Text(parts) => looks_like(parts, line.trim()),
        }
    }
}

/// Whether a command may begin with these words: by another path to the program, with options in between, or with words that are
/// known only when it runs.
fn begins(prefix: &[String], simple: &SimpleCommand) -> bool {
    let Some((first, others)) = prefix.split_first() else { return false };
    let Some((program, words)) = simple.words.split_first() else { return false };
    let name = program.text.as_str();
    if name != first && !base_name(name).eq_ignore_ascii_case(base_name(first)) {
        return false;
    }
    let mut words = words.iter();
    let mut may_skip = false;
    'parts: for part in others {
        for word in words.by_ref() {
            if word.kind != WordKind::Literal || word.text == *part {
                may_skip = false;
                continue 'parts;
            }
            // Options, and the values of options, may stand before a sub-command.
            let is_option = word.text.starts_with(['-', '+']);
            if !(is_option || may_skip) {
                return false;
            }
            may_skip = is_option;
        }
        return false;
    }
    true
}

fn is_risky(simple: &SimpleCommand, is_named: impl Fn(&str) -> bool) -> bool {
    let name = simple.program().map(base_name).unwrap_or_default();
    let Some((_, options)) = RISKY.iter().find(|(program, _)| *program == name) else { return false };
    let words = simple.words.get(1..).unwrap_or_default();
    words.iter().any(|word| {
        options.iter().filter(|option| !is_named(option)).any(|option| {
            let text = word.text.as_str();
            let is_long = option.starts_with("--") || option.len() > 2;
            // Long options can be shortened, short ones joined and followed by their value.
            let name = text.split('=').next().unwrap_or(text);
            let is_shortened = option.starts_with("--") && name.len() > 3 && option.starts_with(name);
            let letter = option.chars().nth(1).unwrap_or_default();
            let is_joined =
                !is_long && text.starts_with('-') && !text.starts_with("--") && text.contains(letter);
            let is_same = is_long && name.trim_start_matches('-') == option.trim_start_matches('-');
            (text.starts_with('-') && is_same) || name == *option || is_shortened || is_joined
        })
    })
}

/// The words of a text that is one plain command.
fn literal_words(text: &str) -> Option<Vec<String>> {
    let line = CommandLine::read(text);
    let [simple] = line.simple.as_slice() else { return None };
    let is_plain = line.doubt.is_none() && simple.assignments.is_empty() && simple.redirects.is_empty();
    let words =
        simple.words.iter().map(|word| word.literal().map(str::to_owned)).collect::<Option<Vec<_>>>()?;
    (is_plain && simple.bodies.is_empty() && !words.is_empty()).then_some(words)
}

/// Whether there is a `*` that stands for anything.
fn stars(text: &str) -> bool {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => return true,
            '\\' => drop(rest.next()),
            _ => {}
        }
    }
    false
}

fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' => {
                let next = rest.next();
                // Other backslashes are the shell's.
                if !matches!(next, Some('*' | '\\')) {
                    out.push('\\');
                }
                out.extend(next);
            }
            c => out.push(c),
        }
    }
    out
}

fn looks_like(parts: &[Option<String>], text: &str) -> bool {
    let mut rest = text;
    let mut is_loose = false;
    let last = parts.len().saturating_sub(1);
    for (at, part) in parts.iter().enumerate() {
        match part {
            None => is_loose = true,
            Some(part) if at == last && is_loose => return rest.ends_with(part.as_str()),
            Some(part) if is_loose => match rest.find(part.as_str()) {
                Some(found) => {
                    rest = rest.get(found + part.len()..).unwrap_or_default();
                    is_loose = false;
                }
                None => return false,
            },
            Some(part) => match rest.strip_prefix(part.as_str()) {
                Some(after) => rest = after,
                None => return false,
            },
        }
    }
    is_loose || rest.is_empty()
}

//! Whether a simple command changes nothing.

use super::flags::{Style, sort};
use super::git;
use super::programs::{Arguments, PROGRAMS, Program};
use super::reach::peel;
use throughline_core::shell::{CommandLine, Redirect, SimpleCommand, Word, WordKind};

/// What is known of a command that changes nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(in crate::permissions) struct ReadOnly {
    /// What it reads, as far as it says so.
    pub(in crate::permissions) paths: Vec<Word>,
    /// Where commands after it may run.
    pub(in crate::permissions) moves_to: Option<Word>,
    /// Whether it is git, which runs what a repository's configuration names.
    pub(in crate::permissions) is_git: bool,
    /// Whether it tells what is there, and not what it holds.
    pub(in crate::permissions) only_looks: bool,
    /// It follows links in a folder that it is given.
    pub(in crate::permissions) follows_links: bool,
}

/// Programs that tell what is there, and not what it holds.
const LOOKING: [&str; 13] =
    ["ls", "du", "df", "stat", "wc", "file", "find", "tree", "test", "[", "realpath", "readlink", "cd"];

/// Variables that change nothing but how something looks. Their values hold no path.
const HARMLESS_VARIABLES: [&str; 12] = [
    "LC_ALL",
    "LANG",
    "LC_CTYPE",
    "LC_COLLATE",
    "LC_MESSAGES",
    "LC_TIME",
    "NO_COLOR",
    "CLICOLOR",
    "FORCE_COLOR",
    "COLUMNS",
    "RUST_BACKTRACE",
    "CI",
];

/// Whether the variables that are set for a command change nothing but how something looks.
pub(in crate::permissions) fn has_harmless_variables(simple: &SimpleCommand) -> bool {
    simple.assignments.iter().all(|word| {
        let (WordKind::Literal, Some(at)) = (word.kind, word.equals) else { return false };
        let (name, value) = word.text.split_at(at);
        let value = value.strip_prefix('=').unwrap_or(value);
        let is_plain = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@'));
        let is_no_pager = matches!(name, "GIT_PAGER" | "PAGER") && value == "cat";
        is_no_pager || (is_plain && HARMLESS_VARIABLES.contains(&name))
    })
}

/// Returns true if no command of a line changes anything.
pub(crate) fn only_reads(command: &str) -> bool {
    let line = CommandLine::read(command);
    line.doubt.is_none()
        && !line.simple.is_empty()
        && line.simple.iter().all(|simple| read_only(&line, &peel(simple)).is_some())
}

/// What a command reads, if it changes nothing. `None`: it may change something, or can't be judged.
pub(in crate::permissions) fn read_only(line: &CommandLine, simple: &SimpleCommand) -> Option<ReadOnly> {
    let is_known = simple.is_certain()
        && has_harmless_variables(simple)
        && !simple.redirects.iter().any(Redirect::writes)
        && line.bodies_of(simple).all(|body| body.is_literal);
    if !is_known {
        return None;
    }
    match simple.words.split_first() {
        Some((program, words)) => {
            let name = name(program.literal()?)?;
            let found = judge(name, words)?;
            Some(ReadOnly { only_looks: LOOKING.contains(&name), ..found })
        }
        // Nothing but variables stays in force for what follows.
        None if simple.assignments.is_empty() => Some(ReadOnly::default()),
        None => None,
    }
}

/// The name of a program, where it is one of the system's.
fn name(program: &str) -> Option<&str> {
    let program =
        ["/bin/", "/usr/bin/"].iter().find_map(|folder| program.strip_prefix(folder)).unwrap_or(program);
    (!program.contains('/')).then_some(program)
}

fn judge(name: &str, words: &[Word]) -> Option<ReadOnly> {
    let literal = || words.iter().map(Word::literal).collect::<Option<Vec<&str>>>();
    match name {
        "git" => {
            let sorted = git::read_only(words)?;
            let paths = sorted.arguments.into_iter().cloned().chain(sorted.paths).collect();
            Some(ReadOnly { paths, is_git: true, ..ReadOnly::default() })
        }
        "cd" => match words {
            [folder]
                if folder.kind == WordKind::Literal
                    && !folder.text.starts_with('-')
                    && !folder.text.is_empty() =>
            {
                Some(ReadOnly {
                    paths: vec![folder.clone()],
                    moves_to: Some(folder.clone()),
                    ..ReadOnly::default()
                })
            }
            _ => None,
        },
        "command" => {
            let words = literal()?;
            let are_names =
                |names: &[&str]| !names.is_empty() && names.iter().all(|name| !name.contains('/'));
            let is_question = matches!(words.as_slice(), ["-v" | "-V", names @ ..] if are_names(names));
            is_question.then(ReadOnly::default)
        }
        "set" => {
            let is_harmless = |word: &&str| {
                let letters = word.strip_prefix(['-', '+']);
                *word == "pipefail"
                    || letters.is_some_and(|letters| letters.chars().all(|c| "euxo".contains(c)))
            };
            let words = literal()?;
            (!words.is_empty() && words.iter().all(is_harmless)).then(ReadOnly::default)
        }
        "exit" => match words {
            [] => Some(ReadOnly::default()),
            [status] => status.text.chars().all(|c| c.is_ascii_digit()).then(ReadOnly::default),
            _ => None,
        },
        _ => listed(PROGRAMS.iter().find(|program| program.name == name)?, words),
    }
}

fn listed(program: &Program, words: &[Word]) -> Option<ReadOnly> {
    let reads = |paths: Vec<Word>| Some(ReadOnly { paths, ..ReadOnly::default() });
    match program.arguments {
        Arguments::Text if program.options.is_empty() => {
            reads(words.iter().filter(|word| word.kind == WordKind::Glob).cloned().collect())
        }
        Arguments::Format => {
            only_formats(words.first()?.literal()?).then_some(())?;
            reads(words.iter().filter(|word| word.kind == WordKind::Glob).cloned().collect())
        }
        Arguments::ObjectFiles => {
            let may_be_file_of_arguments = |word: &Word| match word.kind {
                WordKind::Glob => word.text.starts_with(['*', '?', '[', '@']),
                WordKind::Literal | WordKind::Dynamic => word.text.starts_with('@'),
            };
            (!words.iter().any(may_be_file_of_arguments)).then(|| sorted(program, words))?
        }
        Arguments::Compared => sorted(program, words).map(|found| ReadOnly { follows_links: true, ..found }),
        Arguments::Test => {
            // A subscript would be evaluated, and with it what it holds.
            let is_odd = |word: &Word| {
                matches!(word.text.as_str(), "-v" | "-R") || word.text.contains(['$', '`', '('])
            };
            let is_closed = program.name != "[" || words.last().is_some_and(|word| word.text == "]");
            (is_closed && !words.iter().any(is_odd)).then(|| reads(words.to_vec()))?
        }
        Arguments::Paths
        | Arguments::AtMost(_)
        | Arguments::Pattern(_)
        | Arguments::Text
        | Arguments::Names
        | Arguments::PlusText
        | Arguments::Find
        | Arguments::Sed
        | Arguments::Jq
        | Arguments::Nothing => sorted(program, words),
    }
}

fn sorted(program: &Program, words: &[Word]) -> Option<ReadOnly> {
    let sorted = sort(words, program.options, program.style)?;
    let first = sorted.arguments.first().map(|word| word.text.as_str());
    let (is_fine, from) = match program.arguments {
        Arguments::Paths | Arguments::ObjectFiles | Arguments::Compared | Arguments::Find => (true, 0),
        Arguments::AtMost(most) => (sorted.arguments.len() <= most, 0),
        Arguments::Pattern(by) => (true, usize::from(!sorted.has(by))),
        Arguments::Text | Arguments::Format | Arguments::Test => (true, sorted.arguments.len()),
        Arguments::Names => {
            (sorted.arguments.iter().all(|word| !word.text.contains('/')), sorted.arguments.len())
        }
        Arguments::PlusText => {
            (sorted.arguments.iter().all(|word| word.text.starts_with('+')), sorted.arguments.len())
        }
        Arguments::Nothing => (sorted.arguments.is_empty(), 0),
        Arguments::Sed => {
            let is_quiet = sorted.has(&["-n", "--quiet", "--silent"]);
            (is_quiet && first.is_some_and(only_prints), 1)
        }
        Arguments::Jq => (first.is_none_or(only_filters), 1),
    };
    // A pattern of file names that is taken for text is none of ours to expand.
    let is_glob = |word: &&&Word| word.kind == WordKind::Glob;
    if !is_fine
        || (program.style == Style::Letters && sorted.arguments.iter().take(from).any(|word| is_glob(&word)))
    {
        return None;
    }
    let paths = sorted.arguments.into_iter().skip(from).cloned().chain(sorted.paths).collect();
    Some(ReadOnly { paths, ..ReadOnly::default() })
}

/// Whether a script of `sed` only prints lines: `10,20p`, `/from/,/to/p`, `5q`.
fn only_prints(script: &str) -> bool {
    script.split(';').all(|part| {
        let part = part.trim();
        let Some(addresses) = part.strip_suffix(['p', 'q']) else { return false };
        let (from, to) = addresses.split_once(',').unwrap_or((addresses, "1"));
        [from, to].into_iter().all(is_address)
    })
}

fn is_address(address: &str) -> bool {
    let is_line = !address.is_empty() && address.chars().all(|c| c.is_ascii_digit());
    let between = address.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
    let is_pattern = between.is_some_and(|pattern| !pattern.contains(['/', '\\', '\n']));
    is_line || address == "$" || is_pattern
}

/// Returns true if a format of `printf` only prints. `-v NAME` and `%n` set a variable, such as `PATH`, for the commands that follow.
fn only_formats(format: &str) -> bool {
    let mut rest = format;
    while let Some((_, behind)) = rest.split_once('%') {
        let spec = behind.trim_start_matches(|c: char| c.is_ascii_digit() || "-+ #.*".contains(c));
        let Some(conversion) = spec.chars().next() else { return false };
        if !"%sbqcdiouxXfFeEgG".contains(conversion) {
            return false;
        }
        rest = spec.get(1..).unwrap_or_default();
    }
    !format.starts_with('-')
}

/// Whether a filter of `jq` sees neither variables nor other files.
fn only_filters(filter: &str) -> bool {
    let filter = filter.to_ascii_lowercase();
    !["env", "import", "include", "modulemeta", "input_filename"].iter().any(|word| filter.contains(word))
}

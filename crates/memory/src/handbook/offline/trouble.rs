//! What failed, and what put it right: pitfalls.

use super::purpose::{self, Purpose};
use super::shell::Step;
use super::spot::{Ends, Spot, clean, file_name, keywords};
use super::tell::Told;
use super::vocabulary::{COMMON, has};
use crate::extract::pattern::patterns;
use crate::handbook::voice::{is_harmful_command, is_order};
use crate::handbook::{Basis, FindingKind};
use std::collections::{BTreeSet, HashMap};
use throughline_core::facts::error_lines;

patterns! {
    SURROUNDINGS = r"permission denied|operation not permitted|index\.lock|\bis locked\b|SQLITE_BUSY|no such host|could not resolve|connection (?:refused|reset)|network is unreachable|rate limit|\bGH0\d\d|protected branch|repository rule|not a tty|/dev/tty|inappropriate ioctl|unauthori[sz]ed|authentication failed|\bforbidden\b|HTTP (?:401|403|404|409|422|429|5\d\d)|\b(?:i/o|request|connection|dial|read) timed? ?out\b|ENOSPC|no space left|out of memory|unsupported engine|EADDRINUSE|address already in use|already allocated|non-fast-forward|fetch first|hook declined|pre-(?:commit|push|receive) hook|sandbox|quota";
    USAGE = r"unknown (?:command|flag|option|argument|subcommand|field|shorthand|json field|task|script)|unrecogni[sz]ed|unexpected arguments?|invalid (?:option|flag|choice|argument|value|subcommand|command)|missing script|no such (?:command|subcommand|task|option)|command not found|no task|task not found|not a (?:valid )?(?:command|task|git repository)|no such file or directory|directory not found|required (?:flag|argument|option)|requires (?:an?|at least|the) |^usage:|is not supported|cannot find module|module not found|no module named|\bmust (?:use|be|have|match|start|live|run)\b|did you mean|only (?:valid|supported|allowed)|not in std|go\.mod file not found|workspace not found|no packages? (?:matched|found)|could not find";
    CODE = r"[\w/-]+\.\w{1,5}:\d+|^FAIL\b|^--- FAIL|\bassert\w*\b|undefined: |imported and not used|declared and not used|mismatched types|error\[E\d|error TS\d|SyntaxError|TypeError|ReferenceError|\bpanic(?:ked)?\b|Traceback|AssertionError|\d+ (?:failed|failing)\b|import cycle|expect\(|ExecaError|does not compile|build failed|cannot use \S+ \(";
    LACKS = r"not found in module|cannot find module|module not found|no module named|command not found|\bdist/|node_modules|not installed|no such file";
    MESSAGE = r#""(?:message|error|detail|reason)"\s*:\s*"([^"\\]{8,200})"#;
    OF_CD = r"stat \S+: directory not found|:cd:\d+:|^cd: |bash: line \d+: cd:";
    EMPTY = r"^(?:exit status \d+|\[exit status \d+\]|exit code \d+|FAIL|error|errors?:?|failed\.?|\W*|\[?\w+\]? ERROR task failed|Total output lines.*|\* [\w-]+: \d+|error: script \S+ exited with code \d+|error: found \d+ errors?|Command failed.*|.*\bexited with (?:code|status) \d+\.?|\{|\}|\[|\]|null|---+)$";
    TASK_FAILED = r"ERROR task failed|^exit status \d|^FAIL\b|^FAIL\t|^\[\w[\w:-]*\] \$|recipe for target|Process completed with|^\s*\^|^hint:|^Usage:|^\s*at ";
    NO_TASK = r"missing script|no (?:such )?task|task not found|unknown (?:task|script)|command not found|not a (?:valid )?(?:command|task)|no rule to make";
    MISSING = r"(?:command not found: |: line \d+: )?([\w.-]+)(?:: command not found|: not found)|command not found: ([\w.-]+)";
}

const MOST_OPEN: usize = 48;
const MOST_SOLVED: usize = 64;
const MOST_ERRORS: usize = 200;
const MOST_SPOTS: usize = 4;
/// Steps after which another command is no answer to a failure.
const NEAR: u64 = 8;
/// Pitfalls of a session.
const MOST_PITFALLS: usize = 7;
/// Characters of an error that is told.
const LONGEST_ERROR: usize = 130;

/// What a failure is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// The command was wrong.
    Usage,
    /// The machine, the network, the forge or a lock.
    Surroundings,
    /// The code at hand.
    Code,
    Other,
}

/// A command that failed and has not worked since.
#[derive(Clone, Debug)]
struct Failure {
    told: String,
    step: Vec<String>,
    family: String,
    purpose: Purpose,
    error: String,
    sort: Sort,
    times: u32,
    spots: Vec<Spot>,
    seen: u64,
    /// Files changed since.
    changed: Vec<String>,
    /// What was installed, built or generated since.
    made: Vec<String>,
}

/// What put it right.
#[derive(Clone, Debug)]
enum Cure {
    /// Another command.
    Command(String),
    /// Changes to files.
    Changes,
    /// Something that was installed, built or generated.
    Made(String),
    /// The same command, run again.
    Again,
    /// Nothing that was seen.
    None,
}

/// A command that is run, and how that went.
pub(super) struct Run<'a> {
    pub(super) step: &'a Step,
    pub(super) purpose: Purpose,
    pub(super) worked: bool,
    pub(super) output: &'a str,
    pub(super) ends: Ends<'a>,
    pub(super) cwd: Option<&'a str>,
}

/// Failures and what became of them.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    open: Vec<Failure>,
    solved: Vec<(Failure, Cure)>,
    /// Errors of the surroundings by their line.
    errors: HashMap<String, (u32, String, Vec<Spot>)>,
    seen: u64,
}

impl Trouble {
    /// Takes in a run.
    pub(super) fn run(&mut self, run: &Run<'_>) {
        self.seen += 1;
        let is_told = !run.step.is_script && run.purpose != Purpose::Look;
        if run.worked {
            if is_told {
                self.worked(run, &run.step.told());
            }
            return;
        }
        let Some(error) = telling(run.output, run.cwd) else { return };
        let sort = sort(&error);
        if sort == Sort::Surroundings {
            self.note(&error, run);
        }
        if is_told {
            self.failed(run, error, sort);
        }
    }

    /// Takes in a change of a file.
    pub(super) fn changed(&mut self, path: &str) {
        for failure in &mut self.open {
            if failure.changed.len() < 6 && !failure.changed.iter().any(|known| known == path) {
                failure.changed.push(path.to_owned());
            }
        }
    }

    /// Counts an error of the surroundings, whatever it was that met it.
    fn note(&mut self, error: &str, run: &Run<'_>) {
        if self.errors.len() >= MOST_ERRORS && !self.errors.contains_key(error) {
            return;
        }
        let source = || purpose::family(run.step, Purpose::Tool);
        let known = self.errors.entry(error.to_owned()).or_insert_with(|| (0, source(), Vec::new()));
        known.0 += 1;
        run.ends.note(&mut known.2, MOST_SPOTS);
    }

    fn failed(&mut self, run: &Run<'_>, error: String, sort: Sort) {
        let told = run.step.told();
        if let Some(known) = self.open.iter_mut().find(|known| known.told == told) {
            known.times += 1;
            known.seen = self.seen;
            (known.error, known.sort) = (error, sort);
            run.ends.note(&mut known.spots, MOST_SPOTS);
            return;
        }
        if self.open.len() >= MOST_OPEN {
            let oldest = self.open.remove(0);
            self.solve(oldest, Cure::None);
        }
        self.open.push(Failure {
            told,
            step: run.step.words.clone(),
            family: purpose::family(run.step, run.purpose),
            purpose: run.purpose,
            error,
            sort,
            times: 1,
            spots: vec![run.ends.call.clone(), run.ends.result.clone()],
            seen: self.seen,
            changed: Vec::new(),
            made: Vec::new(),
        });
    }

    fn worked(&mut self, run: &Run<'_>, told: &str) {
        let makes = matches!(run.purpose, Purpose::Install | Purpose::Build | Purpose::Generate);
        for failure in self.open.iter_mut().filter(|failure| makes && failure.told != told) {
            if failure.made.len() < 4 {
                failure.made.push(told.to_owned());
            }
        }
        let mut at = 0;
        while let Some(failure) = self.open.get(at) {
            let cure = if failure.told == told {
                Some(match failure.made.last() {
                    Some(made) if failure.changed.is_empty() || LACKS.is_in(&failure.error) => {
                        Cure::Made(made.clone())
                    }
                    Some(_) | None if failure.changed.is_empty() => Cure::Again,
                    Some(_) | None => Cure::Changes,
                })
            } else if self.seen - failure.seen <= NEAR
                && failure.sort != Sort::Code
                && is_answer(failure, run)
            {
                Some(Cure::Command(told.to_owned()))
            } else {
                None
            };
            match cure {
                None => at += 1,
                Some(cure) => {
                    let mut failure = self.open.remove(at);
                    run.ends.note(&mut failure.spots, MOST_SPOTS + 2);
                    self.solve(failure, cure);
                }
            }
        }
    }

    fn solve(&mut self, failure: Failure, cure: Cure) {
        // What took longest is worth most.
        if self.solved.len() >= MOST_SOLVED {
            self.solved.sort_by_key(|(failure, cure)| std::cmp::Reverse(rank(failure, cure)));
            self.solved.truncate(MOST_SOLVED / 2);
        }
        self.solved.push((failure, cure));
    }

    /// What hurt, and what helped; what hurt most first.
    pub(super) fn pitfalls(mut self) -> Vec<Told> {
        for failure in std::mem::take(&mut self.open) {
            self.solve(failure, Cure::None);
        }
        self.solved.sort_by_key(|(failure, cure)| std::cmp::Reverse(rank(failure, cure)));
        let mut found: Vec<Told> = Vec::new();
        let mut errors = BTreeSet::new();
        for (failure, cure) in &self.solved {
            if found.len() >= MOST_PITFALLS {
                break;
            }
            if rank(failure, cure) > 0
                && let Some(told) = pitfall(failure, cure)
                && errors.insert(failure.error.clone())
            {
                found.push(told);
            }
        }
        let mut recurring: Vec<_> = self
            .errors
            .into_iter()
            .filter(|(error, (times, _, _))| *times >= 3 && !errors.contains(error))
            .collect();
        recurring.sort_by(|(a, (a_times, _, _)), (b, (b_times, _, _))| {
            b_times.cmp(a_times).then_with(|| a.cmp(b))
        });
        for (error, (times, source, spots)) in recurring.into_iter().take(2) {
            // An interpreter's name tells nothing.
            let is_named = !has(COMMON, source.split(' ').next().unwrap_or_default());
            let named =
                if is_named { format!("`{source}` and others") } else { "Several commands".to_owned() };
            let text = format!("{named} failed {times} times with: {error}");
            if is_fit(&source, &error) {
                found.push(Told {
                    keywords: keywords([], &error, 6),
                    ..Told::new(FindingKind::Pitfall, Basis::Observed, text, spots)
                });
            }
        }
        found
    }
}

/// How much a failure taught; nothing, if it is not worth telling.
fn rank(failure: &Failure, cure: &Cure) -> u32 {
    let times = failure.times.min(9);
    match (cure, failure.sort) {
        (Cure::Command(_), Sort::Usage | Sort::Surroundings) => 40 + times,
        (Cure::Command(_), Sort::Other) => 25 + times,
        (Cure::Command(_), Sort::Code) => 0,
        (Cure::Made(_), Sort::Usage | Sort::Surroundings) => 38 + times,
        (Cure::Made(_), Sort::Other) => 24 + times,
        (Cure::Made(_), Sort::Code) if LACKS.is_in(&failure.error) => 34 + times,
        (Cure::Made(_), Sort::Code) => 0,
        (Cure::Again, Sort::Surroundings) => 30 + times,
        (Cure::Again, Sort::Usage | Sort::Code | Sort::Other) => 0,
        (Cure::Changes, Sort::Surroundings | Sort::Usage | Sort::Other) if times >= 2 => 20 + times,
        (Cure::Changes, Sort::Code) if times >= 6 => 10 + times,
        (Cure::Changes, _) => 0,
        (Cure::None, Sort::Surroundings)
            if times >= 2 || matches!(failure.purpose, Purpose::Push | Purpose::Commit) =>
        {
            22 + times
        }
        (Cure::None, Sort::Usage | Sort::Other) if times >= 2 => 15 + times,
        (Cure::None, _) => 0,
    }
}

fn pitfall(failure: &Failure, cure: &Cure) -> Option<Told> {
    // What must not be repeated is named by its kind alone.
    let wrong = if is_harmful_command(&failure.told) { &failure.family } else { &failure.told };
    // An error that reads like an order is left out; that another command worked still was seen.
    let has_answer = matches!(cure, Cure::Command(_) | Cure::Made(_));
    let error = if is_order(&failure.error) { "" } else { failure.error.as_str() };
    if !is_fit(wrong, "") || (error.is_empty() && !has_answer) {
        return None;
    }
    let colon = if error.is_empty() { "" } else { ": " };
    let times = if failure.times > 1 { format!(" {} times", failure.times) } else { String::new() };
    let (shown, answer) = match cure {
        Cure::Command(right) => (contrast(wrong, right), contrast(right, wrong)),
        Cure::Changes | Cure::Made(_) | Cure::Again | Cure::None => (shortened(wrong), String::new()),
    };
    let mut text = format!("`{shown}` failed{times}{colon}{error}");
    let mut names: Vec<&str> = failure.family.split(' ').collect();
    match cure {
        Cure::Command(right) if is_harmful_command(right) || is_order(&format!("`{right}`")) => return None,
        Cure::Command(_) => text.push_str(&format!(" — `{answer}` worked")),
        Cure::Changes => {
            let files: Vec<String> = failure
                .changed
                .iter()
                .take(3)
                .filter(|path| !is_order(path))
                .map(|path| format!("`{}`", file_name(path)))
                .collect();
            if files.is_empty() {
                return None;
            }
            names.extend(failure.changed.iter().take(2).map(|path| file_name(path)));
            text.push_str(&format!(" — passed after changes to {}", files.join(", ")));
        }
        Cure::Made(made) if is_harmful_command(made) || is_order(&format!("`{made}`")) => return None,
        Cure::Made(made) => text.push_str(&format!(" — worked after `{}`", shortened(made))),
        Cure::Again => text.push_str(" — worked when run again"),
        Cure::None => text.push_str(" — not solved in that session"),
    }
    Some(Told {
        keywords: keywords(names, error, 7),
        ..Told::new(FindingKind::Pitfall, Basis::Observed, text, failure.spots.clone())
    })
}

fn is_fit(command: &str, error: &str) -> bool {
    !is_order(error)
        && !is_harmful_command(command)
        && !is_order(&format!("`{command}`"))
        && !command.contains('\n')
}

fn shortened(command: &str) -> String {
    throughline_core::text::one_line(command, 90)
}

/// A command as it differs from another: of a long one, its beginning and what the other has not.
fn contrast(command: &str, other: &str) -> String {
    if command.chars().count() <= 80 {
        return command.to_owned();
    }
    let known: BTreeSet<&str> = other.split(' ').collect();
    let words: Vec<&str> = command.split(' ').collect();
    let mut shown: Vec<&str> = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_new = |at: usize| words.get(at).is_some_and(|word| !known.contains(word));
        // A value is told with its flag.
        let is_shown = at < 3 || is_new(at) || (word.starts_with('-') && is_new(at + 1));
        match (is_shown, shown.last()) {
            (true, _) => shown.push(word),
            (false, Some(&"…")) => {}
            (false, _) => shown.push("…"),
        }
    }
    shortened(&shown.join(" "))
}

/// Whether a command that worked is what one that failed should have been.
fn is_answer(failure: &Failure, run: &Run<'_>) -> bool {
    let step = run.step;
    if step.words == failure.step || matches!(run.purpose, Purpose::Commit | Purpose::Push | Purpose::Look) {
        return false;
    }
    // A call for help is no answer.
    if step.words.iter().any(|word| word == "--help" || word == "-h" || word == "help" || word == "--version")
    {
        return false;
    }
    let missing = MISSING
        .groups(&failure.error)
        .and_then(|groups| groups.into_iter().skip(1).find(|name| !name.is_empty()));
    if let Some(missing) = missing {
        let is_same_purpose = failure.purpose == run.purpose && run.purpose != Purpose::Tool;
        return is_same_purpose || step.words.iter().any(|word| file_name(word) == missing);
    }
    let is_same_program =
        failure.step.first().map(|word| file_name(word)) == step.words.first().map(|word| file_name(word));
    let of = |words: &[String]| words.iter().cloned().collect::<BTreeSet<_>>();
    let (before, after) = (of(&failure.step), of(&step.words));
    let shared = before.intersection(&after).count();
    let is_alike = shared >= 2 && shared * 2 >= before.len().min(after.len());
    let is_same_family = failure.family == purpose::family(step, run.purpose);
    match failure.sort {
        Sort::Usage => {
            let is_task_missing = NO_TASK.is_in(&failure.error) && failure.purpose == run.purpose;
            is_same_program && (is_alike || is_same_family) || is_task_missing && run.purpose != Purpose::Tool
        }
        // Another object is no other way.
        Sort::Surroundings | Sort::Other => {
            let is_flag = |word: &&String| word.starts_with('-');
            let differs = before.symmetric_difference(&after).any(|word| is_flag(&word));
            is_same_program && is_alike && is_same_family && differs
        }
        Sort::Code => false,
    }
}

fn sort(error: &str) -> Sort {
    if SURROUNDINGS.is_in(error) {
        Sort::Surroundings
    } else if CODE.is_in(error) {
        Sort::Code
    } else if USAGE.is_in(error) {
        Sort::Usage
    } else {
        Sort::Other
    }
}

/// The line of a failed output that says most, cleaned.
pub(super) fn telling(output: &str, cwd: Option<&str>) -> Option<String> {
    let lines: Vec<String> = error_lines(output, 4)
        .into_iter()
        .filter(|line| !EMPTY.is_in(line.trim()) && !TASK_FAILED.is_in(line.trim()))
        .collect();
    if lines.is_empty()
        && let Some(said) = MESSAGE
            .groups(throughline_core::text::tail(output, 2_000))
            .and_then(|groups| groups.get(1).copied())
    {
        return Some(clean(said, cwd, LONGEST_ERROR));
    }
    if lines.iter().any(|line| OF_CD.is_in(line)) {
        return None;
    }
    let best = lines
        .iter()
        .find(|line| SURROUNDINGS.is_in(line))
        .or_else(|| lines.iter().find(|line| USAGE.is_in(line) && !CODE.is_in(line)))
        .or_else(|| lines.first())?;
    let line = clean(best, cwd, LONGEST_ERROR);
    (line.chars().filter(|c| c.is_alphabetic()).count() >= 8).then_some(line)
}

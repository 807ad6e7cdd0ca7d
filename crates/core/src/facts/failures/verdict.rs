//! Verdicts: how a check ended, by its exit status where that shows, else by its output.

use super::errors;
use super::probe::StepNature;
use super::report::Report;
use super::runner::Check;
use super::runner_table::{CheckKind, Family};
use crate::shell::{Step, StepStatus, Word, base_name};

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Passed,
    Failed,
    Unknown,
}

/// What a check printed, and where.
pub(super) struct CheckOutput<'a> {
    pub(super) step: &'a Step,
    pub(super) steps: &'a [Step],
    pub(super) report: &'a Report,
    pub(super) output: &'a str,
}

/// How a check ended: by its status where that shows, else by its output.
pub(super) fn check_verdict(check: &Check, failed: Option<bool>, shown: &CheckOutput<'_>) -> Verdict {
    let CheckOutput { step, steps, report, output } = shown;
    let said = match check.kind {
        // What a linter marks looks like a failed test: without a line that sums up, the tests may not have run.
        CheckKind::Test if report.says_failed() && !report.sums_up() && follows_check(step, steps) => {
            Verdict::Unknown
        }
        CheckKind::Test if report.says_failed() => Verdict::Failed,
        CheckKind::Test if report.says_passed() && (report.has_passed_run || !is_cut(step, output)) => {
            Verdict::Passed
        }
        CheckKind::Test if finds_no_failure(step, output) => Verdict::Passed,
        CheckKind::Test if ends_without_failure(check, shown) => Verdict::Passed,
        CheckKind::Test => Verdict::Unknown,
        CheckKind::Build | CheckKind::Lint if errors::says_failed(output) || report.has_failed_run => {
            Verdict::Failed
        }
        CheckKind::Build | CheckKind::Lint if is_cut(step, output) => Verdict::Unknown,
        CheckKind::Lint if lists_findings(output) => Verdict::Unknown,
        CheckKind::Build | CheckKind::Lint => Verdict::Passed,
    };
    match failed {
        Some(false) if check.kind == CheckKind::Test && report.says_nothing_ran() => Verdict::Unknown,
        Some(false) => Verdict::Passed,
        // Several steps share one status: the output says which of them failed.
        Some(true) => {
            let others = steps.iter().filter(|other| {
                other.status == StepStatus::Decides && StepNature::of(other) == StepNature::Work
            });
            if others.count() > 1 && said != Verdict::Failed {
                said_or_unknown(check, said)
            } else {
                Verdict::Failed
            }
        }
        None => printed_status(steps, output).unwrap_or(said),
    }
}

/// Returns true if another check runs before a step of the same command line.
fn follows_check(step: &Step, steps: &[Step]) -> bool {
    let before = steps.iter().take_while(|other| !std::ptr::eq(*other, step));
    before.filter_map(Check::of_step).next().is_some()
}

/// Without a sign in the output, a build that is followed by other steps may have failed or not.
fn said_or_unknown(check: &Check, said: Verdict) -> Verdict {
    match check.kind {
        CheckKind::Test => said,
        CheckKind::Build | CheckKind::Lint => Verdict::Unknown,
    }
}

/// Returns true if the output has lines in which linters tell findings: `a.py:3:8: F401 …` or `14:5  error  …`.
fn lists_findings(output: &str) -> bool {
    output.lines().any(|line| {
        let place = line.split_whitespace().next().unwrap_or_default().trim_end_matches(':');
        let mut parts = place.rsplit(':');
        let mut is_number = || parts.next().is_some_and(|part| part.parse::<u32>().is_ok());
        is_number()
            && is_number()
            && (parts.next().is_some_and(|file| file.contains('.')) || line.contains("  error  "))
    })
}

/// Whether a filter may have cut the part of the output that says how the run ended.
fn is_cut(step: &Step, output: &str) -> bool {
    step.filters.iter().any(|filter| match filter.first().map_or("", |word| base_name(&word.text)) {
        "head" => output.lines().count() >= line_limit(filter),
        "grep" | "egrep" | "rg" => !is_inverted(filter) && !names_failure(filter),
        "sed" | "awk" => true,
        _ => false,
    })
}

/// The number of lines that `head` lets through.
fn line_limit(filter: &[Word]) -> usize {
    let mut arguments =
        filter.iter().skip(1).map(|word| word.text.trim_start_matches("-n").trim_start_matches('-'));
    arguments.find_map(|argument| argument.parse().ok()).unwrap_or(10)
}

/// Whether a search shows the lines that do not match.
fn is_inverted(filter: &[Word]) -> bool {
    let mut options =
        filter.iter().skip(1).map(|word| word.text.as_str()).filter(|text| text.starts_with('-'));
    options.any(|option| option == "--invert-match" || (!option.starts_with("--") && option.contains('v')))
}

/// Whether a search looks for failures.
fn names_failure(filter: &[Word]) -> bool {
    filter.iter().skip(1).any(|word| word.text.to_ascii_lowercase().contains("fail"))
}

/// Whether the output was searched for failures, and there were none.
fn finds_no_failure(step: &Step, output: &str) -> bool {
    let searches = step.filters.iter().filter(|filter| {
        let program = filter.first().map_or("", |word| base_name(&word.text));
        matches!(program, "grep" | "egrep" | "rg") && !is_inverted(filter) && names_failure(filter)
    });
    let mut searches =
        searches.map(|filter| filter.iter().any(|word| matches!(word.text.as_str(), "-c" | "--count")));
    match searches.next() {
        Some(true) => output.trim().lines().next_back().is_some_and(|line| line.trim() == "0"),
        Some(false) => output.trim().is_empty(),
        None => false,
    }
}

/// Returns true if the end of a task's output is shown and no failure stands there. Programs such as `make` and `just` always
/// report a failed task in their last line.
fn ends_without_failure(check: &Check, shown: &CheckOutput<'_>) -> bool {
    let CheckOutput { step, steps, report, output } = shown;
    let keeps_end = |filter: &Vec<Word>| match filter.first().map_or("", |word| base_name(&word.text)) {
        "tail" | "tee" | "cat" => true,
        "head" => output.lines().count() < line_limit(filter),
        _ => false,
    };
    let is_forgiven = steps.last().is_some_and(|last| matches!(last.program(), "true" | ":"));
    let shows_file = |file: &String| {
        let mut shown = steps.iter().filter(|step| matches!(step.program(), "tail" | "cat"));
        shown.any(|step| step.filters.is_empty() && step.words.iter().any(|word| word.text == *file))
    };
    let is_shown = match &step.output_file {
        Some(file) => shows_file(file),
        None => is_forgiven || !step.filters.is_empty(),
    };
    check.is_task
        && check.family == Family::Task
        && is_shown
        && step.filters.iter().all(keeps_end)
        && output.lines().any(|line| !line.trim().is_empty())
        && !errors::says_failed(output)
        && !report.says_nothing_ran()
}

/// The status that a later `echo "exit: $?"` printed.
fn printed_status(steps: &[Step], output: &str) -> Option<Verdict> {
    let echo = steps.iter().rfind(|step| {
        step.program() == "echo"
            && step.words.iter().any(|word| word.text.contains("$?") || word.text.contains("PIPESTATUS"))
    })?;
    let text = echo.words.iter().skip(1).map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let (before, _) = text.split_once('$')?;
    let line = output.lines().rev().find_map(|line| line.trim().strip_prefix(before.trim_start()))?;
    let digits: String = line.trim().chars().take_while(char::is_ascii_digit).collect();
    Some(if digits.parse::<u32>().ok()? == 0 { Verdict::Passed } else { Verdict::Failed })
}

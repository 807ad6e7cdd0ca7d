//! Failures: which tests, builds and other commands fail now. A failure is closed by a later success that covers it.

mod errors;
mod line_forms;
mod probe;
mod report;
mod runner;
mod runner_table;
mod selection;
mod verdict;

pub use errors::{ErrorFact, error_lines};
pub use runner::runs_tests;

use super::Outcome;
use super::action::ShellStatus;
use crate::MessageId;
use crate::shell::{CommandLine, Folder, Step, StepStatus, clean_path};
use crate::text::one_line;
use errors::{Errors, Subject};
use probe::{StepNature, command_key, is_miss};
use report::{Failure, Report};
use runner::Check;
use runner_table::{CheckKind, Family};
use selection::is_below;
use verdict::{CheckOutput, Verdict, check_verdict};

const MOST_TESTS: usize = 200;
/// Names of failing tests that are told for one run.
const MOST_NAMES: usize = 12;

/// A run of tests and what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The command line.
    pub command: String,
    /// Whether all passed.
    pub passed: bool,
    /// The line in which the runner sums up, where there is one.
    pub summary: Option<String>,
    /// The tests that fail, by name; those that passed since are left out.
    pub failing: Vec<String>,
    /// When, as a position in the session.
    pub seen: u64,
    /// The message that shows it.
    pub message: MessageId,
    details: RunDetails,
}

/// What is needed to compare runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RunDetails {
    check: PlacedCheck,
    failures: Vec<Failure>,
}

/// A check and the folders that it may have run in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PlacedCheck {
    check: Check,
    /// Candidates; none if the folder is known only when the command runs.
    folders: Vec<String>,
}

impl PlacedCheck {
    /// Whether a success of this check says that another one passes too.
    fn covers(&self, other: &Self) -> bool {
        let (own, its) = (&self.check.selection, &other.check.selection);
        // The same tests by name: where they are was wrong one of the times.
        let is_same_tests =
            !own.filters.is_empty() && own.filters == its.filters && own.variants == its.variants;
        let is_test = |check: &Check| check.kind == CheckKind::Test;
        (is_test(&self.check) && is_test(&other.check) && own.names_same_files(its))
            || self.check.includes_runner(&other.check)
                && (is_same_tests
                    || self
                        .is_any_pair(other, |own_folder, its_folder| own.covers(own_folder, its, its_folder)))
    }

    /// Returns true if it repaired what another check complained of: a fixer that ended well left nothing behind.
    fn repairs(&self, other: &Self) -> bool {
        self.check.is_fixer && self.check.includes_runner(&other.check) && {
            self.is_any_pair(other, |own, its| is_below(its, own) || is_below(own, its))
        }
    }

    /// Whether both may have run in the same project. A run in a folder of it must say what it selects there.
    fn shares_project(&self, other: &Self) -> bool {
        let selection = &self.check.selection;
        let is_selective = !(selection.filters.is_empty() && selection.targets.is_empty());
        self.is_any_pair(other, |own, its| is_below(its, own) || (is_selective && is_below(own, its)))
    }

    /// Returns true if a test holds for any pair of their folders.
    fn is_any_pair(&self, other: &Self, test: impl Fn(&str, &str) -> bool) -> bool {
        if self.folders.is_empty() || other.folders.is_empty() {
            return test("", "");
        }
        self.folders.iter().any(|own| {
            other.folders.iter().any(|its| test(anchored(own, its), its) || test(own, anchored(its, own)))
        })
    }

    /// Whether a success of this check says that one test passes.
    fn selects(&self, other: &Self, failure: &Failure) -> bool {
        let is_same_kind = self.check.kind == other.check.kind && {
            let families = [self.check.family, other.check.family];
            families[0] == families[1] || families.contains(&Family::Task)
        };
        is_same_kind
            && self.shares_project(other)
            && self.check.selection.selects(&failure.name, failure.target.as_deref())
            && (self.check.selection.variants.is_empty()
                || self.check.selection.variants == other.check.selection.variants
                || !self.check.selection.filters.is_empty())
    }
}

/// The result of a shell call.
pub(super) struct ShellResult<'a> {
    /// The whole command line.
    pub(super) command: &'a str,
    /// The folder, if the call names one.
    pub(super) folder: Option<&'a str>,
    /// What the result can say about the exit status.
    pub(super) status: ShellStatus,
    pub(super) outcome: Outcome,
    /// The output without the client's frame.
    pub(super) output: &'a str,
    pub(super) seen: u64,
    pub(super) message: &'a MessageId,
}

/// What fails now.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    pub(super) tests: Vec<TestRun>,
    errors: Errors,
    /// The folder that a shell was last moved to: some clients keep it for the next command.
    last_folder: Option<String>,
}

impl Failures {
    /// Errors, newest last.
    pub(super) fn errors(&self) -> &[ErrorFact] {
        self.errors.all()
    }

    /// Takes in the result of a shell call. Returns true if a step of it failed, nothing if that can't be told.
    pub(super) fn shell(&mut self, result: &ShellResult<'_>, cwd: Option<&str>) -> Option<bool> {
        let steps = CommandLine::read(result.command).steps();
        let is_masked =
            |step: &Step| step.status == StepStatus::Masked || result.status == ShellStatus::Hidden;
        let checks: Vec<Option<PlacedCheck>> =
            steps.iter().map(|step| self.placed(step, result.folder, cwd)).collect();
        let report = checks.iter().any(Option::is_some).then(|| Report::read(result.output));
        let mut culprit = None;
        let (mut has_failed, mut is_unclear) = (false, false);
        for (at, step) in steps.iter().enumerate() {
            let check = checks.get(at).and_then(Option::as_ref);
            let is_hidden = is_masked(step) || !result.outcome.is_known;
            let says_nothing = || !errors::says_failed(result.output);
            let verdict = match (check, &report) {
                (Some(placed), Some(report)) => {
                    let status = (!is_hidden).then_some(result.outcome.failed);
                    let shown = CheckOutput { step, steps: &steps, report, output: result.output };
                    match check_verdict(&placed.check, status, &shown) {
                        // Where no status is given for any command, one that reports no failure passed.
                        Verdict::Unknown
                            if !is_masked(step) && says_nothing() && !report.says_nothing_ran() =>
                        {
                            Verdict::Passed
                        }
                        verdict @ (Verdict::Passed | Verdict::Failed | Verdict::Unknown) => verdict,
                    }
                }
                (_, _) => match (is_hidden, result.outcome.failed) {
                    (false, false) => Verdict::Passed,
                    (false, true) => Verdict::Failed,
                    (true, _) if errors::says_failed(result.output) => Verdict::Unknown,
                    (true, false) => Verdict::Passed,
                    (true, true) => Verdict::Unknown,
                },
            };
            if let (Some(placed), Some(report)) = (check, &report)
                && placed.check.kind == CheckKind::Test
            {
                self.test_run(result, placed, verdict, report);
            }
            let nature = StepNature::of(step);
            has_failed |= verdict == Verdict::Failed;
            is_unclear |= verdict == Verdict::Unknown;
            match verdict {
                Verdict::Passed => match check {
                    Some(placed) => self.errors.close_checks(placed),
                    None if nature == StepNature::Work => self.errors.close_command(&command_key(step)),
                    None => {}
                },
                Verdict::Failed if nature == StepNature::Work => culprit = Some((step, check)),
                Verdict::Failed | Verdict::Unknown => {}
            }
        }
        if let Some((step, check)) = culprit {
            let subject = match check {
                Some(placed) => Subject::Check(placed.clone()),
                None => Subject::Command(command_key(step)),
            };
            let is_alone = steps.iter().filter(|step| StepNature::of(step) != StepNature::Setup).count() == 1;
            let is_test = check.is_some_and(|placed| placed.check.kind == CheckKind::Test);
            let mut lines = error_lines(result.output, 6);
            lines.retain(|line| !is_miss(line));
            // Lines that only sum up say nothing new, except where there are no others and no run of tests is told.
            if is_test || !lines.iter().all(|line| is_noise(line)) {
                lines.retain(|line| !is_noise(line));
            }
            // Passing tests log errors on purpose; what fails is told by name.
            let is_named = is_test && report.as_ref().is_some_and(|report| !report.failures().is_empty());
            if is_named {
                lines.clear();
            }
            // Without a line that says so, the last one is a guess. Where others may have printed it or the run itself is told,
            // it is not even that.
            if !is_alone || is_test {
                lines.retain(|line| errors::says_error(line));
            }
            lines.truncate(3);
            // A failure that tells no error leaves those known before.
            if is_named || !lines.is_empty() {
                self.errors.open(lines, subject, result);
            }
        }
        if let Some(folder) =
            steps.last().and_then(|step| self.resolved(&step.folder, result.folder, cwd).pop())
            && result.folder.is_none()
        {
            self.last_folder = Some(folder);
        }
        if has_failed { Some(true) } else { (!is_unclear).then_some(false) }
    }

    /// Takes in the result of an edit or a write.
    pub(super) fn edit(&mut self, paths: &[String], result: &ShellResult<'_>) {
        if !result.outcome.failed {
            paths.iter().for_each(|path| self.errors.edited(path));
            return;
        }
        let first =
            result.output.trim_start_matches("<tool_use_error>").lines().find(|line| !line.trim().is_empty());
        let lines = first.map(|line| one_line(line, 240)).into_iter().collect();
        self.errors.open(lines, Subject::Edit(paths.to_vec()), result);
    }

    fn placed(&self, step: &Step, folder: Option<&str>, cwd: Option<&str>) -> Option<PlacedCheck> {
        let check = Check::of_step(step)?;
        let mut folders = self.resolved(&step.folder, folder, cwd);
        if let Some(inner) = &check.selection.folder {
            for folder in &mut folders {
                *folder = joined(folder, inner);
            }
        }
        Some(PlacedCheck { check, folders })
    }

    /// The folders that a step may run in; the most likely one last.
    fn resolved(&self, step: &Folder, folder: Option<&str>, cwd: Option<&str>) -> Vec<String> {
        let cwd = cwd.unwrap_or_default();
        let starts = match folder {
            Some(folder) => vec![joined(cwd, folder)],
            None => {
                let last = self.last_folder.clone().filter(|last| last != cwd);
                std::iter::once(cwd.to_owned()).chain(last).collect()
            }
        };
        match step {
            Folder::Start => starts,
            Folder::Path(path) if is_absolute(path) => vec![path.clone()],
            Folder::Path(path) => starts.iter().map(|start| joined(start, path)).collect(),
            Folder::Unknown => Vec::new(),
        }
    }

    fn test_run(
        &mut self,
        result: &ShellResult<'_>,
        placed: &PlacedCheck,
        verdict: Verdict,
        report: &Report,
    ) {
        let has_evidence = verdict == Verdict::Passed;
        for run in self.tests.iter_mut().filter(|run| !run.passed) {
            let of_run = run.details.check.clone();
            let before = run.details.failures.len();
            run.details.failures.retain(|failure| {
                let fails_again =
                    report.failed.iter().any(|failed| report::is_same_test(&failed.name, &failure.name));
                // A target that passed says nothing about the tests in it that were not selected.
                let is_unfiltered = placed.check.selection.filters.is_empty();
                let is_listed = report.lists_test(failure) || (is_unfiltered && report.lists_target(failure));
                let is_selected = has_evidence && placed.selects(&of_run, failure);
                !(is_listed || is_selected || fails_again)
            });
            run.update_names();
            let is_resolved = before > 0 && run.details.failures.is_empty();
            let is_covered = verdict != Verdict::Unknown && placed.covers(&of_run);
            run.passed = is_resolved || is_covered;
        }
        // What passes now or is told by this run is not told twice.
        let is_settled =
            |run: &TestRun| run.passed && run.seen < result.seen && placed.covers(&run.details.check);
        let closed: Vec<PlacedCheck> =
            self.tests.iter().filter(|run| run.passed).map(|run| run.details.check.clone()).collect();
        self.tests.retain(|run| !is_settled(run));
        let passed = match verdict {
            Verdict::Passed => true,
            Verdict::Failed => false,
            Verdict::Unknown => return,
        };
        if passed {
            closed.iter().for_each(|check| self.errors.close_checks(check));
        }
        let mut placed = placed.clone();
        if placed.check.family == Family::Task
            && let Some(family) = report.family()
        {
            placed.check.family = family;
        }
        let mut run = TestRun {
            command: crate::text::middle_cut(result.command.trim(), 600),
            passed,
            summary: report.summary.clone(),
            failing: Vec::new(),
            seen: result.seen,
            message: result.message.clone(),
            details: RunDetails {
                check: placed,
                failures: if passed { Vec::new() } else { report.failures() },
            },
        };
        run.update_names();
        self.tests.push(run);
        super::trim_front(&mut self.tests, MOST_TESTS);
    }
}

impl TestRun {
    fn update_names(&mut self) {
        let names = self.details.failures.iter().map(|failure| failure.name.clone());
        self.failing = names.take(MOST_NAMES).collect();
    }
}

/// Returns true for a command line that only shows or searches something.
pub(super) fn only_looks(command: &str) -> bool {
    let natures: Vec<StepNature> = CommandLine::read(command).steps().iter().map(StepNature::of).collect();
    natures.contains(&StepNature::Probe) && !natures.contains(&StepNature::Work)
}

/// Whether a line only names a test or sums up: the run itself is told.
fn is_noise(line: &str) -> bool {
    let report = Report::read(line);
    report.says_failed() || report.says_passed() || line.starts_with("FAIL ")
}

/// Returns the absolute folder that a folder relative to an unknown start may be; otherwise the folder itself.
fn anchored<'a>(folder: &'a str, absolute: &'a str) -> &'a str {
    let rest = absolute.strip_suffix(folder);
    let is_same = !is_absolute(folder)
        && is_absolute(absolute)
        && rest.is_some_and(|rest| folder.is_empty() || rest.ends_with('/'));
    if is_same { absolute } else { folder }
}

fn is_absolute(folder: &str) -> bool {
    folder.starts_with(['/', '~'])
}

fn joined(folder: &str, path: &str) -> String {
    if is_absolute(path) || folder.is_empty() {
        clean_path(path)
    } else {
        clean_path(&format!("{folder}/{path}"))
    }
}

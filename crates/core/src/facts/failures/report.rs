//! Reports: what the output of a test runner says about tests, targets and the whole run.

use super::line_forms::{LINE_FORMS, Says, is_test_file, says_nothing_ran};
use super::runner_table::Family;
use crate::text::{head, one_line, tail};

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) name: String,
    /// The package or file that it belongs to, where the report says it.
    pub(super) target: Option<String>,
}

/// What an output says about the tests that ran.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) failed: Vec<Failure>,
    pub(super) failed_targets: Vec<String>,
    pub(super) passed: Vec<String>,
    pub(super) passed_targets: Vec<String>,
    pub(super) has_failed_run: bool,
    pub(super) has_passed_run: bool,
    has_empty_run: bool,
    /// The line in which the runner sums up.
    pub(super) summary: Option<String>,
}

/// How much of an output is read, from each end.
const LOOK: usize = 128 << 10;
/// Names of failed tests that are kept.
const MOST_NAMES: usize = 60;
const MOST_PASSED: usize = 4_000;
const LONGEST_NAME: usize = 160;

impl Report {
    /// Reads an output.
    pub(super) fn read(output: &str) -> Self {
        let mut report = Self::default();
        // Failed tests whose package is named behind them, as Go does.
        let mut unclaimed = 0;
        let mut target: Option<String> = None;
        let start = head(output, LOOK);
        let end = output.get(start.len()..).map_or("", |rest| tail(rest, LOOK));
        for line in start.lines().chain(end.lines()) {
            if line.len() > 600 {
                continue;
            }
            let line = without_colours(line);
            let line = without_label(line.trim());
            report.has_empty_run |= says_nothing_ran(line);
            for form in LINE_FORMS {
                let Some(name) = (form.read)(line) else { continue };
                let name = one_line(name, LONGEST_NAME);
                match form.says {
                    Says::TestFailed => {
                        let is_known = report.failed.iter().any(|failure| failure.name == name);
                        if !is_known && report.failed.len() < MOST_NAMES {
                            report.failed.push(Failure { name, target: target.clone() });
                        }
                    }
                    Says::TestPassed => push(&mut report.passed, name),
                    Says::TargetFailed => {
                        for failure in report.failed.iter_mut().skip(unclaimed) {
                            failure.target.get_or_insert_with(|| name.clone());
                        }
                        unclaimed = report.failed.len();
                        target = is_test_file(&name).then(|| name.clone());
                        push(&mut report.failed_targets, name);
                    }
                    Says::TargetPassed => {
                        target = None;
                        push(&mut report.passed_targets, name);
                    }
                    Says::RunFailed => {
                        report.has_failed_run = true;
                        report.summary = Some(name);
                    }
                    Says::RunPassed => {
                        report.has_passed_run = true;
                        if !report.has_failed_run {
                            report.summary = Some(name);
                        }
                    }
                }
            }
        }
        for failure in &mut report.failed {
            let file =
                failure.name.split_once("::").map(|(file, _)| file).filter(|file| file.ends_with(".py"));
            if let Some(file) = file {
                failure.target.get_or_insert_with(|| file.to_owned());
            }
        }
        report
    }

    /// The failed tests, and the failed targets without one.
    pub(super) fn failures(&self) -> Vec<Failure> {
        let mut failures = self.failed.clone();
        for target in &self.failed_targets {
            if !failures.iter().any(|failure| failure.target.as_ref() == Some(target)) {
                failures.push(Failure { name: target.clone(), target: Some(target.clone()) });
            }
        }
        failures
    }

    /// The family of the runner, where the form of the report shows it.
    pub(super) fn family(&self) -> Option<Family> {
        let names = || self.failed.iter().map(|failure| failure.name.as_str());
        let targets = || self.failed_targets.iter().chain(&self.passed_targets);
        if self.summary.as_ref().is_some_and(|line| line.starts_with("test result:")) {
            Some(Family::Rust)
        } else if names().any(|name| name.contains(".py::")) {
            Some(Family::Python)
        } else if targets().any(|target| is_test_file(target)) {
            Some(Family::JavaScript)
        } else if targets().next().is_some() || names().any(|name| name.starts_with("Test")) {
            Some(Family::Go)
        } else {
            None
        }
    }

    /// Whether something in the output says that tests failed.
    pub(super) fn says_failed(&self) -> bool {
        self.has_failed_run || !self.failed.is_empty() || !self.failed_targets.is_empty()
    }

    /// Returns true if the output says how a run or a target of it ended.
    pub(super) fn sums_up(&self) -> bool {
        self.has_failed_run
            || self.has_passed_run
            || !self.failed_targets.is_empty()
            || !self.passed_targets.is_empty()
    }

    /// Whether something in the output says that tests passed, and nothing that any failed.
    pub(super) fn says_passed(&self) -> bool {
        !self.says_failed() && (self.has_passed_run || !self.passed_targets.is_empty())
    }

    /// Whether the run selected no test: it says nothing about any.
    pub(super) fn says_nothing_ran(&self) -> bool {
        self.has_empty_run && !self.says_failed() && !self.says_passed() && self.passed.is_empty()
    }

    /// Whether it lists a test as passed.
    pub(super) fn lists_test(&self, failure: &Failure) -> bool {
        self.passed.iter().any(|passed| is_same_test(passed, &failure.name))
    }

    /// Whether it lists the target of a test as passed.
    pub(super) fn lists_target(&self, failure: &Failure) -> bool {
        let is_listed = |target: &String| {
            self.passed_targets.iter().any(|passed| passed == target || passed.ends_with(target.as_str()))
        };
        failure.target.as_ref().is_some_and(is_listed) || is_listed(&failure.name)
    }
}

/// Whether two names mean the same test: one may lack the suites around it.
pub(super) fn is_same_test(one: &str, other: &str) -> bool {
    let is_end_of = |short: &str, long: &str| {
        long.strip_suffix(short)
            .is_some_and(|before| before.ends_with("> ") || before.ends_with("::") || before.ends_with("› "))
    };
    one == other || is_end_of(one, other) || is_end_of(other, one)
}

fn push(list: &mut Vec<String>, name: String) {
    if list.len() < MOST_PASSED && list.last().is_none_or(|last| *last != name) {
        list.push(name);
    }
}

/// A line without terminal colours.
pub(super) fn without_colours(line: &str) -> std::borrow::Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return line.into();
    }
    let mut plain = String::with_capacity(line.len());
    let mut rest = line;
    while let Some((before, behind)) = rest.split_once('\u{1b}') {
        plain.push_str(before);
        let end = behind.find(|c: char| c.is_ascii_alphabetic());
        rest = end.and_then(|end| behind.get(end + 1..)).unwrap_or_default();
    }
    plain.push_str(rest);
    plain.into()
}

/// A line without the name of the task or package that runners of several tasks put in front of it.
fn without_label(line: &str) -> &str {
    let is_label = |label: &str| {
        !label.is_empty()
            && label.len() < 48
            && label.chars().all(|c| c.is_alphanumeric() || "@/-_.:".contains(c))
    };
    let bracketed = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    if let Some((_, rest)) = bracketed.filter(|(label, _)| is_label(label)) {
        return rest.trim_start();
    }
    // pnpm: `packages/core test: line`.
    if let Some((label, rest)) = line.split_once(": ")
        && let Some((package, task)) = label.split_once(' ')
        && is_label(package)
        && is_label(task)
        && task.starts_with("test")
        && (package.contains('/') || package == ".")
    {
        return rest.trim_start();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_forms_match_their_examples_and_reject_the_others() {
        for (at, form) in LINE_FORMS.iter().enumerate() {
            for (line, name) in form.matches {
                assert_eq!((form.read)(without_label(line)), Some(*name), "row {at}: {line}");
            }
            for line in form.rejects {
                assert_eq!((form.read)(line), None, "row {at}: {line}");
            }
        }
    }

    #[test]
    fn reports_of_several_runners_are_read() {
        let rust = Report::read(
            "running 2 tests\ntest a::ok ... ok\ntest a::bad ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed",
        );
        assert_eq!(
            (rust.failed[0].name.as_str(), rust.passed.as_slice()),
            ("a::bad", &["a::ok".to_owned()][..])
        );
        assert!(
            rust.says_failed() && rust.summary.is_some_and(|line| line.starts_with("test result: FAILED"))
        );
        let go = Report::read(
            "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got 500\nFAIL\nFAIL\tx.org/y/login\t0.2s\nok  \tx.org/y/b\t0.1s\nFAIL",
        );
        let failure = Failure { name: "TestLogin".to_owned(), target: Some("x.org/y/login".to_owned()) };
        assert_eq!((go.failed.as_slice(), go.passed_targets.len()), (&[failure][..], 1));
        let python = Report::read(
            "FAILED tests/test_a.py::test_b - AssertionError\n==== 1 failed, 3 passed in 0.12s ====",
        );
        assert_eq!(python.failed[0].target.as_deref(), Some("tests/test_a.py"));
        let colours = Report::read(
            "\u{1b}[31m FAIL \u{1b}[39m src/a.test.ts\u{1b}[2m > \u{1b}[22madds\n\u{1b}[2m Tests \u{1b}[22m 1 failed",
        );
        assert!(colours.says_failed(), "{colours:?}");
        let labelled = Report::read(
            "packages/core test:  ✓ src/a.test.ts (3 tests) 5ms\npackages/core test:  Tests  3 passed (3)",
        );
        assert!(labelled.says_passed(), "{labelled:?}");
        assert!(!Report::read("hello world").says_passed() && !Report::read("").says_failed());
    }
}

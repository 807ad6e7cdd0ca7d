//! Tests and errors: what fails now, and what was fixed.

use crate::text::{head, one_line, tail};

/// A run of tests and what it found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// The command line.
    pub command: String,
    /// Whether all passed.
    pub passed: bool,
    /// The line in which the runner sums up, where there is one.
    pub summary: Option<String>,
    /// The tests that failed, by name.
    pub failing: Vec<String>,
    /// When, as a position in the session.
    pub seen: u64,
}

/// An error that a command or tool reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorFact {
    /// The line that says it.
    pub line: String,
    /// What reported it: a command line, or a tool with its argument.
    pub source: String,
    /// Whether it still stands: the same thing was not done again with success.
    pub open: bool,
    /// When it was last seen, as a position in the session.
    pub seen: u64,
}

/// What test runners are called by, those whose name holds [`SHARED`] and the others.
const TESTERS: [&str; 24] = [
    "cargo test",
    "cargo nextest",
    "go test",
    "pytest",
    "py.test",
    "unittest",
    "npm test",
    "npm run test",
    "pnpm test",
    "pnpm run test",
    "yarn test",
    "bun test",
    "jest",
    "vitest",
    "playwright test",
    "make test",
    "mvn test",
    "gradle test",
    "gradlew test",
    "ctest",
    "dotnet test",
    "mix test",
    "deno test",
    "swift test",
];
const OTHERS: [&str; 4] = ["mocha", "make check", "rspec", "phpunit"];
/// Most commands hold no such letters and are done with.
const SHARED: &str = "est";

/// Whether a command line runs tests, by the name of the runner.
pub fn runs_tests(command: &str) -> bool {
    let holds = |name: &&str| command.contains(*name);
    let by_name = command.contains(SHARED)
        && (TESTERS.iter().any(holds) || (holds(&"test") && (holds(&"mise run") || holds(&"just "))));
    by_name || OTHERS.iter().any(holds)
}

/// How much of an output is looked at, from each end: runners sum up at the end.
const LOOK: usize = 6_000;
const MOST_NAMES: usize = 12;

/// Failing tests by name, and the line that sums up: of the output's beginning and end.
pub fn read_tests(output: &str) -> (Option<String>, Vec<String>) {
    let mut failing: Vec<String> = Vec::new();
    let mut summary = None;
    for line in ends(output) {
        let line = line.trim();
        if let Some(name) = failing_test(line)
            && failing.len() < MOST_NAMES
            && !failing.contains(&name)
        {
            failing.push(name);
        }
        if sums_up(line) {
            summary = Some(one_line(line, 160));
        }
    }
    (summary, failing)
}

/// The lines at both ends of an output.
fn ends(output: &str) -> impl Iterator<Item = &str> {
    let start = head(output, LOOK);
    let rest = &output[start.len()..];
    start.lines().chain(tail(rest, LOOK).lines())
}

fn failing_test(line: &str) -> Option<String> {
    // What follows the mark: a name and more, or nothing but the name.
    let first =
        ["--- FAIL: ", "FAILED "].iter().find_map(|mark| line.strip_prefix(mark)?.split_whitespace().next());
    let whole = || ["✕ ", "✗ ", "× ", "(fail) "].iter().find_map(|mark| line.strip_prefix(mark));
    let rust = || line.strip_prefix("test ")?.strip_suffix(" ... FAILED");
    let name = first.or_else(whole).or_else(rust)?;
    (!name.is_empty()).then(|| one_line(name, 120))
}

fn sums_up(line: &str) -> bool {
    let lower = head(line, 200).to_ascii_lowercase();
    lower.starts_with("test result:")
        || lower.starts_with("tests:")
        || lower.starts_with("test files")
        || ((lower.contains(" passed") || lower.contains(" failed"))
            && lower.bytes().any(|b| b.is_ascii_digit())
            && lower.len() < 160)
        || lower == "fail"
        || (lower.starts_with("ok  \t") || lower.starts_with("fail\t"))
}

/// At most so many lines of a failed output that say what went wrong, in order; of its beginning and end.
pub fn error_lines(output: &str, most: usize) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for line in ends(output) {
        let line = line.trim();
        if says_error(line) && found.len() < most {
            let line = one_line(line, 240);
            if !found.contains(&line) {
                found.push(line);
            }
        }
    }
    if found.is_empty()
        && let Some(last) = tail(output, LOOK).lines().rev().find(|line| !is_frame(line.trim()))
    {
        found.push(one_line(last, 240));
    }
    found
}

/// Lines that a client puts around an output: a command that printed nothing said nothing.
fn is_frame(line: &str) -> bool {
    const FRAMES: [&str; 7] = [
        "Output:",
        "Exit code",
        "Process exited",
        "Wall time",
        "Chunk ID",
        "Original token count",
        "Total output lines",
    ];
    line.is_empty() || FRAMES.iter().any(|frame| line.starts_with(frame))
}

fn says_error(line: &str) -> bool {
    if line.len() < 6 {
        return false;
    }
    const STARTS: [&str; 14] = [
        "error",
        "Error",
        "ERROR",
        "fatal",
        "FATAL",
        "panic",
        "thread '",
        "Exception",
        "Traceback",
        "--- FAIL",
        "FAILED",
        "E   ",
        "✕",
        "✗",
    ];
    STARTS.iter().any(|start| line.starts_with(start))
        || line.contains("Error: ")
        || line.contains("error: ")
        || line.contains(" error TS")
        || line.contains("undefined: ")
        || line.contains("cannot find")
        || line.contains("No such file")
        || line.contains("not found")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_runner_is_known_by_its_name() {
        for name in TESTERS {
            assert!(name.contains(SHARED), "{name}");
        }
        for name in TESTERS.iter().chain(&OTHERS) {
            assert!(runs_tests(&format!("cd x && {name} --all")), "{name}");
        }
        assert!(runs_tests("just test") && !runs_tests("just a west wind") && !runs_tests("ls"));
    }

    #[test]
    fn failing_tests_are_named_for_several_runners() {
        let rust = "running 2 tests\ntest a::ok ... ok\ntest a::bad ... FAILED\n\ntest result: FAILED. 1 passed; 1 failed; 0 ignored";
        assert_eq!(read_tests(rust).1, ["a::bad"]);
        assert!(read_tests(rust).0.is_some_and(|line| line.starts_with("test result: FAILED")));
        let go =
            "--- FAIL: TestLogin (0.01s)\n    login_test.go:12: got 500\nFAIL\nFAIL\tgithub.com/x/y\t0.2s";
        assert_eq!(read_tests(go).1, ["TestLogin"]);
        let python = "FAILED tests/test_a.py::test_b - AssertionError\n==== 1 failed, 3 passed in 0.12s ====";
        assert_eq!(read_tests(python).1, ["tests/test_a.py::test_b"]);
    }

    #[test]
    fn a_command_that_failed_in_silence_leaves_no_error_line() {
        assert!(error_lines("Chunk ID: 1\nProcess exited with code 1\nOutput:\n", 3).is_empty());
        assert_eq!(error_lines("Exit code 2\nnothing to do", 3), ["nothing to do"]);
    }

    #[test]
    fn what_went_wrong_is_found_in_long_output() {
        let output = format!(
            "{}error[E0308]: mismatched types\n  --> src/a.rs:3:5\n",
            "   Compiling x\n".repeat(9_000)
        );
        assert_eq!(error_lines(&output, 3), ["error[E0308]: mismatched types"]);
    }
}

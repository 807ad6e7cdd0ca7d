//! Forms of lines in the reports of test runners, as data.

use crate::text::head;

/// What a line of a report says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Says {
    TestFailed,
    TestPassed,
    TargetFailed,
    TargetPassed,
    RunFailed,
    RunPassed,
}

/// A form of lines in reports: one row of [`LINE_FORMS`].
pub(super) struct LineForm {
    pub(super) says: Says,
    /// Returns the name of the test or target, or the line itself for a whole run.
    pub(super) read: fn(&str) -> Option<&str>,
    #[cfg(test)]
    pub(super) matches: &'static [(&'static str, &'static str)],
    #[cfg(test)]
    pub(super) rejects: &'static [&'static str],
}

macro_rules! line_forms {
    ($($says:ident $read:expr, matches $matches:expr, rejects $rejects:expr;)*) => {
        &[$(LineForm {
            says: Says::$says,
            read: $read,
            #[cfg(test)]
            matches: &$matches,
            #[cfg(test)]
            rejects: &$rejects,
        }),*]
    };
}

fn first_word(text: &str) -> Option<&str> {
    text.split_whitespace().next()
}

fn any_prefix<'a>(line: &'a str, prefixes: &[&str]) -> Option<&'a str> {
    prefixes
        .iter()
        .find_map(|prefix| line.strip_prefix(prefix))
        .map(str::trim)
        .filter(|rest| !rest.is_empty())
}

/// A name without the duration behind it: `name (5 ms)`, `name [0.2ms]`, `name 5ms`.
fn without_duration(name: &str) -> &str {
    let name = name.trim();
    let is_duration = |text: &str| {
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with('s') && !text.contains('/')
    };
    let cut = name
        .rsplit_once(" (")
        .filter(|(_, end)| is_duration(end.trim_end_matches(')')))
        .or_else(|| name.rsplit_once(" [").filter(|(_, end)| is_duration(end.trim_end_matches(']'))))
        .or_else(|| name.rsplit_once(' ').filter(|(_, end)| is_duration(end)));
    cut.map_or(name, |(name, _)| name.trim_end())
}

/// A name without the number that Playwright puts in front of it.
fn without_number(name: &str) -> &str {
    let rest = name.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
    if rest.starts_with('[') { rest } else { name }
}

/// Whether a text is the name of a file with tests.
pub(super) fn is_test_file(text: &str) -> bool {
    let file = text.rsplit('/').next().unwrap_or(text);
    !text.contains(' ') && file.contains('.') && ["test", "spec"].iter().any(|word| text.contains(word))
}

/// Whether nothing follows but how far the run is, such as `[ 50%]`.
fn is_progress(text: &str) -> bool {
    text.trim().is_empty() || text.trim_start().starts_with('[')
}

/// The number in front of a word, such as 3 in `3 failed`.
fn count_before(line: &str, words: &[&str]) -> Option<u64> {
    let mut before = "";
    for word in line.split([' ', ',', ';', '|', '(', ')', '\t']).filter(|word| !word.is_empty()) {
        if words.contains(&word.trim_end_matches(['.', ':']))
            && let Ok(count) = before.parse()
        {
            return Some(count);
        }
        before = word;
    }
    None
}

/// Whether a line says that no test was selected.
pub(super) fn says_nothing_ran(line: &str) -> bool {
    const NOTHING: [&str; 6] = [
        "[no tests to run]",
        "[no test files]",
        "test result: ok. 0 passed",
        "no tests ran",
        "No tests found",
        "No test files found",
    ];
    NOTHING.iter().any(|mark| line.contains(mark))
}

const FAILED_WORDS: [&str; 5] = ["failed", "failing", "failures", "failure", "fail"];
const PASSED_WORDS: [&str; 4] = ["passed", "passing", "pass", "successful"];

/// Whether a line counts tests rather than tells about something else.
fn is_count_line(line: &str) -> bool {
    let line = line.trim_matches(['=', ' ', '─', '#', 'ℹ', '[']);
    let (first, second) = line.split_once(' ').unwrap_or((line, ""));
    let counted = second.trim_start().split([' ', ',', ';', '.', '(']).next().unwrap_or_default();
    let is_count = FAILED_WORDS.contains(&counted)
        || PASSED_WORDS.contains(&counted)
        || matches!(counted, "tests" | "test" | "skipped");
    line.len() < 160
        && ((first.parse::<u64>().is_ok() && is_count)
            || [
                "test",
                "tests",
                "test files",
                "test suites",
                "summary",
                "done",
                "ran ",
                "pass ",
                "fail ",
                "snapshots",
            ]
            .iter()
            .any(|start| head(line, 20).to_ascii_lowercase().starts_with(start)))
}

/// `fail 2`, as Node's runner counts.
fn node_count(line: &str, word: &str) -> Option<u64> {
    line.trim_start_matches(['#', 'ℹ', ' ']).strip_prefix(word)?.strip_prefix(' ')?.trim().parse().ok()
}

/// A line without what Dart puts in front of it: `00:01 +1 -1: name`.
fn without_progress(line: &str) -> &str {
    let is_progress = |start: &str| {
        start.contains(" +") && start.chars().all(|c| c.is_ascii_digit() || ":+-~ ".contains(c))
    };
    line.split_once(": ").filter(|(start, _)| is_progress(start)).map_or(line, |(_, rest)| rest)
}

/// The name and the status in a line of CTest: `1/2 Test #1: name ....***Failed 0.1 sec`.
fn ctest_line(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once(" Test ")?.1.split_once(": ")?;
    let (name, status) = rest.split_once(' ')?;
    line.starts_with(|c: char| c.is_ascii_digit())
        .then_some((name, status.trim_start_matches(['.', ' ', '*'])))
}

/// The target and the status in a line of Bazel: `//a:b_test  PASSED in 0.4s`.
fn bazel_line(line: &str) -> Option<(&str, &str)> {
    let (name, status) = line.split_once(' ').filter(|(name, _)| name.starts_with("//"))?;
    Some((name, status.trim_start().trim_start_matches("(cached) ")))
}

/// The numbers in a line of Cabal: `1 of 2 test suites (1 of 2 test cases) passed.`
fn suite_counts(line: &str) -> Option<(u64, u64)> {
    let (counts, _) = line.split_once(" test suites (")?;
    let (passed, all) = counts.split_once(" of ")?;
    Some((passed.parse().ok()?, all.parse().ok()?))
}

/// How a run ended by the line in which its runner sums up: true if it failed. Maven, Gradle, .NET, RSpec, ExUnit, PHPUnit, CTest, Swift,
/// Deno, Flutter and Django each have their own.
fn run_failed(line: &str) -> Option<bool> {
    const FAILED: [&str; 11] = [
        "BUILD FAILED",
        "BUILD FAILURE",
        "[INFO] BUILD FAILURE",
        "FAILURES!",
        "Some tests failed.",
        "FAILED (failures=",
        "FAILED (errors=",
        "** TEST FAILED **",
        "(Test / test) sbt.TestsFailedException",
        "Suite result: FAILED",
        "task: Failed to run task",
    ];
    const PASSED: [&str; 8] = [
        "BUILD SUCCESSFUL",
        "BUILD SUCCESS",
        "[INFO] BUILD SUCCESS",
        "All tests passed",
        "OK (",
        "OK, but ",
        "** TEST SUCCEEDED **",
        "Suite result: ok",
    ];
    let line = without_progress(line);
    if FAILED.iter().any(|start| line.starts_with(start)) {
        return Some(true);
    }
    if PASSED.iter().any(|start| line.starts_with(start)) {
        return Some(false);
    }
    let is_summary = line.starts_with("Failed!")
        || line.starts_with("Passed!")
        || line.starts_with("Executed ")
        || line.contains("Tests run:")
        || line.contains("tests failed out of")
        || line.contains(" examples, ")
        || line.contains(" example, ")
        || (line.contains(" failures, ") && line.contains(" errors"))
        || (line.contains(" | ") && line.contains(" passed"))
        || (line.contains(" tests, ") && line.contains(" failure"));
    if !is_summary || line.len() > 200 {
        return None;
    }
    let words: Vec<&str> = line.split([' ', ',', '(', ')', '|']).filter(|word| !word.is_empty()).collect();
    let is_failed = |word: &str| {
        let word = word.trim_end_matches([':', '.']).to_ascii_lowercase();
        ["failed", "failure", "failures", "errors", "error"].contains(&word.as_str())
    };
    let number = |word: Option<&&str>| word.and_then(|word| word.parse::<u64>().ok());
    let mut counts = words.iter().enumerate().filter(|(_, word)| is_failed(word)).filter_map(|(at, word)| {
        // `Failures: 1` counts behind the word, `1 failure` before it; `1 tests failed` one word further.
        match word.ends_with(':') {
            true => number(words.get(at + 1)),
            false => {
                let before = at.checked_sub(1).and_then(|before| number(words.get(before)));
                before.or_else(|| at.checked_sub(2).and_then(|before| number(words.get(before))))
            }
        }
    });
    let first = counts.next()?;
    Some(first > 0 || counts.any(|count| count > 0))
}

pub(super) const LINE_FORMS: &[LineForm] = line_forms! {
    TestFailed |line| first_word(line.strip_prefix("--- FAIL: ")?),
        matches [("--- FAIL: TestLogin (0.01s)", "TestLogin"), ("--- FAIL: TestA/case_1 (0.00s)", "TestA/case_1")],
        rejects ["--- PASS: TestA (0s)", "=== RUN TestA"];
    TestPassed |line| first_word(line.strip_prefix("--- PASS: ")?),
        matches [("--- PASS: TestLogin (0.01s)", "TestLogin")],
        rejects ["--- SKIP: TestLogin (0.00s)"];
    TestFailed |line| { let rest = line.strip_prefix("=== FAIL: ")?; rest.split_whitespace().nth(1) },
        matches [("=== FAIL: pkg/a TestLogin (0.01s)", "TestLogin")],
        rejects ["=== RUN   TestLogin"];
    TargetPassed |line| { let rest = line.strip_prefix("ok")?; first_word(rest.starts_with(['\t', ' ']).then_some(rest)?).filter(|name| name.contains('/') && !name.starts_with('/') && !says_nothing_ran(line)) },
        matches [("ok  \tgithub.com/x/y\t0.2s", "github.com/x/y"), ("ok      github.com/x/y  (cached)", "github.com/x/y")],
        rejects ["ok", "okay a/b", "ok 3 - adds", "ok  \tx.org/y\t0.1s [no tests to run]"];
    TargetFailed |line| first_word(line.strip_prefix("FAIL\t").or_else(|| line.strip_prefix("FAIL    "))?),
        matches [("FAIL\tgithub.com/x/y\t0.2s", "github.com/x/y"), ("FAIL\tx/y [build failed]", "x/y")],
        rejects ["FAIL", "FAIL src/a.test.ts"];
    RunFailed |line| (line == "FAIL").then_some(line),
        matches [("FAIL", "FAIL")], rejects ["FAIL: x", "FAILURES"];
    RunPassed |line| (line == "PASS").then_some(line),
        matches [("PASS", "PASS")], rejects ["PASS a"];
    TestFailed |line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"),
        matches [("test a::bad ... FAILED", "a::bad")], rejects ["test a::ok ... ok"];
    TestPassed |line| line.strip_prefix("test ")?.strip_suffix(" ... ok"),
        matches [("test a::ok ... ok", "a::ok")], rejects ["test a::x ... ignored"];
    RunFailed |line| line.starts_with("test result: FAILED").then_some(line),
        matches [("test result: FAILED. 1 passed; 1 failed", "test result: FAILED. 1 passed; 1 failed")],
        rejects ["test result: ok. 2 passed; 0 failed"];
    RunPassed |line| (line.starts_with("test result: ok") && !says_nothing_ran(line)).then_some(line),
        matches [("test result: ok. 2 passed; 0 failed", "test result: ok. 2 passed; 0 failed")],
        rejects ["test result: FAILED. 1 passed", "test result: ok. 0 passed; 0 failed; 3 filtered out"];
    RunFailed |line| (line.starts_with("error: could not compile") || line.starts_with("error: test failed")).then_some(line),
        matches [("error: could not compile `x` (lib)", "error: could not compile `x` (lib)")],
        rejects ["error handling works"];
    TestFailed |line| { let rest = line.strip_prefix("FAIL [")?; rest.split_once(']')?.1.split_whitespace().last() },
        matches [("FAIL [   0.004s] core facts::bad", "facts::bad")], rejects ["FAIL src/a.test.ts"];
    TestPassed |line| { let rest = line.strip_prefix("PASS [")?; rest.split_once(']')?.1.split_whitespace().last() },
        matches [("PASS [   0.004s] core facts::ok", "facts::ok")], rejects ["PASS src/a.test.ts"];
    TestFailed |line| first_word(line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?).filter(|name| name.contains("::") || name.ends_with(".py")),
        matches [("FAILED tests/test_a.py::test_b - AssertionError", "tests/test_a.py::test_b"), ("ERROR tests/test_a.py", "tests/test_a.py")],
        rejects ["FAILED (failures=1)", "ERROR could not connect"];
    TestPassed |line| { let (name, rest) = line.split_once(" PASSED")?; (name.contains("::") && !name.contains(' ') && is_progress(rest)).then_some(name) },
        matches [("tests/test_a.py::test_b PASSED [ 50%]", "tests/test_a.py::test_b"), ("a.py::b PASSED", "a.py::b")],
        rejects ["all tests PASSED", "a b::c PASSED"];
    TestFailed |line| { let (name, rest) = line.split_once(" FAILED")?; (name.contains("::") && !name.contains(' ') && is_progress(rest)).then_some(name) },
        matches [("tests/test_a.py::test_b FAILED [ 50%]", "tests/test_a.py::test_b")],
        rejects ["2 tests FAILED"];
    TestFailed |line| { let rest = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "))?; let (name, class) = rest.split_once(" (")?; (class.ends_with(')') && !name.contains(' ')).then_some(name) },
        matches [("FAIL: test_x (mod.Case.test_x)", "test_x"), ("ERROR: test_y (mod.Case)", "test_y")],
        rejects ["ERROR: could not open file (denied)", "FAIL: no"];
    RunFailed |line| line.starts_with("FAILED (").then_some(line),
        matches [("FAILED (failures=1)", "FAILED (failures=1)")], rejects ["FAILED a::b"];
    RunPassed |line| (line == "OK" || line.starts_with("OK (skipped=")).then_some(line),
        matches [("OK", "OK")], rejects ["OK then"];
    TargetFailed |line| first_word(any_prefix(line, &["FAIL ", "❯ "])?).filter(|name| is_test_file(name)),
        matches [("FAIL src/a.test.ts", "src/a.test.ts"), ("FAIL  src/a.test.ts > suite > name", "src/a.test.ts"), ("❯ src/a.test.ts (3 tests | 1 failed) 20ms", "src/a.test.ts")],
        rejects ["❯ src/run.ts:12:3", "FAIL github.com/x/y"];
    TargetPassed |line| first_word(any_prefix(line, &["PASS ", "✓ "])?).filter(|name| is_test_file(name)),
        matches [("PASS src/a.test.ts", "src/a.test.ts"), ("✓ src/a.test.ts (3 tests) 20ms", "src/a.test.ts")],
        rejects ["✓ adds two numbers", "PASS [ 0.1s] core a::b"];
    TestFailed |line| { let rest = line.strip_prefix("FAIL ")?.trim_start(); let (file, name) = rest.split_once(" > ")?; is_test_file(file).then_some(without_duration(name)) },
        matches [("FAIL  src/a.test.ts > suite > name", "suite > name")], rejects ["FAIL src/a.test.ts"];
    TestFailed |line| any_prefix(line, &["✕ ", "✗ ", "× ", "✘ ", "✖ ", "(fail) "]).map(without_duration).map(without_number).filter(|name| count_before(name, &["problems", "problem"]).is_none()),
        matches [("✕ adds (5 ms)", "adds"), ("(fail) suite > adds [0.12ms]", "suite > adds"), ("× adds 12ms", "adds"), ("✘  2 [chromium] › a.spec.ts:1:3 › adds (2.1s)", "[chromium] › a.spec.ts:1:3 › adds")],
        rejects ["✓ adds", "✖ 3 problems (1 error)"];
    TestPassed |line| any_prefix(line, &["✓ ", "✔ ", "(pass) "]).map(without_duration).map(without_number),
        matches [("✓ adds (5 ms)", "adds"), ("(pass) suite > adds [0.12ms]", "suite > adds")],
        rejects ["✕ adds"];
    TestFailed |line| { let (_, name) = line.strip_prefix("not ok ")?.split_once(" - ")?; Some(name) },
        matches [("not ok 3 - adds", "adds")], rejects ["ok 3 - adds"];
    TestPassed |line| { let (number, name) = line.strip_prefix("ok ")?.split_once(" - ")?; number.parse::<u32>().is_ok().then_some(name) },
        matches [("ok 3 - adds", "adds")], rejects ["ok  \tgithub.com/x/y\t0.2s"];
    RunFailed |line| (is_count_line(line) && count_before(line, &FAILED_WORDS).is_some_and(|count| count > 0)).then_some(line),
        matches [
            ("Tests:       3 failed, 10 passed, 13 total", "Tests:       3 failed, 10 passed, 13 total"),
            ("Tests  3 failed | 10 passed (13)", "Tests  3 failed | 10 passed (13)"),
            ("==== 1 failed, 3 passed in 0.12s ====", "==== 1 failed, 3 passed in 0.12s ===="),
            ("DONE 12 tests, 2 failures in 3s", "DONE 12 tests, 2 failures in 3s"),
            ("2 failing", "2 failing"),
            ("1 fail", "1 fail"),
        ],
        rejects [
            "0 fail",
            "Tests: 10 passed, 10 total",
            "the job failed 3 times",
            "53230 - LOG job complete: processed=10, succeeded=1, failed=9",
            "12 files were checked, 2 failed uploads",
        ];
    RunPassed |line| (is_count_line(line) && count_before(line, &PASSED_WORDS).is_some_and(|count| count > 0) && count_before(line, &FAILED_WORDS).unwrap_or(0) == 0).then_some(line),
        matches [
            ("Tests:       10 passed, 10 total", "Tests:       10 passed, 10 total"),
            ("Tests  10 passed (10)", "Tests  10 passed (10)"),
            ("==== 3 passed in 0.12s ====", "==== 3 passed in 0.12s ===="),
            ("12 passing (30ms)", "12 passing (30ms)"),
            ("3 passed (5.0s)", "3 passed (5.0s)"),
        ],
        rejects ["Tests  3 failed | 10 passed (13)", "he passed 3 exams"];
    RunPassed |line| (line.starts_with("DONE ") && line.contains(" tests") && count_before(line, &FAILED_WORDS).is_none() && count_before(line, &["error", "errors"]).is_none()).then_some(line),
        matches [("DONE 100 tests in 3s", "DONE 100 tests in 3s")], rejects ["DONE 3 tests, 1 failure in 2s", "DONE"];
    RunFailed |line| node_count(line, "fail").is_some_and(|count| count > 0).then_some(line),
        matches [("# fail 2", "# fail 2"), ("ℹ fail 1", "ℹ fail 1")], rejects ["# fail 0", "fail fast"];
    RunFailed |line| (run_failed(line) == Some(true)).then_some(line),
        matches [
            ("[ERROR] Tests run: 5, Failures: 1, Errors: 0, Skipped: 0", "Tests run: 5, Failures: 1, Errors: 0, Skipped: 0"),
            ("Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5", "Failed!  - Failed:     1, Passed:     4, Skipped:     0, Total:     5"),
            ("5 examples, 1 failure", "5 examples, 1 failure"),
            ("80% tests passed, 1 tests failed out of 5", "80% tests passed, 1 tests failed out of 5"),
            ("Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds", "Executed 5 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds"),
            ("FAILED | 4 passed | 1 failed (12ms)", "FAILED | 4 passed | 1 failed (12ms)"),
            ("BUILD FAILED in 3s", "BUILD FAILED in 3s"),
            ("2 runs, 3 assertions, 1 failures, 0 errors, 0 skips", "2 runs, 3 assertions, 1 failures, 0 errors, 0 skips"),
            ("00:01 +1 -1: Some tests failed.", "00:01 +1 -1: Some tests failed."),
            ("[error] (Test / test) sbt.TestsFailedException: x", "(Test / test) sbt.TestsFailedException: x"),
        ],
        rejects ["Tests run: 5, Failures: 0, Errors: 0", "5 examples, 0 failures", "the build failed"];
    RunPassed |line| (run_failed(line) == Some(false)).then_some(line),
        matches [
            ("[INFO] Tests run: 5, Failures: 0, Errors: 0, Skipped: 0", "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0"),
            ("Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5", "Passed!  - Failed:     0, Passed:     5, Skipped:     0, Total:     5"),
            ("5 tests, 0 failures", "5 tests, 0 failures"),
            ("100% tests passed, 0 tests failed out of 5", "100% tests passed, 0 tests failed out of 5"),
            ("ok | 5 passed | 0 failed (12ms)", "ok | 5 passed | 0 failed (12ms)"),
            ("BUILD SUCCESSFUL in 3s", "BUILD SUCCESSFUL in 3s"),
            ("OK (5 tests, 9 assertions)", "OK (5 tests, 9 assertions)"),
            ("0 failures, 0 errors.", "0 failures, 0 errors."),
            ("00:01 +2: All tests passed!", "00:01 +2: All tests passed!"),
        ],
        rejects ["5 tests, 2 failures", "OK then", "all tests passed yesterday"];
    TestFailed |line| ctest_line(line).filter(|(_, status)| status.starts_with("Failed")).map(|(name, _)| name),
        matches [("1/2 Test #1: pool_reuse .......................***Failed    0.01 sec", "pool_reuse")],
        rejects ["2/2 Test #2: pool_open ........................   Passed    0.00 sec"];
    TestPassed |line| ctest_line(line).filter(|(_, status)| status.starts_with("Passed")).map(|(name, _)| name),
        matches [("2/2 Test #2: pool_open ........................   Passed    0.00 sec", "pool_open")],
        rejects ["Start 2: pool_open"];
    TargetFailed |line| bazel_line(line).filter(|(_, status)| status.starts_with("FAILED")).map(|(name, _)| name),
        matches [("//pool:pool_test                FAILED in 0.4s", "//pool:pool_test")],
        rejects ["// FAIL: x"];
    TargetPassed |line| bazel_line(line).filter(|(_, status)| status.starts_with("PASSED")).map(|(name, _)| name),
        matches [("//pool:pool_test        (cached) PASSED in 0.4s", "//pool:pool_test")],
        rejects ["//pool:pool_test NO STATUS"];
    TestFailed |line| { let name = without_progress(line).strip_suffix(" [E]")?; (name.len() < line.len() - 4).then_some(name) },
        matches [("00:01 +1 -1: Pool reuses a connection [E]", "Pool reuses a connection")], rejects ["a [E]"];
    TestFailed |line| line.strip_prefix("- ")?.strip_suffix(" *** FAILED ***"),
        matches [("[info] - reuses a connection *** FAILED ***", "reuses a connection")], rejects ["- reuses a connection"];
    TestFailed |line| { let (name, time) = line.strip_prefix("Failed ")?.rsplit_once(" [")?; (time.ends_with("s]") && !name.contains(' ')).then_some(name) },
        matches [("Failed Pool.Tests.PoolTests.Reuses [12 ms]", "Pool.Tests.PoolTests.Reuses")], rejects ["Failed to load [x]", "Failed!  - Failed:     1"];
    TestPassed |line| { let (name, time) = line.strip_prefix("Passed ")?.rsplit_once(" [")?; (time.ends_with("s]") && !name.contains(' ')).then_some(name) },
        matches [("Passed Pool.Tests.PoolTests.Reuses [1 s]", "Pool.Tests.PoolTests.Reuses")], rejects ["Passed!  - Failed:     0"];
    TestFailed |line| first_word(line).filter(|name| (line.contains("<<< FAILURE!") || line.contains("<<< ERROR!")) && name.contains('.')),
        matches [("[ERROR] com.acme.PoolTest.reuses  Time elapsed: 0.01 s  <<< FAILURE!", "com.acme.PoolTest.reuses")],
        rejects ["Tests run: 2, Failures: 1 <<< FAILURE! - in com.acme.PoolTest"];
    TestFailed |line| line.strip_prefix("> Task ")?.strip_suffix(" FAILED").filter(|task| task.ends_with("est")),
        matches [("> Task :pool:test FAILED", ":pool:test")], rejects ["> Task :pool:compileJava FAILED"];
    TargetFailed |line| line.strip_prefix("rspec ./")?.split([':', '[']).next(),
        matches [("rspec ./spec/pool_spec.rb:7 # Pool reuses a connection", "spec/pool_spec.rb")], rejects ["rspec spec"];
    TargetFailed |line| { let (file, at) = line.rsplit_once(':')?; (file.ends_with("_test.exs") && !file.contains(' ') && at.parse::<u32>().is_ok()).then_some(file) },
        matches [("test/pool_test.exs:7", "test/pool_test.exs")], rejects ["(app) test/pool_test.exs:9: PoolTest"];
    RunFailed |line| suite_counts(line).filter(|(passed, all)| passed < all).map(|_| line),
        matches [("0 of 1 test suites (0 of 1 test cases) passed.", "0 of 1 test suites (0 of 1 test cases) passed.")],
        rejects ["1 of 1 test suites (1 of 1 test cases) passed."];
    RunPassed |line| suite_counts(line).filter(|(passed, all)| passed == all).map(|_| line),
        matches [("1 of 1 test suites (1 of 1 test cases) passed.", "1 of 1 test suites (1 of 1 test cases) passed.")],
        rejects ["0 of 1 test suites (0 of 1 test cases) passed."];
    RunFailed |line| line.strip_prefix("Fail:")?.trim().parse().is_ok_and(|count: u64| count > 0).then_some(line),
        matches [("Fail:               1", "Fail:               1")], rejects ["Fail:               0"];
    RunPassed |line| line.strip_prefix("Fail:")?.trim().parse().is_ok_and(|count: u64| count == 0).then_some(line),
        matches [("Fail:               0", "Fail:               0")], rejects ["Fail: x"];
    RunPassed |line| (line.starts_with("All ") && line.ends_with(" tests passed.")).then_some(line),
        matches [("All 3 tests passed.", "All 3 tests passed.")], rejects ["All good"];
    RunPassed |line| (line == "0 fail").then_some(line),
        matches [("0 fail", "0 fail")], rejects ["10 fail", "0 failures expected"];
    RunPassed |line| node_count(line, "fail").is_some_and(|count| count == 0).then_some(line),
        matches [("# fail 0", "# fail 0")], rejects ["# fail 3", "# pass 0"];
    RunFailed |line| (line.ends_with("ERROR task failed") || (line.starts_with("make") && line.contains(": *** ")) || line.starts_with("npm ERR! ") || line.starts_with("ELIFECYCLE") || line.contains("ELIFECYCLE  Command failed") || (line.starts_with("error: script \"") && line.contains("test")) || line.starts_with("error: Recipe `")).then_some(line),
        matches [("[test] ERROR task failed", "ERROR task failed"), ("make: *** [test] Error 2", "make: *** [test] Error 2"), ("make[1]: *** [a.o] Error 1", "make[1]: *** [a.o] Error 1"), ("error: script \"test\" exited with code 1", "error: script \"test\" exited with code 1")],
        rejects ["make: Nothing to be done for 'test'.", "npm notice", "error: script \"lint\" exited with code 1"];
};

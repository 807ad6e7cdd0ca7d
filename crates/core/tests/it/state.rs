//! "Current State" tells the truth: failures end with the success that covers them, and probes are no errors.

use serde_json::{Value, json};
use throughline_core::facts::Facts;
use throughline_core::scribe::{Material, notes};
use throughline_core::tokens::Counter;
use throughline_core::{Body, CallKind, Message, Role, ToolCall, ToolInput, ToolResult};

#[derive(Default)]
struct Session {
    facts: Facts,
    calls: usize,
}

impl Session {
    fn new() -> Self {
        let mut session = Self::without_cwd();
        session.facts.set_cwd("/repo");
        session
    }

    fn without_cwd() -> Self {
        let mut session = Self::default();
        session.facts.push(&Message::text(Role::User, "Make the tests pass."));
        session
    }

    fn call(&mut self, tool: &str, input: Value, output: &str, is_error: Option<bool>) -> &mut Self {
        self.calls += 1;
        let id = format!("call{}", self.calls);
        let call = ToolCall {
            id: id.as_str().into(),
            name: tool.to_owned(),
            input: ToolInput::Json(input),
            kind: CallKind::Function,
        };
        self.facts.push(&Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]));
        let mut result = ToolResult::text(id.as_str().into(), output);
        result.is_error = is_error;
        self.facts.push(&Message::new(Role::User, vec![Body::ToolResult(result).into()]));
        self
    }

    fn ok(&mut self, command: &str, output: &str) -> &mut Self {
        self.call("Bash", json!({"command": command}), output, Some(false))
    }

    fn fails(&mut self, command: &str, output: &str) -> &mut Self {
        self.call("Bash", json!({"command": command}), &format!("Exit code 1\n{output}"), Some(true))
    }

    fn failing(&self) -> Vec<String> {
        let runs = self.facts.tests().iter().filter(|run| !run.passed);
        runs.map(|run| format!("{}: {}", run.command, run.failing.join(", "))).collect()
    }

    fn open_errors(&self) -> Vec<&str> {
        self.facts.open_errors().map(|error| error.line.as_str()).collect()
    }
}

const GO_FAIL: &str =
    "--- FAIL: TestLogin (0.01s)\n    login_test.go:9: got 500\nFAIL\nFAIL\tx.org/app/auth\t0.2s\nFAIL";
const GO_OK: &str = "ok  \tx.org/app/auth\t0.2s";
const RUST_FAIL: &str = "test auth::login ... FAILED\n\ntest result: FAILED. 3 passed; 1 failed; 0 ignored";
const RUST_OK: &str = "test result: ok. 4 passed; 0 failed; 0 ignored";
const JS_FAIL: &str = " FAIL  src/auth.test.ts > login > rejects\n Tests  1 failed | 3 passed (4)";
const JS_OK: &str = " Tests  4 passed (4)";

const MAKE_FAIL: &str = "pool.c:14:5: error: 'sz' undeclared\nmake: *** [Makefile:12: pool.o] Error 1";
const MVN_FAIL: &str =
    "org.opentest4j.AssertionFailedError: expected: <2> but was: <1>\n[INFO] BUILD FAILURE";
const GRADLE_FAIL: &str = "> Task :pool:test FAILED\n\n2 tests completed, 1 failed\n\nBUILD FAILED in 3s";
const UNITTEST_FAIL: &str = "FAIL: test_reuse (tests.PoolTest.test_reuse)\nTraceback (most recent call last):\nAssertionError: 1 != 2\n\nFAILED (failures=1)";
const CTEST_FAIL: &str = "1/2 Test #1: pool_reuse ......***Failed    0.01 sec\n2/2 Test #2: open ......   Passed    0.00 sec\n\n\
    50% tests passed, 1 tests failed out of 2\nErrors while running CTest";
const CTEST_OK: &str =
    "1/1 Test #1: pool_reuse ......   Passed    0.01 sec\n\n100% tests passed, 0 tests failed out of 1";

/// A failed run, its output, a later run, its output.
type Row = (&'static str, &'static str, &'static str, &'static str);

#[test]
fn a_later_success_closes_what_it_covers() {
    const ROWS: &[Row] = &[
        ("go test ./auth", GO_FAIL, "go test ./auth", GO_OK),
        ("go test ./auth", GO_FAIL, "cd /repo && go test ./auth 2>&1 | tail -20", GO_OK),
        (
            "go test ./auth 2>&1 | tail -n 40",
            GO_FAIL,
            "CI=1 timeout 60 go test -v -count=1 ./auth",
            "PASS\nok  \tx.org/app/auth\t0.2s",
        ),
        ("cd auth && go test .", GO_FAIL, "go test ./auth", GO_OK),
        ("go test ./auth -run TestLogin", GO_FAIL, "go test ./...", GO_OK),
        ("go test ./... | grep FAIL", GO_FAIL, "go test ./... | grep FAIL", ""),
        (
            "go test ./...",
            GO_FAIL,
            "go test ./auth -run 'TestLogin$' -v",
            "--- PASS: TestLogin (0.0s)\nPASS\nok  \tx.org/app/auth\t0.1s",
        ),
        ("go test ./...", GO_FAIL, "go test ./auth | head -30", GO_OK),
        ("mise run test", GO_FAIL, "go test ./... 2>&1 | tail -5", GO_OK),
        ("go test ./auth", GO_FAIL, "mise run test 2>&1 | tail -5", "[test] ok  \tx.org/app/auth\t0.2s"),
        ("go test ./auth", GO_FAIL, "go test ./auth > /tmp/log 2>&1; echo \"exit: $?\"", "exit: 0"),
        ("cargo test -p core auth::login", RUST_FAIL, "cargo test", RUST_OK),
        ("cargo test", RUST_FAIL, "cargo test -p core auth::login 2>&1 | tail -3", RUST_OK),
        (
            "cargo test --lib",
            RUST_FAIL,
            "cargo nextest run --workspace",
            "Summary [1.0s] 4 tests run: 4 passed, 0 skipped",
        ),
        ("bash -lc 'cargo test'", RUST_FAIL, "cargo test | grep 'test result'", RUST_OK),
        ("npx vitest run src/auth.test.ts", JS_FAIL, "npm test", JS_OK),
        ("pnpm vitest run src/auth.test.ts", JS_FAIL, "pnpm exec vitest run 2>&1 | tail -8", JS_OK),
        (
            "npm test",
            JS_FAIL,
            "npx vitest run src/auth.test.ts",
            " ✓ src/auth.test.ts (4 tests) 9ms\n Tests  4 passed (4)",
        ),
        ("cd web && npm test", JS_FAIL, "npm --prefix web test", JS_OK),
        (
            "npx playwright test tests/share.spec.ts --reporter=line 2>&1 | grep -E 'Error|failed'",
            "Error: page was closed\n1 failed",
            "pnpm --filter e2e test -- --reporter=list tests/e2e/tests/share.spec.ts",
            "20 passed (32.1s)",
        ),
        (
            "pytest tests/test_a.py",
            "FAILED tests/test_a.py::test_b - x\n1 failed in 0.1s",
            "uv run pytest -q",
            "9 passed in 1.0s",
        ),
        (
            "pytest",
            "FAILED tests/test_a.py::test_b - x\n1 failed in 0.1s",
            "pytest tests/test_a.py::test_b -v",
            "tests/test_a.py::test_b PASSED [100%]\n1 passed in 0.1s",
        ),
        (
            "make test 2>&1 | tail -20",
            MAKE_FAIL,
            "make test 2>&1 | tail -n 5",
            "gcc -o pool pool.c\nall good",
        ),
        (
            "make test | tee /tmp/x.log",
            MAKE_FAIL,
            "make test 2>&1 | head -30",
            "gcc -o pool pool.c\nall good",
        ),
        (
            "make test",
            MAKE_FAIL,
            "make test > /tmp/o.log 2>&1; tail -40 /tmp/o.log",
            "gcc -o pool pool.c\nall good",
        ),
        ("nice -n 10 make test", MAKE_FAIL, "make test || true", "gcc -o pool pool.c\nall good"),
        ("mvn -q test", MVN_FAIL, "mvn test", "[INFO] BUILD SUCCESS"),
        ("mvn test", MVN_FAIL, "mvn -q test", ""),
        ("mvn test", MVN_FAIL, "./mvnw -B clean verify", "[INFO] BUILD SUCCESS"),
        ("./gradlew test", GRADLE_FAIL, "./gradlew check", "BUILD SUCCESSFUL in 3s"),
        ("./gradlew :pool:test", GRADLE_FAIL, "./gradlew build", "BUILD SUCCESSFUL in 3s"),
        ("./gradlew test", GRADLE_FAIL, "gradle -q test", ""),
        (
            "python -m unittest",
            UNITTEST_FAIL,
            "python3 -m unittest discover -s tests -v",
            "Ran 2 tests\n\nOK",
        ),
        ("python3 manage.py test", UNITTEST_FAIL, "./manage.py test", "Ran 2 tests\n\nOK"),
        (
            "vendor/bin/phpunit",
            "FAILURES!\nTests: 2, Failures: 1.",
            "php vendor/bin/phpunit",
            "OK (2 tests, 2 assertions)",
        ),
        (
            "php artisan test",
            "Tests:  1 failed, 1 passed",
            "php artisan test | tail -3",
            "Tests:  2 passed (4 assertions)",
        ),
        ("ctest --test-dir build", CTEST_FAIL, "ctest --test-dir build -R pool", CTEST_OK),
        (
            "cd build && ctest",
            CTEST_FAIL,
            "cmake --build build && ctest --test-dir build | tail -4",
            CTEST_OK,
        ),
        (
            "flutter test",
            "00:01 +1 -1: Some tests failed.",
            "flutter test | tail -1",
            "00:01 +2: All tests passed!",
        ),
        (
            "bazel test //...",
            "//a:b_test  FAILED in 0.4s",
            "bazel test //a:b_test | tail -3",
            "//a:b_test  PASSED in 0.4s",
        ),
        (
            "mix test",
            "  1) test reuses (PoolTest)\n     test/pool_test.exs:7\n2 tests, 1 failure",
            "mix test test/pool_test.exs",
            "2 tests, 0 failures",
        ),
        (
            "dotnet test",
            "  Failed Pool.PoolTests.Reuses [12 ms]\nFailed!  - Failed:     1, Passed:     1",
            "dotnet test --filter PoolTests",
            "Passed!  - Failed:     0, Passed:     2",
        ),
        (
            "mvn test",
            "[ERROR] com.acme.PoolTest.reuses  Time elapsed: 0.01 s  <<< FAILURE!\n[INFO] BUILD FAILURE",
            "mvn -Dtest=PoolTest test",
            "[INFO] BUILD SUCCESS",
        ),
        ("./gradlew test", GRADLE_FAIL, "./gradlew :pool:test --rerun-tasks", "BUILD SUCCESSFUL in 3s"),
        (
            "rspec",
            "2 examples, 1 failure\n\nrspec ./spec/pool_spec.rb:7 # Pool reuses",
            "bundle exec rspec spec/pool_spec.rb:7",
            "1 example, 0 failures",
        ),
        ("sbt test", "[info] - reuses *** FAILED ***", "sbt test | tail -3", "[info] All tests passed."),
        ("zig build test", "1 passed; 0 skipped; 1 failed.", "zig build test --summary all", ""),
        ("meson test -C build", "Fail:      1", "meson test -C build | tail", "Ok:   2\nFail:      0"),
        ("lein test", "1 failures, 0 errors.", "lein test | tail -2", "0 failures, 0 errors."),
        ("cabal test", "Test suite spec: FAIL", "cabal test", ""),
        ("stack test", "2 examples, 1 failure", "stack test | tail -2", "2 examples, 0 failures"),
        (
            "forge test",
            "Suite result: FAILED. 1 passed; 1 failed",
            "forge test | tail",
            "Suite result: ok. 2 passed; 0 failed",
        ),
        ("npx hardhat test", "1 passing\n1 failing", "npx hardhat test", "2 passing"),
        ("gleam test", "2 tests, 1 failures", "gleam test", "2 tests, 0 failures"),
        ("dart test", "00:01 +1 -1: Pool reuses [E]", "flutter test", "00:01 +2: All tests passed!"),
    ];
    let wrong = ROWS.iter().filter(|(failed, why, passed, output)| {
        let mut session = Session::new();
        let is_open = session.fails(failed, why).failing().len() == 1;
        session.ok(passed, output);
        !is_open || !session.failing().is_empty() || !session.open_errors().is_empty()
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&Row>::new());
}

#[test]
fn a_success_of_something_else_closes_nothing() {
    const ROWS: &[Row] = &[
        ("go test ./auth", GO_FAIL, "go test ./store", "ok  \tx.org/app/store\t0.2s"),
        ("go test ./auth", GO_FAIL, "go test ./auth -run TestLogout", GO_OK),
        (
            "go test ./auth",
            GO_FAIL,
            "go test ./auth -run TestNone",
            "ok  \tx.org/app/auth\t0.1s [no tests to run]",
        ),
        ("go test ./auth", GO_FAIL, "go test ./auth 2>&1 | grep -c RUN", "12"),
        ("go test ./auth", GO_FAIL, "go test ./auth 2>&1 | tail -1", "FAIL"),
        ("go test ./auth", GO_FAIL, "go build ./...", ""),
        ("go test -tags=integration ./auth", GO_FAIL, "go test ./store/...", "ok  \tx.org/app/store\t0.2s"),
        ("cargo test -p core", RUST_FAIL, "cargo test -p wire", RUST_OK),
        (
            "cargo test",
            RUST_FAIL,
            "cargo test none_like_this",
            "test result: ok. 0 passed; 0 failed; 9 filtered out",
        ),
        ("cd web && npm test", JS_FAIL, "cd api && npm test", JS_OK),
        ("npm test", JS_FAIL, "npm run lint", ""),
        ("npm run test:e2e", JS_FAIL, "npm test", JS_OK),
        ("go test ./auth", GO_FAIL, "cat test.log", "ok"),
        ("make test", MAKE_FAIL, "make test 2>&1 | grep -c ok", "12"),
        (
            "make test",
            MAKE_FAIL,
            "make test > /tmp/o.log 2>&1 & sleep 9; tail /tmp/o.log",
            "gcc -o pool pool.c",
        ),
        ("make test", MAKE_FAIL, "make test > /tmp/o.log 2>&1; cat notes.md", "gcc -o pool pool.c"),
        ("make test", MAKE_FAIL, "make test > /tmp/log 2>&1; echo done", "done"),
        ("make test", MAKE_FAIL, "make test 2>&1 | tail -3", "make[1]: *** [a.o] Error 1"),
        ("mvn test", MVN_FAIL, "mvn -DskipTests package", "[INFO] BUILD SUCCESS"),
        ("./gradlew test", GRADLE_FAIL, "./gradlew assemble", "BUILD SUCCESSFUL in 3s"),
        ("./gradlew test", GRADLE_FAIL, "./gradlew :api:test", "BUILD SUCCESSFUL in 3s"),
        (
            "ctest --test-dir build",
            CTEST_FAIL,
            "ctest --test-dir build -R open",
            "100% tests passed, 0 tests failed out of 1",
        ),
    ];
    let wrong = ROWS.iter().filter(|(failed, why, passed, output)| {
        Session::new().fails(failed, why).ok(passed, output).failing().len() != 1
    });
    assert_eq!(wrong.collect::<Vec<_>>(), Vec::<&Row>::new());
}

#[test]
fn an_unknown_start_folder_may_be_any_absolute_one() {
    const FAIL: &str = "error: it broke\n2 tests, 1 failure";
    const OK: &str = "2 tests, 0 failures";
    for (failed, passed, is_closed) in [
        ("mix test", "cd /repo && mix test", true),
        ("cd /repo && mix test", "mix test", true),
        ("cargo build", "cd /repo && cargo build", true),
        ("cargo build", "cd /repo && cd web && cargo build", true),
        ("npx eslint src", "cd /repo && npx eslint src", true),
        ("cd build && ctest", "cd /repo && cd build && ctest", true),
        ("(cd /repo && cd build && ctest)", "cd build && ctest", true),
        ("ctest --test-dir build", "cd /repo && ctest --test-dir build", true),
        ("npm test", "npm --prefix /repo test", true),
        ("./deploy.sh", "cd /repo && ./deploy.sh", true),
        ("cd web && mix test", "cd /repo/api && mix test", false),
        ("cd /repo/web && mix test", "cd /repo/api && mix test", false),
        ("npx eslint src", "cd /repo && npx eslint tests", false),
    ] {
        let mut session = Session::without_cwd();
        session.fails(failed, FAIL).ok(passed, OK);
        let is_empty = session.failing().is_empty() && session.open_errors().is_empty();
        assert_eq!(is_empty, is_closed, "{failed}, then {passed}");
    }
}

#[test]
fn tests_of_one_run_are_closed_one_by_one() {
    let mut session = Session::new();
    session.fails(
        "go test ./...",
        "--- FAIL: TestA (0s)\n--- FAIL: TestB (0s)\nFAIL\tx.org/app/auth\t0.1s\nFAIL",
    );
    session.ok("go test ./auth -run TestA", GO_OK);
    assert_eq!(session.failing(), ["go test ./...: TestB"]);
    session.ok("cd auth && go test -run '^TestB$' . | tail -2", GO_OK);
    assert_eq!(session.failing(), Vec::<String>::new());
}

#[test]
fn a_run_behind_a_pipe_is_judged_by_its_output() {
    for (command, output) in [
        ("cargo test 2>&1 | tail -5", RUST_FAIL),
        ("npm test | tail -3", "Tests:       3 failed, 10 passed, 13 total"),
        ("go test ./... | grep -E 'FAIL|ok'", "FAIL\tx.org/app/auth\t0.2s"),
        ("mise run test 2>&1 | tail -2", "[test] ERROR task failed"),
    ] {
        assert_eq!(Session::new().ok(command, output).failing().len(), 1, "{command}");
    }
    assert_eq!(Session::new().ok("npm test | tail -1", "Time: 3 s").failing().len(), 0);
}

#[test]
fn a_command_that_goes_on_running_ends_where_it_is_waited_for() {
    let mut session = Session::new();
    session.fails("go test ./auth", GO_FAIL);
    let running = "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 77\nOutput:\n";
    session.call("exec_command", json!({"cmd": "go test ./auth", "workdir": "/repo"}), running, None);
    assert_eq!(session.failing().len(), 1, "its result is not there yet");
    let ended = "Chunk ID: 2\nProcess exited with code 0\nOutput:\nok  \tx.org/app/auth\t9s";
    session.call("write_stdin", json!({"session_id": 77, "chars": ""}), ended, None);
    assert_eq!(session.failing().len(), 0);
}

#[test]
fn exploratory_misses_are_no_errors() {
    for (command, output) in [
        ("ls missing", "ls: missing: No such file or directory"),
        ("grep -rn 'error' src", ""),
        ("rg 'error: ' src | head", ""),
        ("test -f x", ""),
        ("[ -d x ] && echo yes", ""),
        ("which deno", "deno not found"),
        ("command -v deno", ""),
        ("git diff --exit-code", "diff --git a/x b/x"),
        ("cat missing.md", "cat: missing.md: No such file or directory"),
        ("cd web && cat a.md; sed -n 1,5p b.md", "sed: can't read b.md: No such file or directory"),
        ("git show HEAD:x", "fatal: path 'x' does not exist in 'HEAD'"),
        ("echo a && ls *.go", "zsh: no matches found: *.go"),
        ("cd nowhere && make", "bash: line 1: cd: nowhere: No such file or directory"),
        ("gh pr view 12", "no pull requests found"),
        ("python3 - <<'E'\nprint(rows[3])\nE", "IndexError: list index out of range"),
        ("tmux capture-pane -pt x", "can't find session: x"),
        ("java -version", "bash: java: command not found"),
        ("pyenv which python3.9", "pyenv: python3.9: command not found"),
        ("dpkg -s foo", "dpkg-query: package 'foo' is not installed and no information is available"),
        ("rpm -q foo", "package foo is not installed"),
        ("brew list foo", "Error: No such keg: /opt/homebrew/Cellar/foo"),
        ("gem list -i foo", "false"),
        ("pip3 show foo", "WARNING: Package(s) not found: foo"),
        ("npm run nope", "npm error Missing script: \"nope\""),
        ("make -n deploy", "make: *** No rule to make target 'deploy'.  Stop."),
        (
            "Get-Content foo.txt",
            "Get-Content: Cannot find path 'C:\\repo\\foo.txt' because it does not exist.",
        ),
        ("Select-String -Path a.txt -Pattern x", "Select-String: Cannot find path 'a.txt'"),
        ("where.exe deno", "INFO: Could not find files for the given pattern(s)."),
        ("curl -sf http://localhost:3000/health", "(no output)"),
        ("curl -sS http://localhost:3000", "curl: (7) Failed to connect to localhost port 3000"),
        ("printenv API_KEY", "(no output)"),
        ("./run-hidden", "(no output)"),
        ("ping -c1 db", "ping: db: Name or service not known"),
        ("systemctl is-active foo", "inactive"),
        ("dir nope", "dir: cannot access 'nope': No such file or directory"),
        ("git branch -d nope", "error: branch 'nope' not found."),
    ] {
        assert_eq!(Session::new().fails(command, output).open_errors(), Vec::<&str>::new(), "{command}");
    }
}

#[test]
fn output_that_speaks_of_errors_is_no_error() {
    let shown = "src/run.rs:4: // exit code 1 means failure\nsrc/run.rs:9: error: not found";
    assert_eq!(Session::new().ok("rg 'exit code' src", shown).open_errors(), Vec::<&str>::new());
    let codex = format!("Chunk ID: 1\nProcess exited with code 0\nOutput:\n{shown}");
    let mut session = Session::new();
    session.call("exec_command", json!({"cmd": "rg x"}), &codex, None);
    session.call("Bash", json!({"command": "./run.sh"}), "exit code 1 means failure", None);
    assert_eq!(session.open_errors(), Vec::<&str>::new());
}

#[test]
fn declined_calls_are_no_errors() {
    let declined = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
    let mut session = Session::new();
    session.call("Bash", json!({"command": "git push"}), declined, Some(true));
    session.call(
        "Edit",
        json!({"file_path": "/repo/a.rs"}),
        "<tool_use_error>File has not been read yet.",
        Some(true),
    );
    assert_eq!(session.open_errors(), Vec::<&str>::new());
}

#[test]
fn errors_end_with_the_success_that_covers_them() {
    for (failed, why, passed) in [
        (
            "git push",
            "error: failed to push some refs",
            "git push --force-with-lease origin main 2>&1 | tail -2",
        ),
        ("go build ./cmd/x", "cmd/x/a.go:3: undefined: y", "cd /repo && go build ./... 2>&1 | head -20"),
        ("go build ./cmd/x", "cmd/x/a.go:3: undefined: y", "go test ./..."),
        ("npx tsc --noEmit", "src/a.ts(3,1): error TS2345: no", "pnpm exec tsc --noEmit"),
        ("npx tsc --noEmit", "src/a.ts(3,1): error TS2345: no", "npx tsc --noEmit -p ."),
        ("yarn tsc -p tsconfig.json", "src/a.ts(3,1): error TS2345: no", "npx tsc"),
        ("mypy src", "src/a.py:14: error: Incompatible return value", "python -m mypy src"),
        ("ruff check .", "src/a.py:3:8: F401 `os` imported but unused", "python -m ruff check"),
        ("black --check .", "error: would reformat a.py", "python -m black ."),
        ("flake8", "error: a.py:1:1 F401", "poetry run flake8 ."),
        ("terraform validate", "Error: Unsupported argument", "terraform validate -no-color"),
        ("helm lint charts/a", "Error: 1 chart(s) linted, 1 chart(s) failed", "helm lint charts/a | tail -1"),
        ("shellcheck a.sh", "error: SC2086", "shellcheck a.sh b.sh"),
        ("cmake --build build", "pool.c:14:5: error: 'sz' undeclared", "cd /repo && cmake --build build -j4"),
        ("mvn compile", "[ERROR] COMPILATION ERROR", "./mvnw test"),
        (
            "python scripts/migrate.py",
            "ModuleNotFoundError: No module named 'yaml'",
            "uv run scripts/migrate.py",
        ),
        ("./scripts/seed.sh", "error: no database", "bash scripts/seed.sh"),
        (
            "python3 - <<'E'\np.write_text(x)\nE",
            "NameError: name 'x' is not defined",
            "python3 - <<'E'\np.write_text(y)\nE",
        ),
    ] {
        let mut session = Session::new();
        session.fails(failed, why);
        assert_eq!(session.open_errors().len(), 1, "{failed}");
        session.ok(passed, if passed.contains("go test") { GO_OK } else { "" });
        assert_eq!(session.open_errors(), Vec::<&str>::new(), "{passed}");
    }
    for (lint, findings) in [
        ("ruff check src", "src/a.py:3:8: F401 `os` imported but unused"),
        ("npx eslint src", "/repo/src/a.ts\n  14:5  error  'x' is never used  no-unused-vars"),
    ] {
        let mut session = Session::new();
        session.fails(lint, findings).ok(&format!("{lint} | tail -3"), findings);
        assert_eq!(session.open_errors().len(), 1, "{lint}");
        session.ok(&format!("{lint} 2>&1 | tail -3"), "");
        assert_eq!(session.open_errors(), Vec::<&str>::new(), "{lint}");
    }
    let mut session = Session::new();
    session.fails("go vet ./a", "a/b.go:3: undefined: y").ok("go vet ./c", "");
    assert_eq!(session.open_errors().len(), 1, "another package");
    session.call("Edit", json!({"file_path": "/repo/a/b.go"}), "updated", Some(false)).ok("go vet ./c", "");
    assert_eq!(session.open_errors(), Vec::<&str>::new(), "its file was changed, and the runner passes");
}

#[test]
fn a_fixer_that_succeeds_ends_what_the_linter_reported() {
    const LINT: &str = "error: script \"lint\" exited with code 1";
    const FORMAT: &str = "error: 2 files would be reformatted";
    for (failed, output, later) in [
        ("bun run lint 2>&1", LINT, "bun run lint:fix"),
        ("bun run lint:fix", LINT, "bun run lint 2>&1 | tail -5"),
        ("bun run lint", LINT, "bunx biome check --write src/a.ts"),
        ("uv run ruff format --check a.py b.py c.py", FORMAT, "uv run ruff format a.py b.py"),
    ] {
        let mut session = Session::new();
        session.fails(failed, output);
        assert_eq!(session.open_errors().len(), 1, "{failed}");
        session.ok(later, "Fixed 2 files");
        assert!(session.open_errors().is_empty(), "{failed}, then {later}: {:?}", session.open_errors());
    }
    let mut session = Session::new();
    session.fails("bun run lint", LINT).ok("uv run ruff format", "2 files reformatted");
    assert_eq!(session.open_errors().len(), 1);
}

#[test]
fn errors_that_passing_tests_print_are_not_open_errors() {
    let mut session = Session::new();
    let output = "error: All fail\nerror: Item 3 failed\n183 | submitError: new Error(\"queue is full\"),\n(fail) routes > returns 404 [1.2ms]\n 12 pass\n 1 fail";
    session.fails("bun run test 2>&1", output);
    assert_eq!(session.failing().len(), 1);
    assert!(session.open_errors().is_empty(), "{:?}", session.open_errors());
    // A run that could not be compiled has no failed test to tell.
    session.fails("cargo test", "error[E0308]: mismatched types\nerror: could not compile `app` (lib test)");
    assert!(session.open_errors().iter().any(|line| line.contains("E0308")), "{:?}", session.open_errors());
}

#[test]
fn errors_stay_open_when_the_command_fails_again() {
    for (command, output, again) in [
        (
            "cargo build",
            "error[E0308]: mismatched types\nerror: could not compile `core`",
            "error: could not compile `core`",
        ),
        ("cargo build", "error[E0308]: mismatched types", ""),
        (
            "make",
            "pool.c:14:5: error: 'sz' undeclared\nmake: *** [pool.o] Error 1",
            "make: *** [pool.o] Error 1",
        ),
        (
            "./scripts/test.sh",
            "error: Recipe `test` failed on line 12",
            "error: Recipe `test` failed on line 12",
        ),
    ] {
        let mut session = Session::new();
        session.fails(command, output).fails(command, again);
        assert_eq!(session.open_errors().len(), 1, "{command}: {:?}", session.open_errors());
        session.ok(command, "");
        assert!(session.open_errors().is_empty(), "{command}: {:?}", session.open_errors());
    }
}

#[test]
fn an_error_is_not_called_open_when_the_work_went_on_without_it() {
    let mut session = Session::new();
    session.fails("git pull --ff-only origin main", "fatal: Not possible to fast-forward, aborting.");
    session.fails("cargo build", "error[E0308]: mismatched types");
    assert_eq!(session.open_errors().len(), 2);
    for step in 0..40 {
        session.ok(&format!("cat src/{step}.rs"), "fn main() {}");
    }
    assert_eq!(session.open_errors(), ["error[E0308]: mismatched types"]);
}

#[test]
fn a_failed_edit_ends_with_the_next_change_of_the_file() {
    let mut session = Session::new();
    session.call(
        "Edit",
        json!({"file_path": "/repo/a.rs"}),
        "String to replace not found in file.",
        Some(true),
    );
    assert_eq!(session.open_errors().len(), 1);
    session.call("Write", json!({"file_path": "/repo/a.rs"}), "written", Some(false));
    assert_eq!(session.open_errors(), Vec::<&str>::new());
}

#[test]
fn marks_of_a_linter_before_the_tests_are_no_failed_tests() {
    let mut session = Session::new();
    let lint = "$ biome check\n  × This import is unused.\n\nFound 1 error.\nerror: script \"lint\" exited with code 1";
    session.fails("bun run lint 2>&1 && bun run test 2>&1 | tail -3", lint);
    assert!(session.facts.tests().iter().all(|run| run.passed), "{:?}", session.facts.tests());
    session.fails("bun run test", "(fail) adds [0.1ms]\n 3 pass\n 1 fail\nRan 4 tests across 1 file.");
    assert!(session.facts.tests().iter().any(|run| !run.passed));
    session.call(
        "Bash",
        json!({"command": "bun run test 2>&1 | tail -3"}),
        " 0 fail\n 9 expect() calls\nRan 4 tests across 1 file.",
        Some(false),
    );
    assert!(session.facts.tests().iter().all(|run| run.passed), "{:?}", session.facts.tests());
}

#[test]
fn a_run_without_a_status_is_judged_by_what_it_printed() {
    let mut session = Session::new();
    session.call("Bash", json!({"command": "go test ./auth"}), GO_FAIL, None);
    assert!(session.facts.tests().iter().any(|run| !run.passed));
    assert!(session.facts.commands().iter().all(|command| command.outcome.is_some_and(|ended| ended.failed)));
    session.call("Bash", json!({"command": "go test ./auth"}), GO_OK, None);
    assert!(session.facts.tests().iter().all(|run| run.passed));
    assert!(
        session.facts.commands().iter().all(|command| command.outcome.is_some_and(|ended| !ended.failed))
    );
}

#[test]
fn lines_of_the_current_state_name_their_messages() {
    let mut session = Session::new();
    session.fails("go test ./auth", GO_FAIL).fails("git push", "error: failed to push some refs");
    session.call(
        "TodoWrite",
        json!({"todos": [{"content": "Fix it", "status": "in_progress"}]}),
        "ok",
        Some(false),
    );
    session.facts.push(&Message::text(Role::Assistant, "Looking at the login."));
    let facts = &session.facts;
    let short = throughline_core::recall::short_id;
    let run = facts.tests().iter().find(|run| !run.passed).unwrap();
    let error = facts.open_errors().last().unwrap();
    let mut digest = |_: throughline_core::scribe::DigestWanted<'_>, _: &mut Counter| String::new();
    let mut material = Material {
        facts,
        kept: &Default::default(),
        instructions: None,
        guarantee: true,
        digest: &mut digest,
    };
    let text = notes(&mut material, 4_000, &mut Counter::for_model("claude-sonnet-4-5"));
    for line in [
        format!("- failing: `go test ./auth` TestLogin [{}]", short(&run.message)),
        format!("- open error: error: failed to push some refs (`git push`) [{}]", short(&error.message)),
        format!("Tasks [{}]:", short(facts.todos_message().unwrap())),
        format!("Last said by the assistant [{}]:", short(&facts.last_answer().unwrap().id)),
    ] {
        assert!(text.contains(&line), "{line}\n{text}");
    }
}

const BACKGROUND: &str =
    "Command running in background with ID: bx77aa. Output is being written to: /tmp/bx77aa.output";

#[test]
fn quoted_handles_are_not_running() {
    let hits = "src/x.ts:14:  \"Command running in background with ID: zz99qq\"\n\
        docs/a.md:3: Process running with session ID 4242\ntests/a.rs:9: agentId: a67a543ad670";
    let shown = format!("{BACKGROUND}\nProcess running with session ID 4242\nmore");
    let mut session = Session::new();
    for (tool, input, output) in [
        ("Grep", json!({"pattern": "background"}), hits),
        ("Read", json!({"file_path": "/repo/a.md"}), &shown),
        ("WebFetch", json!({"url": "https://x.org"}), &shown),
        ("mcp__code__find", json!({"text": "background"}), hits),
        ("Bash", json!({"command": "rg background"}), hits),
        ("Bash", json!({"command": "cd web && cat notes.md"}), &shown),
        ("Bash", json!({"command": "./report.sh"}), &format!("a\n{shown}")),
        ("Bash", json!({"command": "./report.sh"}), &format!("log: {BACKGROUND}")),
    ] {
        session.call(tool, input.clone(), output, Some(false));
        assert!(
            session.facts.open_handles().is_empty(),
            "{tool} {input}: {:?}",
            session.facts.open_handles()
        );
    }
    for (tool, input, output) in [
        ("Bash", json!({"command": "npm run dev"}), BACKGROUND),
        ("Bash", json!({"command": "tail -f x.log"}), BACKGROUND),
        (
            "Bash",
            json!({"command": "npm run dev"}),
            "listening on 3000\nCommand was manually backgrounded by user with ID: b12a. Output",
        ),
        (
            "exec_command",
            json!({"cmd": "npm run dev"}),
            "Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 77\nOutput:\nlistening",
        ),
    ] {
        let mut session = Session::new();
        session.call(tool, input, output, None);
        assert_eq!(session.facts.open_handles().len(), 1, "{output}");
    }
}

#[test]
fn a_stopped_command_is_not_running() {
    let is_running = |session: &Session| session.facts.commands().iter().any(|run| run.outcome.is_none());
    let mut session = Session::new();
    session.call("Bash", json!({"command": "npm run dev"}), BACKGROUND, Some(false));
    assert!(is_running(&session));
    session.call(
        "KillShell",
        json!({"shell_id": "bx77aa"}),
        "Successfully killed shell: bx77aa",
        Some(false),
    );
    assert!(session.facts.open_handles().is_empty() && !is_running(&session));

    let mut session = Session::new();
    session.call("Bash", json!({"command": "npm run dev"}), BACKGROUND, Some(false));
    let notice =
        "<task-notification>\n<task-id>bx77aa</task-id>\n<status>completed</status>\n</task-notification>";
    session.facts.push(&Message::text(Role::User, notice));
    assert!(session.facts.open_handles().is_empty() && !is_running(&session));
}

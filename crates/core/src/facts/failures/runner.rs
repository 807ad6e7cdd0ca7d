//! Check runners: which commands test, build or lint a project, and which part of it they select.

use super::selection::{OptionMeaning, Selection, option_meaning};
use crate::shell::{CommandLine, Step, WordKind, base_name};

/// Ecosystem of a runner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Family {
    Rust,
    Go,
    Python,
    JavaScript,
    Browser,
    Jvm,
    DotNet,
    Elixir,
    Swift,
    C,
    Ruby,
    Php,
    /// A task of `make`, `just` or `mise`: it may run anything.
    Task,
}

/// What a runner checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckKind {
    Test,
    Build,
    Lint,
}

/// What the arguments of a runner that are no options select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    /// Packages, folders or files.
    Targets,
    /// Names of tests.
    Filters,
    /// Nothing.
    Ignored,
}

/// A runner: one row of [`RUNNERS`].
struct Runner {
    /// The words that call it.
    call: &'static str,
    /// Runners with the same name do the same work.
    name: &'static str,
    family: Family,
    kind: CheckKind,
    operands: Operands,
    /// Options that take a value or select something; see [`option_meaning`].
    options: &'static str,
}

const fn runner(
    call: &'static str,
    name: &'static str,
    family: Family,
    kind: CheckKind,
    operands: Operands,
    options: &'static str,
) -> Runner {
    Runner { call, name, family, kind, operands, options }
}

use CheckKind::{Build, Lint, Test};
use Family::{Browser, C, DotNet, Elixir, Go, JavaScript, Jvm, Php, Python, Ruby, Rust, Swift};
use Operands::{Filters, Ignored, Targets};

const CARGO: &str = "-p:target --package:target --test:target --bin:target --example:target --bench:target --lib:scope --doc:scope \
    --features:variant -F:variant --all-features:variant --no-default-features:variant --manifest-path:folder -j:value --jobs:value \
    --target:value --target-dir:value --profile:value --color:value --message-format:value --test-threads:value --skip:value \
    --ignored:variant --include-ignored:variant -E:filter --exclude:value -W:value -D:value -A:value -Z:value --config:value --retries:value";
const GO: &str = "-run:filter --run:filter -tags:variant --tags:variant -C:folder -count:value -timeout:value -parallel:value -p:value -o:value -coverprofile:value \
    -covermode:value -coverpkg:value -bench:filter -benchtime:value -cpu:value -ldflags:value -gcflags:value -exec:value -shuffle:value \
    -skip:value -mod:value -vet:value -cpuprofile:value -memprofile:value";
const PYTEST: &str = "-k:filter -m:variant -n:value -p:value -c:value -o:value --rootdir:value --tb:value --maxfail:value --timeout:value \
    --cov:value --cov-report:value --durations:value -W:value --junitxml:value --deselect:value --ignore:value";
const JS: &str = "-t:filter --testNamePattern:filter --test-name-pattern:filter -g:filter --grep:filter --testPathPattern:target --testPathPatterns:target \
    --project:variant --config:value -c:value --reporter:value --root:folder --dir:folder --maxWorkers:value -w:value --workers:value \
    --timeout:value --testTimeout:value --preload:value --pool:value --environment:value --retries:value --repeat-each:value -p:value \
    --bail:value --outputFile:value --coverage:none --max-warnings:value --ext:value --parser:value";

const RUNNERS: &[Runner] = &[
    runner("cargo test", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo t", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo nextest run", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo nextest", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo build", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo b", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo check", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo clippy", "cargo clippy", Rust, Lint, Ignored, CARGO),
    runner("cargo fmt", "cargo fmt", Rust, Lint, Ignored, CARGO),
    runner("go test", "go test", Go, Test, Targets, GO),
    runner("gotestsum", "go test", Go, Test, Targets, "--format:value -f:value --junitfile:value"),
    runner("go build", "go build", Go, Build, Targets, GO),
    runner("go install", "go build", Go, Build, Targets, GO),
    runner("go vet", "go vet", Go, Lint, Targets, GO),
    runner(
        "golangci-lint run",
        "golangci-lint",
        Go,
        Lint,
        Targets,
        "-c:value --config:value --timeout:value -E:value",
    ),
    runner("gofmt", "gofmt", Go, Lint, Targets, ""),
    runner("pytest", "pytest", Python, Test, Targets, PYTEST),
    runner("py.test", "pytest", Python, Test, Targets, PYTEST),
    runner("python -m pytest", "pytest", Python, Test, Targets, PYTEST),
    runner("python3 -m pytest", "pytest", Python, Test, Targets, PYTEST),
    runner("python -m unittest", "unittest", Python, Test, Filters, "-k:filter -s:value -p:value"),
    runner("python3 -m unittest", "unittest", Python, Test, Filters, "-k:filter -s:value -p:value"),
    runner("tox", "tox", Python, Test, Ignored, "-e:target"),
    runner("nox", "nox", Python, Test, Ignored, "-s:target"),
    runner("ruff", "ruff", Python, Lint, Targets, ""),
    runner("mypy", "mypy", Python, Lint, Targets, "--config-file:value -p:target -m:target"),
    runner("pyright", "pyright", Python, Lint, Targets, ""),
    runner("vitest run", "vitest", JavaScript, Test, Targets, JS),
    runner("vitest", "vitest", JavaScript, Test, Targets, JS),
    runner("jest", "jest", JavaScript, Test, Targets, JS),
    runner("mocha", "mocha", JavaScript, Test, Targets, JS),
    runner("ava", "ava", JavaScript, Test, Targets, JS),
    runner("node --test", "node test", JavaScript, Test, Targets, JS),
    runner("bun test", "bun test", JavaScript, Test, Targets, JS),
    runner("deno test", "deno test", JavaScript, Test, Targets, "--filter:filter"),
    runner("playwright test", "playwright", Browser, Test, Targets, JS),
    runner("cypress run", "cypress", Browser, Test, Ignored, "--spec:target --browser:value"),
    runner("tsc", "tsc", JavaScript, Build, Ignored, "-p:target --project:target -b:none --build:none"),
    runner("tsgo", "tsc", JavaScript, Build, Ignored, "-p:target --project:target"),
    runner("eslint", "eslint", JavaScript, Lint, Targets, JS),
    runner("biome", "biome", JavaScript, Lint, Targets, JS),
    runner("prettier --check", "prettier", JavaScript, Lint, Targets, JS),
    runner("turbo run test", "turbo test", JavaScript, Test, Ignored, "--filter:target -F:target"),
    runner("turbo test", "turbo test", JavaScript, Test, Ignored, "--filter:target -F:target"),
    runner("nx test", "nx test", JavaScript, Test, Targets, ""),
    runner("mvn test", "mvn test", Jvm, Test, Ignored, "-pl:target -Dtest:filter -f:folder"),
    runner("mvn verify", "mvn test", Jvm, Test, Ignored, "-pl:target -Dtest:filter -f:folder"),
    runner("gradle test", "gradle test", Jvm, Test, Ignored, "--tests:filter -p:folder"),
    runner("gradlew test", "gradle test", Jvm, Test, Ignored, "--tests:filter -p:folder"),
    runner(
        "dotnet test",
        "dotnet test",
        DotNet,
        Test,
        Targets,
        "--filter:filter -c:value --logger:value -v:value",
    ),
    runner("dotnet build", "dotnet build", DotNet, Build, Targets, "-c:value -v:value"),
    runner("mix test", "mix test", Elixir, Test, Targets, "--only:variant --exclude:value --seed:value"),
    runner("swift test", "swift test", Swift, Test, Ignored, "--filter:filter --package-path:folder"),
    runner("swift build", "swift build", Swift, Build, Ignored, "-c:value --package-path:folder"),
    runner("ctest", "ctest", C, Test, Ignored, "-R:filter --test-dir:folder -j:value"),
    runner("rspec", "rspec", Ruby, Test, Targets, "-e:filter -t:variant -f:value"),
    runner("phpunit", "phpunit", Php, Test, Targets, "--filter:filter --testsuite:variant -c:value"),
];

/// Programs that run a project's task by its name, with the words in front of the name.
const TASK_RUNNERS: &[(&str, &[&str], Family)] = &[
    ("npm", &["run", "run-script"], JavaScript),
    ("pnpm", &["run"], JavaScript),
    ("yarn", &["run"], JavaScript),
    ("bun", &["run"], JavaScript),
    ("make", &[], Family::Task),
    ("gmake", &[], Family::Task),
    ("just", &[], Family::Task),
    ("mise", &["run", "r"], Family::Task),
    ("task", &[], Family::Task),
    ("deno", &["task"], JavaScript),
    ("composer", &["run", "run-script"], Php),
    ("rake", &[], Ruby),
];
/// Options of these programs in front of the task's name.
const TASK_OPTIONS: &str = "-w:target --workspace:target --filter:target -F:target --prefix:folder -C:folder --dir:folder --cwd:folder \
    --directory:folder -f:value -j:value --reporter:value --concurrency:value --workspace-concurrency:value --loglevel:value";

/// Programs that run the program behind them in the project's environment, with the words to skip.
const ENVIRONMENT_RUNNERS: &[(&str, &str)] = &[
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
    ("rye", "run"),
    ("hatch", "run"),
    ("bundle", "exec"),
    ("mise", "exec"),
    ("mise", "x"),
    ("devbox", "run"),
    ("direnv", "exec"),
    ("cross-env", ""),
    ("dotenv", ""),
];

/// Options of these programs that take a value.
const ENVIRONMENT_VALUES: [&str; 9] =
    ["--with", "--project", "--directory", "-p", "--package", "--python", "--extra", "--group", "--env-file"];

/// Words in the name of a task that say what it checks; the first that is found counts.
const TASK_WORDS: &[(&str, CheckKind)] = &[
    ("lint", Lint),
    ("eslint", Lint),
    ("fmt", Lint),
    ("format", Lint),
    ("prettier", Lint),
    ("typecheck", Build),
    ("types", Build),
    ("tsc", Build),
    ("test", Test),
    ("tests", Test),
    ("unit", Test),
    ("spec", Test),
    ("e2e", Test),
    ("vitest", Test),
    ("jest", Test),
    ("pytest", Test),
    ("verify", Test),
    ("check", Test),
    ("ci", Test),
    ("build", Build),
    ("compile", Build),
];
/// Names of tasks that check the whole project.
const WHOLE_TASKS: &[&str] = &[
    "test",
    "tests",
    "test:all",
    "test:ci",
    "test:unit",
    "unit",
    "check",
    "ci",
    "verify",
    "build",
    "lint",
    "typecheck",
    "test-unit",
    "unit-test",
    "test:run",
];

/// One run of a runner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Check {
    /// Runners with the same name do the same work.
    pub(super) name: String,
    pub(super) family: Family,
    pub(super) kind: CheckKind,
    /// Whether the name is that of a project's task.
    pub(super) is_task: bool,
    /// Repairs what it finds, as `lint:fix` and `ruff format` do.
    pub(super) is_fixer: bool,
    pub(super) selection: Selection,
}

impl Check {
    /// The check that a step runs, if it runs one.
    pub(super) fn of_step(step: &Step) -> Option<Self> {
        let words: Vec<&str> = step
            .words
            .iter()
            .map(|word| if word.kind == WordKind::Dynamic { "$" } else { word.text.as_str() })
            .collect();
        if words.iter().any(|word| matches!(*word, "--help" | "--version" | "--list" | "--collect-only")) {
            return None;
        }
        of_words(&words, Selection::default(), 0)
    }

    /// Whether a success of this check says that another one passes too, both run in the same project. Selections aside.
    pub(super) fn includes_runner(&self, other: &Self) -> bool {
        let is_same_family =
            self.family == other.family || [self.family, other.family].contains(&Family::Task);
        // Tests are compiled first.
        let is_compile = matches!(other.family, Family::Rust | Family::Go) && other.kind == CheckKind::Build;
        let is_same_kind = self.kind == other.kind || (self.kind == CheckKind::Test && is_compile);
        let is_whole_task = |check: &Self| WHOLE_TASKS.contains(&check.name.as_str());
        let is_same_runner = match (self.is_task, other.is_task) {
            (false, false) => self.name == other.name || self.kind != other.kind,
            (true, true) => self.name == other.name || (is_whole_task(self) && is_whole_task(other)),
            (true, false) => is_whole_task(self),
            (false, true) => is_whole_task(other),
        };
        is_same_family && is_same_kind && is_same_runner
    }
}

/// Whether a command line runs tests.
pub fn runs_tests(command: &str) -> bool {
    let steps = CommandLine::read(command).steps();
    steps.iter().any(|step| Check::of_step(step).is_some_and(|check| check.kind == CheckKind::Test))
}

fn of_words(words: &[&str], selection: Selection, depth: usize) -> Option<Check> {
    let (first, rest) = words.split_first()?;
    let program = base_name(first);
    if depth > 4 {
        return None;
    }
    let in_environment = ENVIRONMENT_RUNNERS.iter().find_map(|(name, word)| {
        let rest =
            if word.is_empty() { rest } else { rest.split_first().filter(|(next, _)| *next == word)?.1 };
        (*name == program).then_some(rest)
    });
    if let Some(inner) = in_environment {
        let mut inner = inner;
        while let Some((word, behind)) = inner.split_first()
            && (word.starts_with('-') || word.contains(['=', '@']) || *word == ".")
        {
            let has_value = ENVIRONMENT_VALUES.contains(word);
            inner = behind.get(usize::from(has_value)..)?;
        }
        return of_words(inner, selection, depth + 1);
    }
    if let Some(row) = RUNNERS.iter().filter(|row| calls(row, program, rest)).max_by_key(|row| row.call.len())
    {
        let skipped = row.call.split(' ').count() - 1;
        let mut selection = selection;
        selection.read(
            rest.get(skipped..)?,
            row.options,
            match row.operands {
                Operands::Targets => OptionMeaning::Target,
                Operands::Filters => OptionMeaning::Filter,
                Operands::Ignored => OptionMeaning::None,
            },
        );
        if row.family == Family::Go && selection.targets.is_empty() && row.kind != CheckKind::Lint {
            selection.targets.push(".".to_owned());
        }
        return Some(Check {
            name: row.name.to_owned(),
            family: row.family,
            kind: row.kind,
            is_task: false,
            is_fixer: row.kind == CheckKind::Lint && is_fixer(words),
            selection,
        });
    }
    of_task(program, rest, selection, depth)
}

/// Whether the words are a call of the runner; options between its words are skipped.
fn calls(row: &Runner, program: &str, rest: &[&str]) -> bool {
    let mut call = row.call.split(' ');
    call.next() == Some(program)
        && call
            .zip(rest.iter().map(Some).chain(std::iter::repeat(None)))
            .all(|(part, word)| Some(&part) == word)
}

fn of_task(program: &str, rest: &[&str], mut selection: Selection, depth: usize) -> Option<Check> {
    let (_, verbs, family) = TASK_RUNNERS.iter().find(|(name, ..)| *name == program)?;
    let mut rest = rest;
    let mut has_verb = false;
    let name = loop {
        let (word, behind) = rest.split_first()?;
        rest = behind;
        if verbs.contains(word) {
            has_verb = true;
        } else if word.starts_with('-') {
            rest = selection.read_option(word, behind, TASK_OPTIONS);
        } else if *word == "workspace" && program == "yarn" {
            let (target, behind) = behind.split_first()?;
            selection.targets.push((*target).to_owned());
            rest = behind;
        } else if word.contains('=') && !verbs.is_empty() {
            // A variable for the task.
        } else {
            break *word;
        }
    };
    // Commands of the package managers themselves.
    let is_own_command =
        matches!((program, name), ("npm" | "pnpm" | "yarn", "ci") | ("bun", "build") | ("deno", _));
    if is_own_command && !has_verb {
        return None;
    }
    let is_package_manager = *family == Family::JavaScript;
    let inner: Vec<&str> = std::iter::once(name).chain(rest.iter().copied()).collect();
    // `pnpm vitest run`, `bun run vitest`: the program itself, not a task.
    if is_package_manager && RUNNERS.iter().any(|row| calls(row, name, rest)) {
        return of_words(&inner, selection, depth + 1);
    }
    let name = if name == "t" { "test" } else { name };
    let parts: Vec<&str> = name.split([':', '-', '_', '.', '/']).collect();
    let kind = TASK_WORDS.iter().find_map(|(word, kind)| parts.contains(word).then_some(*kind))?;
    if option_meaning(TASK_OPTIONS, name).is_some() {
        return None;
    }
    let is_browser = parts.iter().any(|part| matches!(*part, "e2e" | "playwright" | "cypress"));
    let family = if is_browser { Family::Browser } else { *family };
    selection.read(rest, &format!("{JS} {TASK_OPTIONS}"), OptionMeaning::Target);
    let is_fixer = kind == CheckKind::Lint && (is_fixer(&inner) || parts.contains(&"fix"));
    // `lint` and `lint:fix` do the same work.
    let name = match kind {
        CheckKind::Lint => FIX_ENDINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name),
        CheckKind::Test | CheckKind::Build => name,
    };
    Some(Check { name: name.to_owned(), family, kind, is_task: true, is_fixer, selection })
}

/// Endings of the names of tasks that say how a linter is run, not which.
const FIX_ENDINGS: [&str; 6] = [":fix", "-fix", ":check", "-check", ":write", ":all"];

/// Returns true for the words of a linter or formatter that changes files.
fn is_fixer(words: &[&str]) -> bool {
    const FIXES: [&str; 5] = ["--fix", "--write", "-w", "--apply", "--unsafe-fixes"];
    const ONLY_LOOKS: [&str; 5] = ["--check", "--diff", "-l", "-d", "--list-different"];
    let formats = words.iter().any(|word| ["fmt", "format"].contains(word))
        && !words.iter().any(|word| ONLY_LOOKS.contains(word));
    formats || words.iter().any(|word| FIXES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn check(command: &str) -> Option<Check> {
        CommandLine::read(command).steps().iter().find_map(Check::of_step)
    }

    #[test]
    fn every_row_is_a_call_of_its_runner() {
        for row in RUNNERS {
            let found = check(&format!("cd x && FOO=1 {} 2>&1 | tail -3", row.call));
            let found = found.map(|check| (check.name, check.family, check.kind));
            assert_eq!(found, Some((row.name.to_owned(), row.family, row.kind)), "{}", row.call);
        }
    }

    #[test]
    fn runners_and_tasks_are_known_in_all_their_forms() {
        for (command, name, kind) in [
            ("npx vitest run a.test.ts", "vitest", Test),
            ("pnpm exec vitest run", "vitest", Test),
            ("pnpm vitest run", "vitest", Test),
            ("./node_modules/.bin/jest", "jest", Test),
            ("uv run --with x pytest", "pytest", Test),
            ("uv run pytest -q", "pytest", Test),
            ("python3 -m pytest tests", "pytest", Test),
            ("npm test", "test", Test),
            ("npm t", "test", Test),
            ("npm run test -- --run", "test", Test),
            ("pnpm --filter web test", "test", Test),
            ("pnpm -r run test:unit", "test:unit", Test),
            ("yarn workspace web test", "test", Test),
            ("bun --cwd web run lint", "lint", Lint),
            ("bun run lint:fix", "lint", Lint),
            ("npm run typecheck", "typecheck", Build),
            ("make -C x check", "check", Test),
            ("mise run test:ci", "test:ci", Test),
            ("just test", "test", Test),
            ("pnpm exec tsc --noEmit", "tsc", Build),
            ("./gradlew test", "gradle test", Test),
        ] {
            let found = check(command).map(|check| (check.name, check.kind));
            assert_eq!(found, Some((name.to_owned(), kind)), "{command}");
        }
        for command in [
            "ls tests",
            "cat jest.config.js",
            "grep -r 'cargo test' .",
            "echo go test",
            "git commit -m 'npm test'",
            "npm install vitest",
            "npm ci",
            "just a-west-wind",
            "cargo test --help",
            "cargo run",
            "git log --grep test",
            "vim test.rs",
        ] {
            assert_eq!(check(command), None, "{command}");
        }
        assert!(runs_tests("cd x && go test ./...") && !runs_tests("go build ./..."));
    }

    #[test]
    fn fixers_are_told_from_checks() {
        for (command, is_fixer) in [
            ("bun run lint", false),
            ("bun run lint:fix", true),
            ("npm run lint -- --fix", true),
            ("uv run ruff format src", true),
            ("uv run ruff format --check src", false),
            ("ruff check --fix src", true),
            ("cargo fmt", true),
            ("cargo fmt --all --check", false),
            ("bunx biome check --write a.ts", true),
            ("gofmt -l .", false),
            ("gofmt -w a.go", true),
        ] {
            assert_eq!(check(command).map(|check| check.is_fixer), Some(is_fixer), "{command}");
        }
    }
}

//! Checks: which commands test, build or lint a project, and which part of it they select.

use super::runner_table::{
    ALIASES, CheckKind, ENVIRONMENT_RUNNERS, ENVIRONMENT_VALUES, Family, JS, Operands, RUNNERS, Runner,
    TASK_OPTIONS, TASK_RUNNERS, TASK_WORDS, WHOLE_TASKS,
};
use super::selection::{OptionMeaning, Selection, option_meaning, takes_value};
use crate::shell::{CommandLine, Step, WordKind, base_name};

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
        let is_compiled = matches!(
            other.family,
            Family::Rust | Family::Go | Family::Jvm | Family::DotNet | Family::Swift | Family::Zig
        );
        let is_compile = is_compiled && other.kind == CheckKind::Build;
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

/// The name of a program without its folder, version and ending: `./gradlew.bat`, `python3.12`, `vitest@2`.
pub(super) fn program_name(word: &str) -> &str {
    const ENDINGS: [&str; 7] = [".exe", ".cmd", ".bat", ".phar", ".js", ".mjs", ".cjs"];
    let name = base_name(word);
    let name = name.split_once('@').map_or(name, |(before, _)| if before.is_empty() { name } else { before });
    let name = ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    if let Some((_, alias)) = ALIASES.iter().find(|(alias, _)| *alias == name) {
        return alias;
    }
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    if name.strip_prefix("python").is_some_and(is_version) { "python" } else { name }
}

/// The command behind a program that only runs it in an environment: `pytest -q` of `uv run pytest -q`.
pub(super) fn environment_command<'a, 'b>(words: &'a [&'b str]) -> Option<&'a [&'b str]> {
    let (first, rest) = words.split_first()?;
    let program = program_name(first);
    let mut inner = ENVIRONMENT_RUNNERS.iter().find_map(|(name, word)| {
        let rest =
            if word.is_empty() { rest } else { rest.split_first().filter(|(next, _)| *next == word)?.1 };
        (*name == program).then_some(rest)
    })?;
    while let Some((word, behind)) = inner.split_first() {
        // Code in the command itself.
        if matches!(*word, "-c" | "-e" | "-r" | "--eval") {
            return None;
        }
        let is_version = word.contains('@') && !RUNNERS.iter().any(|row| row.program() == program_name(word));
        if !(word.starts_with('-') || word.contains('=') || is_version || *word == ".") {
            break;
        }
        let has_value = ENVIRONMENT_VALUES.contains(word);
        inner = behind.get(usize::from(has_value)..)?;
    }
    (!inner.is_empty()).then_some(inner)
}

fn of_words(words: &[&str], selection: Selection, depth: usize) -> Option<Check> {
    let (first, rest) = words.split_first()?;
    let program = program_name(first);
    if depth > 4 {
        return None;
    }
    let calls = RUNNERS.iter().filter_map(|row| Some((row, RunnerCall::read(row, program, rest)?)));
    if let Some((row, call)) = calls.max_by_key(|(row, _)| (row.kind == CheckKind::Test, row.call.len())) {
        let mut selection = selection;
        selection.targets.extend(call.target.map(str::to_owned));
        selection.filters.extend(call.filter.map(str::to_owned));
        selection.read(
            &call.arguments,
            row.options,
            match row.operands {
                Operands::Targets => OptionMeaning::Target,
                Operands::Filters => OptionMeaning::Filter,
                Operands::Ignored | Operands::Goals => OptionMeaning::None,
            },
        );
        if row.family != Family::Go {
            selection.targets.retain(|target| target != ".");
        } else if selection.targets.is_empty() && row.kind != CheckKind::Lint {
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
    if let Some(inner) = environment_command(words) {
        return of_words(inner, selection, depth + 1);
    }
    of_task(program, rest, selection, depth)
}

/// A call of a runner: what stands around the words of [`Runner::call`].
struct RunnerCall<'a> {
    arguments: Vec<&'a str>,
    /// The project in front of a goal: `:core` of `gradle :core:test`.
    target: Option<&'a str>,
    /// The rest of a goal: `PoolSpec` of `sbt "testOnly PoolSpec"`.
    filter: Option<&'a str>,
}

impl<'a> RunnerCall<'a> {
    /// Reads the words behind a program. Options may stand between the words of the call.
    fn read(row: &Runner, program: &str, rest: &[&'a str]) -> Option<Self> {
        let mut parts = row.call.split(' ');
        if parts.next() != Some(program) {
            return None;
        }
        let mut call = Self { arguments: Vec::new(), target: None, filter: None };
        let mut rest = rest.iter().copied();
        for part in parts {
            loop {
                let word = rest.next()?;
                if word == part || (row.operands == Operands::Goals && call.read_goal(word, part)) {
                    break;
                } else if word.starts_with('-') {
                    call.arguments.push(word);
                    call.arguments.extend(takes_value(row.options, word).then(|| rest.next()).flatten());
                } else if row.operands != Operands::Goals && !word.starts_with('+') {
                    return None;
                }
            }
        }
        call.arguments.extend(rest);
        Some(call)
    }

    /// Reads a goal such as `:core:test`, `core/test`, `testDebugUnitTest` and `testOnly PoolSpec`.
    fn read_goal(&mut self, word: &'a str, goal: &str) -> bool {
        let (word, filter) = word.split_once(' ').map_or((word, None), |(word, filter)| (word, Some(filter)));
        let (target, name) = word.rsplit_once([':', '/']).map_or((None, word), |(t, name)| (Some(t), name));
        let Some(variant) = name.strip_prefix(goal) else { return false };
        let is_variant = goal == "test" && variant.starts_with(|c: char| c.is_ascii_uppercase());
        if !variant.is_empty() && !is_variant {
            return false;
        }
        self.target = target.or((is_variant && filter.is_none()).then_some(name));
        self.filter = filter;
        true
    }
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
    if is_package_manager && RUNNERS.iter().any(|row| RunnerCall::read(row, name, rest).is_some()) {
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
    const FIXES: [&str; 10] = [
        "--fix",
        "--write",
        "-w",
        "-i",
        "--apply",
        "--unsafe-fixes",
        "-a",
        "-A",
        "--autocorrect",
        "--in-place",
    ];
    const FORMATTERS: [&str; 9] =
        ["fmt", "format", "black", "isort", "rustfmt", "swiftformat", "pint", "php-cs-fixer", "standardrb"];
    const ONLY_LOOKS: [&str; 13] = [
        "--check",
        "--diff",
        "-l",
        "-d",
        "--list-different",
        "-check",
        "--check-only",
        "-c",
        "--check-formatted",
        "--verify-no-changes",
        "--dry-run",
        "--test",
        "--lint",
    ];
    let formats = words.iter().any(|word| FORMATTERS.contains(&base_name(word)))
        && !words.iter().any(|word| ONLY_LOOKS.contains(word));
    formats || words.iter().any(|word| FIXES.contains(word))
}

#[cfg(test)]
mod tests {
    use super::super::runner_table::CheckKind::{Build, Lint, Test};
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
            ("./gradlew -q :core:check", "gradle test", Test),
            ("gradlew.bat clean build", "gradle test", Test),
            ("./gradlew testDebugUnitTest", "gradle test", Test),
            ("./gradlew compileJava", "gradle compile", Build),
            ("./mvnw -q clean verify", "mvn test", Test),
            ("mvn -pl core -am test", "mvn test", Test),
            ("sbt \"testOnly PoolSpec\"", "sbt test", Test),
            ("cargo +nightly -q test", "cargo test", Test),
            ("python3.12 -m unittest discover -s tests", "unittest", Test),
            (".venv/bin/python -m mypy src", "mypy", Lint),
            ("python -m black --check .", "black", Lint),
            ("poetry run python -m ruff check", "ruff", Lint),
            ("python manage.py test app", "django test", Test),
            ("coverage run -m pytest", "pytest", Test),
            ("php vendor/bin/phpunit", "phpunit", Test),
            ("vendor/bin/pest", "phpunit", Test),
            ("php artisan test", "phpunit", Test),
            ("node node_modules/jest/bin/jest.js", "jest", Test),
            ("npx vitest@2 run", "vitest", Test),
            ("mise exec node@22 -- npm test", "test", Test),
            ("uvx ruff@0.9 check", "ruff", Lint),
            ("bundle exec rspec", "rspec", Test),
            ("bundle exec rake test", "test", Test),
            ("bin/rails test", "rails test", Test),
            ("ninja -C build test", "ninja test", Test),
            ("zig build test", "zig build test", Test),
            ("xcodebuild -scheme App test", "xcodebuild test", Test),
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
            "python -c 'pytest'",
            "python -m http.server",
            "node server.js",
            "mvn dependency:tree",
            "gradle dependencies",
            "cmake -B build",
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
            ("python -m black .", true),
            ("black --check .", false),
            ("isort --check-only src", false),
            ("terraform fmt -check", false),
            ("terraform fmt", true),
            ("mix format --check-formatted", false),
            ("dotnet format --verify-no-changes", false),
            ("rubocop -A", true),
        ] {
            assert_eq!(check(command).map(|check| check.is_fixer), Some(is_fixer), "{command}");
        }
    }
}

//! Tables of the programs that test, build or lint a project.

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
    Dart,
    Zig,
    Haskell,
    OCaml,
    Gleam,
    Solidity,
    /// Shell scripts, infrastructure and configuration files.
    Config,
    /// A task of `make`, `just`, `mise` or `bazel`: it may run anything.
    Task,
}

/// Kind of check that a runner does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CheckKind {
    Test,
    Build,
    Lint,
}

/// Meaning of a runner's arguments that are not options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operands {
    /// Packages, folders or files.
    Targets,
    /// Names of tests.
    Filters,
    /// Nothing.
    Ignored,
    /// Nothing, and the words of the call may stand anywhere among them, as in `mvn clean test`.
    Goals,
}

/// A runner: one row of [`RUNNERS`].
pub(super) struct Runner {
    /// The words that call it.
    pub(super) call: &'static str,
    /// Runners with the same name do the same work.
    pub(super) name: &'static str,
    pub(super) family: Family,
    pub(super) kind: CheckKind,
    pub(super) operands: Operands,
    /// Options that take a value or select something; see [`super::selection::option_meaning`].
    pub(super) options: &'static str,
}

impl Runner {
    /// The program of the call.
    pub(super) fn program(&self) -> &'static str {
        self.call.split(' ').next().unwrap_or(self.call)
    }
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
use Family::{
    Browser, C, Config, Dart, DotNet, Elixir, Gleam, Go, Haskell, JavaScript, Jvm, OCaml, Php, Python, Ruby,
    Rust, Solidity, Swift, Task, Zig,
};
use Operands::{Filters, Goals, Ignored, Targets};

const CARGO: &str = "-p:target --package:target --test:target --bin:target --example:target --bench:target --lib:scope --doc:scope \
    --features:variant -F:variant --all-features:variant --no-default-features:variant --manifest-path:folder -j:value --jobs:value \
    --target:value --target-dir:value --profile:value --color:value --message-format:value --test-threads:value --skip:value \
    --ignored:variant --include-ignored:variant -E:filter --exclude:value -W:value -D:value -A:value -Z:value --config:value --retries:value";
const GO: &str = "-run:filter --run:filter -tags:variant --tags:variant -C:folder -count:value -timeout:value -parallel:value -p:value -o:value -coverprofile:value \
    -covermode:value -coverpkg:value -bench:filter -benchtime:value -cpu:value -ldflags:value -gcflags:value -exec:value -shuffle:value \
    -skip:value -mod:value -vet:value -cpuprofile:value -memprofile:value";
const PYTEST: &str = "-k:filter -m:variant -n:value -p:value -c:value -o:value --rootdir:value --tb:value --maxfail:value --timeout:value \
    --cov:value --cov-report:value --durations:value -W:value --junitxml:value --deselect:value --ignore:value";
/// Options of JavaScript runners.
pub(super) const JS: &str = "-t:filter --testNamePattern:filter --test-name-pattern:filter -g:filter --grep:filter --testPathPattern:target --testPathPatterns:target \
    --project:variant --config:value -c:value --reporter:value --root:folder --dir:folder --maxWorkers:value -w:value --workers:value \
    --timeout:value --testTimeout:value --preload:value --pool:value --environment:value --retries:value --repeat-each:value -p:value \
    --bail:value --outputFile:value --coverage:none --max-warnings:value --ext:value --parser:value";
const PYTHON_LINT: &str = "--config-file:value --config:value -p:target -m:target --select:value --ignore:value --exclude:value --line-length:value \
    -l:value --profile:value --output-format:value";
const UNITTEST: &str = "-k:filter -s:value -p:value -t:value --start-directory:value --pattern:value";
const TSC: &str = "-p:folder --project:folder -b:none --build:none --outDir:value --target:value";
const MAVEN: &str = "-pl:target --projects:target -Dtest:filter -Dit.test:filter -DskipTests:scope -Dmaven.test.skip:scope -f:folder --file:folder \
    -P:variant -T:value -s:value -rf:value";
const GRADLE: &str =
    "--tests:filter -p:folder --project-dir:folder -x:target --exclude-task:target -b:value -c:value";
const DOTNET: &str = "--filter:filter -c:value --configuration:value --logger:value -l:value -v:value --verbosity:value -f:value --framework:value \
    -r:value -o:value";
const SWIFT: &str =
    "--filter:filter --package-path:folder -c:value --configuration:value --target:target --product:target";
const XCODE: &str = "-scheme:target -destination:value -workspace:value -project:value -sdk:value -configuration:value -derivedDataPath:value";
const PHPUNIT: &str = "--filter:filter --testsuite:variant --group:variant -c:value --configuration:value";

/// Calls of runners.
pub(super) const RUNNERS: &[Runner] = &[
    runner("cargo test", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo t", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo nextest run", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo nextest", "cargo test", Rust, Test, Filters, CARGO),
    runner("cargo build", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo b", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo check", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo c", "cargo build", Rust, Build, Ignored, CARGO),
    runner("cargo clippy", "cargo clippy", Rust, Lint, Ignored, CARGO),
    runner("cargo fmt", "cargo fmt", Rust, Lint, Ignored, CARGO),
    runner("rustfmt", "cargo fmt", Rust, Lint, Targets, "--edition:value"),
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
    runner("staticcheck", "staticcheck", Go, Lint, Targets, ""),
    runner("gofmt", "gofmt", Go, Lint, Targets, ""),
    runner("gofumpt", "gofumpt", Go, Lint, Targets, ""),
    runner("goimports", "goimports", Go, Lint, Targets, ""),
    runner("pytest", "pytest", Python, Test, Targets, PYTEST),
    runner("unittest", "unittest", Python, Test, Filters, UNITTEST),
    runner("unittest discover", "unittest", Python, Test, Ignored, UNITTEST),
    runner(
        "manage.py test",
        "django test",
        Python,
        Test,
        Targets,
        "--settings:value -k:filter --tag:variant --parallel:none",
    ),
    runner(
        "django test",
        "django test",
        Python,
        Test,
        Targets,
        "--settings:value -k:filter --tag:variant --parallel:none",
    ),
    runner(
        "django-admin test",
        "django test",
        Python,
        Test,
        Targets,
        "--settings:value -k:filter --tag:variant --parallel:none",
    ),
    runner("nose2", "nose2", Python, Test, Filters, ""),
    runner("tox", "tox", Python, Test, Ignored, "-e:target"),
    runner("nox", "nox", Python, Test, Ignored, "-s:target"),
    runner("ruff check", "ruff", Python, Lint, Targets, PYTHON_LINT),
    runner("ruff format", "ruff format", Python, Lint, Targets, PYTHON_LINT),
    runner("mypy", "mypy", Python, Lint, Targets, PYTHON_LINT),
    runner("pyright", "pyright", Python, Lint, Targets, PYTHON_LINT),
    runner("basedpyright", "basedpyright", Python, Lint, Targets, PYTHON_LINT),
    runner("black", "black", Python, Lint, Targets, PYTHON_LINT),
    runner("isort", "isort", Python, Lint, Targets, PYTHON_LINT),
    runner("flake8", "flake8", Python, Lint, Targets, PYTHON_LINT),
    runner("pylint", "pylint", Python, Lint, Targets, PYTHON_LINT),
    runner("ty check", "ty", Python, Lint, Targets, PYTHON_LINT),
    runner("vitest run", "vitest", JavaScript, Test, Targets, JS),
    runner("vitest", "vitest", JavaScript, Test, Targets, JS),
    runner("jest", "jest", JavaScript, Test, Targets, JS),
    runner("react-scripts test", "jest", JavaScript, Test, Targets, JS),
    runner("mocha", "mocha", JavaScript, Test, Targets, JS),
    runner("ava", "ava", JavaScript, Test, Targets, JS),
    runner("tap", "tap", JavaScript, Test, Targets, JS),
    runner("jasmine", "jasmine", JavaScript, Test, Targets, JS),
    runner("hardhat test", "hardhat test", JavaScript, Test, Targets, JS),
    runner("node --test", "node test", JavaScript, Test, Targets, JS),
    runner("bun test", "bun test", JavaScript, Test, Targets, JS),
    runner("deno test", "deno test", JavaScript, Test, Targets, "--filter:filter"),
    runner("ng test", "ng test", JavaScript, Test, Ignored, JS),
    runner("playwright test", "playwright", Browser, Test, Targets, JS),
    runner("cypress run", "cypress", Browser, Test, Ignored, "--spec:target --browser:value"),
    runner("tsc", "tsc", JavaScript, Build, Ignored, TSC),
    runner("tsgo", "tsc", JavaScript, Build, Ignored, TSC),
    runner("vue-tsc", "tsc", JavaScript, Build, Ignored, TSC),
    runner("svelte-check", "svelte-check", JavaScript, Build, Ignored, JS),
    runner("astro check", "astro check", JavaScript, Build, Ignored, JS),
    runner("deno check", "deno check", JavaScript, Build, Ignored, JS),
    runner("next build", "next build", JavaScript, Build, Ignored, JS),
    runner("vite build", "vite build", JavaScript, Build, Ignored, JS),
    runner("ng build", "ng build", JavaScript, Build, Ignored, JS),
    runner("hardhat compile", "hardhat compile", JavaScript, Build, Ignored, JS),
    runner("tsup", "tsup", JavaScript, Build, Ignored, JS),
    runner("webpack", "webpack", JavaScript, Build, Ignored, JS),
    runner("rollup", "rollup", JavaScript, Build, Ignored, JS),
    runner("eslint", "eslint", JavaScript, Lint, Targets, JS),
    runner("stylelint", "stylelint", JavaScript, Lint, Targets, JS),
    runner("oxlint", "oxlint", JavaScript, Lint, Targets, JS),
    runner("xo", "xo", JavaScript, Lint, Targets, JS),
    runner("prettier", "prettier", JavaScript, Lint, Targets, JS),
    runner("next lint", "next lint", JavaScript, Lint, Targets, JS),
    runner("ng lint", "ng lint", JavaScript, Lint, Targets, JS),
    runner("deno lint", "deno lint", JavaScript, Lint, Targets, JS),
    runner("deno fmt", "deno fmt", JavaScript, Lint, Targets, JS),
    runner("biome check", "biome", JavaScript, Lint, Targets, JS),
    runner("biome ci", "biome", JavaScript, Lint, Targets, JS),
    runner("biome lint", "biome", JavaScript, Lint, Targets, JS),
    runner("biome format", "biome", JavaScript, Lint, Targets, JS),
    runner("biome", "biome", JavaScript, Lint, Targets, JS),
    runner("turbo run test", "turbo test", JavaScript, Test, Ignored, "--filter:target -F:target"),
    runner("turbo test", "turbo test", JavaScript, Test, Ignored, "--filter:target -F:target"),
    runner("nx test", "nx test", JavaScript, Test, Targets, ""),
    runner("mvn test", "mvn test", Jvm, Test, Goals, MAVEN),
    runner("mvn verify", "mvn test", Jvm, Test, Goals, MAVEN),
    runner("mvn package", "mvn test", Jvm, Test, Goals, MAVEN),
    runner("mvn install", "mvn test", Jvm, Test, Goals, MAVEN),
    runner("mvn compile", "mvn compile", Jvm, Build, Goals, MAVEN),
    runner("mvn test-compile", "mvn compile", Jvm, Build, Goals, MAVEN),
    runner("gradle test", "gradle test", Jvm, Test, Goals, GRADLE),
    runner("gradle check", "gradle test", Jvm, Test, Goals, GRADLE),
    runner("gradle build", "gradle test", Jvm, Test, Goals, GRADLE),
    runner("gradle assemble", "gradle compile", Jvm, Build, Goals, GRADLE),
    runner("gradle classes", "gradle compile", Jvm, Build, Goals, GRADLE),
    runner("gradle compileJava", "gradle compile", Jvm, Build, Goals, GRADLE),
    runner("gradle compileKotlin", "gradle compile", Jvm, Build, Goals, GRADLE),
    runner("sbt test", "sbt test", Jvm, Test, Goals, ""),
    runner("sbt compile", "sbt compile", Jvm, Build, Goals, ""),
    runner("lein test", "lein test", Jvm, Test, Goals, ""),
    runner("ktlint", "ktlint", Jvm, Lint, Targets, ""),
    runner("detekt", "detekt", Jvm, Lint, Ignored, ""),
    runner("dotnet test", "dotnet test", DotNet, Test, Targets, DOTNET),
    runner("dotnet build", "dotnet build", DotNet, Build, Targets, DOTNET),
    runner("dotnet format", "dotnet format", DotNet, Lint, Targets, DOTNET),
    runner("mix test", "mix test", Elixir, Test, Targets, "--only:variant --exclude:value --seed:value"),
    runner("mix compile", "mix compile", Elixir, Build, Ignored, ""),
    runner("mix format", "mix format", Elixir, Lint, Targets, ""),
    runner("mix credo", "mix credo", Elixir, Lint, Targets, ""),
    runner("mix dialyzer", "mix dialyzer", Elixir, Lint, Targets, ""),
    runner("swift test", "swift test", Swift, Test, Ignored, SWIFT),
    runner("swift build", "swift build", Swift, Build, Ignored, SWIFT),
    runner("xcodebuild test", "xcodebuild test", Swift, Test, Goals, XCODE),
    runner("xcodebuild build", "xcodebuild build", Swift, Build, Goals, XCODE),
    runner("swiftlint", "swiftlint", Swift, Lint, Targets, "--config:value"),
    runner("swiftformat", "swiftformat", Swift, Lint, Targets, "--config:value"),
    runner(
        "ctest",
        "ctest",
        C,
        Test,
        Ignored,
        "-R:filter --test-dir:folder -L:variant -E:value -j:value -C:value --timeout:value --preset:variant",
    ),
    runner("meson test", "meson test", C, Test, Filters, "-C:folder --suite:variant"),
    runner("ninja test", "ninja test", C, Test, Goals, "-C:folder -j:value"),
    runner(
        "cmake --build",
        "cmake build",
        C,
        Build,
        Ignored,
        "--target:target -t:target --config:value -j:value --parallel:value --preset:variant",
    ),
    runner("meson compile", "meson build", C, Build, Ignored, "-C:folder"),
    runner("ninja", "meson build", C, Build, Targets, "-C:folder -j:value"),
    runner("clang-format", "clang-format", C, Lint, Targets, ""),
    runner("clang-tidy", "clang-tidy", C, Lint, Targets, ""),
    runner("cppcheck", "cppcheck", C, Lint, Targets, ""),
    runner("rspec", "rspec", Ruby, Test, Targets, "-e:filter -t:variant -f:value --format:value"),
    runner("rails test", "rails test", Ruby, Test, Targets, "-n:filter"),
    runner("rubocop", "rubocop", Ruby, Lint, Targets, ""),
    runner("standardrb", "standardrb", Ruby, Lint, Targets, ""),
    runner("phpunit", "phpunit", Php, Test, Targets, PHPUNIT),
    runner("pest", "phpunit", Php, Test, Targets, PHPUNIT),
    runner("artisan test", "phpunit", Php, Test, Targets, PHPUNIT),
    runner("phpstan", "phpstan", Php, Lint, Ignored, ""),
    runner("psalm", "psalm", Php, Lint, Ignored, ""),
    runner("phpcs", "phpcs", Php, Lint, Ignored, ""),
    runner("pint", "pint", Php, Lint, Ignored, ""),
    runner("php-cs-fixer", "php-cs-fixer", Php, Lint, Ignored, ""),
    runner(
        "dart test",
        "dart test",
        Dart,
        Test,
        Targets,
        "--name:filter -n:filter --plain-name:filter -N:filter -t:variant -r:value --reporter:value",
    ),
    runner(
        "flutter test",
        "dart test",
        Dart,
        Test,
        Targets,
        "--name:filter -n:filter --plain-name:filter -N:filter -t:variant -r:value --reporter:value",
    ),
    runner("dart analyze", "dart analyze", Dart, Lint, Targets, ""),
    runner("flutter analyze", "dart analyze", Dart, Lint, Targets, ""),
    runner("dart format", "dart format", Dart, Lint, Targets, ""),
    runner("flutter build", "flutter build", Dart, Build, Ignored, ""),
    runner("zig test", "zig test", Zig, Test, Targets, "--test-filter:filter"),
    runner("zig build test", "zig build test", Zig, Test, Ignored, ""),
    runner("zig build", "zig build", Zig, Build, Ignored, ""),
    runner("zig fmt", "zig fmt", Zig, Lint, Targets, ""),
    runner("stack test", "stack test", Haskell, Test, Targets, ""),
    runner("stack build", "stack build", Haskell, Build, Targets, ""),
    runner("cabal test", "cabal test", Haskell, Test, Targets, ""),
    runner("cabal build", "cabal build", Haskell, Build, Targets, ""),
    runner("hlint", "hlint", Haskell, Lint, Targets, ""),
    runner("dune test", "dune test", OCaml, Test, Targets, ""),
    runner("dune runtest", "dune test", OCaml, Test, Targets, ""),
    runner("dune build", "dune build", OCaml, Build, Targets, ""),
    runner("gleam test", "gleam test", Gleam, Test, Ignored, ""),
    runner("gleam build", "gleam build", Gleam, Build, Ignored, ""),
    runner("gleam check", "gleam build", Gleam, Build, Ignored, ""),
    runner("gleam format", "gleam format", Gleam, Lint, Targets, ""),
    runner(
        "forge test",
        "forge test",
        Solidity,
        Test,
        Ignored,
        "--match-test:filter --mt:filter --match-contract:target --mc:target --match-path:target --root:folder",
    ),
    runner("forge build", "forge build", Solidity, Build, Ignored, ""),
    runner("forge fmt", "forge fmt", Solidity, Lint, Targets, ""),
    runner("bats", "bats", Config, Test, Targets, "-f:filter"),
    runner("terraform validate", "terraform validate", Config, Lint, Targets, ""),
    runner("terraform fmt", "terraform fmt", Config, Lint, Targets, ""),
    runner("tofu validate", "tofu validate", Config, Lint, Targets, ""),
    runner("tofu fmt", "tofu fmt", Config, Lint, Targets, ""),
    runner("tflint", "tflint", Config, Lint, Targets, ""),
    runner("helm lint", "helm lint", Config, Lint, Targets, ""),
    runner("kubeconform", "kubeconform", Config, Lint, Targets, ""),
    runner("shellcheck", "shellcheck", Config, Lint, Targets, ""),
    runner("shfmt", "shfmt", Config, Lint, Targets, ""),
    runner("hadolint", "hadolint", Config, Lint, Targets, ""),
    runner("yamllint", "yamllint", Config, Lint, Targets, ""),
    runner("actionlint", "actionlint", Config, Lint, Targets, ""),
    runner("ansible-lint", "ansible-lint", Config, Lint, Targets, ""),
    runner("markdownlint", "markdownlint", Config, Lint, Targets, ""),
    runner("markdownlint-cli2", "markdownlint-cli2", Config, Lint, Targets, ""),
    runner("buf lint", "buf lint", Config, Lint, Targets, ""),
    runner("pre-commit run", "pre-commit", Task, Lint, Ignored, ""),
    runner(
        "bazel test",
        "bazel test",
        Task,
        Test,
        Targets,
        "--config:variant -c:value --test_filter:filter --test_output:value",
    ),
    runner(
        "bazel build",
        "bazel build",
        Task,
        Build,
        Targets,
        "--config:variant -c:value --test_filter:filter --test_output:value",
    ),
];

/// Other names of programs.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("mvnw", "mvn"),
    ("mvnd", "mvn"),
    ("gradlew", "gradle"),
    ("py.test", "pytest"),
    ("py", "python"),
    ("pypy3", "python"),
    ("bazelisk", "bazel"),
    ("paratest", "phpunit"),
    ("gmake", "make"),
];

/// Programs that run a project's task by its name, with the words in front of the name.
pub(super) const TASK_RUNNERS: &[(&str, &[&str], Family)] = &[
    ("npm", &["run", "run-script"], JavaScript),
    ("pnpm", &["run"], JavaScript),
    ("yarn", &["run"], JavaScript),
    ("bun", &["run"], JavaScript),
    ("make", &[], Family::Task),
    ("just", &[], Family::Task),
    ("mise", &["run", "r"], Family::Task),
    ("task", &[], Family::Task),
    ("turbo", &["run"], JavaScript),
    ("nx", &["run"], JavaScript),
    ("lerna", &["run"], JavaScript),
    ("poe", &[], Python),
    ("invoke", &[], Python),
    ("inv", &[], Python),
    ("deno", &["task"], JavaScript),
    ("composer", &["run", "run-script"], Php),
    ("rake", &[], Ruby),
];
/// Options of these programs in front of the task's name.
pub(super) const TASK_OPTIONS: &str = "-w:target --workspace:target --filter:target -F:target --prefix:folder -C:folder --dir:folder --cwd:folder \
    --directory:folder -f:value -j:value --reporter:value --concurrency:value --workspace-concurrency:value --loglevel:value";

/// Programs that run the program behind them in the project's environment, with the words to skip.
pub(super) const ENVIRONMENT_RUNNERS: &[(&str, &str)] = &[
    ("npx", ""),
    ("bunx", ""),
    ("pnpx", ""),
    ("pnpm", "exec"),
    ("pnpm", "dlx"),
    ("yarn", "exec"),
    ("yarn", "dlx"),
    ("bun", "x"),
    ("uv", "run"),
    ("uvx", ""),
    ("pipx", "run"),
    ("poetry", "run"),
    ("pdm", "run"),
    ("pixi", "run"),
    ("conda", "run"),
    ("coverage", "run"),
    ("python", ""),
    ("node", ""),
    ("tsx", ""),
    ("ts-node", ""),
    ("ruby", ""),
    ("perl", ""),
    ("php", ""),
    ("bash", ""),
    ("sh", ""),
    ("zsh", ""),
    ("fvm", ""),
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
pub(super) const ENVIRONMENT_VALUES: [&str; 12] = [
    "--with",
    "--project",
    "--directory",
    "-p",
    "--package",
    "--python",
    "--extra",
    "--group",
    "--env-file",
    "-n",
    "--name",
    "--from",
];

/// Words in the name of a task that say what it checks; the first that is found counts.
pub(super) const TASK_WORDS: &[(&str, CheckKind)] = &[
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
pub(super) const WHOLE_TASKS: &[&str] = &[
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

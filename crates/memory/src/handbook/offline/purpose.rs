//! What a step is run for.

use super::shell::{Place, Step};
use super::vocabulary::{BUILD, COMMON, FORMAT, GENERATE, INSTALL, LINT, RELEASE, RUNNERS, TEST, VERBS, has};
use throughline_core::facts::runs_tests;

/// What a step is run for, in the order in which it is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Purpose {
    /// Tests, and checks of everything.
    Test,
    /// Linters and type checkers.
    Lint,
    /// Formatters.
    Format,
    /// Code and schemas are generated.
    Generate,
    /// Something is built.
    Build,
    /// A release.
    Release,
    /// Dependencies.
    Install,
    /// Pull requests and issues.
    Forge,
    /// A program of the project's own, or one that few projects use.
    Tool,
    /// A commit.
    Commit,
    /// A push.
    Push,
    /// Something is looked at, or moved about.
    Look,
}

impl Purpose {
    /// What a procedure for this is called.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Test => "Tests",
            Self::Lint => "Lint and type checks",
            Self::Format => "Formatting",
            Self::Generate => "Code generation",
            Self::Build => "Build",
            Self::Release => "Release",
            Self::Install => "Dependencies",
            Self::Forge => "Pull requests and issues",
            Self::Tool => "Tool",
            Self::Commit => "Commit",
            Self::Push => "Push",
            Self::Look => "Look",
        }
    }

    /// Whether it shows that the work is in order.
    pub(super) fn is_check(self) -> bool {
        match self {
            Self::Test | Self::Lint | Self::Build => true,
            Self::Format
            | Self::Generate
            | Self::Release
            | Self::Install
            | Self::Forge
            | Self::Tool
            | Self::Commit
            | Self::Push
            | Self::Look => false,
        }
    }

    /// Whether doing it is worth a procedure.
    pub(super) fn is_procedure(self) -> bool {
        match self {
            Self::Test
            | Self::Lint
            | Self::Format
            | Self::Generate
            | Self::Build
            | Self::Release
            | Self::Install
            | Self::Forge
            | Self::Tool => true,
            Self::Commit | Self::Push | Self::Look => false,
        }
    }
}

/// What a step is run for.
pub(super) fn of(step: &Step) -> Purpose {
    let program = step.program();
    let word = |at: usize| step.words.get(at).map_or("", String::as_str);
    if step.is_script {
        return Purpose::Look;
    }
    match program {
        "git" => return of_git(step),
        "gh" | "glab" => return of_forge(step),
        "go" if word(1) == "run" => return Purpose::Tool,
        "go" if matches!(word(1), "list" | "doc" | "env" | "version" | "get" | "mod" | "tool") => {
            return if word(1) == "mod" && word(2) == "tidy" { Purpose::Install } else { Purpose::Look };
        }
        "cargo" if word(1) == "run" => return Purpose::Tool,
        "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "pip" | "pip3" | "uv" | "poetry"
            if matches!(
                word(1),
                "view"
                    | "info"
                    | "ls"
                    | "list"
                    | "outdated"
                    | "why"
                    | "search"
                    | "config"
                    | "--version"
                    | "-v"
                    | "tree"
                    | "metadata"
                    | "show"
                    | "add"
                    | "remove"
                    | "uninstall"
                    | "i"
                    | "pack"
            ) =>
        {
            return Purpose::Look;
        }
        // One more package is of that day; what the project lists is how it is set up.
        "npm" | "pnpm" | "yarn" | "bun" | "pip" | "pip3"
            if word(1) == "install" && !word(2).is_empty() && !word(2).starts_with('-') =>
        {
            return Purpose::Look;
        }
        // `bun src/cli.ts eval run`: a program of the project's own.
        "bun" | "deno" | "npx" | "bunx" if word(1).contains('/') && !word(1).starts_with('-') => {
            return Purpose::Tool;
        }
        _ => {}
    }
    if has(COMMON, program) {
        return if runs_tests(&step.text) && matches!(program, "python" | "python3" | "bash" | "sh" | "node") {
            Purpose::Test
        } else {
            Purpose::Look
        };
    }
    if !has(RUNNERS, program) {
        let is_program = program.chars().next().is_some_and(|c| c.is_alphanumeric())
            && program.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        return if is_program && step.place != Place::Elsewhere { Purpose::Tool } else { Purpose::Look };
    }
    // The verb of a toolchain says it all; its arguments name tags and folders.
    if matches!(program, "go" | "cargo" | "swift" | "dotnet" | "zig") {
        let verb = word(1);
        return [
            (FORMAT, Purpose::Format),
            (LINT, Purpose::Lint),
            (TEST, Purpose::Test),
            (GENERATE, Purpose::Generate),
        ]
        .into_iter()
        .chain([(RELEASE, Purpose::Release), (BUILD, Purpose::Build), (INSTALL, Purpose::Install)])
        .find(|(known, _)| has(known, verb))
        .map_or(Purpose::Look, |(_, purpose)| purpose);
    }
    let mut named: Vec<&str> = vec![program];
    let tasks = step
        .words
        .iter()
        .skip(1)
        .filter(|word| !word.starts_with('-') && !word.contains(['/', '.', '"', '\'', '…']));
    named.extend(tasks.take(3).map(String::as_str));
    let names = |table: &str| {
        let mut parts = named.iter().flat_map(|word| word.split([':', '-', '_']));
        parts.any(|part| has(table, &part.to_lowercase()))
    };
    let is_list = matches!(
        word(1),
        "tasks"
            | "--list"
            | "--help"
            | "-h"
            | "help"
            | "--version"
            | "-V"
            | "ls"
            | "ps"
            | "logs"
            | "images"
            | "inspect"
    );
    if is_list || step.words.iter().any(|word| word == "--help" || word == "--version") {
        return Purpose::Look;
    }
    if program == "gofmt" && !step.words.iter().any(|word| word.starts_with("-w")) {
        return Purpose::Lint;
    }
    [
        (FORMAT, Purpose::Format),
        (LINT, Purpose::Lint),
        (TEST, Purpose::Test),
        (GENERATE, Purpose::Generate),
        (RELEASE, Purpose::Release),
        (BUILD, Purpose::Build),
        (INSTALL, Purpose::Install),
    ]
    .into_iter()
    .find(|(known, _)| names(known))
    .map_or(Purpose::Tool, |(_, purpose)| purpose)
}

fn of_git(step: &Step) -> Purpose {
    let words: Vec<&str> = step.words.iter().map(String::as_str).collect();
    // `git -C folder commit`.
    let at = match words.as_slice() {
        [_, "-C" | "-c", _, ..] => 3,
        _ => 1,
    };
    match words.get(at).copied().unwrap_or_default() {
        "commit" => Purpose::Commit,
        "push" => Purpose::Push,
        _ => Purpose::Look,
    }
}

fn of_forge(step: &Step) -> Purpose {
    let word = |at: usize| step.words.get(at).map_or("", String::as_str);
    match (word(1), word(2)) {
        ("pr" | "mr", "create" | "merge" | "checks" | "ready" | "review" | "edit" | "comment")
        | ("run", "watch" | "rerun")
        | ("issue", "create" | "close" | "comment" | "edit")
        | ("release", "create" | "upload")
        | ("workflow", "run") => Purpose::Forge,
        _ => Purpose::Look,
    }
}

/// What several variants of a step have in common: the program and what it is told to do.
pub(super) fn family(step: &Step, purpose: Purpose) -> String {
    let mut parts = vec![step.program().to_owned()];
    let is_word = |word: &&String| !word.starts_with('-') && !word.starts_with(['"', '\'', '<', '…']);
    let mut words = step.words.iter().skip(1).filter(is_word).take(4);
    if purpose == Purpose::Tool {
        // What stands first is told to the program; behind it, only verbs are.
        parts.extend(words.next().cloned());
        parts.extend(words.take_while(|word| has(VERBS, word)).cloned());
    } else if matches!(step.program(), "go" | "cargo" | "swift" | "dotnet" | "zig") {
        parts.extend(words.next().cloned());
    } else {
        parts.extend(words.take_while(|word| !word.contains(['/', '.', '=', '~', '@'])).cloned());
    }
    parts.join(" ")
}

#[cfg(test)]
mod tests {
    use super::super::shell::steps;
    use super::*;

    #[test]
    fn steps_are_told_apart_by_what_they_are_for() {
        for (purpose, command) in [
            (Purpose::Test, "mise run test:ci"),
            (Purpose::Test, "go test -race ./..."),
            (Purpose::Test, "cargo nextest run"),
            (Purpose::Test, "bun run test"),
            (Purpose::Test, "python3 -m pytest -q"),
            (Purpose::Test, "make check"),
            (Purpose::Lint, "mise run lint"),
            (Purpose::Lint, "go vet ./..."),
            (Purpose::Lint, "cargo clippy --all-targets"),
            (Purpose::Lint, "bun run typecheck"),
            (Purpose::Lint, "npx tsc --noEmit"),
            (Purpose::Format, "mise run fmt"),
            (Purpose::Format, "cargo fmt"),
            (Purpose::Format, "gofmt -w a.go"),
            (Purpose::Generate, "go generate ./..."),
            (Purpose::Generate, "sqlc generate"),
            (Purpose::Build, "npm run build"),
            (Purpose::Build, "go build ./..."),
            (Purpose::Release, "goreleaser release --snapshot"),
            (Purpose::Install, "bun install"),
            (Purpose::Install, "go mod tidy"),
            (Purpose::Forge, "gh pr create --title x"),
            (Purpose::Forge, "gh pr checks 3 --watch"),
            (Purpose::Tool, "relayctl dep add a b"),
            (Purpose::Tool, "go run ./cmd/app list"),
            (Purpose::Tool, "./relay search --query x"),
            (Purpose::Commit, "git commit -m x"),
            (Purpose::Commit, "git -C web commit -m x"),
            (Purpose::Push, "git push -u origin HEAD"),
            (Purpose::Look, "ls -la"),
            (Purpose::Look, "sed -n 1,20p a.rs"),
            (Purpose::Look, "git status --short"),
            (Purpose::Look, "gh pr view 3"),
            (Purpose::Look, "npm install left-pad"),
            (Purpose::Look, "node -e 'test()'"),
            (Purpose::Look, "mise tasks"),
        ] {
            let step = &steps(command, None)[0];
            assert_eq!(of(step), purpose, "{command}");
        }
    }
}

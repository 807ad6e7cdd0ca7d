//! What git does without changing anything.
//!
//! git runs what a repository's own configuration names: pagers, drivers, monitors. So these commands count as harmless only where
//! the repository is the workspace's own ([`super::ReadOnly::is_git`]), and no option that names a program, a file to write
//! or another repository is known here.

use super::flags::{Sorted, Style, sort};
use throughline_core::shell::Word;

/// What a sub-command's arguments may be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    /// Revisions and paths.
    Any,
    /// None, unless one of these options is given: then they only select.
    Listing(&'static [&'static str]),
    /// At most so many.
    AtMost(usize),
}

struct Command {
    name: &'static str,
    options: &'static str,
    arguments: Arguments,
}

const fn command(name: &'static str, options: &'static str, arguments: Arguments) -> Command {
    Command { name, options, arguments }
}

use Arguments::{Any, AtMost, Listing};

/// Options of everything that shows commits and differences.
const SHOWING: &str = "-# -a -b -c -g -i -m -n% -p -q -r -s -t -u -w -z -B -C -D -E -F -G# -L# -M -P -R -S# -U% -W \
    --abbrev=? --abbrev-commit --no-abbrev-commit --all --all-match --ancestry-path --author=# --committer=# --branches=? --tags=? \
    --remotes=? --boundary --cached --staged --cc --cherry --cherry-mark --cherry-pick --children --color=? --no-color \
    --color-words=? --color-moved=? --combined-all-paths --compact-summary --cumulative --date=# --date-order --author-date-order \
    --decorate=? --no-decorate --decorate-refs=# --diff-algorithm=# --diff-filter=# --diff-merges=# --dirstat=? --exit-code \
    --expand-tabs=? --extended-regexp --find-copies=? --find-copies-harder --find-object=# --find-renames=? --first-parent \
    --fixed-strings --follow --format=? --full-diff --full-history --full-index --function-context --graph --no-graph --grep=# \
    --histogram --ignore-all-space --ignore-blank-lines --ignore-case --ignore-space-at-eol --ignore-space-change \
    --ignore-submodules=? --indent-heuristic --inter-hunk-context=# --invert-grep --left-only --left-right --line-prefix=# \
    --log-size --max-count=% --max-parents=? --merge-base --merges --min-parents=? --minimal --mailmap --no-mailmap --name-only \
    --name-status --no-ext-diff --no-index --no-merges --no-notes --no-patch --no-prefix --no-renames --no-textconv --no-walk=? --not \
    --notes=? --numstat --oneline --parents --patch --patch-with-raw --patch-with-stat --patience --perl-regexp --pickaxe-all \
    --pickaxe-regex --pretty=? --quiet --raw --reflog --relative=? --relative-date --rename-empty --reverse --root \
    --shortstat --show-pulls --simplify-by-decoration --simplify-merges --since=# --after=# --before=# --until=# \
    --skip=# --source --sparse --stat=? --stat-width=# --stat-count=# --summary --text --topo-order --unified=? \
    --walk-reflogs --word-diff=? --word-diff-regex=# --ws-error-highlight=#";

const COMMANDS: &[Command] = &[
    command(
        "status",
        "-s -b -z -u -v --short --branch --show-stash --porcelain=? --long --verbose \
        --untracked-files=? --ignore-submodules=? --ignored=? --column=? --no-column --ahead-behind --no-ahead-behind --renames \
        --no-renames --find-renames=?",
        Any,
    ),
    command("log", SHOWING, Any),
    command("show", SHOWING, Any),
    command("diff", SHOWING, Any),
    command("whatchanged", SHOWING, Any),
    command("diff-tree", SHOWING, Any),
    command("rev-list", SHOWING, Any),
    command(
        "shortlog",
        "-s -n -e -c -w --summary --numbered --email --since=# --until=# --group=# --all --no-merges",
        Any,
    ),
    command(
        "blame",
        "-b -c -e -f -h -l -L# -M -C -n -p -s -t -w --root --show-stats --line-porcelain --porcelain --show-name \
        --show-number --show-email --since=# --date=# --abbrev=? --reverse --first-parent --ignore-rev=#",
        Any,
    ),
    command(
        "rev-parse",
        "-q --abbrev-ref=? --all --branches=? --short=? --show-toplevel --show-prefix --show-cdup --git-dir \
        --git-common-dir --absolute-git-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository \
        --is-shallow-repository --symbolic --symbolic-full-name --verify --quiet --tags=? --remotes=? --show-superproject-working-tree",
        Any,
    ),
    command(
        "ls-files",
        "-c -d -i -k -m -o -s -t -u -v -z -x# --cached --deleted --ignored --killed --modified --others --stage \
        --unmerged --exclude=# --exclude-standard --directory --no-empty-directory --error-unmatch --full-name --abbrev=? --eol \
        --deduplicate",
        Any,
    ),
    command(
        "ls-tree",
        "-d -l -r -t -z --long --name-only --name-status --object-only --full-name --full-tree --abbrev=? --format=#",
        Any,
    ),
    command("cat-file", "-e -p -s -t", Any),
    command(
        "grep",
        "-a -c -E -F -G -H -I -h -i -l -L -n -P -p -q -v -W -w -z -A% -B% -C% -e# --all-match --and --break --cached \
        --color=? --column --count --extended-regexp --files-with-matches --files-without-match --fixed-strings --full-name \
        --function-context --heading --ignore-case --invert-match --line-number --max-depth=# --name-only --no-color --not --null \
        --only-matching -o --or --perl-regexp --quiet --recursive --show-function --untracked --word-regexp --max-count=# -m#",
        Any,
    ),
    command(
        "describe",
        "--all --tags --contains --abbrev=? --always --long --match=# --exclude=# --exact-match \
        --first-parent --candidates=#",
        Any,
    ),
    command("merge-base", "-a --all --octopus --is-ancestor --independent --fork-point", Any),
    command("name-rev", "--tags --refs=# --all --name-only --always", Any),
    command(
        "show-ref",
        "-d -q -s --head --heads --tags --branches --dereference --hash=? --verify --quiet --abbrev=?",
        Any,
    ),
    command(
        "for-each-ref",
        "--count=# --sort=# --format=# --points-at=# --merged=! --no-merged=! --contains=! --no-contains=!",
        Any,
    ),
    command("count-objects", "-v -H --verbose --human-readable", Any),
    command("check-ignore", "-q -v -n -z --quiet --verbose --non-matching --no-index", Any),
    command(
        "branch",
        "-a -r -v -l -i --all --remotes --verbose --list --show-current --contains=! --no-contains=! --merged=! \
        --no-merged=! --points-at=# --sort=# --format=# --column=? --no-column --color=? --no-color --abbrev=? --no-abbrev \
        --ignore-case",
        Listing(&["-l", "--list"]),
    ),
    command(
        "tag",
        "-l -n -i --list --contains=! --no-contains=! --merged=! --no-merged=! --points-at=! --sort=# --format=# \
        --column=? --no-column --color=? --ignore-case",
        Listing(&["-l", "--list"]),
    ),
    command("remote", "-v --verbose", AtMost(0)),
    command("reflog", "-# -n% --oneline --date=# --format=? --all --no-color --max-count=#", AtMost(0)),
    command("version", "--build-options", AtMost(0)),
];

/// Sub-commands of two words that only list.
const PAIRS: [(&str, &str, &str); 5] = [
    ("stash", "list", "-# -n% --oneline --date=# --format=? --stat=? --no-color"),
    (
        "stash",
        "show",
        "-p -u --patch --stat=? --name-only --name-status --numstat --no-color --include-untracked",
    ),
    ("worktree", "list", "-v -z --porcelain --verbose"),
    ("remote", "get-url", "--all --push"),
    ("reflog", "show", "-# -n% --oneline --date=# --format=? --all --no-color --max-count=#"),
];

/// The words of a git command that changes nothing, sorted; `None`: it might change something.
pub(super) fn read_only(words: &[Word]) -> Option<Sorted<'_>> {
    let mut rest = words;
    let name = loop {
        let (first, others) = rest.split_first()?;
        rest = others;
        match first.literal()? {
            "--no-pager" | "-P" | "--no-optional-locks" | "--literal-pathspecs" => {}
            "--version" if others.is_empty() => return Some(Sorted::default()),
            name if name.starts_with('-') => return None,
            name => break name,
        }
    };
    let second = rest.first().and_then(Word::literal);
    if let Some((_, _, options)) = PAIRS.iter().find(|(one, two, _)| *one == name && Some(*two) == second) {
        return sort(rest.get(1..)?, options, Style::Letters).filter(|sorted| !verifies_signatures(sorted));
    }
    let command = COMMANDS.iter().find(|command| command.name == name)?;
    let sorted = sort(rest, command.options, Style::Letters).filter(|sorted| !verifies_signatures(sorted))?;
    let is_fine = match command.arguments {
        Any => true,
        Listing(options) => sorted.arguments.is_empty() || sorted.has(options),
        AtMost(most) => sorted.arguments.len() <= most,
    };
    is_fine.then_some(sorted)
}

/// The names and options of all sub-commands.
#[cfg(test)]
pub(super) fn tables() -> impl Iterator<Item = (&'static str, &'static str)> {
    COMMANDS.iter().map(|command| (command.name, command.options))
}

/// Returns true if a format asks for signatures: git runs a program to verify them, which keeps files of its own.
fn verifies_signatures(sorted: &Sorted<'_>) -> bool {
    sorted.values.iter().any(|value| value.contains("%G") || value.contains("signature"))
}

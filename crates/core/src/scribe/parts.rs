//! What the scribe's texts are made of. Each part is shared by notes, summaries and handoffs.

use super::page::Page;
use super::{DigestWanted, KeptText};
use crate::classify::DirectiveKind;
use crate::facts::{Facts, Request, Status, Touch};
use crate::recall::short_id;
use crate::text::{head, middle_cut, one_line};
use crate::tokens::Counter;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;

pub(super) fn title(page: &mut Page<'_>, facts: &Facts) {
    if let Some(first) = facts.requests().first_task() {
        let title: Vec<&str> = first.ask.headline().split_whitespace().take(10).collect();
        page.line(&one_line(&title.join(" "), 80));
    }
}

pub(super) fn instructions(page: &mut Page<'_>, instructions: Option<&str>) {
    if let Some(text) = instructions.map(str::trim).filter(|text| !text.is_empty()) {
        page.line(&format!("Asked of this summary: {text}"));
    }
}

/// The first request in force and the newest one.
pub(super) fn request(page: &mut Page<'_>, facts: &Facts) {
    let line = |name: &str, request: &Request| {
        format!(
            "{name} request [{}]: {}",
            short_id(&request.ask.message),
            one_line(request.ask.headline(), 200)
        )
    };
    let (first, newest) = (facts.requests().first_task(), facts.requests().newest());
    if let Some(first) = first {
        page.line(&line("First", first));
    }
    if let Some(newest) = newest.filter(|newest| first.is_none_or(|first| first.seen != newest.seen)) {
        page.line(&line("Newest", newest));
    }
}

/// What is in flight, what the model said last, what is open.
pub(super) fn state(page: &mut Page<'_>, facts: &Facts, kept: &KeptText, most: u64) {
    if let Some(newest) = facts.requests().newest() {
        let ask = &newest.ask;
        let passages = ask.passages();
        let text = match passages.iter().all(|passage| kept.said.contains(passage)) {
            true => one_line(ask.headline(), 200),
            false => {
                let told = passages.join("\n");
                let is_first = one_line(&told, 300).starts_with(ask.headline());
                match is_first {
                    true => told,
                    false => {
                        format!("{}\nThe message, with text that may be pasted:\n{told}", ask.headline())
                    }
                }
            }
        };
        let by = super::words::by_whom(newest);
        page.line(&format!("Newest request [{}{by}]: {text}", short_id(&ask.message)));
    }
    if let Some(said) = facts.last_answer()
        && !kept.all.contains(said.text.trim())
    {
        let id = short_id(&said.id);
        page.line(&format!("Last said by the assistant [{id}]: {}", middle_cut(said.text.trim(), 900)));
    }
    if let Some(message) = facts.todos_message().filter(|_| !facts.todos().is_empty()) {
        page.line(&format!("Tasks [{}]:", short_id(message)));
    }
    handles(page, facts, &kept.all);
    pending(page, facts);
    let failing = facts.tests().iter().rev().filter(|run| !run.passed).map(|run| {
        let what = if run.failing.is_empty() {
            run.summary.clone().unwrap_or_default()
        } else {
            run.failing.join(", ")
        };
        format!("- failing: `{}` {what} [{}]", one_line(&run.command, 120), short_id(&run.message))
    });
    page.lines(most / 2, failing);
    let errors = facts.open_errors().collect::<Vec<_>>();
    let newest = errors.iter().rev().take(4);
    page.lines(
        most / 2,
        newest.map(|error| {
            let id = short_id(&error.message);
            format!("- open error: {} (`{}`) [{id}]", error.line, one_line(&error.source, 80))
        }),
    );
}

/// What is still running, by the ids that the client will refer to.
pub(super) fn handles(page: &mut Page<'_>, facts: &Facts, kept: &str) {
    let open = facts.open_handles().iter().filter(|handle| !kept.contains(&handle.id));
    for handle in open {
        let output = handle.output.as_ref().map(|path| format!(", output in {path}")).unwrap_or_default();
        page.line(&format!("- running: {} ({}){output}", handle.id, one_line(&handle.what, 80)));
    }
}

/// The list of tasks, what is open first.
pub(super) fn pending(page: &mut Page<'_>, facts: &Facts) {
    let todos = facts.todos();
    let of = |status: Status, mark: &'static str| {
        todos
            .iter()
            .filter(move |todo| todo.status == status)
            .map(move |todo| format!("- [{mark}] {}", todo.text))
    };
    page.lines(page.left() / 6, of(Status::Active, "doing").chain(of(Status::Pending, " ")));
    let done: Vec<String> = of(Status::Done, "x").collect();
    page.lines(page.left() / 12, done.iter().rev());
}

pub(super) fn next_step(page: &mut Page<'_>, facts: &Facts) {
    if let Some(todo) = facts.todos().iter().find(|todo| todo.status != Status::Done) {
        page.line(&format!("Go on with: {}", todo.text));
    }
    if let Some(newest) = facts.requests().newest() {
        page.line(&format!("In the user's words: \"{}\"", one_line(newest.ask.headline(), 200)));
    }
}

/// Words that the client reports from the user beside a tool call: the reason why they declined it, or words typed while it ran.
pub(super) fn answers(page: &mut Page<'_>, facts: &Facts, kept: &str, most: u64) {
    let unseen = facts.answers().iter().rev().filter(|said| !kept.contains(said.text.as_str()));
    page.lines(most, unseen.map(|said| format!("Said during a tool call: {}", one_line(&said.text, 600))));
}

/// The kinds of files that the session worked on, most files first.
pub(super) fn concepts(page: &mut Page<'_>, facts: &Facts, most: u64) {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in facts.files() {
        if let Some(kind) = Path::new(&file.path).extension().and_then(|kind| kind.to_str()) {
            *kinds.entry(kind).or_default() += 1;
        }
    }
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(_, files)| std::cmp::Reverse(*files));
    let line = kinds.iter().take(8).map(|(kind, files)| format!(".{kind} ({files})")).collect::<Vec<_>>();
    page.lines(most, (!line.is_empty()).then(|| format!("- kinds of files: {}", line.join(", "))));
}

/// Changed files, then those read most recently.
pub(super) fn files(page: &mut Page<'_>, facts: &Facts, most: u64) {
    let files = facts.files();
    let line = |file: &&&crate::facts::FileFact| {
        let what = match file.last {
            Touch::Read => "read".to_owned(),
            Touch::Edited => format!("edited ×{}", file.changes),
            Touch::Written => format!("written ×{}", file.changes),
        };
        format!("- {} ({what})", file.path)
    };
    let changed = files.iter().filter(|file| file.changes > 0);
    page.lines(most * 2 / 3, changed.map(|file| line(&file)));
    let read = files.iter().filter(|file| file.changes == 0);
    page.lines(most / 3, read.map(|file| line(&file)));
}

/// Commands that were run more than once or last, and how they ended.
pub(super) fn commands(page: &mut Page<'_>, facts: &Facts, most: u64) {
    let mut commands = facts.commands();
    commands.sort_by_key(|command| std::cmp::Reverse(command.runs.min(4)));
    let lines = commands.iter().map(|command| {
        let ended = match command.outcome {
            Some(outcome) => match (outcome.failed, outcome.exit) {
                (true, Some(code)) => format!("failed, exit {code}"),
                (true, None) => "failed".to_owned(),
                (false, _) if outcome.is_known => "ok".to_owned(),
                (false, _) => "ended, unclear how".to_owned(),
            },
            None => "running".to_owned(),
        };
        let runs = if command.runs > 1 { format!(" ×{}", command.runs) } else { String::new() };
        format!("- `{}`{runs}: {ended}", one_line(&command.command, 160))
    });
    page.lines(most, lines);
}

/// Errors seen and whether they stand, and what the user corrected.
pub(super) fn errors(page: &mut Page<'_>, facts: &Facts, most: u64) {
    let corrections = facts.requests().directives().rev().filter(|d| d.kind == DirectiveKind::Correction);
    let said = page.text().to_owned();
    page.lines(
        most / 2,
        corrections.filter(|d| !said.contains(&d.sentence)).map(|d| format!("- user: {}", d.sentence)),
    );
    let errors = facts.errors_seen().iter().rev().map(|error| {
        let state = match (error.is_closed(), error.is_open(facts.seen())) {
            (true, _) => "fixed",
            (false, true) => "open",
            (false, false) => "seen",
        };
        format!("- {state}: {} (`{}`)", one_line(&error.line, 160), one_line(&error.source, 60))
    });
    page.lines(most, errors);
}

/// How turns ended, newest first: what the user was told.
pub(super) fn results(page: &mut Page<'_>, facts: &Facts, kept: &str, most: u64) {
    let superseded: HashSet<&crate::MessageId> = facts
        .requests()
        .all()
        .iter()
        .filter(|request| !request.is_in_force())
        .map(|request| &request.ask.message)
        .collect();
    let said = page.text().to_owned();
    let turns = facts.turns().iter().rev().filter(|turn| !superseded.contains(&turn.id)).filter_map(|turn| {
        let answer = turn.answer.as_deref()?;
        (!kept.contains(answer) && !said.contains(head(answer.trim(), 80)))
            .then(|| format!("- {} → {}", one_line(&turn.asked, 60), one_line(answer, 320)))
    });
    page.lines(most, turns);
}

/// Ranked details, with all that is left of the page.
pub(super) fn details(
    page: &mut Page<'_>,
    digest: &mut dyn FnMut(DigestWanted<'_>, &mut Counter) -> String,
    kept: &str,
) {
    let said = page.text().to_owned();
    let budget = page.left().saturating_sub(4);
    let text = digest(DigestWanted { budget, said: &[&said, kept] }, page.counter());
    page.block(text.trim_end());
}

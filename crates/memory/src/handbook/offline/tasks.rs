//! Tasks: turns that belong together, and what came of them.

use super::conclusion;
use super::spot::{Spot, file_name, keywords};
use super::tell::Told;
use super::turns::Turn;
use crate::extract::pattern::patterns;
use crate::extract::terms::subjects;
use crate::handbook::voice::is_order;
use crate::handbook::{Basis, FindingKind, TaskOutcome};
use std::collections::BTreeSet;

patterns! {
    GOES_ON = r"^\W*(?:yes|yeah|yep|yup|ok|okay|no|nope|sure|right|go|do it|go ahead|continue|proceed|commit|push|merge|again|now can you (?:double|check)|double check|also|and|but|then|update\?|word|ready|done|hmm+|so|oh|ah|what about|how about|why|how|is|are|does|did|do|where|which|what|can you check|can you look|好|是|继续|提交|推送|对|嗯|那)\b";
}

/// Tasks that are told of a session.
const MOST_TASKS: usize = 6;
const MOST_CONCLUSIONS: usize = 4;
/// Characters of what was asked.
const LONGEST_ASKED: usize = 160;

/// What came of a task in which nothing was done.
const NOTHING: &str = "answered, nothing changed";

/// Turns that belong together.
#[derive(Debug)]
pub(super) struct Task {
    /// What was asked first, as it was typed.
    pub(super) asked: String,
    pub(super) outcome: TaskOutcome,
    /// What came of it, in a line.
    pub(super) result: String,
    pub(super) conclusion: Option<(String, Spot)>,
    pub(super) files: Vec<String>,
    pub(super) spots: Vec<Spot>,
    pub(super) pulls: Vec<String>,
    weight: u32,
}

/// The tasks of a session, in order.
pub(super) fn of(turns: &[Turn]) -> Vec<Task> {
    let mut groups: Vec<Vec<&Turn>> = Vec::new();
    for turn in turns {
        let begins = groups.last().is_none_or(|group| begins(turn, group));
        if begins {
            groups.push(Vec::new());
        }
        if let Some(group) = groups.last_mut() {
            group.push(turn);
        }
    }
    let mut tasks = Vec::with_capacity(groups.len());
    for (at, group) in groups.iter().enumerate() {
        let next = groups.get(at + 1).and_then(|group| group.first()).copied();
        tasks.extend(task(group, next));
    }
    tasks
}

/// Whether a turn begins something new: it says enough, and what came before had come to something.
fn begins(turn: &Turn, group: &[&Turn]) -> bool {
    let words = turn.words(300);
    let is_telling = subjects(&words).len() >= 3 && words.split_whitespace().count() >= 4;
    if !is_telling {
        return false;
    }
    let did = group.iter().any(|turn| turn.did_something());
    // The same files once more, and nothing brought home yet: it is the same work.
    let is_home = group.iter().any(|turn| !turn.commits.is_empty() || turn.is_pushed || turn.is_merged);
    let is_known = |path: &str| group.iter().flat_map(|turn| &turn.changed).any(|(known, _)| known == path);
    let goes_on = !is_home && turn.changed.iter().any(|(path, _)| is_known(path));
    did && !goes_on && !GOES_ON.is_in(&words) || group.len() >= 16 && did
}

fn task(group: &[&Turn], next: Option<&Turn>) -> Option<Task> {
    // What is said first counts for more, unless it says little.
    let mut first: Option<(usize, &Turn, String)> = None;
    for (at, turn) in group.iter().copied().take(6).enumerate() {
        let (worth, asked) = turn.telling(LONGEST_ASKED);
        let worth = worth + if at == 0 { 3 } else { 0 };
        if first.as_ref().is_none_or(|(known, _, _)| worth > *known) {
            first = Some((worth, turn, asked));
        }
    }
    let (_, first, asked) = first?;
    let last = *group.last()?;
    let mut files: Vec<(String, u32)> = Vec::new();
    for (path, times) in group.iter().flat_map(|turn| &turn.changed) {
        match files.iter_mut().find(|(known, _)| known == path) {
            Some((_, known)) => *known += times,
            None => files.push((path.clone(), *times)),
        }
    }
    files.sort_by(|(a, a_times), (b, b_times)| b_times.cmp(a_times).then_with(|| a.cmp(b)));
    let commits: Vec<&(String, Spot)> = group.iter().flat_map(|turn| &turn.commits).collect();
    let pulls: Vec<String> = group.iter().flat_map(|turn| turn.pulls.clone()).collect();
    let is_pushed = group.iter().any(|turn| turn.is_pushed);
    let is_merged = group.iter().any(|turn| turn.is_merged);
    let check = group.iter().rev().find_map(|turn| turn.check.as_ref());
    let calls: u32 = group.iter().map(|turn| turn.calls).sum();
    let shown: Vec<String> = files
        .iter()
        .map(|(path, _)| path.as_str())
        .filter(|path| !path.starts_with('/') && !is_order(path))
        .map(str::to_owned)
        .collect();

    let mut parts: Vec<String> = Vec::new();
    if !shown.is_empty() {
        let named: Vec<String> = shown.iter().take(3).map(|path| format!("`{path}`")).collect();
        let more = if shown.len() > 3 { format!(" and {} more", shown.len() - 3) } else { String::new() };
        parts.push(format!("changed {}{more}", named.join(", ")));
    }
    if let Some((subject, _)) = commits.last() {
        let more = if commits.len() > 1 { format!(" and {} more", commits.len() - 1) } else { String::new() };
        parts.push(format!("committed “{subject}”{more}"));
    }
    parts.extend(pulls.last().map(|pull| format!("opened {pull}")));
    if is_merged {
        parts.push("merged".to_owned());
    } else if is_pushed {
        parts.push("pushed".to_owned());
    }
    if let Some((command, passed, _)) = check
        && !command.contains('$')
        && !is_order(&format!("`{command}`"))
        && !crate::handbook::voice::is_harmful_command(command)
    {
        parts.push(format!(
            "`{}` {} last",
            throughline_core::text::one_line(command, 60),
            if *passed { "passed" } else { "failed" }
        ));
    }
    if parts.is_empty() {
        parts.push(NOTHING.to_owned());
    }
    let mut conclusion: Option<(i32, (String, Spot))> = None;
    for (text, spot) in group.iter().filter_map(|turn| turn.answer.as_ref()) {
        // The later one stands, if it says as much.
        if let Some((score, sentence)) = conclusion::of(text)
            && conclusion.as_ref().is_none_or(|(known, _)| score >= *known)
        {
            conclusion = Some((score, (sentence, spot.clone())));
        }
    }
    let conclusion = conclusion.map(|(_, told)| told);
    let mut spots = vec![first.spot.clone()];
    spots.extend(commits.last().map(|(_, spot)| spot.clone()));
    spots.extend(check.map(|(_, _, spot)| spot.clone()));
    spots.push(last.last.clone());
    let weight = 4 * u32::from(!commits.is_empty())
        + 3 * u32::from(is_merged || !pulls.is_empty())
        + 3 * u32::from(!files.is_empty())
        + files.len().min(6) as u32
        + calls.min(40) / 8
        + 2 * u32::from(conclusion.is_some())
        + u32::from(asked.split_whitespace().count() >= 5);
    Some(Task {
        outcome: outcome(group, next, check.map(|(_, passed, _)| *passed)),
        asked,
        result: parts.join("; "),
        conclusion,
        files: shown,
        spots,
        pulls,
        weight,
    })
}

/// By the evidence: what the user said next, checks at the end, what was brought home.
fn outcome(group: &[&Turn], next: Option<&Turn>, passed: Option<bool>) -> TaskOutcome {
    let Some(last) = group.last() else { return TaskOutcome::Uncertain };
    let did = group.iter().any(|turn| turn.did_something());
    let is_home = group
        .iter()
        .any(|turn| turn.is_merged || turn.is_pushed || !turn.commits.is_empty() || !turn.pulls.is_empty());
    if next.is_some_and(Turn::is_discontent) {
        return if did { TaskOutcome::Partial } else { TaskOutcome::Failed };
    }
    if last.is_aborted {
        return if did { TaskOutcome::Partial } else { TaskOutcome::Uncertain };
    }
    if next.is_some_and(Turn::is_content) || group.iter().skip(1).last().is_some_and(|turn| turn.is_content())
    {
        return TaskOutcome::Success;
    }
    match passed {
        Some(false) if did => TaskOutcome::Partial,
        Some(false) => TaskOutcome::Failed,
        Some(true) if did && !last.is_unchecked => TaskOutcome::Success,
        Some(true) | None if is_home => TaskOutcome::Success,
        Some(true) | None => TaskOutcome::Uncertain,
    }
}

/// Whether a task left something behind, or took long.
fn is_worth(task: &Task) -> bool {
    let is_talk = task.files.is_empty() && task.conclusion.is_none() && task.result == NOTHING;
    task.weight >= if is_talk { 6 } else { 4 }
}

/// The tasks that are worth telling, and what was concluded in them.
pub(super) fn told(tasks: &[Task]) -> Vec<Told> {
    let mut best: Vec<usize> = (0..tasks.len()).filter(|at| is_worth(&tasks[*at])).collect();
    best.sort_by_key(|at| std::cmp::Reverse(tasks[*at].weight));
    best.truncate(MOST_TASKS);
    best.sort_unstable();
    let chosen: Vec<&Task> = best.into_iter().filter_map(|at| tasks.get(at)).collect();
    let mut found: Vec<Told> = Vec::new();
    for task in &chosen {
        let names = task.files.iter().take(2).map(|path| file_name(path));
        let mut text = task.result.clone();
        if let Some(first) = text.get(..1) {
            text.replace_range(..1, &first.to_uppercase());
        }
        found.push(Told {
            quote: Some(task.asked.trim_end_matches('…').trim_end().to_owned())
                .filter(|asked| !asked.is_empty()),
            keywords: keywords(names, &task.asked, 8),
            outcome: Some(task.outcome),
            ..Told::new(FindingKind::Task, Basis::Observed, text, task.spots.clone())
        });
    }
    let mut seen = BTreeSet::new();
    let concluded = chosen.iter().filter_map(|task| Some((task, task.conclusion.as_ref()?)));
    for (task, (sentence, spot)) in
        concluded.filter(|(_, (sentence, _))| seen.insert(sentence.clone())).take(MOST_CONCLUSIONS)
    {
        found.push(Told {
            keywords: keywords(task.files.iter().take(1).map(|path| file_name(path)), sentence, 8),
            outcome: None,
            ..Told::new(FindingKind::Task, Basis::Concluded, sentence.clone(), vec![spot.clone()])
        });
    }
    found
}

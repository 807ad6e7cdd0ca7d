//! Statements that differ in one name only are told in one line, and those that say less than another are told by it.

use super::consolidate::{Draft, named};
use super::entry::{MOST_KEYWORDS, MOST_TEXT, cut};
use super::item::codes;
use super::skills::SKILL_SESSIONS;
use crate::handbook::FindingKind;
use crate::topics::opposites::Statement;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// How a line begins that tells which programs are in use.
const IN_USE: &str = "In use here:";
/// Names that are told of one line.
const MOST_NAMES: usize = 10;
/// Longer statements that one is held against.
const MOST_LONGER: usize = 48;

/// What statements have in common that differ in one name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Frame {
    kind: FindingKind,
    lead: String,
}

/// Drafts with those folded that are variants of one, and those taken in that say less than another.
pub(super) fn folded(drafts: Vec<Draft>) -> Vec<Draft> {
    let mut groups: BTreeMap<Frame, Vec<(String, Draft)>> = BTreeMap::new();
    let mut out = Vec::new();
    for draft in drafts {
        match frame(&draft) {
            Some((frame, name)) => groups.entry(frame).or_default().push((name, draft)),
            None => out.push(draft),
        }
    }
    for (frame, group) in groups {
        out.extend(one_of(&frame, group));
    }
    contained(out)
}

/// What a check rejects, by the check; and commands for one purpose, by the program.
fn frame(draft: &Draft) -> Option<(Frame, String)> {
    let entry = &draft.entry;
    let (lead, rest) = entry.text.split_once('`').filter(|_| !draft.is_amended)?;
    let (first, behind) = rest.split_once('`')?;
    match entry.kind {
        FindingKind::Pitfall if lead.is_empty() => {
            let (between, rest) = behind.split_once('`')?;
            let (name, rest) = rest.split_once('`')?;
            let is_rule =
                between.trim() == "rejects what breaks" && (rest.is_empty() || rest.starts_with(", e.g. "));
            is_rule
                .then(|| (Frame { kind: entry.kind, lead: format!("`{first}`{between}") }, name.to_owned()))
        }
        FindingKind::Procedure if lead.trim_end().ends_with(':') && behind.is_empty() => {
            let is_tool = lead.trim() == IN_USE;
            // What proved itself stands by itself.
            if !is_tool && draft.worth.support >= SKILL_SESSIONS {
                return None;
            }
            let words = first.split_whitespace().take(if is_tool { 1 } else { 2 });
            let program = words.collect::<Vec<_>>().join(" ");
            // The program is no part of what is told before the names.
            Some((Frame { kind: entry.kind, lead: format!("{lead}\n{program}") }, first.to_owned()))
        }
        FindingKind::Preference
        | FindingKind::Procedure
        | FindingKind::Pitfall
        | FindingKind::Environment
        | FindingKind::Task => None,
    }
}

fn one_of(frame: &Frame, mut group: Vec<(String, Draft)>) -> Option<Draft> {
    group.sort_by(|(a, x), (b, y)| {
        let worth = |draft: &Draft| Reverse((draft.worth.support, draft.worth.last));
        worth(x).cmp(&worth(y)).then_with(|| a.cmp(b))
    });
    let mut names: Vec<String> = Vec::new();
    for (name, _) in &group {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    let mut group = group.into_iter().map(|(_, draft)| draft);
    let mut one = group.next()?;
    let others: Vec<Draft> = group.collect();
    if others.is_empty() {
        return Some(one);
    }
    if names.len() > 1 {
        let lead = frame.lead.split('\n').next().unwrap_or_default();
        let told: Vec<String> = names.iter().take(MOST_NAMES).map(|name| format!("`{name}`")).collect();
        one.entry.text = cut(&format!("{lead}{}", told.join(", ")), MOST_TEXT);
        one.entry.quote = None;
    }
    others.into_iter().for_each(|other| take_in(&mut one, other));
    // The names are what it is looked for by.
    one.entry.keywords.clear();
    Some(one)
}

/// Whether a text is a list of commands for one purpose, in no order.
pub(super) fn is_list(text: &str) -> bool {
    let parts: Vec<&str> = text.split('`').collect();
    let Some((lead, [_, rest @ ..])) = parts.split_first() else { return false };
    let between = rest.iter().step_by(2);
    lead.trim_end().ends_with(':') && rest.len() > 1 && between.clone().all(|gap| matches!(*gap, ", " | ""))
}

/// Unites what bears two drafts out.
fn take_in(one: &mut Draft, other: Draft) {
    one.keys.extend(other.keys);
    one.keys.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let mut seen = BTreeSet::new();
    one.keys.retain(|(_, key, _)| seen.insert(key.clone()));
    one.entry.evidence = named(&one.keys);
    let sessions: BTreeSet<_> = one.keys.iter().filter_map(|(_, _, session)| session.as_ref()).collect();
    one.entry.support = sessions.len();
    one.worth.support = sessions.len();
    one.worth.used = one.worth.used.max(other.worth.used);
    one.worth.last = one.worth.last.max(other.worth.last);
    one.wordings.extend(other.wordings);
    let said = one.entry.text.to_lowercase();
    one.entry.keywords.extend(other.entry.keywords);
    one.entry.keywords.retain(|word| !said.contains(&word.to_lowercase()));
    let mut seen = BTreeSet::new();
    one.entry.keywords.retain(|word| seen.insert(word.to_lowercase()));
    one.entry.keywords.truncate(MOST_KEYWORDS);
}

/// Facts that a longer one states, too, are told by it.
fn contained(drafts: Vec<Draft>) -> Vec<Draft> {
    let statements: Vec<Option<(Statement, Vec<String>)>> = drafts
        .iter()
        .map(|draft| {
            let is_fact = draft.entry.kind == FindingKind::Environment;
            is_fact.then(|| (Statement::of(&draft.entry.text), codes(&draft.entry.text)))
        })
        .collect();
    let mut by_word: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, statement) in statements.iter().enumerate() {
        for word in statement.iter().flat_map(|(statement, _)| &statement.subject.0) {
            by_word.entry(*word).or_default().push(at);
        }
    }
    let longer = |at: usize| -> Option<usize> {
        let (short, short_codes) = statements[at].as_ref()?;
        // The word that fewest have leads to fewest.
        let near =
            short.subject.0.iter().filter_map(|word| by_word.get(word)).min_by_key(|near| near.len())?;
        near.iter().take(MOST_LONGER).copied().find(|other| {
            statements[*other].as_ref().is_some_and(|(long, long_codes)| {
                long.subject.0.len() > short.subject.0.len()
                    && short.subject.common(&long.subject) == short.subject.0.len()
                    && short.is_negated == long.is_negated
                    && short.figures.iter().all(|figure| long.figures.contains(figure))
                    && short_codes.iter().all(|code| long_codes.contains(code))
            })
        })
    };
    let into: Vec<Option<usize>> = (0..drafts.len()).map(longer).collect();
    let mut slots: Vec<Option<Draft>> = drafts.into_iter().map(Some).collect();
    for at in 0..slots.len() {
        let Some(mut to) = into[at] else { continue };
        // What takes it in may be taken in itself: each time by a longer one.
        while let Some(further) = into[to] {
            to = further;
        }
        if let Some(draft) = slots[at].take()
            && let Some(one) = &mut slots[to]
        {
            take_in(one, draft);
        }
    }
    slots.into_iter().flatten().collect()
}

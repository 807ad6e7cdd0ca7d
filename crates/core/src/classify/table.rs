//! The pattern table, by group.

use super::PartKind;
pub(super) use crate::pattern::Row;
use crate::pattern::{Pattern, parse_table, whole};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let mut rows = parse_table(include_str!("../../data/classify/patterns.tsv"));
    rows.extend(parse_table(include_str!("../../data/classify/sentences.tsv")));
    rows
});

static GROUPS: LazyLock<HashMap<&'static str, Vec<&'static Row>>> = LazyLock::new(|| {
    let mut groups: HashMap<&'static str, Vec<&'static Row>> = HashMap::new();
    ROWS.iter().for_each(|row| groups.entry(row.group).or_default().push(row));
    groups
});

/// All patterns of a group as one: a text is searched once for all of them.
static WHOLE: LazyLock<HashMap<&'static str, Pattern>> =
    LazyLock::new(|| GROUPS.keys().map(|name| (*name, whole(&ROWS, name))).collect());

/// The rows of a group.
pub(super) fn group(name: &str) -> impl Iterator<Item = &'static Row> {
    GROUPS.get(name).into_iter().flatten().copied()
}

/// Returns true if a pattern of the group is in the text.
pub(super) fn is_in(name: &str, text: &str) -> bool {
    WHOLE.get(name).is_some_and(|pattern| pattern.is_in(text))
}

/// The text with every match of the group replaced.
pub(super) fn replaced(name: &str, text: &str, by: &str) -> String {
    WHOLE.get(name).map_or_else(|| text.to_owned(), |pattern| pattern.replaced(text, by))
}

/// Texts that clients write without a tag, known by how they begin.
pub(super) struct Leads;

/// What a lead covers.
pub(super) struct Lead {
    pub(super) kind: PartKind,
    pub(super) end: usize,
}

/// What the client put around a person's text: bytes before it, and where what is behind it begins.
#[derive(Default)]
pub(super) struct Around {
    pub(super) before: usize,
    pub(super) behind: Option<usize>,
}

const NOTICE: &str = "lead_notice";
const TITLE: &str = "lead_title";
const PEER: &str = "lead_peer";
const LEADS: [(&str, PartKind); 8] = [
    (NOTICE, PartKind::Harness),
    (TITLE, PartKind::Harness),
    ("lead_harness", PartKind::Harness),
    ("lead_local_command_output", PartKind::LocalCommandOutput),
    ("lead_instruction_file", PartKind::InstructionFile),
    ("lead_reminder", PartKind::Reminder),
    ("lead_agent_message", PartKind::AgentTask),
    (PEER, PartKind::Harness),
];

/// How far into a text a lead is looked for.
const LEAD_HEAD: usize = 600;
/// The longest line that says where a person's words begin.
const BOUNDARY: usize = 80;

/// Returns where the first match of a group's rows ends.
pub(super) fn match_end(name: &str, text: &str) -> Option<usize> {
    group(name).find_map(|row| row.pattern.find(text)).map(|found| found.end)
}

impl Leads {
    /// The kind of a text that begins as a client's texts do.
    pub(super) fn kind_of(text: &str) -> Option<PartKind> {
        Self::row_of(text).map(|(_, kind)| kind)
    }

    fn row_of(text: &str) -> Option<(&'static str, PartKind)> {
        let head = crate::text::head(text.trim_start(), LEAD_HEAD);
        LEADS.iter().find(|(group, _)| is_in(group, head)).copied()
    }

    /// A client's text at the beginning, and how far it reaches: to the end, but for a notice in
    /// brackets, a line about an agent, and a request for a title that holds the person's words.
    pub(super) fn find(text: &str) -> Option<Lead> {
        let (group, kind) = Self::row_of(text)?;
        let start = text.len() - text.trim_start().len();
        let last = match group {
            NOTICE => text[start..].find(']').map(|at| start + at + 1),
            TITLE => Some(Self::around(text).before).filter(|before| *before > start),
            PEER => text[start..].find('\n').map(|at| start + at + 1),
            _ => None,
        };
        Some(Lead { kind, end: last.unwrap_or(text.len()) })
    }

    /// The leads at the beginnings of a text's paragraphs, with what each of them covers: all up to the next one. What stands before
    /// the first is of the kind `other`.
    pub(super) fn of_paragraphs(text: &str, other: PartKind) -> Vec<(Range<usize>, PartKind)> {
        let mut found: Vec<(Range<usize>, PartKind)> = Vec::new();
        let mut at = 0;
        let mut follows_blank = true;
        for line in text.split_inclusive('\n') {
            let is_blank = line.trim().is_empty();
            if follows_blank && !is_blank {
                let kind = Self::kind_of(&text[at..]);
                match (found.last_mut(), kind) {
                    // What is told about the client's world holds piece by piece.
                    (Some((range, last)), Some(kind)) if *last != kind || kind.is_instruction() => {
                        range.end = at;
                        found.push((at..at, kind));
                    }
                    (None, kind) => found.push((0..at, kind.unwrap_or(other))),
                    (Some(_), _) => {}
                }
            }
            follows_blank = is_blank;
            at += line.len();
        }
        if let Some((range, _)) = found.last_mut() {
            range.end = text.len();
        }
        found
    }

    /// What the client put before and behind what the person wrote.
    pub(super) fn around(text: &str) -> Around {
        let start = text.len() - text.trim_start().len();
        let prefix = group("prefix_harness")
            .find_map(|row| row.pattern.find(crate::text::head(&text[start..], LEAD_HEAD)));
        let mut around = Around { before: prefix.map_or(0, |found| start + found.end), behind: None };
        // Inside of a text, only what surely is the client's takes the words before it away.
        let is_title = is_in(TITLE, crate::text::head(&text[start..], LEAD_HEAD));
        let mut at = 0;
        for line in text.split_inclusive('\n') {
            let is_short = line.len() < BOUNDARY;
            let is_bound = |group: &str| is_short && is_in(group, line.trim_end());
            if ((at <= start || is_title) && is_bound("boundary")) || is_bound("boundary_inside") {
                around.before = at + line.len();
            }
            if line.len() > 20 && is_in("trailer_harness", crate::text::head(line, LEAD_HEAD)) {
                around.behind = Some(at.max(around.before));
                break;
            }
            at += line.len();
        }
        around
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pattern::check_table;

    #[test]
    fn every_row_keeps_to_its_examples() {
        let wrong = check_table(&ROWS);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn groups_as_a_whole_are_sound() {
        assert!(WHOLE.values().all(Pattern::is_sound));
    }
}

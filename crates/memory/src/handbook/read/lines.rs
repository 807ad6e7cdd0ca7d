//! Statements as lines for a model: what, who says so, when, and where more of it is.

use super::shelf::Shelved;
use super::{SHORTEST_ID, Volume};
use crate::handbook::book::Entry;
use crate::handbook::{Basis, FindingKind, HandNote, TaskOutcome};
use crate::recall::without_tags;
use jiff::Timestamp;
use throughline_core::SessionId;
use throughline_core::text::one_line;

/// Tags that a statement must not speak: they are the frame's.
const RESERVED: [&str; 6] = ["handbook", "system", "oai-mem", "citation", "rollout", "thread_ids"];
/// Characters of a note that is told.
const NOTE: usize = 600;

/// A text that can't break out of the frame.
pub(super) fn harmless(text: &str) -> String {
    without_tags(text, &RESERVED)
}

/// Sessions by the shortest beginnings of their ids that mean one of them only.
pub(super) struct ShortIds(Vec<SessionId>);

impl ShortIds {
    /// Over all sessions that there are, in order.
    pub(super) fn new(sessions: Vec<SessionId>) -> Self {
        Self(sessions)
    }

    fn of<'a>(&self, id: &'a SessionId) -> &'a str {
        let id = id.as_str();
        let at = self.0.partition_point(|known| known.as_str() < id);
        let next = at + usize::from(self.0.get(at).is_some_and(|known| known.as_str() == id));
        let neighbours = [at.checked_sub(1), Some(next)].into_iter().flatten();
        let shared = neighbours
            .filter_map(|at| self.0.get(at))
            .map(|known| known.as_str().bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count());
        let needed = shared.max().map_or(0, |shared| shared + 1).max(SHORTEST_ID);
        id.get(..needed).unwrap_or(id)
    }
}

/// A statement in a line, with its date and where it comes from.
pub(super) fn statement(entry: &Entry, shelved: &Shelved, ids: &ShortIds) -> String {
    let mut line = String::from("- ");
    if let Some(outcome) = entry.outcome {
        line.push_str(outcome_words(outcome));
    }
    let mut when = day(entry.last);
    match entry.basis {
        Basis::Said => {
            let day = when.take().map(|day| format!(" on {day}")).unwrap_or_default();
            match &entry.quote {
                Some(quote) if says_the_same(&entry.text, quote) => {
                    line.push_str(&format!("the user said{day}: “{quote}”"));
                }
                Some(quote) => line.push_str(&format!("{} — the user said{day}: “{quote}”", entry.text)),
                None if is_their_words(entry, shelved) => {
                    line.push_str(&format!("the user said{day}: “{}”", entry.text));
                }
                None => line.push_str(&format!("{} (the user said so{day})", entry.text)),
            }
        }
        Basis::Concluded => line.push_str(&format!("{} (not checked)", entry.text)),
        Basis::Observed => line.push_str(&entry.text),
    }
    if let Some(pointer) = pointer((entry, when), shelved, ids) {
        line.push_str(&format!(" [{pointer}]"));
    }
    harmless(&line)
}

/// When, and in which session; of a task the file that tells of it.
fn pointer((entry, when): (&Entry, Option<String>), shelved: &Shelved, ids: &ShortIds) -> Option<String> {
    let session = shelved.book.sessions_of(entry).into_iter().next();
    let file = session
        .filter(|_| entry.kind == FindingKind::Task)
        .and_then(|id| shelved.book.grounds().session(id)?.summary.clone());
    let parts = [when, session.map(|id| ids.of(id).to_owned()), file];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

/// A note by hand in a line.
pub(super) fn note(note: &HandNote, volume: Volume) -> String {
    let day = day(note.at).map(|day| format!(" on {day}")).unwrap_or_default();
    let place = format!("{}{}/{}", volume.prefix(), crate::handbook::phase2::NOTES, note.file);
    harmless(&format!("- the user wrote{day}: “{}” [{place}]", one_line(&note.text, NOTE)))
}

/// The heading of statements of a kind.
pub(super) fn heading(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Preference => "What the user wants",
        FindingKind::Procedure => "How things are done here",
        FindingKind::Pitfall => "What went wrong before",
        FindingKind::Environment => "What holds here",
        FindingKind::Task => "Earlier tasks",
    }
}

/// How many statements of a kind.
pub(super) fn counted(kind: FindingKind, count: usize) -> String {
    let word = match kind {
        FindingKind::Preference => "preference",
        FindingKind::Procedure => "procedure",
        FindingKind::Pitfall => "pitfall",
        FindingKind::Environment => "fact",
        FindingKind::Task => "task",
    };
    format!("{count} {word}{}", if count == 1 { "" } else { "s" })
}

fn outcome_words(outcome: TaskOutcome) -> &'static str {
    match outcome {
        TaskOutcome::Success => "done: ",
        TaskOutcome::Partial => "done in part: ",
        TaskOutcome::Failed => "did not work out: ",
        TaskOutcome::Uncertain => "",
    }
}

fn day(at: Option<Timestamp>) -> Option<String> {
    at.map(|at| at.strftime("%Y-%m-%d").to_string())
}

/// Whether a statement stands as it is in words that bear it out.
fn is_their_words(entry: &Entry, shelved: &Shelved) -> bool {
    let text = plain(&entry.text);
    let mut quotes = entry.evidence.iter().filter_map(|key| shelved.book.grounds().get(key)?.quote.as_ref());
    quotes.any(|quote| plain(quote).contains(&text))
}

fn says_the_same(a: &str, b: &str) -> bool {
    plain(a) == plain(b)
}

fn plain(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_named_by_as_little_as_tells_them_apart() {
        let all = ["0192aaaa-1111", "0192aaaa-1122", "0192bbbb-0000", "short"];
        let ids = ShortIds::new(all.iter().map(|id| SessionId::from(*id)).collect());
        let of = |id: &str| ids.of(&SessionId::from(id)).to_owned();
        assert_eq!(of(all[0]), "0192aaaa-111");
        assert_eq!(of(all[1]), "0192aaaa-112");
        assert_eq!(of(all[2]), "0192bbbb");
        assert_eq!(of("short"), "short");
        assert_eq!(of("unknown-session"), "unknown-");
    }
}

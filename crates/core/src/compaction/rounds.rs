//! Whole rounds, for compactions that are themselves too long (P5d).

use crate::profile::CompactLimits;
use crate::{Entry, Flags, Message, Role};

/// What stands at the front when the retry would begin with an answer.
pub const CUT_FOR_RETRY: &str = "[earlier conversation truncated for compaction retry]";

/// Where rounds begin: at each message of the user, and at each answer behind a complete set of results.
pub fn rounds(entries: &[Entry]) -> Vec<usize> {
    let mut starts = Vec::new();
    let mut open = 0_usize;
    let mut previous: Option<Role> = None;
    for (at, entry) in entries.iter().enumerate() {
        let message = &entry.message;
        let results = message.results().count();
        let begins = match message.role {
            Role::Assistant => previous != Some(Role::Assistant) && open == 0,
            Role::User | Role::Tool => results == 0 && open == 0,
            Role::System | Role::Developer => at == 0,
        };
        if begins || at == 0 {
            starts.push(at);
        }
        open = open.saturating_sub(results) + message.calls().filter(|call| call.kind.needs_result()).count();
        previous = Some(message.role);
    }
    starts
}

/// The first entry that a retry sends: whole oldest rounds are dropped, exactly as many as the reported gap needs, else
/// a share of them, at least one. `None` when nothing would be left.
pub fn drop_oldest(
    entries: &[Entry],
    tokens: &[u64],
    gap: Option<u64>,
    limits: &CompactLimits,
) -> Option<usize> {
    let starts = rounds(entries);
    let dropped = match gap {
        Some(gap) => {
            let mut freed = 0;
            let mut count = 0;
            for (round, &start) in starts.iter().enumerate() {
                if freed >= gap {
                    break;
                }
                let end = starts.get(round + 1).copied().unwrap_or(entries.len());
                freed += tokens[start..end].iter().sum::<u64>();
                count = round + 1;
            }
            count
        }
        None => (starts.len() as f64 * limits.retry_share) as usize,
    };
    starts.get(dropped.max(1)).copied()
}

/// The note for the front of a retry, where its first message would be the model's.
pub fn retry_note(first: Option<&Entry>) -> Option<Message> {
    first.filter(|entry| entry.message.role != Role::User).map(|_| {
        let mut note = Message::text(Role::User, CUT_FOR_RETRY);
        note.flags = Flags { meta: true, ..Flags::default() };
        note
    })
}

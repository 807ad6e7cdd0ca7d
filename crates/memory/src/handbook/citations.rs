//! Which sessions' memories an answer made use of (H5).
//!
//! The block that says so is read where answers are ([`throughline_core::citation`]); here it becomes what a store counts. Whether there are
//! such sessions only the store knows: it ignores those that it does not.

use crate::store::Cited;
use jiff::Timestamp;
use throughline_core::{Body, Message, MessageId, Role, SessionId};

pub use throughline_core::citation::{Citation, CitationFilter, CitedLines, strip};

/// What the messages of one answer cite; `None` if they have no block, or one that names no session.
pub fn cited_in<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<(MessageId, Citation)> {
    let mut found: Option<(MessageId, Citation)> = None;
    for message in messages.into_iter().filter(|message| message.role == Role::Assistant) {
        for block in &message.blocks {
            let Body::Text(text) = &block.body else { continue };
            let Some(citation) = read(text) else { continue };
            match &mut found {
                Some((_, known)) => known.add(citation),
                None => found = Some((message.id.clone(), citation)),
            }
        }
    }
    found.filter(|(_, citation)| !citation.is_empty())
}

/// What a text cites.
fn read(text: &str) -> Option<Citation> {
    if !text.contains(throughline_core::citation::OPEN) {
        return None;
    }
    let mut filter = CitationFilter::default();
    filter.push(text);
    filter.finish().1
}

/// What a store is to count of an answer. The session itself is none of those that helped.
pub fn usage(by: &SessionId, (answer, citation): (&MessageId, &Citation), at: Timestamp) -> Option<Cited> {
    let sessions: Vec<SessionId> = citation.sessions.iter().filter(|one| *one != by).cloned().collect();
    (!sessions.is_empty()).then(|| Cited { by: by.clone(), answer: answer.clone(), sessions, at })
}

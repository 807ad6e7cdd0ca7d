use crate::list::Listed;
use std::cmp::Reverse;
use std::collections::HashMap;
use throughline_core::ClientSession;

/// Which of some ledgers hold the same conversation of a client: one by way of the proxy, one imported from the client's transcript.
pub struct Copies<'a> {
    /// Conversations with more than one, the fullest first.
    by_session: HashMap<ClientSession, Vec<&'a Listed>>,
}

impl<'a> Copies<'a> {
    /// Those in a list.
    pub fn among(listed: &'a [Listed]) -> Self {
        let mut by_session: HashMap<ClientSession, Vec<&'a Listed>> = HashMap::new();
        for one in listed {
            if let Some(session) = one.card.client_session() {
                by_session.entry(session).or_default().push(one);
            }
        }
        by_session.retain(|_, ledgers| ledgers.len() > 1);
        for ledgers in by_session.values_mut() {
            ledgers.sort_by_key(|one| Reverse(fullness(one)));
        }
        Self { by_session }
    }

    /// All ledgers of the conversation that one holds, the fullest first: the one alone where there are no others.
    pub fn of(&self, one: &'a Listed) -> Vec<&'a Listed> {
        let known = one.card.client_session().and_then(|session| self.by_session.get(&session));
        known.cloned().unwrap_or_else(|| vec![one])
    }

    /// Whether another ledger holds more of the same conversation, or as much.
    pub fn is_lesser(&self, one: &Listed) -> bool {
        let known = one.card.client_session().and_then(|session| self.by_session.get(&session));
        known.is_some_and(|ledgers| ledgers.first().is_none_or(|fullest| fullest.path != one.path))
    }
}

/// What the person said counts: of all else clients make more or fewer records. Of equals the proxy's ledger is the one, which knows what was
/// done about the conversation.
fn fullness(one: &Listed) -> (u64, bool, &std::path::Path) {
    (one.card.turns, one.card.watermark.is_none(), &one.path)
}

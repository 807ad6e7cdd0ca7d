//! What pages and control calls show, gathered from the server and from ledgers.

use super::story::Story;
use crate::manage::{MARK, Manager, SessionSnapshot};
use crate::serve::Shared;
use jiff::Timestamp;
use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use throughline_core::tokens::Counter;
use throughline_core::{Card, Record, SessionId, View};
use throughline_ledger::{Home, LedgerError, Reader, newest_card, resume};
use throughline_memory::notes::NotesFile;
use throughline_memory::{Checkout, ProjectSlug};

/// How many places of ledgers are remembered.
const PLACES: usize = 10_000;
/// How many sessions of earlier servers are shown, and in how many ledgers they are looked for.
const EARLIER: usize = 20;
const EARLIER_LEDGERS: usize = 500;
/// How many failures are shown.
pub(super) const REPORTS: usize = 10;

/// What is kept between two looks.
#[derive(Default)]
pub(crate) struct State {
    /// Where ledgers are: it never changes.
    places: Mutex<HashMap<SessionId, PathBuf>>,
    /// A text is counted once, for the model that was looked at last.
    counter: Mutex<Option<(String, Counter)>>,
    /// Sessions of the time before this server.
    earlier: OnceLock<Vec<Earlier>>,
}

/// A session that went through an earlier server.
pub(super) struct Earlier {
    pub(super) id: SessionId,
    pub(super) client: String,
    pub(super) title: String,
    pub(super) began: Timestamp,
}

impl State {
    /// The ledger of a session.
    pub(super) fn ledger(&self, home: &Home, id: &SessionId) -> Result<PathBuf, LedgerError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(path) = places.get(id).filter(|path| path.exists()) {
            return Ok(path.clone());
        }
        let path = home.find_exact(id)?;
        if places.len() >= PLACES {
            places.clear();
        }
        places.insert(id.clone(), path.clone());
        Ok(path)
    }

    /// The newest sessions that earlier servers left, sub-agents' not among them. Looked for once: no more are added to them.
    pub(super) fn earlier(&self, home: &Home) -> &[Earlier] {
        self.earlier.get_or_init(|| {
            let ledgers = home.ledgers().unwrap_or_default();
            let newest = ledgers.iter().rev().take(EARLIER_LEDGERS);
            newest.filter_map(|path| earlier(home, path)).take(EARLIER).collect()
        })
    }

    fn count(&self, story: &mut Story, model: &str) {
        let mut held = self.counter.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *held {
            Some((counted, counter)) if counted == model => story.count(counter),
            other => {
                let (_, counter) = other.insert((model.to_owned(), Counter::for_model(model)));
                story.count(counter);
            }
        }
    }
}

/// A session, looked at.
pub(super) struct Looked {
    pub(super) id: SessionId,
    /// Where it is known to the server.
    pub(super) snapshot: Option<SessionSnapshot>,
    pub(super) title: String,
    pub(super) story: Story,
    /// As the ledger resumes it: what can be undone.
    pub(super) resumed: View,
    pub(super) notes: Option<String>,
}

/// What tells two looks at a session apart, cheaply.
pub(super) fn version(shared: &Shared, id: &SessionId) -> Result<String, LedgerError> {
    let path = shared.local.ledger(&shared.settings.home, id)?;
    let length = std::fs::metadata(&path).map(|meta| meta.len()).unwrap_or_default();
    let mut hasher = blake3::Hasher::new();
    hasher.update(&length.to_le_bytes());
    if let Some(manager) = &shared.manager {
        hasher.update(&manager.world.reports.count().to_le_bytes());
        if let Some(thread) = manager.hub.find(id) {
            hasher.update(&serde_json::to_vec(&thread.snapshot()).unwrap_or_default());
        }
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// Looks at a session.
pub(super) fn look(shared: &Shared, id: &str) -> Result<Looked, LedgerError> {
    let home = &shared.settings.home;
    let id = SessionId::new(id);
    let path = shared.local.ledger(home, &id)?;
    let card = card(home, &path)?;
    let snapshot = shared.manager.as_ref().and_then(|manager| Some(manager.hub.find(&id)?.snapshot()));
    let mut story = Story::read(home, &path)?;
    let model = snapshot.as_ref().and_then(|session| session.model.as_deref());
    let model = model.or(card.model.as_deref()).unwrap_or_default();
    shared.local.count(&mut story, model);
    let cwd = snapshot.as_ref().and_then(|session| session.cwd.as_deref()).or(card.cwd.as_deref());
    let notes = cwd.and_then(|cwd| notes(home, Path::new(cwd), &id));
    Ok(Looked { title: title(&card, &id), snapshot, story, resumed: resume(home, &path)?.view, notes, id })
}

/// The newest failures on our side, the newest first, and how many there were.
pub(super) fn reports(manager: Option<&Arc<Manager>>) -> (Vec<(Timestamp, String)>, u64) {
    let Some(manager) = manager else { return Default::default() };
    let reports = &manager.world.reports;
    let newest = reports.newest();
    (
        newest.into_iter().rev().take(REPORTS).map(|(at, report)| (at, report.to_string())).collect(),
        reports.count(),
    )
}

/// A ledger of the proxy; `None` if it is another one, or a sub-agent's.
fn earlier(home: &Home, path: &Path) -> Option<Earlier> {
    let (_, Record::Meta(meta)) = Reader::open(home, path, 0).ok()?.next_record().ok()?? else { return None };
    if !meta.extra.contains_key(MARK) || meta.parent_session.is_some() {
        return None;
    }
    let title = title(&card(home, path).ok()?, &meta.id);
    Some(Earlier { id: meta.id, client: meta.client, title, began: meta.created })
}

/// What lists show of a session. While it is young the ledger has no card: then it is what its first lines say.
pub(super) fn card(home: &Home, path: &Path) -> Result<Card, LedgerError> {
    const FIRST: usize = 32;
    let failed = |source| LedgerError::Io { action: "open", path: path.to_owned(), source };
    let file = File::open(path).map_err(failed)?;
    let end = file.metadata().map_err(failed)?.len();
    let mut card = newest_card(&file, path, end)?.map(|(_, card)| card).unwrap_or_default();
    if card.prompt.is_some() {
        return Ok(card);
    }
    let mut reader = Reader::open(home, path, 0)?;
    for _ in 0..FIRST {
        let Some((_, record)) = reader.next_record()? else { break };
        match record {
            Record::Meta(meta) => card.cwd = card.cwd.or(meta.cwd),
            Record::Message(message) if message.is_real_user() => {
                card.prompt = Some(message.user_words());
                break;
            }
            Record::Message(_)
            | Record::Turn(_)
            | Record::Event(_)
            | Record::Edit(_)
            | Record::Checkpoint(_)
            | Record::Card(_) => {}
        }
    }
    Ok(card)
}

/// What a session is about.
pub(super) fn title(card: &Card, id: &SessionId) -> String {
    let said = card.title.as_deref().or(card.prompt.as_deref()).filter(|text| !text.trim().is_empty());
    match said {
        Some(said) => throughline_core::text::one_line(said, 120),
        None => format!("session {}", throughline_core::text::head(id.as_str(), 8)),
    }
}

/// The notes of a session, where there are any.
fn notes(home: &Home, cwd: &Path, id: &SessionId) -> Option<String> {
    let of = |folder: &Path| NotesFile::new(home, &ProjectSlug::of(folder), id).read().ok().flatten();
    of(&Checkout::of(cwd).root).or_else(|| of(cwd))
}

//! What there is to see: of the conversations of a running server, and of the ledgers alone.

use super::{Accounted, Figures};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use throughline_core::{Meta, Record, SessionId};
use throughline_ledger::{Home, LedgerError, Reader};

/// A server's conversations at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// When.
    pub at: Timestamp,
    /// Since when the server runs.
    pub since: Timestamp,
    /// Conversations that are known, the one used last first.
    pub sessions: Vec<SessionSnapshot>,
    /// What all requests since then came to.
    pub total: Figures,
    /// Bytes that the conversations hold which are awake, about.
    pub held: u64,
    /// Requests that were forwarded untouched because something of ours went wrong, since then.
    pub failures: u64,
    /// The newest of what went wrong, the oldest of them first.
    pub problems: Vec<Problem>,
}

/// Something that went wrong on our side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// When.
    pub at: Timestamp,
    /// What, for people.
    pub what: String,
}

/// One conversation at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionSnapshot {
    /// The name of its ledger.
    pub id: SessionId,
    /// The conversation whose sub-agent this is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<SessionId>,
    /// The client: `claude`, `codex`, or another by its user agent.
    pub client: String,
    /// Its version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_version: Option<String>,
    /// Where the client runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The model of the newest request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When this server first saw it.
    pub began: Timestamp,
    /// The newest request.
    pub last: Timestamp,
    /// Whether it is held in memory; else only its ledger remembers it.
    pub awake: bool,
    /// Whether its requests go as they came because a person said so.
    #[serde(default)]
    pub paused: bool,
    /// What it came to, earlier runs included.
    pub figures: Figures,
    /// The context window in tokens; known while it is awake or was since the server runs, as what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
    /// The size at which the view is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<u64>,
    /// What the newest request was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Context>,
}

/// What became of a conversation in the newest request: tokens, by our count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Context {
    /// The system prompt and the tools.
    pub overhead: u64,
    /// Messages of the client, as they were said.
    pub as_said: u64,
    /// Messages of the client of which something is shown shorter.
    pub shortened: u64,
    /// Summaries that stand for history.
    pub summaries: u64,
    /// What we told the model besides: memories, reminders.
    pub told: u64,
    /// What of the client's history is not sent.
    pub gone: u64,
}

impl Context {
    /// Tokens of the request.
    pub fn sent(&self) -> u64 {
        self.overhead + self.as_said + self.shortened + self.summaries + self.told
    }
}

/// What the ledgers say about the requests of all conversations that came by way of a proxy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Stats {
    /// All of them.
    pub total: Figures,
    /// By model.
    pub models: BTreeMap<String, Figures>,
    /// By client.
    pub clients: BTreeMap<String, Figures>,
    /// By day, in UTC: `2026-11-16`.
    pub days: BTreeMap<String, Figures>,
    /// By conversation, the one used last first.
    pub sessions: Vec<SessionStats>,
}

/// What the ledger of one conversation says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SessionStats {
    /// The name of the ledger.
    pub id: SessionId,
    /// Its file.
    pub path: PathBuf,
    /// The client.
    pub client: String,
    /// Where it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The newest model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The first of the requests counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
    /// What they came to.
    pub figures: Figures,
}

/// What the first line of a ledger says of a conversation that came by way of a proxy.
pub(crate) const MARK: &str = "proxy";

/// Adds up what the ledgers of a home say about requests that came by way of a proxy, since a time or ever. It needs no running
/// server; a ledger that can't be read is left out and named.
pub fn stats(home: &Home, since: Option<Timestamp>) -> Result<(Stats, Vec<LedgerError>), LedgerError> {
    stats_of(home, since, &|_| true)
}

/// The same for some conversations only, chosen by the first line of their ledgers.
pub fn stats_of(
    home: &Home,
    since: Option<Timestamp>,
    is_wanted: &dyn Fn(&Meta) -> bool,
) -> Result<(Stats, Vec<LedgerError>), LedgerError> {
    let mut stats = Stats::default();
    let mut unread = Vec::new();
    let wanted = Wanted { since, is_wanted };
    for path in home.ledgers()? {
        match session_stats(home, &path, &wanted, &mut stats) {
            Ok(session) => stats.sessions.extend(session),
            Err(error) => unread.push(error),
        }
    }
    stats.sessions.sort_by_key(|session| Reverse(session.last));
    Ok((stats, unread))
}

/// Which requests count.
struct Wanted<'a> {
    since: Option<Timestamp>,
    is_wanted: &'a dyn Fn(&Meta) -> bool,
}

/// What one ledger says, also counted into the sums; `None` if it has no such requests.
fn session_stats(
    home: &Home,
    path: &Path,
    wanted: &Wanted<'_>,
    stats: &mut Stats,
) -> Result<Option<SessionStats>, LedgerError> {
    let since = wanted.since;
    // Nothing was appended since: there is no need to look into it.
    if let (Some(since), Ok(changed)) = (since, std::fs::metadata(path).and_then(|meta| meta.modified()))
        && Timestamp::try_from(changed).is_ok_and(|changed| changed < since)
    {
        return Ok(None);
    }
    let mut reader = Reader::open(home, path, 0)?;
    let Some((_, Record::Meta(meta))) = reader.next_record()? else { return Ok(None) };
    if !meta.extra.contains_key(MARK) || !(wanted.is_wanted)(&meta) {
        return Ok(None);
    }
    let mut session = SessionStats {
        id: meta.id,
        path: path.to_owned(),
        client: meta.client,
        cwd: meta.cwd,
        model: None,
        first: None,
        last: None,
        figures: Figures::default(),
    };
    while let Some((_, record)) = reader.next_record()? {
        let Record::Event(event) = record else { continue };
        let (Some(accounted), Some(at)) = (Accounted::of(&event), event.at) else { continue };
        if since.is_some_and(|since| at < since) {
            continue;
        }
        let figures = accounted.figures();
        session.figures.add(&figures);
        session.first.get_or_insert(at);
        session.last = session.last.max(Some(at));
        stats.total.add(&figures);
        stats.models.entry(accounted.model.clone()).or_default().add(&figures);
        stats.clients.entry(session.client.clone()).or_default().add(&figures);
        stats.days.entry(at.strftime("%Y-%m-%d").to_string()).or_default().add(&figures);
        session.model = Some(accounted.model);
    }
    Ok(session.last.is_some().then_some(session))
}

//! Ledgers in a home that goes away, and models that read them.

use crate::common::MODEL;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use throughline_core::cost::Price;
use throughline_core::{Card, Message, Meta, Record, SessionId};
use throughline_ledger::import::{discover_in, import};
use throughline_ledger::{Home, SyncPolicy, Writer, list};
use throughline_memory::handbook::phase1::{
    Eligibility, KeptMessages, Phase1, Phase1Error, Read, SessionReader, candidates, read_session,
};
use throughline_memory::handbook::{Evidence, Finding, HandbookLimits, HomeId, ProjectKey};
use throughline_memory::store::SessionPlace;
use throughline_model::{BoxFuture, CancelToken, Caps, Clock, Http, Provider, Wire};
use throughline_testkit::Server;

pub(crate) const NOW: &str = "2026-03-02T10:00:00Z";

pub(crate) fn now() -> Timestamp {
    NOW.parse().unwrap()
}

pub(crate) fn hours_ago(hours: i64) -> Timestamp {
    now() - SignedDuration::from_hours(hours)
}

pub(crate) struct House {
    pub(crate) folder: TempDir,
    pub(crate) home: Home,
    pub(crate) id: HomeId,
}

impl House {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path().join("home"));
        Self { folder, home, id: HomeId::new("home-for-tests") }
    }

    /// A session of our own, with messages a minute apart, the last of them so many hours ago.
    pub(crate) fn session(&self, name: &str, hours: i64, messages: &[Message]) -> PathBuf {
        self.session_with(
            Meta::new(SessionId::new(name), hours_ago(hours + 1), "throughline"),
            hours,
            messages,
        )
    }

    pub(crate) fn session_with(&self, meta: Meta, hours: i64, messages: &[Message]) -> PathBuf {
        let mut writer = Writer::create(&self.home, meta, SyncPolicy::Never).unwrap();
        let records: Vec<Record> =
            timed(messages, hours).into_iter().map(|one| Record::Message(Box::new(one))).collect();
        writer.append(&records).unwrap();
        writer.update_card(|_| {}).unwrap();
        writer.path().to_owned()
    }

    pub(crate) fn change_card(&self, path: &Path, change: impl FnOnce(&mut Card)) {
        let mut writer = Writer::open(&self.home, path, SyncPolicy::Never).unwrap();
        writer.update_card(change).unwrap();
        writer.end_turn().unwrap();
    }

    pub(crate) fn append(&self, path: &Path, records: &[Record]) {
        let mut writer = Writer::open(&self.home, path, SyncPolicy::Never).unwrap();
        writer.append(records).unwrap();
        writer.update_card(|_| {}).unwrap();
    }

    /// Another client's session, as lines of its file.
    pub(crate) fn import(&self, name: &str, lines: &[Value]) -> PathBuf {
        let file = self.folder.path().join(name);
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).unwrap();
        let report = import(&self.home, &discover_in(&[file]), SyncPolicy::Never, &mut |_| {}).unwrap();
        assert_eq!(report.files.len(), 1, "{report:?}");
        list(&self.home).unwrap().into_iter().map(|listed| listed.path).next().unwrap()
    }

    /// What of a session may be remembered.
    pub(crate) fn kept(&self, path: &Path) -> (Vec<Message>, KeptMessages) {
        let mut kept = KeptMessages::open(&self.home, path).unwrap();
        let mut messages = Vec::new();
        while let Some(message) = kept.next_message().unwrap() {
            messages.push(message);
        }
        (messages, kept)
    }

    pub(crate) fn place(&self, path: &Path) -> SessionPlace {
        SessionPlace {
            home: self.id.clone(),
            project: ProjectKey::new("github.com/me/app"),
            ledger: self.home.relative(path),
        }
    }

    pub(crate) fn everything(&self) -> Vec<String> {
        let listed = list(&self.home).unwrap();
        let found = candidates(&self.home, &self.id, &listed, &Eligibility::everything(now()));
        found.iter().map(|one| one.project.to_string()).collect()
    }

    pub(crate) async fn offline(&self, name: &str, path: &Path) -> Result<Read, Phase1Error> {
        self.read(name, path, None, false).await
    }

    pub(crate) async fn read(
        &self,
        name: &str,
        path: &Path,
        model: Option<SessionReader<'_>>,
        or_offline: bool,
    ) -> Result<Read, Phase1Error> {
        self.read_within(name, path, model, or_offline, &HandbookLimits::default()).await
    }

    pub(crate) async fn read_within(
        &self,
        name: &str,
        path: &Path,
        model: Option<SessionReader<'_>>,
        or_offline: bool,
        limits: &HandbookLimits,
    ) -> Result<Read, Phase1Error> {
        let (session, place) = (SessionId::new(name), self.place(path));
        read_session(Phase1 {
            home: &self.home,
            session: &session,
            place: &place,
            model,
            or_offline,
            limits,
            now: now(),
        })
        .await
    }
}

/// Messages a minute apart, the last so many hours ago.
pub(crate) fn timed(messages: &[Message], hours: i64) -> Vec<Message> {
    let last = hours_ago(hours);
    let count = messages.len();
    let at = |at: usize| Some(last - SignedDuration::from_mins((count - 1 - at) as i64));
    messages
        .iter()
        .enumerate()
        .map(|(number, message)| Message { at: at(number), ..message.clone() })
        .collect()
}

/// A model behind a scripted server.
pub(crate) struct Small {
    model: Http,
    price: Price,
    pub(crate) caps: Caps,
    pub(crate) window: Option<u64>,
    pub(crate) cancel: CancelToken,
}

impl Small {
    pub(crate) fn new(wire: Wire, server: &Server) -> Self {
        let provider = Provider { base_url: Some(server.url()), ..Provider::new("test", wire, MODEL) };
        let model = Http::new(&provider, &|_: &str| None).unwrap().with_clock(Arc::new(Hasty));
        Self {
            model,
            price: Price::unknown(),
            caps: SessionReader::caps(&HandbookLimits::default()),
            window: Some(200_000),
            cancel: CancelToken::new(),
        }
    }

    pub(crate) fn reader(&self) -> Option<SessionReader<'_>> {
        Some(SessionReader {
            model: &self.model,
            window: self.window,
            caps: self.caps.clone(),
            price: &self.price,
            cancel: self.cancel.clone(),
        })
    }
}

/// Does not wait before it tries again.
struct Hasty;

impl Clock for Hasty {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }

    fn jitter(&self) -> f64 {
        1.0
    }
}

pub(crate) fn answer(raw_memory: &str, summary: &str, slug: &str) -> String {
    json!({"raw_memory": raw_memory, "rollout_summary": summary, "rollout_slug": slug}).to_string()
}

pub(crate) fn findings(read: &Read) -> &[Finding] {
    read.extracted.extraction.as_ref().map(|extraction| extraction.findings.as_slice()).unwrap_or_default()
}

pub(crate) fn texts(read: &Read) -> Vec<&str> {
    findings(read).iter().map(|finding| finding.text.as_str()).collect()
}

/// Every finding names messages that are in the session.
pub(crate) fn assert_borne_out(read: &Read, messages: &[Message]) {
    for finding in findings(read) {
        assert!(!finding.evidence.is_empty());
        for evidence in &finding.evidence {
            let Evidence::Message { message, .. } = evidence else { panic!("{evidence:?}") };
            assert!(messages.iter().any(|one| one.id == *message), "{finding:?}");
        }
    }
}

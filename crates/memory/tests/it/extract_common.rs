//! Memories in a folder that goes away, talks made by hand, and models that propose.

use crate::common::{MODEL, calls, gives};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use throughline_core::cost::Price;
use throughline_core::{Block, Flags, Fragment, Message, Role, SessionId, ToolDefinition};
use throughline_memory::ByModel;
use throughline_memory::extract::{
    ExtractJob, ExtractLimits, Extracted, Granted, Wished, extract, grant_now,
};
use throughline_memory::topics::{Added, By, Meta, NewTopic, Source, Topic, TopicStore, TopicType};
use throughline_memory::{Memories, MemoryId, Tier};
use throughline_model::{CancelToken, Caps, Delivery, Http, Prefix, Provider, Tail, Wire, body};
use throughline_testkit::Server;
use throughline_wire::Request;

/// A Monday.
pub(crate) const NOW: &str = "2026-03-02T10:00:00Z";

pub(crate) fn user(text: &str) -> Message {
    Message::text(Role::User, text)
}

pub(crate) fn assistant(text: &str) -> Message {
    Message::text(Role::Assistant, text)
}

/// A call and what it gave.
pub(crate) fn tool(id: &str, name: &str, input: Value, result: &str) -> Vec<Message> {
    vec![calls(id, name, input), gives(id, result)]
}

/// What the client says in the user's place.
pub(crate) fn reminder(text: &str) -> Message {
    user(&Fragment::SystemReminder.render(text))
}

pub(crate) fn meta(text: &str) -> Message {
    let mut message = user(text);
    message.flags = Flags { meta: true, ..Flags::default() };
    message
}

pub(crate) fn summary(text: &str) -> Message {
    let mut message = user(text);
    message.flags = Flags { summary: true, ..Flags::default() };
    message
}

/// One message of several texts.
pub(crate) fn parts(texts: &[&str]) -> Message {
    Message::new(Role::User, texts.iter().map(|text| Block::text(*text)).collect())
}

/// Folders of memories, and a project.
pub(crate) struct Place {
    pub(crate) folder: TempDir,
    pub(crate) memories: Memories,
    pub(crate) root: PathBuf,
    pub(crate) session: SessionId,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // How changes are recorded is tested elsewhere.
        let store = |name: &str| TopicStore::open(folder.path().join("home").join(name)).without_history();
        let memories = Memories::of(vec![(Tier::Project, store("project")), (Tier::Global, store("global"))]);
        let root = folder.path().join("code");
        std::fs::create_dir_all(root.join("src")).unwrap();
        Self { memories, root, session: SessionId::new("s-1"), folder }
    }

    /// Another place with the same in it.
    pub(crate) fn copy(&self) -> Self {
        let other = Self::new();
        copy(self.folder.path(), other.folder.path());
        other
    }

    pub(crate) fn store(&self, tier: Tier) -> &TopicStore {
        self.memories.store(tier).unwrap()
    }

    /// Puts a memory there.
    pub(crate) fn seed(&self, tier: Tier, by: By, kind: TopicType, text: &str) -> MemoryId {
        let source = Source {
            by,
            session: Some("old".to_owned()),
            messages: vec!["m-old".to_owned()],
            at: "2026-01-05T10:00:00Z".parse().unwrap(),
            quote: text.to_owned(),
        };
        let meta = Meta { created: Some(source.at), evidence: 1, sources: vec![source], ..Meta::default() };
        let name = text.trim_end_matches('.').to_owned();
        let new = NewTopic { kind, name, description: text.to_owned(), body: text.to_owned(), meta };
        match self.store(tier).add(new).unwrap() {
            Added::Saved(saved) => MemoryId::new(tier, saved.file),
            Added::Similar(head) => panic!("{head:?}"),
        }
    }

    pub(crate) fn job(&self, messages: &[Message]) -> ExtractJob {
        ExtractJob {
            memories: self.memories.clone(),
            session: self.session.clone(),
            messages: messages.to_vec(),
            cursor: None,
            granted: Vec::new(),
            instructions: Vec::new(),
            recalled: Vec::new(),
            root: Some(self.root.clone()),
            now: NOW.parse().unwrap(),
            zone: jiff::tz::TimeZone::UTC,
            limits: ExtractLimits::default(),
        }
    }

    pub(crate) async fn offline(&self, messages: &[Message]) -> Extracted {
        extract(self.job(messages), None).await
    }

    pub(crate) fn grant(&self, message: &Message) -> Vec<Granted> {
        grant_now(&Wished {
            memories: &self.memories,
            session: &self.session,
            message,
            instructions: &[],
            root: Some(&self.root),
            now: NOW.parse().unwrap(),
            zone: &jiff::tz::TimeZone::UTC,
            limits: &ExtractLimits::default(),
        })
    }

    /// Every memory, as it is.
    pub(crate) fn topics(&self) -> Vec<(MemoryId, Topic)> {
        let (listed, _) = self.memories.list();
        listed.into_iter().map(|one| (one.id.clone(), self.memories.read(&one.id).unwrap())).collect()
    }

    /// Every file of the folders but our own bookkeeping, with what it holds.
    pub(crate) fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        collect(&self.folder.path().join("home"), &mut files);
        files
    }

    /// All that stands in these files.
    pub(crate) fn words(&self) -> String {
        self.files()
            .values()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let there = to.join(path.file_name().unwrap());
        if path.is_dir() {
            // What we keep beside the memories is made again.
            if !path.ends_with(".throughline") {
                copy(&path, &there);
            }
        } else {
            std::fs::copy(&path, &there).unwrap();
        }
    }
}

fn collect(folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            if !path.ends_with(".throughline") {
                collect(&path, files);
            }
        } else if path.extension().is_some_and(|ending| ending == "md") {
            files.insert(path.clone(), std::fs::read(&path).unwrap());
        }
    }
}

/// A conversation that was sent, and a model that answers on.
pub(crate) struct Talk {
    model: Http,
    pub(crate) prefix: Prefix,
    price: Price,
    pub(crate) caps: Caps,
}

impl Talk {
    pub(crate) fn new(wire: Wire, server: &Server, messages: &[Message]) -> Self {
        let mut request = Request::new(wire, MODEL);
        request.messages = messages.to_vec();
        let parameters = serde_json::json!({"type": "object"});
        let tools = ["Bash", "Read", "Grep", "Glob", "Write", "Edit", "WebFetch"].map(|name| {
            ToolDefinition { name, description: "A tool.", parameters: parameters.clone() }.on(wire)
        });
        request.envelope.insert("tools".to_owned(), tools.to_vec().into());
        if wire == Wire::Anthropic {
            request.envelope.insert("max_tokens".to_owned(), 4_096.into());
        }
        let sent = body(&request, Delivery::Streamed);
        let provider = Provider { base_url: Some(server.url()), ..Provider::new("test", wire, MODEL) };
        Self {
            model: Http::new(&provider, &|_: &str| None).unwrap(),
            prefix: Prefix::new(wire, sent.to_vec()).unwrap(),
            price: Price::unknown(),
            caps: Caps { turns: 3, ..Caps::default() },
        }
    }

    pub(crate) fn by_model(&self) -> ByModel<'_> {
        ByModel {
            model: &self.model,
            prefix: &self.prefix,
            since: &[],
            caps: &self.caps,
            price: &self.price,
            tail: Tail::default(),
            cancel: CancelToken::new(),
        }
    }
}

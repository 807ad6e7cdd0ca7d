//! Claude Code transcripts: `projects/<project>/<session>.jsonl`, and the files of its sub-agents.
//!
//! Records form a tree by `uuid` and `parentUuid`. Most are not part of the conversation (progress, hooks,
//! snapshots): they are skipped, and parents are followed through them. Messages keep their own `uuid` as id.
//!
//! - One record per content block: the records of one answer share a `group` and are not merged.
//! - Results of parallel calls point at the record that made the call. That is no branch.
//! - A prompt or an answer whose parent is not the last message *is* one: an edit goes back first.
//! - A compaction is a checkpoint: its summary, and the messages it says it kept.
//! - A sub-agent is a session of its own: a [`Lane`] each.

mod attach;
mod author;
mod compact;
mod lane;
mod line;
mod tool_file;

use super::mend::mend;
use super::outcome::{Facts, Importer, Lane, LineOutcome, Output};
use super::scratch::{Scratch, Table};
use super::session::{Session, Unreadable, shorten, timestamp};
use super::shadow::{NONE, key};
use author::{client_made, is_command, who_typed};
use compact::Boundary;
use lane::{LaneState, Parent, Placing};
use line::{Head, Line};
use std::borrow::Cow;
use std::collections::HashMap;
use throughline_core::{ClientSession, Flags, GroupId, Role, SessionId};
use throughline_wire::anthropic;

/// The client's name in the ledger.
pub(super) const CLIENT: &str = "claude";

/// What a file's name tells.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The session, where the file's name is its id; else the first record tells.
    pub session: Option<SessionId>,
    /// The sub-agent whose file this is.
    pub agent: Option<String>,
}

/// Turns the lines of a transcript into records.
#[derive(Debug, Default)]
pub struct ClaudeImporter {
    options: Options,
    scratch: Scratch,
    line: u64,
    lanes: Vec<LaneState>,
    /// Each record's lane and the message that it is or that it hangs on.
    known: Table,
    agents: HashMap<u128, u32>,
    titles: Titles,
    mended: u64,
    /// Unreadable lines before any session is known.
    early: Session,
}

/// Names of a session, by who gave them.
#[derive(Clone, Debug, Default)]
struct Titles {
    custom: Option<String>,
    ai: Option<String>,
    /// Old versions name the newest message of the session that is meant, which need not be this one.
    summaries: Vec<(u128, String)>,
}

const TITLE: usize = 200;
const MAX_SUMMARIES: usize = 32;

impl Importer for ClaudeImporter {
    fn line(&mut self, line: &[u8], out: &mut Vec<Output>) -> LineOutcome {
        self.line += 1;
        if line.trim_ascii().is_empty() {
            return LineOutcome::Skipped("blank line".into());
        }
        match serde_json::from_slice::<Line<'_>>(line) {
            Ok(record) => self.record(record, out),
            Err(error) => self.flawed(line, &error.to_string(), out),
        }
    }

    fn mended(&self) -> u64 {
        self.mended
    }

    fn too_long(&mut self, bytes: u64, out: &mut Vec<Output>) -> LineOutcome {
        self.line += 1;
        let line = Unreadable::too_long(self.line, bytes);
        self.own().unreadable(Lane::MAIN, line, out);
        LineOutcome::Unreadable(format!("line of {bytes} bytes"))
    }

    fn facts(&self, lane: Lane) -> Option<Facts> {
        let mut facts = self.lanes.get(lane.0 as usize)?.session.facts.clone();
        if lane == Lane::MAIN {
            facts.title = self.title();
        }
        Some(facts)
    }
}

/// Kinds of record that are links of the chain.
fn is_chained(kind: &str) -> bool {
    matches!(kind, "user" | "assistant" | "system" | "attachment" | "progress")
}

fn skipped(kind: &super::lenient::Text<'_>) -> LineOutcome {
    let reason = match kind.or_empty() {
        "" => Cow::Borrowed("no type"),
        kind => Cow::Owned(shorten(kind, 40)),
    };
    LineOutcome::Skipped(reason)
}

impl ClaudeImporter {
    /// An importer for a file whose name tells this.
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }

    /// An importer that holds what is recent and remembers the rest elsewhere.
    pub(super) fn remembering_in(options: Options, scratch: &Scratch) -> Self {
        let (known, early) = (Table::new(scratch), Session::new(scratch));
        Self { options, scratch: scratch.clone(), known, early, ..Self::default() }
    }

    /// Where it remembers the rest.
    pub(super) fn scratch(&self) -> &Scratch {
        &self.scratch
    }

    fn known(&self, record: u128) -> Option<(u32, u32)> {
        self.known.get(record).map(|known| ((known >> 32) as u32, known as u32))
    }

    /// Bytes held for what is remembered of messages and sub-agents.
    #[cfg(test)]
    pub(super) fn held(&self) -> usize {
        // All else is of one size, or has a limit.
        let Self { options: _, scratch: _, line: _, lanes, known, agents, titles: _, mended: _, early } =
            self;
        let lanes: usize = lanes.iter().map(|lane| lane.session.held()).sum();
        lanes + known.held() + agents.capacity() * size_of::<(u128, u32)>() + early.held()
    }

    /// The file's own session, begun or not.
    fn own(&mut self) -> &mut Session {
        match self.lanes.first_mut() {
            Some(main) => &mut main.session,
            None => &mut self.early,
        }
    }

    /// A line that can't be read as it is.
    fn flawed(&mut self, line: &[u8], why: &str, out: &mut Vec<Output>) -> LineOutcome {
        let mended = mend(line);
        if let Some(record) = mended.as_deref().and_then(|line| serde_json::from_slice(line).ok()) {
            self.mended += 1;
            return self.record(record, out);
        }
        match serde_json::from_slice::<Head<'_>>(line) {
            Ok(head) if !is_chained(head.r#type.or_empty()) && head.r#type.get().is_some() => {
                skipped(&head.r#type)
            }
            Ok(_) | Err(_) => self.unreadable(line, why, out),
        }
    }

    fn unreadable(&mut self, line: &[u8], why: &str, out: &mut Vec<Output>) -> LineOutcome {
        let line = Unreadable::new(self.line, line, why);
        self.own().unreadable(Lane::MAIN, line, out);
        LineOutcome::Unreadable(why.to_owned())
    }

    fn record(&mut self, record: Line<'_>, out: &mut Vec<Output>) -> LineOutcome {
        match record.r#type.or_empty() {
            "summary" => return self.summary_title(&record),
            "ai-title" => return title_of(&mut self.titles.ai, record.ai_title.get()),
            "custom-title" => return title_of(&mut self.titles.custom, record.custom_title.get()),
            kind if !is_chained(kind) => return skipped(&record.r#type),
            _ => {}
        }
        let Some(uuid) = record.uuid.get().map(str::to_owned) else {
            return LineOutcome::Skipped("no uuid".into());
        };
        let uuid_key = key(&uuid);
        if self.known(uuid_key).is_some() {
            return LineOutcome::Skipped("repeated record".into());
        }
        let Some(lane) = self.lane_of(&record, uuid_key) else {
            return LineOutcome::Skipped("no session id".into());
        };
        let parent = self.parent_of(&record, lane);
        let at = timestamp(record.timestamp.get());
        self.lanes[lane as usize].note(&record, at);
        let mut place = Placing { lane, line: self.line, uuid, at, parent };

        let (outcome, node) = match (record.r#type.or_empty(), record.subtype.or_empty()) {
            ("user" | "assistant", _) => self.said(record, &mut place, out),
            ("attachment", _) => self.attachment(record, &mut place, out),
            ("system", "compact_boundary") => {
                let boundary = Boundary::new(&place.uuid, at, record.compact_metadata);
                self.lanes[lane as usize].boundary = Some(Box::new(boundary));
                (LineOutcome::Imported, None)
            }
            ("system", "local_command") => self.local_command(&record, &mut place, out),
            ("system", subtype) => {
                (LineOutcome::Skipped(format!("system: {}", shorten(subtype, 40)).into()), None)
            }
            (kind, _) => (LineOutcome::Skipped(kind.to_owned().into()), None),
        };
        // What was skipped stands for the message it hangs on.
        let node = node.unwrap_or(match place.parent {
            Parent::At(node) => node,
            Parent::Root | Parent::Missing => NONE,
        });
        self.known.put(uuid_key, u64::from(lane) << 32 | u64::from(node));
        outcome
    }

    /// The session that a record belongs to, which is begun if need be.
    fn lane_of(&mut self, record: &Line<'_>, uuid: u128) -> Option<u32> {
        let session = match (&self.options.session, self.lanes.first()) {
            (Some(id), _) => id.clone(),
            (None, Some(main)) if main.session.facts.session.is_some() => {
                main.session.facts.session.clone()?
            }
            (None, _) => SessionId::new(record.session_id.get()?),
        };
        if self.lanes.is_empty() {
            let early = std::mem::take(&mut self.early);
            self.lanes.push(LaneState { session: early, ..LaneState::default() });
            let main = &mut self.lanes[0].session.facts;
            main.client = CLIENT;
            main.session = Some(session.clone());
            if let Some(agent) = &self.options.agent {
                let parent = record.session_id.get().map_or(session, SessionId::new);
                main.session = Some(ClientSession::agent_ledger(&parent, agent));
                main.parent_session = Some(parent);
            }
        }
        if self.options.agent.is_some() || !record.is_sidechain.0 {
            return Some(0);
        }
        let main = self.lanes[0].session.facts.session.clone()?;
        let parents = record.parent_uuid.get().and_then(|p| self.known(key(p))).map(|(lane, _)| lane);
        match (record.agent_id.get(), parents) {
            (Some(agent), _) => match self.agents.get(&key(agent)) {
                Some(lane) => Some(*lane),
                None => {
                    let lane = self.begin_lane(ClientSession::agent_ledger(&main, agent), main);
                    self.agents.insert(key(agent), lane);
                    Some(lane)
                }
            },
            (None, Some(lane)) if lane != 0 => Some(lane),
            (None, _) => {
                let root = record.uuid.get()?;
                let lane = self.begin_lane(ClientSession::agent_ledger(&main, root), main);
                self.agents.insert(uuid, lane);
                Some(lane)
            }
        }
    }

    fn begin_lane(&mut self, id: SessionId, parent: SessionId) -> u32 {
        let mut lane = LaneState { session: Session::new(&self.scratch), ..LaneState::default() };
        lane.session.facts.client = CLIENT;
        lane.session.facts.session = Some(id);
        lane.session.facts.parent_session = Some(parent);
        self.lanes.push(lane);
        self.lanes.len() as u32 - 1
    }

    fn parent_of(&self, record: &Line<'_>, lane: u32) -> Parent {
        let Some(parent) = record.parent_uuid.get() else { return Parent::Root };
        match self.known(key(parent)) {
            Some((at, node)) if at == lane => Parent::At(node),
            Some(_) | None => Parent::Missing,
        }
    }

    /// A prompt, an answer, a tool result.
    fn said(
        &mut self,
        record: Line<'_>,
        place: &mut Placing,
        out: &mut Vec<Output>,
    ) -> (LineOutcome, Option<u32>) {
        let assistant = record.r#type.or_empty() == "assistant";
        let Some(content) = record.message.content else {
            return (LineOutcome::Skipped("no content".into()), None);
        };
        let (content, bare) = anthropic::decode_content(content);
        let mut message = place.message(if assistant { Role::Assistant } else { Role::User });
        message.blocks = content;
        message.bare = bare;
        if message.blocks.iter().all(throughline_core::Block::is_empty) {
            return (LineOutcome::Skipped("empty message".into()), None);
        }
        message.flags = Flags {
            meta: record.is_meta.0 || client_made(&message),
            typed: false,
            summary: record.is_compact_summary.0,
            display_only: record.is_visible_in_transcript_only.0 && !record.is_compact_summary.0,
            error: record.is_api_error_message.0,
        };
        // What the client shows in place of an answer was never said by the model, nor is it sent back.
        message.flags.display_only |= message.flags.error;
        match who_typed(&record.origin, &record.turn_origin, record.prompt_source.get()) {
            Some(true) => message.flags.typed = !message.flags.meta && !is_command(&message),
            Some(false) => message.flags.meta = true,
            None => {}
        }
        let lane = &mut self.lanes[place.lane as usize];
        let model = if assistant { record.message.model.get().filter(|m| *m != "<synthetic>") } else { None };
        if lane.circumstances(record.cwd.get(), record.git_branch.get(), model) {
            lane.turn(place, out);
        }
        if assistant {
            message.group = record.message.id.get().map(GroupId::from);
        }
        if record.is_compact_summary.0 {
            let node = lane.compacted(message, place, out);
            return (LineOutcome::Imported, Some(node));
        }
        let files = tool_file::named_in(&message);
        let node = lane.say(message, place, out);
        for (call, name) in files {
            let lane = Lane(place.lane);
            out.push(Output::ToolResultFile { lane, call, name, at: place.at, line: self.line });
        }
        if let (true, Some(usage)) = (assistant, record.message.usage) {
            let group = record.message.id.get();
            lane.usage(place, group, usage.to_core(), out);
        }
        (LineOutcome::Imported, Some(node))
    }

    fn summary_title(&mut self, record: &Line<'_>) -> LineOutcome {
        if let (Some(title), Some(leaf)) = (record.summary.get(), record.leaf_uuid.get()) {
            if self.titles.summaries.len() == MAX_SUMMARIES {
                self.titles.summaries.remove(0);
            }
            self.titles.summaries.push((key(leaf), shorten(title, TITLE)));
        }
        LineOutcome::Imported
    }

    fn title(&self) -> Option<String> {
        let of_this_session = |(leaf, _): &&(u128, String)| self.known(*leaf).is_some();
        let summary =
            || self.titles.summaries.iter().rev().find(of_this_session).map(|(_, title)| title.clone());
        self.titles.custom.clone().or_else(|| self.titles.ai.clone()).or_else(summary)
    }
}

fn title_of(slot: &mut Option<String>, title: Option<&str>) -> LineOutcome {
    if let Some(title) = title {
        *slot = Some(shorten(title, TITLE));
    }
    LineOutcome::Imported
}

//! One session of a transcript: where its next record goes.

use super::compact::Boundary;
use super::line::Line;
use crate::import::outcome::{Lane, Output};
use crate::import::session::{ImportEdit, RewindBy, Session, happened};
use crate::import::shadow::{Id, Kind, NONE, Spot, key};
use jiff::Timestamp;
use serde_json::json;
use throughline_core::{Checkpoint, EditId, Message, MessageId, Op, Record, Role, Turn, Usage};

#[derive(Debug, Default)]
pub(super) struct LaneState {
    pub(super) session: Session,
    pub(super) boundary: Option<Box<Boundary>>,
    /// The answer whose usage was recorded last, and what it was.
    pub(super) usage: (u64, Usage),
    pub(super) git_branch: Option<String>,
}

/// Where a record hangs.
pub(super) enum Parent {
    /// It is the first of its kind.
    Root,
    /// On this message, or on none, through records that were skipped.
    At(u32),
    /// On a record that is not in the file.
    Missing,
}

/// One record on its way into the ledger.
pub(super) struct Placing {
    pub(super) lane: u32,
    pub(super) line: u64,
    pub(super) uuid: String,
    pub(super) at: Option<Timestamp>,
    pub(super) parent: Parent,
}

impl Placing {
    pub(super) fn message(&self, role: Role) -> Message {
        let mut message = Message::new(role, Vec::new());
        message.id = MessageId::from(self.uuid.as_str());
        message.at = self.at;
        message
    }
}

impl LaneState {
    /// Takes over what each record repeats.
    pub(super) fn note(&mut self, record: &Line<'_>, at: Option<Timestamp>) {
        let session = &mut self.session;
        session.seen_at(at);
        if !session.is_open() {
            if session.facts.cwd.is_none() {
                session.facts.cwd = record.cwd.to_owned_opt();
            }
            if session.client_version.is_none() {
                session.client_version = record.version.to_owned_opt();
            }
            if let (None, Some(branch)) = (&self.git_branch, record.git_branch.get()) {
                session.extra.insert("git_branch".to_owned(), branch.into());
                self.git_branch = Some(branch.to_owned());
            }
        }
    }

    /// Takes over directory, branch and model; whether one of them changed.
    pub(super) fn circumstances(
        &mut self,
        cwd: Option<&str>,
        branch: Option<&str>,
        model: Option<&str>,
    ) -> bool {
        let mut changed = false;
        let facts = &mut self.session.facts;
        for (slot, new) in [(&mut facts.cwd, cwd), (&mut self.git_branch, branch), (&mut facts.model, model)]
        {
            if new.is_some() && slot.as_deref() != new {
                *slot = new.map(str::to_owned);
                changed = true;
            }
        }
        changed
    }

    pub(super) fn turn(&mut self, place: &Placing, out: &mut Vec<Output>) {
        let facts = &self.session.facts;
        let mut turn =
            Turn { at: place.at, cwd: facts.cwd.clone(), model: facts.model.clone(), ..Turn::default() };
        if let Some(branch) = &self.git_branch {
            turn.extra.insert("git_branch".to_owned(), branch.as_str().into());
        }
        self.session.emit(Lane(place.lane), Record::Turn(Box::new(turn)), out);
    }

    /// Puts a message where it belongs.
    pub(super) fn say(&mut self, mut message: Message, place: &mut Placing, out: &mut Vec<Output>) -> u32 {
        let lane = Lane(place.lane);
        if self.boundary.is_some() && !message.flags.display_only {
            self.compacted_without_summary(place, out);
        }
        let group = message.group.as_ref().map_or(0, |g| key(g.as_str()) as u64 | 1);
        let parent = match place.parent {
            Parent::At(node) => node,
            Parent::Root => NONE,
            Parent::Missing => self.session.view.tip().unwrap_or(NONE),
        };
        message.parent = self.session.id_of(parent);
        let is_result = message.results().next().is_some();
        let hidden = message.flags.display_only;
        let kind = if is_result { Kind::Result } else { Kind::Other };
        let spot = match place.parent {
            Parent::Missing => Spot::Next,
            Parent::At(_) | Parent::Root if hidden => Spot::Next,
            Parent::At(node) => self.session.view.spot(Some(node), kind, group),
            Parent::Root => self.session.view.spot(None, kind, group),
        };
        let aside = spot == Spot::Aside;
        let mut back = None;
        match spot {
            Spot::Next | Spot::Aside => {}
            Spot::Rewind(to) => {
                let id = format!("{}.rewind", place.uuid);
                let undo = Vec::new();
                self.session.rewind(lane, RewindBy { to, undo, id, at: place.at, reason: "went back" }, out);
            }
            Spot::Return { to, undo } => {
                let id = format!("{}.branch", place.uuid);
                let reason = "went back to an abandoned branch";
                self.session.rewind(lane, RewindBy { to: Some(to), undo, id, at: place.at, reason }, out);
            }
            Spot::Detour { to, undo } => {
                let id = format!("{}.aside", place.uuid);
                back = self.session.view.tip().map(|tip| (tip, EditId::new(id.as_str())));
                let reason = "answers a call on a branch that was left";
                self.session.rewind(lane, RewindBy { to: Some(to), undo, id, at: place.at, reason }, out);
            }
            Spot::Restore(path) => self.take_up(&path, place, out),
        }
        let node = self.session.remember(&message, Id::new(&place.uuid), parent, group);
        let id = message.id.clone();
        self.session.emit(lane, Record::Message(Box::new(message)), out);
        if aside {
            let ops = vec![Op::Remove { messages: vec![id] }];
            let id = format!("{}.aside", place.uuid);
            let reason = "answers a call on a branch that was left";
            self.session.edit(lane, ImportEdit { id, at: place.at, reason, ops }, out);
            self.session.view.put_aside(node, parent);
        } else if !hidden {
            self.session.view.push(node);
        }
        if let Some((tip, aside)) = back {
            self.session.view.said_aside(parent);
            let id = format!("{}.back", place.uuid);
            let (to, undo, reason) = (Some(tip), vec![aside], "back to where the conversation is");
            self.session.rewind(lane, RewindBy { to, undo, id, at: place.at, reason }, out);
        }
        node
    }

    /// A branch that had been left is the view again.
    fn take_up(&mut self, path: &[u32], place: &Placing, out: &mut Vec<Output>) {
        let items = path.iter().filter_map(|m| self.session.keep(*m)).collect();
        self.session.view.replace(path);
        let checkpoint = Checkpoint {
            id: EditId::new(format!("{}.branch", place.uuid)),
            at: place.at,
            strategy: "branch".to_owned(),
            trigger: "went back to an abandoned branch".to_owned(),
            tokens_before: None,
            tokens_after: None,
            check: None,
            preserved: None,
            items,
        };
        self.session.checkpoint(Lane(place.lane), checkpoint, out);
    }

    /// Usage is on every record of an answer and grows while it streams: an event each time it does. The last one of a
    /// message counts.
    pub(super) fn usage(
        &mut self,
        place: &Placing,
        group: Option<&str>,
        usage: Usage,
        out: &mut Vec<Output>,
    ) {
        let Some(group) = group else { return };
        let group_key = key(group) as u64 | 1;
        if usage == Usage::default() || self.usage == (group_key, usage) {
            return;
        }
        self.usage = (group_key, usage);
        let data = json!({
            "model": self.session.facts.model, "usage": usage, "message": group, "line": place.line,
        });
        self.session.emit(Lane(place.lane), happened(place.at, "usage", data), out);
    }
}

//! How the view follows the client's history: what is new in it, where the client went back, what was said elsewhere.

use super::{Preparer, Restored, Taken};
use std::collections::HashSet;
use throughline_core::compaction::is_handed_over;
use throughline_core::pipeline::{Journal, Moment, Pipeline};
use throughline_core::{Edit, EditId, Entry, Message, MessageId, Op, Record, Role, Stage, content_id};
use throughline_wire::splice::Body;

impl Preparer {
    /// Brings the view up to the client's history.
    pub(super) fn take_in<J: Journal>(
        &mut self,
        body: &Body,
        same: usize,
        earlier: Option<Earlier>,
        pipeline: &mut Pipeline,
        moment: &Moment,
        journal: &mut J,
    ) -> Result<Taken, J::Error> {
        let same = same.min(self.ids.len());
        let mut fresh: Vec<Message> = Vec::new();
        let mut ids: Vec<MessageId> = Vec::new();
        // An element that differs by a byte may still say the same: clients move their cache marks.
        let mut common = same;
        let mut parent = same.checked_sub(1).and_then(|at| self.ids.get(at)).cloned();
        for at in same..body.len() {
            let Some(mut message) = body.message(at) else { break };
            message.flags.summary = is_handed_over(&message);
            message.id = content_id(parent.as_ref(), &message);
            message.parent = parent.replace(message.id.clone());
            if common == at && self.ids.get(at) == Some(&message.id) {
                common += 1;
                ids.push(message.id);
                continue;
            }
            ids.push(message.id.clone());
            fresh.push(message);
        }
        let history = |n: usize| {
            n.checked_sub(1).and_then(|at| if at < same { self.ids.get(at) } else { ids.get(at - same) })
        };
        let mut diverged = common < self.ids.len();
        if let Some(earlier) = earlier {
            // What an earlier process recorded is there already.
            let recorded = fresh.iter().take_while(|message| earlier.known.contains(&message.id)).count();
            fresh.drain(..recorded);
            common += recorded;
            diverged = earlier.newest.as_ref() != history(common);
        }
        let kept = history(common).cloned();
        // Nothing is taken for known before it is recorded: a failure half-way leaves nothing out next time.
        let fresh_ids: Vec<MessageId> = ids.drain(..common - same).collect();
        let is_shown = |id: &MessageId| pipeline.view().entries().iter().any(|entry| entry.message.id == *id);
        let in_view = !diverged || kept.as_ref().is_none_or(is_shown);
        if diverged {
            // What was told behind the last message in common stays: the requests before had it there.
            let edit = rewind(if in_view { kept.map(|id| last_told(pipeline, id)) } else { None }, moment);
            let origin = journal.append(Record::Edit(Box::new(edit.clone())))?;
            pipeline.edit(edit, origin);
        }
        let keep = if diverged && !in_view { 0 } else { same };
        let gone: Vec<MessageId> = self.ids.drain(keep..).collect();
        self.sizes.truncate(keep);
        for id in &gone {
            self.places.remove(id);
        }
        if diverged && !in_view {
            // The client went back behind what was condensed: its history is taken as it is.
            let settled: Vec<MessageId> = gone.into_iter().take(same).chain(fresh_ids).collect();
            for message in with_ids(body, &settled) {
                let origin = journal.append(Record::Message(Box::new(message.clone())))?;
                self.place(message.id.clone(), pipeline.count_message(&message));
                self.messages += weight(&message);
                pipeline.show(Entry::new(message, origin));
            }
        } else {
            for id in fresh_ids {
                let message = body.message(self.ids.len());
                self.place(id, message.map_or(0, |message| pipeline.count_message(&message)));
            }
        }
        let mut taken = Taken { fresh: Vec::with_capacity(fresh.len()), diverged };
        for mut message in fresh {
            // An answer was given to the request before, right after it.
            let given = if message.role == Role::Assistant { self.asked.or(moment.now) } else { moment.now };
            message.at = message.at.or(given);
            let origin = journal.append(Record::Message(Box::new(message.clone())))?;
            self.place(message.id.clone(), pipeline.count_message(&message));
            self.messages += weight(&message);
            let entry = Entry::new(message, origin);
            taken.fresh.push(entry.message.clone());
            pipeline.push(entry);
        }
        Ok(taken)
    }

    /// One more message of the client's history is known.
    fn place(&mut self, id: MessageId, tokens: u64) {
        self.places.insert(id.clone(), self.ids.len());
        self.ids.push(id);
        self.sizes.push(tokens);
    }
}

/// Bytes that a message takes, with its places in the view, the layout and the counts.
pub(super) fn weight(message: &Message) -> usize {
    const PLACES: usize = 1 << 10;
    PLACES + message.weight()
}

/// What an earlier process recorded of the client's history.
pub(super) struct Earlier {
    known: HashSet<MessageId>,
    newest: Option<MessageId>,
}

impl Earlier {
    pub(super) fn take_over(restored: Restored, pipeline: &mut Pipeline) -> Self {
        let mut earlier = Self { known: HashSet::new(), newest: restored.newest };
        for message in &restored.messages {
            if !is_own(message) {
                earlier.known.insert(message.id.clone());
            }
            pipeline.remember(message);
        }
        pipeline.restore(restored.view);
        restored.events.iter().for_each(|event| pipeline.recall_event(event));
        earlier
    }
}

/// Messages that we put into the view: summaries, reminders, attachments. A summary that the client gives is its own.
pub(super) fn is_own(message: &Message) -> bool {
    message.flags.meta
}

/// The last of our own messages that stand right behind a message, or the message itself.
fn last_told(pipeline: &Pipeline, id: MessageId) -> MessageId {
    let entries = pipeline.view().entries();
    let Some(at) = entries.iter().rposition(|entry| entry.message.id == id) else { return id };
    let told = entries[at + 1..].iter().take_while(|entry| is_own(&entry.message));
    told.last().map_or(id, |entry| entry.message.id.clone())
}

fn with_ids<'a>(body: &'a Body, ids: &'a [MessageId]) -> impl Iterator<Item = Message> + 'a {
    body.messages(0..ids.len()).zip(ids).enumerate().map(move |(at, (mut message, id))| {
        message.flags.summary = is_handed_over(&message);
        message.id = id.clone();
        message.parent = at.checked_sub(1).map(|at| ids[at].clone());
        message
    })
}

fn rewind(to: Option<MessageId>, moment: &Moment) -> Edit {
    Edit {
        id: EditId::fresh(),
        at: moment.now,
        stage: Stage::User,
        reason: Edit::GOES_ON_ELSEWHERE.to_owned(),
        freed: None,
        ops: vec![Op::Rewind { to }],
    }
}

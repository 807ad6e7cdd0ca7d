//! Replay: a recorded session through the pipeline, request by request, under several profiles at once.
//!
//! What the agent would have been sent, what it would have cost, and what of it was needed later. All profiles see the
//! same messages in the same order and share what is derived from them; only their views differ.

mod guarantee;
mod recording;
mod report;
mod run;

pub use guarantee::GuaranteeReport;
pub use recording::{Recording, RecordingError};
pub use report::{CompactionReport, Fates, Mark, NeededReport, Run, Sent, SessionReport, Summary};

use crate::replay::run::Lane;
use std::collections::HashMap;
use std::sync::Arc;
use throughline_core::archive::needed;
use throughline_core::cost::Ttl;
use throughline_core::profile::Profile;
use throughline_core::recall;
use throughline_core::stages::OwnTools;
use throughline_core::tokens::{Breakdown, Counter, Profile as TokenProfile, Tokenizer};
use throughline_core::{Message, MessageId, Role, SharedKnowledge};

/// How to replay.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Under which rules.
    pub profiles: Vec<Profile>,
    /// The context window in tokens.
    pub window: u64,
    /// The model, where it is not the recorded one.
    pub model: Option<String>,
    /// Whether compactions are judged by what the session needed later.
    pub judge: bool,
    /// How long the provider's cache lives.
    pub ttl: Ttl,
    /// Whether the recorded times count: without them the cache never expires between two requests.
    pub timed: bool,
    /// Whether every changed view is also written in each provider's format and read back, to check the rules there.
    pub check_wires: bool,
    /// Texts that every request must hold once they were said, where the guarantee is kept.
    pub expected: Vec<String>,
}

impl Plan {
    /// Profiles in a window, judged.
    pub fn new(profiles: Vec<Profile>, window: u64) -> Self {
        Self {
            profiles,
            window,
            model: None,
            judge: true,
            ttl: Ttl::Never,
            timed: false,
            check_wires: false,
            expected: Vec::new(),
        }
    }
}

/// Runs a recorded session through the pipeline, under each profile and under none.
pub fn replay(recording: &Recording, plan: &Plan) -> SessionReport {
    let model = plan.model.clone().unwrap_or_else(|| recording.model_or_default().to_owned());
    let knowledge = SharedKnowledge::default();
    if let Some(cwd) = &recording.cwd {
        knowledge.change(|known| known.set_cwd(cwd));
    }
    let mut lanes: Vec<Lane> = std::iter::once(Profile::off())
        .chain(plan.profiles.iter().filter(|profile| profile.name != "off").cloned())
        .map(|profile| Lane::new(profile, recording, plan, &model, &knowledge))
        .collect();
    // Each message is counted once: there is nothing to remember counts for.
    let mut counter = Counter::new(TokenProfile::for_model(&model), 0);
    let counts: Vec<Breakdown> = recording.messages.iter().map(|message| counter.message(message)).collect();
    let mut judge = plan.judge.then(|| Judge::new(&recording.messages, Tokenizer::for_model(&model)));
    let mut fed = 0;
    for (number, &upto) in recording.requests.iter().enumerate() {
        let fresh: Vec<(&Arc<Message>, Breakdown)> =
            recording.messages[fed..upto].iter().zip(counts[fed..upto].iter().copied()).collect();
        for (message, _) in &fresh {
            knowledge.push((*message).clone());
        }
        fed = upto;
        let answer = answer_tokens(recording, number, &counts);
        for lane in &mut lanes {
            lane.request(&run::Asked { number, upto, fresh: &fresh, answer, plan }, judge.as_mut());
        }
    }
    SessionReport {
        name: recording.name.clone(),
        client: recording.client.clone(),
        model,
        messages: recording.messages.len(),
        requests: recording.requests.len(),
        recorded_compactions: recording.compactions,
        runs: lanes.into_iter().map(Lane::finish).collect(),
    }
}

/// Tokens of the answer to a request.
fn answer_tokens(recording: &Recording, number: usize, counts: &[Breakdown]) -> u64 {
    let from = recording.requests[number];
    let to = recording.requests.get(number + 1).copied().unwrap_or(recording.messages.len());
    let answer = (from..to).filter(|&at| recording.messages[at].role == Role::Assistant);
    answer.map(|at| counts[at].total()).sum()
}

/// Judges compactions by the session's own future.
pub struct Judge {
    future: needed::Future,
    messages: Vec<Arc<Message>>,
    said: HashMap<MessageId, Arc<Message>>,
    index: recall::Index,
    indexed: usize,
    tokenizer: Tokenizer,
}

impl Judge {
    /// For a whole session, from its first message to its last.
    pub fn new(messages: &[Arc<Message>], tokenizer: Tokenizer) -> Self {
        Self {
            future: needed::Future::new(messages),
            messages: messages.to_vec(),
            said: messages.iter().map(|message| (message.id.clone(), message.clone())).collect(),
            index: recall::Index::default(),
            indexed: 0,
            tokenizer,
        }
    }

    /// What a view keeps of what is needed after the first `upto` messages, and what one search in all that was said
    /// before brings back. Points are to be asked for in order. `None` where too little follows to tell.
    pub fn judge(&mut self, upto: usize, view: &[Arc<Message>]) -> Option<NeededReport> {
        let needed = self.future.at(upto)?;
        // Sessions that are never compacted need no index.
        for message in &self.messages[self.indexed..upto] {
            self.index.push(message);
        }
        self.indexed = upto;
        let context = view.iter().map(|message| message.to_text()).collect::<Vec<_>>().join("\n");
        let visible: recall::Visible = view.iter().map(|message| &**message).collect();
        let desk = recall::Desk {
            index: &self.index,
            archive: &self.said,
            visible: Some(&visible),
            tokenizer: self.tokenizer,
            limits: recall::Limits::default(),
        };
        let search =
            |query: &str| desk.carry_out(&recall::Call::Search { query: query.to_owned(), limit: None }).text;
        let score = needed.score(&context);
        Some(NeededReport {
            needed: score.needed,
            kept: score.kept,
            rare: score.rare,
            pair: score.pair,
            constraints: score.constraints,
            found: needed.found(&context, search),
        })
    }
}

/// Which of our own tools a replayed model has: a recorded one can't use them, but placeholders name them.
pub(crate) const TOOLS: OwnTools = OwnTools { snip: false, recall: true };

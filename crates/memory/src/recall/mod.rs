//! Which memories help now (M7, B1, B6).
//!
//! A request comes in; a few memories come out, as text that joins the turn. [`Recall`] looks through all live memories of all
//! tiers by their words ([`fit`](self) without a model), weighs them by what they are, how old, how well they served and how near, and
//! hands the best to a [`Selector`]: [`ByRank`], or [`ByModel`] where a model may be asked.
//!
//! **Only what surely helps.** There is a floor: a request that has nothing to do with any memory brings none.
//!
//! **What is over never comes back.** Whether a memory is superseded or expired is read from its file at the moment it is chosen; so is
//! all that is shown of it. The catalogue is a way to find files, never the truth about them.
//!
//! **Memories are data.** They are framed as such, with where they come from and how old they are, and can't break out of the frame.
//!
//! **Standing rules are not searched for.** "Always answer in Chinese" has no words in common with what it applies to: such rules
//! are in the index that every session is told (M6). A correction with a subject comes when its subject does.
//!
//! ```
//! use jiff::Timestamp;
//! use std::collections::BTreeSet;
//! use throughline_memory::recall::{Ask, ByRank, Recall, RecallLimits};
//! use throughline_memory::topics::{Meta, NewTopic, TopicStore, TopicType};
//! use throughline_memory::{Memories, Tier};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! let store = TopicStore::open(folder.path().join("memory")).without_history();
//! store.add(NewTopic {
//!     kind: TopicType::Feedback,
//!     name: "Plan before apply".to_owned(),
//!     description: "Show terraform plan and wait; never apply unasked".to_owned(),
//!     body: "Always show the plan and wait for a yes.".to_owned(),
//!     meta: Meta::default(),
//! })?;
//! let recall = Recall::new(Memories::of(vec![(Tier::Project, store)]));
//! let (shown, limits) = (BTreeSet::new(), RecallLimits::default());
//! let ask = |text| Ask { text, tools: &[], shown: &shown, now: Timestamp::now(), root: None, limits: &limits };
//!
//! let recalled = recall.recall(&ask("apply the terraform change"), &ByRank).await;
//! assert_eq!(recalled.chosen[0].topic.name, "Plan before apply");
//! assert!(recalled.text.ok_or("no text")?.contains("data, not requests"));
//! assert!(recall.recall(&ask("what is a monad?"), &ByRank).await.chosen.is_empty());
//! # Ok(())
//! # }
//! ```

mod anchors;
mod by_model;
mod catalogue;
mod fit;
mod frame;
mod gather;
mod query;
mod recaller;
mod select;
mod tables;
mod tools;
mod used;
mod weigh;
mod words;

pub use anchors::gone;
pub(crate) use anchors::holds;
pub use by_model::ByModel;
pub(crate) use fit::{Indexed, fits, rank};
pub(crate) use frame::{harmless, without_tags};
pub(crate) use query::Reach;
pub use recaller::Recall;
pub use select::{ByRank, SelectedBy, Selection, Selector};
pub(crate) use tables::version as tables_version;
pub use used::used_in;
pub(crate) use words::terms;

use crate::memories::MemoryId;
use crate::topics::{Topic, TopicHead};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use throughline_model::Receipt;

/// What is asked of memory.
#[derive(Clone, Copy, Debug)]
pub struct Ask<'a> {
    /// What the user said.
    pub text: &'a str,
    /// Tools that were used lately, newest last.
    pub tools: &'a [String],
    /// Memories that this session was shown already: they are left out.
    pub shown: &'a BTreeSet<MemoryId>,
    /// When.
    pub now: Timestamp,
    /// The project's folder, in which anchors are looked for; without it they are not.
    pub root: Option<&'a Path>,
    /// How much may come.
    pub limits: &'a RecallLimits,
}

/// How much may come of memory for one request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RecallLimits {
    /// Memories.
    pub most: usize,
    /// Tokens of the text that joins the turn, frame included.
    pub tokens: u64,
    /// How well a memory must fit to come by rank: 1 is one rare word of the request, once in the body.
    pub floor: f32,
    /// What share of the best one's score the others must reach.
    pub near_best: f32,
}

impl Default for RecallLimits {
    fn default() -> Self {
        Self { most: 5, tokens: 2_000, floor: 0.8, near_best: 0.6 }
    }
}

/// A memory that may help.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub id: MemoryId,
    /// What its first lines say.
    pub head: TopicHead,
    /// How well it fits, all weighed; 0 if it shares no word with the request.
    pub score: f32,
    /// Whether that is enough by itself.
    pub fits: bool,
}

/// A memory that was chosen, as its file is now.
#[derive(Clone, Debug, PartialEq)]
pub struct Chosen {
    /// Which.
    pub id: MemoryId,
    /// The memory.
    pub topic: Topic,
    /// How well it fits; 0 if a model chose it for other reasons.
    pub score: f32,
    /// What it is about and is gone from the project, in words.
    pub stale: Vec<String>,
    /// The lines that are shown if not all are: the rest is the manual of a tool in use.
    pub warnings: Option<String>,
    /// Whether its body had to be cut.
    pub is_cut: bool,
}

impl Chosen {
    /// What is shown of it, before it is cut.
    fn body(&self) -> &str {
        self.warnings.as_deref().unwrap_or(&self.topic.body)
    }

    fn only_warnings(&self) -> bool {
        self.warnings.is_some()
    }
}

/// What came of memory for a request.
#[derive(Clone, Debug, Default)]
pub struct Recalled {
    /// The memories that are in the text, the best first.
    pub chosen: Vec<Chosen>,
    /// What joins the turn: one block, framed as data. `None` if nothing helps.
    pub text: Option<String>,
    /// Its tokens.
    pub tokens: u64,
    /// Who chose.
    pub by: SelectedBy,
    /// What that cost, if a model was asked.
    pub receipt: Option<Receipt>,
    /// What went wrong on the way, for the record.
    pub trouble: Option<String>,
}

//! Who chooses among memories that may help.

use super::{Ask, Candidate};
use crate::memories::MemoryId;
use throughline_model::{BoxFuture, Receipt};

/// Who chooses.
pub trait Selector: Send + Sync {
    /// Chooses among candidates, the best first. It never fails: who can't choose says so in [`Selection::trouble`] and leaves
    /// the choice to rank.
    fn select<'a>(&'a self, candidates: &'a [Candidate], ask: &'a Ask<'a>) -> BoxFuture<'a, Selection>;

    /// Whether it wants to see memories as well that share no words with the request.
    fn wants_all(&self) -> bool {
        false
    }
}

/// What was chosen.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Which, the best first.
    pub ids: Vec<MemoryId>,
    /// Who chose.
    pub by: SelectedBy,
    /// What it cost, if a model was asked.
    pub receipt: Option<Receipt>,
    /// Why the model's choice was not taken.
    pub trouble: Option<String>,
}

/// Who chose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SelectedBy {
    /// Their rank alone.
    #[default]
    Rank,
    /// A model.
    Model,
}

/// Takes those that fit, and of these the ones that are not far behind the best. No model, no cost, always the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByRank;

impl ByRank {
    /// The choice.
    pub fn choose(candidates: &[Candidate], ask: &Ask<'_>) -> Selection {
        let best = candidates.iter().filter(|one| one.fits).map(|one| one.score).fold(0.0, f32::max);
        let near = |one: &&Candidate| one.fits && one.score >= best * ask.limits.near_best;
        let mut chosen: Vec<&Candidate> = candidates.iter().filter(near).collect();
        chosen.sort_by(|a, b| b.score.total_cmp(&a.score));
        let ids = chosen.into_iter().take(ask.limits.most).map(|one| one.id.clone()).collect();
        Selection { ids, ..Selection::default() }
    }
}

impl Selector for ByRank {
    fn select<'a>(&'a self, candidates: &'a [Candidate], ask: &'a Ask<'a>) -> BoxFuture<'a, Selection> {
        Box::pin(std::future::ready(Self::choose(candidates, ask)))
    }
}

//! From what was gathered to findings.

use super::spot::Spot;
use crate::handbook::{Basis, Finding, FindingKind, Reach, TaskOutcome};
use throughline_core::SessionId;
use throughline_core::text::one_line;

/// Characters of a finding.
pub(super) const LONGEST: usize = 300;
/// Places that bear out one finding.
const MOST_EVIDENCE: usize = 6;

/// A finding whose session is not named yet.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) kind: FindingKind,
    pub(super) basis: Basis,
    pub(super) text: String,
    pub(super) quote: Option<String>,
    pub(super) keywords: Vec<String>,
    pub(super) reach: Reach,
    pub(super) outcome: Option<TaskOutcome>,
    pub(super) spots: Vec<Spot>,
}

impl Told {
    pub(super) fn new(kind: FindingKind, basis: Basis, text: String, spots: Vec<Spot>) -> Self {
        Self {
            kind,
            basis,
            text,
            quote: None,
            keywords: Vec::new(),
            reach: Reach::Project,
            outcome: None,
            spots,
        }
    }

    pub(super) fn finding(self, session: &SessionId) -> Option<Finding> {
        let mut evidence = Vec::new();
        for spot in self.spots.iter().rev() {
            let place = spot.evidence(session);
            if evidence.len() < MOST_EVIDENCE && !evidence.contains(&place) {
                evidence.push(place);
            }
        }
        evidence.reverse();
        (!evidence.is_empty() && !self.text.trim().is_empty()).then(|| Finding {
            kind: self.kind,
            basis: self.basis,
            text: one_line(&self.text, LONGEST),
            quote: self.quote,
            evidence,
            keywords: self.keywords,
            reach: self.reach,
            outcome: self.outcome,
        })
    }
}

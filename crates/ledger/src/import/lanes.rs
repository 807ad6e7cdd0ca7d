//! The ledgers that one file is written to: its own session's, and those of its sub-agents.

use super::outcome::{Facts, Lane};
use super::report::FileReport;
use super::target::{Others, Target};
use crate::LedgerError;
use std::collections::HashMap;
use throughline_core::{ForkPoint, Meta, Watermark};

#[derive(Default)]
pub(super) struct Lanes {
    pub(super) targets: HashMap<Lane, Target>,
    /// First lines of sessions that were begun in the part that is in the ledgers already.
    pub(super) begun: HashMap<Lane, Meta>,
    /// The ledgers' source was another file.
    pub(super) anew: bool,
    pub(super) fork: Option<ForkPoint>,
    pub(super) others: Others,
    /// The lines that end before this byte are not told of again.
    pub(super) done: u64,
    /// What was known when the part that is in the ledger ended.
    pub(super) old: Option<Box<Facts>>,
}

impl Lanes {
    /// Sub-agents first: the file's own session says how far the file was read, and must not say too much.
    pub(super) fn flush(
        &mut self,
        watermark: &Watermark,
        facts: Vec<(Lane, Facts)>,
    ) -> Result<(), LedgerError> {
        for (lane, facts) in facts.into_iter().rev() {
            if let Some(target) = self.targets.get_mut(&lane) {
                target.flush(watermark, facts, lane == Lane::MAIN)?;
            }
        }
        Ok(())
    }

    pub(super) fn end(&mut self, report: &mut FileReport) -> Result<(), LedgerError> {
        for target in self.targets.values_mut() {
            target.end(&self.others)?;
            report.messages += target.messages;
            if target.lost > 0 {
                report.notes.push(format!("{} kept messages are not in the ledger", target.lost));
            }
        }
        Ok(())
    }
}

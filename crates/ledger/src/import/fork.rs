//! Forks of Codex that hold no copy of their parent's history: the parent's ledger is referred to, not copied.

use super::codex::CodexImporter;
use super::outcome::{ForkRef, Importer, Lane};
use super::peek::Keys;
use super::scratch::Scratch;
use super::source::{self, Format};
use super::target::Others;
use super::{peek, pump};
use crate::lines::Content;
use crate::{Home, LedgerError};
use std::path::{Path, PathBuf};
use throughline_core::{ForkPoint, SessionId};

/// How many parents of parents there may be.
const DEPTH: usize = 32;

/// A parent, read up to where the fork left it.
pub(super) struct Parent {
    pub(super) importer: CodexImporter,
    ledger: PathBuf,
    /// What its lines up to there came to.
    made: Keys,
    /// Where the messages of the parent and its own parents are.
    pub(super) others: Others,
}

impl Parent {
    /// The place in the parent's ledger. Only the first answer counts.
    pub(super) fn point(&mut self, home: &Home, fork: &ForkRef) -> Result<ForkPoint, LedgerError> {
        Ok(ForkPoint {
            session: fork.session.clone(),
            path: home.relative(&self.ledger),
            offset: peek::end_of(&self.ledger, std::mem::take(&mut self.made))?,
            message: self.importer.tip(),
        })
    }
}

/// Rebuilds what the importer knew of the parent; `None` where its ledger or its file is not there.
pub(super) fn parent(
    fork: &ForkRef,
    scratch: &Scratch,
    ledger_of: impl Fn(&SessionId) -> Option<PathBuf>,
) -> Result<Option<Parent>, LedgerError> {
    Search { scratch, ledger_of: &ledger_of }.find(fork, DEPTH)
}

struct Search<'a> {
    scratch: &'a Scratch,
    ledger_of: &'a dyn Fn(&SessionId) -> Option<PathBuf>,
}

impl Search<'_> {
    fn find(&self, fork: &ForkRef, depth: usize) -> Result<Option<Parent>, LedgerError> {
        let (Some(ledger), Some(depth)) = ((self.ledger_of)(&fork.session), depth.checked_sub(1)) else {
            return Ok(None);
        };
        let Some(watermark) = peek::card(&ledger)?.and_then(|card| card.watermark) else { return Ok(None) };
        let file = PathBuf::from(&watermark.path);
        if !file.is_file() || source::detect(&file)? != Some(Format::Codex) {
            return Ok(None);
        }
        let options = source::codex_options(&file);
        let grand = fork_of(&file)?.map(|grand| self.find(&grand, depth)).transpose()?.flatten();
        let (mut importer, mut others) = match grand {
            Some(parent) => (parent.importer.forked(options), parent.others),
            None => (CodexImporter::remembering_in(options, self.scratch), Others::new()),
        };
        let made = pump::replay(&mut importer, &file, fork.before_ordinal, watermark.offset)?;
        others.insert(fork.session.clone(), peek::offsets(&ledger, self.scratch)?);
        Ok(Some(Parent { importer, ledger, made, others }))
    }
}

/// The parent that a rollout itself names.
fn fork_of(path: &Path) -> Result<Option<ForkRef>, LedgerError> {
    let mut importer = CodexImporter::new(source::codex_options(path));
    let mut lines = source::lines(path)?;
    let mut out = Vec::new();
    while let Some(line) = lines.next_line()? {
        if let Content::Whole(bytes) = line.bytes {
            importer.line(bytes, &mut out);
            out.clear();
        }
        if let Some(facts) = importer.facts(Lane::MAIN) {
            return Ok(facts.fork);
        }
    }
    Ok(None)
}

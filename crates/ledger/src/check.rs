//! Verifies a ledger line by line.

use crate::blobs::{self, Blobs};
use crate::home::Home;
use crate::lines::{Content, ForwardLines, open_at};
use crate::list::{TAIL, newest_card};
use crate::reader::decode;
use crate::resume::messages_in;
use crate::{LedgerError, Problem, ProblemKind, resume};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use throughline_core::invariants::{Violation, check as check_rules};
use throughline_core::{Edit, Item, Message, Op, Record};

/// What a check found.
#[derive(Debug, Serialize)]
pub struct Check {
    /// Lines, readable or not.
    pub lines: u64,
    /// Records by kind.
    pub records: BTreeMap<&'static str, u64>,
    /// Blobs referred to.
    pub blobs: u64,
    /// Messages in the view.
    pub view: usize,
    /// What is wrong with the file.
    pub problems: Vec<Problem>,
    /// API rules that the view breaks as it stands; an encoder repairs them.
    pub violations: Vec<Violation>,
}

/// Reads every line, follows every reference, and resumes the session.
pub fn check(home: &Home, path: &Path) -> Result<Check, LedgerError> {
    let mut scan = Checker::new(home, path);
    scan.lines()?;
    scan.references();
    scan.card_and_mode()?;
    let resumed = resume(home, path)?;
    for problem in resumed.problems {
        if !scan.out.problems.iter().any(|known| known.offset == problem.offset && known.kind == problem.kind)
        {
            scan.out.problems.push(problem);
        }
    }
    let shown: Vec<_> = resumed.view.messages().collect();
    scan.out.view = shown.len();
    scan.out.violations = check_rules(&shown.iter().map(|m| (**m).clone()).collect::<Vec<Message>>());
    scan.out.problems.sort_by_key(|problem| problem.offset);
    Ok(scan.out)
}

struct Checker<'a> {
    home: &'a Home,
    path: &'a Path,
    blobs: Blobs,
    out: Check,
    /// Where each message's line begins; names are kept as hashes, since ledgers hold millions.
    at: HashMap<u128, u64>,
    parents: Vec<(u64, u64, u128, String)>,
    targets: Vec<(u64, u64, u128, String)>,
    kept: Vec<(u64, u64, u128, String, u64)>,
    edits: HashSet<u128>,
    undos: Vec<(u64, u64, u128, String)>,
    checked_blobs: HashSet<String>,
    is_fork: bool,
}

fn key(id: &str) -> u128 {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
    u128::from_le_bytes(bytes)
}

impl<'a> Checker<'a> {
    fn new(home: &'a Home, path: &'a Path) -> Self {
        Self {
            home,
            path,
            blobs: Blobs::of(home),
            out: Check {
                lines: 0,
                records: BTreeMap::new(),
                blobs: 0,
                view: 0,
                problems: Vec::new(),
                violations: Vec::new(),
            },
            at: HashMap::new(),
            parents: Vec::new(),
            targets: Vec::new(),
            kept: Vec::new(),
            edits: HashSet::new(),
            undos: Vec::new(),
            checked_blobs: HashSet::new(),
            is_fork: false,
        }
    }

    fn report(&mut self, line: u64, offset: u64, kind: ProblemKind) {
        self.out.problems.push(Problem { path: self.path.to_owned(), offset, line: Some(line), kind });
    }

    fn lines(&mut self) -> Result<(), LedgerError> {
        let mut lines = ForwardLines::new(open_at(self.path, 0)?, self.path, 0);
        while let Some(line) = lines.next_line()? {
            self.out.lines += 1;
            let (number, offset) = (self.out.lines, line.offset);
            match (line.bytes, line.complete) {
                (_, false) => self.report(number, offset, ProblemKind::Torn),
                (Content::TooLong(bytes), true) => self.report(number, offset, ProblemKind::TooLong(bytes)),
                (Content::Whole([]), true) => {}
                (Content::Whole(bytes), true) => self.line(number, offset, bytes),
            }
        }
        Ok(())
    }

    fn line(&mut self, number: u64, offset: u64, bytes: &[u8]) {
        if blobs::has_blobs(bytes)
            && let Ok(value) = throughline_core::parse_json(bytes)
        {
            let mut found = HashSet::new();
            blobs::referenced(&value, &mut found);
            for hash in found {
                self.out.blobs += 1;
                if self.checked_blobs.insert(hash.clone()) && self.blobs.get(&hash).is_none() {
                    self.report(number, offset, ProblemKind::MissingBlob(hash));
                }
            }
        }
        let record = match decode(&self.blobs, bytes, &mut Vec::new()) {
            Ok(record) => record,
            Err(kind) => return self.report(number, offset, kind),
        };
        *self.out.records.entry(record.kind()).or_default() += 1;
        match &record {
            Record::Meta(meta) => {
                self.is_fork = meta.forked_from.is_some();
                if let Some(fork) = &meta.forked_from
                    && self.home.find_exact(&fork.session).is_err()
                {
                    self.report(number, offset, ProblemKind::MissingParent(fork.session.to_string()));
                }
            }
            Record::Edit(edit) => self.edit(number, offset, edit),
            Record::Checkpoint(checkpoint) => {
                self.edits.insert(key(checkpoint.id.as_str()));
                for item in &checkpoint.items {
                    if let Item::Keep { id, origin, .. } = item
                        && origin.session.is_none()
                    {
                        self.kept.push((number, offset, key(id.as_str()), id.to_string(), origin.offset));
                    }
                }
            }
            Record::Message(message) => {
                if let Some(parent) = &message.parent {
                    self.parents.push((number, offset, key(parent.as_str()), parent.to_string()));
                }
            }
            Record::Turn(_) | Record::Event(_) | Record::Card(_) => {}
        }
        for message in messages_in(record) {
            if self.at.insert(key(message.id.as_str()), offset).is_some() {
                self.report(number, offset, ProblemKind::DuplicateId(message.id.to_string()));
            }
        }
    }

    fn edit(&mut self, number: u64, offset: u64, edit: &Edit) {
        self.edits.insert(key(edit.id.as_str()));
        for op in &edit.ops {
            let targets = match op {
                Op::Replace { message, .. } => vec![message],
                Op::Remove { messages } | Op::Pin { messages } | Op::Unpin { messages } => {
                    messages.iter().collect()
                }
                Op::Fold { first, last, .. } => vec![first, last],
                Op::Rewind { to } => to.iter().collect(),
                Op::Undo { edit } => {
                    self.undos.push((number, offset, key(edit.as_str()), edit.to_string()));
                    Vec::new()
                }
            };
            self.targets.extend(targets.iter().map(|id| (number, offset, key(id.as_str()), id.to_string())));
        }
    }

    /// A fork's lines may name messages and edits of its parents, so there only what this file must hold is asked.
    fn references(&mut self) {
        let mut found = Vec::new();
        if !self.is_fork {
            for (line, offset, key, id) in self.parents.drain(..) {
                if !self.at.contains_key(&key) {
                    found.push((line, offset, ProblemKind::UnknownParent(id)));
                }
            }
            for (line, offset, key, id) in self.targets.drain(..) {
                if !self.at.contains_key(&key) {
                    found.push((line, offset, ProblemKind::UnknownTarget(id)));
                }
            }
            for (line, offset, key, id) in self.undos.drain(..) {
                if !self.edits.contains(&key) {
                    found.push((line, offset, ProblemKind::BadUndo(id)));
                }
            }
        }
        for (line, offset, key, id, at) in self.kept.drain(..) {
            match self.at.get(&key) {
                Some(&found_at) if found_at == at => {}
                Some(_) => found.push((line, offset, ProblemKind::Misplaced(id))),
                None => found.push((line, offset, ProblemKind::MissingMessage(id))),
            }
        }
        for (line, offset, kind) in found {
            self.report(line, offset, kind);
        }
    }

    fn card_and_mode(&mut self) -> Result<(), LedgerError> {
        let file = File::open(self.path).map_err(LedgerError::io("open", self.path))?;
        let meta = file.metadata().map_err(LedgerError::io("look at", self.path))?;
        let end = meta.len();
        if !self.out.records.contains_key("meta") {
            self.report(1, 0, ProblemKind::NoMeta);
        }
        let near = newest_card(&file, self.path, end)?.is_some_and(|(at, _)| end - at <= TAIL);
        if !near {
            self.report(self.out.lines, end, ProblemKind::NoCard);
        }
        #[cfg(unix)]
        {
            let mode = std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o777;
            if mode & 0o077 != 0 {
                self.report(1, 0, ProblemKind::Exposed(format!("{mode:o}")));
            }
        }
        Ok(())
    }
}

//! One consolidation, from the store's outputs to a new edition.

use super::by_model::{Consolidator, Failed};
use super::diff::{markdown, statuses};
use super::editions::{Synced, edition};
use super::error::Phase2Error;
use super::folder::Files;
use super::heartbeat::while_held;
use super::inputs;
use super::open::{Open, hash_of};
use super::past::{Entry, RecordKind};
use super::paths::{DIFF, EVIDENCE, MEMORY, Part, SUMMARY, part, skill_of};
use super::staging::Staging;
use super::state::About;
use super::validate::{Check, Checked};
use super::workspace::Workspace;
use crate::handbook::book::{Book, Material, consolidate};
use crate::handbook::{EvidenceKey, HandNote, Scope};
use crate::notes::Author;
use crate::store::{Consolidated, Cost, Held, Lease, Output, Store};
use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;
use throughline_core::cost::Dollars;
use throughline_core::tokens::Counter;
use throughline_model::{CancelToken, Receipt};

/// How often others may be faster before it is given up.
const TRIES: u32 = 3;

/// A consolidation to be done.
pub struct Phase2<'a> {
    /// Where outputs come from and editions go.
    pub store: &'a dyn Store,
    /// The handbook.
    pub workspace: &'a Workspace,
    /// Proves that it is ours to do.
    pub lease: &'a Lease,
    /// The model that consolidates; `None`: the offline scribe does.
    pub model: Option<Consolidator<'a>>,
    /// Counts the summary.
    pub counter: &'a mut Counter,
    /// Stops it.
    pub cancel: CancelToken,
    /// The time.
    pub now: Timestamp,
}

/// What came of it. The store is still to be told: [`Store::finish_consolidate`].
#[derive(Debug)]
pub struct Phase2Done {
    /// What happened.
    pub outcome: Phase2Outcome,
    /// For the store.
    pub consolidated: Consolidated,
    /// What was taken in from another machine first.
    pub synced: Synced,
    /// Files that people had changed by hand since the last edition; the history has them as they were.
    pub edits: Vec<String>,
    /// Files that changed.
    pub changed: Vec<String>,
    /// What the model wrote and was not used, in words for people.
    pub dropped: Vec<String>,
    /// Why the model did not do it, where the offline scribe did instead.
    pub instead: Option<String>,
    /// What the model cost.
    pub receipts: Vec<Receipt>,
}

/// What happened. All are normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase2Outcome {
    /// There is nothing to make a handbook of, and there was none.
    Nothing,
    /// Nothing changed since the last edition.
    Unchanged,
    /// The same was consolidated before, and somebody took it back.
    TakenBack,
    /// There is a new edition.
    Consolidated(Author),
}

/// Consolidates a handbook (H3): exactly what changed, into a new edition, or nothing at all.
///
/// 1. Holds the folder; finishes what a crash left; records what people changed by hand.
/// 2. Takes in a newer edition of another machine.
/// 3. Chooses the outputs, and writes them as files, in memory.
/// 4. Compares with the last edition: without a difference, or where the same was taken back before, it ends here.
/// 5. Consolidates, by a model's fork on a copy, or offline.
/// 6. Looks whether the folder is as it was, and the lease still held.
/// 7. Publishes the edition, if no other was meanwhile; else it starts over, at most twice.
/// 8. Records it, and puts its files in place.
///
/// # Errors
/// In all cases the handbook's files are as they were.
pub async fn consolidate_handbook(mut job: Phase2<'_>) -> Result<Phase2Done, Phase2Error> {
    let began = Instant::now();
    let mut receipts = Vec::new();
    for _ in 0..TRIES {
        if let Some(mut done) = attempt(&mut job, &mut receipts).await? {
            done.consolidated.cost = cost(&job, (&done, &receipts), began);
            done.receipts = receipts;
            return Ok(done);
        }
    }
    Err(Phase2Error::Disturbed { times: TRIES })
}

/// `None` if others were faster.
async fn attempt(
    job: &mut Phase2<'_>,
    receipts: &mut Vec<Receipt>,
) -> Result<Option<Phase2Done>, Phase2Error> {
    let Workspace { scope, limits, .. } = job.workspace;
    let newest = job.store.edition(scope).await?;
    let after = newest.as_ref().map_or(0, |newest| newest.number);
    // 1, 2.
    let mut open = Open::new(job.workspace, job.now)?;
    let synced = match newest {
        Some(newest) => open.take_in(newest, job.now)?,
        None => Synced::default(),
    };
    let memory = open.adopt(job.now)?;
    // 3.
    let outputs = outputs(job).await?;
    let notes = job.workspace.notes_in(&open.files);
    let shown = shown(job, &outputs, &notes);
    let written = inputs::files(scope, &shown);
    let hand = open.hand();
    let hash = inputs::hash(scope, &written, &hand);
    let with_inputs = with_inputs(&open, &written);
    // 4.
    let selected =
        shown.iter().map(|output| (output.source.session.clone(), output.source.updated)).collect();
    let mut done = Phase2Done {
        outcome: Phase2Outcome::Unchanged,
        consolidated: Consolidated { selected, edition: None, cost: nothing() },
        synced,
        edits: open.edits.clone(),
        changed: Vec::new(),
        dropped: Vec::new(),
        instead: None,
        receipts: Vec::new(),
    };
    if shown.is_empty() && notes.is_empty() && open.baseline.is_empty() {
        done.outcome = Phase2Outcome::Nothing;
        return Ok(Some(done));
    }
    if statuses(&open.baseline, &with_inputs).is_empty() {
        // What code writes is as code wrote it, whoever changed it.
        done.changed = open.restore(with_inputs)?;
        return Ok(Some(done));
    }
    if open.state.about.undone.contains(&hash) {
        done.outcome = Phase2Outcome::TakenBack;
        return Ok(Some(done));
    }
    // 5.
    let before = memory.map(|memory| book_before(&open, &memory));
    let sources = Sources { outputs: &outputs, shown: &shown, notes: &notes, before: before.as_ref() };
    let foreign = open.foreign_skills();
    let made = match &job.model {
        None => offline(job.workspace, job.now, &sources, job.counter),
        Some(model) => {
            let mut staged = with_inputs.clone();
            let diff = markdown(&open.baseline, &with_inputs, limits.diff_bytes);
            job.workspace.folder.write(DIFF, diff.as_bytes())?;
            staged.insert(DIFF.to_owned(), diff.into_bytes());
            let mut staging = Staging::new(&staged, &foreign, limits);
            let mut check = Check {
                scope,
                outputs: &shown,
                notes: &notes,
                before: before.as_ref(),
                limits,
                counter: job.counter,
            };
            let cancel = job.cancel.child_token();
            let work = model.run(&mut staging, &mut check, &cancel);
            let forks = while_held(job.store, job.lease, limits.heartbeat(), (work, &cancel)).await;
            job.workspace.folder.remove(DIFF)?;
            let forks = forks?;
            receipts.extend(forks.receipts);
            match forks.result {
                Ok(checked) => by_model(checked, (limits.summary_tokens, job.counter), &mut done),
                Err(Failed::Cancelled) => return Err(Phase2Error::Cancelled),
                Err(failed) if model.or_offline => {
                    done.instead = Some(failed.why());
                    offline(job.workspace, job.now, &sources, job.counter)
                }
                Err(failed) => return Err(failed.error()),
            }
        }
    };
    // 6.
    if job.cancel.is_cancelled() {
        return Err(Phase2Error::Cancelled);
    }
    if !open.is_undisturbed()? {
        return Ok(None);
    }
    let (files, about) = files(&open, &made, (written, hand, &foreign));
    match job.store.renew(job.lease).await? {
        Held::Held => {}
        Held::Lost => return Err(Phase2Error::Lost),
    }
    // 7.
    let edition = edition(scope, job.now, (&files, Some(&hash), &about));
    let Some(number) = job.store.publish(&edition, after).await? else { return Ok(None) };
    // 8.
    let entry = Entry {
        kind: RecordKind::Consolidated,
        what: format!(
            "Consolidate {} sessions and {} notes, {} statements",
            shown.len(),
            notes.len(),
            made.book.entries().len()
        ),
        inputs: Some(hash),
        undoes: None,
        at: job.now,
    };
    let state = open.state_with(number, about);
    done.changed = open.put(&entry, files, state)?;
    done.outcome = Phase2Outcome::Consolidated(made.by);
    done.consolidated.edition = Some(number);
    Ok(Some(done))
}

/// What there is to consolidate.
struct Sources<'a> {
    /// All outputs; for the global handbook of all projects.
    outputs: &'a [Output],
    /// Those of them that are shown.
    shown: &'a [Output],
    notes: &'a [HandNote],
    before: Option<&'a Book>,
}

/// A new book.
struct Made {
    book: Book,
    summary: String,
    skills: BTreeMap<String, String>,
    by: Author,
}

fn offline(workspace: &Workspace, now: Timestamp, sources: &Sources<'_>, counter: &mut Counter) -> Made {
    let Workspace { scope, limits, .. } = workspace;
    let outputs = match scope {
        Scope::Global => sources.outputs,
        Scope::Project(_) => sources.shown,
    };
    let Sources { notes, before, .. } = *sources;
    let book = consolidate(&Material { scope, outputs, notes, before, now, limits });
    let summary = book.summary(limits.summary_tokens, counter);
    let skills = book.skills().into_iter().take(limits.skills);
    let skills = skills.map(|skill| (skill.name.clone(), skill.to_markdown())).collect();
    Made { book, summary, skills, by: Author::Offline }
}

fn by_model(checked: Checked, (tokens, counter): (u64, &mut Counter), done: &mut Phase2Done) -> Made {
    let Checked { book, summary, skills, dropped } = checked;
    done.dropped = dropped;
    let summary = summary.unwrap_or_else(|| book.summary(tokens, counter));
    Made { book, summary, skills, by: Author::Model }
}

/// The outputs that a handbook may rest on. What is of another project is left out, whatever the store says.
async fn outputs(job: &Phase2<'_>) -> Result<Vec<Output>, Phase2Error> {
    let Workspace { scope, limits, .. } = job.workspace;
    let unused = SignedDuration::from_hours(24 * i64::from(limits.unused_days));
    let cutoff = job.now.checked_sub(unused).ok();
    let mut outputs = job.store.outputs(scope, cutoff, limits.outputs).await?;
    outputs.retain(|output| match scope {
        Scope::Global => true,
        Scope::Project(key) => output.source.project == *key,
    });
    outputs.sort_by(|a, b| a.source.session.cmp(&b.source.session));
    Ok(outputs)
}

/// What of the outputs may be read in the folder. In the global one that is what holds everywhere, and nothing else of any project.
fn shown(job: &Phase2<'_>, outputs: &[Output], notes: &[HandNote]) -> Vec<Output> {
    let Workspace { scope, limits, .. } = job.workspace;
    match scope {
        Scope::Project(_) => outputs.to_vec(),
        Scope::Global => {
            let book = consolidate(&Material { scope, outputs, notes, before: None, now: job.now, limits });
            let named: BTreeSet<&EvidenceKey> =
                book.entries().iter().flat_map(|entry| &entry.evidence).collect();
            let mut shown = outputs.to_vec();
            for output in &mut shown {
                let findings = &mut output.extraction.findings;
                findings.retain(|finding| finding.evidence.iter().any(|place| named.contains(&place.key())));
            }
            shown.retain(|output| !output.extraction.findings.is_empty());
            shown
        }
    }
}

/// The handbook's files, with the material as it is now, and the evidence as code wrote it.
fn with_inputs(open: &Open<'_>, written: &Files) -> Files {
    let mut files = open.of(|path| part(path) != Some(Part::Material));
    files
        .extend(open.baseline.get_key_value(EVIDENCE).map(|(path, content)| (path.clone(), content.clone())));
    files.extend(written.iter().map(|(path, content)| (path.clone(), content.clone())));
    files
}

/// The book as people have it, over the evidence as code wrote it.
fn book_before(open: &Open<'_>, memory: &str) -> Book {
    let evidence = open.baseline.get(EVIDENCE).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    Book::parse(memory, &evidence.unwrap_or_default()).0
}

/// All files of the new edition, and what is said beside them. Of what people wrote it has what was consolidated.
fn files(
    open: &Open<'_>,
    made: &Made,
    (written, hand, foreign): (Files, Files, &BTreeSet<String>),
) -> (Files, About) {
    let mut files = open.of(|path| skill_of(path).is_some_and(|name| foreign.contains(name)));
    files.extend(hand);
    files.extend(written);
    files.insert(MEMORY.to_owned(), made.book.to_markdown().into_bytes());
    files.insert(EVIDENCE.to_owned(), made.book.evidence_markdown().into_bytes());
    files.insert(SUMMARY.to_owned(), made.summary.clone().into_bytes());
    let mut about = About::default();
    for (name, text) in made.skills.iter().filter(|(name, _)| !foreign.contains(*name)) {
        let path = format!("skills/{name}/SKILL.md");
        if skill_of(&path).is_some() {
            about.skills.insert(name.clone(), hash_of(text.as_bytes()));
            files.insert(path, text.clone().into_bytes());
        }
    }
    (files, about)
}

fn nothing() -> Cost {
    Cost { by: Author::Offline, model: None, tokens: 0, dollars: Dollars::ZERO, seconds: 0.0 }
}

fn cost(job: &Phase2<'_>, (done, receipts): (&Phase2Done, &[Receipt]), began: Instant) -> Cost {
    let by = match done.outcome {
        Phase2Outcome::Consolidated(by) => by,
        Phase2Outcome::Nothing | Phase2Outcome::Unchanged | Phase2Outcome::TakenBack => Author::Offline,
    };
    let asked = job.model.as_ref().filter(|_| !receipts.is_empty());
    Cost {
        by,
        model: asked.map(|model| model.model.id().to_owned()),
        tokens: receipts.iter().map(Receipt::tokens).sum(),
        dollars: receipts.iter().fold(Dollars::ZERO, |sum, receipt| sum + Dollars::new(receipt.dollars)),
        seconds: began.elapsed().as_secs_f64(),
    }
}

//! What each of several processes does to one folder of memories, and whether all of it is there afterwards.
//!
//! Used by a test and by the benchmark `memory-writers`, which takes this file in.

use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use throughline_memory::topics::{
    Added, By, Change, ChangeKind, Meta, NewTopic, Source, TopicError, TopicStore, TopicType,
};
use throughline_memory::usage::{UsageLog, Use, Used};

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// The memory that all writers confirm.
pub(crate) const SHARED: &str = "feedback_shared.md";
/// Memories that a writer leaves at most; it forgets its oldest.
const MOST: usize = 12;

/// The folder, and beside it what writers say they have done.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    root: PathBuf,
}

impl Place {
    pub(crate) fn new(root: &Path) -> Self {
        Self { root: root.to_owned() }
    }

    pub(crate) fn store(&self) -> TopicStore {
        TopicStore::open(self.root.join("memory"))
    }

    fn usage(&self) -> UsageLog {
        UsageLog::of(&self.root.join("memory"))
    }

    fn said(&self, writer: usize) -> PathBuf {
        self.root.join(format!("said-{writer}"))
    }

    /// What there is before anybody writes.
    pub(crate) fn prepare(&self) -> Outcome<()> {
        let added = self.store().add(NewTopic {
            kind: TopicType::Feedback,
            name: "Shared".to_owned(),
            description: "What everybody says again and again".to_owned(),
            body: "What everybody says again and again.".to_owned(),
            meta: Meta::default(),
        })?;
        match added {
            Added::Saved(saved) if saved.file == SHARED => Ok(()),
            other @ (Added::Saved(_) | Added::Similar(_)) => {
                Err(format!("the first memory is not as it should be: {other:?}").into())
            }
        }
    }
}

/// One writer at work.
pub(crate) struct Writer {
    place: Place,
    number: usize,
    said: File,
    alive: Vec<String>,
    round: usize,
    /// What was done, and what was refused since another process held the folder for too long.
    pub(crate) writes: usize,
    pub(crate) refused: usize,
}

impl Writer {
    pub(crate) fn new(place: &Place, number: usize) -> Outcome<Self> {
        let said = File::create(place.said(number))?;
        Ok(Self { place: place.clone(), number, said, alive: Vec::new(), round: 0, writes: 0, refused: 0 })
    }

    /// Adds, changes, confirms, records use, and now and then forgets and repairs. Only what was acknowledged is said.
    pub(crate) fn round(&mut self) -> Outcome<()> {
        let (store, round) = (self.place.store(), self.round);
        self.round += 1;
        let words = words(self.number, round);
        let added = store.add(NewTopic {
            kind: TopicType::Project,
            name: format!("Writer {} {}", self.number, words[..2].join(" ")),
            description: words[2..8].join(" "),
            body: words[8..].join(" "),
            meta: Meta::default(),
        });
        if let Some(added) = self.taken(added)? {
            let Added::Saved(saved) = added else { return Err(format!("not new: {added:?}").into()) };
            self.say("add", &saved.file, saved.unrecorded.as_deref())?;
            let body = Some(format!("{}\nstate-{round}", words[8..].join(" ")));
            let changed = store.update(&saved.file, Change { body, ..Change::default() });
            if let Some(changed) = self.taken(changed)? {
                self.say(&format!("update state-{round}"), &saved.file, changed.unrecorded.as_deref())?;
            }
            let one = Use {
                at: now(),
                session: Some(format!("s-{}", self.number)),
                file: saved.file.clone(),
                what: Used::Shown,
            };
            self.place.usage().record(&[one])?;
            self.say("use", &saved.file, None)?;
            self.alive.push(saved.file);
        }
        let source = Source {
            by: By::User,
            session: Some(format!("s-{}", self.number)),
            messages: vec![format!("m-{round}")],
            at: now(),
            quote: "again".to_owned(),
        };
        let confirmed = store.confirm(SHARED, source);
        if let Some(confirmed) = self.taken(confirmed)? {
            self.say("confirm", SHARED, confirmed.unrecorded.as_deref())?;
        }
        if self.alive.len() > MOST {
            let file = self.alive.remove(0);
            let forgotten = store.forget(&file, now());
            if let Some(forgotten) = self.taken(forgotten)? {
                self.say("forget", &file, forgotten.unrecorded.as_deref())?;
            }
        }
        if round % 8 == self.number {
            let repaired = store.repair_index(now());
            let repaired = self.taken(repaired)?;
            if let Some(repair) =
                repaired.filter(|repair| !repair.added.is_empty() || !repair.dropped.is_empty())
            {
                return Err(format!("the index was out of order: {repair:?}").into());
            }
        }
        Ok(())
    }

    /// A folder that was busy for ten seconds is no failure of what was acknowledged.
    fn taken<T>(&mut self, result: Result<T, TopicError>) -> Outcome<Option<T>> {
        match result {
            Ok(done) => Ok(Some(done)),
            Err(TopicError::Busy { .. }) => {
                self.refused += 1;
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn say(&mut self, what: &str, file: &str, unrecorded: Option<&str>) -> Outcome<()> {
        self.writes += 1;
        let recorded = if unrecorded.is_some() { "unrecorded" } else { "recorded" };
        Ok(writeln!(self.said, "{file} {recorded} {what}")?)
    }
}

/// What all writers said they did.
#[derive(Debug, Default)]
struct Said {
    /// Files with the last state that each was given.
    alive: BTreeMap<String, Option<String>>,
    forgotten: BTreeSet<String>,
    uses: BTreeMap<String, u64>,
    changes: BTreeMap<ChangeKind, usize>,
    unrecorded: usize,
}

impl Said {
    fn read(place: &Place, writers: usize) -> Outcome<Self> {
        let mut all = Self::default();
        *all.changes.entry(ChangeKind::Add).or_default() += 1;
        for writer in 0..writers {
            for line in fs::read_to_string(place.said(writer))?.lines() {
                let mut words = line.split(' ');
                let mut next = || words.next().unwrap_or_default().to_owned();
                let (file, recorded, what) = (next(), next(), next());
                let kind = match what.as_str() {
                    "add" => {
                        all.alive.insert(file, None);
                        ChangeKind::Add
                    }
                    "update" => {
                        all.alive.insert(file, Some(next()));
                        ChangeKind::Update
                    }
                    "confirm" => ChangeKind::Confirm,
                    "forget" => {
                        all.alive.remove(&file);
                        all.forgotten.insert(file);
                        ChangeKind::Forget
                    }
                    "use" => {
                        *all.uses.entry(file).or_default() += 1;
                        continue;
                    }
                    other => return Err(format!("nobody says {other:?}").into()),
                };
                all.unrecorded += usize::from(recorded == "unrecorded");
                *all.changes.entry(kind).or_default() += 1;
            }
        }
        Ok(all)
    }
}

/// What is not as the writers said, in words; empty if all is. What is looked for: every memory with its last words, every confirmation,
/// every use, each change in the history (where git is there), an index without a fault, and nothing left behind.
pub(crate) fn faults(place: &Place, writers: usize) -> Outcome<Vec<String>> {
    let (said, store) = (Said::read(place, writers)?, place.store());
    let mut faults = Vec::new();
    for (file, state) in &said.alive {
        match store.read(file) {
            Ok(topic) if state.as_ref().is_none_or(|state| topic.body.ends_with(state)) => {}
            Ok(topic) => faults.push(format!("{file} does not end with {state:?}: {}", topic.body)),
            Err(error) => faults.push(format!("lost: {error}")),
        }
    }
    let there: BTreeSet<String> =
        files(store.folder())?.into_iter().filter(|file| file != "MEMORY.md").collect();
    let expected: BTreeSet<String> = said.alive.keys().cloned().chain([SHARED.to_owned()]).collect();
    faults.extend(
        there
            .symmetric_difference(&expected)
            .map(|file| format!("{file} is where it should not be, or is not")),
    );
    let evidence = store.read(SHARED)?.meta.evidence as usize;
    let confirmed = said.changes.get(&ChangeKind::Confirm).copied().unwrap_or_default();
    if evidence != confirmed {
        faults.push(format!("confirmed {confirmed} times, and {evidence} are known"));
    }
    let put_away = files(&store.folder().join(".throughline/forgotten")).unwrap_or_default();
    if put_away.len() != said.forgotten.len() {
        faults.push(format!("{} were forgotten, and {} are kept", said.forgotten.len(), put_away.len()));
    }
    let counts = place.usage().read()?;
    let shown: BTreeMap<String, u64> =
        counts.counts.into_iter().map(|(file, counts)| (file, counts.shown)).collect();
    if shown != said.uses || counts.passed_over > 0 {
        faults.push(format!("uses are {shown:?}, and {} lines could not be read", counts.passed_over));
    }
    let index = store.index_for_session()?.unwrap_or_default();
    let lines = index.lines().filter(|line| line.starts_with("- [")).count();
    if lines != expected.len() {
        faults.push(format!("{lines} lines in the index for {} memories", expected.len()));
    }
    let repair = store.repair_index(now())?;
    if !repair.added.is_empty() || !repair.dropped.is_empty() {
        faults.push(format!("the index was out of order: {repair:?}"));
    }
    if has_git() {
        let mut recorded: BTreeMap<ChangeKind, usize> = BTreeMap::new();
        for change in store.history(None, 1_000_000)? {
            match change.kind {
                Some(kind) => *recorded.entry(kind).or_default() += 1,
                None => faults.push(format!("nobody made the change {}", change.what)),
            }
        }
        if recorded != said.changes || said.unrecorded > 0 {
            let (changes, lost) = (&said.changes, said.unrecorded);
            faults.push(format!(
                "the history has {recorded:?} of {changes:?}; {lost} were told to be left out"
            ));
        }
    }
    leftovers(store.folder(), &mut faults)?;
    Ok(faults)
}

/// Whether there is a git to keep the history with.
pub(crate) fn has_git() -> bool {
    std::process::Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Memories' files in a folder.
fn files(folder: &Path) -> Outcome<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".md") {
            files.push(name);
        }
    }
    Ok(files)
}

/// Files that somebody meant to take away.
fn leftovers(folder: &Path, faults: &mut Vec<String>) -> Outcome<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_ours = matches!(name.as_str(), "usage.lock");
        if name.starts_with(".tmp") || name.starts_with("tmp_") || (name.ends_with(".lock") && !is_ours) {
            faults.push(format!("{} was left behind", entry.path().display()));
        }
        if entry.file_type()?.is_dir() {
            leftovers(&entry.path(), faults)?;
        }
    }
    Ok(())
}

fn now() -> Timestamp {
    Timestamp::now()
}

/// Twenty words that no other round of any writer has.
fn words(writer: usize, round: usize) -> Vec<String> {
    let mut state = (writer as u64 + 1) << 40 | (round as u64 + 1);
    let mut word = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (0..9).map(|at| char::from(b'a' + ((mixed >> (at * 5)) % 26) as u8)).collect::<String>()
    };
    (0..20).map(|_| word()).collect()
}

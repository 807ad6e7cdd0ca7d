//! Does memory of ten thousand things cost little more than of a thousand?
//!
//! What a session pays when it begins: its project found, its memories opened, and the index told. And what it pays for one more memory.
//! Folders of two sizes take turns, so that what disturbs one disturbs the other.

use crate::Setup;
use crate::corpus::Vocabulary;
use crate::measure::{median, ratio, time, verdict};
use anyhow::{bail, ensure};
use jiff::Timestamp;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;
use tempfile::TempDir;
use throughline_ledger::Home;
use throughline_memory::topics::{Added, Meta, NewTopic, TopicType};
use throughline_memory::{Memories, MemoryPlaces, Project, Tier};

const STARTS: usize = 201;
const ADDS: u64 = 15;
/// Ten times the memories: the same for a start. A write asks of each file whether somebody changed it, so it is not flat, but far from
/// ten times as much.
const FLAT: f64 = 1.5;
const WRITE: f64 = 5.0;

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let (small, large) = if setup.quick { (200, 2_000) } else { (1_000, 10_000) };
    println!("memory-scale: a session's start and one more memory with {small} and {large} memories");
    let words = Vocabulary::of(&setup.data)?;
    let few = House::new(&words, small)?;
    let many = House::new(&words, large)?;
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..STARTS {
        times[0].push(time(&mut || few.start())?);
        times[1].push(time(&mut || many.start())?);
    }
    for n in 0..ADDS {
        times[2].push(time(&mut || few.add(&words, n))?);
        times[3].push(time(&mut || many.add(&words, n))?);
    }
    let [start_few, start_many, add_few, add_many] = times.map(median);
    println!(
        "  start: {start_few:.2?} and {start_many:.2?}; one more memory: {add_few:.2?} and {add_many:.2?}"
    );
    let mut failed = verdict("start of a session", ratio(start_many, start_few), FLAT, "×");
    failed += verdict("one more memory, recorded in the history", ratio(add_many, add_few), WRITE, "×");
    Ok(failed)
}

/// A repository and its memories.
struct House {
    dir: TempDir,
    home: Home,
    memories: u64,
}

impl House {
    fn new(words: &Vocabulary, memories: u64) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let house = Self { home: Home::new(dir.path().join("home")), dir, memories };
        let git = house.cwd().join(".git");
        fs::create_dir_all(&git)?;
        fs::create_dir_all(house.home.root())?;
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
        fs::write(git.join("config"), "[remote \"origin\"]\n\turl = https://git.example.org/me/app.git\n")?;
        let store = house.open();
        let Some(store) = store.store(Tier::Project) else { bail!("the project has no memories") };
        fs::create_dir_all(store.folder())?;
        for n in 0..memories {
            let new = topic(words, n);
            let text = format!(
                "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n{}\n",
                serde_json::to_string(&new.name)?,
                serde_json::to_string(&new.description)?,
                new.kind,
                new.body
            );
            fs::write(store.folder().join(format!("{}_{n}.md", new.kind)), text)?;
        }
        store.repair_index(Timestamp::now())?;
        // What is written once is not part of one more.
        house.add(words, 1_000)?;
        Ok(house)
    }

    fn cwd(&self) -> PathBuf {
        self.dir.path().join("app")
    }

    fn open(&self) -> Memories {
        Memories::open(&self.home, &Project::find(&self.home, &self.cwd()), &MemoryPlaces::default())
    }

    fn start(&self) -> anyhow::Result<()> {
        let index = self.open().index_for_session();
        ensure!(index.text.is_some_and(|text| text.lines().count() > 100), "the index is not told");
        Ok(())
    }

    fn add(&self, words: &Vocabulary, n: u64) -> anyhow::Result<()> {
        match self.open().add_to(Tier::Project, topic(words, self.memories + n))? {
            Added::Saved(saved) => {
                if let Some(why) = saved.unrecorded {
                    println!("  the history does not have {}: {why}", saved.file);
                }
                Ok(())
            }
            Added::Similar(known) => bail!("{} says the same", known.file),
        }
    }
}

/// A memory of drawn words.
fn topic(words: &Vocabulary, n: u64) -> NewTopic {
    let text = words.message(n).to_text();
    let part = |from: usize, count: usize| {
        text.split_whitespace().skip(from).take(count).collect::<Vec<_>>().join(" ")
    };
    NewTopic {
        kind: if n.is_multiple_of(3) { TopicType::Feedback } else { TopicType::Project },
        name: format!("{} {n}", part(0, 4)),
        description: part(4, 10),
        body: part(14, 60),
        meta: Meta::default(),
    }
}

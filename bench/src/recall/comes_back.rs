//! Our own set, `bench/data/comes_back.jsonl`: memories as they are written, requests as they are typed weeks later.
//!
//! Lines are memories (`file`, `type`, `name`, `description`, `body`) or requests (`ask`, `wants`; `fine` are memories that do no harm). A
//! request belongs to one half by a hash of its words: what was tuned was tuned on one half, and the other was held back. The limits were chosen when both had been seen.

use super::baseline::Plain;
use anyhow::{Context, bail};
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use tempfile::TempDir;
use throughline_memory::recall::{Ask, ByRank, Recall, RecallLimits};
use throughline_memory::topics::TopicStore;
use throughline_memory::{Memories, Tier};

const DATA: &str = include_str!("../../data/comes_back.jsonl");

/// Floors, for both halves.
pub(crate) const RECALL: f64 = 0.60;
pub(crate) const PRECISION: f64 = 0.45;
pub(crate) const SILENCE: f64 = 0.62;

pub(crate) struct Set {
    pub(crate) projects: Vec<Project>,
}

pub(crate) struct Project {
    name: String,
    memories: Vec<Memory>,
    requests: Vec<Request>,
}

struct Memory {
    file: String,
    kind: String,
    name: String,
    description: String,
    body: String,
}

struct Request {
    text: String,
    wants: Vec<String>,
    fine: Vec<String>,
    half: Half,
}

/// Which requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// Constants were chosen on these.
    Tuned,
    /// Nobody looked at these.
    Held,
}

impl fmt::Display for Half {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tuned => "the half that was tuned on",
            Self::Held => "the half that was held back",
        })
    }
}

impl Half {
    fn of(project: &str, text: &str) -> Self {
        let name = format!("{project}/{text}");
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
        if (hash ^ (hash >> 32)) & 1 == 0 { Self::Tuned } else { Self::Held }
    }
}

impl Set {
    pub(crate) fn read() -> anyhow::Result<Self> {
        let mut projects: Vec<Project> = Vec::new();
        for (n, line) in DATA.lines().enumerate() {
            let value: Value = serde_json::from_str(line).with_context(|| format!("line {}", n + 1))?;
            let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
            let list = |key: &str| -> Vec<String> {
                let items = value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                items.iter().filter_map(Value::as_str).map(str::to_owned).collect()
            };
            let name = text("project");
            if projects.last().is_none_or(|last| last.name != name) {
                projects.push(Project { name: name.clone(), memories: Vec::new(), requests: Vec::new() });
            }
            let Some(project) = projects.last_mut() else { bail!("line {} has no project", n + 1) };
            let ask = text("ask");
            if ask.is_empty() {
                project.memories.push(Memory {
                    file: text("file"),
                    kind: text("type"),
                    name: text("name"),
                    description: text("description"),
                    body: text("body"),
                });
            } else {
                let half = Half::of(&name, &ask);
                project.requests.push(Request { text: ask, wants: list("wants"), fine: list("fine"), half });
            }
        }
        Ok(Self { projects })
    }

    pub(crate) fn memories(&self) -> usize {
        self.projects.iter().map(|project| project.memories.len()).sum()
    }

    /// Requests that need a memory, or that need none.
    pub(crate) fn requests(&self, needy: bool) -> usize {
        let all = self.projects.iter().flat_map(|project| &project.requests);
        all.filter(|request| request.wants.is_empty() != needy).count()
    }
}

/// What came, counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    needy: f64,
    found: f64,
    right: f64,
    wrong: f64,
    needless: f64,
    alarms: f64,
}

impl Score {
    fn add(&mut self, request: &Request, came: &[String]) {
        if request.wants.is_empty() {
            self.needless += 1.0;
            self.alarms += f64::from(u8::from(!came.is_empty()));
            return;
        }
        self.needy += 1.0;
        let hits = request.wants.iter().filter(|file| came.contains(file)).count();
        self.found += hits as f64 / request.wants.len() as f64;
        let right =
            came.iter().filter(|file| request.wants.contains(file) || request.fine.contains(file)).count();
        self.right += right as f64;
        self.wrong += (came.len() - right) as f64;
    }

    /// The share of what was wanted that came.
    pub(crate) fn recall(&self) -> f64 {
        self.found / self.needy.max(1.0)
    }

    /// The share of what came, for requests that need a memory, that helps or does no harm.
    pub(crate) fn precision(&self) -> f64 {
        self.right / (self.right + self.wrong).max(1.0)
    }

    /// The share of requests that need none for which something came.
    pub(crate) fn false_alarms(&self) -> f64 {
        self.alarms / self.needless.max(1.0)
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let margin = |p: f64, n: f64| 196.0 * (p * (1.0 - p) / n.max(1.0)).sqrt();
        let (recall, precision, alarms) = (self.recall(), self.precision(), self.false_alarms());
        write!(
            f,
            "recall@5 {:5.1}±{:.1}  precision {:5.1}  false alarms {:5.1}±{:.1}  shown {:.2} a request",
            100.0 * recall,
            margin(recall, self.needy),
            100.0 * precision,
            100.0 * alarms,
            margin(alarms, self.needless),
            (self.right + self.wrong) / self.needy.max(1.0),
        )
    }
}

/// A folder with memories, as they would be on disk.
struct Shelf {
    _folder: TempDir,
    recall: Recall,
}

impl Shelf {
    fn of<'a>(memories: impl Iterator<Item = (&'a str, &'a Memory)>) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        for (prefix, memory) in memories {
            write(folder.path(), &format!("{prefix}{}", memory.file), memory)?;
        }
        let store = TopicStore::open(folder.path().to_owned()).without_history();
        let recall = Recall::new(Memories::of(vec![(Tier::Project, store)]));
        Ok(Self { _folder: folder, recall })
    }

    fn ask(&self, text: &str, limits: &RecallLimits) -> anyhow::Result<Vec<String>> {
        let shown = BTreeSet::new();
        // Some weeks later, by the files' own time.
        let now = Timestamp::now() + SignedDuration::from_hours(24 * 30);
        let ask = Ask { text, tools: &[], shown: &shown, now, root: None, limits };
        let runtime = tokio::runtime::Builder::new_current_thread().build()?;
        let recalled = runtime.block_on(self.recall.recall(&ask, &ByRank));
        Ok(recalled.chosen.into_iter().map(|one| one.id.file).collect())
    }
}

fn write(folder: &Path, file: &str, memory: &Memory) -> anyhow::Result<()> {
    let quoted = |text: &str| serde_json::to_string(text);
    let text = format!(
        "---\nname: {}\ndescription: {}\ntype: {}\n---\n\n{}\n",
        quoted(&memory.name)?,
        quoted(&memory.description)?,
        memory.kind,
        memory.body
    );
    Ok(std::fs::write(folder.join(file), text)?)
}

fn whole(memory: &Memory) -> String {
    format!("{}\n{}\n{}", memory.name, memory.description, memory.body)
}

/// Our own score on one half.
pub(crate) fn ours(set: &Set, half: Half) -> anyhow::Result<Score> {
    within(set, half, &RecallLimits::default())
}

fn within(set: &Set, half: Half, limits: &RecallLimits) -> anyhow::Result<Score> {
    let mut score = Score::default();
    for project in &set.projects {
        let shelf = Shelf::of(project.memories.iter().map(|memory| ("", memory)))?;
        for request in project.requests.iter().filter(|request| request.half == half) {
            score.add(request, &shelf.ask(&request.text, limits)?);
        }
    }
    Ok(score)
}

/// Ours and the baselines on one half, each project by itself, as in life.
pub(crate) fn measure(set: &Set, half: Half) -> anyhow::Result<Vec<(&'static str, Score)>> {
    let mut plain = Score::default();
    let mut everything = Score::default();
    for project in &set.projects {
        let texts: Vec<String> = project.memories.iter().map(whole).collect();
        let index = Plain::of(texts.iter().map(String::as_str));
        let files: Vec<String> = project.memories.iter().map(|memory| memory.file.clone()).collect();
        for request in project.requests.iter().filter(|request| request.half == half) {
            let found = index.search(&request.text).into_iter().take(5);
            plain.add(request, &found.map(|n| files[n].clone()).collect::<Vec<_>>());
            everything.add(request, &files);
        }
    }
    let unbounded = RecallLimits { floor: 0.0, near_best: 0.0, tokens: 100_000, ..RecallLimits::default() };
    // What the limits trade: the looser, the more comes back, of what helps and of what does not.
    let other = |floor: f32, near_best: f32| {
        within(set, half, &RecallLimits { floor, near_best, ..RecallLimits::default() })
    };
    Ok(vec![
        ("ours", ours(set, half)?),
        ("ours, floor 1.2, near 0.7", other(1.2, 0.7)?),
        ("ours, floor 1.0, near 0.6", other(1.0, 0.6)?),
        ("ours, floor 0.6, near 0.5", other(0.6, 0.5)?),
        ("ours without a floor", within(set, half, &unbounded)?),
        ("BM25 by the book", plain),
        ("all memories", everything),
    ])
}

/// The same with the memories of all projects in one folder.
pub(crate) fn measure_together(set: &Set) -> anyhow::Result<Vec<(&'static str, Score)>> {
    let prefixes: Vec<String> = set.projects.iter().map(|project| format!("{}_", project.name)).collect();
    let all = || {
        let projects = set.projects.iter().zip(&prefixes);
        projects.flat_map(|(project, prefix)| project.memories.iter().map(move |one| (prefix.as_str(), one)))
    };
    let shelf = Shelf::of(all())?;
    let texts: Vec<String> = all().map(|(_, memory)| whole(memory)).collect();
    let files: Vec<String> = all().map(|(prefix, memory)| format!("{prefix}{}", memory.file)).collect();
    let index = Plain::of(texts.iter().map(String::as_str));
    let limits = RecallLimits::default();
    let (mut ours, mut plain) = (Score::default(), Score::default());
    for (project, prefix) in set.projects.iter().zip(&prefixes) {
        for request in &project.requests {
            let named = |files: &[String]| files.iter().map(|file| format!("{prefix}{file}")).collect();
            let request = Request {
                text: request.text.clone(),
                wants: named(&request.wants),
                fine: named(&request.fine),
                half: request.half,
            };
            ours.add(&request, &shelf.ask(&request.text, &limits)?);
            let found = index.search(&request.text).into_iter().take(5);
            plain.add(&request, &found.map(|n| files[n].clone()).collect::<Vec<_>>());
        }
    }
    Ok(vec![("ours", ours), ("BM25 by the book", plain)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_set_is_what_it_says() {
        let set = Set::read().unwrap();
        assert!(set.projects.len() >= 12 && set.memories() >= 200);
        assert!(set.requests(true) >= 240 && set.requests(false) >= 60);
        for project in &set.projects {
            let files: BTreeSet<&str> = project.memories.iter().map(|memory| memory.file.as_str()).collect();
            assert_eq!(files.len(), project.memories.len(), "{}", project.name);
            assert!((15..=25).contains(&files.len()), "{}", project.name);
            for request in &project.requests {
                let mut named = request.wants.iter().chain(&request.fine);
                assert!(
                    named.all(|file| files.contains(file.as_str())),
                    "{}: {}",
                    project.name,
                    request.text
                );
            }
        }
    }

    #[test]
    fn m7_what_was_learnt_comes_back_when_it_helps_and_only_then() {
        let set = Set::read().unwrap();
        for half in [Half::Tuned, Half::Held] {
            let score = ours(&set, half).unwrap();
            assert!(score.recall() >= RECALL, "{half}: {score}");
            assert!(score.precision() >= PRECISION, "{half}: {score}");
            assert!(1.0 - score.false_alarms() >= SILENCE, "{half}: {score}");
        }
    }
}

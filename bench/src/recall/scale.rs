//! Does recall among ten thousand memories cost little more than among a thousand?
//!
//! Memories of drawn words, in folders of two sizes. Each time: the manifest and a recall, by a process that has asked before, and by one
//! that begins. Beside it, in the same run, what a look at every file costs.

use crate::Setup;
use crate::corpus::Vocabulary;
use crate::measure::{median, ratio, verdict};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime};
use throughline_memory::recall::{Ask, ByRank, Recall, RecallLimits};
use throughline_memory::topics::TopicStore;
use throughline_memory::{Memories, Tier};

const ROUNDS: u64 = 41;

struct Measured {
    /// The first time, when there is no catalogue.
    build: Duration,
    /// The manifest and a recall, in a process that has asked before.
    warm: Duration,
    /// The same in one that begins.
    begun: Duration,
    /// After somebody saved a memory.
    after_write: Duration,
    /// A look at every file.
    every_file: Duration,
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    let (small, large) = if setup.quick { (200, 2_000) } else { (1_000, 10_000) };
    println!("memory-scale: manifest and recall with {small} and {large} memories");
    let words = Vocabulary::of(&setup.data)?;
    let at_small = measure(&words, small)?;
    let at_large = measure(&words, large)?;
    for (n, m) in [(small, &at_small), (large, &at_large)] {
        println!(
            "  {n}: warm {:.2?}, begun {:.2?}, after a write {:.2?}; a look at every file {:.2?}; built in {:.2?}",
            m.warm, m.begun, m.after_write, m.every_file, m.build
        );
    }
    let mut failed =
        verdict("manifest and recall, ten times the memories", ratio(at_large.warm, at_small.warm), 3.0, "×");
    failed += verdict("the same when a session begins", ratio(at_large.begun, at_small.begun), 3.0, "×");
    Ok(failed)
}

fn measure(words: &Vocabulary, memories: u64) -> anyhow::Result<Measured> {
    let folder = tempfile::tempdir()?;
    let old = SystemTime::now() - Duration::from_secs(86_400);
    let write = |n: u64| -> anyhow::Result<()> {
        let text = words.message(n).to_text();
        let name: String = text.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
        let description: String = text.split_whitespace().skip(4).take(10).collect::<Vec<_>>().join(" ");
        let head = format!(
            "---\nname: {}\ndescription: {}\ntype: project\n---\n",
            serde_json::to_string(&name)?,
            serde_json::to_string(&description)?
        );
        let path = folder.path().join(format!("project_{n}.md"));
        std::fs::write(&path, head + &text)?;
        Ok(std::fs::File::options()
            .write(true)
            .open(path)?
            .set_modified(old - Duration::from_secs(n % 5_000))?)
    };
    (0..memories).try_for_each(write)?;
    std::fs::File::open(folder.path())?.set_modified(old)?;
    let store = TopicStore::open(folder.path().to_owned()).without_history();
    let opened = || Recall::new(Memories::of(vec![(Tier::Project, store.clone())]));
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let (shown, limits) = (BTreeSet::new(), RecallLimits::default());
    let ask = |recall: &Recall, n: u64| {
        let message = words.message(memories + 7 * n).to_text();
        let request: String = message.split_whitespace().take(9).collect::<Vec<_>>().join(" ");
        let ask = Ask {
            text: &request,
            tools: &[],
            shown: &shown,
            now: Timestamp::now(),
            root: None,
            limits: &limits,
        };
        std::hint::black_box((recall.manifest(ask.now), runtime.block_on(recall.recall(&ask, &ByRank))));
    };
    let time = |run: &mut dyn FnMut()| {
        let start = Instant::now();
        run();
        start.elapsed()
    };
    let recall = opened();
    let build = time(&mut || ask(&recall, 0));
    // Our own folder was made in it just now.
    std::fs::File::open(folder.path())?.set_modified(old)?;
    ask(&recall, 1);
    let warm = median((0..ROUNDS).map(|n| time(&mut || ask(&recall, n))).collect());
    let begun = median((0..ROUNDS).map(|n| time(&mut || ask(&opened(), n))).collect());
    let every_file = median(
        (0..3)
            .map(|n| {
                let query = words.message(memories + n).to_text();
                time(&mut || {
                    drop(std::hint::black_box(store.search(&query[..query.floor_char_boundary(60)], 5)))
                })
            })
            .collect(),
    );
    let mut after = Vec::new();
    for n in 0..11 {
        write(memories + n)?;
        after.push(time(&mut || ask(&recall, n)));
    }
    Ok(Measured { build, warm, begun, after_write: median(after), every_file })
}

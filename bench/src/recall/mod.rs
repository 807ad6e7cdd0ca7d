//! Does what was learnt come back when it helps, and only then?
//!
//! Two sets, each with its baselines in the same run. The first is our own: memories of twelve projects, requests as developers type
//! them later, and requests for which nothing should come ([`comes_back`]). The second is LoCoMo, each turn as a memory
//! ([`locomo`]), where the data is there.

mod baseline;
mod comes_back;
mod locomo;
pub(crate) mod scale;

use crate::Setup;
use crate::measure::verdict_at_least;
use comes_back::{Half, Set};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("recall: does what was learnt come back when it helps, and only then?");
    let set = Set::read()?;
    println!(
        "  {} memories of {} projects, {} requests that need one, {} that need none",
        set.memories(),
        set.projects.len(),
        set.requests(true),
        set.requests(false)
    );
    let mut failed = 0;
    for half in [Half::Tuned, Half::Held] {
        println!("  {half}:");
        for (name, score) in comes_back::measure(&set, half)? {
            println!("    {name:<25} {score}");
        }
        let ours = comes_back::ours(&set, half)?;
        failed += verdict_at_least("recall@5", ours.recall(), comes_back::RECALL);
        failed += verdict_at_least("precision", ours.precision(), comes_back::PRECISION);
        failed +=
            verdict_at_least("silence where nothing helps", 1.0 - ours.false_alarms(), comes_back::SILENCE);
    }
    println!("  all projects in one folder, though they never are (how well words alone tell them apart):");
    for (name, score) in comes_back::measure_together(&set)? {
        println!("    {name:<25} {score}");
    }
    Ok(failed + locomo::run(&setup.data)?)
}

//! What is being worked through: a listing of which some entries were visited, a file of which some parts were used.

use super::Archive;
use super::item::Item;

/// Strings on either side that count as neighbours.
const REACH: usize = 8;

/// For each string that a tool gave, how much of what stood around it was used since, between zero and one: the largest
/// share over all places where it stood. Strings that stand everywhere count little, whether they were used or not.
pub(super) fn around(archive: &Archive) -> Vec<f32> {
    let names: Vec<(f32, Option<u32>)> = archive
        .names
        .iter()
        .map(|name| (1.0 / (1.0 + (name.usage.items as f32).ln()), name.usage.last_written))
        .collect();
    let mut most = vec![0.0_f32; names.len()];
    // Weights of the marks up to each one: of all, and of those used later.
    let mut sums: Vec<(f32, f32)> = Vec::new();
    let given = |(_, item): &(usize, &Item)| !item.voice.is_written();
    for (at, item) in archive.items.iter().enumerate().filter(given) {
        let marks = &archive.marks[item.marks.clone()];
        let weight = |name: u32| {
            let (weight, written) = names[name as usize];
            (weight, if written.is_some_and(|written| written as usize > at) { weight } else { 0.0 })
        };
        sums.clear();
        sums.push((0.0, 0.0));
        let mut sum = (0.0, 0.0);
        for mark in marks {
            let (all, used) = weight(mark.name);
            sum = (sum.0 + all, sum.1 + used);
            sums.push(sum);
        }
        for (i, mark) in marks.iter().enumerate() {
            let (from, to) = (sums[i.saturating_sub(REACH)], sums[(i + REACH + 1).min(marks.len())]);
            let own = weight(mark.name);
            let (all, used) = (to.0 - from.0 - own.0, to.1 - from.1 - own.1);
            let here: &mut f32 = &mut most[mark.name as usize];
            *here = here.max(used / (all + 1.0));
        }
    }
    most
}

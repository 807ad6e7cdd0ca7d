//! Which requests of a long run a chart draws.

/// The most points that a line or an area is drawn with.
pub(super) const POINTS: usize = 400;

/// The places to draw, in order: all of them where they are few enough, else the first, the last, and of each stretch
/// between the lowest and the highest, so that neither peaks nor drops are lost.
pub(super) fn places(values: &[f64]) -> Vec<usize> {
    let count = values.len();
    if count <= POINTS {
        return (0..count).collect();
    }
    // Two of each stretch, and the two ends.
    let stretches = (POINTS - 2) / 2;
    let mut out = vec![0];
    for stretch in 0..stretches {
        let (from, to) = (1 + stretch * (count - 2) / stretches, 1 + (stretch + 1) * (count - 2) / stretches);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let (low, high) = ((from..to).min_by(by_value), (from..to).max_by(by_value));
        let mut pair: Vec<usize> = low.into_iter().chain(high).collect();
        pair.sort_unstable();
        pair.dedup();
        out.extend(pair);
    }
    out.push(count - 1);
    out
}

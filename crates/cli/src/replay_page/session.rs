//! One session of the page.

use super::chart::{Chart, Series, Value};
use super::{Look, RequestPart, RunPart, SessionPart, chart, sample, table};
use throughline_core::words::escape;

impl SessionPart {
    /// The session, folded unless it is to be open.
    pub(super) fn render<'a>(&'a self, open: bool, look: impl Fn(&'a str) -> Look<'a>) -> String {
        let open = if open { " open" } else { "" };
        let mut out = format!(
            "<details class=\"session\"{open}>\n<summary><b>{}</b> <span class=\"dim\">{}</span></summary>\n",
            escape(&self.name),
            escape(&self.summary())
        );
        let runs: Vec<(Look<'_>, &RunPart)> = self.runs.iter().map(|run| (look(&run.profile), run)).collect();
        let rows: Vec<_> = runs.iter().map(|(look, run)| (*look, &run.totals)).collect();
        out.push_str(&table::totals(&rows));
        out.push_str("<div class=\"charts\">\n");
        // What the competitors send must be legible beside what sending everything would: that is cut off at the top.
        let sent = |run: &RunPart| run.requests.iter().map(|r| r.kept as f64).collect::<Vec<_>>();
        let top = largest(&runs, |request| request.kept);
        out.push_str(&self.lines("Prompt tokens of each request", &runs, sent, top.map(|top| top * 1.2)));
        let competing = runs.iter().filter(|(look, _)| !look.baseline);
        let cost = competing.filter_map(|(_, run)| cumulative(run).last().copied()).reduce(f64::max);
        out.push_str(&self.lines(
            "Cost so far, in weighted tokens",
            &runs,
            cumulative,
            cost.map(|top| top * 1.6),
        ));
        // One scale for all, so that the eye can compare.
        let fates = largest(&runs, |request| request.everything() - request.summarised);
        let all =
            runs.iter().flat_map(|(_, run)| &run.requests).map(RequestPart::everything).max().unwrap_or(0)
                as f64;
        let top = fates.map_or(all, |fates| (fates * 1.5).min(all));
        for (look, run) in runs.iter().filter(|(look, run)| !look.baseline || !run.edits.is_empty()) {
            out.push_str("<figure>\n");
            out.push_str(&stack(run, top, look.colour));
            out.push_str(&table::edits(&run.edits));
            out.push_str("</figure>\n");
        }
        out.push_str("</div>\n</details>\n");
        out
    }

    /// One line for each profile, up to a top or to the largest value.
    fn lines(
        &self,
        title: &str,
        runs: &[(Look<'_>, &RunPart)],
        values: impl Fn(&RunPart) -> Vec<f64>,
        top: Option<f64>,
    ) -> String {
        let all: Vec<(&Look<'_>, Vec<f64>)> = runs.iter().map(|(look, run)| (look, values(run))).collect();
        let largest = all.iter().flat_map(|(_, v)| v).copied().fold(0.0, f64::max);
        let chart =
            Chart { title, requests: self.requests(), top: top.unwrap_or(largest).min(largest), largest };
        let series = all.iter().map(|(look, values)| Series {
            name: look.name,
            class: format!("p{}", look.colour),
            points: sample::places(values).into_iter().map(|at| Value { at, value: values[at] }).collect(),
        });
        format!("<figure>\n{}</figure>\n", chart.lines(&series.collect::<Vec<_>>()))
    }
}

/// The largest figure of any request under the profiles that compete.
fn largest(runs: &[(Look<'_>, &RunPart)], figure: impl Fn(&RequestPart) -> u64) -> Option<f64> {
    let competing = runs.iter().filter(|(look, _)| !look.baseline);
    competing.flat_map(|(_, run)| &run.requests).map(|request| figure(request) as f64).reduce(f64::max)
}

fn cumulative(run: &RunPart) -> Vec<f64> {
    let mut sum = 0.0;
    let add = |weight: f64| {
        sum += weight;
        sum
    };
    run.requests.iter().map(|request| request.weight).map(add).collect()
}

/// What became of the tokens under one profile, stacked.
fn stack(run: &RunPart, top: f64, colour: usize) -> String {
    let kept: Vec<f64> = run.requests.iter().map(|request| request.kept as f64).collect();
    let places = sample::places(&kept);
    let series: Vec<Series<'_>> = chart::FATES
        .iter()
        .enumerate()
        .map(|(index, name)| Series {
            name,
            class: format!("f{index}"),
            points: places
                .iter()
                .map(|at| Value { at: *at, value: run.requests[*at].fates()[index] as f64 })
                .collect(),
        })
        .filter(|series| series.name == "kept" || series.points.iter().any(|point| point.value > 0.0))
        .collect();
    let largest = run.requests.iter().map(RequestPart::everything).max().unwrap_or(0) as f64;
    let chart = Chart { title: &run.profile, requests: run.requests.len(), top, largest };
    chart.areas(&series, &run.edits, colour)
}

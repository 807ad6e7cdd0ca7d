//! `replay --check`: what every request must hold (G), held against what recorded sessions would have been sent.

use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim, green, red};
use serde_json::json;
use std::collections::BTreeMap;
use throughline_core::guarantee::Violation;
use throughline_core::pipeline::Rung;
use throughline_engine::replay::{GuaranteeReport, SessionReport};

/// Requests that are listed of each kind.
const MOST_LISTED: usize = 20;

/// Prints the share of requests by what was done for them, and what any of them lacked. Returns true if none lacked anything that
/// the window has room for.
pub(super) fn print(context: &Context, reports: &[SessionReport], window: u64) -> anyhow::Result<bool> {
    let mut profiles: BTreeMap<&str, GuaranteeReport> = BTreeMap::new();
    for report in reports {
        for run in &report.runs {
            if let Some(guarantee) = &run.guarantee {
                profiles.entry(&run.profile).or_default().merge(guarantee.clone());
            }
        }
    }
    let passed = profiles.values().all(|sum| sum.violations.is_empty());
    if context.json {
        let sessions: Vec<_> = reports.iter().map(session).collect();
        let sums: BTreeMap<&str, _> = profiles.iter().map(|(name, sum)| (*name, sum_json(sum))).collect();
        output::json(&json!({ "window": window, "passed": passed, "profiles": sums, "sessions": sessions }))?;
        return Ok(passed);
    }
    let requests: usize = reports.iter().map(|report| report.requests).sum();
    outln!(
        "{} sessions, {} requests, window {} tokens, on every wire\n",
        bold(reports.len()),
        output::number(requests as u64),
        output::number(window)
    );
    let heads = ["profile", "unchanged", "edited", "compacted", "degraded", "client's own", "violations"];
    let [profile, unchanged, edited, compacted, degraded, own, violations] = heads;
    outln!(
        "{}",
        dim(format!(
            "{profile:<13}{unchanged:>11}{edited:>9}{compacted:>11}{degraded:>10}{own:>14}{violations:>12}"
        ))
    );
    for (name, sum) in &profiles {
        let percent = |rung| format!("{:.2}%", sum.percent(rung));
        outln!(
            "{name:<13}{:>11}{:>9}{:>11}{:>10}{:>14}{:>12}",
            percent(Rung::Unchanged),
            percent(Rung::Edited),
            percent(Rung::Compacted),
            percent(Rung::Degraded),
            format!("{:.2}%", sum.originals_percent()),
            sum.violations.len(),
        );
    }
    for report in reports {
        for run in &report.runs {
            let Some(guarantee) = &run.guarantee else { continue };
            let place = |request: &usize| format!("{} {}, request {request}", run.profile, report.name);
            list(&guarantee.violations, |(request, lacks)| {
                format!("{} {}", red(place(request)), what(lacks))
            });
            list(&guarantee.degraded, |(request, lacks)| {
                format!("{} too small a window: {}", place(request), what(lacks))
            });
            list(&guarantee.originals, |(request, why)| format!("{} client's own: {why}", place(request)));
        }
    }
    let verdict = match passed {
        true => green("Every request holds what it must.").to_string(),
        false => red("Some requests lack what they must hold.").to_string(),
    };
    outln!("\n{verdict}");
    Ok(passed)
}

fn list<T>(all: &[T], line: impl Fn(&T) -> String) {
    for one in all.iter().take(MOST_LISTED) {
        outln!("  {}", line(one));
    }
    if all.len() > MOST_LISTED {
        outln!("  … and {} more", all.len() - MOST_LISTED);
    }
}

fn what(lacks: &Violation) -> String {
    format!("lacks {}: {}", lacks.need.name(), lacks.missing)
}

fn sum_json(sum: &GuaranteeReport) -> serde_json::Value {
    json!({
        "requests": sum.requests(),
        "rungs": sum.rungs,
        "originals": sum.originals.len(),
        "violations": sum.violations.len(),
        "degraded": sum.degraded.len(),
    })
}

fn session(report: &SessionReport) -> serde_json::Value {
    let runs = report.runs.iter().filter_map(|run| Some((&run.profile, run.guarantee.as_ref()?)));
    json!({ "name": report.name, "profiles": runs.collect::<BTreeMap<_, _>>() })
}

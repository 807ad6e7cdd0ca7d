//! From what a replay found to what its page shows.

use crate::replay_page::{EditPart, Page, ProfilePart, RequestPart, RunPart, SessionPart, TotalsPart};
use crate::times;
use jiff::Timestamp;
use throughline_core::cost::{Prices, Totals};
use throughline_engine::replay::{NeededReport, Plan, Run, SessionReport, Summary};

pub(super) fn page(reports: &[SessionReport], summaries: &[Summary], plan: &Plan, now: Timestamp) -> Page {
    let title = match reports {
        [one] => format!("Replay of {}", one.name),
        many => format!("Replay of {} sessions", many.len()),
    };
    let prices = Prices::builtin();
    Page {
        title,
        generated: times::local(now),
        notes: vec![
            format!("Context window: {} tokens.", crate::output::number(plan.window)),
            format!("Prices as of {}: {}", prices.as_of(), prices.source()),
        ],
        profiles: summaries.iter().map(profile).collect(),
        sessions: reports.iter().map(session).collect(),
    }
}

fn name(profile: &str) -> String {
    if profile == "off" { "everything".to_owned() } else { profile.to_owned() }
}

fn profile(sum: &Summary) -> ProfilePart {
    let needed = sum.needed.filter(|_| sum.judged > 0);
    let totals = TotalsPart {
        cost: Some(sum.relative_cost),
        peak: sum.peak,
        compactions: sum.compactions as u64,
        invalid: sum.violations as u64,
        ..totals(&sum.totals, needed)
    };
    ProfilePart { name: name(&sum.profile), baseline: sum.profile == "off", totals }
}

fn totals(totals: &Totals, needed: Option<NeededReport>) -> TotalsPart {
    TotalsPart {
        requests: totals.requests,
        tokens_per_request: totals.per_request(),
        cached: totals.cached_share(),
        dollars: Some(totals.dollars.as_f64()).filter(|dollars| *dollars > 0.0),
        kept: needed.map(|needed| needed.kept),
        rare: needed.and_then(|needed| needed.rare),
        pair: needed.and_then(|needed| needed.pair),
        found: needed.and_then(|needed| needed.found),
        ..TotalsPart::default()
    }
}

fn session(report: &SessionReport) -> SessionPart {
    let sums = Summary::of(std::slice::from_ref(report));
    let runs = report.runs.iter().zip(&sums).map(|(one, sum)| RunPart {
        profile: name(&one.profile),
        totals: profile(sum).totals,
        requests: requests(one),
        edits: one
            .edits
            .iter()
            .map(|edit| EditPart {
                request: edit.request,
                stage: stage(edit.stage),
                reason: edit.reason.clone(),
                freed: edit.freed,
            })
            .collect(),
    });
    let client = match report.client.as_str() {
        "claude" => "Claude Code",
        "codex" => "Codex",
        other => other,
    };
    SessionPart {
        name: report.name.clone(),
        about: format!(
            "{client}, {}, {} messages, {} requests",
            report.model, report.messages, report.requests
        ),
        runs: runs.collect(),
    }
}

fn stage(stage: throughline_core::Stage) -> String {
    serde_json::to_value(stage).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

fn requests(run: &Run) -> Vec<RequestPart> {
    let part = |sent: &throughline_engine::replay::Sent| RequestPart {
        kept: sent.tokens,
        persisted: sent.hidden.persisted,
        snipped: sent.hidden.snipped,
        cleared: sent.hidden.cleared,
        collapsed: sent.hidden.collapsed,
        summarised: sent.hidden.summarised,
        weight: sent.weight,
    };
    run.series.iter().map(part).collect()
}

//! `stats`: what the requests of all clients came to, from the ledgers.

use super::sessions::list::{is_below, project_folder};
use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, cyan, dim, number, pad};
use crate::proxy::servers::{self, Served};
use crate::proxy::show;
use crate::times;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::process::ExitCode;
use throughline_core::Meta;
use throughline_server::{Figures, SessionStats, Stats, stats_of};

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  throughline stats --since 7d\n  throughline stats --project . --json")]
pub(crate) struct StatsCommand {
    /// Only requests after this: a date, a time, or an age such as 7d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only clients that ran in this folder or below it.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// At most this many sessions.
    #[arg(short = 'n', long, default_value_t = 10)]
    limit: usize,
}

impl StatsCommand {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let since = self.since.as_deref().map(|when| times::parse(when, context.now())).transpose()?;
        let project = self.project.as_deref().map(project_folder).transpose()?;
        let is_wanted = |meta: &Meta| {
            let cwd = meta.cwd.as_deref();
            project.as_ref().is_none_or(|dir| cwd.is_some_and(|cwd| is_below(cwd, dir)))
        };
        let (stats, unread) = stats_of(&context.home, since, &is_wanted)?;
        for error in &unread {
            crate::errln!("{} left out: {error}", output::yellow("note:"));
        }
        let servers = servers::running(&context.home);
        if context.json {
            return output::json(&as_json(&stats, &servers)).map(|()| ExitCode::SUCCESS);
        }
        print(&stats, self.limit);
        for server in &servers {
            let age = times::age(server.started, context.now());
            outln!("{} {} {}", dim("running"), cyan(server.page()), dim(format!("started {age}")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn as_json(stats: &Stats, servers: &[Served]) -> Value {
    let all = |groups: &BTreeMap<String, Figures>| -> Value {
        groups
            .iter()
            .map(|(name, figures)| (name.clone(), show::as_json(figures)))
            .collect::<Map<_, _>>()
            .into()
    };
    let session = |session: &SessionStats| {
        let mut value = serde_json::to_value(session).unwrap_or_default();
        value["figures"] = show::as_json(&session.figures);
        value
    };
    // The token stays in its file.
    let server = |server: &Served| json!({"address": server.address(), "pid": server.pid, "started": server.started, "version": server.version});
    json!({
        "total": show::as_json(&stats.total),
        "days": all(&stats.days),
        "clients": all(&stats.clients),
        "models": all(&stats.models),
        "sessions": stats.sessions.iter().map(session).collect::<Vec<_>>(),
        "running": servers.iter().map(server).collect::<Vec<_>>(),
    })
}

fn print(stats: &Stats, limit: usize) {
    if stats.sessions.is_empty() {
        outln!("No requests yet: `throughline run -- claude`, or `throughline serve`.");
        return;
    }
    let shown = stats.sessions.get(..limit).unwrap_or(&stats.sessions);
    let width = output::id_width(shown.iter().map(|session| session.id.as_str()));
    let name_of = |session: &SessionStats| {
        let id = session.id.as_str();
        let place = session.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').next()).unwrap_or_default();
        format!("{} {} {place}", id.get(..width).unwrap_or(id), session.client)
    };
    let mut groups = vec![(None, vec![("all".to_owned(), &stats.total)])];
    for (title, group) in [("day", &stats.days), ("client", &stats.clients), ("model", &stats.models)] {
        groups.push((Some(title), group.iter().map(|(name, figures)| (name.clone(), figures)).collect()));
    }
    groups
        .push((Some("session"), shown.iter().map(|session| (name_of(session), &session.figures)).collect()));
    let names = groups.iter().flat_map(|(_, rows)| rows).map(|(name, _)| name.chars().count());
    let widest = names.max().unwrap_or(0).clamp(10, 36);
    outln!("{}", dim(format!("{}{HEADS}", pad("", widest))));
    for (title, rows) in groups {
        if let Some(title) = title {
            outln!("{}", dim(title));
        }
        for (name, figures) in rows {
            let name = pad(&output::fit(&name, widest), widest);
            let name = if title.is_none() { bold(name) } else { name };
            outln!("{name}{}", row(figures));
        }
    }
    if stats.sessions.len() > limit {
        outln!("{}", dim(format!("and {} more sessions; -n shows them", stats.sessions.len() - limit)));
    }
    if !stats.total.originals.is_empty() {
        let reasons = stats.total.originals.iter();
        let reasons: Vec<String> = reasons
            .map(|(reason, count)| format!("{} {}", number(*count), reason.replace('_', " ")))
            .collect();
        outln!("\n{}", dim(format!("not changed: {}", reasons.join(", "))));
    }
    outln!(
        "\n{}",
        dim("without, saved: by list prices and a simulated cache; cost: by what the providers reported")
    );
}

const HEADS: &str =
    "  requests  changed  edits  prompt tokens       without  cached       cost      saved    added";

fn row(figures: &Figures) -> String {
    let cost = if figures.unpriced > 0 && figures.dollars.as_f64() == 0.0 {
        "unknown".to_owned()
    } else {
        figures.dollars.to_string()
    };
    format!(
        "  {:>8}  {:>7}  {:>5}  {:>13}  {:>12}  {:>6}  {cost:>9}  {:>9}  {:>7}",
        number(figures.requests + figures.answered_here),
        number(figures.changed),
        number(figures.edits),
        number(figures.prompt_with),
        number(figures.prompt_without),
        show::percent(figures.cached_share()),
        figures.saved().to_string(),
        show::added(figures),
    )
}

mod check;
mod page;

use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim};
use anyhow::{Context as _, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use throughline_core::cost::Ttl;
use throughline_core::profile::Profile;
use throughline_engine::replay::{NeededReport, Plan, Recording, SessionReport, Summary, replay};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline replay 7c1f3a52\n  throughline replay ~/.claude/projects/*/*.jsonl --window 100000\n  throughline replay rollout.jsonl --profile throughline,codex --html replay.html\n  throughline replay rollout.jsonl --check --window 60000"
)]
pub(crate) struct Replay {
    /// Recorded sessions: ids, ledgers, or transcripts of Claude Code and Codex.
    #[arg(required = true, value_name = "FILE|ID")]
    sessions: Vec<String>,
    /// The rules to compare; sending everything is always shown beside them.
    #[arg(long, value_delimiter = ',', default_value = "throughline,claude,codex")]
    profile: Vec<String>,
    /// The context window in tokens.
    #[arg(long, default_value_t = 200_000, value_name = "N", value_parser = clap::value_parser!(u64).range(4_000..))]
    window: u64,
    /// Count tokens and money as for this model [default: the recorded one].
    #[arg(long)]
    model: Option<String>,
    /// How long the provider keeps its prompt cache: with 5m or 1h, pauses in the recording cost a fresh write.
    #[arg(long, value_enum, default_value = "forever")]
    cache: CacheArg,
    /// Leave out the judgement of compactions by what the session needed later.
    #[arg(long)]
    no_judge: bool,
    /// Write one self-contained page with charts.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// With --json: each request, too.
    #[arg(long)]
    series: bool,
    /// Check that every request holds what it must, on all wires: the profiles run as on live traffic. Fails if one does not.
    #[arg(long, conflicts_with_all = ["html", "series", "cache"])]
    check: bool,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum CacheArg {
    /// Five minutes.
    #[value(name = "5m")]
    Short,
    /// An hour.
    #[value(name = "1h")]
    Long,
    /// It never expires.
    #[value(name = "forever")]
    Forever,
}

impl Replay {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let paths: Vec<PathBuf> =
            self.sessions.iter().map(|name| self.find(context, name)).collect::<anyhow::Result<_>>()?;
        let plan = self.plan(context)?;
        let (reports, failed) = self.replay_all(context, &paths, &plan);
        for (path, error) in &failed {
            crate::errln!("{} {}: {error:#}", output::yellow("skipped"), path.display());
        }
        if reports.is_empty() {
            bail!("nothing could be replayed");
        }
        if self.check {
            let passed = check::print(context, &reports, plan.window)?;
            return Ok(if passed && failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        let summaries = Summary::of(&reports);
        if let Some(path) = &self.html {
            let page = page::page(&reports, &summaries, &plan, context.now()).render();
            std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if context.json {
            let mut sessions = serde_json::to_value(&reports)?;
            if !self.series {
                drop_series(&mut sessions);
            }
            let skipped: Vec<_> = failed
                .iter()
                .map(|(path, error)| json!({ "file": path, "reason": format!("{error:#}") }))
                .collect();
            output::json(&json!({
                "window": plan.window, "profiles": summaries, "sessions": sessions, "skipped": skipped,
            }))?;
        } else {
            table(&reports, &summaries, plan.window);
            if let Some(path) = &self.html {
                outln!("\nThe page is in {}", bold(path.display()));
            }
        }
        Ok(if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn find(&self, context: &Context, name: &str) -> anyhow::Result<PathBuf> {
        let path = Path::new(name);
        if path.is_file() { Ok(path.to_owned()) } else { context.ledger(name) }
    }

    fn plan(&self, context: &Context) -> anyhow::Result<Plan> {
        let profiles: Vec<Profile> =
            self.profile.iter().map(|name| context.profile(Some(name))).collect::<anyhow::Result<_>>()?;
        let profiles = match self.check {
            true => profiles.into_iter().map(Profile::live).collect(),
            false => profiles,
        };
        let (ttl, timed) = match self.cache {
            CacheArg::Short => (Ttl::Short, true),
            CacheArg::Long => (Ttl::Long, true),
            CacheArg::Forever => (Ttl::Never, false),
        };
        Ok(Plan {
            model: self.model.clone(),
            judge: !self.no_judge && !self.check,
            check_wires: self.check,
            ttl,
            timed,
            ..Plan::new(profiles, self.window)
        })
    }

    /// Sessions on all cores, the longest first so that none is left alone at the end; reports in the order asked for.
    fn replay_all(
        &self,
        context: &Context,
        paths: &[PathBuf],
        plan: &Plan,
    ) -> (Vec<SessionReport>, Vec<(PathBuf, anyhow::Error)>) {
        let mut order: Vec<usize> = (0..paths.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(paths[at].metadata().map_or(0, |meta| meta.len())));
        let next = AtomicUsize::new(0);
        let done: Mutex<Vec<Option<anyhow::Result<SessionReport>>>> =
            Mutex::new(paths.iter().map(|_| None).collect());
        let size = |path: &PathBuf| path.metadata().map_or(0, |meta| meta.len());
        let bar = output::bar(context.json, paths.iter().map(size).sum(), "replay");
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
        std::thread::scope(|scope| {
            for _ in 0..threads {
                scope.spawn(|| {
                    while let Some(&at) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let report = Recording::open(&context.home, &paths[at])
                            .map(|recording| replay(&recording, plan))
                            .map_err(anyhow::Error::from);
                        if let Ok(mut done) = done.lock() {
                            done[at] = Some(report);
                        }
                        bar.inc(size(&paths[at]));
                    }
                });
            }
        });
        bar.finish_and_clear();
        let mut reports = Vec::new();
        let mut failed = Vec::new();
        for (path, report) in paths.iter().zip(done.into_inner().unwrap_or_default()) {
            match report {
                Some(Ok(report)) => reports.push(report),
                Some(Err(error)) => failed.push((path.clone(), error)),
                None => {}
            }
        }
        (reports, failed)
    }
}

fn drop_series(sessions: &mut serde_json::Value) {
    for session in sessions.as_array_mut().into_iter().flatten() {
        for run in session.get_mut("runs").and_then(|runs| runs.as_array_mut()).into_iter().flatten() {
            if let Some(run) = run.as_object_mut() {
                run.remove("series");
            }
        }
    }
}

fn table(reports: &[SessionReport], summaries: &[Summary], window: u64) {
    let requests: usize = reports.iter().map(|report| report.requests).sum();
    outln!(
        "{} sessions, {} requests, window {} tokens\n",
        bold(reports.len()),
        output::number(requests as u64),
        output::number(window)
    );
    outln!(
        "{}",
        dim(format!(
            "{:<13}{:>9}{:>9}{:>8}{:>9}{:>10}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}",
            "profile",
            "tok/req",
            "peak",
            "cached",
            "cost",
            "dollars",
            "comp.",
            "kept",
            "rare",
            "pair",
            "cons",
            "found"
        ))
    );
    for sum in summaries {
        let needed = sum.needed.unwrap_or_default();
        let show = |value: Option<f64>| {
            value.filter(|_| sum.judged > 0).map_or("–".to_owned(), |v| format!("{v:.3}"))
        };
        let NeededReport { kept, rare, pair, constraints, found, .. } = needed;
        let name = if sum.profile == "off" { "everything" } else { &sum.profile };
        outln!(
            "{:<13}{:>9}{:>9}{:>8}{:>9}{:>10}{:>7}{:>7}{:>7}{:>7}{:>7}{:>7}",
            name,
            output::number(sum.tokens_per_request),
            output::number(sum.peak),
            format!("{:.1}%", sum.cached * 100.0),
            format!("{:.2}×", sum.relative_cost),
            sum.totals.dollars.to_string(),
            sum.compactions,
            show(Some(kept)),
            show(rare),
            show(pair),
            show(constraints),
            show(found),
        );
    }
    let broken: usize = summaries.iter().map(|sum| sum.violations).sum();
    let over: usize = summaries.iter().map(|sum| sum.over_threshold).sum();
    outln!(
        "\n{}",
        dim(format!(
            "cost: input tokens, against sending everything. kept, rare, pair: of what the rest of the session used and nobody gave again.\n\
             cons: the user's binding sentences, word for word. found: kept, or one Recall search away. Broken API rules: {broken}; requests over the threshold: {over}."
        ))
    );
}

use crate::context::Context;
use crate::outln;
use crate::output::{self, dim, green, red};
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_ledger::check;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions check 7c1f3a52\n  throughline sessions check        (every ledger)"
)]
pub(crate) struct Check {
    /// The sessions [default: all].
    sessions: Vec<String>,
}

impl Check {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let paths: Vec<PathBuf> = if self.sessions.is_empty() {
            context.home.ledgers()?
        } else {
            self.sessions.iter().map(|session| context.ledger(session)).collect::<anyhow::Result<_>>()?
        };
        let bar = output::bar(context.json, paths.len() as u64, "checking");
        let mut bad = 0;
        let mut reports = Vec::new();
        for path in &paths {
            let found = check(&context.home, path)?;
            bar.inc(1);
            bad += u64::from(!found.problems.is_empty());
            if context.json {
                reports.push(json!({ "path": path, "check": found }));
                continue;
            }
            bar.suspend(|| {
                for problem in &found.problems {
                    outln!("{} {problem}", red("!"));
                }
                if self.sessions.is_empty() {
                    return;
                }
                let kinds: Vec<String> =
                    found.records.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
                outln!("{}", path.display());
                outln!("  {} lines: {}", found.lines, kinds.join(", "));
                outln!("  {} in the view, {} blobs", found.view, found.blobs);
                for violation in &found.violations {
                    outln!("  {} {violation}", dim("repaired when sent:"));
                }
            });
        }
        bar.finish_and_clear();
        if context.json {
            output::json(&json!({ "ledgers": reports, "damaged": bad }))?;
        } else if bad == 0 {
            outln!("{} {} in order", green("✓"), output::count(paths.len() as u64, "ledger"));
        } else {
            outln!(
                "{} with problems, of {}. What could be read is used; nothing was changed.",
                output::count(bad, "ledger"),
                paths.len()
            );
        }
        Ok(if bad == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

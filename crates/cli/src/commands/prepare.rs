use crate::context::Context;
use crate::output::{self, yellow};
use anyhow::{Context as _, bail};
use jiff::Timestamp;
use serde_json::json;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_core::Wire;
use throughline_core::pipeline::Moment;
use throughline_core::profile::Profile;
use throughline_core::stages::OwnTools;
use throughline_engine::{Options, Prepared, Preparer, RequestFolder};
use throughline_wire::splice::Body;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline prepare < request.json > managed.json\n  throughline prepare --profile claude --window 200000 --report report.json < request.json\n  throughline prepare --session ./agent-7 --tools snip,recall < request.json"
)]
pub(crate) struct Prepare {
    /// The provider format [default: told from the request].
    #[arg(long, value_enum)]
    wire: Option<super::WireArg>,
    /// The rules: throughline, claude, codex, off, or one of the configuration's [default: the one in force].
    #[arg(long)]
    profile: Option<String>,
    /// The context window in tokens [default: the model's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..))]
    window: Option<u64>,
    /// The time of the request, such as 2026-11-16T08:30:00Z [default: now].
    #[arg(long, value_name = "T")]
    now: Option<Timestamp>,
    /// Our tools that the model gets, with the ids and handles that they need: snip, recall.
    #[arg(long, value_delimiter = ',', value_name = "TOOLS")]
    tools: Vec<ToolArg>,
    /// A folder in which decisions persist from call to call.
    #[arg(long, value_name = "DIR")]
    session: Option<PathBuf>,
    /// Write what was done, as JSON, to a file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// The provider can edit its prompt cache: old results are deleted there.
    #[arg(long)]
    cache_edits: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ToolArg {
    /// The model drops turns itself.
    Snip,
    /// The model reads again what was cut.
    Recall,
}

impl Prepare {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let profile = context.profile(self.profile.as_deref())?;
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read the request from standard input")?;
        let wire = match self.wire {
            Some(wire) => wire.into(),
            None => match Body::detect(&bytes)? {
                Some(wire) => wire,
                None => {
                    bail!("cannot tell the format of the request; give --wire anthropic, responses or chat")
                }
            },
        };
        let tools = OwnTools {
            snip: self.tools.contains(&ToolArg::Snip),
            recall: self.tools.contains(&ToolArg::Recall),
        };
        let options = Options {
            window: self.window,
            tools,
            // Whoever prepares requests by hand knows the folder, and gives the model access to it.
            reads_saved_files: !tools.recall,
            cache_edits: self.cache_edits,
            ..Options::new(profile.clone())
        };
        let moment = Moment { now: Some(self.now.unwrap_or_else(|| context.now())), ..Moment::default() };
        let mut preparer = Preparer::new(wire, options);
        let mut folder = match &self.session {
            Some(dir) => {
                RequestFolder::open(dir, &mut preparer, moment.now.unwrap_or_else(|| context.now()))?
            }
            None => RequestFolder::unrecorded(context.home.root(), &Body::parse(wire, bytes.as_slice())?),
        };
        let prepared = preparer.prepare(bytes, &moment, &mut folder)?;
        folder.finish()?;
        for notice in &prepared.pass.notices {
            crate::errln!("{} {notice}", yellow("note:"));
        }
        for repair in &prepared.repairs {
            crate::errln!("{} repaired: {}", yellow("note:"), repair.violation);
        }
        if let Some(path) = &self.report {
            let report = serde_json::to_vec_pretty(&report(wire, &profile, &prepared))?;
            std::fs::write(path, report).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if context.json {
            // The request as a value beside the report: for scripts that want both from one stream.
            let request: serde_json::Value = serde_json::from_slice(&prepared.bytes)?;
            output::json(&json!({ "request": request, "report": report(wire, &profile, &prepared) }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut out = output::data();
        out.write_all(&prepared.bytes)?;
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn report(wire: Wire, profile: &Profile, prepared: &Prepared) -> serde_json::Value {
    let pass = &prepared.pass;
    let notices: Vec<String> = pass.notices.iter().map(ToString::to_string).collect();
    json!({
        "wire": wire,
        "profile": profile.name,
        "threshold": prepared.threshold,
        "tokens_before": pass.tokens_before,
        "tokens_after": pass.tokens_after,
        "changed": pass.changed(),
        "changes": pass.changes,
        "notices": notices,
        "repairs": prepared.repairs,
    })
}

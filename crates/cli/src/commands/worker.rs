//! `worker`: serves the handbooks' queue.

use crate::context::Context;
use crate::handbook::{Hands, ScribeArg, StoreFlag, StorePlace, crew_of, stop_on_signals};
use crate::output;
use serde_json::json;
use std::process::ExitCode;
use std::sync::Arc;
use throughline_memory::handbook::HomeId;
use throughline_memory::handbook::work::{Crew, JobEnd, Order, WorkEvent, WorkLimits, Worker};
use throughline_memory::store::{JobKey, RunOutcome, WorkerId};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline worker --store postgres://team@db.example/throughline     (as many as you like, on any machine)\n  throughline worker --once --jobs 4                                     (until nothing is due)\n\nA worker reads the sessions of its own home folder, and writes handbooks of anybody. SIGTERM and ctrl-C end it: what it was doing is given back."
)]
pub(crate) struct WorkerCommand {
    #[command(flatten)]
    store: StoreFlag,
    /// Who reads and writes.
    #[arg(long, value_enum, default_value_t)]
    scribe: ScribeArg,
    /// Sessions that are read at the same time [default: one for each core; with a model `memory.handbook.limits.concurrency`].
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    /// End when nothing is due.
    #[arg(long)]
    once: bool,
    /// Seconds after which work is anybody's again if no sign of life came [default: `memory.handbook.limits.lease_seconds`].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=86_400))]
    lease: Option<u32>,
    /// Its name, for people [default: the machine's and the process's].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl WorkerCommand {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        context.block_on(self.work(context))?
    }

    async fn work(self, context: &Context) -> anyhow::Result<ExitCode> {
        let settings = context.config()?.config.memory.handbook;
        let place = StorePlace::of(context, &self.store, &settings)?;
        let id = HomeId::of(&context.home)?;
        let hands = Hands::new(context, &settings, self.scribe)?;
        // Signals count from here on: nothing is claimed yet.
        let stop = stop_on_signals("giving back what is being done");
        let store = place.open().await?;
        let crew = crew_of(&context.home, &settings, hands, (Arc::clone(&store), id));
        let limits = self.lease.map_or(crew.limits, |seconds| crew.limits.with_lease(seconds));
        let extract = self.jobs.map_or(limits.extract, usize::from);
        let log = Log { json: context.json };
        let worker = self.name.clone().map_or(crew.worker.clone(), WorkerId);
        log.line("started", &format!("{worker} serves {place}, {extract} at once"));
        let worker = Worker::new(Crew {
            worker,
            limits: WorkLimits { extract, ..limits },
            listen: Box::new(move |event| log.hear(&event)),
            ..crew
        });
        if self.once {
            let drained = worker.drain(&Order::all(), &stop).await?;
            let failed = drained.ended.iter().any(|(_, end)| is_failure(end)) || drained.halted.is_some();
            log.line("ended", &format!("{} done", output::count(drained.done().count() as u64, "job")));
            return Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS });
        }
        worker.serve(&stop).await?;
        log.line("ended", "told to stop");
        Ok(ExitCode::SUCCESS)
    }
}

fn is_failure(end: &JobEnd) -> bool {
    match end {
        JobEnd::Failed { .. } | JobEnd::Unsettled { .. } => true,
        JobEnd::Done { .. } | JobEnd::Released | JobEnd::Deferred { .. } | JobEnd::Lost => false,
    }
}

/// A line for each thing that happens, on standard error: with `--json` an object each.
#[derive(Clone, Copy)]
struct Log {
    json: bool,
}

impl Log {
    fn line(self, what: &str, detail: &str) {
        let now = jiff::Timestamp::now();
        if self.json {
            // Nobody is left who could be told.
            let _ = crate::output::error_json(&json!({ "at": now, "what": what, "detail": detail }));
        } else {
            let detail = crate::terminal::clean::on_one_line(detail);
            crate::errln!("{} {what:<8} {detail}", now.strftime("%Y-%m-%dT%H:%M:%SZ"));
        }
    }

    fn hear(self, event: &WorkEvent) {
        match event {
            WorkEvent::Begun { job, attempt } => {
                let again = if *attempt > 1 { format!(", attempt {attempt}") } else { String::new() };
                self.line("began", &format!("{}{again}", name(job)));
            }
            WorkEvent::Ended { job, end } => {
                let (what, detail) = told(end);
                self.line(what, &format!("{}{detail}", name(job)));
            }
            WorkEvent::Waiting { jobs } => self.line("waiting", &format!("others do {jobs}")),
            WorkEvent::Store { why, again_in } => {
                self.line("store", &format!("{why}; again in {:.1} s", again_in.as_secs_f64()));
            }
        }
    }
}

fn told(end: &JobEnd) -> (&'static str, String) {
    match end {
        JobEnd::Done { outcome: RunOutcome::Nothing, .. } => ("done", ": nothing new".to_owned()),
        JobEnd::Done { outcome: RunOutcome::Done, items, cost } => {
            let dollars =
                if cost.dollars.as_f64() > 0.0 { format!(", {}", cost.dollars) } else { String::new() };
            ("done", format!(": {items}{dollars}, {:.1} s", cost.seconds))
        }
        JobEnd::Failed { why, again } => {
            ("failed", format!(": {why}{}", if *again { "; tried again later" } else { "" }))
        }
        JobEnd::Released => ("released", String::new()),
        JobEnd::Deferred { why } => ("deferred", format!(": {why}")),
        JobEnd::Lost => ("lost", ": its lease was over".to_owned()),
        JobEnd::Unsettled { why } => ("unknown", format!(": the store could not be told: {why}")),
    }
}

fn name(job: &JobKey) -> String {
    match job {
        JobKey::Extract(session) => format!("session {session}"),
        JobKey::Consolidate(scope) => format!("handbook {scope}"),
    }
}

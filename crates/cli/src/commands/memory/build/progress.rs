//! How far it is, on a terminal.

use super::super::handbook::which::called;
use crate::terminal::clean::on_one_line;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;
use throughline_memory::handbook::work::{JobEnd, WorkEvent};
use throughline_memory::store::{JobKey, JobKind};

/// How often a bar is drawn while nothing ends.
const BEAT: Duration = Duration::from_millis(200);

/// A bar of things that are counted; nothing when piped or with `--json`.
pub(super) fn counted(json: bool, total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) =
        ProgressStyle::with_template("{prefix} {wide_bar:.cyan/dim} {pos}/{len}  {elapsed}  {msg}")
    {
        bar.set_style(style.progress_chars("━━╌"));
    }
    bar.set_prefix(what);
    bar
}

/// Shows sessions being read, then handbooks being written.
pub(super) struct Shown {
    json: bool,
    state: Mutex<State>,
}

struct State {
    kind: JobKind,
    bar: ProgressBar,
    findings: usize,
    failed: usize,
}

impl Shown {
    pub(super) fn new(json: bool, sessions: u64) -> Self {
        let bar = counted(json, sessions, "reading sessions");
        bar.enable_steady_tick(BEAT);
        let state = State { kind: JobKind::Extract, bar, findings: 0, failed: 0 };
        Self { json, state: Mutex::new(state) }
    }

    pub(super) fn hear(&self, event: &WorkEvent) {
        let Ok(mut state) = self.state.lock() else { return };
        match event {
            WorkEvent::Begun { job, .. } => {
                if job.kind() == JobKind::Consolidate && state.kind == JobKind::Extract {
                    state.bar.finish_and_clear();
                    state.kind = JobKind::Consolidate;
                    state.bar = counted(self.json, 0, "writing handbooks");
                    state.bar.enable_steady_tick(BEAT);
                }
                if let JobKey::Consolidate(scope) = job {
                    state.bar.inc_length(1);
                    state.bar.set_message(on_one_line(&called(scope)));
                }
            }
            WorkEvent::Ended { end, .. } => {
                state.bar.inc(1);
                match end {
                    JobEnd::Done { items, .. } => state.findings += items,
                    JobEnd::Failed { .. } | JobEnd::Unsettled { .. } => state.failed += 1,
                    JobEnd::Released | JobEnd::Deferred { .. } | JobEnd::Lost => {}
                }
                if state.kind == JobKind::Extract {
                    let failed =
                        if state.failed > 0 { format!(", {} failed", state.failed) } else { String::new() };
                    state.bar.set_message(format!("{} findings{failed}", state.findings));
                }
            }
            WorkEvent::Waiting { jobs } => {
                let jobs = crate::output::count(*jobs as u64, "job");
                state.bar.set_message(format!("waiting for another process: it has {jobs}"));
            }
            WorkEvent::Store { why, .. } => state.bar.set_message(on_one_line(why)),
        }
    }

    pub(super) fn end(&self) {
        if let Ok(state) = self.state.lock() {
            state.bar.finish_and_clear();
        }
    }
}

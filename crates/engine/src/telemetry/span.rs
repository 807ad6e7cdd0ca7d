//! The spans of a session, and what is written into them.
//!
//! Fields are named by the GenAI conventions, or `throughline.*`; what has other fields is not exported.

use crate::session::{Ready, SessionError};
use throughline_core::pipeline::{Compacted, Due, Pass};
use throughline_core::{SessionId, Stage};
use throughline_memory::notes::{Author, Kept, Outcome, Updated};
use throughline_model::Receipt;
use tracing::field::Empty;
use tracing::{Level, Span, event, info_span};

/// Named events have to name their place, too.
const TARGET: &str = module_path!();

/// Who wrote what stands in the conversation's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// The notes were there.
    Notes,
    /// A model, in the background, before it was needed.
    Ahead,
    /// A model, while the session waited.
    Model,
    /// The offline scribe.
    Offline,
}

impl Writer {
    fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes",
            Self::Ahead => "ahead",
            Self::Model => "model",
            Self::Offline => "offline",
        }
    }
}

/// Work in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// An update of the notes.
    Notes,
    /// A summary ahead of need.
    Summary,
    /// Summaries of spans that will be folded.
    Spans,
    /// What of a turn is worth keeping.
    Extraction,
    /// What old sessions teach.
    Handbook,
}

impl Work {
    fn name(self) -> &'static str {
        match self {
            Self::Notes => "notes update",
            Self::Summary => "summary ahead",
            Self::Spans => "span summaries",
            Self::Extraction => "memory extraction",
            Self::Handbook => "handbook",
        }
    }
}

/// A request and its answer.
pub(crate) fn ask(session: &SessionId, model: &str) -> Span {
    info_span!(
        "ask",
        "gen_ai.conversation.id" = session.as_str(),
        "gen_ai.request.model" = model,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    )
}

/// The making of a request.
pub(crate) fn prepare(session: &SessionId, model: &str) -> Span {
    info_span!(
        "prepare",
        "gen_ai.conversation.id" = session.as_str(),
        "gen_ai.request.model" = model,
        "throughline.tokens.before" = Empty,
        "throughline.tokens.after" = Empty,
        "throughline.changes" = Empty,
        "throughline.repairs" = Empty,
        "throughline.notices" = Empty,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    )
}

/// The view is to be replaced.
pub(crate) fn compact(session: &SessionId, model: &str, due: Due) -> Span {
    info_span!(
        "compact",
        "gen_ai.conversation.id" = session.as_str(),
        "gen_ai.request.model" = model,
        "throughline.compaction.trigger" = due.trigger.name(),
        "throughline.compaction.strategy" = Empty,
        "throughline.compaction.writer" = Empty,
        "throughline.compaction.outcome" = Empty,
        "throughline.compaction.score" = Empty,
        "throughline.tokens.before" = Empty,
        "throughline.tokens.after" = Empty,
        "error.type" = Empty,
        "otel.status_code" = Empty,
    )
}

/// Work in the background: a trace of its own, with a link to what set it off. Nobody waits for its end.
pub(crate) fn background(session: &SessionId, work: Work) -> Span {
    let span = info_span!(
        parent: None,
        "background",
        "otel.name" = work.name(),
        "gen_ai.conversation.id" = session.as_str(),
        "throughline.work" = work.name(),
        "throughline.work.writer" = Empty,
        "throughline.work.outcome" = Empty,
    );
    span.follows_from(Span::current());
    span
}

/// A request was made, or not.
pub(crate) fn prepared(span: &Span, result: &Result<Ready, SessionError>) {
    match result {
        Ok(ready) => {
            span.record("throughline.tokens.before", count(ready.pass.tokens_before));
            span.record("throughline.tokens.after", count(ready.pass.tokens_after));
            span.record("throughline.changes", count(ready.pass.changes.len() as u64));
            span.record("throughline.repairs", count(ready.repairs.len() as u64));
            span.record("throughline.notices", count(ready.pass.notices.len() as u64));
            span.in_scope(|| stages(&ready.pass));
        }
        Err(error) => failed(span, error),
    }
}

/// What each stage did, as events of the current span.
fn stages(pass: &Pass) {
    for change in &pass.changes {
        event!(name: "stage", target: TARGET, Level::INFO, {
            "throughline.stage" = stage(change.stage),
            "throughline.tokens.freed" = change.freed,
        });
    }
}

/// A compaction is over: how the view was replaced, and by whom, if it was.
pub(crate) fn compacted(
    span: &Span,
    compacted: Option<&Compacted>,
    result: &Result<Option<Writer>, SessionError>,
) {
    span.record("throughline.compaction.outcome", if compacted.is_some() { "replaced" } else { "kept" });
    if let Some(compacted) = compacted {
        span.record("throughline.compaction.strategy", compacted.strategy.name());
        span.record("throughline.tokens.before", count(compacted.tokens_before));
        span.record("throughline.tokens.after", count(compacted.tokens_after));
        span.record("throughline.compaction.score", compacted.check.as_ref().map(|check| check.score));
    }
    match result {
        Ok(writer) => {
            span.record("throughline.compaction.writer", writer.map(Writer::name));
        }
        Err(error) => failed(span, error),
    }
}

/// An update of the notes is over.
pub(crate) fn noted(span: &Span, updated: &Updated) {
    let by = match updated.by {
        Author::Model => Writer::Model,
        Author::Offline => Writer::Offline,
    };
    span.record("throughline.work.writer", by.name());
    let outcome = match &updated.outcome {
        Outcome::Written { .. } => "written",
        Outcome::Kept(Kept::Unchanged) => "unchanged",
        Outcome::Kept(Kept::Invalid(_)) => "invalid",
        Outcome::Kept(Kept::Capped(_)) => "capped",
        Outcome::Kept(Kept::Failed(_)) => "failed",
        Outcome::Kept(Kept::Cancelled) => "cancelled",
        Outcome::Kept(Kept::Disturbed) => "disturbed",
        Outcome::Kept(Kept::File(_)) => "file",
    };
    span.record("throughline.work.outcome", outcome);
}

/// A model's work in the background is over, and whether it is of use.
pub(crate) fn written(span: &Span, is_written: bool) {
    span.record("throughline.work.writer", Writer::Model.name());
    span.record("throughline.work.outcome", if is_written { "written" } else { "failed" });
}

/// What a helper cost, as an event of the current span.
pub(crate) fn receipt(receipt: &Receipt) {
    event!(name: "receipt", target: TARGET, Level::INFO, {
        "throughline.job" = receipt.job,
        "throughline.job.outcome" = receipt.outcome,
        "throughline.job.requests" = i64::from(receipt.requests),
        "throughline.job.dollars" = receipt.dollars,
        "gen_ai.request.model" = receipt.model,
        "gen_ai.usage.input_tokens" = count(receipt.usage.prompt()),
        "gen_ai.usage.output_tokens" = count(receipt.usage.output),
    });
}

/// An error ended the span's work. Its message stays here: it may hold a path, or somebody's words.
pub(crate) fn failed(span: &Span, error: &SessionError) {
    let kind = match error {
        SessionError::Ledger(_) => "ledger",
        SessionError::Model(error) => error.kind().name(),
        SessionError::DoesNotFit { .. } => "does_not_fit",
        SessionError::Refused(_) => "refused",
        SessionError::Blocked(_) => "blocked",
    };
    span.record("error.type", kind);
    span.record("otel.status_code", "ERROR");
}

/// Exporters know signed numbers only, and would write others as text.
fn count(figure: u64) -> i64 {
    i64::try_from(figure).unwrap_or(i64::MAX)
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Budget => "budget",
        Stage::Snip => "snip",
        Stage::Microcompact => "microcompact",
        Stage::Collapse => "collapse",
        Stage::Autocompact => "autocompact",
        Stage::User => "user",
        Stage::Import => "import",
    }
}

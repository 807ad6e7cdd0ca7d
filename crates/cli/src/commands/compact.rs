use crate::commands::ScribeArg;
use crate::commands::given::{Given, given};
use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim, green, yellow};
use crate::transcript::{Style, Transcript};
use anyhow::{Context as _, bail};
use clap::ValueEnum;
use serde_json::json;
use std::process::ExitCode;
use throughline_core::compaction::{Draft, Scaffold};
use throughline_core::profile::Strategy;
use throughline_core::stages::OwnTools;
use throughline_core::{EditId, Message, Record, Wire, invariants};
use throughline_engine::{Order, compact, compact_by_model};
use throughline_ledger::{SyncPolicy, Writer};
use throughline_wire::encode_messages;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline compact 7c1f3a52 --strategy notes --budget 10000\n  throughline compact rollout.jsonl --strategy handoff --json | jq .messages\n  throughline compact 7c1f3a52 --instructions \"focus on the failing tests\" --apply\n  ANTHROPIC_API_KEY=… ANTHROPIC_MODEL=claude-haiku-4-5 throughline compact 7c1f3a52 --scribe model"
)]
pub(crate) struct Compact {
    /// A session (id, or a unique beginning of it), a ledger, a transcript of Claude Code or Codex, or a provider request.
    session: String,
    /// How the text is written and what stays beside it.
    #[arg(long, value_enum, default_value = "notes")]
    strategy: StrategyArg,
    /// Who writes the text.
    #[arg(long, value_enum, default_value = "offline")]
    scribe: ScribeArg,
    /// The most tokens of the result.
    #[arg(long, default_value_t = 10_000, value_name = "N", value_parser = clap::value_parser!(u64).range(1_000..))]
    budget: u64,
    /// What the text shall pay attention to.
    #[arg(long, value_name = "TEXT")]
    instructions: Option<String>,
    /// The model whose tokens are counted [default: the one that the session names].
    #[arg(long)]
    model: Option<String>,
    /// The format of the printed messages [default: that of the source].
    #[arg(long, value_enum)]
    wire: Option<super::WireArg>,
    /// Write the compaction to the session's ledger: from then on it resumes from there. Can be undone.
    #[arg(long)]
    apply: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum StrategyArg {
    /// Ten sections of notes, and the newest messages verbatim.
    Notes,
    /// A summary in nine sections, and nothing else.
    Summary,
    /// The user's own messages, then a handoff.
    Handoff,
}

impl From<StrategyArg> for Strategy {
    fn from(strategy: StrategyArg) -> Self {
        match strategy {
            StrategyArg::Notes => Self::Notes,
            StrategyArg::Summary => Self::Summary,
            StrategyArg::Handoff => Self::Handoff,
        }
    }
}

/// Who wrote the text.
#[derive(serde::Serialize)]
struct By {
    /// The model; none for the offline scribe.
    model: Option<String>,
    dollars: f64,
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.model {
            Some(model) => write!(f, "by {model}, ${:.4}", self.dollars),
            None => f.write_str("offline scribe"),
        }
    }
}

impl Compact {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let given = given(context, &self.session)?;
        let model = self.model.clone().unwrap_or_else(|| given.model.clone());
        let order = Order {
            strategy: self.strategy.into(),
            budget: self.budget,
            instructions: self.instructions.as_deref(),
            model: &model,
            cwd: given.cwd.as_deref(),
            scaffold: if given.is_request { Scaffold::Keep } else { Scaffold::LeaveOut },
            tools: OwnTools::default(),
            now: Some(context.now()),
        };
        let (draft, by) = self.draft(context, &given, &order)?;
        if self.apply {
            self.write(context, &given, &draft)?;
        }
        let messages: Vec<Message> = draft.entries.iter().map(|entry| (*entry.shown()).clone()).collect();
        let (messages, repairs) = invariants::repair(messages);
        if context.json {
            let wire = self.wire.map_or(given.wire, Wire::from);
            output::json(&json!({
                "messages": encode_messages(wire, &messages),
                "wire": wire,
                "strategy": draft.strategy,
                "scribe": by,
                "model": model,
                "budget": self.budget,
                "tokens_before": draft.tokens_before,
                "tokens_after": draft.tokens_after,
                "check": draft.verdict,
                "repairs": repairs,
                "applied": self.apply,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut transcript = Transcript::new(output::stdout(), Style { full: true, ids: false, heading: "" });
        for message in &messages {
            transcript.message(message)?;
        }
        drop(transcript);
        self.tell(&draft, &by);
        Ok(ExitCode::SUCCESS)
    }

    /// The compaction, and who wrote its text.
    fn draft(&self, context: &Context, given: &Given, order: &Order<'_>) -> anyhow::Result<(Draft, By)> {
        let failed = || format!("{} was not compacted", self.session);
        match self.scribe {
            ScribeArg::Offline => {
                let draft = compact(&given.said, given.view.entries(), order).with_context(failed)?;
                Ok((draft, By { model: None, dollars: 0.0 }))
            }
            ScribeArg::Model => {
                let model = context.scribe_model()?;
                let written = context
                    .block_on(compact_by_model(&given.said, given.view.entries(), order, &*model))?
                    .with_context(failed)?;
                let dollars = written.receipts.iter().map(|receipt| receipt.dollars).sum();
                Ok((written.draft, By { model: Some(model.id().to_owned()), dollars }))
            }
        }
    }

    fn tell(&self, draft: &Draft, by: &By) {
        outln!();
        outln!(
            "{} → {} tokens  {}",
            output::number(draft.tokens_before),
            bold(output::number(draft.tokens_after)),
            dim(format!("({}, {by})", draft.strategy.name()))
        );
        let Some(verdict) = &draft.verdict else { return };
        let score = format!("{:.0}%", verdict.score * 100.0);
        let score = if verdict.score >= 0.9 { green(score) } else { yellow(score) };
        outln!(
            "check: {score} of what must not be lost was in the text; {} added word for word",
            verdict.missing.len()
        );
        if verdict.left_out > 0 {
            outln!("{} {} more did not fit; a larger --budget holds them", yellow("note:"), verdict.left_out);
        }
        for line in &verdict.unsupported {
            outln!("{} taken out, as the user never said it: {line}", yellow("note:"));
        }
    }

    /// Appends the checkpoint to the ledger that the session came from.
    fn write(&self, context: &Context, given: &Given, draft: &Draft) -> anyhow::Result<()> {
        let Some(path) = &given.ledger else {
            bail!("only a session of Throughline's own can be changed; import {} first", self.session);
        };
        let mut writer = Writer::open(&context.home, path, SyncPolicy::Turn)?;
        let checkpoint = draft.to_checkpoint(EditId::fresh(), Some(context.now()));
        writer.append(&[Record::Checkpoint(Box::new(checkpoint))])?;
        writer.end_turn()?;
        Ok(())
    }
}

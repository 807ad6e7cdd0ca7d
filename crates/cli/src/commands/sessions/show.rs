use crate::context::Context;
use crate::output;
use crate::transcript::{Style, Transcript};
use serde_json::json;
use std::process::ExitCode;
use throughline_core::{Message, invariants};
use throughline_ledger::{resume, session};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions show 7c1f3a52 | less -R\n  throughline sessions show 7c1f3a52 --view --json"
)]
pub(crate) struct Show {
    /// The session: its id, a unique beginning of it, or a ledger's path.
    session: String,
    /// Only what the model would be sent now, as a resume gives it.
    #[arg(long)]
    view: bool,
    /// Long tool results and reasoning in full.
    #[arg(long)]
    full: bool,
    /// Message ids, for `fork --at`.
    #[arg(long)]
    ids: bool,
}

impl Show {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let style = Style { full: self.full, ids: self.ids, heading: "" };
        let mut transcript = Transcript::new(output::stdout(), style);
        let problems = if self.view {
            let resumed = resume(&context.home, &path)?;
            let messages: Vec<Message> = resumed.view.messages().map(|message| (*message).clone()).collect();
            let (messages, repairs) = invariants::repair(messages);
            if context.json {
                output::json(&json!({
                    "session": resumed.session, "messages": messages, "repairs": repairs,
                    "problems": resumed.problems,
                }))?;
                return Ok(ExitCode::SUCCESS);
            }
            for message in &messages {
                transcript.message(message)?;
            }
            resumed.problems
        } else {
            let mut records = Vec::new();
            let problems = session::each_record(&context.home, &path, &mut |origin, record| {
                if context.json {
                    let mut line = Vec::new();
                    record.write(&mut line)?;
                    let value: serde_json::Value = throughline_core::parse_json(&line)?;
                    records.push(json!({ "offset": origin.offset, "record": value }));
                } else {
                    transcript.record(&record)?;
                }
                anyhow::Ok(())
            })?;
            if context.json {
                output::json(&json!({ "path": path, "records": records, "problems": problems }))?;
                return Ok(ExitCode::SUCCESS);
            }
            problems
        };
        output::tell_problems(&problems, &self.session);
        Ok(ExitCode::SUCCESS)
    }
}

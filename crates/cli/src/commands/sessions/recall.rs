use crate::context::Context;
use crate::outln;
use crate::output;
use serde_json::json;
use std::process::ExitCode;
use throughline_core::ToolInput;
use throughline_engine::Recall as Desk;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions recall 7c1f3a52 \"which retry limit did we settle on\"\n  throughline sessions recall 7c1f3a52 --handle k3f9x2 --from 40 --to 80"
)]
pub(crate) struct Recall {
    /// The session: its id, a unique beginning of it, or a ledger's path.
    session: String,
    /// Words to look for in everything that was said, also in what no view shows any more.
    #[arg(required_unless_present = "handle")]
    query: Option<String>,
    /// Read one message again, by the handle that a placeholder or a search names.
    #[arg(long, conflicts_with = "query")]
    handle: Option<String>,
    /// The first line to read.
    #[arg(long, requires = "handle")]
    from: Option<u64>,
    /// The last line to read.
    #[arg(long, requires = "handle")]
    to: Option<u64>,
}

impl Recall {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let mut input = serde_json::Map::new();
        let mut set = |key: &str, value: Option<serde_json::Value>| {
            if let Some(value) = value {
                input.insert(key.to_owned(), value);
            }
        };
        set("query", self.query.map(Into::into));
        set("handle", self.handle.map(Into::into));
        set("from", self.from.map(Into::into));
        set("to", self.to.map(Into::into));
        let answer = Desk::open(&context.home, &path)?.answer(&ToolInput::Json(input.into()));
        if context.json {
            output::json(&json!({ "text": answer.text, "is_error": answer.is_error }))?;
        } else {
            outln!("{}", answer.text.trim_end());
        }
        Ok(if answer.is_error { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

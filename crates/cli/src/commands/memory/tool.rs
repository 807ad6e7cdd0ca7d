use super::here::Here;
use serde_json::{Value, json};
use std::io::{BufRead, Read as _};
use std::process::ExitCode;
use throughline_memory::memory_tool::MemoryFiles;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  echo '{\"command\":\"view\",\"path\":\"/memories\"}' | throughline memory tool\n  throughline memory tool --session 7c1f3a52 < calls.jsonl > answers.jsonl\n\nEach line of input is the `input` of a call of Anthropic's tool memory_20250818; each line of output is\n{\"content\": TEXT, \"is_error\": true|false}, in the same order."
)]
pub(crate) struct Tool {
    /// The session that what is written is said to come from.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

/// The longest line that is taken for a call.
const MOST: u64 = 4 << 20;

impl Tool {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let mut files = MemoryFiles::new(here.store(here.target())?.clone());
        if let Some(session) = &self.session {
            files = files.in_session(session);
        }
        let mut input = std::io::stdin().lock();
        loop {
            let mut line = Vec::new();
            if (&mut input).take(MOST + 1).read_until(b'\n', &mut line)? == 0 {
                return Ok(ExitCode::SUCCESS);
            }
            let answer = if line.len() as u64 > MOST {
                skip_line(&mut input, &line)?;
                Err(format!("the call is longer than {MOST} bytes"))
            } else if line.trim_ascii().is_empty() {
                continue;
            } else {
                match serde_json::from_slice::<Value>(&line) {
                    Ok(call) => files.call(&call, here.context.now()),
                    Err(error) => Err(format!("the line is no JSON: {error}")),
                }
            };
            let (content, is_error) = match answer {
                Ok(text) => (text, false),
                Err(text) => (text, true),
            };
            crate::output::compact_json(&json!({ "content": content, "is_error": is_error }))?;
        }
    }
}

fn skip_line(input: &mut impl BufRead, begun: &[u8]) -> std::io::Result<()> {
    if begun.ends_with(b"\n") {
        return Ok(());
    }
    loop {
        let buffer = input.fill_buf()?;
        if buffer.is_empty() {
            return Ok(());
        }
        let end = buffer.iter().position(|b| *b == b'\n');
        let used = end.map_or(buffer.len(), |at| at + 1);
        input.consume(used);
        if end.is_some() {
            return Ok(());
        }
    }
}

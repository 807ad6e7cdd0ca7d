use crate::context::Context;
use crate::transcript::{Style, Transcript};
use clap::ValueEnum;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_core::{Message, Wire, invariants};
use throughline_ledger::{resume, session};

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// The whole ledger, long payloads put back in.
    Jsonl,
    /// A transcript to read.
    Markdown,
    /// The view as Anthropic `messages`.
    Anthropic,
    /// The view as OpenAI Responses `input`.
    Responses,
    /// The view as OpenAI Chat `messages`.
    Chat,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions export 7c1f3a52 --format anthropic > messages.json\n  throughline sessions export 7c1f3a52 --format markdown -o session.md"
)]
pub(crate) struct Export {
    /// The session.
    session: String,
    /// In which form.
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    format: Format,
    /// The file to write; it must not exist [default: standard output].
    #[arg(short = 'o', long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Export {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let path = context.ledger(&self.session)?;
        let mut out: Box<dyn Write> = match &self.output {
            Some(file) => Box::new(std::io::BufWriter::new(create_private(file)?)),
            None => Box::new(std::io::stdout().lock()),
        };
        match self.format {
            Format::Jsonl => {
                session::each_record(&context.home, &path, &mut |_, record| {
                    let mut line = Vec::new();
                    record.write(&mut line)?;
                    line.push(b'\n');
                    anyhow::Ok(out.write_all(&line)?)
                })?;
            }
            Format::Markdown => {
                let style = Style { full: true, ids: false, heading: "### " };
                let mut transcript = Transcript::new(anstream::StripStream::new(&mut out), style);
                session::each_record(&context.home, &path, &mut |_, record| {
                    anyhow::Ok(transcript.record(&record)?)
                })?;
            }
            Format::Anthropic => messages(context, &path, Wire::Anthropic, "messages", &mut out)?,
            Format::Responses => messages(context, &path, Wire::Responses, "input", &mut out)?,
            Format::Chat => messages(context, &path, Wire::Chat, "messages", &mut out)?,
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }
}

fn messages(
    context: &Context,
    path: &std::path::Path,
    wire: Wire,
    key: &str,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let resumed = resume(&context.home, path)?;
    let messages: Vec<Message> = resumed.view.messages().map(|message| (*message).clone()).collect();
    let (messages, repairs) = invariants::repair(messages);
    for repair in &repairs {
        anstream::eprintln!("{} {}", crate::output::yellow("repaired:"), repair.violation);
    }
    let encoded = throughline_wire::encode_messages(wire, &messages);
    serde_json::to_writer_pretty(&mut *out, &json!({ key: encoded }))?;
    writeln!(out)?;
    Ok(())
}

/// Sessions hold secrets: an export is for its owner, and never replaces a file.
fn create_private(path: &std::path::Path) -> anyhow::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| anyhow::anyhow!("cannot make {}: {e}", path.display()))
}

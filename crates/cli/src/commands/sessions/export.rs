use crate::context::Context;
use crate::output;
use crate::transcript::{Style, Transcript};
use clap::ValueEnum;
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
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
        match (&self.output, context.json) {
            (Some(file), json) => {
                let mut out = std::io::BufWriter::new(create_private(file)?);
                self.write(context, &path, &mut out)?;
                out.flush()?;
                if json {
                    let bytes = file.metadata()?.len();
                    output::json(&json!({ "session": self.session, "path": file, "bytes": bytes }))?;
                }
            }
            (None, false) => self.write(context, &path, &mut output::data())?,
            (None, true) => {
                let mut text = Vec::new();
                self.write(context, &path, &mut text)?;
                // What is one JSON document already stays one; lines and Markdown become a string.
                let content = match serde_json::from_slice::<serde_json::Value>(&text) {
                    Ok(value) => value,
                    Err(_) => json!(String::from_utf8_lossy(&text)),
                };
                output::json(&json!({ "session": self.session, "content": content }))?;
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, context: &Context, path: &Path, out: &mut dyn Write) -> anyhow::Result<()> {
        match self.format {
            Format::Jsonl => {
                session::each_record(&context.home, path, &mut |_, record| {
                    let mut line = Vec::new();
                    record.write(&mut line)?;
                    line.push(b'\n');
                    anyhow::Ok(out.write_all(&line)?)
                })?;
            }
            Format::Markdown => {
                let style = Style { full: true, ids: false, heading: "### " };
                let mut transcript = Transcript::new(Vec::new(), style);
                session::each_record(&context.home, path, &mut |_, record| {
                    transcript.record(&record)?;
                    let text = String::from_utf8_lossy(transcript.out()).into_owned();
                    transcript.out().clear();
                    anyhow::Ok(out.write_all(output::plain(&text).as_bytes())?)
                })?;
            }
            Format::Anthropic => request(context, path, Wire::Anthropic, out)?,
            Format::Responses => request(context, path, Wire::Responses, out)?,
            Format::Chat => request(context, path, Wire::Chat, out)?,
        }
        Ok(())
    }
}

/// The view as the part of a request that holds the conversation.
fn request(context: &Context, path: &Path, wire: Wire, out: &mut dyn Write) -> anyhow::Result<()> {
    let resumed = resume(&context.home, path)?;
    let messages: Vec<Message> = resumed.view.messages().map(|message| (*message).clone()).collect();
    let (messages, repairs) = invariants::repair(messages);
    for repair in &repairs {
        crate::errln!("{} {}", output::yellow("repaired:"), repair.violation);
    }
    let body = match wire {
        // Instructions before the first user message have a place of their own there.
        Wire::Anthropic => {
            let (system, rest) = throughline_wire::split_instructions(&messages);
            let messages = throughline_wire::encode_messages(wire, rest);
            if system.is_empty() {
                json!({ "messages": messages })
            } else {
                json!({ "system": system, "messages": messages })
            }
        }
        Wire::Responses => json!({ "input": throughline_wire::encode_messages(wire, &messages) }),
        Wire::Chat => json!({ "messages": throughline_wire::encode_messages(wire, &messages) }),
    };
    serde_json::to_writer_pretty(&mut *out, &body)?;
    writeln!(out)?;
    Ok(())
}

/// Sessions hold secrets: an export is for its owner, and never replaces a file.
fn create_private(path: &Path) -> anyhow::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map_err(|e| anyhow::anyhow!("cannot make {}: {e}", path.display()))
}

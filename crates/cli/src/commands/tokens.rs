use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim};
use anyhow::Context as _;
use serde_json::json;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use throughline_core::tokens::{Breakdown, Counter};
use throughline_core::{Message, invariants};
use throughline_ledger::import::{discover_in, import};
use throughline_ledger::{Home, SyncPolicy, is_ledger, list, resume};
use throughline_wire::Request;

/// The model whose tokenizer is used where neither the flag nor the file names one.
const DEFAULT_MODEL: &str = "claude-opus-4-5";

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline tokens request.json\n  throughline tokens ~/.codex/sessions/2026/01/05/rollout-….jsonl --messages\n  git diff | throughline tokens - --model gpt-5"
)]
pub(crate) struct Tokens {
    /// A provider request, a transcript of Claude Code or Codex, a ledger, or any text; `-` for standard input.
    file: PathBuf,
    /// Whose tokenizer [default: the model that the file names, else Claude's].
    #[arg(long)]
    model: Option<String>,
    /// Each message of its own, too.
    #[arg(long)]
    messages: bool,
}

/// What is to be counted.
struct Loaded {
    what: &'static str,
    model: Option<String>,
    system: String,
    tools: String,
    messages: Vec<Message>,
}

impl Loaded {
    fn messages(what: &'static str, model: Option<String>, messages: Vec<Message>) -> Self {
        Self { what, model, system: String::new(), tools: String::new(), messages }
    }
}

impl Tokens {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let text = read(&self.file)?;
        let loaded = load(context, &self.file, &text)?;
        let model = self.model.or_else(|| loaded.model.clone()).unwrap_or_else(|| DEFAULT_MODEL.to_owned());
        let mut counter = Counter::for_model(&model);
        let tokenizer = counter.profile().tokenizer;
        let (system, tools) = (counter.text(&loaded.system), counter.text(&loaded.tools));
        let (plain, view) = match loaded.what {
            "text" => (counter.text(&String::from_utf8_lossy(&text)), Default::default()),
            _ => (0, counter.view(&loaded.messages)),
        };
        let mut by_kind = view.by_kind();
        by_kind.text += plain;
        let total = system + tools + by_kind.total();
        if context.json {
            let messages: Option<Vec<_>> = self.messages.then(|| {
                let counted = loaded.messages.iter().zip(&view.messages);
                counted.map(|(m, n)| json!({ "id": m.id, "role": m.role, "tokens": n.total() })).collect()
            });
            output::json(&json!({
                "what": loaded.what, "model": model, "tokenizer": tokenizer.name(), "exact": tokenizer.is_exact(),
                "total": total, "system": system, "tools": tools, "by_kind": by_kind, "messages": messages,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.messages {
            for (message, tokens) in loaded.messages.iter().zip(&view.messages) {
                let who = format!("{:?}", message.role).to_lowercase();
                let words = output::fit(&message.to_text(), output::width().saturating_sub(24));
                outln!("{:>9}  {:<9}  {}", output::number(tokens.total()), who, dim(words));
            }
        }
        let exact = if tokenizer.is_exact() { "exact for text" } else { "estimated" };
        outln!("{} tokens  {}", bold(output::number(total)), dim(format!("({}, {exact})", tokenizer.name())));
        let Breakdown { text, reasoning, calls, results, images, documents, other, structure } = by_kind;
        let parts = [
            ("system prompt", system),
            ("tools", tools),
            ("text", text),
            ("reasoning", reasoning),
            ("tool calls", calls),
            ("tool results", results),
            ("images", images),
            ("documents", documents),
            ("other", other),
            ("structure", structure),
        ];
        for (name, tokens) in parts.into_iter().filter(|(_, tokens)| *tokens > 0) {
            let share = 100.0 * tokens as f64 / total.max(1) as f64;
            outln!("  {name:<14} {:>9}  {}", output::number(tokens), dim(format!("{share:.1}%")));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    if path == Path::new("-") {
        let mut text = Vec::new();
        std::io::stdin().read_to_end(&mut text)?;
        return Ok(text);
    }
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn load(context: &Context, path: &Path, text: &[u8]) -> anyhow::Result<Loaded> {
    if let Ok(value) = serde_json::from_slice::<serde_json::Value>(text)
        && let Some(wire) = Request::detect(&value)
    {
        let request = Request::from_value(wire, value)?;
        return Ok(Loaded {
            what: "request",
            model: request.model().map(str::to_owned),
            system: request.system().unwrap_or_default().into_owned(),
            tools: request.tools().map(ToString::to_string).unwrap_or_default(),
            messages: request.messages,
        });
    }
    if path.is_file() && is_ledger(path)? {
        let resumed = resume(&context.home, path)?;
        let model = resumed.card.and_then(|card| card.model);
        return Ok(Loaded::messages("ledger", model, shown(&resumed.view)));
    }
    if path.is_file()
        && let Some(loaded) = transcript(path)?
    {
        return Ok(loaded);
    }
    Ok(Loaded::messages("text", None, Vec::new()))
}

/// The view of another client's session, by way of a ledger that is thrown away.
fn transcript(path: &Path) -> anyhow::Result<Option<Loaded>> {
    let scratch = tempfile::tempdir()?;
    let home = Home::new(scratch.path());
    import(&home, &discover_in(&[path.to_owned()]), SyncPolicy::Never, &mut |_| {})?;
    let sessions = list(&home)?;
    let Some(session) = sessions.iter().find(|s| s.card.parent_session.is_none()) else { return Ok(None) };
    let resumed = resume(&home, &session.path)?;
    Ok(Some(Loaded::messages("transcript", session.card.model.clone(), shown(&resumed.view))))
}

fn shown(view: &throughline_core::View) -> Vec<Message> {
    invariants::repair(view.messages().map(|message| (*message).clone()).collect()).0
}

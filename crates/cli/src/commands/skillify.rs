//! `skillify`: a session's notes and the user's messages become a reusable SKILL.md (N7).

use crate::commands::ScribeArg;
use crate::commands::given::{Given, given};
use crate::context::Context;
use crate::outln;
use crate::output::{self, yellow};
use anyhow::{Context as _, bail};
use serde_json::json;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use throughline_core::SharedKnowledge;
use throughline_core::cost::Prices;
use throughline_core::tokens::Counter;
use throughline_engine::session::{Frame, notes_file};
use throughline_ledger::session_of;
use throughline_memory::ByModel;
use throughline_memory::notes::{Author, SkillLimits, Skillified, Skillify, skillify};
use throughline_model::{CancelToken, Caps, Model, Prefix, Tail};
use throughline_redact::redact;

/// Make a reusable skill of a session: its notes and the user's messages become a SKILL.md.
///
/// The skill is printed, or written to --out. Secrets are redacted. The session is not changed.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline skillify 7c1f3a52\n  throughline skillify 7c1f3a52 --out .agents/skills/release/SKILL.md\n  throughline skillify 7c1f3a52 --scribe model --request \"only the release, not the fixes before it\"\n  throughline skillify 7c1f3a52 --json | jq -r .skill.name"
)]
pub(crate) struct SkillifyCommand {
    /// A session (id, or a unique beginning of it), a ledger, or a transcript of Claude Code or Codex.
    session: String,
    /// Write the skill to this file, which must not exist yet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Who writes the skill.
    #[arg(long, value_enum, default_value = "offline")]
    scribe: ScribeArg,
    /// What the skill shall be about (with --scribe model).
    #[arg(long, value_name = "TEXT")]
    request: Option<String>,
}

/// The most that the model may take.
const CAPS: Caps =
    Caps { turns: 1, input_tokens: 200_000, output_tokens: 16_000, dollars: 2.0, seconds: 300 };

impl SkillifyCommand {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        if let Some(file) = self.out.as_ref().filter(|file| file.exists()) {
            bail!("{} exists already; remove it or give another --out", file.display());
        }
        let given = given(context, &self.session)?;
        let notes = notes_of(context, &given)?;
        let Skillified { skill, repairs, by, receipt } = self.make(context, &given, notes.as_deref())?;
        let skill = skill.with_context(|| format!("no skill was made of {}", self.session))?;
        let markdown = redact(&skill.to_markdown()).text().to_owned();
        if let Some(file) = &self.out {
            write_new(file, &markdown)?;
        }
        if context.json {
            output::json(&json!({
                "skill": {"name": skill.name, "description": redact(&skill.description).text()},
                "markdown": markdown,
                "notes": notes.is_some(),
                "scribe": match by { Author::Model => "model", Author::Offline => "offline" },
                "repairs": repairs,
                "dollars": receipt.map_or(0.0, |receipt| receipt.dollars),
                "out": self.out,
            }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for repair in &repairs {
            crate::errln!("{}: {repair}", yellow("repaired"));
        }
        match &self.out {
            Some(file) => outln!("Wrote the skill {} to {}", skill.name, file.display()),
            None => writeln!(output::data(), "{}", markdown.trim_end())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn make(&self, context: &Context, given: &Given, notes: Option<&str>) -> anyhow::Result<Skillified> {
        let knowledge = SharedKnowledge::default();
        if let Some(cwd) = &given.cwd {
            knowledge.change(|known| known.facts.set_cwd(cwd));
        }
        given.said.iter().for_each(|message| knowledge.push(message.clone()));
        let mut counter = Counter::for_model(&given.model);
        let model: Option<Box<dyn Model>> = match self.scribe {
            ScribeArg::Offline => None,
            ScribeArg::Model => Some(context.scribe_model()?),
        };
        let prefix = model.as_ref().map(|model| {
            Prefix::new(model.wire(), Frame::new(model.wire(), model.id()).request(&[]).to_vec())
        });
        let prefix = prefix.transpose()?;
        let price = model.as_ref().map(|model| Prices::builtin().of(model.id()));
        let by_model = match (&model, &prefix, &price) {
            (Some(model), Some(prefix), Some(price)) => Some(ByModel {
                model: &**model,
                prefix,
                since: &[],
                caps: &CAPS,
                price,
                tail: Tail { without_thinking: true, ..Tail::default() },
                cancel: CancelToken::new(),
            }),
            (_, _, _) => None,
        };
        let order = Skillify {
            notes,
            request: self.request.as_deref(),
            knowledge: &knowledge,
            model: by_model,
            limits: SkillLimits::default(),
            counter: &mut counter,
        };
        context.block_on(skillify(order))
    }
}

/// The session's notes, where it is one of ours and has any.
fn notes_of(context: &Context, given: &Given) -> anyhow::Result<Option<String>> {
    let session = given.ledger.as_deref().and_then(session_of);
    let (Some(session), Some(cwd)) = (session, &given.cwd) else { return Ok(None) };
    Ok(notes_file(&context.home, &session.into(), Path::new(cwd)).read()?)
}

/// Writes a file that was not there before.
fn write_new(file: &Path, text: &str) -> anyhow::Result<()> {
    let failed = || format!("cannot write {}", file.display());
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    let mut out = std::fs::OpenOptions::new().write(true).create_new(true).open(file).with_context(failed)?;
    out.write_all(text.as_bytes()).with_context(failed)
}

use super::here::{Here, note, tell_redacted, types};
use super::{anchors, print};
use crate::outln;
use crate::output::{self, bold, cyan};
use crate::times;
use anyhow::{Context as _, bail};
use jiff::tz::TimeZone;
use serde_json::json;
use std::io::Read as _;
use std::process::ExitCode;
use throughline_memory::extract::{self, Written, written};
use throughline_memory::topics::{Added, Anchor, Meta, NewTopic, Saved, TopicHead, TopicType};
use throughline_memory::{MemoryId, Tier};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory add \"Don't mock the database, because it hid a broken migration\"\n  throughline memory add --type reference --expires 90d \"Bugs are tracked in Linear, project INGEST\"\n  git log -1 --format=%B | throughline memory add --name \"Release notes style\" -"
)]
pub(crate) struct Add {
    /// What is to be remembered; `-` reads it from standard input.
    #[arg(required = true)]
    text: Vec<String>,
    /// What it is about [default: by its words].
    #[arg(long = "type", value_name = "T", value_parser = types())]
    kind: Option<TopicType>,
    /// What it is called [default: by its words].
    #[arg(long, value_name = "N")]
    name: Option<String>,
    /// When it helps, in a line [default: by its words].
    #[arg(long, value_name = "D")]
    description: Option<String>,
    /// How long it holds: a span such as 30d, or a date.
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// What of the project it is about: path:src/a.rs, symbol:src/a.rs#run or commit:4f2a9c1. May be given several times.
    #[arg(long = "anchor", value_name = "ANCHOR", value_parser = anchor)]
    anchors: Vec<Anchor>,
    /// The memory whose place it takes: that one stays as a file, and no session is told it.
    #[arg(long, value_name = "ID")]
    replaces: Option<String>,
    /// Save it although such a thing is usually not worth a memory.
    #[arg(long)]
    anyway: bool,
}

/// An anchor on the command line.
pub(super) fn anchor(text: &str) -> Result<Anchor, String> {
    text.parse()
}

/// The most that is read from standard input.
const MOST: u64 = 1 << 20;

/// The text that was given, or what stands on standard input.
pub(super) fn text_or_stdin(text: &str) -> anyhow::Result<String> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut text = String::new();
    let read = std::io::stdin().lock().take(MOST + 1).read_to_string(&mut text);
    let read = read.context("cannot read standard input as UTF-8 text")?;
    anyhow::ensure!(read as u64 <= MOST, "standard input is larger than {MOST} bytes: no memory is");
    Ok(text)
}

impl Add {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let text = text_or_stdin(&self.text.join(" "))?;
        anyhow::ensure!(!text.trim().is_empty(), "there is nothing to remember: the text is empty");
        let expires = self.expires.as_deref().map(|when| times::ahead(when, here.now)).transpose()?;
        let replaced = self.replaces.as_deref().map(|id| here.one(id)).transpose()?;
        let tier = replaced.as_ref().map_or_else(|| here.target(), |entry| entry.id.tier);
        let today = here.now.to_zoned(TimeZone::system()).date();
        let made = written(&text, self.kind, today);
        if let (Some(why), false) = (&made.objection, self.anyway) {
            bail!("that is not worth a memory: {why}. `--anyway` saves it all the same");
        }
        let new = NewTopic {
            kind: made.kind,
            name: self.name.clone().unwrap_or_else(|| made.name.clone()),
            description: self.description.clone().unwrap_or_else(|| made.description.clone()),
            body: made.body.clone(),
            meta: Meta {
                created: Some(here.now),
                expires,
                superseded_by: None,
                evidence: 1,
                sources: vec![here.by_person(&text)],
                anchors: self.anchors_of(&text, tier, here),
            },
        };
        let (kind, name) = (new.kind, new.name.clone());
        let store = here.store(tier)?;
        let added = match &replaced {
            Some(old) => store.supersede(&old.id.file, new)?,
            None => store.add(new)?,
        };
        match added {
            Added::Saved(saved) => self.tell(here, Outcome { tier, kind, name, saved, made }),
            Added::Similar(known) => tell_similar(here, tier, &known, &text),
        }
    }

    /// Those that were given, and what the text names and is there. What holds everywhere is about no project.
    fn anchors_of(&self, text: &str, tier: Tier, here: &Here<'_>) -> Vec<Anchor> {
        let mut anchors = self.anchors.clone();
        if tier != Tier::Global {
            let named = extract::anchors(text, here.root.as_deref());
            anchors.extend(named.into_iter().filter(|anchor| !self.anchors.contains(anchor)));
        }
        anchors
    }

    fn tell(&self, here: &Here<'_>, outcome: Outcome) -> anyhow::Result<ExitCode> {
        let Outcome { tier, kind, name, saved, made } = outcome;
        let id = MemoryId::new(tier, saved.file.clone());
        let path = here.store(tier)?.folder().join(&saved.file);
        if here.json() {
            output::json(&json!({
                "saved": true, "id": id, "path": path, "type": kind, "name": name,
                "redacted": saved.redacted, "unrecorded": saved.unrecorded,
            }))?;
        } else {
            outln!("Remembered as {} {}", cyan(print::line(&id.to_string())), bold(print::line(&name)));
            if made.is_global && here.tier.is_none() && tier == Tier::Project {
                note(&format!(
                    "it sounds as if it held in every project; it was saved for this one. To have it everywhere: {}",
                    here.command("undo") + ", then add it with --global"
                ));
            }
            here.tell_unrecorded(saved.unrecorded.as_deref());
        }
        tell_redacted(&saved.redacted);
        anchors::tell_gone(here, &self.anchors);
        Ok(ExitCode::SUCCESS)
    }
}

struct Outcome {
    tier: Tier,
    kind: TopicType,
    name: String,
    saved: Saved,
    made: Written,
}

/// Nothing was saved, for this one says much the same.
fn tell_similar(here: &Here<'_>, tier: Tier, known: &TopicHead, text: &str) -> anyhow::Result<ExitCode> {
    let id = MemoryId::new(tier, known.file.clone());
    let name = print::quoted(&id.to_string());
    let words = output::fit(&print::line(text), 40);
    let confirm = here.command(&format!("confirm {name}"));
    let edit = here.command(&format!("edit {name} --text {}", print::quoted(&words)));
    let replace = here.command(&format!("add --replaces {name} {}", print::quoted(&words)));
    if here.json() {
        output::json(&json!({
            "saved": false, "similar": { "id": id, "name": known.name, "description": known.description },
        }))?;
        return Ok(ExitCode::FAILURE);
    }
    crate::errln!(
        "{}: {} says much the same, so nothing was saved:",
        output::red("error"),
        cyan(print::line(&id.to_string()))
    );
    let gist = format!("{}: {}", known.name, known.description);
    crate::errln!("    {}", output::fit(&print::line(&gist), output::width().saturating_sub(4)));
    crate::errln!("It holds still:        {confirm}");
    crate::errln!("It should say this:    {edit}");
    crate::errln!("This takes its place:  {replace}");
    Ok(ExitCode::FAILURE)
}

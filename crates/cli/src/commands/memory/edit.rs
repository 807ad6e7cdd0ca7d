mod editor;

use super::add::{anchor, text_or_stdin};
use super::ask::{can_ask, wrong_usage};
use super::entry::Entry;
use super::here::{Here, tell_redacted, types};
use super::{anchors, print};
use crate::outln;
use crate::output::{self, cyan};
use crate::times;
use jiff::tz::TimeZone;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::extract::written;
use throughline_memory::topics::{Anchor, Change, Saved, Topic, TopicType};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory edit feedback_tests-first.md          (in $VISUAL or $EDITOR)\n  throughline memory edit project_freeze --expires 2026-12-31\n  throughline memory edit \"Tests first\" --text \"Run all tests before every push.\" --anchor path:tests"
)]
pub(crate) struct Edit {
    /// The memory: its file, a unique beginning of that, or its name.
    id: String,
    /// What it is called.
    #[arg(long, value_name = "N")]
    name: Option<String>,
    /// When it helps, in a line.
    #[arg(long, value_name = "D")]
    description: Option<String>,
    /// What it is about. The file keeps its name.
    #[arg(long = "type", value_name = "T", value_parser = types())]
    kind: Option<TopicType>,
    /// What it says; `-` reads it from standard input.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    text: Option<String>,
    /// How long it holds: a span such as 30d, a date, or `never` for as long as its type does.
    #[arg(long, value_name = "WHEN")]
    expires: Option<String>,
    /// One more thing of the project that it is about. May be given several times.
    #[arg(long = "anchor", value_name = "ANCHOR", value_parser = anchor)]
    anchors: Vec<Anchor>,
    /// One thing less. May be given several times.
    #[arg(long = "no-anchor", value_name = "ANCHOR", value_parser = anchor)]
    no_anchors: Vec<Anchor>,
}

impl Edit {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let entry = here.one(&self.id)?;
        let is_empty = self.name.is_none()
            && self.description.is_none()
            && self.kind.is_none()
            && self.text.is_none()
            && self.expires.is_none()
            && self.anchors.is_empty()
            && self.no_anchors.is_empty();
        if is_empty {
            if !can_ask(here) {
                wrong_usage(
                    "nothing is to be changed: give --text, --name, --description, --type, --expires or --anchor",
                );
            }
            return match editor::edit(here, &entry)? {
                Some(saved) => tell(here, &entry, &saved),
                None => {
                    outln!("Nothing was changed.");
                    Ok(ExitCode::SUCCESS)
                }
            };
        }
        let mut meta = entry.topic.meta.clone();
        let body = self.text.as_deref().map(text_or_stdin).transpose()?;
        if let Some(when) = &self.expires {
            meta.expires = match when.as_str() {
                "never" => None,
                when => Some(times::ahead(when, here.now)?),
            };
        }
        for anchor in &self.no_anchors {
            let before = meta.anchors.len();
            meta.anchors.retain(|known| known != anchor);
            anyhow::ensure!(
                meta.anchors.len() < before,
                "{} is not about {}; `{}` shows what it is about",
                print::line(&entry.id.to_string()),
                print::quoted(&anchor.to_string()),
                here.command(&format!("why {}", print::quoted(&entry.id.to_string())))
            );
        }
        for anchor in &self.anchors {
            if !meta.anchors.contains(anchor) {
                meta.anchors.push(anchor.clone());
            }
        }
        if let Some(body) = &body {
            meta.sources.push(here.by_person(body));
        }
        let meta = (meta != entry.topic.meta).then_some(meta);
        let anew = body.as_deref().map(|body| Anew::of(&entry.topic, body, here)).unwrap_or_default();
        let change = Change {
            kind: self.kind,
            name: self.name.or(anew.name),
            description: self.description.or(anew.description),
            body,
            meta,
        };
        let saved = here.store(entry.id.tier)?.update(&entry.id.file, change)?;
        let told = tell(here, &entry, &saved)?;
        anchors::tell_gone(here, &self.anchors);
        Ok(told)
    }
}

/// What a memory is called and when it helps, where that was made of its words and these are others now.
#[derive(Default)]
struct Anew {
    name: Option<String>,
    description: Option<String>,
}

impl Anew {
    fn of(before: &Topic, body: &str, here: &Here<'_>) -> Self {
        let plain = |text: &str| text.trim().trim_end_matches(['.', '…', '!', '。']).to_lowercase();
        let first = plain(before.body.lines().next().unwrap_or_default());
        let is_made = |text: &str| {
            let text = plain(text);
            !text.is_empty() && (text.starts_with(&first) || first.starts_with(&text))
        };
        let made = written(body, before.kind, here.now.to_zoned(TimeZone::system()).date());
        Self {
            name: is_made(&before.name).then_some(made.name),
            description: is_made(&before.description).then_some(made.description),
        }
    }
}

fn tell(here: &Here<'_>, before: &Entry, saved: &Saved) -> anyhow::Result<ExitCode> {
    let store = here.store(before.id.tier)?;
    let newest = store.history(Some(&saved.file), 1).unwrap_or_default();
    let change = newest.first().map(|change| change.id.clone()).filter(|_| saved.unrecorded.is_none());
    if here.json() {
        let entry = here.entry(before.id.tier, store, store.read(&saved.file)?);
        let mut value = entry.json(None);
        value["body"] = json!(entry.topic.body);
        output::json(&json!({
            "memory": value, "change": change, "redacted": saved.redacted, "unrecorded": saved.unrecorded,
        }))?;
    } else {
        outln!("Changed {}.", cyan(print::line(&before.id.to_string())));
        if let Some(change) = change {
            outln!("`{}` takes it back.", here.command(&format!("undo {change}")));
        }
        here.tell_unrecorded(saved.unrecorded.as_deref());
    }
    tell_redacted(&saved.redacted);
    Ok(ExitCode::SUCCESS)
}

use super::entry::{Entry, State};
use super::here::Here;
use super::history::Changed;
use super::print;
use crate::outln;
use crate::output::{self, bold, cyan, dim, green, yellow};
use crate::times;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::topics::{By, Source};
use throughline_memory::usage::{Usage, Use, Used};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory why feedback_tests-first.md\n  throughline memory why \"Tests first\" --json"
)]
pub(crate) struct Why {
    /// The memory: its file, a unique beginning of that, or its name.
    id: String,
}

/// Changes and uses that are told.
const CHANGES: usize = 10;
const USES: usize = 5;

/// All that is known of a memory beside its words.
struct Known {
    entry: Entry,
    usage: Usage,
    /// The newest times that it was shown, used or opened, newest last.
    recent: Vec<Use>,
    /// What it took the place of.
    superseded: Vec<Entry>,
    changes: Vec<Changed>,
    /// Why there is no history.
    no_history: Option<String>,
    anchors: Vec<(String, Option<String>)>,
}

impl Why {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let known = Known::of(here, here.one(&self.id)?)?;
        if here.json() {
            known.print_json()?;
        } else {
            known.print(here);
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Known {
    fn of(here: &Here<'_>, entry: Entry) -> anyhow::Result<Self> {
        let (tier, file) = (entry.id.tier, entry.id.file.clone());
        let store = here.store(tier)?;
        let usage = here.memories.usage(tier).map(|log| log.read()).transpose()?.unwrap_or_default();
        let recent: Vec<Use> = usage.recent.iter().filter(|one| one.file == file).cloned().collect();
        let (entries, _) = here.all();
        let is_old =
            |old: &Entry| old.id.tier == tier && old.topic.meta.superseded_by.as_ref() == Some(&file);
        let (changes, no_history) = match store.history(Some(&file), CHANGES) {
            Ok(changes) => (changes.into_iter().map(|change| Changed { tier, change }).collect(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        Ok(Self {
            superseded: entries.into_iter().filter(is_old).collect(),
            recent: recent.into_iter().rev().take(USES).rev().collect(),
            anchors: super::anchors::checked(here, &entry.topic.meta.anchors),
            entry,
            usage,
            changes,
            no_history,
        })
    }

    fn print_json(&self) -> anyhow::Result<()> {
        let mut value = self.entry.json(self.usage.counts.get(&self.entry.id.file));
        value["recent"] = json!(self.recent);
        value["anchors"] =
            self.anchors.iter().map(|(anchor, gone)| json!({ "anchor": anchor, "gone": gone })).collect();
        value["supersedes"] = self.superseded.iter().map(|old| json!(old.id)).collect();
        value["history"] = self.changes.iter().map(Changed::json).collect();
        value["no_history"] = json!(self.no_history);
        output::json(&value)
    }

    fn print(&self, here: &Here<'_>) {
        let topic = &self.entry.topic;
        outln!("{}", bold(print::line(&topic.name)));
        let kind = topic.kind.map_or("no type".to_owned(), |kind| kind.to_string());
        print::titled("", &self.entry.id.to_string(), (&kind, ""));
        self.print_sources(here);
        self.print_life(here);
        self.print_uses(here);
        if !self.anchors.is_empty() {
            section("What it is about");
            for (anchor, gone) in &self.anchors {
                let told = match gone {
                    Some(gone) => yellow(print::line(gone)),
                    None => green("✓"),
                };
                outln!("  {}  {told}", print::line(anchor));
            }
        }
        if !self.superseded.is_empty() {
            section("What it took the place of");
            for old in &self.superseded {
                print::titled("  ", &old.id.to_string(), (&print::gist(old, 50), ""));
            }
        }
        section("What became of it");
        if let Some(why) = &self.no_history {
            outln!("  {}", yellow(print::line(why)));
        } else if self.changes.is_empty() {
            outln!("  No change of it is recorded yet: somebody else wrote the file.");
        }
        for change in &self.changes {
            change.print("  ");
        }
        outln!("\n{}", dim(print::line(&self.entry.path.to_string_lossy())));
    }

    fn print_sources(&self, here: &Here<'_>) {
        let meta = &self.entry.topic.meta;
        section("Where it comes from");
        if meta.sources.is_empty() {
            outln!("  Its file does not say: somebody wrote it by hand, or another tool did.");
        }
        for source in &meta.sources {
            print_source(here, source);
        }
        let told = meta.sources.len();
        if meta.evidence as usize > told.max(1) {
            let kept = if told > 0 { format!("; the last {told} are above") } else { String::new() };
            outln!("  Said {} in all{kept}.", print::times_said(u64::from(meta.evidence)));
        }
    }

    fn print_life(&self, here: &Here<'_>) {
        section("Whether it holds");
        outln!("  {}", super::list::told(&self.entry.state));
        match (&self.entry.state, self.entry.ends) {
            (State::Superseded { by }, _) => outln!("  It is {}.", cyan(print::line(&by.to_string()))),
            (State::Expired { at }, _) => {
                let id = print::quoted(&self.entry.id.to_string());
                outln!("  That was {} ({}).", times::age(*at, here.now), times::local(*at));
                print::say(
                    "  ",
                    &format!("If it holds: {}", here.command(&format!("edit {id} --expires never"))),
                );
            }
            (State::Live, Some(end)) => {
                let own = self.entry.topic.meta.expires == Some(end);
                let by = if own { "as was said" } else { "for its type, unless it is said or changed again" };
                print::say(
                    "  ",
                    &format!("Until {} ({}), {by}.", times::local(end), times::until(end, here.now)),
                );
            }
            (State::Live, None) => outln!("  Until somebody says otherwise."),
        }
    }

    fn print_uses(&self, here: &Here<'_>) {
        section("Whether it helped");
        let counts = self.usage.counts.get(&self.entry.id.file).copied().unwrap_or_default();
        let parts = [
            ("Shown to a model", counts.shown, counts.last_shown),
            ("Used in an answer", counts.used, counts.last_used),
            ("Opened by somebody", counts.opened, counts.last_opened),
        ];
        for (what, n, last) in parts {
            let last = last.map(|at| format!(", last {}", times::age(at, here.now))).unwrap_or_default();
            outln!("  {what}: {}{last}", print::times_said(n));
        }
        for one in &self.recent {
            let session = one.session.as_deref().map(|id| format!(" in session {}", print::line(id)));
            outln!(
                "  {}  {}{}",
                dim(times::local(one.at)),
                became(one.what),
                dim(session.unwrap_or_default())
            );
        }
    }
}

fn section(title: &str) {
    outln!("\n{}", bold(title));
}

fn became(what: Used) -> &'static str {
    match what {
        Used::Shown => "shown",
        Used::Used => "used",
        Used::Opened => "opened",
    }
}

fn print_source(here: &Here<'_>, source: &Source) {
    let who = match source.by {
        By::User => "The user said it",
        By::Person if source.quote.is_empty() => "A person confirmed it",
        By::Person => "A person wrote it down",
        By::Agent => "The agent noted it; nobody said it",
        By::Import => "It was imported",
    };
    outln!("  {}  {}", who, dim(times::local(source.at)));
    let width = output::width();
    if let Some(session) = &source.session {
        let is_here = here.context.home.find(session).is_ok();
        let session = print::line(session);
        if is_here {
            outln!("    {}", dim(format!("throughline sessions show {session}")));
        } else {
            outln!("    {}", dim(format!("session {session} (not on this machine)")));
        }
        for message in &source.messages {
            outln!("    {}", dim(format!("message {}", print::line(message))));
        }
    }
    if !source.quote.is_empty() {
        for row in print::paragraphs(&format!("“{}”", print::line(&source.quote)), "    ", width) {
            outln!("{row}");
        }
    }
}

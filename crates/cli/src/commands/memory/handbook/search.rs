use super::super::print;
use super::Desk;
use crate::outln;
use crate::output::{self, cyan, dim};
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_memory::handbook::read::{Found, Reading};
use throughline_memory::handbook::{ProjectKey, Scope};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook search release script\n  throughline memory handbook search \"E0382\" -n 3 --json"
)]
pub(crate) struct Search {
    /// The words.
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many.
    #[arg(short = 'n', long, default_value_t = 10)]
    limit: usize,
}

impl Search {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let words = self.words.join(" ");
        anyhow::ensure!(
            words.chars().any(char::is_alphanumeric),
            "{} holds no word to search for",
            print::quoted(&words)
        );
        anyhow::ensure!(self.limit > 0, "--limit 0 asks for nothing");
        let found = hits(desk, &words, self.limit)?;
        if desk.context.json {
            output::json(&json!({ "query": words, "hits": hits_json(&found), "problems": found.problems }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if found.hits.is_empty() {
            outln!("Nothing found.");
        }
        print_hits(&found);
        for problem in &found.problems {
            super::super::here::note(&print::line(problem));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What the handbooks of this project say to some words: its own, and the global one.
pub(crate) fn hits(desk: &Desk<'_>, words: &str, most: usize) -> anyhow::Result<Found> {
    let project = match desk.scope()? {
        Scope::Project(key) => key,
        // No project has this name: only the global one is looked into.
        Scope::Global => ProjectKey::new(""),
    };
    Ok(Reading::new(&desk.context.home, &project, &desk.settings.limits).search(words, most))
}

pub(crate) fn hits_json(found: &Found) -> Vec<Value> {
    let hit = |hit: &throughline_memory::handbook::read::Hit| json!({ "path": hit.path, "line": hit.line, "text": hit.text, "session": hit.session, "score": hit.score });
    found.hits.iter().map(hit).collect()
}

pub(crate) fn print_hits(found: &Found) {
    for hit in &found.hits {
        outln!("  {}", cyan(print::line(&format!("{}:{}", hit.path, hit.line))));
        for row in print::paragraphs(&print::line(&hit.text), "    ", output::width()) {
            outln!("{row}");
        }
        if let Some(session) = &hit.session {
            outln!("    {}", dim(format!("session {}", print::line(session.as_str()))));
        }
    }
}

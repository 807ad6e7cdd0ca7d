use super::Desk;
use crate::outln;
use crate::output::{self, bold, dim};
use crate::terminal::clean::on_one_line;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_memory::handbook::phase2::{MEMORY, SUMMARY};
use throughline_memory::handbook::{FindingKind, Shelved};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook show                      (this project's)\n  throughline memory handbook show --global --kind preference"
)]
pub(crate) struct Show {
    /// Only its summary.
    #[arg(long, conflicts_with = "kind")]
    summary: bool,
    /// Only one of its sections.
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    kind: Option<FindingKind>,
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = FindingKind> {
    use clap::builder::{PossibleValuesParser, TypedValueParser as _};
    PossibleValuesParser::new(FindingKind::ALL.map(FindingKind::name))
        .try_map(|word| FindingKind::ALL.into_iter().find(|kind| kind.name() == word).ok_or("no such kind"))
}

impl Show {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let one = desk.book()?;
        if desk.context.json {
            output::json(&self.json(one))?;
            return Ok(ExitCode::SUCCESS);
        }
        let file = one.folder.join(if self.summary { SUMMARY } else { MEMORY });
        let text = std::fs::read_to_string(&file)?;
        let mut in_section = self.kind.is_none();
        for line in text.lines() {
            // Its words are data: nothing in them acts on the terminal.
            let line = on_one_line(line);
            if let Some(heading) = line.strip_prefix("## ") {
                in_section = self.kind.is_none_or(|kind| is_heading(heading, kind));
            }
            if !in_section {
                continue;
            }
            match (line.starts_with('#'), line.rsplit_once(" [e")) {
                (true, _) => outln!("{}", bold(&line)),
                (false, Some((statement, keys))) => outln!("{statement} {}", dim(format!("[e{keys}"))),
                (false, None) => outln!("{line}"),
            }
        }
        Ok(ExitCode::SUCCESS)
    }

    fn json(&self, one: &Shelved) -> Value {
        let entries =
            one.book.entries().iter().filter(|entry| self.kind.is_none_or(|kind| entry.kind == kind));
        let summary = std::fs::read_to_string(one.folder.join(SUMMARY)).ok();
        json!({
            "scope": one.scope.to_text(), "folder": one.folder, "updated": one.book.updated(),
            "statements": entries.map(|entry| super::why::entry_json(one, entry)).collect::<Vec<_>>(),
            "summary": summary,
        })
    }
}

fn is_heading(heading: &str, kind: FindingKind) -> bool {
    let word = match kind {
        FindingKind::Preference => "User preferences",
        FindingKind::Procedure => "Procedures",
        FindingKind::Pitfall => "Pitfalls",
        FindingKind::Environment => "Environment",
        FindingKind::Task => "Tasks",
    };
    heading.trim().eq_ignore_ascii_case(word)
}

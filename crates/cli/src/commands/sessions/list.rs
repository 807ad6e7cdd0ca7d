use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, cyan, dim};
use crate::times;
use serde_json::json;
use std::collections::HashSet;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_ledger::{Copies, Listed, list};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions list --since 7d\n  throughline sessions list --project . --tag release --json"
)]
pub(crate) struct List {
    /// Only sessions that ran in this folder or below it.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Only sessions of this client: claude, codex, throughline.
    #[arg(long)]
    client: Option<String>,
    /// Only sessions with this tag.
    #[arg(long)]
    tag: Option<String>,
    /// Only sessions that went on after this: a date, a time, or an age such as 7d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Sub-agents' sessions too.
    #[arg(long)]
    agents: bool,
    /// Ledgers too that hold no more of a session than another one: imported, and by way of the proxy.
    #[arg(long)]
    copies: bool,
    /// At most this many.
    #[arg(short = 'n', long, default_value_t = 50)]
    limit: usize,
}

impl List {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let since = self.since.as_deref().map(|when| times::parse(when, context.now())).transpose()?;
        let project = self.project.as_deref().map(project_folder).transpose()?;
        let mut listed = list(&context.home)?;
        let all = listed.len();
        if !self.copies {
            without_copies(&mut listed);
        }
        listed.retain(|session| {
            let card = &session.card;
            (self.agents || card.parent_session.is_none())
                && since.is_none_or(|since| card.updated.is_some_and(|at| at >= since))
                && self.tag.as_ref().is_none_or(|tag| card.tags.contains(tag))
                && self.client.as_ref().is_none_or(|client| card.client == *client)
                && project
                    .as_ref()
                    .is_none_or(|dir| card.cwd.as_deref().is_some_and(|cwd| is_below(cwd, dir)))
        });
        if listed.is_empty() && all > 0 && !context.json {
            outln!(
                "None of {} fits; sub-agents' are listed with --agents.",
                output::count(all as u64, "session")
            );
            return Ok(ExitCode::SUCCESS);
        }
        print(context, &listed, self.limit)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Leaves of each conversation the ledger that holds most of it.
pub(crate) fn without_copies(listed: &mut Vec<Listed>) {
    let copies = Copies::among(listed);
    let lesser: HashSet<PathBuf> =
        listed.iter().filter(|one| copies.is_lesser(one)).map(|one| one.path.clone()).collect();
    listed.retain(|one| !lesser.contains(&one.path));
}

/// A folder as sessions record it: absolute, without a slash at the end.
pub(crate) fn project_folder(dir: &str) -> anyhow::Result<String> {
    let path = std::path::absolute(dir)?;
    let path = path.canonicalize().unwrap_or(path);
    Ok(path.to_string_lossy().trim_end_matches('/').to_owned())
}

pub(crate) fn is_below(cwd: &str, dir: &str) -> bool {
    cwd.strip_prefix(dir).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

pub(crate) fn print(context: &Context, listed: &[Listed], limit: usize) -> anyhow::Result<()> {
    let shown = &listed[..limit.min(listed.len())];
    if context.json {
        return output::json(&json!({ "sessions": shown, "total": listed.len() }));
    }
    if listed.is_empty() {
        outln!("No sessions. `throughline sessions import` brings in those of Claude Code and Codex.");
        return Ok(());
    }
    let width = output::width();
    let ids = listed.iter().filter_map(|session| session.card.session.as_ref()).map(|id| id.as_str());
    let id_width = output::id_width(ids);
    for session in shown {
        outln!("{}", row(session, id_width, width));
    }
    let hidden = listed.len() - shown.len();
    if hidden > 0 {
        outln!("{}", dim(format!("… and {hidden} more (-n {} shows all)", listed.len())));
    }
    Ok(())
}

fn row(session: &Listed, id_width: usize, width: usize) -> String {
    let card = &session.card;
    let id: String = card.session.as_ref().map_or("?", |id| id.as_str()).chars().take(id_width).collect();
    let when = card.updated.map(times::local).unwrap_or_default();
    // In 80 columns the year and the ends of long names make room for what was said.
    let narrow = width < 100;
    let when = if narrow { when.get(5..).unwrap_or_default().to_owned() } else { when };
    let (when_width, client_width, place_width) = if narrow { (11, 6, 10) } else { (16, 11, 14) };
    let place = card.cwd.as_deref().and_then(|cwd| cwd.rsplit('/').next()).unwrap_or("");
    let name = card.title.as_deref().or(card.prompt.as_deref()).unwrap_or("(nothing said)");
    let agent = if card.parent_session.is_some() { "↳ sub-agent: " } else { "" };
    let name = format!("{agent}{name}");
    let tags: String = card.tags.iter().map(|tag| format!("#{tag} ")).collect();
    let turns = format!("{:>4} turns", output::number(card.turns));
    let used = id_width + when_width + client_width + place_width + turns.len() + 9 + tags.chars().count();
    format!(
        "{}  {}  {} {}  {}  {}{}",
        cyan(output::pad(&id, id_width)),
        dim(output::pad(&when, when_width)),
        output::pad(&output::fit(&card.client, client_width), client_width),
        output::pad(&output::fit(place, place_width), place_width),
        dim(turns),
        cyan(tags),
        bold(output::fit(&name, width.saturating_sub(used).max(12))),
    )
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_folder_is_below_itself_and_its_parents_and_not_below_a_namesake() {
        assert!(is_below("/a/b", "/a/b") && is_below("/a/b/c", "/a/b"));
        assert!(!is_below("/a/bc", "/a/b") && !is_below("/a", "/a/b"));
    }
}

use super::list::project_folder;
use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, cyan, dim};
use crate::times;
use clap::ValueEnum;
use serde_json::json;
use std::collections::HashMap;
use std::process::ExitCode;
use throughline_core::{ClientSession, Role, SessionId};
use throughline_ledger::newest_card;
use throughline_search::{Filters, Hit, Query};

#[derive(Clone, Copy, ValueEnum)]
enum Who {
    User,
    Assistant,
    System,
    Developer,
    Tool,
}

impl From<Who> for Role {
    fn from(who: Who) -> Self {
        match who {
            Who::User => Self::User,
            Who::Assistant => Self::Assistant,
            Who::System => Self::System,
            Who::Developer => Self::Developer,
            Who::Tool => Self::Tool,
        }
    }
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions search \"E0382 in src/queue.rs\"\n  throughline sessions search '\"never touch\" -test' --role user --since 30d\n  throughline sessions search timeout --tool Bash --file src/main.rs -k 5 --json\n\nWords are ranked; \"quoted words\" must stand together; -word must not occur."
)]
pub(crate) struct Search {
    /// What to look for.
    #[arg(required = true)]
    words: Vec<String>,
    /// Only in this session.
    #[arg(long)]
    session: Option<String>,
    /// Only sessions that ran in this folder or below it.
    #[arg(long, value_name = "DIR")]
    project: Option<String>,
    /// Only what was said in this role.
    #[arg(long, value_enum)]
    role: Option<Who>,
    /// Only calls and results of this tool.
    #[arg(long)]
    tool: Option<String>,
    /// Only messages that touch this file: its path or the end of it.
    #[arg(long)]
    file: Option<String>,
    /// Only what was said after this: a date, a time, or an age such as 7d.
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only what was said before this.
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Scaffold that clients inject, too.
    #[arg(long)]
    scaffold: bool,
    /// At most this many hits.
    #[arg(short = 'k', long, default_value_t = 10)]
    limit: usize,
}

impl Search {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let session = match &self.session {
            Some(id) => Some(self::session(context, id)?),
            None => None,
        };
        let when =
            |text: &Option<String>| text.as_deref().map(|text| times::parse(text, context.now())).transpose();
        let words = self.words.join(" ");
        anyhow::ensure!(words.chars().any(char::is_alphanumeric), "`{words}` holds no word to search for");
        anyhow::ensure!(self.limit > 0, "-k 0 asks for no hits");
        let mut query = Query::new(words);
        // The same words may stand in two ledgers of one conversation.
        query.limit = self.limit.saturating_mul(2);
        query.scaffold = self.scaffold;
        query.filters = Filters {
            session,
            project: self.project.as_deref().map(project_folder).transpose()?,
            role: self.role.map(Role::from),
            tool: self.tool,
            file: self.file,
            from: when(&self.since)?,
            to: when(&self.until)?,
        };
        let mut search = throughline_search::Search::open(&context.home)?;
        let mut hits = once_each(context, search.query(&query)?);
        hits.truncate(self.limit);
        super::rebuild_index::tell_notices(&mut search);
        if context.json {
            output::json(&json!({ "query": query.text, "hits": hits }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if hits.is_empty() {
            outln!("Nothing found.");
        }
        let ledgers = context.home.ledgers()?;
        let width = output::id_width(ledgers.iter().filter_map(|path| throughline_ledger::session_of(path)));
        for hit in &hits {
            print(hit, width);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Leaves out what another hit says of the same conversation of a client, which was imported and came by way of the proxy.
fn once_each(context: &Context, hits: Vec<Hit>) -> Vec<Hit> {
    let mut named: HashMap<SessionId, Option<ClientSession>> = HashMap::new();
    let mut name_of = |hit: &Hit| {
        let known = named.entry(hit.session.clone()).or_insert_with(|| {
            let path = context.home.resolve(&hit.path)?;
            let file = std::fs::File::open(&path).ok()?;
            let end = file.metadata().ok()?.len();
            newest_card(&file, &path, end).ok()??.1.client_session()
        });
        known.clone()
    };
    let mut kept: Vec<(Option<ClientSession>, Hit)> = Vec::with_capacity(hits.len());
    for hit in hits {
        let name = name_of(&hit);
        let is_said = |(other, kept): &(Option<ClientSession>, Hit)| {
            name.is_some()
                && *other == name
                && kept.session != hit.session
                && kept.role == hit.role
                && is_within(&kept.snippet.text, &hit.snippet.text)
        };
        if !kept.iter().any(is_said) {
            kept.push((name, hit));
        }
    }
    kept.into_iter().map(|(_, hit)| hit).collect()
}

/// Whether one of two excerpts holds the other.
fn is_within(one: &str, other: &str) -> bool {
    let bare = |text: &str| plain(text).trim_matches(|c: char| c.is_whitespace() || c == '…').to_owned();
    let (one, other) = (bare(one), bare(other));
    one.contains(&other) || other.contains(&one)
}

/// The whole id behind a beginning of it.
fn session(context: &Context, id: &str) -> anyhow::Result<SessionId> {
    let path = context.ledger(id)?;
    let file = std::fs::File::open(&path)?;
    let card = newest_card(&file, &path, file.metadata()?.len())?;
    Ok(card.and_then(|(_, card)| card.session).unwrap_or_else(|| id.into()))
}

fn print(hit: &Hit, id_width: usize) {
    let session: String = hit.session.as_str().chars().take(id_width).collect();
    let when = hit.at.map(times::local).unwrap_or_default();
    let who = match (hit.role, &hit.tool) {
        (Role::Assistant, Some(_)) => "call",
        (Role::User | Role::Tool, Some(_)) | (Role::Tool, None) => "result",
        (Role::User, None) => "user",
        (Role::Assistant, None) => "assistant",
        (Role::System, _) => "system",
        (Role::Developer, _) => "developer",
    };
    let place = hit.project.as_deref().and_then(|cwd| cwd.rsplit('/').next()).unwrap_or("");
    let tool = hit.tool.as_deref().map(|tool| format!(" {tool}")).unwrap_or_default();
    outln!("{}  {}  {}{}  {}", cyan(session), dim(when), bold(who), dim(tool), dim(place));
    outln!("  {}\n", highlighted(&hit.snippet.text, &hit.snippet.ranges));
}

/// The snippet on one line, with what matched set off.
fn highlighted(text: &str, ranges: &[(usize, usize)]) -> String {
    let mut out = String::new();
    let mut at = 0;
    for &(start, end) in ranges {
        let (Some(before), Some(matched)) = (text.get(at..start), text.get(start..end)) else { continue };
        out.push_str(&plain(before));
        out.push_str(&output::highlight(plain(matched)));
        at = end;
    }
    out.push_str(&plain(text.get(at..).unwrap_or_default()));
    out
}

/// Without line ends, indentation and terminal commands.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }) {
        if c != ' ' || !out.ends_with(' ') {
            out.push(c);
        }
    }
    out
}

use super::super::print;
use super::Desk;
use super::which::called;
use crate::outln;
use crate::output::{self, bold, cyan, dim, yellow};
use crate::times;
use serde_json::{Value, json};
use std::process::ExitCode;
use throughline_core::{Message, MessageId, Record, SessionId};
use throughline_ledger::Reader;
use throughline_memory::handbook::book::Entry;
use throughline_memory::handbook::{Evidence, EvidenceKey, Scope, Shelved};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory handbook why e3f09a1b2c4            (a key at the end of a statement)\n  throughline memory handbook why \"release script\" --json"
)]
pub(crate) struct Why {
    /// A key of evidence, or words of the statement.
    #[arg(required = true)]
    words: Vec<String>,
    /// At most so many statements.
    #[arg(short = 'n', long, default_value_t = 3)]
    limit: usize,
}

/// A statement that is asked about.
struct Asked<'a> {
    one: &'a Shelved,
    entry: &'a Entry,
}

impl Why {
    pub(crate) fn run(self, desk: &Desk<'_>) -> anyhow::Result<ExitCode> {
        let words = self.words.join(" ");
        let scope = desk.scope()?;
        let near: Vec<&Shelved> =
            desk.books.iter().filter(|one| one.scope == scope || one.scope == Scope::Global).collect();
        anyhow::ensure!(!near.is_empty(), "{}", desk.missing(&scope));
        let key = EvidenceKey::parse(words.trim().trim_matches(['[', ']']));
        let mut asked: Vec<Asked<'_>> = match &key {
            // A key means the same in every book.
            Some(key) => all(desk.books.iter()).filter(|asked| asked.entry.evidence.contains(key)).collect(),
            None => by_words(&near, &words),
        };
        let found = asked.len();
        asked.truncate(self.limit.max(1));
        if asked.is_empty() {
            anyhow::bail!(
                "no statement of the handbook has {}; `throughline memory handbook search` looks further",
                print::quoted(&words)
            );
        }
        if desk.context.json {
            let rows: Vec<Value> = asked.iter().map(|asked| self.json(desk, asked)).collect();
            output::json(&json!({ "statements": rows, "found": found }))?;
            return Ok(ExitCode::SUCCESS);
        }
        for asked in &asked {
            print(desk, asked, key.as_ref());
        }
        if found > asked.len() {
            outln!("{}", dim(format!("… and {} more (-n shows them)", found - asked.len())));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn json(&self, desk: &Desk<'_>, asked: &Asked<'_>) -> Value {
        let mut value = entry_json(asked.one, asked.entry);
        let places =
            asked.entry.evidence.iter().filter_map(|key| Some((key, asked.one.book.grounds().get(key)?)));
        let places = places.map(|(key, ground)| {
            let said = said(desk, &ground.evidence);
            json!({
                "key": key, "evidence": ground.evidence, "at": ground.at, "quote": ground.quote,
                "role": said.as_ref().map(|message| message.role), "words": said.map(|message| message.to_text()),
            })
        });
        value["places"] = json!(places.collect::<Vec<_>>());
        value
    }
}

/// A statement, for scripts.
pub(super) fn entry_json(one: &Shelved, entry: &Entry) -> Value {
    json!({
        "handbook": one.scope.to_text(), "kind": entry.kind, "basis": entry.basis, "text": entry.text,
        "quote": entry.quote, "keywords": entry.keywords, "evidence": entry.evidence, "sessions": entry.support,
        "first": entry.first, "last": entry.last, "outcome": entry.outcome, "noted": entry.noted,
    })
}

fn all<'a>(books: impl Iterator<Item = &'a Shelved>) -> impl Iterator<Item = Asked<'a>> {
    books.flat_map(|one| one.book.entries().iter().map(move |entry| Asked { one, entry }))
}

/// Statements that have most of the words, the best first.
fn by_words<'a>(books: &[&'a Shelved], words: &str) -> Vec<Asked<'a>> {
    let wanted: Vec<String> = words
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let score = |asked: &Asked<'_>| {
        let Entry { text, quote, keywords, .. } = asked.entry;
        let text = format!("{text} {} {}", quote.as_deref().unwrap_or(""), keywords.join(" ")).to_lowercase();
        wanted.iter().filter(|word| text.contains(word.as_str())).count()
    };
    let scored = all(books.iter().copied()).map(|asked| (score(&asked), asked));
    let mut found: Vec<(usize, Asked<'_>)> = scored.filter(|(score, _)| *score * 2 > wanted.len()).collect();
    found.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    found.into_iter().map(|(_, asked)| asked).collect()
}

/// Lines of a message that are shown.
const LINES: usize = 6;

fn print(desk: &Desk<'_>, asked: &Asked<'_>, key: Option<&EvidenceKey>) {
    let entry = asked.entry;
    for row in print::paragraphs(&print::line(&entry.text), "", output::width()) {
        outln!("{}", bold(row));
    }
    let sessions = output::count(entry.support as u64, "session");
    outln!("{}", dim(format!("{} of {}, from {sessions}", entry.kind, called(&asked.one.scope))));
    for place in entry.evidence.iter().filter(|place| key.is_none_or(|key| key == *place)) {
        let Some(ground) = asked.one.book.grounds().get(place) else {
            outln!("  {} {}", cyan(place), yellow("stands for nothing: `memory handbook check` tells more"));
            continue;
        };
        let when = ground.at.map_or("at an unknown time".to_owned(), times::local);
        match &ground.evidence {
            Evidence::Note { file } => outln!("  {}  {when}  note {}", cyan(place), print::line(file)),
            Evidence::Message { session, message, .. } => {
                outln!("  {}  {when}  session {}", cyan(place), print::line(session.as_str()));
                outln!("    {}", dim(format!("message {}", print::line(message.as_str()))));
            }
        }
        if let Some(quote) = &ground.quote {
            print::say("    ", &format!("“{quote}”"));
        }
        match (&ground.evidence, said(desk, &ground.evidence)) {
            (_, Some(message)) if ground.quote.is_none() => {
                let text = message.to_text();
                for line in text.lines().filter(|line| !line.trim().is_empty()).take(LINES) {
                    outln!("    {}", dim(output::fit(&print::line(line), output::width().saturating_sub(4))));
                }
            }
            (Evidence::Message { .. }, None) => {
                outln!("    {}", yellow("its ledger is not on this machine, or has no such message"))
            }
            (Evidence::Message { .. } | Evidence::Note { .. }, _) => {}
        }
    }
    outln!();
}

/// The message that a place names.
fn said(desk: &Desk<'_>, place: &Evidence) -> Option<Message> {
    match place {
        Evidence::Message { session, message, .. } => find(desk, session, message),
        Evidence::Note { .. } => None,
    }
}

fn find(desk: &Desk<'_>, session: &SessionId, wanted: &MessageId) -> Option<Message> {
    let path = desk.context.home.find_exact(session).ok()?;
    let mut reader = Reader::open(&desk.context.home, &path, 0).ok()?;
    while let Ok(Some((_, record))) = reader.next_record() {
        reader.problems.clear();
        if let Record::Message(message) = record
            && message.id == *wanted
        {
            return Some(*message);
        }
    }
    None
}

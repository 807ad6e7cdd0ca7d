use super::ask::agreed;
use super::entry::Entry;
use super::here::{Beginnings, Here, named, several};
use super::print;
use crate::outln;
use crate::output::{self, cyan};
use anyhow::bail;
use serde_json::json;
use std::process::ExitCode;
use throughline_memory::MemoryId;
use throughline_memory::topics::TopicStore;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline memory forget feedback_tests-first.md\n  throughline memory forget deploy freeze --yes     (if one memory alone has these words)\n  throughline memory forget user_role.md --purge    (out of the history as well)"
)]
pub(crate) struct Forget {
    /// The memory: its file, a unique beginning of that, its name, or words that no other memory has.
    #[arg(required = true, value_name = "ID-or-words")]
    what: Vec<String>,
    /// Do it without a question.
    #[arg(short = 'y', long)]
    yes: bool,
    /// For good: also out of the history and of what was forgotten before. It can't be had back.
    #[arg(long)]
    purge: bool,
}

/// Which memory is meant.
enum Meant {
    One(Box<Entry>),
    /// One that is no longer there, and whose traces are.
    Gone(MemoryId),
    /// These may be; whether surely.
    Several(Vec<Entry>, bool),
    Nothing,
}

impl Forget {
    pub(crate) fn run(self, here: &Here<'_>) -> anyhow::Result<ExitCode> {
        let text = self.what.join(" ");
        let id = match self.meant(here, &text) {
            Meant::One(entry) => {
                let question = format!(
                    "{} {} ({})?",
                    if self.purge { "Remove for good" } else { "Forget" },
                    print::line(&entry.id.to_string()),
                    print::gist(&entry, 100)
                );
                if !agreed(here, &question, self.yes)? {
                    outln!("Nothing was done.");
                    return Ok(ExitCode::FAILURE);
                }
                entry.id
            }
            Meant::Gone(id) => {
                let question = format!("Remove what is left of {} for good?", print::line(&id.to_string()));
                if !agreed(here, &question, self.yes)? {
                    outln!("Nothing was done.");
                    return Ok(ExitCode::FAILURE);
                }
                id
            }
            Meant::Several(found, is_sure) => {
                if here.json() {
                    let rows: Vec<_> = found.iter().map(|entry| entry.json(None)).collect();
                    output::json(&json!({ "forgotten": null, "candidates": rows }))?;
                    return Ok(ExitCode::FAILURE);
                }
                let found: Vec<&Entry> = found.iter().collect();
                if is_sure {
                    bail!("{}\nNothing was forgotten", several(&text, &found));
                }
                let told = several(&text, &found);
                let told = told.split_once('\n').map_or("", |(_, rows)| rows);
                bail!(
                    "no memory has all words of {}; these have some:\n{told}\nNothing was forgotten",
                    print::quoted(&text)
                );
            }
            Meant::Nothing => bail!(
                "no memory is called {} or has these words; `{}` shows what there is",
                print::quoted(&text),
                here.command("list --all")
            ),
        };
        let store = here.store(id.tier)?;
        if self.purge { purge(here, store, &id) } else { forget(here, store, &id) }
    }

    fn meant(&self, here: &Here<'_>, text: &str) -> Meant {
        let (entries, _) = here.all();
        let found = named(&entries, text, Beginnings::OfFiles);
        if let [only] = found.as_slice() {
            return Meant::One(Box::new((*only).clone()));
        }
        if !found.is_empty() {
            return Meant::Several(found.into_iter().cloned().collect(), true);
        }
        if self.purge
            && let Ok(id) = text.parse::<MemoryId>()
            && id.file.ends_with(".md")
        {
            return Meant::Gone(id);
        }
        if text.ends_with(".md") && !text.contains(char::is_whitespace) {
            // A file that is not there is not another one with similar words.
            return Meant::Nothing;
        }
        let has_all = |entry: &&Entry| {
            let topic = &entry.topic;
            let all = format!("{}\n{}\n{}", topic.name, topic.description, topic.body).to_lowercase();
            text.to_lowercase().split_whitespace().all(|word| has_word(&all, word))
        };
        let whole: Vec<Entry> =
            entries.iter().filter(|entry| entry.state.is_live()).filter(has_all).cloned().collect();
        match whole.len() {
            0 => {
                let some = here.memories.search(text, SOME).into_iter();
                let some: Vec<Entry> =
                    some.filter_map(|(id, _)| entries.iter().find(|entry| entry.id == id)).cloned().collect();
                if some.is_empty() { Meant::Nothing } else { Meant::Several(some, false) }
            }
            1 => whole.into_iter().next().map_or(Meant::Nothing, |entry| Meant::One(Box::new(entry))),
            _ => Meant::Several(whole, true),
        }
    }
}

/// Memories that are offered where none has all the words.
const SOME: usize = 5;

/// Whether a text has a word that begins so. In scripts without spaces a word begins anywhere.
fn has_word(text: &str, word: &str) -> bool {
    let is_ascii = word.starts_with(|c: char| c.is_ascii_alphanumeric());
    text.match_indices(word)
        .any(|(at, _)| !is_ascii || !text[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_'))
}

fn forget(here: &Here<'_>, store: &TopicStore, id: &MemoryId) -> anyhow::Result<ExitCode> {
    let forgotten = store.forget(&id.file, here.now)?;
    let newest = store.history(Some(&id.file), 1).unwrap_or_default();
    let change = newest.first().map(|change| change.id.clone()).filter(|_| forgotten.unrecorded.is_none());
    if here.json() {
        output::json(&json!({
            "forgotten": id, "kept": forgotten.kept, "change": change, "unrecorded": forgotten.unrecorded,
        }))?;
        return Ok(ExitCode::SUCCESS);
    }
    outln!("Forgot {}.", cyan(print::line(&id.to_string())));
    match (change, forgotten.unrecorded) {
        (Some(change), _) => outln!("`{}` brings it back.", here.command(&format!("undo {change}"))),
        (None, why) => {
            here.tell_unrecorded(why.as_deref());
            outln!("Its file is kept: to have it back, move");
            outln!("  {}", print::line(&forgotten.kept.to_string_lossy()));
            outln!("to");
            outln!("  {}", print::line(&store.folder().join(&id.file).to_string_lossy()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn purge(here: &Here<'_>, store: &TopicStore, id: &MemoryId) -> anyhow::Result<ExitCode> {
    let unrecorded = store.purge(&id.file)?;
    if here.json() {
        output::json(&json!({ "purged": id, "unrecorded": unrecorded }))?;
    } else {
        outln!("Removed {} for good, from the history as well.", cyan(print::line(&id.to_string())));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::has_word;

    #[test]
    fn words_are_found_where_they_begin() {
        assert!(has_word("never deploys on fridays", "deploy") && has_word("a-tab", "tab"));
        assert!(!has_word("we start here", "art") && !has_word("a_tab", "tab"));
        assert!(has_word("以后不要直接推送", "推送") && has_word("使用pnpm安装", "pnpm"));
    }
}

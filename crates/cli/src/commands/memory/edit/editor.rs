//! A memory's file in the person's own editor.

use super::super::ask::{Answer, ask};
use super::super::entry::Entry;
use super::super::here::{Here, note};
use super::super::print;
use anyhow::{Context as _, bail};
use std::path::Path;
use std::process::Command;
use throughline_memory::topics::{Change, Saved, TopicStore};
use throughline_model::ProgramSearch;

/// Opens a copy of the file, and saves what became of it if that can be read back. `None`: nothing was changed. Whatever is not saved stays
/// where the person can find it.
pub(super) fn edit(here: &Here<'_>, entry: &Entry) -> anyhow::Result<Option<Saved>> {
    let Some(editor) = here.context.editor() else {
        bail!("no editor is set: set VISUAL or EDITOR, or give --text, --name and the like");
    };
    let store = here.store(entry.id.tier)?;
    let before = store.source(&entry.id.file)?;
    let folder = tempfile::Builder::new()
        .prefix("throughline-")
        .tempdir()
        .context("cannot make a folder for the copy")?;
    let path = folder.path().join(&entry.id.file);
    std::fs::write(&path, &before).with_context(|| format!("cannot write {}", path.display()))?;
    let outcome = loop {
        run(&editor, &path)?;
        let after = match std::fs::read_to_string(&path) {
            Ok(after) => after,
            Err(error) => break Err(format!("it can't be read: {error}")),
        };
        if after == before || after.trim().is_empty() {
            return Ok(None);
        }
        let (topic, flaw) = store.parsed(&entry.id.file, &after)?;
        let Some(flaw) = flaw else {
            let after = if topic.body == entry.topic.body {
                after
            } else {
                signed(here, (folder.path(), &entry.id.file), after)
            };
            match store.rewrite(&entry.id.file, (&before, &after)) {
                Ok(saved) => return Ok(Some(saved)),
                Err(error) => break Err(error.to_string()),
            }
        };
        note(&print::line(&flaw));
        if ask("Open it again? [y/N]")? != Answer::Yes {
            break Err(flaw);
        }
    };
    let kept = folder.keep().join(&entry.id.file);
    match outcome {
        Ok(saved) => Ok(Some(saved)),
        Err(why) => {
            bail!("{}\nNothing was changed. What you wrote is in {}", print::line(&why), kept.display())
        }
    }
}

/// The edited text with a person as its newest source. If that can't be written into it, the text as it is.
fn signed(here: &Here<'_>, (folder, file): (&Path, &str), after: String) -> String {
    let copy = TopicStore::open(folder.to_owned()).without_history();
    let sign = || {
        let topic = copy.read(file)?;
        let mut meta = topic.meta;
        meta.sources.push(here.by_person(&topic.body));
        copy.update(file, Change { meta: Some(meta), ..Change::default() })?;
        copy.source(file)
    };
    sign().unwrap_or(after)
}

fn run(editor: &str, path: &Path) -> anyhow::Result<()> {
    // A command line, as others take it too: `code --wait`.
    let search = ProgramSearch::from_process(None, None);
    let run = || {
        let mut shell = Command::new(search.find("sh")?);
        shell
            .arg("-c")
            .arg(format!("{editor} \"$1\""))
            .arg("sh")
            .arg(path)
            .env("PATH", search.path())
            .status()
    };
    let status = run().with_context(|| format!("cannot run {editor}"))?;
    anyhow::ensure!(status.success(), "{editor} ended with {status}; nothing was changed");
    Ok(())
}

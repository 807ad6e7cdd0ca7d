//! The commands of the tool.

use super::MemoryFiles;
use super::edit::{inserted, replaced, shown};
use super::listing::listing;
use super::loose::{self, There};
use super::path::{Place, ROOT};
use super::visible;
use crate::topics::raw::INDEX_FILE;
use crate::topics::{ChangeKind, TopicError};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;
use throughline_redact::redact;

pub(super) fn run(tool: &MemoryFiles, input: &Value, now: Timestamp) -> Result<String, String> {
    let text = |name: &str| -> Result<&str, String> {
        input
            .get(name)
            .and_then(Value::as_str)
            .ok_or_else(|| format!("Error: The parameter `{name}` is missing or not a text"))
    };
    // Some send an empty text as no text.
    let optional = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
    let call =
        |path: &'_ str| -> Result<(Place, String), String> { Ok((Place::parse(path)?, path.to_owned())) };
    match text("command")? {
        "view" => {
            let (place, path) = call(text("path")?)?;
            view(tool, &place, &path, range(input)?)
        }
        "create" => {
            let (place, path) = call(text("path")?)?;
            create(tool, (&place, &path), text("file_text")?, now)
        }
        "str_replace" => {
            let (place, path) = call(text("path")?)?;
            let (old, new) = (text("old_str")?, optional("new_str"));
            let part = change(tool, (&place, &path), now, |seen| replaced(&path, seen, old, new))?;
            Ok(format!(
                "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n{part}"
            ))
        }
        "insert" => {
            let (place, path) = call(text("path")?)?;
            let line = input.get("insert_line").and_then(whole);
            let line = line.ok_or("Error: The parameter `insert_line` is missing or not a whole number")?;
            let new = text("insert_text")?;
            change(tool, (&place, &path), now, |seen| Ok((inserted(seen, line, new)?, String::new())))?;
            Ok(format!("The file {path} has been edited."))
        }
        "delete" => {
            let (place, path) = call(text("path")?)?;
            delete(tool, &place, &path, now)
        }
        "rename" => {
            let (old, new) = (call(text("old_path")?)?, call(text("new_path")?)?);
            rename(tool, &old, &new, now)
        }
        other => Err(format!(
            "Error: Unknown command {other:?}; it is view, create, str_replace, insert, delete or rename"
        )),
    }
}

fn view(tool: &MemoryFiles, place: &Place, path: &str, range: Option<(i64, i64)>) -> Result<String, String> {
    let root = tool.store.folder();
    let names = names(place);
    let text = match loose::look(root, &names, path)? {
        // The folder is there as soon as somebody asks: the first memory makes it.
        There::Nothing if *place == Place::Root => return Ok(listing(path, root, tool.limits.listed)),
        There::Nothing => return Err(missing(path)),
        There::Folder if range.is_some() => {
            return Err(format!("Error: `view_range` is for files; {path} is a directory"));
        }
        There::Folder => {
            let folder = names.iter().fold(root.to_owned(), |at, name| at.join(name));
            return Ok(listing(path, &folder, tool.limits.listed));
        }
        There::File => loose::read(root, &names, path, MOST)?,
    };
    let seen = match place {
        Place::Memory(file) => visible::seen(file, &text),
        Place::Root | Place::Index | Place::Loose(_) => text,
    };
    shown(path, &seen, range, &tool.limits)
}

fn create(
    tool: &MemoryFiles,
    (place, path): (&Place, &str),
    text: &str,
    now: Timestamp,
) -> Result<String, String> {
    let exists = || Err(format!("Error: File {path} already exists"));
    let text = allowed(tool, path, text)?;
    let root = tool.store.folder();
    let mut files = tool.store.files().map_err(told)?;
    if loose::look(root, &names(place), path)? != There::Nothing {
        return exists();
    }
    match place {
        Place::Root => return exists(),
        Place::Index => {
            files.set_index(&text, now).map_err(told)?;
            files.commit(ChangeKind::Update, format!("Change {INDEX_FILE}"));
        }
        Place::Memory(file) => {
            let written = visible::file(tool, (file, None), &text, now)?;
            if !files.create(file, &written).map_err(told)? {
                return exists();
            }
            files.commit(ChangeKind::Add, format!("Add {file}"));
        }
        Place::Loose(names) => {
            if names.len() > 1 && loose::look(root, &names[..1], path)? == There::File {
                return Err(format!("Error: Cannot create {path}: a part of it is a file"));
            }
            let most = tool.limits.loose_files;
            if loose_files(tool, most) >= most {
                return Err(format!("Error: There are {most} files that are no memories; delete some first"));
            }
            loose::write(root, names, path, &text)?;
        }
    }
    Ok(format!("File created successfully at: {path}"))
}

/// Changes a file. `edit` gets what the model sees of it, and gives that anew with what is to be shown of the change.
fn change(
    tool: &MemoryFiles,
    (place, path): (&Place, &str),
    now: Timestamp,
    edit: impl FnOnce(&str) -> Result<(String, String), String>,
) -> Result<String, String> {
    let root = tool.store.folder();
    let names = names(place);
    if loose::look(root, &names, path)? == There::Nothing {
        return Err(format!("Error: {}", missing(path)));
    }
    let mut files = tool.store.files().map_err(told)?;
    let text = match loose::look(root, &names, path)? {
        There::Nothing => return Err(format!("Error: {}", missing(path))),
        There::Folder => {
            return Err(format!("Error: The path {path} is a directory; only files can be edited"));
        }
        There::File => loose::read(root, &names, path, MOST)?,
    };
    let (edited, part) = match place {
        Place::Memory(file) => edit(&visible::seen(file, &text))?,
        Place::Root | Place::Index | Place::Loose(_) => edit(&text)?,
    };
    let clean = allowed(tool, path, &edited)?;
    match place {
        Place::Memory(file) => {
            let written = visible::file(tool, (file, Some(&text)), &clean, now)?;
            files.replace(file, &written).map_err(told)?;
            files.commit(ChangeKind::Update, format!("Change {file}"));
        }
        Place::Index => {
            files.set_index(&clean, now).map_err(told)?;
            files.commit(ChangeKind::Update, format!("Change {INDEX_FILE}"));
        }
        Place::Root | Place::Loose(_) => loose::write(root, &names, path, &clean)?,
    }
    // What is shown back is what was kept.
    Ok(redact(&part).into_text())
}

fn delete(tool: &MemoryFiles, place: &Place, path: &str, now: Timestamp) -> Result<String, String> {
    let root = tool.store.folder();
    if loose::look(root, &names(place), path)? == There::Nothing && *place != Place::Root {
        return Err(format!("Error: The path {path} does not exist"));
    }
    match place {
        Place::Root => return Err(format!("Error: Cannot delete the {ROOT} directory itself")),
        Place::Index => {
            return Err(format!(
                "Error: Cannot delete {path}: it is the index and follows the files; delete those"
            ));
        }
        Place::Memory(file) => match loose::look(root, &names(place), path)? {
            There::File => {
                tool.store.forget(file, now).map_err(|error| {
                    let is_gone = matches!(error, TopicError::NoTopic { .. });
                    if is_gone { format!("Error: The path {path} does not exist") } else { told(error) }
                })?;
            }
            There::Folder | There::Nothing => {
                let _files = tool.store.files().map_err(told)?;
                loose::put_away(tool, std::slice::from_ref(file), path, now)?;
            }
        },
        Place::Loose(names) => {
            let _files = tool.store.files().map_err(told)?;
            if loose::look(root, names, path)? == There::Nothing {
                return Err(format!("Error: The path {path} does not exist"));
            }
            loose::put_away(tool, names, path, now)?;
        }
    }
    Ok(format!("Successfully deleted {path}"))
}

fn rename(
    tool: &MemoryFiles,
    (old, old_path): &(Place, String),
    (new, new_path): &(Place, String),
    now: Timestamp,
) -> Result<String, String> {
    for (place, path) in [(old, old_path), (new, new_path)] {
        if matches!(place, Place::Root | Place::Index) {
            return Err(format!("Error: {path} can be neither renamed nor replaced"));
        }
    }
    let root = tool.store.folder();
    let gone = || Err(format!("Error: The path {old_path} does not exist"));
    if loose::look(root, &names(old), old_path)? == There::Nothing {
        return gone();
    }
    let mut files = tool.store.files().map_err(told)?;
    let is_folder = match loose::look(root, &names(old), old_path)? {
        There::Nothing => return gone(),
        There::Folder => true,
        There::File => false,
    };
    let is_taken = loose::look(root, &names(new), new_path)? != There::Nothing;
    // A change of case alone is the same file on some systems.
    if is_taken && !old_path.eq_ignore_ascii_case(new_path) || old_path == new_path {
        return Err(format!("Error: The destination {new_path} already exists"));
    }
    if names(new).starts_with(&names(old)) {
        return Err(format!("Error: Cannot move {old_path} into itself"));
    }
    let is_memory = |place: &Place| matches!(place, Place::Memory(_)) && !is_folder;
    let done = format!("Successfully renamed {old_path} to {new_path}");
    let (from, to) = (names(old).join("/"), names(new).join("/"));
    match (is_memory(old), is_memory(new)) {
        (false, false) => loose::rename(root, (&names(old), &names(new)), old_path)?,
        (is_from, is_to) => {
            let text = loose::read(root, &names(old), old_path, MOST)?;
            let text = match (is_from, is_to) {
                // The name that was made of the old file's would stay.
                (true, true) => {
                    let seen = visible::seen(&from, &text);
                    if seen == text { text } else { visible::file(tool, (&to, Some(&text)), &seen, now)? }
                }
                (false, true) => visible::file(tool, (&to, None), &allowed(tool, new_path, &text)?, now)?,
                (true, false) | (false, false) => visible::seen(&from, &text),
            };
            if is_to {
                if !files.create(&to, &text).map_err(told)? {
                    return Err(format!("Error: The destination {new_path} already exists"));
                }
            } else {
                loose::write(root, &names(new), new_path, &text)?;
            }
            if is_from {
                files.drop_moved(&from).map_err(told)?;
            } else {
                loose::put_away(tool, &names(old), old_path, now)?;
            }
            files.commit(ChangeKind::Update, format!("Rename {from} to {to}"));
        }
    }
    Ok(done)
}

/// The largest file that is read at all; what may be written has its own limit.
const MOST: usize = 1 << 20;

fn names(place: &Place) -> Vec<String> {
    match place {
        Place::Root => Vec::new(),
        Place::Index => vec![INDEX_FILE.to_owned()],
        Place::Memory(file) => vec![file.clone()],
        Place::Loose(names) => names.clone(),
    }
}

/// Checks what is to be written: not too long, and no credential in it.
fn allowed(tool: &MemoryFiles, path: &str, text: &str) -> Result<String, String> {
    let most = tool.limits.file_bytes;
    if text.len() > most {
        return Err(format!(
            "Error: File {path} would have {} bytes, over the limit of {most}; keep it shorter",
            text.len()
        ));
    }
    let clean = redact(text);
    if !clean.is_clean() {
        return Err(format!(
            "Error: File {path} would hold a credential ({}); memories never keep credentials: leave the value out, and say where it is kept instead",
            clean.distinct_kinds().join(", ")
        ));
    }
    Ok(clean.into_text())
}

fn loose_files(tool: &MemoryFiles, most: usize) -> usize {
    let memories: BTreeSet<String> = std::fs::read_dir(tool.store.folder())
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| crate::topics::raw::is_memory(name) || name == INDEX_FILE)
        .collect();
    loose::count(tool.store.folder(), most + memories.len()).saturating_sub(memories.len())
}

fn missing(path: &str) -> String {
    format!("The path {path} does not exist. Please provide a valid path.")
}

/// What a model is told of an error. Where the folder is on this machine is nothing for a model.
fn told(error: TopicError) -> String {
    match error {
        TopicError::Busy { .. } => "Error: The memory is in use by another process; try again".to_owned(),
        TopicError::Outside { .. } => {
            "Error: The memory leads elsewhere; it is neither read nor written".to_owned()
        }
        TopicError::Io { what, source, .. } => format!("Error: Cannot {what} the memory: {source}"),
        TopicError::TooLarge { .. } | TopicError::NotText { .. } => {
            "Error: A file of the memory is too large, or not text; a person must mend it".to_owned()
        }
        TopicError::History { .. } | TopicError::Write(_) | TopicError::Usage(_) => {
            "Error: The memory could not be written".to_owned()
        }
        error @ (TopicError::BadName { .. }
        | TopicError::BadAnchor { .. }
        | TopicError::NoTopic { .. }
        | TopicError::Empty { .. }
        | TopicError::TooLong { .. }
        | TopicError::Frontmatter { .. }
        | TopicError::NoChange { .. }
        | TopicError::NotUndone { .. }
        | TopicError::NotMerged { .. }
        | TopicError::Credential { .. }
        | TopicError::Changed { .. }) => format!("Error: {error}"),
    }
}

fn whole(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn range(input: &Value) -> Result<Option<(i64, i64)>, String> {
    let wrong =
        || "Error: Invalid `view_range` parameter: it should be a list of two whole numbers".to_owned();
    match input.get("view_range") {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_array().map(Vec::as_slice) {
            Some([from, to]) => Ok(Some((whole(from).ok_or_else(wrong)?, whole(to).ok_or_else(wrong)?))),
            Some(_) | None => Err(wrong()),
        },
    }
}

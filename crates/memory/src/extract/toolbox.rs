//! What a fork may do while it extracts: look at the memories, and nothing else (M5).

use crate::Memories;
use regex::RegexBuilder;
use serde_json::Value;
use std::path::{Path, PathBuf};
use throughline_core::ToolCall;
use throughline_model::Toolbox;

/// Tools that read a file, search in files and list files, by the names that clients give them.
const READS: [&str; 7] = ["read", "read_file", "view", "view_file", "open_file", "cat", "readfile"];
const SEARCHES: [&str; 6] =
    ["grep", "search", "ripgrep", "grep_search", "search_files", "search_file_content"];
const LISTS: [&str; 8] =
    ["glob", "find", "ls", "list", "list_files", "list_dir", "list_directory", "file_search"];

/// Calls of one extraction.
const MOST_CALLS: usize = 24;
/// Bytes of a file, and of an answer.
const FILE_BYTES: u64 = 64 << 10;
const ANSWER_BYTES: usize = 12_000;
const MOST_LINES: usize = 100;

/// Reads memories for a fork. It can't write, and sees nothing outside of the folders.
pub(super) struct MemoryReader<'a> {
    memories: &'a Memories,
    calls: usize,
}

impl<'a> MemoryReader<'a> {
    pub(super) fn new(memories: &'a Memories) -> Self {
        Self { memories, calls: 0 }
    }

    fn read(&self, input: &Value) -> Result<String, String> {
        let path = word(input, &["file_path", "path", "filepath", "filename", "file", "target_file"]);
        let path = self.inside(path.ok_or("Give the memory's file as file_path.")?)?;
        let text = read_text(&path)?;
        Ok(cut(&text))
    }

    fn search(&self, input: &Value) -> Result<String, String> {
        let pattern = word(input, &["pattern", "query", "regex", "search"]).ok_or("Give a pattern.")?;
        let build =
            |pattern: &str| RegexBuilder::new(pattern).case_insensitive(true).size_limit(1 << 20).build();
        let regex =
            build(pattern).or_else(|_| build(&regex::escape(pattern))).map_err(|error| error.to_string())?;
        let mut lines = Vec::new();
        for path in self.files() {
            let Ok(text) = read_text(&path) else { continue };
            let found = text.lines().enumerate().filter(|(_, line)| regex.is_match(line));
            lines.extend(found.map(|(at, line)| format!("{}:{}: {line}", path.display(), at + 1)));
            if lines.len() >= MOST_LINES {
                break;
            }
        }
        lines.truncate(MOST_LINES);
        Ok(if lines.is_empty() { "No memory has it.".to_owned() } else { cut(&lines.join("\n")) })
    }

    fn list(&self) -> String {
        let lines: Vec<String> = self.files().iter().map(|path| path.display().to_string()).collect();
        if lines.is_empty() { "There are no memories.".to_owned() } else { cut(&lines.join("\n")) }
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = Vec::new();
        for (_, store) in self.memories.stores() {
            let heads = store.list().map(|(heads, _)| heads).unwrap_or_default();
            files.extend(heads.iter().map(|head| store.folder().join(&head.file)));
        }
        files
    }

    /// A memory's file by its path or its name, links resolved.
    fn inside(&self, path: &str) -> Result<PathBuf, String> {
        let path = Path::new(path.trim());
        for (_, store) in self.memories.stores() {
            let Ok(folder) = store.folder().canonicalize() else { continue };
            let Ok(real) = folder.join(path).canonicalize() else { continue };
            let is_memory = real.parent() == Some(folder.as_path())
                && real.extension().is_some_and(|ending| ending == "md");
            if is_memory {
                return Ok(real);
            }
        }
        Err(self.only())
    }

    fn only(&self) -> String {
        let folders: Vec<String> =
            self.memories.stores().map(|(_, store)| store.folder().display().to_string()).collect();
        format!(
            "Not done. Here only memories can be looked at, by reading, searching or listing their files in {}. Nothing is written by \
             tools: answer with the JSON object, and the program writes.",
            folders.join(", ")
        )
    }
}

impl Toolbox for MemoryReader<'_> {
    fn call(&mut self, call: &ToolCall) -> Result<String, String> {
        self.calls += 1;
        if self.calls > MOST_CALLS {
            return Err(format!("No more than {MOST_CALLS} calls. Answer with the JSON object now."));
        }
        let is = |names: &[&str]| names.iter().any(|name| call.name.eq_ignore_ascii_case(name));
        let input = call.input.to_json().unwrap_or_default();
        // Tools with several commands: only the one that looks.
        let looks = word(&input, &["command"]).is_none_or(|command| command == "view");
        if is(&READS) && looks {
            self.read(&input)
        } else if is(&SEARCHES) && looks {
            self.search(&input)
        } else if is(&LISTS) && looks {
            Ok(self.list())
        } else {
            Err(self.only())
        }
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > FILE_BYTES {
        return Err(format!("The file has {size} bytes, more than {FILE_BYTES}."));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn cut(text: &str) -> String {
    if text.len() <= ANSWER_BYTES {
        return text.to_owned();
    }
    let end = (0..=ANSWER_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    format!("{}\n[cut]", &text[..end])
}

fn word<'v>(input: &'v Value, keys: &[&str]) -> Option<&'v str> {
    keys.iter().find_map(|key| input.get(*key)?.as_str())
}

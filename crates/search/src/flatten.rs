//! A tool call's arguments as text, and the files they name.

use serde_json::Value;
use throughline_core::ToolInput;

/// How deep arguments are followed.
const MAX_DEPTH: usize = 16;
/// Longer strings without a space are encoded data.
const MAX_UNBROKEN: usize = 4096;

/// The arguments without JSON's quotes and escapes, one value a line, and the file paths among them.
pub(crate) fn flatten(input: &ToolInput) -> (String, Vec<String>) {
    let mut out = Flat::default();
    match input {
        ToolInput::Json(value) => out.value(None, value, 0),
        ToolInput::JsonText(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => out.value(None, &value, 0),
            Err(_) => out.text(None, text),
        },
        ToolInput::Text(text) => out.text(None, text),
    }
    (out.text, out.files)
}

#[derive(Default)]
struct Flat {
    text: String,
    files: Vec<String>,
}

impl Flat {
    fn value(&mut self, key: Option<&str>, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match value {
            Value::Null => {}
            Value::Bool(_) | Value::Number(_) => self.line(key, &value.to_string()),
            Value::String(text) => self.text(key, text),
            Value::Array(items) => {
                // Shells take their command as a list of words.
                let words: Option<Vec<&str>> = items.iter().map(Value::as_str).collect();
                match words {
                    Some(words) if !is_file_key(key) => self.text(key, &words.join(" ")),
                    Some(_) | None => items.iter().for_each(|item| self.value(key, item, depth + 1)),
                }
            }
            Value::Object(map) => {
                for (key, value) in map {
                    self.value(Some(key), value, depth + 1);
                }
            }
        }
    }

    fn text(&mut self, key: Option<&str>, text: &str) {
        if text.len() > MAX_UNBROKEN && !text.as_bytes()[..MAX_UNBROKEN].iter().any(u8::is_ascii_whitespace) {
            return;
        }
        if is_file_key(key) && !text.is_empty() && text.len() <= 1024 && !text.contains('\n') {
            self.file(text);
        }
        for line in text.lines() {
            if let Some(path) = patched_file(line) {
                self.file(path);
            }
        }
        self.line(key, text);
    }

    fn line(&mut self, key: Option<&str>, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        if let Some(key) = key {
            self.text.push_str(key);
            self.text.push_str(": ");
        }
        self.text.push_str(text);
    }

    fn file(&mut self, path: &str) {
        if !self.files.iter().any(|known| known == path) {
            self.files.push(path.to_owned());
        }
    }
}

/// Argument names that hold paths, in the tools of the clients we read.
fn is_file_key(key: Option<&str>) -> bool {
    matches!(
        key,
        Some(
            "file_path"
                | "path"
                | "paths"
                | "file"
                | "files"
                | "filename"
                | "filepath"
                | "notebook_path"
                | "target_file"
        )
    )
}

/// The file that a line of a patch names (Codex's patch format).
fn patched_file(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("*** ")?;
    ["Add File: ", "Update File: ", "Delete File: ", "Move to: "]
        .iter()
        .find_map(|mark| rest.strip_prefix(mark))
        .map(str::trim)
        .filter(|path| !path.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn arguments_lose_their_escapes_and_give_their_files() {
        let (text, files) = flatten(&ToolInput::Json(
            json!({"file_path": "/a/b.rs", "old_string": "x\ny", "n": 3, "edits": [{"path": "c.rs"}]}),
        ));
        assert_eq!(text, "file_path: /a/b.rs\nold_string: x\ny\nn: 3\npath: c.rs");
        assert_eq!(files, ["/a/b.rs", "c.rs"]);
    }

    #[test]
    fn shells_and_patches_are_understood() {
        let (text, _) = flatten(&ToolInput::JsonText(r#"{"command":["cargo","test"]}"#.into()));
        assert_eq!(text, "command: cargo test");
        let (_, files) =
            flatten(&ToolInput::Text("*** Begin Patch\n*** Update File: src/x.rs\n@@\n*** End Patch".into()));
        assert_eq!(files, ["src/x.rs"]);
    }

    #[test]
    fn deep_nesting_and_encoded_data_are_passed_over() {
        let mut deep = json!("bottom");
        for _ in 0..100 {
            deep = json!([deep, 1]);
        }
        assert!(!flatten(&ToolInput::Json(deep)).0.contains("bottom"));
        assert_eq!(flatten(&ToolInput::Json(json!({"data": "A".repeat(9000)}))).0, "");
    }
}

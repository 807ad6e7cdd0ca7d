//! The one thing that a fork may do (N3).

use crate::common::{House, call};
use serde_json::{Value, json};
use throughline_core::{CallKind, ToolCall, ToolInput};
use throughline_memory::notes::{NotesEditor, Template};
use throughline_model::Toolbox as _;

const STATE: &str = "_What is being worked on right now, what is unfinished, what comes next._\n";

struct Bench {
    house: House,
    template: Template,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { house: House::new(), template: Template::default() };
        bench.house.file.write(bench.template.text()).unwrap();
        bench
    }

    fn path(&self) -> String {
        self.house.file.path().display().to_string()
    }

    /// One call: the notes afterwards, or the refusal.
    fn one(&self, name: &str, input: Value) -> Result<String, String> {
        let mut editor = self.editor();
        editor.call(&call("c", name, input)).map(|_| editor.finish().text)
    }

    fn editor(&self) -> NotesEditor<'_> {
        NotesEditor::new(&self.house.file.path(), &self.template, self.template.text())
    }

    fn expected(&self) -> String {
        self.template.text().replace(STATE, &format!("{STATE}At work.\n"))
    }
}

fn new_state() -> String {
    format!("{STATE}At work.\n")
}

#[test]
fn n3_edits_the_file_in_whatever_words_the_client_has() {
    let bench = Bench::new();
    let path = bench.path();
    for (name, input) in [
        ("Edit", json!({"file_path": path, "old_string": STATE, "new_string": new_state()})),
        (
            "Edit",
            json!({"file_path": path, "old_string": STATE, "new_string": new_state(), "replace_all": true}),
        ),
        (
            "MultiEdit",
            json!({"file_path": path, "edits": [{"old_string": STATE, "new_string": new_state()}]}),
        ),
        (
            "str_replace_editor",
            json!({"command": "str_replace", "path": path, "old_str": STATE, "new_str": new_state()}),
        ),
        ("edit_file", json!({"path": path, "old_text": STATE, "new_text": new_state()})),
        (
            "replace",
            json!({"file_path": format!("{}/../session-memory/./summary.md", bench.house.file.path().parent().unwrap().display()), "search": STATE, "replace": new_state()}),
        ),
    ] {
        assert_eq!(bench.one(name, input.clone()), Ok(bench.expected()), "{name} {input}");
    }
    let mut editor = bench.editor();
    let text = json!({"file_path": path, "old_string": STATE, "new_string": new_state()}).to_string();
    let text = ToolCall {
        id: "c".into(),
        name: "Edit".into(),
        input: ToolInput::JsonText(text),
        kind: CallKind::Function,
    };
    assert!(editor.call(&text).is_ok() && editor.is_done());
    assert_eq!(editor.finish().text, bench.expected());
    assert_eq!(bench.house.text(), bench.template.text(), "the file itself is not touched");
}

#[test]
fn n3_everything_else_is_refused() {
    let bench = Bench::new();
    let path = bench.path();
    let edit = |path: &str| json!({"file_path": path, "old_string": STATE, "new_string": new_state()});
    for (name, input) in [
        ("Bash", json!({"command": "rm -rf /"})),
        ("Write", json!({"file_path": path, "content": "x"})),
        ("Read", json!({"file_path": path})),
        ("Edit", edit("/etc/passwd")),
        ("Edit", edit("summary.md")),
        ("Edit", edit(&format!("{path}.bak"))),
        ("Edit", edit(&format!("{path}/../../secret.md"))),
        ("Edit", json!({"old_string": STATE, "new_string": new_state()})),
        ("str_replace_editor", json!({"command": "create", "path": path, "file_text": "x"})),
    ] {
        let refusal = bench.one(name, input.clone()).expect_err(name);
        assert!(refusal.contains("The only thing that can be done is to edit"), "{name} {input}: {refusal}");
    }
}

#[test]
fn n3_the_text_must_occur_exactly_once() {
    let bench = Bench::new();
    let path = bench.path();
    let edit = |old: &str, new: &str| json!({"file_path": path, "old_string": old, "new_string": new});
    for (input, why) in [
        (edit("not there", "x"), "does not occur"),
        (edit("what", "that"), "times; give more"),
        (edit("", "x"), "is empty"),
        (edit(STATE, STATE), "are the same"),
        (json!({"file_path": path, "old_string": STATE}), "is missing"),
        (json!({"file_path": path, "edits": []}), "list of 1 to"),
        (json!({"file_path": path, "edits": [3]}), "is an object"),
        (json!("text"), "not an object"),
    ] {
        let refusal = bench.one("Edit", input.clone()).expect_err(why);
        assert!(refusal.contains(why), "{input}: {refusal}");
    }
}

#[test]
fn n3_headers_and_guides_are_out_of_reach() {
    let bench = Bench::new();
    let path = bench.path();
    for (old, new) in [
        ("# Workflow", "# Work"),
        ("# Workflow\n", ""),
        (STATE, "At work.\n"),
        ("# Current State\n", "# Current State\n# Another\n"),
        ("# Session Title\n", "Notes:\n# Session Title\n"),
    ] {
        let input = json!({"file_path": path, "old_string": old, "new_string": new});
        let refusal = bench.one("Edit", input).expect_err(old);
        assert!(refusal.starts_with("Not done: "), "{refusal}");
    }
    // All or nothing.
    let edits = json!([{"old_string": STATE, "new_string": new_state()}, {"old_string": "# Workflow", "new_string": "x"}]);
    let mut editor = bench.editor();
    assert!(editor.call(&call("c", "MultiEdit", json!({"file_path": path, "edits": edits}))).is_err());
    let edited = editor.finish();
    assert_eq!((edited.text.as_str(), edited.applied, edited.refused), (bench.template.text(), 0, 1));
}

#[test]
fn n3_done_when_one_answer_was_carried_out_as_a_whole() {
    let bench = Bench::new();
    let path = bench.path();
    let good = call("a", "Edit", json!({"file_path": path, "old_string": STATE, "new_string": new_state()}));
    let bad = call("b", "Bash", json!({}));
    let mut editor = bench.editor();
    assert!(!editor.is_done(), "nothing was done yet");
    assert!(editor.call(&good).is_ok());
    assert!(editor.call(&bad).is_err());
    assert!(!editor.is_done(), "the model may try again");
    let more =
        call("c", "Edit", json!({"file_path": path, "old_string": "At work.", "new_string": "At rest."}));
    assert!(editor.call(&more).is_ok());
    assert!(editor.is_done());
}

#[test]
fn edits_are_bounded() {
    let bench = Bench::new();
    let path = bench.path();
    let huge = json!({"file_path": path, "old_string": STATE, "new_string": format!("{STATE}{}", "x".repeat(1 << 20))});
    assert!(bench.one("Edit", huge).unwrap_err().contains("far too long"));
    let mut editor = bench.editor();
    let wrong = call("c", "Edit", json!({"file_path": path, "old_string": "none", "new_string": "x"}));
    let refusals: Vec<String> = (0..300).filter_map(|_| editor.call(&wrong).err()).collect();
    assert!(refusals.last().unwrap().contains("No more than"));
}

#[cfg(unix)]
#[test]
fn n3_a_link_to_the_file_is_the_file_and_a_link_elsewhere_is_not() {
    let bench = Bench::new();
    let link = bench.house.folder.path().join("link");
    std::os::unix::fs::symlink(bench.house.file.path().parent().unwrap(), &link).unwrap();
    let edit =
        |path: &std::path::Path| json!({"file_path": path, "old_string": STATE, "new_string": new_state()});
    assert_eq!(bench.one("Edit", edit(&link.join("summary.md"))), Ok(bench.expected()));
    assert!(bench.one("Edit", edit(&link.join("../summary.md"))).is_err());
}

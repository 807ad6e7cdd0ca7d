//! What a tool call does, whatever the client calls its tools.

use super::script;
use crate::shell::line_of_argv;
use crate::{CallKind, ToolCall, ToolInput};
use serde_json::Value;

/// A tool call, understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// A file was read.
    Read {
        /// Which.
        path: String,
    },
    /// Files were changed in place.
    Edit {
        /// Which.
        paths: Vec<String>,
    },
    /// A file was written as a whole.
    Write {
        /// Which.
        path: String,
    },
    /// A command was run.
    Shell {
        /// The command line.
        command: String,
        /// The folder, if the call names one.
        folder: Option<String>,
        /// What the result can say about the exit status.
        status: ShellStatus,
    },
    /// A script of the model called other tools.
    Script(Vec<Action>),
    /// A running command was asked for more output.
    Continue {
        /// The client's id of the running command.
        session: String,
    },
    /// Something was searched for in files.
    Search {
        /// The pattern.
        pattern: String,
        /// Where, if said.
        path: Option<String>,
    },
    /// The list of tasks was written anew.
    Todos(Vec<Todo>),
    /// One task was added to the list.
    AddTodo(Todo),
    /// One task of the list was changed.
    ChangeTodo {
        /// Which, as the client numbers them.
        number: String,
        /// Its new status.
        status: Option<Status>,
    },
    /// A plan was put forward.
    Plan(String),
    /// A sub-agent was sent out.
    Delegate {
        /// What for.
        task: String,
    },
    /// The web was asked.
    Web {
        /// What for, or which page.
        query: String,
    },
    /// A question was put to the person.
    Ask,
    /// Something else.
    Other,
}

/// What the result of a shell call can say about the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellStatus {
    /// The client reports a failure.
    Reported,
    /// The result holds output only.
    Hidden,
}

/// One task of a list that the model keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What is to be done.
    pub text: String,
    /// How far it is.
    pub status: Status,
}

/// How far a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Not begun.
    Pending,
    /// Being worked on.
    Active,
    /// Finished.
    Done,
}

impl Status {
    fn parse(word: &str) -> Self {
        match word {
            "completed" | "complete" | "done" | "finished" | "deleted" | "cancelled" => Self::Done,
            "in_progress" | "in-progress" | "active" | "doing" => Self::Active,
            _ => Self::Pending,
        }
    }
}

impl Action {
    /// What a call does.
    ///
    /// ```
    /// use throughline_core::facts::Action;
    /// use throughline_core::{CallKind, ToolCall, ToolInput};
    ///
    /// let call = ToolCall {
    ///     id: "c1".into(),
    ///     name: "exec_command".to_owned(),
    ///     input: ToolInput::JsonText(r#"{"cmd": "cargo test"}"#.to_owned()),
    ///     kind: CallKind::Function,
    /// };
    /// assert!(matches!(Action::of(&call), Action::Shell { command, .. } if command == "cargo test"));
    /// ```
    pub fn of(call: &ToolCall) -> Self {
        let parsed;
        let input = match &call.input {
            ToolInput::Json(value) => value,
            ToolInput::JsonText(text) => {
                parsed = serde_json::from_str(text).unwrap_or(Value::Null);
                &parsed
            }
            ToolInput::Text(text) => return of_free_text(&call.name, text),
        };
        of_json(call, input)
    }
}

fn of_free_text(name: &str, text: &str) -> Action {
    match bare(name).as_str() {
        "applypatch" => Action::Edit { paths: patched_paths(text) },
        "exec" if text.contains("tools.") => script::read(text),
        "bash" | "shell" | "exec" | "localshell" => of_command(text.to_owned(), None),
        _ if text.contains("tools.exec_command") => script::read(text),
        _ => Action::Other,
    }
}

fn of_json(call: &ToolCall, input: &Value) -> Action {
    let text = |keys: &[&str]| keys.iter().find_map(|key| input.get(*key)?.as_str()).map(str::to_owned);
    let path = || text(&["file_path", "path", "notebook_path", "filename", "filePath", "file"]);
    match bare(&call.name).as_str() {
        "read" | "readfile" | "view" | "viewfile" | "notebookread" | "openfile" | "viewimage" => {
            path().map_or(Action::Other, |path| Action::Read { path })
        }
        "edit" | "multiedit" | "notebookedit" | "strreplace" | "replace" | "editfile" | "searchreplace" => {
            path().map_or(Action::Other, |path| Action::Edit { paths: vec![path] })
        }
        "write" | "writefile" | "createfile" | "create" => {
            path().map_or(Action::Other, |path| Action::Write { path })
        }
        "strreplacebasededittool" | "texteditor" => {
            match (input.get("command").and_then(Value::as_str), path()) {
                (Some("view"), Some(path)) => Action::Read { path },
                (Some("create"), Some(path)) => Action::Write { path },
                (Some(_), Some(path)) => Action::Edit { paths: vec![path] },
                (_, None) | (None, _) => Action::Other,
            }
        }
        "applypatch" => Action::Edit { paths: patched_paths(&text(&["input", "patch"]).unwrap_or_default()) },
        "bash" | "shell" | "execcommand" | "localshell" | "runshellcommand" | "execute" | "runcommand"
        | "terminal" | "localshellcall" => of_shell(input),
        "writestdin" | "bashoutput" | "taskoutput" | "agentoutput" | "wait" => {
            let session = ["session_id", "bash_id", "task_id", "shell_id", "cell_id"]
                .iter()
                .find_map(|key| input.get(*key))
                .map(|id| id.as_str().map_or_else(|| id.to_string(), str::to_owned));
            session.map_or(Action::Other, |session| Action::Continue { session })
        }
        "grep" | "glob" | "search" | "grepfiles" | "codebasesearch" | "ls" | "listdir" | "findfiles" => {
            Action::Search {
                pattern: text(&["pattern", "query", "regex", "glob_pattern"]).unwrap_or_default(),
                path: text(&["path", "dir_path", "directory"]),
            }
        }
        "todowrite" | "updateplan" | "writetodos" => todos(input),
        "taskcreate" => text(&["subject", "title", "description"])
            .map_or(Action::Other, |text| Action::AddTodo(Todo { text, status: Status::Pending })),
        "taskupdate" => text(&["taskId", "task_id", "id"]).map_or(Action::Other, |number| {
            Action::ChangeTodo { number, status: text(&["status"]).map(|word| Status::parse(&word)) }
        }),
        "exitplanmode" => text(&["plan"]).map_or(Action::Other, Action::Plan),
        "task" | "agent" | "spawnagent" => {
            Action::Delegate { task: text(&["description", "message", "prompt"]).unwrap_or_default() }
        }
        "websearch" | "webfetch" | "websearchcall" => {
            Action::Web { query: text(&["query", "url"]).unwrap_or_default() }
        }
        "askuserquestion" | "requestuserinput" => Action::Ask,
        _ => match call.kind {
            CallKind::LocalShell => of_shell(input),
            CallKind::Function | CallKind::Custom | CallKind::ToolSearch | CallKind::Hosted => Action::Other,
        },
    }
}

/// A tool's name without case, separators and the prefix of an MCP server.
fn bare(name: &str) -> String {
    let server = name.as_bytes().windows(2).rposition(|two| two == b"__");
    let name = server.map_or(name, |at| &name[at + 2..]);
    let name = name.rsplit('.').next().unwrap_or(name);
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// The call of a shell tool: a string, or an argument list.
fn of_shell(input: &Value) -> Action {
    let Some(raw) = ["command", "cmd", "script"].iter().find_map(|key| input.get(*key)) else {
        return Action::Other;
    };
    let command = match raw {
        Value::String(text) => text.clone(),
        Value::Array(words) => line_of_argv(&words.iter().filter_map(Value::as_str).collect::<Vec<_>>()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => return Action::Other,
    };
    let folder = ["workdir", "cwd", "working_directory"].iter().find_map(|key| input.get(*key)?.as_str());
    of_command(command, folder.map(str::to_owned))
}

/// Some clients edit through the shell, by a patch in a here-document.
fn of_command(command: String, folder: Option<String>) -> Action {
    if command.contains("*** Begin Patch") {
        let paths = patched_paths(&command);
        if !paths.is_empty() {
            return Action::Edit { paths };
        }
    }
    Action::Shell { command, folder, status: ShellStatus::Reported }
}

/// The files that a patch in Codex's format names, each once.
pub(super) fn patched_paths(patch: &str) -> Vec<String> {
    const MARKS: [&str; 4] = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: "];
    let mut paths: Vec<String> = Vec::new();
    for line in patch.lines() {
        if let Some(path) = MARKS.iter().find_map(|mark| line.strip_prefix(mark)) {
            let path = path.trim().to_owned();
            if !path.is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    paths
}

fn todos(input: &Value) -> Action {
    let list = ["todos", "plan", "items"].iter().find_map(|key| input.get(*key)?.as_array());
    let Some(list) = list else { return Action::Other };
    let todos = list.iter().filter_map(|item| {
        let text = ["content", "step", "text", "title", "description"]
            .iter()
            .find_map(|key| item.get(*key)?.as_str())
            .or_else(|| item.as_str())?;
        let status = item.get("status").and_then(Value::as_str).map_or(Status::Pending, Status::parse);
        Some(Todo { text: text.to_owned(), status })
    });
    Action::Todos(todos.collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn action(name: &str, input: ToolInput) -> Action {
        Action::of(&ToolCall { id: "c".into(), name: name.to_owned(), input, kind: CallKind::Function })
    }

    #[test]
    fn clients_names_for_the_same_thing_mean_the_same() {
        let claude = action("Bash", ToolInput::Json(json!({"command": "ls"})));
        let codex = action("shell", ToolInput::JsonText(r#"{"command":["bash","-lc","ls"]}"#.to_owned()));
        assert_eq!(claude, codex);
        let read = action("mcp__files__read_file", ToolInput::Json(json!({"path": "a.rs"})));
        assert_eq!(read, Action::Read { path: "a.rs".to_owned() });
    }

    #[test]
    fn a_patch_names_its_files_wherever_it_stands() {
        let patch =
            "*** Begin Patch\n*** Update File: src/a.rs\n@@\n-x\n+y\n*** Add File: b.md\n+z\n*** End Patch";
        let paths = vec!["src/a.rs".to_owned(), "b.md".to_owned()];
        assert_eq!(
            action("apply_patch", ToolInput::Text(patch.to_owned())),
            Action::Edit { paths: paths.clone() }
        );
        let shell = json!({"cmd": format!("apply_patch <<'EOF'\n{patch}\nEOF")});
        assert_eq!(action("exec_command", ToolInput::Json(shell)), Action::Edit { paths });
    }

    #[test]
    fn odd_arguments_are_something_else_and_no_panic() {
        for input in [json!(null), json!([]), json!({"file_path": 3}), json!({"todos": {"a": 1}})] {
            for name in ["Read", "Edit", "TodoWrite", "TaskUpdate", "Bash", ""] {
                assert_eq!(action(name, ToolInput::Json(input.clone())), Action::Other);
            }
        }
    }
}

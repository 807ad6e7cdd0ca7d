//! Scripts in which a model calls several tools at once (Codex's `exec`).

use super::action::{Action, ShellStatus, patched_paths};
use crate::text::head;

/// Longer scripts are read up to here.
const LONGEST: usize = 64 << 10;
/// Calls that are read from one script.
const MOST_CALLS: usize = 8;

/// The commands and patches in a script, by the string literals of its calls.
pub(super) fn read(code: &str) -> Action {
    let code = head(code, LONGEST);
    let mut actions = Vec::new();
    let mut rest = code;
    while let Some((_, behind)) = rest.split_once("cmd") {
        rest = behind;
        let value = behind.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':');
        let Some(command) = value.and_then(|value| string_literal(value.trim_start())) else { continue };
        let arguments = value.and_then(|value| value.split_once('}')).map_or("", |(arguments, _)| arguments);
        let folder = arguments.split_once("workdir").and_then(|(_, value)| {
            string_literal(value.trim_start_matches(['"', '\'']).trim_start().strip_prefix(':')?.trim_start())
        });
        actions.push(Action::Shell { command, folder, status: ShellStatus::Hidden });
        if actions.len() >= MOST_CALLS {
            break;
        }
    }
    if code.contains("*** Begin Patch") {
        let paths = patched_paths(&code.replace("\\n", "\n"));
        if !paths.is_empty() {
            actions.push(Action::Edit { paths });
        }
    }
    if actions.is_empty() { Action::Other } else { Action::Script(actions) }
}

/// The value of a string literal at the beginning of a text.
fn string_literal(text: &str) -> Option<String> {
    let mut characters = text.chars();
    let quote = characters.next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
    let mut value = String::new();
    while let Some(c) = characters.next() {
        match c {
            c if c == quote => return Some(value),
            '\\' => value.push(match characters.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other => other,
            }),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_patches_of_a_script_are_read() {
        let code = r#"const r = await tools.exec_command({ cmd: "go test \"./...\"", workdir: "/x" });
const p = "*** Begin Patch\n*** Update File: a/b.go\n@@\n*** End Patch"; text(await tools.apply_patch(p));"#;
        let shell = Action::Shell {
            command: "go test \"./...\"".to_owned(),
            folder: Some("/x".to_owned()),
            status: ShellStatus::Hidden,
        };
        let edit = Action::Edit { paths: vec!["a/b.go".to_owned()] };
        assert_eq!(read(code), Action::Script(vec![shell, edit]));
        assert_eq!(read("const x = tools.list(); cmd: 3; cmd"), Action::Other);
    }
}

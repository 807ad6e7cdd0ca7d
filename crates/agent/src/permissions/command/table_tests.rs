//! The tables of options against the installed programs: which options take a value as a word of its own.

use super::flags::Style;
use super::git::tables;
use super::programs::PROGRAMS;
use std::process::{Command, Stdio};

/// Messages that programs print for an option whose value is missing.
const MISSING: [&str; 3] = ["requires an argument", "requires a value", "expects a numerical value"];

/// Returns true if a program takes the next word as the value of an option. `None`: it does not know the option, or is not installed.
fn wants_value(program: &[&str], option: &str, folder: &std::path::Path) -> Option<bool> {
    let (name, arguments) = program.split_first()?;
    let done = Command::new(name)
        .args(arguments)
        .arg(option)
        .current_dir(folder)
        .env("LC_ALL", "C")
        .env("GIT_PAGER", "cat")
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let complaint = String::from_utf8_lossy(&done.stderr).to_lowercase();
    let is_unknown = ["unrecognized", "unknown", "invalid option", "illegal", "ambiguous", "usage: git"];
    if is_unknown.iter().any(|words| complaint.contains(words)) {
        return None;
    }
    Some(!done.status.success() && MISSING.iter().any(|words| complaint.contains(words)))
}

#[test]
fn tables_agree_with_installed_programs() {
    let folder = tempfile::tempdir().unwrap();
    let git = |arguments: &[&str]| Command::new("git").args(arguments).current_dir(folder.path()).output();
    if !git(&["init", "-q"]).is_ok_and(|done| done.status.success()) {
        return;
    }
    let _ = git(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a", "--allow-empty"]);
    let of_git = tables().map(|(name, options)| (vec!["git", name], options));
    // The others read their options with getopt or end at the first mistake.
    let of_programs = PROGRAMS
        .iter()
        .filter(|program| program.style == Style::Letters && !program.options.is_empty())
        .filter(|program| !matches!(program.name, "rg" | "tree" | "xxd" | "jq" | "type" | "tail"))
        .map(|program| (vec![program.name], program.options));
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (program, options) in of_git.chain(of_programs) {
        for entry in options.split_whitespace().filter(|entry| entry.starts_with("--")) {
            let (option, takes) = entry.split_once('=').unwrap_or((entry, ""));
            let expected = matches!(takes, "#" | "%" | "@");
            let Some(wants) = wants_value(&program, option, folder.path()) else { continue };
            compared += 1;
            if wants != expected {
                wrong.push(format!("{program:?} {entry}: takes the next word: {wants}"));
            }
        }
    }
    assert!(compared > 200, "{compared}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

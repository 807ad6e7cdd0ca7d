//! Slash commands: what they are called, what they take, what they do.

use crate::terminal::complete::Named;

/// A slash command with what it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Slash {
    /// Replaces the view by a summary; what it is to pay attention to.
    Compact(Option<String>),
    /// Draws the window.
    Context,
    /// Long-term memory: lists it, or searches it.
    Memory(Option<String>),
    /// The session's notes.
    Notes,
    /// Takes a message out of the view.
    Snip(Option<String>),
    /// Undoes the newest change of the view.
    Undo,
    /// Protects a message from every stage, or lets go of it.
    Pin(Option<String>),
    /// Goes on with another session.
    Resume(Option<String>),
    /// Goes on in a copy of this session.
    Fork,
    /// Goes back to something said before.
    Rewind,
    /// What the session has cost.
    Cost,
    /// Another model.
    Model(Option<String>),
    /// Another profile.
    Profile(Option<String>),
    /// What is permitted; or another mode.
    Permissions(Option<String>),
    /// The MCP servers.
    Mcp,
    /// The hooks.
    Hooks,
    /// The skills.
    Skills,
    /// What there is.
    Help,
    /// Ends.
    Quit,
}

/// How a command is written down.
pub(crate) struct Entry {
    /// Its name, without the slash.
    pub(crate) name: &'static str,
    /// What it takes, for people.
    pub(crate) takes: &'static str,
    /// What it does, in one line.
    pub(crate) does: &'static str,
    make: Make,
}

enum Make {
    Alone(fn() -> Slash),
    With(fn(Option<String>) -> Slash),
}

const fn alone(name: &'static str, does: &'static str, make: fn() -> Slash) -> Entry {
    Entry { name, takes: "", does, make: Make::Alone(make) }
}

const fn with(
    name: &'static str,
    takes: &'static str,
    does: &'static str,
    make: fn(Option<String>) -> Slash,
) -> Entry {
    Entry { name, takes, does, make: Make::With(make) }
}

/// All commands, in the order of the help.
pub(crate) const ENTRIES: &[Entry] = &[
    with("compact", "[focus]", "Replace the view by a summary", Slash::Compact),
    alone("context", "Draw the window: what is in it, by part", || Slash::Context),
    with("memory", "[words]", "Show long-term memory, or search it", Slash::Memory),
    alone("notes", "Show the notes of this session", || Slash::Notes),
    with("snip", "[id]", "Take something you said, and its answer, out of the view", Slash::Snip),
    alone("undo", "Undo the newest change of the view", || Slash::Undo),
    with("pin", "[id]", "Protect a message from every stage, or let go of it", Slash::Pin),
    with("resume", "[session]", "Go on with another session", Slash::Resume),
    alone("fork", "Go on in a copy of this session", || Slash::Fork),
    alone("rewind", "Go back to something you said, with or without the files", || Slash::Rewind),
    alone("cost", "What this session has cost", || Slash::Cost),
    with("model", "[name]", "Show the model, or take another", Slash::Model),
    with("profile", "[name]", "Show the profile, or take another", Slash::Profile),
    with("permissions", "[mode]", "Show what is permitted, or take another mode", Slash::Permissions),
    alone("mcp", "Show the MCP servers and their tools", || Slash::Mcp),
    alone("hooks", "Show the hooks", || Slash::Hooks),
    alone("skills", "Show the skills", || Slash::Skills),
    alone("help", "Show the commands and keys", || Slash::Help),
    alone("quit", "End", || Slash::Quit),
];

/// What a line means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meant {
    /// A command.
    Command(Slash),
    /// `#text`: something to remember.
    Memory(String),
    /// Something for the model.
    Said(String),
    /// No command: what is wrong, and what may be meant.
    Wrong(String),
}

/// What a line means. Only the first line of several can be a command.
pub(crate) fn meant(line: &str) -> Meant {
    let text = line.trim();
    if let Some(memory) = text.strip_prefix('#') {
        let memory = memory.trim();
        // `#` alone, `## heading`: text like any other.
        if !memory.is_empty() && !memory.starts_with('#') {
            return Meant::Memory(memory.to_owned());
        }
    }
    let Some(command) = text.strip_prefix('/') else { return Meant::Said(text.to_owned()) };
    let (name, rest) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    // A path is not a command.
    if name.is_empty() || name.contains('/') {
        return Meant::Said(text.to_owned());
    }
    parse(name, rest.trim()).map_or_else(Meant::Wrong, Meant::Command)
}

fn parse(name: &str, rest: &str) -> Result<Slash, String> {
    let lower = name.to_ascii_lowercase();
    let lower = match lower.as_str() {
        "exit" | "q" => "quit",
        "?" => "help",
        other => other,
    };
    let Some(entry) = ENTRIES.iter().find(|entry| entry.name == lower) else {
        let near = nearest(lower);
        let hint =
            near.map_or_else(|| "/help shows them".to_owned(), |near| format!("did you mean /{near}?"));
        return Err(format!("there is no command /{name}: {hint}"));
    };
    match entry.make {
        Make::With(make) => Ok(make(Some(rest.to_owned()).filter(|rest| !rest.is_empty()))),
        Make::Alone(make) if rest.is_empty() => Ok(make()),
        Make::Alone(_) => Err(format!("/{} takes nothing", entry.name)),
    }
}

/// The command that was most likely meant.
fn nearest(name: &str) -> Option<&'static str> {
    let begins = ENTRIES.iter().find(|entry| name.len() >= 2 && entry.name.starts_with(name));
    let near = || {
        let distance = |entry: &Entry| strsim::damerau_levenshtein(name, entry.name);
        ENTRIES.iter().min_by_key(|entry| distance(entry)).filter(|entry| distance(entry) <= 2)
    };
    begins.or_else(near).map(|entry| entry.name)
}

/// The commands, for completion.
pub(crate) fn named() -> Vec<Named> {
    let named = |entry: &Entry| {
        let takes = if entry.takes.is_empty() { String::new() } else { format!("{} ", entry.takes) };
        Named { name: entry.name.to_owned(), description: format!("{takes}{}", entry.does) }
    };
    ENTRIES.iter().map(named).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_known_by_its_name() {
        for entry in ENTRIES {
            assert!(matches!(meant(&format!("/{}", entry.name)), Meant::Command(_)), "{}", entry.name);
        }
        let names: std::collections::BTreeSet<_> = ENTRIES.iter().map(|entry| entry.name).collect();
        assert_eq!(names.len(), ENTRIES.len());
    }

    #[test]
    fn commands_take_what_they_are_given() {
        let focus = Some("the parser and its tests".to_owned());
        assert_eq!(meant("/compact  the parser and its tests "), Meant::Command(Slash::Compact(focus)));
        assert_eq!(meant("/COMPACT"), Meant::Command(Slash::Compact(None)));
        assert_eq!(meant("/exit"), Meant::Command(Slash::Quit));
        assert_eq!(meant("/cost now"), Meant::Wrong("/cost takes nothing".to_owned()));
    }

    #[test]
    fn a_typo_is_met_with_what_may_be_meant() {
        let wrong = |line: &str| match meant(line) {
            Meant::Wrong(why) => why,
            other @ (Meant::Command(_) | Meant::Memory(_) | Meant::Said(_)) => panic!("{other:?}"),
        };
        assert_eq!(wrong("/contxt"), "there is no command /contxt: did you mean /context?");
        assert_eq!(wrong("/perm"), "there is no command /perm: did you mean /permissions?");
        assert_eq!(wrong("/zzzzzz"), "there is no command /zzzzzz: /help shows them");
    }

    #[test]
    fn other_lines_are_for_the_model() {
        for line in ["/usr/bin/env is missing", "hello", "/", "# ", "## Heading", "a #tag"] {
            assert_eq!(meant(line), Meant::Said(line.trim().to_owned()));
        }
        assert_eq!(meant("#use tabs here"), Meant::Memory("use tabs here".to_owned()));
        assert_eq!(meant("# use tabs"), Meant::Memory("use tabs".to_owned()));
    }
}

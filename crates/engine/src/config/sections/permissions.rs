//! The keys of `[permissions]`.

use super::super::key::{Key, Kind, Scope};
use super::super::permissions::{PermissionMode, PermissionSettings};
use super::super::schema::{Note, Part};
use super::note;

const LOOSER: &str = "a project may make permissions stricter, not looser";
const ALLOWING: Scope = Scope::User("a project may not permit an agent anything");

const NOTES: &[Note] = &[
    note("mode", "How much an agent may do without asking when a session begins.")
        .kind(Kind::Choice(&["ask", "accept-edits", "plan", "full"]))
        .scope(Scope::Stricter(PermissionMode::BY_STRICTNESS, LOOSER)),
    note("allow", "Rules: what is done without asking, such as `Bash(cargo test:*)` (permissions.md).")
        .kind(Kind::List),
    note("ask", "Rules: what is asked, whatever else permits it. A project's are added to yours.")
        .kind(Kind::List)
        .scope(Scope::Adds),
    note("deny", "Rules: what is refused, whatever else permits it. A project's are added to yours.")
        .kind(Kind::List)
        .scope(Scope::Adds),
    note(
        "folders",
        "Folders that belong to the workspace beside the one an agent starts in; absolute paths.",
    )
    .kind(Kind::List),
    note("sandbox", "Whether commands run in a sandbox, where the system has one.")
        .scope(Scope::Stricter(&["true", "false"], LOOSER)),
    note("network", "Whether commands in the sandbox may use the network.")
        .scope(Scope::Stricter(&["false", "true"], LOOSER)),
    note("sandbox_read", "What commands in the sandbox may read: the workspace with system paths and toolchains, or the home folder too.")
        .kind(Kind::Choice(&["workspace", "home"]))
        .scope(Scope::Stricter(&["workspace", "home"], LOOSER)),
    note("env_keep", "Variables that commands get beside the usual ones (permissions.md).")
        .kind(Kind::List),
];

pub(super) fn keys() -> Vec<Key> {
    let base = PermissionSettings::default();
    let check = PermissionSettings::check;
    Part { prefix: "permissions", base: &base, notes: NOTES, scope: ALLOWING, check }.keys()
}

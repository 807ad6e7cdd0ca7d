//! The keys of `[memory]`.

use super::super::key::{Key, Kind, Scope};
use super::super::memory::MemorySettings;
use super::super::schema::{Note, Part};
use super::note;

/// What is remembered is the user's: no repository says where it is kept (M1), nor what is learnt, told or let go.
const USERS: Scope = Scope::User("a project may not say what is remembered, where, and for how long");

const NOTES: &[Note] = &[
    note("enabled", "Whether anything is remembered beyond a session, and told in the next."),
    note(
        "dir",
        "The folder of the project's memories, absolute. `{project}` in it is the project's name; without it all projects share \
         the folder. Unset: `projects/<project>/memory` in the home folder.",
    )
    .kind(Kind::Path),
    note(
        "team_dir",
        "The folder of memories that a team shares, absolute; `{project}` as above. Unset: `team` in the project's.",
    )
    .kind(Kind::Path),
    note("team", "Whether memories of a team are told."),
    note("global", "Whether memories that hold in every project are told."),
    note("history", "Whether every change of a memory is kept in git, so that it can be undone."),
    note(
        "extract.every_turns",
        "After how many turns a session is searched for what is worth keeping. 0: only what you ask to remember.",
    ),
    note("extract.by", "Who looks for it: whoever `scribe.use` says, or no model in any case.")
        .kind(Kind::Choice(&["scribe", "offline"])),
    note("recall.enabled", "Whether memories that fit what you say join the turn."),
    note("recall.most", "How many at once, at most."),
    note("recall.tokens", "How many tokens they have together at most."),
    note("recall.select", "Who chooses them: the ranking alone, or a model of those that rank highest.")
        .kind(Kind::Choice(&["rank", "model"])),
    note(
        "lifetime_days.user",
        "Days that a memory of who you are holds after it was last said or changed. 0: until you say otherwise.",
    ),
    note("lifetime_days.feedback", "The same for memories of how to work."),
    note("lifetime_days.project", "The same for memories of what is so in the project."),
    note("lifetime_days.reference", "The same for memories of where things are outside."),
];

pub(super) fn keys() -> Vec<Key> {
    let base = MemorySettings::default();
    Part { prefix: "memory", base: &base, notes: NOTES, scope: USERS, check: MemorySettings::check }.keys()
}

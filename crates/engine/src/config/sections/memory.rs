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
    note("handbook.enabled", "Whether handbooks are made of old sessions, and told in new ones."),
    note("handbook.generate", "Whether old sessions are read in the background when one begins."),
    note("handbook.use", "Whether a new session is told what its project's handbook has for it."),
    note(
        "handbook.disable_on_external_context",
        "Whether a session that fetched from the web, searched for tools or called an MCP server is left out.",
    ),
    note("handbook.extract_model", "The model that reads sessions. Unset: none in the background, and whoever `scribe.use` says where you ask for a model."),
    note("handbook.consolidation_model", "The model that writes handbooks. Unset: the same."),
    note(
        "handbook.store",
        "Where the work is kept: `postgres://…` for a team, or a file, absolute. Unset: a file in the home folder.",
    )
    .secret(),
    note("handbook.limits.start_sessions", "Sessions that are read when one begins."),
    note("handbook.limits.age_days", "Days after which a session is too old to begin with."),
    note("handbook.limits.idle_hours", "Hours that a session must have rested."),
    note("handbook.limits.candidates", "Sessions that are looked at to find them."),
    note("handbook.limits.outputs", "Sessions that a handbook rests on, at most."),
    note("handbook.limits.unused_days", "Days after which what was neither used nor updated is left out."),
    note("handbook.limits.prune", "Outputs of sessions that are taken out at once, at most."),
    note("handbook.limits.concurrency", "Sessions that are read at the same time."),
    note("handbook.limits.lease_seconds", "Seconds after which work that gives no sign of life is somebody else's."),
    note("handbook.limits.heartbeat_seconds", "Seconds between signs of life."),
    note("handbook.limits.attempts", "Attempts for one state of a session."),
    note("handbook.limits.retry_seconds", "Seconds before the second attempt; the wait doubles with each."),
    note("handbook.limits.window_percent", "Percent of a model's window that a part of a session may fill."),
    note("handbook.limits.part_tokens", "Tokens of a part where the window is not known."),
    note("handbook.limits.parts", "Parts of one session that a model reads, at most."),
    note("handbook.limits.summary_tokens", "Tokens of handbooks that a new session is told, at most. 0: none."),
    note("handbook.limits.diff_bytes", "Bytes of changes that whoever writes a handbook is shown."),
    note("handbook.limits.book_bytes", "Bytes of a handbook, and of its summary, at most."),
    note("handbook.limits.skills", "Skills of a handbook, at most."),
    note("handbook.limits.skill_bytes", "Bytes of one of its skills, at most."),
    note("handbook.limits.notes", "Notes by hand of a handbook, at most."),
    note("handbook.limits.note_bytes", "Bytes of one of them, at most."),
    note(
        "handbook.limits.rate_left_percent",
        "Percent of the provider's rate limit that must be left for work on handbooks to begin.",
    ),
];

pub(super) fn keys() -> Vec<Key> {
    let base = MemorySettings::default();
    Part { prefix: "memory", base: &base, notes: NOTES, scope: USERS, check: MemorySettings::check }.keys()
}

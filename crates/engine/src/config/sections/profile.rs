//! The keys of a profile: one for each figure of the specification.

use super::super::key::{Key, Kind, Scope};
use super::super::schema::{Note, Part, fits};
use super::super::tables;
use std::sync::Arc;
use throughline_core::profile::{
    BudgetLimits, CollapseLimits, CompactLimits, MicrocompactLimits, Profile, ServerLimits, SnipLimits,
};

const fn note(key: &'static str, doc: &'static str) -> Note {
    Note::new(key, doc)
}

const NOTES: &[Note] = &[
    note(
        "budget.when",
        "What puts tool results aside: their `size`, or the `window` where the request would not fit otherwise.",
    )
    .kind(Kind::Choice(&["size", "window"])),
    note("budget.result_chars", "By size: a tool result over this many characters is put aside."),
    note("budget.message_chars", "By size: all results of one message may have this many characters together."),
    note("budget.preview_bytes", "Bytes of a result that stay as a preview; by window the least that stays."),
    note(
        "budget.exempt",
        "Tools whose results stay whole while the request can be sent. `Read` stands for all tools that read a file.",
    ),
    note("snip.nudge_tokens", "Growth in tokens without a snip after which the model is reminded once."),
    note(
        "microcompact.cold_minutes",
        "Clear old results when the last answer is older than this: the cache is cold then. `false`: never.",
    )
    .optional(),
    note("microcompact.keep", "The newest results that stay."),
    note("microcompact.tools", "Tools whose results may be cleared."),
    note("microcompact.cached", "Whether a warm cache may be edited in place, where the provider can."),
    note(
        "microcompact.pressure_tokens",
        "With a warm cache, clear over this many tokens if it pays. Unset: only when cold.",
    )
    .kind(Kind::Integer),
    note("collapse.stage_share", "Spans are staged over this share of the threshold."),
    note("collapse.commit_share", "Staged spans are folded over this share of the threshold."),
    note("collapse.target_share", "A pass folds until the context is under this share of the threshold."),
    note("collapse.span_tokens", "A span has at least this many tokens."),
    note("collapse.summary_tokens", "A span's summary has at most this many tokens."),
    note("collapse.keep_tokens", "The newest tokens, which are never folded."),
    note(
        "compact.threshold",
        "When: at the window less the reserved output less tokens, or at a share of the window.",
    )
    .kind(Kind::Threshold),
    note(
        "compact.early_share",
        "Compact earlier where that is cheaper, but not below this share of the threshold. Unset: never.",
    )
    .kind(Kind::Number),
    note("compact.output_tokens", "Tokens reserved for the answer, at most."),
    note("compact.strategies", "How, in the order in which they are tried: `notes`, `summary`, `handoff`."),
    note("compact.failures", "Failures in a row after which no more is tried unasked."),
    note(
        "compact.idle_compactions",
        "Compactions in a row that free less than a tenth, after which no more is tried unasked.",
    ),
    note("compact.keep_tokens", "Notes: the kept messages have at least this many tokens …"),
    note("compact.keep_texts", "… and at least this many of them have text …"),
    note("compact.keep_most", "… unless that would be more than this many tokens."),
    note("compact.section_tokens", "Notes: the most tokens of one section."),
    note("compact.notes_tokens", "Notes: the most tokens of all sections."),
    note("compact.user_tokens", "Handoff: tokens of user messages that stay."),
    note("compact.summary_tokens", "Summary and handoff: the most tokens of the text."),
    note("compact.result_tokens", "The most tokens of the whole result. Unset: as the strategy gives it.")
        .kind(Kind::Integer),
    note("compact.retries", "Retries when the compaction itself is too long."),
    note(
        "compact.retry_share",
        "The share of rounds that each retry drops where the provider does not say how many.",
    ),
    note("compact.files", "Files that come back after a compaction, at most."),
    note("compact.file_tokens", "Tokens of one file that comes back."),
    note("compact.files_tokens", "Tokens of all files that come back."),
    note("compact.skill_tokens", "Tokens of one skill that comes back."),
    note("compact.skills_tokens", "Tokens of all skills that come back."),
    note("compact.details", "Whether the text tells ranked details of everything that was said."),
    note("compact.checked", "Whether a summary is checked against the facts before it replaces history."),
    note("server.trigger_tokens", "Input tokens at which the provider begins to clear by itself."),
    note("server.clear_tokens", "Input tokens that it clears at least."),
    note(
        "guarantee",
        "G: whether every request must contain what the user said and what the model needs. Live requests always keep it; replays \
         of a profile may leave it out.",
    ),
];

/// The stages, in order, and what each does.
const STAGES: [(&str, &str); 6] = [
    ("budget", "P1: long tool results are put aside."),
    ("snip", "P2: the model may drop turns."),
    ("microcompact", "P3: old tool results are cleared."),
    ("collapse", "P4: early spans are folded. While on, the view is not compacted unasked."),
    ("compact", "P5: the view is replaced."),
    ("server", "W4: the provider is asked to clear by itself, where it can."),
];

/// A profile in which every stage runs, with its built-in limits.
pub(in crate::config) fn full() -> Profile {
    Profile {
        name: "all".to_owned(),
        budget: Some(BudgetLimits::default()),
        snip: Some(SnipLimits::default()),
        microcompact: Some(MicrocompactLimits::default()),
        collapse: Some(CollapseLimits::default()),
        compact: Some(CompactLimits::default()),
        server: Some(ServerLimits::default()),
        guarantee: true,
    }
}

pub(super) fn keys() -> Vec<Key> {
    let part = Part {
        prefix: "profiles.*",
        base: &full(),
        notes: NOTES,
        scope: Scope::Anyone,
        check: fits::<Profile>,
    };
    let mut figures = part.keys();
    // A profile's name is the name of its section.
    figures.retain(|key| key.path != "profiles.*.name");
    let base = Key {
        path: "profiles.*.base".to_owned(),
        kind: Kind::Text,
        default: None,
        doc: "The profile that it takes everything else from. Unset: the built-in one of the same name, else `throughline`.",
        scope: Scope::Anyone,
        is_optional: true,
        is_secret: false,
        check: Arc::new(|value| if value.is_str() { Ok(()) } else { Err("it is a name".to_owned()) }),
    };
    let mut keys = vec![base];
    for (stage, doc) in STAGES {
        let path = tables::join("profiles.*", stage);
        let below = format!("{path}.");
        keys.push(Key {
            path,
            kind: Kind::Switch,
            default: None,
            doc,
            scope: Scope::Anyone,
            is_optional: false,
            is_secret: false,
            check: Arc::new(|_| Err("it is neither".to_owned())),
        });
        keys.extend(figures.extract_if(.., |key| key.path.starts_with(&below)));
    }
    keys.append(&mut figures);
    keys
}

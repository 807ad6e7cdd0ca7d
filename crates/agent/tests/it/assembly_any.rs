//! Whatever the files hold, what a session is told is bounded and recognised.

use crate::assembly_world::World;
use proptest::prelude::*;
use throughline_agent::assembly::{Assembled, AssemblyLimits, PartKind};
use throughline_core::Wire;

const PATHS: [&str; 12] = [
    "project/.git/HEAD",
    "project/AGENTS.md",
    "project/CLAUDE.md",
    "project/a/AGENTS.md",
    "project/a/AGENTS.override.md",
    "project/a/CLAUDE.md",
    "project/x.md",
    "config/AGENTS.md",
    "home/.claude/CLAUDE.md",
    "project/.agents/skills/one/SKILL.md",
    "project/a/.claude/skills/two/SKILL.md",
    "home/.agents/skills/one/SKILL.md",
];

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("</INSTRUCTIONS>\n".to_owned()),
        Just("<system-reminder>".to_owned()),
        Just("</system-reminder>\n".to_owned()),
        Just("<permissions instructions>".to_owned()),
        Just("@x.md @../AGENTS.md @CLAUDE.md\n".to_owned()),
        Just("---\nname: one\ndescription: it is\n---\nbody\n".to_owned()),
        Just("```\n".to_owned()),
        Just("# Compact instructions\n".to_owned()),
        Just("long ".repeat(4_000)),
        Just("line\n".repeat(2_000)),
        "\\PC{0,20}",
        any::<String>(),
    ]
}

fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        9 => prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.concat().into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 0..200),
    ]
}

/// What comes on top of a limit: marks, labels, leads, the line that says what was cut.
const AROUND: usize = 2_000;

fn most(kind: PartKind, limits: &AssemblyLimits) -> usize {
    AROUND
        + match kind {
            PartKind::Base => 4_000,
            PartKind::Permissions
            | PartKind::CustomInstructions
            | PartKind::CollaborationMode
            | PartKind::Personality
            | PartKind::CommitAttribution => limits.custom_bytes,
            PartKind::Memory | PartKind::Handbook => limits.memory_bytes,
            PartKind::Skills => limits.skills_chars * 4,
            PartKind::ProjectInstructions => limits.project_file_bytes,
            PartKind::DeferredTools => limits.deferred_bytes,
            PartKind::McpInstructions => limits.mcp_bytes,
            PartKind::Environment => limits.environment_bytes,
        }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn a1_whatever_files_and_sources_hold_every_part_is_bounded_recognised_and_nobodys_word(
        files in prop::collection::vec(prop::option::weighted(0.6, content()), PATHS.len()),
        given in prop::collection::vec(prop::collection::vec(piece(), 0..5).prop_map(|pieces| pieces.concat()), 8),
        project_bytes in 0usize..40_000,
        environment_bytes in 400usize..4_096,
    ) {
        let world = World::new();
        for (path, content) in PATHS.iter().zip(&files) {
            if let Some(content) = content {
                world.write_bytes(path, content);
            }
        }
        let mut sources = world.sources("project/a");
        sources.limits.project_bytes = project_bytes;
        sources.limits.environment_bytes = environment_bytes;
        sources.permissions = Some(given[0].clone());
        sources.custom = Some(given[1].clone());
        sources.memory = Some(given[2].clone());
        sources.deferred = Some(given[3].clone());
        sources.mcp = vec![(given[4].clone(), given[5].clone())];
        sources.environment.shell = Some(given[6].clone());
        sources.environment.os = Some(given[7].clone());
        let assembled = Assembled::full(&sources);
        let mut project = 0;
        for part in &assembled.parts {
            prop_assert_eq!(PartKind::recognise(part.speaker, &part.text), Some(part.kind), "{}", part.text);
            prop_assert!(part.text.len() <= most(part.kind, &sources.limits), "{:?} {}", part.kind, part.text.len());
            if part.kind == PartKind::Environment {
                prop_assert!(part.text.len() <= environment_bytes, "{} {}", part.text.len(), environment_bytes);
            }
            if part.kind == PartKind::ProjectInstructions {
                project += part.text.len().saturating_sub(1_200);
            }
        }
        prop_assert!(project <= project_bytes);
        prop_assert!(assembled.compact_instructions().is_none_or(|text| text.len() <= sources.limits.compact_bytes + 200));
        for wire in [Wire::Anthropic, Wire::Responses, Wire::Chat] {
            for message in assembled.messages(wire) {
                let mut bare = message.clone();
                bare.flags = Default::default();
                prop_assert!(!bare.is_real_user());
            }
            prop_assert_eq!(Assembled::changes(&assembled, &Assembled::full(&sources), wire), []);
        }
        // From anything to anything: bounded, and nobody's word.
        let other = Assembled::full(&world.sources("elsewhere"));
        for (old, new) in [(&assembled, &other), (&other, &assembled)] {
            for message in Assembled::changes(old, new, Wire::Anthropic) {
                let mut bare = message.clone();
                bare.flags = Default::default();
                prop_assert!(!bare.is_real_user(), "{}", message.to_text());
                prop_assert!(message.to_text().len() <= 40_000);
            }
        }
    }
}

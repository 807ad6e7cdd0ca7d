//! The files of a handbook, by their paths in its folder.

/// The book.
pub const MEMORY: &str = "MEMORY.md";
/// What its statements rest on.
pub const EVIDENCE: &str = "EVIDENCE.md";
/// What a session is told at its start.
pub const SUMMARY: &str = "memory_summary.md";
/// What phase 1 found.
pub const RAW: &str = "raw_memories.md";
/// What changed since the last edition; there while a consolidation runs.
pub const DIFF: &str = "phase2_workspace_diff.md";
/// Sessions, a file each.
pub const SUMMARIES: &str = "rollout_summaries";
/// Procedures that proved stable, a folder each.
pub const SKILLS: &str = "skills";
/// Notes by hand.
pub const NOTES: &str = "extensions/ad_hoc/notes";
/// What people want done with their notes.
pub const INSTRUCTIONS: &str = "extensions/ad_hoc/instructions.md";
/// Our own files.
pub(super) const OURS: &str = ".throughline";

/// What a path of the folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// What a model may write: the book, the summary, skills.
    Book,
    /// What code writes from the material: the evidence, the findings, the sessions.
    Material,
    /// What people write.
    Hand,
}

/// What a path is; `None` if it is no file of a handbook.
pub(super) fn part(path: &str) -> Option<Part> {
    match path {
        MEMORY | SUMMARY => return Some(Part::Book),
        EVIDENCE | RAW => return Some(Part::Material),
        INSTRUCTIONS => return Some(Part::Hand),
        _ => {}
    }
    let (folder, name) = path.rsplit_once('/')?;
    if folder == SUMMARIES && is_file(name) {
        return Some(Part::Material);
    }
    if folder == NOTES && is_file(name) {
        return Some(Part::Hand);
    }
    skill_of(path).map(|_| Part::Book)
}

/// The skill whose file a path is.
pub(super) fn skill_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix(SKILLS)?.strip_prefix('/')?.strip_suffix("/SKILL.md")?;
    is_skill(name).then_some(name)
}

/// Whether a name is one that the agentskills rules allow.
pub(super) fn is_skill(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=64).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// A harmless name of a Markdown file.
fn is_file(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
    name.len() <= 160
        && name.ends_with(".md")
        && !name.starts_with('.')
        && name.len() > 3
        && name.bytes().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_files_of_a_handbook_are() {
        for (path, wanted) in [
            (MEMORY, Part::Book),
            (SUMMARY, Part::Book),
            ("skills/release-it/SKILL.md", Part::Book),
            (EVIDENCE, Part::Material),
            (RAW, Part::Material),
            ("rollout_summaries/2026-01-02T03-04-05-ab12-x.md", Part::Material),
            ("extensions/ad_hoc/notes/2026-01-02T03-04-05-x.md", Part::Hand),
            (INSTRUCTIONS, Part::Hand),
        ] {
            assert_eq!(part(path), Some(wanted), "{path}");
        }
        for odd in [
            "",
            "/MEMORY.md",
            "../MEMORY.md",
            "./MEMORY.md",
            "memory.md",
            DIFF,
            ".throughline/state.json",
            "skills/SKILL.md",
            "skills/../SKILL.md",
            "skills/a/b/SKILL.md",
            "skills/A/SKILL.md",
            "skills/a--b/SKILL.md",
            "skills/a/run.sh",
            "rollout_summaries/../x.md",
            "rollout_summaries/.md",
            "rollout_summaries/a/b.md",
            "rollout_summaries/x.sh",
            "extensions/ad_hoc/notes/.hidden.md",
            "extensions/other/instructions.md",
        ] {
            assert_eq!(part(odd), None, "{odd}");
        }
    }
}

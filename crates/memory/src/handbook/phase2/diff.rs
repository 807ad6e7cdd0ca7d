//! What changed since the last edition, for who consolidates.

use super::folder::Files;
use similar::TextDiff;
use std::collections::BTreeSet;
use std::time::Duration;

/// How long the smallest diff of two files is looked for; then any will do.
const PATIENCE: Duration = Duration::from_secs(2);
const CONTEXT: usize = 3;

/// How a file changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Added,
    Modified,
    Deleted,
}

impl Status {
    fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
        }
    }
}

/// The files that differ, in the order of their paths.
pub(super) fn statuses<'a>(before: &'a Files, after: &'a Files) -> Vec<(Status, &'a str)> {
    let paths: BTreeSet<&str> = before.keys().chain(after.keys()).map(String::as_str).collect();
    let status = |path: &&'a str| match (before.get(*path), after.get(*path)) {
        (Some(old), Some(new)) => (old != new).then_some(Status::Modified),
        (Some(_), None) => Some(Status::Deleted),
        (None, Some(_)) => Some(Status::Added),
        (None, None) => None,
    };
    paths.into_iter().filter_map(|path| status(&path).map(|status| (status, path))).collect()
}

/// As Markdown: which files, then how, as far as `most` bytes go. It is cut at a line end, and says so.
pub(super) fn markdown(before: &Files, after: &Files, most: usize) -> String {
    let statuses = statuses(before, after);
    let mut head = "# What changed since the last edition\n\n".to_owned();
    for (status, path) in &statuses {
        head.push_str(&format!("- {} {path}\n", status.letter()));
    }
    let mut diff = String::new();
    let mut left_out = 0;
    for (_, path) in &statuses {
        // What is beyond the limit is not worth comparing.
        if diff.len() > most {
            left_out += 1;
            continue;
        }
        let text = |files: &Files| {
            files.get(*path).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).unwrap_or_default()
        };
        let (old, new) = (text(before), text(after));
        let name = |files: &Files, side: char| {
            if files.contains_key(*path) { format!("{side}/{path}") } else { "/dev/null".to_owned() }
        };
        let compared = TextDiff::configure().timeout(PATIENCE).diff_lines(&old, &new);
        let mut unified = compared.unified_diff();
        unified.context_radius(CONTEXT).header(&name(before, 'a'), &name(after, 'b'));
        diff.push_str(&unified.to_string());
        if !diff.ends_with('\n') {
            diff.push('\n');
        }
    }
    framed(&head, &diff, (most, left_out))
}

fn framed(head: &str, diff: &str, (most, left_out): (usize, usize)) -> String {
    // Longer than any fence within.
    let fence = "`".repeat(longest_fence(diff).max(2) + 1);
    let note = |bytes: usize| {
        let files = if left_out > 0 { format!(" and {left_out} more files") } else { String::new() };
        format!("\nCut here: {bytes} more bytes{files} changed. Read the files themselves.\n")
    };
    let frame = head.len() + 2 * fence.len() + "\ndiff\n\n".len();
    let room = most.saturating_sub(frame);
    if diff.len() <= room && left_out == 0 {
        return format!("{head}\n{fence}diff\n{diff}{fence}\n");
    }
    let room = room.saturating_sub(note(diff.len()).len());
    let end = diff.floor_char_boundary(room.min(diff.len()));
    let end = diff[..end].rfind('\n').map_or(0, |at| at + 1);
    let whole = format!("{head}\n{fence}diff\n{}{fence}\n{}", &diff[..end], note(diff.len() - end));
    // A list of files alone may be too long.
    if whole.len() <= most { whole } else { cut(&whole, most) }
}

fn cut(text: &str, most: usize) -> String {
    const NOTE: &str = "\nCut here. Read the files themselves.\n";
    let end = text.floor_char_boundary(most.saturating_sub(NOTE.len()));
    let end = text[..end].rfind('\n').map_or(0, |at| at + 1);
    format!("{}{NOTE}", &text[..end])
}

fn longest_fence(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for b in text.bytes() {
        run = if b == b'`' { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn files(list: &[(&str, &str)]) -> Files {
        list.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec())).collect()
    }

    #[test]
    fn says_which_files_and_how() {
        let before = files(&[("a.md", "one\n"), ("b.md", "same\n"), ("c.md", "gone\n")]);
        let after = files(&[("a.md", "two\n"), ("b.md", "same\n"), ("d.md", "```\nnew\n")]);
        let text = markdown(&before, &after, 10_000);
        assert!(text.contains("- M a.md\n- D c.md\n- A d.md\n"), "{text}");
        assert!(!text.contains("b.md"));
        assert!(text.contains("-one\n+two\n") && text.contains("--- c") == text.contains("+++ c"), "{text}");
        assert!(text.contains("````diff\n") && text.ends_with("\n````\n"), "{text}");
        assert!(!text.contains("Cut here"));
    }

    proptest! {
        #[test]
        fn is_never_longer_than_allowed_and_says_when_it_is_cut(
            old in "([a-z`é]{0,9}\n){0,40}", new in "([a-z`é]{0,9}\n){0,40}", most in 200..2_000_usize,
        ) {
            let (before, after) = (files(&[("a.md", &old)]), files(&[("a.md", &new), ("b.md", &old)]));
            let text = markdown(&before, &after, most);
            prop_assert!(text.len() <= most, "{} > {most}", text.len());
            let whole = markdown(&before, &after, usize::MAX / 2);
            prop_assert_eq!(text.contains("Cut here"), text != whole);
        }
    }
}

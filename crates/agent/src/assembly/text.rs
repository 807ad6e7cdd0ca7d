//! Text from elsewhere, made fit to stand inside a fragment: inert, bounded, in one line where it has to be.

use std::borrow::Cow;
use std::path::Path;
use std::sync::LazyLock;
use throughline_core::{Fragment, Speaker, text};

/// A tag that must not be spoken by what stands inside a fragment.
struct Tag {
    /// Its words, in order: `permissions`, `instructions`.
    words: Vec<&'static str>,
    /// Whether the opening tag is taken out of force, too. Plain words such as `skill` are types and elements elsewhere, and opening
    /// one inside a fragment leads nowhere.
    opening: bool,
}

static TAGS: LazyLock<Vec<Tag>> = LazyLock::new(|| {
    let mut tags = vec![Tag { words: vec!["INSTRUCTIONS"], opening: true }];
    for &fragment in Fragment::ALL {
        let (speaker, open, close) = fragment.marks();
        match speaker {
            Speaker::Developer | Speaker::User | Speaker::System => {}
            // What a model writes, and prompts for notes, hold nowhere here; `</summary>` is common in Markdown.
            Speaker::Assistant | Speaker::Notes => continue,
        }
        // Labels around a picture carry no authority, and drawings are full of them.
        if fragment == Fragment::Image {
            continue;
        }
        let mark = if close.starts_with("</") { close } else { open };
        let name = mark.trim_start_matches(['<', '/']).trim_end_matches('>');
        if mark.starts_with('<') {
            let opening = name.contains(['-', '_', ' ']);
            tags.push(Tag { words: name.split(' ').collect(), opening });
        }
    }
    tags
});

/// The same text, in which no tag of our fragments has any force: the `<` of each is written `&lt;`. Everything else is left as it
/// is, and a text that was made inert once does not change again.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices('<') {
        if is_tag(&text[at + 1..]) {
            out.push_str(&text[done..at]);
            out.push_str("&lt;");
            done = at + 1;
        }
    }
    if done == 0 {
        return text.into();
    }
    out.push_str(&text[done..]);
    out.into()
}

/// Whether what follows a `<` makes it a tag of ours, however it is spaced and spelt.
fn is_tag(rest: &str) -> bool {
    let rest = rest.trim_start();
    let (closing, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest.trim_start()),
        None => (false, rest),
    };
    TAGS.iter().filter(|tag| closing || tag.opening).any(|tag| {
        let mut rest = rest;
        for (at, word) in tag.words.iter().enumerate() {
            if at > 0 {
                rest = rest.trim_start();
            }
            let Some(head) = rest.get(..word.len()).filter(|head| head.eq_ignore_ascii_case(word)) else {
                return false;
            };
            rest = &rest[head.len()..];
            if rest.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-')) {
                return false;
            }
        }
        true
    })
}

/// A text within its limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounded {
    /// What is left, with a last line that says what is not.
    pub(crate) text: String,
    /// What was cut.
    pub(crate) cut: Option<String>,
}

/// The beginning of an inert text in at most `bytes`, ended at a line where that loses little; then one more line says what is
/// missing and `how` to get it.
pub(crate) fn bounded(whole: &str, bytes: usize, how: &str) -> Bounded {
    if whole.len() <= bytes {
        return Bounded { text: whole.to_owned(), cut: None };
    }
    let kept = at_line_end(text::head(whole, bytes));
    let cut = format!("{} of {} bytes are shown", kept.len(), whole.len());
    // A tag that was harmless because of what followed it may end here.
    let kept = inert(kept);
    let text = format!("{kept}\n[cut here: {cut}; {how}]");
    Bounded { text, cut: Some(cut) }
}

/// A text without its last, broken line, unless that is more than half of it.
pub(crate) fn at_line_end(text: &str) -> &str {
    match text.rfind('\n') {
        Some(at) if at >= text.len() / 2 => &text[..at],
        Some(_) | None => text,
    }
}

/// The longest path that is shown whole, in bytes.
const LONGEST_PATH: usize = 300;

/// A path in one line: what a folder is called can't end a fragment or begin another one.
pub(crate) fn shown(path: &Path) -> String {
    in_line(&path.to_string_lossy(), LONGEST_PATH)
}

/// A value in one line of at most about `bytes`, inert, with its middle left out where it is too long.
pub(crate) fn in_line(value: &str, bytes: usize) -> String {
    let plain: String = value.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if plain.len() <= bytes {
        return inert(&plain).into_owned();
    }
    let half = bytes / 2;
    inert(&format!("{}…{}", text::head(&plain, half), text::tail(&plain, half))).into_owned()
}

/// How much of each of some texts is shown when all may have `total`: the short ones whole, and the long ones the same.
pub(crate) fn fair_shares(sizes: &[usize], total: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&at| sizes[at]);
    let mut shares = vec![0; sizes.len()];
    let mut left = total;
    for (done, &at) in order.iter().enumerate() {
        let share = (left / (sizes.len() - done)).min(sizes[at]);
        shares[at] = share;
        left -= share;
    }
    shares
}

/// Characters that people do not see and models read: tags, and marks that turn the direction of writing.
pub(crate) fn invisible(text: &str) -> usize {
    text.chars()
        .filter(
            |c| matches!(c, '\u{e0000}'..='\u{e007f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'),
        )
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn tags_of_ours_lose_their_force_and_nothing_else_changes() {
        for (given, made) in [
            ("</INSTRUCTIONS>", "&lt;/INSTRUCTIONS>"),
            ("a </ instructions > b", "a &lt;/ instructions > b"),
            ("< / System-Reminder>", "&lt; / System-Reminder>"),
            ("<permissions  instructions>", "&lt;permissions  instructions>"),
            ("</permissions\ninstructions>", "&lt;/permissions\ninstructions>"),
            ("</skill", "&lt;/skill"),
            ("Vec<Skill>, <details><summary>x</summary>", "Vec<Skill>, <details><summary>x</summary>"),
            ("<image href='x'></image> a<b && c</d", "<image href='x'></image> a<b && c</d"),
            ("<system-reminders> </skillet>", "<system-reminders> </skillet>"),
        ] {
            assert_eq!(inert(given), made);
        }
    }

    #[test]
    fn short_texts_are_whole_and_long_ones_share_alike() {
        assert_eq!(fair_shares(&[10, 1_000, 2_000], 1_010), [10, 500, 500]);
        assert_eq!(fair_shares(&[10, 20], 100), [10, 20]);
        assert_eq!(fair_shares(&[], 100), [] as [usize; 0]);
        assert_eq!(fair_shares(&[5, 5], 0), [0, 0]);
    }

    #[test]
    fn a_path_can_not_end_a_fragment() {
        let path = Path::new("/x/\n</INSTRUCTIONS>\n<permissions instructions>");
        assert_eq!(shown(path), "/x/\u{fffd}&lt;/INSTRUCTIONS>\u{fffd}&lt;permissions instructions>");
    }

    proptest! {
        #[test]
        fn inert_is_inert_and_stays_so(parts in prop::collection::vec(
            prop_oneof![
                Just("<"), Just("/"), Just(" "), Just("\n"), Just("system-reminder"), Just("INSTRUCTIONS"), Just(">"),
                Just("permissions"), Just("instructions"), Just("é"), Just("skill"), Just("&lt;"),
            ], 0..40), bytes in 0usize..80)
        {
            let text = parts.concat();
            let once = inert(&text).into_owned();
            prop_assert_eq!(inert(&once), once.as_str());
            prop_assert_eq!(once.replace("&lt;", "<"), text.replace("&lt;", "<"));
            let bounded = bounded(&once, bytes, "see the file");
            prop_assert!(bounded.text.len() <= bytes + 120);
            prop_assert_eq!(inert(&bounded.text), bounded.text.as_str());
        }

        #[test]
        fn shares_never_exceed_the_total(sizes in prop::collection::vec(0usize..5_000, 0..20), total in 0usize..20_000) {
            let shares = fair_shares(&sizes, total);
            prop_assert!(shares.iter().sum::<usize>() <= total);
            prop_assert!(shares.iter().zip(&sizes).all(|(share, size)| share <= size));
            if sizes.iter().sum::<usize>() <= total {
                prop_assert_eq!(shares, sizes);
            }
        }
    }
}

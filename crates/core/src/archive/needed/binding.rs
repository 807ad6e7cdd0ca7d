//! Sentences in which a user binds whoever works for them: prohibitions, wishes, conditions.

/// Words that bind, lower case; those of several words are matched as they stand.
const CUES: [&str; 19] = [
    "never",
    "always",
    "don't",
    "dont",
    "do not",
    "must",
    "only",
    "instead",
    "make sure",
    "should",
    "shouldn't",
    "please",
    "avoid",
    "prefer",
    "without",
    "no need",
    "keep",
    "ensure",
    "want",
];
const MORE_CUES: [&str; 1] = ["need to"];
/// Longer messages are pasted material rather than instructions.
const LONGEST_MESSAGE: usize = 4_000;

/// The binding sentences of what a user said, as they stand.
pub(super) fn sentences(words: &str) -> Vec<&str> {
    if words.len() >= LONGEST_MESSAGE {
        return Vec::new();
    }
    words.lines().flat_map(split).map(str::trim).filter(|s| is_binding(s)).collect()
}

fn is_binding(sentence: &str) -> bool {
    let length = sentence.chars().count();
    if !(12..=300).contains(&length) {
        return false;
    }
    let lower = sentence.to_ascii_lowercase();
    CUES.iter().chain(&MORE_CUES).any(|cue| {
        lower.match_indices(cue).any(|(at, _)| {
            let before = lower[..at].chars().next_back();
            let after = lower[at + cue.len()..].chars().next();
            let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
            !word(before) && !word(after)
        })
    })
}

/// Splits a line behind full stops, question and exclamation marks that white space follows.
fn split(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let bytes = rest.as_bytes();
        let end = (1..bytes.len())
            .find(|&i| bytes[i].is_ascii_whitespace() && matches!(bytes[i - 1], b'.' | b'!' | b'?'))
            .unwrap_or(rest.len());
        let (sentence, tail) = rest.split_at(end);
        rest = tail.trim_start();
        Some(sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binding_sentences_are_those_with_a_word_that_binds() {
        let words = "Look at the parser. Never touch the lockfile! It is fine.\nuse tabs instead of spaces";
        assert_eq!(sentences(words), ["Never touch the lockfile!", "use tabs instead of spaces"]);
    }

    #[test]
    fn a_cue_inside_another_word_binds_nobody() {
        assert!(sentences("the commonly mustered crowd wanted it").is_empty());
    }

    #[test]
    fn pasted_material_binds_nobody() {
        assert!(sentences(&"never do this again. ".repeat(400)).is_empty());
    }
}

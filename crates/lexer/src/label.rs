/// The name before the first colon, where a text begins with one: `Ann Lee: hello` gives `Ann Lee`.
///
/// Logs of conversations, and messages that agents pass on, carry their speaker this way.
pub(super) fn at_start(text: &str) -> Option<&str> {
    const LONGEST: usize = 40;
    let text = text.trim_start();
    let head = text.as_bytes().iter().take(LONGEST + 1).position(|&b| b == b':' || b == b'\n')?;
    let name = text.get(..head)?;
    let rest = text.get(head..)?;
    if !(rest.starts_with(": ") || rest.starts_with(":\n")) {
        return None;
    }
    let words = name.split(' ');
    let is_name = |word: &str| {
        word.chars().next().is_some_and(char::is_uppercase)
            && word.chars().all(|c| c.is_alphabetic() || c == '-' || c == '.')
    };
    (words.clone().count() <= 3 && words.clone().all(is_name)).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::at_start;

    #[test]
    fn a_label_is_a_name_and_a_colon() {
        assert_eq!(at_start("Ann: hello"), Some("Ann"));
        assert_eq!(at_start("  Ann Lee: hello"), Some("Ann Lee"));
        for text in
            ["hello: x", "See https://x", "A long sentence that happens to have: a colon", "Ann:x", ":", ""]
        {
            assert_eq!(at_start(text), None, "{text}");
        }
    }
}

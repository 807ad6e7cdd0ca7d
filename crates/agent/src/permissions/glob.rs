//! Whether two patterns of file names can mean the same file.

/// Whether a pattern of the shell can match a name that another pattern matches. Sets (`[…]`) are taken for any character, so the
/// answer is "yes" more often than it need be. A pattern that does not begin with a dot matches no name that does.
pub(super) fn can_meet(shell: &str, guarded: &str) -> bool {
    if guarded.starts_with('.') && !shell.starts_with('.') {
        return false;
    }
    meets(&tokens(shell), &tokens(guarded))
}

/// Whether a name is one that a pattern matches.
pub(super) fn is_one_of(name: &str, guarded: &str) -> bool {
    let name: Vec<Token> = name.chars().map(|c| Token::Char(c.to_ascii_lowercase())).collect();
    meets(&name, &tokens(guarded))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Token {
    Char(char),
    One,
    Any,
}

fn tokens(pattern: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        match c {
            '*' => tokens.push(Token::Any),
            '?' => tokens.push(Token::One),
            '[' => {
                let mut after = rest.clone();
                // A set that is not closed is a bracket.
                if after.any(|c| c == ']') {
                    rest = after;
                    tokens.push(Token::One);
                } else {
                    tokens.push(Token::Char(c));
                }
            }
            c => tokens.push(Token::Char(c.to_ascii_lowercase())),
        }
    }
    tokens
}

/// By a table of which rests can meet, from the ends.
fn meets(one: &[Token], other: &[Token]) -> bool {
    let mut below = vec![false; other.len() + 1];
    for at in (0..=one.len()).rev() {
        let mut row = vec![false; other.len() + 1];
        for to in (0..=other.len()).rev() {
            let (a, b) = (one.get(at), other.get(to));
            let right = row.get(to + 1).copied().unwrap_or(false);
            let down = below.get(to).copied().unwrap_or(false) && at < one.len();
            let both = below.get(to + 1).copied().unwrap_or(false) && at < one.len();
            let can = match (a, b) {
                (None, None) => true,
                (Some(Token::Any), _) if down => true,
                (_, Some(Token::Any)) if right => true,
                (Some(Token::Any), Some(_)) => right,
                (Some(_), Some(Token::Any)) => down,
                (Some(Token::Char(a)), Some(Token::Char(b))) => a == b && both,
                (Some(_), Some(_)) => both,
                (Some(_), None) | (None, Some(_)) => false,
            };
            if let Some(cell) = row.get_mut(to) {
                *cell = can;
            }
        }
        below = row;
    }
    below.first().copied().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::{can_meet, is_one_of};

    #[test]
    fn a_name_is_no_pattern() {
        assert!(is_one_of("Server.PEM", "*.pem") && is_one_of(".env.local", ".env*"));
        assert!(!is_one_of("a*", "*.pem") && !is_one_of("*", "id_rsa") && !is_one_of("x[y]", "x?"));
    }

    #[test]
    fn patterns_meet_where_a_name_fits_both() {
        for (shell, guarded, is_met) in [
            ("*.pem", "*.pem", true),
            ("s*", "*.pem", true),
            ("*.rs", "*.pem", false),
            ("*", ".env*", false),
            (".e*", ".env*", true),
            (".[e]nv", ".env*", true),
            ("id_?sa", "id_rsa", true),
            ("id_*x", "id_rsa", false),
            ("ID_RSA", "id_rsa", true),
            ("a", "b", false),
            ("", "", true),
            ("**", "a", true),
            ("[", "[", true),
        ] {
            assert_eq!(can_meet(shell, guarded), is_met, "{shell} and {guarded}");
        }
    }
}

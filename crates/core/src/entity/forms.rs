//! What names look like. Marks are those of the body: what they rule out is not looked for.

use super::marks::Marks;

pub(super) fn is_uuid(body: &[u8]) -> bool {
    body.len() == 36
        && body.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

pub(super) fn is_ticket(body: &[u8], marks: Marks) -> bool {
    if marks != Marks::UPPER | Marks::HYPHEN | Marks::DIGIT {
        return false;
    }
    let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &body[letters..];
    (2..=6).contains(&letters)
        && (2..=6).contains(&rest.len())
        && rest[0] == b'-'
        && rest[1..].iter().all(u8::is_ascii_digit)
}

/// Whether a name without slashes is a file's: what follows the last dot is an extension in common use.
pub(super) fn is_file_name(body: &[u8], marks: Marks) -> bool {
    if !marks.has(Marks::DOT) || marks.has(Marks::COLON) {
        return false;
    }
    let end = &body[body.len().saturating_sub(LONGEST_EXTENSION + 1)..];
    let Some(dot) = end.iter().rposition(|&b| b == b'.') else { return false };
    end.len() - dot < body.len() && is_extension(&end[dot + 1..])
}

const LONGEST_EXTENSION: usize = 6;

#[rustfmt::skip]
fn is_extension(end: &[u8]) -> bool {
    matches!(
        end,
        b"rs" | b"go" | b"py" | b"ts" | b"tsx" | b"js" | b"jsx" | b"mjs" | b"cjs" | b"json" | b"jsonl" | b"md" | b"mdx"
        | b"toml" | b"yaml" | b"yml" | b"sh" | b"bash" | b"sql" | b"html" | b"css" | b"scss" | b"c" | b"h" | b"cc"
        | b"cpp" | b"hpp" | b"java" | b"kt" | b"swift" | b"rb" | b"php" | b"lua" | b"lock" | b"txt" | b"cfg" | b"ini"
        | b"env" | b"proto" | b"vue" | b"svelte" | b"xml" | b"csv" | b"log" | b"mod" | b"sum" | b"nix" | b"dart"
        | b"cs" | b"zig" | b"ex" | b"exs" | b"tf" | b"ipynb" | b"pdf" | b"png" | b"svg" | b"gz" | b"zip" | b"db"
        | b"sqlite" | b"snap" | b"tmpl" | b"omp"
    )
}

pub(super) fn is_number(body: &[u8], marks: Marks) -> bool {
    let digits = match body {
        [b'v', rest @ ..] if Marks::over(rest).only(Marks::DIGIT | Marks::DOT) => rest,
        _ if marks.only(Marks::DIGIT | Marks::DOT) => body,
        _ => return false,
    };
    if marks.has(Marks::DOT) {
        return !has_double_dot(digits) && !matches!(digits, b"0.0" | b"1.0" | b"2.0");
    }
    // Round hundreds are limits and status codes that stand everywhere.
    digits.len() == body.len() && !matches!(digits, b"100" | b"200" | b"1000")
}

pub(super) fn is_hash(body: &[u8], marks: Marks) -> bool {
    marks == Marks::LOWER | Marks::DIGIT && (7..=40).contains(&body.len()) && body.iter().all(|b| *b <= b'f')
}

pub(super) fn is_error(body: &[u8], marks: Marks) -> bool {
    if !body[0].is_ascii_uppercase() {
        return false;
    }
    if marks == Marks::UPPER {
        return body[0] == b'E' && body.len() >= 5;
    }
    if marks == Marks::UPPER | Marks::DIGIT {
        let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
        let rest = &body[letters..];
        return rest.iter().all(u8::is_ascii_digit)
            && ((letters == 1 && body[0] == b'E' && rest.len() == 4)
                || ((2..=6).contains(&letters) && (3..=5).contains(&rest.len())));
    }
    let ends: [&[u8]; 4] = [b"Error", b"Exception", b"Panic", b"Failure"];
    marks.only(Marks::LETTER) && ends.iter().any(|end| body.len() > end.len() && body.ends_with(end))
}

pub(super) fn is_symbol(body: &[u8], marks: Marks) -> bool {
    if marks.has(Marks::DOT | Marks::COLON) {
        return marks.only(Marks::WORD | Marks::DOT | Marks::COLON) && is_joined(body);
    }
    marks.only(Marks::WORD)
        && marks.has(Marks::LETTER)
        && marks.has(Marks::UPPER | Marks::UNDERSCORE)
        && body.windows(3).any(|three| is_inner_underscore(three) || is_hump(three))
}

/// Words between dots and colons: none begins with a digit, and one is longer than a letter (`e.g` and `i.e` are
/// prose).
fn is_joined(body: &[u8]) -> bool {
    let is_joint = |byte: u8| matches!(byte, b'.' | b':');
    let mut long = false;
    let mut before = b':';
    for &byte in body {
        if is_joint(before) {
            if byte.is_ascii_digit() || (byte == b'.' && before == b'.') {
                return false;
            }
        } else {
            long |= !is_joint(byte);
        }
        before = byte;
    }
    long
}

/// An underscore between letters or digits.
fn is_inner_underscore(three: &[u8]) -> bool {
    three[1] == b'_' && three[0] != b'_' && three[2] != b'_'
}

/// A lower-case letter before an upper-case one, and more after it.
fn is_hump(three: &[u8]) -> bool {
    three[1].is_ascii_uppercase() && !three[0].is_ascii_uppercase() && three[0] != b'_' && three[2] != b'_'
}

fn has_double_dot(body: &[u8]) -> bool {
    body.windows(2).any(|two| two == b"..")
}

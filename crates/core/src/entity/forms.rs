//! What names look like.

pub(super) fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

pub(super) fn is_uuid(body: &[u8]) -> bool {
    body.len() == 36
        && body.iter().enumerate().all(|(i, b)| match i {
            8 | 13 | 18 | 23 => *b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

pub(super) fn is_ticket(body: &[u8]) -> bool {
    let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &body[letters..];
    (2..=6).contains(&letters)
        && (2..=6).contains(&rest.len())
        && rest[0] == b'-'
        && rest[1..].iter().all(u8::is_ascii_digit)
}

/// Whether a name without slashes is a file's: what follows the last dot is an extension in common use.
pub(super) fn is_file_name(body: &[u8]) -> bool {
    let Some(dot) = body.iter().rposition(|&b| b == b'.') else { return false };
    dot > 0
        && body.len() - dot <= 7
        && !body.contains(&b':')
        && EXTENSIONS.iter().any(|e| e.as_bytes() == &body[dot + 1..])
}

const EXTENSIONS: [&str; 64] = [
    "rs", "go", "py", "ts", "tsx", "js", "jsx", "mjs", "cjs", "json", "jsonl", "md", "mdx", "toml", "yaml",
    "yml", "sh", "bash", "sql", "html", "css", "scss", "c", "h", "cc", "cpp", "hpp", "java", "kt", "swift",
    "rb", "php", "lua", "lock", "txt", "cfg", "ini", "env", "proto", "vue", "svelte", "xml", "csv", "log",
    "mod", "sum", "nix", "dart", "cs", "zig", "ex", "exs", "tf", "ipynb", "pdf", "png", "svg", "gz", "zip",
    "db", "sqlite", "snap", "tmpl", "omp",
];

pub(super) fn is_number(body: &[u8]) -> bool {
    let digits = body.strip_prefix(b"v").unwrap_or(body);
    if !digits.iter().all(|b| b.is_ascii_digit() || *b == b'.') || digits.is_empty() {
        return false;
    }
    if digits.contains(&b'.') {
        return !digits.windows(2).any(|two| two == b"..")
            && digits != b"0.0"
            && digits != b"1.0"
            && digits != b"2.0";
    }
    // Round hundreds are limits and status codes that stand everywhere.
    digits.len() == body.len() && !matches!(digits, b"100" | b"200" | b"1000")
}

pub(super) fn is_hash(body: &[u8]) -> bool {
    (7..=40).contains(&body.len())
        && body.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        && body.iter().any(u8::is_ascii_digit)
        && body.iter().any(u8::is_ascii_lowercase)
}

pub(super) fn is_error(body: &[u8]) -> bool {
    if !body[0].is_ascii_uppercase() {
        return false;
    }
    let letters = body.iter().take_while(|b| b.is_ascii_uppercase()).count();
    let rest = &body[letters..];
    if !rest.is_empty() && rest.iter().all(u8::is_ascii_digit) {
        return (letters == 1 && body[0] == b'E' && rest.len() == 4)
            || ((2..=6).contains(&letters) && (3..=5).contains(&rest.len()));
    }
    if rest.is_empty() {
        return body[0] == b'E' && body.len() >= 5;
    }
    let ends: [&[u8]; 4] = [b"Error", b"Exception", b"Panic", b"Failure"];
    body.iter().all(u8::is_ascii_alphabetic)
        && ends.iter().any(|end| body.len() > end.len() && body.ends_with(end))
}

pub(super) fn is_symbol(body: &[u8]) -> bool {
    if body.iter().any(|b| matches!(b, b'.' | b':')) {
        let mut longest = 0;
        let fits = body.split(|b| matches!(b, b'.' | b':')).filter(|part| !part.is_empty()).all(|part| {
            longest = longest.max(part.len());
            !part[0].is_ascii_digit() && part.iter().all(|&b| is_word(b))
        });
        // `e.g` and `i.e` are prose.
        return fits && longest > 1 && !body.windows(2).any(|two| two == b"..");
    }
    let word = |b: &u8| is_word(*b);
    if !body.iter().all(word) {
        return false;
    }
    // An underscore between letters or digits; a lower-case letter before an upper-case one and more after it.
    let inner = body.windows(3).any(|w| w[1] == b'_' && w[0] != b'_' && w[2] != b'_');
    let hump = body.windows(3).any(|w| {
        (w[0].is_ascii_lowercase() || w[0].is_ascii_digit())
            && w[1].is_ascii_uppercase()
            && (w[2].is_ascii_lowercase() || w[2].is_ascii_digit() || w[2].is_ascii_uppercase())
    });
    (inner || hump) && body.iter().any(u8::is_ascii_alphabetic)
}

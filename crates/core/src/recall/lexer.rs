//! From text to terms: words, parts of identifiers, whole identifiers, whole paths, pairs of CJK characters.
//!
//! `src/net/HttpServer.rs` gives `src`, `net`, `http`, `server`, `httpserver`, `rs` and the whole path;
//! `http_server` and `HttpServer` give the same terms. Terms are hashes: a session has some 10⁵ of them, so a word
//! of a query meets a stranger about once in 10⁴ queries, which costs a little order and nothing else.

/// A term, by its hash. The lowest bit says whether it names something: an identifier of several parts, or a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Term(pub(super) u32);

impl Term {
    fn word(hash: u64) -> Self {
        Self(fold(hash) & !1)
    }

    fn name(hash: u64) -> Self {
        Self(fold(hash) | 1)
    }

    /// Whether it is a whole identifier or path.
    pub(super) fn is_name(self) -> bool {
        self.0 & 1 == 1
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

fn mix(hash: u64, value: u64) -> u64 {
    (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3)
}

fn fold(hash: u64) -> u32 {
    (hash ^ (hash >> 29) ^ (hash >> 47)) as u32
}

/// Longer words are payloads (base64, minified code): nobody looks for a part of them.
const LONGEST_WORD: usize = 120;
/// A word that changes so often between letters and digits is a hash or a payload: its parts mean nothing.
const MOST_CHANGES: u32 = 2;

/// Gives every term of a text, in order.
pub(super) fn terms(text: &str, mut found: impl FnMut(Term)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut span = Span::new();
    while let Some(&byte) = bytes.get(at) {
        if !byte.is_ascii() {
            at = foreign(text, at, &mut found);
            continue;
        }
        if !is_word(byte) {
            at += 1;
            continue;
        }
        let start = at;
        while bytes.get(at).is_some_and(|&b| is_word(b)) {
            at += 1;
        }
        if at - start > LONGEST_WORD {
            continue;
        }
        if span.words > 0 && !joins(&bytes[span.end..start]) {
            span.finish(&mut found);
        }
        let whole = word(&bytes[start..at], &mut found);
        span.take(whole, bytes[start - usize::from(start > 0)], at);
    }
    span.finish(&mut found);
}

/// A path or a qualified name: words joined by single marks.
struct Span {
    hash: u64,
    words: u32,
    end: usize,
}

impl Span {
    fn new() -> Self {
        Self { hash: SEED, words: 0, end: 0 }
    }

    fn take(&mut self, word: u64, mark: u8, end: usize) {
        let mark = if self.words > 0 { u64::from(mark) } else { 0 };
        self.hash = mix(mix(self.hash, mark), word);
        self.words += 1;
        self.end = end;
    }

    fn finish(&mut self, found: &mut impl FnMut(Term)) {
        if self.words > 1 {
            found(Term::name(self.hash));
        }
        *self = Self::new();
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// Whether what stands between two words makes them one name.
fn joins(between: &[u8]) -> bool {
    matches!(between, [b'/' | b'.' | b'-' | b':' | b'@' | b'\\' | b'+' | b'#'] | [b':', b':'] | [b'-', b'>'])
}

/// One word of ASCII letters, digits and underscores: its parts, and itself where it has several. Gives its hash.
fn word(bytes: &[u8], found: &mut impl FnMut(Term)) -> u64 {
    if bytes.iter().all(u8::is_ascii_lowercase) {
        return part(bytes, found);
    }
    let mut changes = 0;
    let mut cuts = 0;
    let boundary = |at: usize| boundary(bytes, at);
    for at in 1..bytes.len() {
        changes += u32::from(digit_meets_letter(bytes[at - 1], bytes[at]));
        cuts += u32::from(boundary(at));
    }
    let whole = bytes.iter().filter(|&&b| b != b'_').fold(SEED, |hash, &b| mix(hash, lower(b)));
    if changes > MOST_CHANGES {
        found(Term::name(whole));
        return whole;
    }
    let mut from = 0;
    let mut parts = 0;
    for to in 1..=bytes.len() {
        if to == bytes.len() || (cuts > 0 && boundary(to)) {
            let piece = trimmed(&bytes[from..to]);
            parts += u32::from(!piece.is_empty());
            part(piece, found);
            from = to;
        }
    }
    if parts > 1 {
        found(Term::name(whole));
    }
    whole
}

/// A part of an identifier, or a plain word. Singular and plural are one term; single letters are none.
fn part(bytes: &[u8], found: &mut impl FnMut(Term)) -> u64 {
    let mut before = SEED;
    let mut hash = SEED;
    for &byte in bytes {
        before = hash;
        hash = mix(hash, lower(byte));
    }
    if bytes.len() > 1 {
        found(Term::word(if is_plural(bytes) { before } else { hash }));
    }
    hash
}

fn is_plural(bytes: &[u8]) -> bool {
    match bytes {
        [.., before, b's' | b'S'] => {
            bytes.len() > 3 && !matches!(before.to_ascii_lowercase(), b's' | b'u' | b'i')
        }
        _ => false,
    }
}

fn lower(byte: u8) -> u64 {
    u64::from(byte.to_ascii_lowercase())
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    match bytes.iter().position(|&b| b != b'_') {
        Some(at) => &bytes[at..],
        None => &[],
    }
}

/// Whether a new part begins at `at`, which is not the start.
fn boundary(bytes: &[u8], at: usize) -> bool {
    let (before, here) = (bytes[at - 1], bytes[at]);
    if here == b'_' {
        return before != b'_';
    }
    if digit_meets_letter(before, here) {
        return true;
    }
    // `httpServer`, and the last capital of `HTTPServer`.
    here.is_ascii_uppercase()
        && (before.is_ascii_lowercase()
            || (before.is_ascii_uppercase() && bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase)))
}

fn digit_meets_letter(a: u8, b: u8) -> bool {
    (a.is_ascii_digit() && b.is_ascii_alphabetic()) || (a.is_ascii_alphabetic() && b.is_ascii_digit())
}

/// A run of characters outside ASCII that starts at `at`: words of other scripts, CJK in pairs. Gives its end.
fn foreign(text: &str, at: usize, found: &mut impl FnMut(Term)) -> usize {
    let mut word: Option<u64> = None;
    let mut cjk: Option<char> = None;
    let mut paired = false;
    let mut end = text.len();
    for (offset, c) in text[at..].char_indices() {
        if c.is_ascii() {
            end = at + offset;
            break;
        }
        if is_cjk(c) {
            flush(&mut word, found);
            if let Some(before) = cjk {
                found(Term::word(mix(mix(SEED, u64::from(before)), u64::from(c))));
                paired = true;
            }
            cjk = Some(c);
            continue;
        }
        lone(&mut cjk, &mut paired, found);
        if c.is_alphanumeric() {
            word = Some(c.to_lowercase().fold(word.unwrap_or(SEED), |hash, c| mix(hash, u64::from(c))));
        } else {
            flush(&mut word, found);
        }
    }
    flush(&mut word, found);
    lone(&mut cjk, &mut paired, found);
    end
}

fn flush(word: &mut Option<u64>, found: &mut impl FnMut(Term)) {
    if let Some(hash) = word.take() {
        found(Term::word(hash));
    }
}

/// A CJK character that stands alone is a term by itself.
fn lone(cjk: &mut Option<char>, paired: &mut bool, found: &mut impl FnMut(Term)) {
    if let Some(c) = cjk.take()
        && !*paired
    {
        found(Term::word(mix(SEED, u64::from(c))));
    }
    *paired = false;
}

fn is_cjk(c: char) -> bool {
    matches!(u32::from(c),
        0x3040..=0x30ff | 0x3400..=0x4dbf | 0x4e00..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x20000..=0x3134f)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn set(text: &str) -> HashSet<Term> {
        let mut all = HashSet::new();
        terms(text, |term| {
            all.insert(term);
        });
        all
    }

    fn shares(a: &str, b: &str) -> bool {
        !set(a).is_disjoint(&set(b))
    }

    fn holds(text: &str, word: &str) -> bool {
        !set(word).is_empty() && set(word).is_subset(&set(text))
    }

    #[test]
    fn b8_identifiers_match_by_part_and_as_a_whole() {
        for part in ["parse", "config", "Config", "PARSE", "parse_config", "ParseConfig", "configs"] {
            assert!(holds("let x = parse_config(y);", part), "{part}");
        }
        for part in ["http", "server", "HttpServer", "HTTPServer", "http_server"] {
            assert!(holds("HTTPServer", part), "{part}");
        }
        assert!(!shares("parse_config", "par se con fig"));
    }

    #[test]
    fn b8_paths_and_qualified_names_match_whole() {
        let path = "see src/net/http_server.rs:42";
        for part in ["src", "net", "http_server", "http_server.rs", "rs"] {
            assert!(set(path).intersection(&set(part)).count() > 0, "{part}");
        }
        let whole = |text: &str| set(text).into_iter().filter(|t| t.is_name()).collect::<HashSet<_>>();
        assert!(whole("open src/net/mod.rs now").is_superset(&whole("src/net/mod.rs")));
        assert!(whole("src/net.mod/rs").is_disjoint(&whole("src/net/mod.rs")));
    }

    #[test]
    fn b8_error_codes_and_hashes_match_whole() {
        assert!(holds("error[E0308]: mismatched types", "E0308"));
        assert!(holds("commit 3f9ab12cd4e5", "3f9ab12cd4e5"));
        assert!(!shares("3f9ab12cd4e5", "cd"));
        assert!(holds("TS2345", "ts2345"));
    }

    #[test]
    fn b8_cjk_matches_by_pairs_and_other_scripts_by_words() {
        assert!(holds("先检查数据库连接再重试", "数据库"));
        assert!(!shares("数据库", "数字"));
        assert!(holds("値 of 東", "東"));
        assert!(holds("Проверь Конфигурацию", "проверь"));
    }

    proptest! {
        #[test]
        fn any_text_has_terms_and_case_does_not_matter_for_words(text in "\\PC{0,80}") {
            set(&text);
        }

        #[test]
        fn a_word_is_found_wherever_it_stands(word in "[a-z]{2,9}", before in "[ ,;(\\n]{1,3}", after in "[ ,;)\\n]{1,3}") {
            let text = format!("{before}{word}{after}");
            prop_assert!(holds(&text, &word));
        }
    }
}

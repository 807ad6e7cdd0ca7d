//! Statements such as "the password of the staging admin is VALUE" and "密码改成了 VALUE".
//!
//! A rule finds the word that names a credential. [`value`] reads on from there: words in between, a link ("is", "=", "改成了"), and
//! a value that looks like one of its kind. The value may stand alone on the next line.

use crate::MARK;
use crate::judge;
use crate::rules::{Stated, Test};
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Bytes behind a credential word that may belong to the statement.
const REACH: usize = 640;
/// Bytes between the credential word and the link.
const GAP: usize = 110;
/// Links that are tried: a sentence has no more.
const LINKS: usize = 8;
/// Bytes in front of a credential word that can change what the statement is about.
const BEFORE: usize = 48;
/// Blank lines, code fences and list marks between a link and a value on a line of its own.
pub(crate) const LINES_BETWEEN: usize = 2;
/// Bytes at the end of a line that say whether a value may stand on the next one.
const OPEN: usize = 256;
/// Bytes behind a link at the end of a line.
const TRAILING: usize = 24;

/// A credential word in a text.
pub(crate) struct Word<'a> {
    /// The text: the word's line, and what follows it.
    pub(crate) text: &'a [u8],
    /// Where the word stands.
    pub(crate) span: Range<usize>,
    /// Where the word's line ends.
    pub(crate) line_end: usize,
}

/// Returns where the value of a statement stands.
pub(crate) fn value(kind: Stated, word: &Word<'_>) -> Option<Range<usize>> {
    let patterns = PATTERNS.as_ref()?;
    let before = tail(&word.text[..word.span.start], BEFORE);
    if patterns.other_subject.is_match(before) {
        return None;
    }
    let rest = head(&word.text[word.span.end..word.line_end], REACH);
    let first = patterns.first_word.captures(rest).and_then(|groups| groups.get(1));
    if first.is_some_and(|first| is_any(first.as_str(), PARTS)) {
        return None;
    }
    if kind == Stated::Token && last_word(before).is_some_and(|last| is_any(last, OTHER_KEYS)) {
        return None;
    }
    // "pass" is a verb more often than not.
    let may_be_verb = word.text[word.span.clone()].eq_ignore_ascii_case(b"pass");
    let found = |range: Range<usize>| range.start + word.span.end..range.end + word.span.end;
    for link in patterns.link.find_iter(rest).take(LINKS) {
        let gap = &rest[..link.start()];
        if gap.len() > GAP || !is_prose(gap) || CHINESE_PARTS.iter().any(|part| gap.contains(part)) {
            break;
        }
        let is_noun = gap.is_empty() || [" for ", " of ", " on "].iter().any(|start| gap.starts_with(start));
        if may_be_verb && !is_noun {
            break;
        }
        // `password=VALUE` and `token: VALUE` have rules of their own; a sign behind a list belongs to its last part.
        let is_sign = link.as_str().trim().chars().all(|c| !c.is_alphanumeric());
        let is_assigned = gap.is_empty() && link.as_str() == "=" && !rest[link.end()..].starts_with(' ');
        let is_field = kind == Stated::Token && is_sign && gap.is_empty();
        if is_assigned || is_field || is_sign && gap.contains(',') {
            continue;
        }
        let is_change = matches!(link.as_str().trim().to_ascii_lowercase().as_str(), "to" | "as" | "with");
        if is_change && !patterns.change.is_match(before) && !patterns.change.is_match(gap) {
            continue;
        }
        let behind = Behind { text: rest, at: link.end() };
        if let Some(value) = behind.value(kind, patterns) {
            return Some(found(value));
        }
        if behind.is_end_of_line(word, rest)
            && let Some(value) = on_next_line(kind, word, patterns)
        {
            return Some(value);
        }
    }
    let is_flag = before.ends_with(['-', '_']);
    if may_be_verb || is_flag {
        return None;
    }
    let is_told = patterns.telling.is_match(before);
    let behind = Behind { text: rest, at: 0 };
    behind.beside(kind, is_told, patterns).map(found)
}

/// Returns whether a line, given without its end, ends with a statement whose value may stand on the next line.
pub(crate) fn is_open(line: &[u8]) -> bool {
    let line = tail(line, OPEN);
    PATTERNS.as_ref().is_some_and(|patterns| patterns.open.is_match(line))
}

/// Returns whether a line may stand between a statement and its value.
pub(crate) fn is_between(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.is_empty() || line.starts_with(b"```") || line.starts_with(b"~~~")
}

/// Target of a link.
struct Behind<'a> {
    text: &'a str,
    at: usize,
}

impl Behind<'_> {
    /// Returns a value of the kind that stands here.
    fn value(&self, kind: Stated, patterns: &Patterns) -> Option<Range<usize>> {
        let groups = patterns.value.captures(&self.text[self.at..])?;
        let (quoted, bare) = (groups.name("quoted"), groups.name("bare"));
        let found = quoted.or(bare)?;
        let at = self.at;
        if kind != Stated::Phrase && quoted.is_some_and(|quoted| !is_one_value(quoted.as_str())) {
            return None;
        }
        if kind == Stated::Phrase {
            let is_phrase = quoted.is_some_and(|quoted| words_in(quoted.as_str()) >= 4);
            if is_phrase {
                return Some(at + found.start()..at + found.end());
            }
            let words = patterns.words.find(&self.text[at + found.start()..])?;
            let start = at + found.start();
            return Some(start..start + words.end());
        }
        let start = at + found.start();
        let text = judge::without_stop(Test::Loose, found.as_str());
        // The end of emphasis is not part of the value.
        let text = if self.text[..start].ends_with('*') { text.trim_end_matches('*') } else { text };
        let next = self.text[start + text.len()..].chars().next();
        let is_quoted_word = kind == Stated::Password && quoted.is_some() && is_word(text);
        if kind != Stated::Pair && (is_credential(kind, text, next) || is_quoted_word) {
            return Some(start..start + text.len());
        }
        // `admin/VALUE`, `admin:VALUE`, "admin and VALUE".
        if matches!(kind, Stated::Password | Stated::Pair) {
            let pair = patterns.pair.captures(&self.text[start..])?.get(1)?;
            let text = judge::without_stop(Test::Loose, pair.as_str());
            if is_credential(Stated::Password, text, None) {
                return Some(start + pair.start()..start + pair.start() + text.len());
            }
        }
        None
    }

    /// Returns a value that stands beside the word without a link: in quotes or brackets, behind a dash, or with "use" in front.
    fn beside(&self, kind: Stated, is_told: bool, patterns: &Patterns) -> Option<Range<usize>> {
        if matches!(kind, Stated::Phrase | Stated::Pair) {
            return None;
        }
        let groups = patterns.beside.captures(self.text)?;
        let found = groups.name("marked").or_else(|| groups.name("plain"))?;
        let text = judge::without_stop(Test::Loose, found.as_str());
        // Without "use" or such in front, names of code must not do.
        let is_no_name = text.contains(|c: char| !c.is_ascii_alphanumeric()) || judge::changes(text) >= 3;
        if groups.name("plain").is_some() && !is_told && !is_no_name {
            return None;
        }
        let is_strong = text.len() >= 8 && text.contains(|c: char| c.is_ascii_digit());
        (is_strong && is_credential(kind, text, None)).then(|| found.start()..found.start() + text.len())
    }

    /// Returns whether nothing follows on the line.
    fn is_end_of_line(&self, word: &Word<'_>, rest: &str) -> bool {
        let behind = &self.text[self.at..];
        behind.len() <= TRAILING
            && word.span.end + rest.len() == word.line_end
            && behind.trim_matches(|c: char| c.is_whitespace() || "*_`:：\"'".contains(c)).is_empty()
    }
}

/// Returns the value that stands alone on the next line.
fn on_next_line(kind: Stated, word: &Word<'_>, patterns: &Patterns) -> Option<Range<usize>> {
    let mut at = word.line_end;
    for _ in 0..=LINES_BETWEEN {
        if word.text.get(at) != Some(&b'\n') {
            return None;
        }
        let start = at + 1;
        let end = memchr::memchr(b'\n', &word.text[start..]).map_or(word.text.len(), |end| start + end);
        let line = &word.text[start..end];
        if !is_between(line) {
            let text = std::str::from_utf8(line).ok().filter(|text| text.len() <= REACH)?;
            let found = patterns.alone.captures(text)?.get(1)?;
            let value = judge::without_stop(Test::Loose, found.as_str());
            let is_value = kind != Stated::Phrase && is_credential(kind, value, None);
            return is_value.then(|| start + found.start()..start + found.start() + value.len());
        }
        at = end;
    }
    None
}

/// Returns whether a value looks like a credential of this kind.
fn is_credential(kind: Stated, value: &str, next: Option<char>) -> bool {
    if value.contains(MARK) || is_term(value) {
        return false;
    }
    match kind {
        Stated::Password | Stated::Pair => {
            judge::is_secret(Test::Loose, value, next) || is_number(value) || is_passphrase(value)
        }
        Stated::Key => {
            value.len() >= 8
                && next != Some('(')
                && judge::is_secret(Test::NoStandIn, value, next)
                && !judge::is_place(value)
                && !value.contains("::")
                && judge::changes(value) >= 3
                && !value.contains(['[', '{'])
        }
        Stated::Token => value.len() >= 16 && judge::is_secret(Test::Mixed(12), value, next),
        Stated::Phrase => false,
    }
}

/// Returns whether a text in quotes can be one value: a word, or a few words that are no sentence.
fn is_one_value(text: &str) -> bool {
    let words = text.split(' ').count();
    words == 1
        || words <= 4
            && text == text.trim()
            && text.contains(|c: char| c.is_ascii_digit())
            && !text.contains([':', '.', ',', '(', '`', '*'])
}

/// Returns whether a text in quotes is a word that may be a password: no state, and nothing that a password has.
fn is_word(text: &str) -> bool {
    text.len() >= 6
        && text.bytes().all(|byte| byte.is_ascii_lowercase())
        && !["ed", "ing", "able", "ible"].iter().any(|ending| text.ends_with(ending))
        && !is_any(text, PARTS)
        && judge::is_secret(Test::NoStandIn, text, None)
}

/// Returns whether a value is a password of digits only.
fn is_number(value: &str) -> bool {
    (6..=12).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a value is at least four words joined by one sign.
fn is_passphrase(value: &str) -> bool {
    ['-', '_', '.'].iter().any(|sign| {
        let words: Vec<&str> = value.split(*sign).collect();
        words.len() >= 4
            && words.iter().all(|word| word.len() >= 3 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
            && !words.iter().any(|word| PARTS.contains(word))
    })
}

/// Returns how many lower-case words a text has; 0 if it has anything else.
fn words_in(text: &str) -> usize {
    let is_word = |word: &str| word.bytes().all(|byte| byte.is_ascii_lowercase());
    let words: Vec<&str> = text.split_whitespace().collect();
    if words.iter().all(|word| is_word(word)) { words.len() } else { 0 }
}

/// Returns whether a value is a technical term, a quantity, a date or a name rather than a credential.
fn is_term(value: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let stem = lower.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '-' | '_' | '+' | '.'));
    let has_digits = stem.contains(|c: char| c.is_ascii_digit());
    let is_identifier =
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'));
    let names_itself =
        is_identifier && !has_digits && CREDENTIAL_PARTS.iter().any(|part| lower.contains(part));
    TERMS.contains(&stem)
        || TERMS.contains(&lower.as_str())
        || names_itself
        || PATTERNS.as_ref().is_some_and(|patterns| patterns.quantity.is_match(value))
}

/// Returns whether the words between a credential word and its link are prose: no code, no other sentence.
fn is_prose(gap: &str) -> bool {
    // What was masked before is one word.
    if let Some((before, rest)) = gap.split_once(MARK)
        && let Some((_, behind)) = rest.split_once(']')
    {
        return is_prose(before) && is_prose(behind);
    }
    let begins = gap.chars().next().is_none_or(|first| {
        first.is_whitespace()
            || matches!(first, ',' | '(' | '，' | '（' | '、' | '*' | '\'' | '’')
            || !first.is_ascii()
    });
    let is_list = gap.starts_with(',') && !gap.starts_with(", ");
    // A quote inside of words opens or closes a string of code.
    let is_code =
        gap.match_indices('"').any(|(at, _)| !gap[..at].is_empty() && gap[..at].ends_with(['(', ',']))
            || gap.ends_with(['"', '\'']) && !gap.contains(' ');
    let ends_sentence = gap.contains(". ") || gap.contains("? ") || gap.contains("! ");
    begins
        && !ends_sentence
        && !is_list
        && !is_code
        && !gap.contains([
            ':', '=', ';', '{', '}', '[', ']', '<', '>', '|', '\\', '$', '%', '。', '；', '！', '？', '：',
            '\n',
        ])
}

/// Returns the last word of a text.
fn last_word(text: &str) -> Option<&str> {
    text.rsplit(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty())
}

fn is_any(word: &str, list: &[&str]) -> bool {
    let lower = word.to_ascii_lowercase();
    list.contains(&lower.as_str()) || lower.strip_suffix('s').is_some_and(|one| list.contains(&one))
}

/// Returns the first bytes of a text, as far as they are characters.
fn head(text: &[u8], most: usize) -> &str {
    let text = &text[..text.len().min(most)];
    text.utf8_chunks().next().map_or("", |chunk| chunk.valid())
}

/// Returns the last bytes of a text, as far as they are characters.
fn tail(text: &[u8], most: usize) -> &str {
    let mut start = text.len().saturating_sub(most);
    while text.get(start).is_some_and(|byte| byte & 0xc0 == 0x80) {
        start += 1;
    }
    let last = text[start..].utf8_chunks().last();
    last.filter(|chunk| chunk.invalid().is_empty()).map_or("", |chunk| chunk.valid())
}

/// Nouns behind a credential word that make something else of it: a password field, a token count.
const PARTS: &[&str] = &[
    "algorithm",
    "alias",
    "argument",
    "attempt",
    "auth",
    "authentication",
    "budget",
    "button",
    "cache",
    "callback",
    "change",
    "check",
    "class",
    "code",
    "column",
    "command",
    "comparison",
    "config",
    "constant",
    "cost",
    "count",
    "counter",
    "default",
    "derivation",
    "digest",
    "encoding",
    "encryption",
    "endpoint",
    "entry",
    "env",
    "error",
    "event",
    "exchange",
    "expiration",
    "expire",
    "expiry",
    "family",
    "field",
    "file",
    "filename",
    "fingerprint",
    "flag",
    "flow",
    "folder",
    "form",
    "format",
    "function",
    "generation",
    "generator",
    "grant",
    "guard",
    "handler",
    "handling",
    "hash",
    "hashing",
    "header",
    "hint",
    "history",
    "id",
    "identifier",
    "index",
    "input",
    "interface",
    "label",
    "length",
    "level",
    "lifetime",
    "limit",
    "limits",
    "line",
    "list",
    "log",
    "logic",
    "manager",
    "material",
    "max",
    "maximum",
    "message",
    "method",
    "min",
    "minimum",
    "mode",
    "module",
    "name",
    "number",
    "object",
    "option",
    "page",
    "pair",
    "param",
    "parameter",
    "parser",
    "path",
    "pattern",
    "placeholder",
    "point",
    "policy",
    "position",
    "prefix",
    "prompt",
    "property",
    "provider",
    "range",
    "rate",
    "reader",
    "refresh",
    "regex",
    "request",
    "requirement",
    "reset",
    "response",
    "route",
    "rotation",
    "rule",
    "salt",
    "scheme",
    "scope",
    "screen",
    "setting",
    "size",
    "slot",
    "source",
    "stage",
    "state",
    "status",
    "store",
    "storage",
    "strategy",
    "strength",
    "string",
    "struct",
    "suffix",
    "table",
    "test",
    "title",
    "ttl",
    "type",
    "url",
    "usage",
    "use",
    "validation",
    "validator",
    "variable",
    "var",
    "vault",
    "version",
    "window",
];

/// The same in Chinese.
const CHINESE_PARTS: &[&str] = &[
    "字段", "类型", "长度", "格式", "哈希", "算法", "策略", "名称", "文件", "路径", "变量", "数量", "上限",
    "版本", "页面", "位数", "规则",
];

/// Words in front of "key" or "token" that make it no credential.
const OTHER_KEYS: &[&str] = &[
    "cache",
    "primary",
    "foreign",
    "partition",
    "sort",
    "row",
    "hash",
    "map",
    "index",
    "lookup",
    "object",
    "dedupe",
    "dedup",
    "idempotency",
    "public",
    "public-key",
    "registry",
    "json",
    "dictionary",
    "dict",
    "column",
    "group",
    "page",
    "continuation",
    "cursor",
    "cancellation",
    "lexer",
    "composite",
    "unique",
    "natural",
    "sync",
    "storage",
    "s3",
    "config",
    "translation",
    "i18n",
    "react",
    "query",
    "store",
    "arrow",
    "next",
    "csrf",
    "commit",
    "etag",
    "node",
    "bucket",
];

/// Parts of names: an identifier with one of these names a credential, and is none.
const CREDENTIAL_PARTS: &[&str] =
    &["pass", "secret", "token", "key", "cred", "auth", "user", "env", "config", "hash", "name", "login"];

/// Technical terms with digits, without the digits at their end or with them.
const TERMS: &[&str] = &[
    "sha",
    "md",
    "base",
    "utf",
    "argon2id",
    "argon2i",
    "argon2d",
    "argon",
    "bcrypt",
    "scrypt",
    "pbkdf",
    "hs",
    "rs",
    "es",
    "ps",
    "ed",
    "x25519",
    "ed25519",
    "secp256k1",
    "secp256r1",
    "p256",
    "p-",
    "oauth",
    "oauth2",
    "http",
    "https",
    "ipv",
    "aes",
    "aes-256-gcm",
    "aes256gcm",
    "aes-128-gcm",
    "aes-256-cbc",
    "aes-256",
    "rsa",
    "1password",
    "keepass2",
    "gpt",
    "gpt-4o",
    "gpt-4o-mini",
    "claude",
    "python",
    "node",
    "localhost",
    "web",
    "version",
    "step",
    "phase",
    "part",
    "item",
    "case",
    "option",
    "test",
    "user",
    "ascii",
    "latin",
    "iso",
    "chacha20-poly1305",
    "xchacha20-poly1305",
    "chacha",
    "hkdf-sha",
    "hmac-sha",
    "sha3",
    "blake",
    "crc",
    "uuid",
    "uuidv",
    "uuid-v",
    "jwt-hs",
    "e2e",
    "b2b",
    "p2p",
    "k8s",
    "i18n",
    "l10n",
    "a11y",
    "base64url",
    "base64-encoded",
    "hex-encoded",
    "es6",
    "c++",
    "c#",
    "x509",
    "x.509",
    "pkcs",
    "tls",
    "ssl",
    "issue",
    "pr",
    "row",
    "line",
    "abc",
    "level",
    "layer",
    "u",
    "i",
    "f",
    "u8",
    "string",
    "port",
    "type",
    "method",
    "http2",
    "s3",
    "ec2",
    "md5",
    "web3",
    "web3auth",
    "auth0",
    "sha256sum",
];

struct Patterns {
    link: Regex,
    value: Regex,
    alone: Regex,
    pair: Regex,
    words: Regex,
    beside: Regex,
    first_word: Regex,
    other_subject: Regex,
    change: Regex,
    telling: Regex,
    quantity: Regex,
    open: Regex,
}

/// Patterns are constants; a test checks that all of them compile.
static PATTERNS: LazyLock<Option<Patterns>> = LazyLock::new(|| {
    // Boundaries of ASCII words: those of Unicode are slow on Chinese.
    let pattern = |text: &str| Regex::new(&text.replace(r"\b", r"(?-u:\b)")).ok();
    let link = r"(?i:\b(?:is|was|are|were|be|becomes?|became|equals|reads|ist|est|es|to|as|with)\b|\s?(?:=>|->|:=|==?|:)|是|为|為|成了?|等于|叫做?|：|＝|→|は|['’]s\s|[?？]\s|(?:改|换|還|还)(?:回|到))";
    let adverbs = r"(?i:\s*(?:(?:now|still|currently|just|simply|again|actually|set to|changed to|called|today)\b|现在|了|即|就是))?";
    Some(Patterns {
        link: pattern(link)?,
        value: pattern(&format!(
            r#"^{adverbs}\s*[:：]?(?:\s|\\+n|\*|_){{0,8}}(?:\\{{0,3}}["'`“‘「『]{{1,3}}(?P<quoted>[^"'`”’」』\\\r\n<>]{{4,200}})[\\"'`”’」』]|(?P<bare>[!#-&*+./0-9:=?@A-Z\[\]^_a-z{{|}}~-]{{4,200}}))"#
        ))?,
        alone: pattern(
            r#"^[\s>*|-]{0,12}["'`*]{0,3}([!#-&*+./0-9:=?@A-Z\[\]^_a-z{|}~-]{6,200})["'`*]{0,3}[\s|]*$"#,
        )?,
        pair: pattern(
            r#"^[A-Za-z0-9._@+-]{2,60}["'`]?(?:\s?[/:|、]\s?|\s+(?:and|with|/)\s+(?:password\s+)?|\s?(?:和|以及)\s?)["'`]?([!#-&*+./0-9:=?@A-Z\[\]^_a-z{|}~-]{6,200})"#,
        )?,
        words: pattern(r"^[a-z]{3,10}(?:[ ,]{1,2}[a-z]{3,10}){11,23}\b")?,
        beside: pattern(
            r#"^(?:(?:\s[(]|\s?（)\s?["'`]?(?P<marked>[!#-&*+./0-9:=?@A-Z\[\]^_a-z{|}~-]{8,100})["'`]?\s?[)）]|\s(?:[-–—]\s)?["'`“]?(?P<plain>[!#-&*+./0-9:=?@A-Z\[\]^_a-z{|}~-]{8,100}))"#,
        )?,
        first_word: pattern(r"^[\s_'’-]{1,3}(\w+)")?,
        other_subject: pattern(
            r"(?i)1$|\b(?:commit|hash|sha|digest|checksum|fingerprint|version|length|size|names?|prefix|suffix|types?|ids?|number|count|branch|file|path|column|field|variable|flag|default|error|format|regex|pattern|line|limit|date)\s+(?:of|for|that|which|where|in|with|to|holding|behind)\b[^.,;:]{0,36}$",
        )?,
        change: pattern(r"(?i)\b(?:change|reset|set|update|rotate|switch|replace|alter|move|renew)")?,
        telling: pattern(
            r"(?i)\b(?:with|using|use|enter|type|try|via|by|my|our|admin|root|user|temp|temporary|new|old)(?:\s+(?:the|this|my|our|a|new))?\s+$",
        )?,
        quantity: pattern(
            r"^(?:[$#%{<]|v?\d+(?:\.\d+)+|\d{4}-\d\d|\d{1,2}:\d\d|\d+[-+x%]?[a-zA-Z]{1,14}$|\d+-[a-z]+(?:-[a-z]+)*$|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$|[a-z]+-\d{1,4}$|[A-Z]+-\d+$|[A-Za-z]\w*\(|[^A-Za-z0-9]*$)",
        )?,
        open: pattern(&format!(
            r#"(?i)(?:pass|pwd?\b|phrase|log.?in|key|token|secret|cred|login|密码|密碼|口令|密钥|密鑰|秘钥|令牌|凭证|凭据|账号|账户|帐号|用户名|пароль|senha|mot de passe|contraseña|パスワード|비밀번호).{{0,200}}{link}[\s*_`:："']*$"#
        ))?,
    })
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert!(PATTERNS.is_some());
    }
}

//! Finds secrets in whole lines.

use super::rules::{self, Rule, Test};
use super::stated::{self, Word};
use super::stream::Piece;
use super::views::{self, Escapes};
use super::{MARK, mark};
use super::{encoded, judge, pem, split};
use aho_corasick::{AhoCorasick, AhoCorasickKind};
use memchr::{memchr, memmem, memrchr};
use regex::bytes::{Regex, RegexBuilder};
use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

/// A secret.
#[derive(Clone, Debug)]
pub(super) struct Find {
    /// Where it stands.
    pub(super) span: Range<usize>,
    /// With what made it out.
    pub(super) whole: Range<usize>,
    /// The place of the rule among the rules.
    order: usize,
    kind: &'static str,
}

/// Writes lines without their secrets.
pub(super) fn clean(text: &[u8], out: &mut Piece) {
    let mut finds = find(text);
    if finds.is_empty() {
        out.bytes.extend_from_slice(text);
        return;
    }
    let mut text = without(text, &finds, &mut out.kinds);
    // What stands around a secret can become one when it is gone. Each round takes something out, so there is a last one.
    loop {
        finds = find(&text);
        if finds.is_empty() {
            break;
        }
        text = without(&text, &finds, &mut out.kinds);
    }
    out.bytes.extend_from_slice(&text);
}

fn without(text: &[u8], finds: &[Find], kinds: &mut Vec<&'static str>) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut done = 0;
    for find in finds {
        // Of places that overlap the one that begins first is named, and all of them go.
        if find.span.start < done {
            done = done.max(find.span.end);
            continue;
        }
        out.extend_from_slice(&text[done..find.span.start]);
        mark(find.kind, &mut out);
        kinds.push(find.kind);
        done = find.span.end;
    }
    out.extend_from_slice(&text[done..]);
    out
}

/// The secrets of some lines that are seen at first sight, in their order.
pub(super) fn find(text: &[u8]) -> Vec<Find> {
    let mut finds = Vec::new();
    if let Some(scanner) = SCANNER.as_ref() {
        scanner.find_decoded(text, DEPTH, &mut finds);
        finds.sort_by_key(|find| (find.span.start, find.order));
    }
    finds
}

/// Returns whether a secret may begin on a line, given without its end, and go on or stand on the next one.
pub(super) fn is_open(line: &[u8]) -> bool {
    let last = &line[line.len().saturating_sub(split::LONGEST)..];
    let begins_token = |scanner: &Scanner| {
        scanner.keywords.find_overlapping_iter(last).any(|hit| {
            let owners = scanner.owners.get(hit.pattern().as_usize()).copied().unwrap_or(0);
            owners & scanner.tokens != 0 && split::may_go_on(last, hit.start())
        })
    };
    stated::is_open(line) || SCANNER.as_ref().is_some_and(begins_token)
}

/// Layers of encoding that are decoded: base64 of escaped text, and such.
const DEPTH: usize = 3;

/// A set of rules.
type Wanted = u128;

/// In a line of so many bytes, what stands between two line ends of a text in quotes is a line of its own.
const LONG: usize = 2 << 10;

/// The keywords of all rules in one automaton, and their patterns, compiled when first needed.
struct Scanner {
    keywords: AhoCorasick,
    /// The rules of each keyword.
    owners: Vec<Wanted>,
    /// The rules that look at all of a line, however long: keys in a string have line ends inside.
    whole: Wanted,
    /// The rules of tokens that are known by how they begin.
    tokens: Wanted,
    patterns: Vec<(&'static Rule, OnceLock<Option<Regex>>)>,
}

static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(Scanner::new);

impl Scanner {
    fn new() -> Option<Self> {
        let mut words: Vec<&str> = Vec::new();
        let mut owners: Vec<Wanted> = Vec::new();
        let (mut whole, mut tokens) = (0, 0);
        for (at, rule) in rules::all().enumerate() {
            if rule.kind == "private-key" {
                whole |= 1 << at;
            } else if rules::is_token(rule) {
                tokens |= 1 << at;
            }
            for word in rule.keywords {
                let bit = 1 << at;
                match words.iter().position(|known| known == word) {
                    Some(known) => owners[known] |= bit,
                    None => {
                        words.push(word);
                        owners.push(bit);
                    }
                }
            }
        }
        let keywords = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind(Some(AhoCorasickKind::DFA))
            .build(words)
            .ok()?;
        let patterns = rules::all().map(|rule| (rule, OnceLock::new())).collect();
        Some(Self { keywords, owners, whole, tokens, patterns })
    }

    /// Looks into a text as it stands, and into what is encoded in it.
    fn find_decoded(&self, text: &[u8], depth: usize, finds: &mut Vec<Find>) {
        self.find(text, finds);
        if depth == 0 {
            return;
        }
        encoded::runs(text, |run| {
            // The kind is the rule's: one text can hold several.
            let mut inside = Vec::new();
            if pem::has_block(&run.text) {
                inside.push(Find { span: 0..0, whole: 0..0, order: 0, kind: pem::KIND });
            }
            self.find_decoded(run.text.as_bytes(), depth - 1, &mut inside);
            if let Some(first) = inside.into_iter().min_by_key(|find| (find.span.start, find.order)) {
                finds.push(Find { span: run.span.clone(), whole: run.span, ..first });
            }
        });
        let mut escapes = Escapes::new(text);
        let mut done = 0;
        while let Some(at) = escapes.next_from(done) {
            let line = part_of(text, &line_of(text, at..at), at..at);
            let view = views::view(&text[line.clone()]);
            let mut inside = Vec::new();
            self.find_decoded(&view.bytes, depth - 1, &mut inside);
            for find in inside.into_iter().filter(|find| view.is_changed(&find.whole)) {
                let place = |span: &Range<usize>| {
                    let span = view.source(span);
                    line.start + span.start..line.start + span.end
                };
                finds.push(Find { span: place(&find.span), whole: place(&find.whole), ..find });
            }
            done = line.end + 1;
        }
    }

    /// Looks into the lines that have a keyword, with the rules that it belongs to.
    fn find(&self, text: &[u8], finds: &mut Vec<Find>) {
        // The line, and the part of it that the last keyword was in, with the rules that are wanted there.
        let (mut line, mut part) = (0..0, 0..0);
        let (mut for_line, mut for_part): (Wanted, Wanted) = (0, 0);
        for hit in self.keywords.find_overlapping_iter(text) {
            if hit.start() >= part.end {
                self.look(text, part.clone(), for_part, finds);
                for_part = 0;
                if hit.start() >= line.end {
                    self.look(text, line.clone(), for_line, finds);
                    for_line = 0;
                    line = line_of(text, hit.start()..hit.end());
                }
                part = part_of(text, &line, hit.start()..hit.end());
            }
            let owners = self.owners.get(hit.pattern().as_usize()).copied().unwrap_or(0);
            if owners & self.tokens != 0 {
                self.find_split(text, hit.start(), owners & self.tokens, finds);
            }
            for_line |= owners & self.whole;
            for_part |= owners & !self.whole;
        }
        self.look(text, part, for_part, finds);
        self.look(text, line, for_line, finds);
    }

    /// Looks for a token of these rules that begins here, and is split.
    fn find_split(&self, text: &[u8], start: usize, mut wanted: Wanted, finds: &mut Vec<Find>) {
        let is_inside =
            start.checked_sub(1).and_then(|at| text.get(at)).is_some_and(u8::is_ascii_alphanumeric);
        if is_inside {
            return;
        }
        let Some(joined) = split::join(text, start) else { return };
        while wanted != 0 {
            let order = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let Some((rule, cell)) = self.patterns.get(order) else { continue };
            let Some(regex) = compiled(cell, rule) else { continue };
            let Some(found) = regex.find(&joined.text).filter(|found| found.start() == 0) else { continue };
            let value = String::from_utf8_lossy(found.as_bytes());
            if judge::is_secret(rule.test, &value, None)
                && let Some(span) = joined.source(judge::without_stop(rule.test, &value).len())
            {
                finds.push(Find { span: span.clone(), whole: span, order, kind: rule.kind });
            }
        }
    }

    fn look(&self, text: &[u8], line: Range<usize>, mut wanted: Wanted, finds: &mut Vec<Find>) {
        let (start, rest, line) = (line.start, &text[line.start..], &text[line]);
        let from = finds.len();
        while wanted != 0 {
            let order = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let Some((rule, cell)) = self.patterns.get(order) else { continue };
            let Some(regex) = compiled(cell, rule) else { continue };
            Candidate { order, rule, regex }.find(line, rest, finds);
        }
        for find in &mut finds[from..] {
            find.span = find.span.start + start..find.span.end + start;
            find.whole = find.whole.start + start..find.whole.end + start;
        }
    }
}

/// The line that a place stands in.
fn line_of(text: &[u8], place: Range<usize>) -> Range<usize> {
    let start = memrchr(b'\n', &text[..place.start]).map_or(0, |at| at + 1);
    let end = memchr(b'\n', &text[place.end..]).map_or(text.len(), |at| place.end + at);
    start..end
}

/// The part of a line that a keyword stands in.
fn part_of(text: &[u8], line: &Range<usize>, hit: Range<usize>) -> Range<usize> {
    if line.len() < LONG {
        return line.clone();
    }
    let start =
        memmem::rfind(&text[line.start..hit.start], b"\\n").map_or(line.start, |at| line.start + at + 2);
    let end = memmem::find(&text[hit.end..line.end], b"\\n").map_or(line.end, |at| hit.end + at);
    start..end
}

/// A rule that could match, with its place among the rules.
struct Candidate<'a> {
    order: usize,
    rule: &'static Rule,
    regex: &'a Regex,
}

impl Candidate<'_> {
    /// Searches a line; `rest` is the text from its beginning on.
    fn find(&self, line: &[u8], rest: &[u8], finds: &mut Vec<Find>) {
        let Self { order, rule, regex } = self;
        if let Test::Stated(kind) = rule.test {
            for word in regex.find_iter(line) {
                let word = Word { text: rest, span: word.range(), line_end: line.len() };
                if let Some(span) = stated::value(kind, &word) {
                    let whole = word.span.start..span.end;
                    finds.push(Find { span, whole, order: *order, kind: rule.kind });
                }
            }
            return;
        }
        let mut at = 0;
        while let Some(groups) = regex.captures_at(line, at) {
            let Some(whole) = groups.get(0) else { break };
            let secret = groups.iter().skip(1).flatten().next().unwrap_or(whole);
            let span = floor(line, secret.start())..ceil(line, secret.end());
            let value = String::from_utf8_lossy(&line[span.clone()]);
            let next = next_char(&line[span.end..]);
            let is_marked = memmem::find(value.as_bytes(), MARK.as_bytes()).is_some();
            let whole = whole.start()..whole.end();
            if rule.test == Test::Cookies {
                for part in judge::cookies(&line[span.clone()]) {
                    let span = span.start + part.start..span.start + part.end;
                    finds.push(Find { span, whole: whole.clone(), order: *order, kind: rule.kind });
                }
                at = span.end;
            } else if !is_marked && judge::is_secret(rule.test, &value, next) {
                // Of bytes that are no text, all of the place goes.
                let kept = judge::without_stop(rule.test, &value).len();
                let end = if value.len() == span.len() { span.start + kept } else { span.end };
                at = span.end;
                finds.push(Find { span: span.start..end, whole, order: *order, kind: rule.kind });
            } else {
                at = judge::resume(rule.test, &span).max(at + 1);
            }
            if at >= line.len() {
                break;
            }
        }
    }
}

/// Patterns are of bytes: a place must not begin or end inside a character.
fn floor(text: &[u8], mut at: usize) -> usize {
    while at > 0 && text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at -= 1;
    }
    at
}

fn ceil(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|byte| byte & 0xc0 == 0x80) {
        at += 1;
    }
    at
}

fn next_char(text: &[u8]) -> Option<char> {
    let head = text.get(..4.min(text.len()))?;
    String::from_utf8_lossy(head).chars().next()
}

fn compiled<'a>(cell: &'a OnceLock<Option<Regex>>, rule: &Rule) -> Option<&'a Regex> {
    cell.get_or_init(|| RegexBuilder::new(rule.pattern).unicode(false).build().ok()).as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_compiles_and_has_keywords_in_lower_case() {
        let scanner = SCANNER.as_ref();
        assert!(scanner.is_some());
        assert!(rules::all().count() <= Wanted::BITS as usize);
        for rule in rules::all() {
            assert!(compiled(&OnceLock::new(), rule).is_some(), "{}", rule.pattern);
            assert!(!rule.keywords.is_empty());
            for word in rule.keywords {
                assert_eq!(*word, word.to_ascii_lowercase(), "{}", rule.kind);
                assert!(!word.contains('\n'), "{}", rule.kind);
            }
            assert!(rule.kind.bytes().all(|b| b.is_ascii_lowercase() || b == b'-'), "{}", rule.kind);
        }
    }

    /// A text with its templates filled in: see `tests/data/rules.txt`.
    fn fill(text: &str) -> String {
        let mut text = text.replace("{begin}", &format!("-----BEGIN {} KEY-----", "PRIVATE"));
        text = text.replace("{end}", &format!("-----END {} KEY-----", "PRIVATE"));
        for (letter, alphabet) in [
            ('A', "a1B2c3D4e5F6g7H8j9K"),
            ('H', "0f1e2d3c4b5a69788796a5b4c3d2e1f0"),
            ('B', "Q3EGRZ5TXW7KPLMN"),
        ] {
            let opening = format!("{{{letter}");
            while let Some((start, length, end)) = text.match_indices(&opening).find_map(|(start, _)| {
                let end = start + text[start..].find('}')?;
                Some((start, text[start + 2..end].parse().ok()?, end))
            }) {
                text.replace_range(start..=end, &alphabet.chars().cycle().take(length).collect::<String>());
            }
        }
        text
    }

    #[test]
    fn every_rule_finds_its_examples_and_leaves_the_others() {
        let mut rules = rules::all().enumerate();
        let mut current = None;
        let mut seen = (true, true);
        for line in include_str!("../tests/data/rules.txt").lines().filter(|line| !line.starts_with('#')) {
            if let Some(kind) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                assert_eq!(seen, (true, true), "the rule before {kind} needs a + and a -");
                seen = (false, false);
                current = rules.next();
                assert_eq!(current.map(|(_, rule)| rule.kind), Some(kind));
                continue;
            }
            let (order, rule) = current.expect("a kind comes first");
            let (sign, text) = line.split_at_checked(2).expect("a sign and a blank");
            let text = fill(text);
            let regex = compiled(&OnceLock::new(), rule).cloned().expect("it compiles");
            let mut finds = Vec::new();
            Candidate { order, rule, regex: &regex }.find(text.as_bytes(), text.as_bytes(), &mut finds);
            match sign {
                "+ " => {
                    assert!(!finds.is_empty(), "rule {order} ({}) misses {text}", rule.kind);
                    let lower = text.to_lowercase();
                    assert!(
                        rule.keywords.iter().any(|word| lower.contains(word)),
                        "no keyword of rule {order}: {text}"
                    );
                    seen.0 = true;
                }
                "- " => {
                    assert!(finds.is_empty(), "rule {order} ({}) takes {text}", rule.kind);
                    seen.1 = true;
                }
                other => panic!("{other:?} is no sign"),
            }
        }
        assert_eq!(
            (seen, rules.next().map(|(_, rule)| rule.pattern)),
            ((true, true), None),
            "every rule has a block"
        );
    }
}

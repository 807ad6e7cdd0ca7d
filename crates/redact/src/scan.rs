//! Finds secrets in whole lines.

use super::judge;
use super::rules::{self, Rule, Test};
use super::stream::Piece;
use super::{MARK, mark};
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
        scanner.find(text, &mut finds);
        finds.sort_by_key(|find| (find.span.start, find.order));
    }
    finds
}

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
    patterns: Vec<(&'static Rule, OnceLock<Option<Regex>>)>,
}

static SCANNER: LazyLock<Option<Scanner>> = LazyLock::new(Scanner::new);

impl Scanner {
    fn new() -> Option<Self> {
        let mut words: Vec<&str> = Vec::new();
        let mut owners: Vec<Wanted> = Vec::new();
        let mut whole = 0;
        for (at, rule) in rules::all().enumerate() {
            if rule.kind == "private-key" {
                whole |= 1 << at;
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
        Some(Self { keywords, owners, whole, patterns })
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
                    let start = memrchr(b'\n', &text[..hit.start()]).map_or(0, |at| at + 1);
                    let end = memchr(b'\n', &text[hit.end()..]).map_or(text.len(), |at| hit.end() + at);
                    line = start..end;
                }
                part = part_of(text, &line, hit.start()..hit.end());
            }
            let owners = self.owners.get(hit.pattern().as_usize()).copied().unwrap_or(0);
            for_line |= owners & self.whole;
            for_part |= owners & !self.whole;
        }
        self.look(text, part, for_part, finds);
        self.look(text, line, for_line, finds);
    }

    fn look(&self, text: &[u8], line: Range<usize>, mut wanted: Wanted, finds: &mut Vec<Find>) {
        let (start, line) = (line.start, &text[line]);
        let from = finds.len();
        while wanted != 0 {
            let order = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            let Some((rule, cell)) = self.patterns.get(order) else { continue };
            let Some(regex) = compiled(cell, rule) else { continue };
            Candidate { order, rule, regex }.find(line, finds);
        }
        for find in &mut finds[from..] {
            find.span = find.span.start + start..find.span.end + start;
            find.whole = find.whole.start + start..find.whole.end + start;
        }
    }
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
    fn find(&self, line: &[u8], finds: &mut Vec<Find>) {
        let Self { order, rule, regex } = self;
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
}

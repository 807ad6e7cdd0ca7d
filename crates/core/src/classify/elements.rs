//! Elements: text that a client wrapped in a tag.

use super::PartKind;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

/// How long a fragment of the client holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lifetime {
    /// It is true at its place in the conversation only.
    Once,
    /// The newest fragment of its subject holds.
    State,
    /// All fragments of its subject hold together.
    Delta,
}

impl Lifetime {
    /// The usual lifetime of a kind.
    pub(super) fn of_kind(kind: PartKind) -> Self {
        if kind.is_instruction() { Self::State } else { Self::Once }
    }

    fn parse(name: &str) -> Option<Self> {
        match name {
            "once" => Some(Self::Once),
            "state" => Some(Self::State),
            "delta" => Some(Self::Delta),
            _ => None,
        }
    }
}

/// A text with line ends in the place of its tags.
pub(super) fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        plain.push_str(before);
        let is_tag = behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
        match behind.split_once('>').filter(|(tag, _)| is_tag && !tag.contains('\n')) {
            Some((_, after)) => {
                plain.push('\n');
                rest = after;
            }
            None => {
                plain.push('<');
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// A tag with what it holds.
#[derive(Clone, Debug)]
pub(super) struct Element<'a> {
    pub(super) name: &'a str,
    pub(super) range: Range<usize>,
    pub(super) inner: Range<usize>,
}

/// What a tag's name tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names {
    pub(super) kind: Option<PartKind>,
    pub(super) lifetime: Option<Lifetime>,
    /// The tag stands in the table.
    pub(super) is_known: bool,
}

struct Tags {
    /// By name, in lower case.
    known: HashMap<String, (PartKind, Lifetime)>,
    words: Vec<(PartKind, Lifetime, Vec<&'static str>)>,
}

static TAGS: LazyLock<Tags> = LazyLock::new(|| {
    let rows = |table: &'static str| {
        let lines = table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| line.split('\t').collect::<Vec<_>>())
    };
    let known = rows(include_str!("../../data/classify/tags.tsv")).filter_map(|row| {
        Some((row.first()?.to_lowercase(), (PartKind::parse(row.get(1)?)?, Lifetime::parse(row.get(2)?)?)))
    });
    let words = rows(include_str!("../../data/classify/tag_words.tsv")).filter_map(|row| {
        let words = row.get(2)?.split(' ').collect();
        Some((PartKind::parse(row.first()?)?, Lifetime::parse(row.get(1)?)?, words))
    });
    Tags { known: known.collect(), words: words.collect() }
});

/// Elements of HTML and of other markup that people write themselves.
const MARKUP: [&str; 40] = [
    "a", "abbr", "article", "b", "body", "br", "button", "center", "code", "dd", "details", "div", "dl",
    "dt", "em", "figure", "footer", "form", "h1", "h2", "h3", "h4", "head", "header", "hr", "html", "i",
    "img", "input", "kbd", "li", "nav", "ol", "p", "pre", "script", "span", "style", "table", "ul",
];

impl Element<'_> {
    pub(super) fn names(&self) -> Names {
        let name = self.name.to_lowercase();
        if let Some(&(kind, lifetime)) = TAGS.known.get(&name) {
            return Names { kind: Some(kind), lifetime: Some(lifetime), is_known: true };
        }
        let snake = name.replace(['-', ':', ' '], "_");
        let tokens: Vec<&str> = snake.split('_').collect();
        let told = TAGS.words.iter().find(|(_, _, words)| {
            words.iter().any(|word| snake == *word || (!word.contains('_') && tokens.contains(word)))
        });
        let kind = told.map(|(kind, ..)| *kind);
        Names { kind, lifetime: told.map(|(_, lifetime, _)| *lifetime), is_known: false }
    }
}

/// The elements of a text, outermost only, in order. A tag counts at the beginning of a line or behind another element; one that the
/// table knows counts anywhere.
pub(super) fn find(text: &str) -> Vec<Element<'_>> {
    let tags = tags(text);
    let closed = closed(&tags);
    let mut found: Vec<Element<'_>> = Vec::new();
    let mut end = 0;
    // Where the first word behind the last element begins.
    let mut next_word = 0;
    for (tag, close) in tags.iter().zip(&closed) {
        let Some(close) = close.map(|at| &tags[at]).filter(|_| tag.range.start >= end) else { continue };
        let follows = !found.is_empty() && tag.range.start <= next_word;
        if tag.counts(follows) {
            end = close.range.end;
            next_word = text.len() - text[end..].trim_start().len();
            let inner = tag.range.end..close.range.start;
            found.push(Element { name: tag.name, range: tag.range.start..end, inner });
        }
    }
    if let Some(agents) = agents_file(text) {
        found.retain(|element| element.range.start >= agents.range.end);
        found.insert(0, agents);
    }
    found
}

/// Project instructions as Codex gives them begin with a heading and end with a tag.
fn agents_file(text: &str) -> Option<Element<'_>> {
    const LEAD: &str = "# AGENTS.md instructions";
    const CLOSE: &str = "</INSTRUCTIONS>";
    let start = text.len() - text.trim_start().len();
    let end = text.find(CLOSE).filter(|_| text[start..].starts_with(LEAD))? + CLOSE.len();
    Some(Element { name: "INSTRUCTIONS", range: 0..end, inner: start..end })
}

/// The longest opening tag, attributes included.
const LONGEST_TAG: usize = 400;
/// The one tag of a client whose name is two words.
const PERMISSIONS: &str = "permissions instructions";

/// One tag, opening or closing.
struct Tag<'a> {
    name: &'a str,
    range: Range<usize>,
    is_close: bool,
    begins_line: bool,
}

impl Tag<'_> {
    /// Returns true if the tag may begin an element. `follows`: directly behind another element.
    fn counts(&self, follows: bool) -> bool {
        let lower = self.name.to_ascii_lowercase();
        // Components of user interfaces begin with a capital; clients write all of a name in capitals.
        let is_shouted = self.name.contains('_') && !self.name.contains(|c: char| c.is_ascii_lowercase());
        let is_component = self.name.starts_with(|c: char| c.is_ascii_uppercase()) && !is_shouted;
        let is_own_markup = MARKUP.contains(&lower.as_str()) || is_component;
        TAGS.known.contains_key(&lower) || ((self.begins_line || follows) && !is_own_markup)
    }
}

/// The tags of a text, in one pass.
fn tags(text: &str) -> Vec<Tag<'_>> {
    let bytes = text.as_bytes();
    let mut tags = Vec::new();
    let mut begins_line = true;
    let mut at = 0;
    while at < bytes.len() {
        let tag = (bytes[at] == b'<').then(|| tag(text, at, begins_line)).flatten();
        match tag {
            Some(tag) => {
                at = tag.range.end;
                begins_line = false;
                tags.push(tag);
            }
            None => {
                begins_line = bytes[at] == b'\n' || (begins_line && bytes[at].is_ascii_whitespace());
                at += 1;
            }
        }
    }
    tags
}

fn tag(text: &str, start: usize, begins_line: bool) -> Option<Tag<'_>> {
    let rest = &text[start + 1..];
    let (rest, is_close) = rest.strip_prefix('/').map_or((rest, false), |rest| (rest, true));
    let name_start = text.len() - rest.len();
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | ':');
    let end = rest.find(|c| !is_name(c))?;
    let mut name = rest.get(..end).filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic()))?;
    if rest.starts_with(PERMISSIONS) {
        name = &rest[..PERMISSIONS.len()];
    }
    let behind = &rest[name.len()..];
    let bracket = crate::text::head(behind, LONGEST_TAG + 1).find('>')?;
    let attributes = &behind[..bracket];
    let is_sound = attributes.is_empty() || (!is_close && attributes.starts_with(char::is_whitespace));
    (is_sound && !attributes.contains(['<', '\n'])).then(|| Tag {
        name,
        range: start..name_start + name.len() + bracket + 1,
        is_close,
        begins_line,
    })
}

/// For each opening tag, the closing one that belongs to it.
fn closed(tags: &[Tag<'_>]) -> Vec<Option<usize>> {
    let mut closed = vec![None; tags.len()];
    let mut open: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, tag) in tags.iter().enumerate() {
        if !tag.is_close {
            open.entry(tag.name).or_default().push(at);
        } else if let Some(opened) = open.get_mut(tag.name).and_then(Vec::pop) {
            closed[opened] = Some(at);
        }
    }
    closed
}

/// Returns true for the text in which Claude Code says that a command of a file was run: the file's text follows. For its own
/// commands the name stands first.
pub(super) fn is_command(text: &str) -> bool {
    text.trim_start().starts_with("<command-message>")
}

/// What was typed behind a command.
pub(super) fn command_arguments(text: &str) -> Option<&str> {
    let typed = text.split_once("<command-args>")?.1.split_once("</command-args>")?.0.trim();
    (typed.len() >= SHORTEST_ARGUMENTS).then_some(typed)
}

/// Shorter arguments may stand in a file by chance.
const SHORTEST_ARGUMENTS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_whole() {
        let rows =
            |table: &str| table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
        assert_eq!(TAGS.known.len(), rows(include_str!("../../data/classify/tags.tsv")));
        assert_eq!(TAGS.words.len(), rows(include_str!("../../data/classify/tag_words.tsv")));
    }

    #[test]
    fn elements_are_outermost_and_balanced() {
        let text =
            "<a-b>\n<a-b>x</a-b>\n</a-b> and <c-d>not at a line's start</c-d>\n<div>own</div>\n<open-only>";
        let names: Vec<(&str, &str)> =
            find(text).iter().map(|element| (element.name, &text[element.inner.clone()])).collect();
        assert_eq!(names, [("a-b", "\n<a-b>x</a-b>\n")]);
    }
}

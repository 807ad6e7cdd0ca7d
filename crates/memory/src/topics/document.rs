//! A memory's file: a frontmatter and a body, changed without harm to what people wrote.

use super::meta::Meta;
use super::metadata;
use super::yaml::{self, after_key, one_line};
use super::{NewTopic, TopicType};
use serde::Deserialize;
use std::ops::Range;

/// A memory's file, taken apart.
#[derive(Debug)]
pub(super) struct Document<'a> {
    source: &'a str,
    /// The lines between the two markers.
    front: Option<Range<usize>>,
    /// Where the body begins.
    body: usize,
    /// What the frontmatter says.
    pub(super) head: Head,
    /// What is wrong with it.
    pub(super) flaw: Option<String>,
}

/// What a frontmatter says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) kind: Option<TopicType>,
    /// Whether the type stands among the metadata.
    pub(super) is_kind_below: bool,
    pub(super) meta: Meta,
}

/// The keys we know, as text. All others are skipped.
#[derive(Debug, Default, Deserialize)]
struct Front {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
}

/// What is to be set. `None` stays.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Values<'a> {
    pub(super) name: Option<&'a str>,
    pub(super) description: Option<&'a str>,
    pub(super) kind: Option<TopicType>,
    pub(super) meta: Option<&'a Meta>,
}

impl<'a> Document<'a> {
    /// Takes a file apart. It never fails: what is wrong is in `flaw`, and what can be read is read.
    pub(super) fn parse(source: &'a str) -> Self {
        let start = if source.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let mut lines = source[start..].split_inclusive('\n');
        let none = |flaw: &str| Self {
            source,
            front: None,
            body: start,
            head: Head::default(),
            flaw: Some(flaw.to_owned()),
        };
        let Some(first) = lines.next().filter(|line| is_marker(line, "---")) else {
            return none(
                "it has no frontmatter; begin it with name, description and type between two lines of ---",
            );
        };
        let front_start = start + first.len();
        let mut at = front_start;
        for line in lines {
            if is_marker(line, "---") || is_marker(line, "...") {
                let (head, flaw) = read(&source[front_start..at]);
                return Self { source, front: Some(front_start..at), body: at + line.len(), head, flaw };
            }
            at += line.len();
        }
        none("its frontmatter does not end; close it with a line of ---")
    }

    /// Where the lines of the frontmatter are, and where the text behind it begins; `None` if there is none.
    pub(super) fn places(&self) -> Option<(Range<usize>, usize)> {
        Some((self.front.clone()?, self.body))
    }

    /// All that stands behind the frontmatter, without the blank lines around it.
    pub(super) fn body(&self) -> &'a str {
        self.source[self.body..].trim_start_matches(['\n', '\r']).trim_end()
    }

    /// The file with other values, and another body if there is one. Everything else stays to the byte.
    pub(super) fn with(&self, values: Values<'_>, body: Option<&str>) -> Result<String, String> {
        let eol = line_end(self.source);
        let bom = if self.source.starts_with('\u{feff}') { "\u{feff}" } else { "" };
        let mut front = match &self.front {
            Some(range) => self.source[range.clone()].to_owned(),
            None if self.source[bom.len()..].starts_with("---") => return Err("it does not end".to_owned()),
            None => String::new(),
        };
        let pairs = [
            ("name", values.name.map(yaml::scalar)),
            ("description", values.description.map(yaml::scalar)),
            ("type", values.kind.filter(|_| !self.head.is_kind_below).map(|kind| kind.name().to_owned())),
        ];
        for (key, value) in pairs {
            if let Some(value) = value {
                front = set(&front, (key, &value), eol);
            }
        }
        if let Some(kind) = values.kind.filter(|_| self.head.is_kind_below) {
            front = metadata::set_kind(&front, kind, eol)?;
        }
        if let Some(meta) = values.meta {
            front = metadata::set(&front, (&self.head.meta, meta), eol)?;
        }
        if self.front.is_none() && front.is_empty() {
            // Only the body is new: nobody asked for a frontmatter.
            let body = body.map(|body| format!("{}{eol}", with_line_ends(body.trim(), eol)));
            return Ok(body.map_or_else(|| self.source.to_owned(), |body| format!("{bom}{body}")));
        }
        verify(&front, values, &self.head)?;
        let close = match &self.front {
            Some(range) => &self.source[range.end..self.body],
            None => "---\n",
        };
        let close = if close.ends_with('\n') { close.to_owned() } else { format!("{close}{eol}") };
        let rest = match body {
            Some(body) => format!("{eol}{}{eol}", with_line_ends(body.trim(), eol)),
            None if self.front.is_none() => format!("{eol}{}", &self.source[self.body..]),
            None => self.source[self.body..].to_owned(),
        };
        let open = match &self.front {
            Some(range) => &self.source[bom.len()..range.start],
            None => "---\n",
        };
        Ok(format!("{bom}{}{front}{}{rest}", with_line_ends(open, eol), with_line_ends(&close, eol)))
    }
}

/// A new file.
pub(super) fn compose(topic: &NewTopic) -> String {
    let (name, description) = (yaml::scalar(&topic.name), yaml::scalar(&topic.description));
    let (kind, metadata, body) = (topic.kind, metadata::compose(&topic.meta), topic.body.trim());
    format!("---\nname: {name}\ndescription: {description}\ntype: {kind}\n{metadata}---\n\n{body}\n")
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.trim_end() == marker
}

/// The line ends of a text: those of its first line.
pub(super) fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        Some(_) | None => "\n",
    }
}

fn with_line_ends(text: &str, eol: &str) -> String {
    let text = text.replace("\r\n", "\n");
    if eol == "\n" { text } else { text.replace('\n', eol) }
}

fn read(source: &str) -> (Head, Option<String>) {
    let (front, mut flaw) = match parse_yaml(source) {
        Ok(front) => (front, None),
        // People and models forget quotes. What the lines say is taken, and the flaw reported.
        Err(why) => {
            (by_lines(source), Some(format!("its frontmatter is not YAML ({why}); quote its values")))
        }
    };
    let below = if flaw.is_none() { metadata::read(source) } else { metadata::Understood::default() };
    let text = |value: Option<String>| value.map(|value| one_line(&value)).filter(|value| !value.is_empty());
    let (name, description, word) = (text(front.name), text(front.description), text(front.kind));
    // Other tools write the type among the metadata.
    let is_kind_below = word.is_none() && below.kind.is_some();
    let word = word.or_else(|| text(below.kind));
    let kind = word.as_deref().map(str::parse::<TopicType>);
    if flaw.is_none() {
        flaw = match &kind {
            Some(Err(why)) => Some(why.clone()),
            None => Some("its frontmatter has no type: user, feedback, project or reference".to_owned()),
            Some(Ok(_)) if name.is_none() => Some("its frontmatter has no name".to_owned()),
            Some(Ok(_)) if description.is_none() => Some("its frontmatter has no description".to_owned()),
            Some(Ok(_)) => below.flaw,
        };
    }
    (Head { name, description, kind: kind.and_then(Result::ok), is_kind_below, meta: below.meta }, flaw)
}

fn parse_yaml(front: &str) -> Result<Front, String> {
    if front.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Front::default());
    }
    serde_saphyr::from_str::<Front>(front).map_err(|error| {
        let text = error.to_string();
        one_line(text.lines().next().unwrap_or_default())
    })
}

fn by_lines(front: &str) -> Front {
    let value = |key: &str| {
        let line = front.lines().find_map(|line| after_key(line, key))?;
        let line = line.trim();
        let inner = line.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        Some(inner.unwrap_or(line).to_owned())
    };
    Front { name: value("name"), description: value("description"), kind: value("type") }
}

/// The frontmatter with `key: value`, in the place where the key is now, or at the end.
fn set(front: &str, (key, value): (&str, &str), eol: &str) -> String {
    let mut out = String::with_capacity(front.len() + value.len());
    let mut is_set = false;
    let mut inside = false;
    let mut blank = String::new();
    for line in front.split_inclusive('\n') {
        // A value goes on over lines that are indented, and blank ones before those.
        if inside && line.trim().is_empty() {
            blank.push_str(line);
            continue;
        }
        if inside && line.starts_with([' ', '\t']) {
            blank.clear();
            continue;
        }
        out.push_str(&std::mem::take(&mut blank));
        inside = !is_set && after_key(line, key).is_some();
        if inside {
            is_set = true;
            out.push_str(&format!("{key}: {value}{eol}"));
        } else {
            out.push_str(line);
        }
    }
    out.push_str(&blank);
    if !is_set {
        if !out.is_empty() && !out.ends_with('\n') {
            out.push_str(eol);
        }
        out.push_str(&format!("{key}: {value}{eol}"));
    }
    out
}

/// Reads a changed frontmatter back: what was set must be there, and what was not must be as before.
fn verify(front: &str, values: Values<'_>, before: &Head) -> Result<(), String> {
    parse_yaml(front)?;
    let (now, _) = read(front);
    let wanted = Head {
        name: values.name.map(str::to_owned).or_else(|| before.name.clone()),
        description: values.description.map(str::to_owned).or_else(|| before.description.clone()),
        kind: values.kind.or(before.kind),
        is_kind_below: before.is_kind_below,
        meta: values.meta.unwrap_or(&before.meta).clone(),
    };
    if now == wanted { Ok(()) } else { Err("it would not be read back as written".to_owned()) }
}

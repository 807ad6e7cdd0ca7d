//! The block `metadata:` of a frontmatter: read leniently, changed without harm to the keys of others.

use super::TopicType;
use super::meta::{Anchor, By, Meta, Source};
use super::yaml::{after_key, flow};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The key in the frontmatter.
pub(super) const METADATA: &str = "metadata";

/// Our keys in it, in the order in which they are written.
const KEYS: [&str; 6] = ["created", "expires", "superseded_by", "evidence", "anchors", "sources"];

/// What a frontmatter says under `metadata:`.
#[derive(Debug, Default)]
pub(super) struct Understood {
    pub(super) meta: Meta,
    /// The memory's type, which other tools write here.
    pub(super) kind: Option<String>,
    /// What can't be understood.
    pub(super) flaw: Option<String>,
}

/// Reads what a frontmatter says under `metadata:`. It never fails.
pub(super) fn read(front: &str) -> Understood {
    #[derive(Deserialize)]
    struct Front {
        #[serde(default)]
        metadata: Value,
    }
    if !front.lines().any(|line| after_key(line, METADATA).is_some()) {
        return Understood::default();
    }
    let flaw = |what: &str| Understood { flaw: Some(what.to_owned()), ..Understood::default() };
    match serde_saphyr::from_str::<Front>(front) {
        Ok(Front { metadata: Value::Object(map) }) => understand(&map),
        Ok(Front { metadata: Value::Null }) => Understood::default(),
        Ok(Front { metadata: Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) }) => {
            flaw("its metadata is not a mapping of keys to values")
        }
        Err(_) => flaw("its metadata can't be read as YAML"),
    }
}

fn understand(map: &Map<String, Value>) -> Understood {
    let mut wrong: Vec<String> = Vec::new();
    let mut meta = Meta::default();
    let mut time = |key: &str| {
        let value = map.get(key).filter(|value| !value.is_null())?;
        let time = value.as_str().and_then(timestamp);
        if time.is_none() {
            wrong.push(format!("{key} is no time such as 2026-07-01T12:00:00Z"));
        }
        time
    };
    meta.created = time("created");
    meta.expires = time("expires");
    match map.get("superseded_by") {
        None | Some(Value::Null) => {}
        Some(Value::String(file)) => meta.superseded_by = Some(file.clone()),
        Some(_) => wrong.push("superseded_by is no file name".to_owned()),
    }
    match map.get("evidence").map(|value| value.as_u64().and_then(|n| u32::try_from(n).ok())) {
        None => {}
        Some(Some(evidence)) => meta.evidence = evidence,
        Some(None) => wrong.push("evidence is no count".to_owned()),
    }
    let mut list = |key: &str, mut take: Box<dyn FnMut(&Value) -> bool + '_>| match map.get(key) {
        None | Some(Value::Null) => {}
        Some(Value::Array(items)) => {
            let not: Vec<usize> = (1..).zip(items).filter(|(_, item)| !take(item)).map(|(n, _)| n).collect();
            wrong.extend(not.iter().map(|n| format!("number {n} of its {key} can't be understood")));
        }
        Some(_) => wrong.push(format!("{key} is no list")),
    };
    list(
        "anchors",
        Box::new(|item| {
            let anchor = item.as_str().and_then(|text| text.parse::<Anchor>().ok());
            meta.anchors.extend(anchor.clone());
            anchor.is_some()
        }),
    );
    list(
        "sources",
        Box::new(|item| {
            let source = source(item);
            meta.sources.extend(source.clone());
            source.is_some()
        }),
    );
    let flaw = (!wrong.is_empty()).then(|| format!("in its metadata {}", wrong.join("; ")));
    Understood { meta, kind: map.get("type").and_then(Value::as_str).map(str::to_owned), flaw }
}

fn source(value: &Value) -> Option<Source> {
    let map = value.as_object()?;
    // People leave quotes away: a number is a fine id.
    let text = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    };
    Some(Source {
        by: map.get("by")?.as_str()?.parse::<By>().ok()?,
        session: map.get("session").and_then(text),
        messages: map
            .get("messages")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(text)
            .collect(),
        at: map.get("at")?.as_str().and_then(timestamp)?,
        quote: map.get("quote").and_then(text).unwrap_or_default(),
    })
}

/// A time, or a date that people wrote.
fn timestamp(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| format!("{text}T00:00:00Z").parse().ok())
}

/// The block of a new file; empty where there is nothing to say.
pub(super) fn compose(meta: &Meta) -> String {
    let lines: String =
        KEYS.iter().flat_map(|key| lines(key, meta)).map(|line| format!("  {line}\n")).collect();
    if lines.is_empty() { lines } else { format!("{METADATA}:\n{lines}") }
}

/// A key's lines in a block; none where there is nothing to say.
fn lines(key: &str, meta: &Meta) -> Vec<String> {
    if key == "sources" && !meta.sources.is_empty() {
        let each = meta.sources.iter().map(|source| format!("  - {}", source_value(source)));
        return std::iter::once("sources:".to_owned()).chain(each).collect();
    }
    value(key, meta).map(|value| format!("{key}: {value}")).into_iter().collect()
}

/// A key's value in one line.
fn value(key: &str, meta: &Meta) -> Option<String> {
    let time = |time: Timestamp| format!("{time:.0}");
    match key {
        "created" => meta.created.map(time),
        "expires" => meta.expires.map(time),
        "superseded_by" => meta.superseded_by.as_deref().map(flow),
        "evidence" => (meta.evidence > 0).then(|| meta.evidence.to_string()),
        "anchors" => (!meta.anchors.is_empty())
            .then(|| list(meta.anchors.iter().map(|anchor| flow(&anchor.to_string())))),
        "sources" => (!meta.sources.is_empty()).then(|| list(meta.sources.iter().map(source_value))),
        _ => None,
    }
}

fn source_value(source: &Source) -> String {
    let mut parts = vec![format!("by: {}", source.by), format!("at: {:.0}", source.at)];
    parts.extend(source.session.as_ref().map(|id| format!("session: {}", flow(id))));
    if !source.messages.is_empty() {
        parts.push(format!("messages: {}", list(source.messages.iter().map(|id| flow(id)))));
    }
    if !source.quote.is_empty() {
        parts.push(format!("quote: {}", flow(&source.quote)));
    }
    format!("{{{}}}", parts.join(", "))
}

fn list(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(", "))
}

/// The frontmatter with other metadata. Keys of ours whose value stays are not touched, nor are those of others.
pub(super) fn set(front: &str, (old, new): (&Meta, &Meta), eol: &str) -> Result<String, String> {
    let changed = KEYS.into_iter().filter(|key| value(key, old) != value(key, new));
    write(front, changed.map(|key| Entry::of(key, new)).collect(), eol)
}

/// The frontmatter with another type in the metadata, where another tool wrote it.
pub(super) fn set_kind(front: &str, kind: TopicType, eol: &str) -> Result<String, String> {
    let entry = Entry { key: "type", lines: vec![format!("type: {kind}")], value: Some(kind.to_string()) };
    write(front, vec![entry], eol)
}

/// A key with what is to stand behind it: nothing, if it is to go.
struct Entry {
    key: &'static str,
    /// In a block.
    lines: Vec<String>,
    /// In braces.
    value: Option<String>,
}

impl Entry {
    fn of(key: &'static str, meta: &Meta) -> Self {
        Self { key, lines: lines(key, meta), value: value(key, meta) }
    }
}

fn write(front: &str, changed: Vec<Entry>, eol: &str) -> Result<String, String> {
    if changed.is_empty() {
        return Ok(front.to_owned());
    }
    let mut at = 0;
    let found = front.split_inclusive('\n').find_map(|line| {
        let start = at;
        at += line.len();
        after_key(line, METADATA).map(|rest| (start, at, rest))
    });
    let Some((start, end, rest)) = found else {
        let gap = if front.is_empty() || front.ends_with('\n') { "" } else { eol };
        let lines = changed.iter().flat_map(|entry| &entry.lines);
        let block: String = lines.map(|line| format!("  {line}{eol}")).collect();
        return Ok(format!("{front}{gap}{METADATA}:{eol}{block}"));
    };
    let rest = rest.trim();
    if rest.starts_with('{') {
        let open = start + front[start..end].find('{').unwrap_or_default();
        return set_flow(front, open, &changed);
    }
    if !rest.is_empty() && !rest.starts_with('#') {
        return Err("its metadata is not a mapping of keys to values".to_owned());
    }
    let block: usize = front[end..]
        .split_inclusive('\n')
        .take_while(|line| line.starts_with([' ', '\t']) || line.trim().is_empty())
        .map(str::len)
        .sum();
    let (head, block, tail) = (&front[..end], &front[end..end + block], &front[end + block..]);
    let gap = if head.ends_with('\n') { "" } else { eol };
    Ok(format!("{head}{gap}{}{tail}", set_block(block, &changed, eol)))
}

fn set_block(block: &str, changed: &[Entry], eol: &str) -> String {
    let says = |line: &&str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let indent = block.lines().find(says).map_or("  ", |line| &line[..line.len() - line.trim_start().len()]);
    let write = |out: &mut String, entry: &Entry| {
        for line in &entry.lines {
            out.push_str(&format!("{indent}{line}{eol}"));
        }
    };
    let mut out = String::with_capacity(block.len() + 256);
    let mut missing: Vec<&Entry> = changed.iter().collect();
    let mut inside = false;
    // Where the last line that says something ends: new keys go there, before blank lines.
    let mut end = 0;
    for line in block.split_inclusive('\n') {
        let own = line.strip_prefix(indent);
        let goes_on = own.is_none_or(|own| own.starts_with([' ', '\t', '-']) || own.trim().is_empty());
        if inside && goes_on && !line.trim().is_empty() {
            continue;
        }
        let entry = own.and_then(|own| changed.iter().find(|entry| after_key(own, entry.key).is_some()));
        inside = entry.is_some();
        match entry {
            Some(entry) => {
                if missing.iter().any(|other| other.key == entry.key) {
                    write(&mut out, entry);
                }
                missing.retain(|other| other.key != entry.key);
            }
            None => out.push_str(line),
        }
        if !line.trim().is_empty() {
            if !out.is_empty() && !out.ends_with('\n') {
                out.push_str(eol);
            }
            end = out.len();
        }
    }
    let blank = out.split_off(end);
    for entry in missing {
        write(&mut out, entry);
    }
    out + &blank
}

/// Sets keys within braces: `metadata: {node_type: memory}`.
fn set_flow(front: &str, open: usize, changed: &[Entry]) -> Result<String, String> {
    let (items, close) = items(front, open).ok_or("its metadata does not end")?;
    let is_changed = |item: &str| {
        let key = item.split_once(':').map(|(key, _)| key.trim().trim_matches(['"', '\'']));
        key.is_some_and(|key| changed.iter().any(|entry| entry.key == key))
    };
    let kept = items.into_iter().filter(|item| !item.trim().is_empty() && !is_changed(item));
    let added = changed.iter().filter_map(|entry| Some(format!(" {}: {}", entry.key, entry.value.as_ref()?)));
    let inner = kept.map(str::to_owned).chain(added).collect::<Vec<_>>().join(",");
    Ok(format!("{}{{{}{}", &front[..open], inner.trim_start(), &front[close..]))
}

/// The items of a mapping in braces, and where its closing brace is.
fn items(text: &str, open: usize) -> Option<(Vec<&str>, usize)> {
    let mut items = Vec::new();
    let mut depth = 0_u32;
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    let mut begin = open + 1;
    for (at, c) in text[open..].char_indices().map(|(at, c)| (open + at, c)) {
        if let Some(mark) = quote {
            if is_escaped {
                is_escaped = false;
            } else if c == '\\' && mark == '"' {
                is_escaped = true;
            } else if c == mark {
                quote = None;
            }
            continue;
        }
        match c {
            // Only where a value begins; within one an apostrophe is an apostrophe.
            '"' | '\'' if text[..at].trim_end().ends_with([',', ':', '{', '[']) => quote = Some(c),
            '{' | '[' => depth += 1,
            ',' if depth == 1 => {
                items.push(&text[begin..at]);
                begin = at + 1;
            }
            '}' | ']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    items.push(&text[begin..at]);
                    return Some((items, at));
                }
            }
            _ => {}
        }
    }
    None
}

//! What of a memory's file a model sees and writes: all but what is ours.

use super::MemoryFiles;
use crate::topics::raw::{front_of, meta_of, one_line, parted, scalar, with_meta};
use crate::topics::{By, Meta, Source, TopicType};
use jiff::Timestamp;
use throughline_core::text::head;
use throughline_redact::redact;

/// Characters that describe a memory which came without a description.
const DESCRIBED: usize = 200;

/// What a model sees of a file.
pub(super) fn seen(file: &str, text: &str) -> String {
    let Some((front, body)) = front_of(text) else { return text.to_owned() };
    let (plain, _) = parted(&text[front.clone()]);
    let (open, close) = (&text[..front.start], &text[front.end..body]);
    let rest = &text[body..];
    let inner = rest.strip_prefix('\n').unwrap_or(rest);
    if plain == made(file, inner) {
        return inner.to_owned();
    }
    format!("{open}{plain}{close}{rest}")
}

/// The frontmatter, but for metadata, of a file that came without one.
fn made(file: &str, text: &str) -> String {
    let stem = file.trim_end_matches(".md");
    let (kind, rest) = match stem.split_once(['_', '-']) {
        Some((word, rest)) => match word.parse::<TopicType>() {
            Ok(kind) => (kind, rest),
            Err(_) => (TopicType::Project, stem),
        },
        None => (TopicType::Project, stem),
    };
    let words = one_line(&rest.replace(['_', '-'], " "));
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.clone().next().unwrap_or_default();
    let heading = first.strip_prefix('#').map(|line| line.trim_start_matches('#').trim());
    let name = heading.filter(|name| !name.is_empty()).map_or(words, |name| head(name, 100).to_owned());
    let said = lines.find(|line| !line.starts_with('#')).unwrap_or(first);
    let description = redact(&one_line(head(said, DESCRIBED))).into_text();
    format!("name: {}\ndescription: {}\ntype: {kind}\n", scalar(&name), scalar(&description))
}

/// The file that holds what a model wrote; `before`: the file as it was.
pub(super) fn file(
    tool: &MemoryFiles,
    (file, before): (&str, Option<&str>),
    written: &str,
    now: Timestamp,
) -> Result<String, String> {
    let was = before.map(|text| (meta_of(text), front_of(text).map(|(front, _)| parted(&text[front]).1)));
    let (meta, block) = match was {
        // A person's file without a frontmatter gets none.
        Some((_, None)) if front_of(written).is_none() => return Ok(written.to_owned()),
        Some((meta, block)) => (meta, block.unwrap_or_default()),
        None => (Meta { created: Some(now), evidence: 1, ..Meta::default() }, String::new()),
    };
    let text = match front_of(written) {
        Some((front, body)) => {
            // Where a memory comes from is not for a model to say.
            let (plain, _) = parted(&written[front.clone()]);
            format!(
                "{}{plain}{block}{}{}",
                &written[..front.start],
                &written[front.end..body],
                &written[body..]
            )
        }
        None => format!("---\n{}{block}---\n\n{written}", made(file, written)),
    };
    with_meta(&text, noted(meta, tool.session.as_deref(), now))
        .map_err(|why| format!("Error: The frontmatter of {file} can't be kept as written: {why}"))
}

/// With the agent among the sources, once. What people said is never pushed out by it.
fn noted(mut meta: Meta, session: Option<&str>, now: Timestamp) -> Meta {
    let source = Source {
        by: By::Agent,
        session: session.map(str::to_owned),
        messages: Vec::new(),
        at: now,
        quote: String::new(),
    };
    meta.sources.retain(|source| source.by != By::Agent);
    if meta.sources.len() < crate::topics::MOST_SOURCES {
        meta.sources.push(source);
    }
    meta
}

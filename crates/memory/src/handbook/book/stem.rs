//! What the file of a session's summary is called.

use crate::store::Source;

const FOLDER: &str = "rollout_summaries";
/// Characters of the name's last part.
const MOST_SLUG: usize = 60;

/// `YYYY-MM-DDTHH-MM-SS-<4 characters>-<slug>`: sorted by time, and never the same for two sessions of one second.
pub fn summary_stem(source: &Source, slug: &str) -> String {
    let began = source.created.unwrap_or(source.updated);
    let time = began.strftime("%Y-%m-%dT%H-%M-%S");
    let hash = blake3::hash(source.session.as_str().as_bytes()).to_hex();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = slug.chars().map(plain).collect();
    let words: Vec<&str> = words.split('-').filter(|word| !word.is_empty()).collect();
    let slug = words.join("-");
    let slug = slug.get(..MOST_SLUG).unwrap_or(&slug).trim_end_matches('-');
    let slug = if slug.is_empty() { "session" } else { slug };
    format!("{time}-{}-{slug}", &hash[..4])
}

/// The path of a session's summary in the handbook's folder.
pub fn summary_path(source: &Source, slug: &str) -> String {
    format!("{FOLDER}/{}.md", summary_stem(source, slug))
}

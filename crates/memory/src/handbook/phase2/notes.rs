//! Notes by hand (H6): "remember this", a small file each. We never edit or remove one.

use super::error::Phase2Error;
use super::folder::Files;
use super::paths::{INSTRUCTIONS, NOTES};
use super::workspace::Workspace;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use throughline_core::prompt;
use throughline_redact::redact;

const SEED: &str = include_str!("../../../../../prompts/handbook_notes.md");
/// Characters of a name's slug.
const SLUG: usize = 48;
/// How a time stands in a name, and its length.
const TIME: &str = "%Y-%m-%dT%H-%M-%S";
const TIME_LENGTH: usize = 19;
/// Names that are tried for two notes of one second with the same words.
const TRIES: usize = 1_000;

/// A note that somebody wrote by hand. Its words are the user's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandNote {
    /// The name of its file, among the handbook's notes.
    pub file: String,
    /// What it says, without secrets.
    pub text: String,
    /// When it was written: its name says so, or else the file system; `None` if neither does.
    pub at: Option<Timestamp>,
}

impl Workspace {
    /// Keeps a note. One with a credential in it is refused. Nothing waits for a consolidation that runs.
    pub fn add_note(&self, text: &str, now: Timestamp) -> Result<HandNote, Phase2Error> {
        let refuse = |why: String| Err(Phase2Error::Note { why });
        let clean = redact(text.trim());
        if !clean.is_clean() {
            return refuse(format!(
                "it holds a credential ({}); leave the value out, and say where it is kept instead",
                clean.distinct_kinds().join(", ")
            ));
        }
        let text = clean.into_text();
        if text.is_empty() {
            return refuse("it says nothing".to_owned());
        }
        let most = self.limits.note_bytes;
        if text.len() > most {
            return refuse(format!("it has {} bytes, over the limit of {most}", text.len()));
        }
        if self.notes()?.len() >= self.limits.notes {
            return refuse(format!(
                "there are {} notes already; delete some in {}",
                self.limits.notes,
                self.folder.0.join(NOTES).display()
            ));
        }
        self.prepare()?;
        let slug = slug(&text);
        let time = now.to_zoned(TimeZone::UTC).strftime(TIME).to_string();
        let content = format!("{text}\n");
        let slugs = std::iter::once(slug.clone()).chain((2..).map(|n| format!("{slug}-{n}")));
        for slug in slugs.take(TRIES) {
            let file = format!("{time}-{slug}.md");
            if self.folder.create(&format!("{NOTES}/{file}"), content.as_bytes())? {
                return Ok(HandNote { at: time_of(&file), text, file });
            }
        }
        refuse(format!("there are {TRIES} notes with its name"))
    }

    /// The notes, oldest first; at most [`HandbookLimits::notes`](crate::handbook::HandbookLimits::notes), the newest of them. What is
    /// no text, or too long for a note, is cut.
    pub fn notes(&self) -> Result<Vec<HandNote>, Phase2Error> {
        Ok(self.notes_in(&self.folder.files()?))
    }

    /// The notes among files, oldest first.
    pub(super) fn notes_in(&self, files: &Files) -> Vec<HandNote> {
        let read = |(path, bytes): (&String, &Vec<u8>)| {
            let file = path.strip_prefix(NOTES)?.strip_prefix('/')?;
            let text = String::from_utf8_lossy(bytes);
            let text = redact(cut(text.trim(), self.limits.note_bytes)).into_text();
            let at = time_of(file).or_else(|| self.folder.modified(path));
            (!text.is_empty()).then(|| HandNote { file: file.to_owned(), at, text })
        };
        let mut notes: Vec<HandNote> = files.iter().filter_map(read).collect();
        notes.sort_by(|a, b| a.at.cmp(&b.at).then_with(|| a.file.cmp(&b.file)));
        notes.drain(..notes.len().saturating_sub(self.limits.notes));
        notes
    }

    /// What people want done with their notes is seeded once; what they make of it stays.
    pub(super) fn seed_instructions(&self) -> Result<(), Phase2Error> {
        self.folder.create(INSTRUCTIONS, format!("{}\n", prompt(SEED)).as_bytes()).map(|_| ())
    }
}

fn cut(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

fn time_of(file: &str) -> Option<Timestamp> {
    let time = jiff::civil::DateTime::strptime(TIME, file.get(..TIME_LENGTH)?).ok()?;
    Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp())
}

/// The first words of a text as part of a file's name.
pub(super) fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let mut slug = String::new();
    for word in
        text.chars().take(400).map(plain).collect::<String>().split('-').filter(|word| !word.is_empty())
    {
        if slug.len() + 1 + word.len() > SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(word);
    }
    if slug.is_empty() { "note".to_owned() } else { slug }
}

//! Skills (A4): listed by name, description and path; the body only when it is called for.

mod front;
mod listing;

pub(crate) use listing::{Budget, line, listing};

use super::read::{Unread, confined, read_text};
use super::sources::Sources;
use super::text::{at_line_end, inert, shown};
use super::{meta, project};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use throughline_core::tokens::Tokenizer;
use throughline_core::{Fragment, Message, text};

/// A skill that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// The name: letters, digits, `-`, `_`, `.` and `:`.
    pub name: String,
    /// What it is for and when to use it, in one line.
    pub description: String,
    /// Its SKILL.md.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: SkillOrigin,
    /// Tools that it says it needs. It is not given them for that.
    pub allowed_tools: Vec<String>,
    /// Whether only the user may call for it: the model is not told of it.
    pub user_only: bool,
    real: PathBuf,
    within: Arc<[PathBuf]>,
}

impl Skill {
    /// Its SKILL.md with all links resolved, as it was when it was found.
    pub fn real_path(&self) -> &Path {
        &self.real
    }
}

/// Whose a skill is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SkillOrigin {
    /// The project's.
    Project,
    /// The user's.
    Home,
}

/// The skills of a session, as they were found when it was last assembled.
#[derive(Clone, Debug)]
pub struct Skills {
    list: Vec<Skill>,
    warnings: Vec<String>,
    body_tokens: u64,
    tokenizer: Tokenizer,
}

impl Default for Skills {
    fn default() -> Self {
        Self { list: Vec::new(), warnings: Vec::new(), body_tokens: 0, tokenizer: Tokenizer::O200k }
    }
}

/// The body of a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillBody {
    /// The skill's name.
    pub name: String,
    /// Its SKILL.md.
    pub path: PathBuf,
    /// The whole fragment: name, path, and the file with its frontmatter.
    pub text: String,
    /// What was cut.
    pub cut: Option<String>,
}

impl SkillBody {
    /// The fragment as a message, for a skill that the user named.
    pub fn message(&self) -> Message {
        meta(self.text.clone())
    }
}

/// Why a skill can't be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillLoadError {
    /// There is none of that name.
    #[error("there is no skill {name:?}. {}", choices(.known))]
    Unknown {
        /// The name.
        name: String,
        /// What there is.
        known: Vec<String>,
    },
    /// Its file can't be read any more.
    #[error("the skill {name:?} can't be read from {}: {why}", shown(.path))]
    Unreadable {
        /// The name.
        name: String,
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
}

fn choices(known: &[String]) -> String {
    if known.is_empty() {
        "There are none here.".to_owned()
    } else {
        format!("There are: {}.", known.join(", "))
    }
}

/// Names that an error offers.
const OFFERED: usize = 40;
/// A SKILL.md of which more than this is not read.
const READ_BYTES: u64 = 256 * 1_024;
/// Entries of a folder of skills that are looked at.
const ENTRIES: usize = 10_000;
const NAME_CHARS: usize = 64;

impl Skills {
    /// Looks for skills: in `.agents/skills` and `.claude/skills` of the folders from the working folder up to the project's root, then in
    /// Throughline's home, `~/.agents/skills` and `~/.claude/skills`. Of two with one name, the first is taken.
    pub fn discover(sources: &Sources) -> Self {
        let mut skills = Self {
            list: Vec::new(),
            warnings: Vec::new(),
            body_tokens: sources.limits.skill_tokens,
            tokenizer: sources.tokenizer,
        };
        let mut by_name = BTreeMap::new();
        let mut left = sources.limits.skills;
        for (folder, within, origin) in places(sources) {
            skills.look_in(&Place { folder, within, origin }, &mut by_name, &mut left);
        }
        if left == 0 {
            let most = sources.limits.skills;
            skills.warnings.push(format!("there are more than {most} skills: the rest is left out"));
        }
        skills.list = by_name.into_values().collect();
        skills.list.sort_by(|a, b| (a.origin, &a.name).cmp(&(b.origin, &b.name)));
        skills
    }

    fn look_in(&mut self, place: &Place, found: &mut BTreeMap<String, Skill>, left: &mut usize) {
        let real = match confined(&place.folder, &place.within) {
            Ok(real) => real,
            Err(Unread::Missing) => return,
            Err(Unread::Refused(why)) => {
                self.warnings.push(format!("{} is not searched for skills: {why}", shown(&place.folder)));
                return;
            }
        };
        let Ok(entries) = fs::read_dir(real) else { return };
        let mut names: Vec<_> = entries.flatten().take(ENTRIES).map(|entry| entry.file_name()).collect();
        names.sort();
        for name in names {
            if *left == 0 {
                return;
            }
            let path = place.folder.join(&name).join("SKILL.md");
            if name.to_string_lossy().starts_with('.') || fs::symlink_metadata(&path).is_err() {
                continue;
            }
            *left -= 1;
            match self.read(&path, &name.to_string_lossy(), place) {
                Ok(skill) => self.take(skill, found),
                Err(why) => self.warnings.push(why),
            }
        }
    }

    fn take(&mut self, skill: Skill, found: &mut BTreeMap<String, Skill>) {
        match found.get(&skill.name) {
            None => {
                found.insert(skill.name.clone(), skill);
            }
            // One file by two ways.
            Some(known) if known.real == skill.real => {}
            Some(known) => self.warnings.push(format!(
                "the skill {} in {} is hidden by the one in {}",
                skill.name,
                shown(&skill.path),
                shown(&known.path)
            )),
        }
    }

    fn read(&mut self, path: &Path, folder: &str, place: &Place) -> Result<Skill, String> {
        let refused = |line: Option<u64>, why: &str| {
            let line = line.map_or(String::new(), |line| format!(", line {line}"));
            format!("no skill in {}{line}: {why}", shown(path))
        };
        let unread = |error| match error {
            Unread::Missing => refused(None, "it is a link to nowhere"),
            Unread::Refused(why) => refused(None, &why),
        };
        let real = confined(path, &place.within).map_err(unread)?;
        let file = read_text(&real, READ_BYTES).map_err(unread)?;
        self.warnings.extend(file.oddities.iter().map(|oddity| format!("{}: {oddity}", shown(path))));
        let parsed = front::parse(&file.text).map_err(|wrong| refused(Some(wrong.line), &wrong.what))?;
        let name = parsed.name.unwrap_or_else(|| folder.to_owned());
        if !is_name(&name) {
            let why = format!(
                "the name {:?} is none: letters, digits and hyphens make one",
                text::one_line(&name, 80)
            );
            return Err(refused(Some(1), &why));
        }
        if let Some(odd) = parsed.oddity {
            self.warnings.push(format!("{}, line {}: {}", shown(path), odd.line, odd.what));
        }
        Ok(Skill {
            name,
            description: parsed.description,
            path: path.to_owned(),
            origin: place.origin,
            allowed_tools: parsed.allowed_tools,
            user_only: parsed.user_only,
            real,
            within: place.within.clone(),
        })
    }

    /// All of them: the project's first, each by name.
    pub fn iter(&self) -> impl Iterator<Item = &Skill> {
        self.list.iter()
    }

    /// Those that the model is told of.
    pub(crate) fn for_model(&self) -> Vec<&Skill> {
        self.list.iter().filter(|skill| !skill.user_only).collect()
    }

    /// The skill of a name.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        self.list.iter().find(|skill| skill.name == name)
    }

    /// What people should know: files that are no skills, skills that are hidden by others.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// The body of a skill, read anew.
    pub fn load(&self, name: &str) -> Result<SkillBody, SkillLoadError> {
        let Some(skill) = self.find(name) else {
            let known = self.for_model().iter().take(OFFERED).map(|skill| skill.name.clone()).collect();
            return Err(SkillLoadError::Unknown { name: text::one_line(name, NAME_CHARS), known });
        };
        let unreadable = |why: String| SkillLoadError::Unreadable {
            name: skill.name.clone(),
            path: skill.path.clone(),
            why,
        };
        let unread = |error| match error {
            Unread::Missing => unreadable("it is gone".to_owned()),
            Unread::Refused(why) => unreadable(why),
        };
        let real = confined(&skill.path, &skill.within).map_err(unread)?;
        let file = read_text(&real, READ_BYTES).map_err(unread)?;
        front::parse(&file.text)
            .map_err(|wrong| unreadable(format!("line {}: {}", wrong.line, wrong.what)))?;
        let path = shown(&skill.path);
        let body = inert(file.text.trim());
        let (kept, cut) = self.within_tokens(&body);
        let note = match &cut {
            Some(cut) => format!("\n[cut here: {cut}; read {path} for the rest]"),
            None => String::new(),
        };
        let kept = inert(kept);
        let text = Fragment::Skill.render(&format!("<name>{name}</name>\n<path>{path}</path>\n{kept}{note}"));
        Ok(SkillBody { name: skill.name.clone(), path: skill.path.clone(), text, cut })
    }

    /// The beginning that has no more tokens than a body may have.
    fn within_tokens<'a>(&self, body: &'a str) -> (&'a str, Option<String>) {
        let most = self.body_tokens;
        let mut kept = body;
        // No token is shorter than a byte.
        while kept.len() as u64 > most {
            let tokens = self.tokenizer.count(kept);
            if tokens <= most {
                break;
            }
            // In proportion, and a little less, so that this ends soon.
            let bytes = (kept.len() as u64 * most / tokens * 15 / 16) as usize;
            kept = at_line_end(text::head(kept, bytes));
        }
        let cut =
            (kept.len() < body.len()).then(|| format!("{} of {} bytes are shown", kept.len(), body.len()));
        (kept, cut)
    }

    /// The skills that a text of the user's names as `@name`, each once, in order.
    pub fn mentions(&self, words: &str) -> Vec<&Skill> {
        let mut found: Vec<&Skill> = Vec::new();
        for (at, _) in words.match_indices('@') {
            if words[..at]
                .chars()
                .next_back()
                .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
            {
                continue;
            }
            let rest = &words[at + 1..];
            let end = rest.find(|c| !is_name_char(c)).unwrap_or(rest.len());
            // `@src/main.rs` is a file, even where there is a skill `src`.
            if rest[end..].starts_with('/') {
                continue;
            }
            let name = &rest[..end];
            let ended = name.trim_end_matches(['.', ':', '-']);
            let skill = self.find(name).or_else(|| self.find(ended));
            found.extend(skill.filter(|skill| !found.contains(skill)));
        }
        found
    }
}

struct Place {
    folder: PathBuf,
    within: Arc<[PathBuf]>,
    origin: SkillOrigin,
}

/// Where skills may be, the first ones before the others, and where links there may lead.
fn places(sources: &Sources) -> Vec<(PathBuf, Arc<[PathBuf]>, SkillOrigin)> {
    let cwd = sources.cwd.canonicalize().unwrap_or_else(|_| sources.cwd.clone());
    // Whatever is odd about the root is said where its instructions are read.
    let root = project::root(&cwd, &mut Vec::new());
    let mut places = Vec::new();
    let within: Arc<[PathBuf]> = Arc::new([root.clone()]);
    for folder in project::folders(&root, &cwd).into_iter().rev() {
        for name in [".agents/skills", ".claude/skills"] {
            places.push((folder.join(name), within.clone(), SkillOrigin::Project));
        }
    }
    let homes: Vec<PathBuf> = std::iter::once(sources.config_home.clone())
        .chain(sources.home.iter().flat_map(|home| [home.join(".agents"), home.join(".claude")]))
        .collect();
    let within: Arc<[PathBuf]> = homes.iter().filter_map(|folder| folder.canonicalize().ok()).collect();
    places.extend(homes.iter().map(|home| (home.join("skills"), within.clone(), SkillOrigin::Home)));
    places
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':')
}

fn is_name(name: &str) -> bool {
    (1..=NAME_CHARS).contains(&name.len())
        && name.chars().all(is_name_char)
        && !name.starts_with(['.', '-', ':'])
}

/// The skills that a session and its tools share. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct SharedSkills(Arc<RwLock<Arc<Skills>>>);

impl SharedSkills {
    /// Shares some skills.
    pub fn new(skills: Skills) -> Self {
        let shared = Self::default();
        shared.set(skills);
        shared
    }

    /// The skills as they are now.
    pub fn get(&self) -> Arc<Skills> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Other skills, from now on.
    pub fn set(&self, skills: Skills) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(skills);
    }
}

//! A skill by the agentskills rules: a SKILL.md with a name, a description and a body, in a folder of its name.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What a skill may be long.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkillLimits {
    /// Characters of the name.
    pub name_chars: usize,
    /// Characters of the description.
    pub description_chars: usize,
    /// Tokens of the body.
    pub body_tokens: u64,
    /// Tokens of the user's words that a model is shown.
    pub words_tokens: u64,
}

impl Default for SkillLimits {
    fn default() -> Self {
        Self { name_chars: 64, description_chars: 1_024, body_tokens: 5_000, words_tokens: 8_000 }
    }
}

/// A valid skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// Lower-case letters, digits and single hyphens inside: also the name of its folder.
    pub name: String,
    /// What it does and when to use it: one line.
    pub description: String,
    /// What to do.
    pub body: String,
}

/// Why a text is no skill.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// There is no frontmatter.
    #[error("there is no frontmatter between two lines of `---`")]
    NoFrontmatter,
    /// There is no name, and none can be made of the title.
    #[error("there is no name; give one of lower-case letters, digits and hyphens")]
    NoName,
    /// There is no description.
    #[error("there is no description; say what the skill does and when to use it")]
    NoDescription,
    /// The name is none by the rules.
    #[error(
        "`{name}` is no name of a skill; it needs 1 to {most} lower-case letters, digits and single hyphens between them"
    )]
    Name {
        /// What it is called.
        name: String,
        /// Characters that it may have.
        most: usize,
    },
    /// The folder is called otherwise.
    #[error("the skill `{name}` lies in the folder `{folder}`; they must have one name")]
    Folder {
        /// What it is called.
        name: String,
        /// What its folder is called.
        folder: String,
    },
    /// The description is too long.
    #[error("the description has {chars} characters, over the limit of {limit}")]
    Description {
        /// What it has.
        chars: usize,
        /// What it may have.
        limit: usize,
    },
    /// There is nothing to do.
    #[error("the body is empty")]
    NoBody,
    /// The body is too long.
    #[error("the body has {tokens} tokens, over the limit of {limit}")]
    TooLong {
        /// What it has.
        tokens: u64,
        /// What it may have.
        limit: u64,
    },
    /// The session has nothing to make a skill of.
    #[error("nothing was asked and done in this session that a skill could tell")]
    Nothing,
    /// The model could not be asked.
    #[error("{0}")]
    Model(String),
}

impl Skill {
    /// Reads a SKILL.md, repairing what can be repaired without guessing: the form of the name, and the length and form of the
    /// description. What was repaired is said. Other keys of the frontmatter are left out: a text that a model wrote
    /// does not get to grant tools.
    pub fn read(text: &str, limits: &SkillLimits) -> Result<(Self, Vec<String>), SkillError> {
        let (front, body) = split(text).ok_or(SkillError::NoFrontmatter)?;
        let body = body.trim();
        if body.is_empty() {
            return Err(SkillError::NoBody);
        }
        let mut repairs = Vec::new();
        let title = body.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("");
        let given = value_of(front, "name").unwrap_or_default();
        let name = match slug(&given, limits.name_chars) {
            slug if slug.is_empty() => slug_or(title, limits)?,
            slug => slug,
        };
        if name != given {
            repairs.push(format!("the name `{given}` became `{name}`"));
        }
        let given = value_of(front, "description").unwrap_or_default();
        let description = one_line(&given, limits.description_chars);
        if description.is_empty() {
            return Err(SkillError::NoDescription);
        }
        if description != given {
            repairs.push("the description was brought into one line within its limit".to_owned());
        }
        Ok((Self { name, description, body: body.to_owned() }, repairs))
    }

    /// Reads a SKILL.md that lies in a folder, repairing nothing: it is as the rules say, or it is refused.
    pub fn check(text: &str, folder: &str, limits: &SkillLimits) -> Result<Self, SkillError> {
        let (front, body) = split(text).ok_or(SkillError::NoFrontmatter)?;
        let skill = Self {
            name: value_of(front, "name").unwrap_or_default(),
            description: value_of(front, "description").unwrap_or_default(),
            body: body.trim().to_owned(),
        };
        skill.validate(limits)?;
        if skill.name == folder {
            Ok(skill)
        } else {
            Err(SkillError::Folder { name: skill.name, folder: folder.to_owned() })
        }
    }

    /// Whether it is as the rules say; its tokens aside, which a counter counts.
    pub fn validate(&self, limits: &SkillLimits) -> Result<(), SkillError> {
        if self.name.is_empty() {
            return Err(SkillError::NoName);
        }
        if !is_name(&self.name, limits.name_chars) {
            return Err(SkillError::Name { name: self.name.clone(), most: limits.name_chars });
        }
        if self.description.trim().is_empty() {
            return Err(SkillError::NoDescription);
        }
        let chars = self.description.chars().count();
        if chars > limits.description_chars {
            return Err(SkillError::Description { chars, limit: limits.description_chars });
        }
        if self.body.trim().is_empty() { Err(SkillError::NoBody) } else { Ok(()) }
    }

    /// The file.
    pub fn to_markdown(&self) -> String {
        let Self { name, description, body } = self;
        // A JSON string is a YAML string, whatever is in it.
        format!(
            "---\nname: {name}\ndescription: {}\n---\n\n{}\n",
            Value::from(description.as_str()),
            body.trim()
        )
    }
}

/// Lower-case letters, digits and single hyphens between them.
fn is_name(name: &str, most: usize) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    name.len() <= most && name.split('-').all(is_part)
}

fn slug_or(title: &str, limits: &SkillLimits) -> Result<String, SkillError> {
    let slug = slug(title, limits.name_chars);
    if slug.is_empty() { Err(SkillError::NoName) } else { Ok(slug) }
}

/// Words as a name: whole words while they fit.
pub(crate) fn slug(words: &str, most: usize) -> String {
    let plain: String =
        words.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    let mut slug = String::new();
    for word in plain.split('-').filter(|word| !word.is_empty()) {
        let joint = usize::from(!slug.is_empty());
        if slug.len() + joint + word.len() > most {
            if slug.is_empty() {
                slug.push_str(&word[..most.min(word.len())]);
            }
            break;
        }
        if joint == 1 {
            slug.push('-');
        }
        slug.push_str(word);
    }
    slug
}

/// One line without angle brackets, cut at a word.
pub(crate) fn one_line(text: &str, most: usize) -> String {
    let mut line = String::new();
    let mut count = 0;
    for word in text.split_whitespace() {
        let word: String = word.chars().filter(|c| !matches!(c, '<' | '>') && !c.is_control()).collect();
        let length = word.chars().count() + usize::from(!line.is_empty());
        if word.is_empty() {
            continue;
        }
        if count + length > most {
            if line.is_empty() {
                line.extend(word.chars().take(most));
            }
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(&word);
        count += length;
    }
    line
}

/// Frontmatter and body. Models put fences and words around a file.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    let mut front = None;
    for line in text.split_inclusive('\n') {
        let end = at + line.len();
        if line.trim_end() == "---" {
            match front {
                None => front = Some(end),
                Some(start) => {
                    let body = text[end..].trim();
                    // A fence that was opened before the frontmatter is closed behind the body.
                    let fenced = text[..start].lines().any(|line| line.trim_start().starts_with("```"));
                    let body = if fenced { body.strip_suffix("```").unwrap_or(body) } else { body };
                    return Some((&text[start..at], body));
                }
            }
        }
        at = end;
    }
    None
}

/// The value of a key of the frontmatter: plain, quoted, or a block of lines.
fn value_of(front: &str, key: &str) -> Option<String> {
    let mut lines = front.lines();
    let first = lines.find_map(|line| {
        let rest = line.strip_prefix(key)?.trim_start().strip_prefix(':')?;
        Some(rest.trim())
    })?;
    let further: Vec<&str> = lines.take_while(|line| line.starts_with([' ', '\t'])).map(str::trim).collect();
    let is_block = first.is_empty() || first.starts_with(['>', '|']) && first.len() <= 3;
    let whole = match (is_block, further.is_empty()) {
        (true, _) => further.join(" "),
        (false, true) => first.to_owned(),
        (false, false) => format!("{first} {}", further.join(" ")),
    };
    Some(unquoted(whole.trim()))
}

fn unquoted(text: &str) -> String {
    if let Some(inner) = text.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return inner.replace("''", "'");
    }
    match text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
        Some(inner) => serde_json::from_str(text).unwrap_or_else(|_| inner.to_owned()),
        None => text.to_owned(),
    }
}

//! A SKILL.md: frontmatter in YAML, and a body.

use serde::Deserialize;
use serde::de::IgnoredAny;
use std::collections::BTreeMap;
use throughline_core::text::one_line;

/// What a SKILL.md says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SkillFile {
    /// The name; `None`: that of its folder.
    pub(crate) name: Option<String>,
    /// What it is for, in one line.
    pub(crate) description: String,
    /// Tools that it says it needs. It is not given them for that.
    pub(crate) allowed_tools: Vec<String>,
    /// Whether only the user may call for it.
    pub(crate) user_only: bool,
    /// What had to be guessed, with its line.
    pub(crate) oddity: Option<Wrong>,
}

/// What is wrong with a SKILL.md, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// The line, from one.
    pub(crate) line: u64,
    /// What.
    pub(crate) what: String,
}

#[derive(Deserialize)]
struct Front {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "allowed-tools")]
    allowed_tools: Option<Tools>,
    #[serde(default, rename = "disable-model-invocation")]
    user_only: Option<bool>,
    /// Other tools' keys are no concern of ours.
    #[serde(flatten)]
    _other: BTreeMap<String, IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Tools {
    Line(String),
    List(Vec<String>),
}

/// Frontmatter that is longer is none.
const FRONT_BYTES: usize = 16 * 1_024;

/// Reads a SKILL.md.
pub(crate) fn parse(text: &str) -> Result<SkillFile, Wrong> {
    let front = split(text)?;
    let (front, oddity) = match serde_saphyr::from_str::<Front>(front) {
        Ok(front) => (front, None),
        Err(error) => {
            let wrong = wrong(&error);
            // The commonest mistake: a plain value with a colon in it.
            let front = serde_saphyr::from_str::<Front>(&quoted(front)).map_err(|_| wrong.clone())?;
            let what = format!("{}; the line was taken as it stands, put its value in quotes", wrong.what);
            (front, Some(Wrong { what, ..wrong }))
        }
    };
    let description = front.description.unwrap_or_default();
    if description.trim().is_empty() {
        return Err(Wrong { line: 1, what: "there is no description: say what the skill is for".to_owned() });
    }
    let allowed_tools = match front.allowed_tools {
        None => Vec::new(),
        Some(Tools::List(list)) => list,
        Some(Tools::Line(line)) => {
            line.split([',', ' ']).filter(|tool| !tool.is_empty()).map(str::to_owned).collect()
        }
    };
    Ok(SkillFile {
        name: front.name,
        description: one_line(&description, DESCRIPTION_CHARS),
        allowed_tools,
        user_only: front.user_only.unwrap_or(false),
        oddity,
    })
}

/// What is kept of a description.
const DESCRIPTION_CHARS: usize = 1_024;

/// What is between the two lines of dashes.
fn split(text: &str) -> Result<&str, Wrong> {
    let wrong = |what: &str| Err(Wrong { line: 1, what: what.to_owned() });
    let mut lines = text.split_inclusive('\n');
    let first = lines.next().unwrap_or_default();
    if first.trim_end() != "---" {
        return wrong("the file must begin with a line `---`, name, description, and a line `---`");
    }
    let mut at = first.len();
    for line in lines {
        if line.trim_end() == "---" {
            return Ok(&text[first.len()..at]);
        }
        at += line.len();
        if at > FRONT_BYTES {
            return wrong("what stands between the lines `---` is too long");
        }
    }
    wrong("the second line `---` is missing")
}

fn wrong(error: &serde_saphyr::Error) -> Wrong {
    // Behind the line of dashes.
    let line = error.location().map_or(1, |location| location.line() + 1);
    Wrong { line, what: one_line(&error.to_string(), 160) }
}

/// With every plain value of one line in quotes.
fn quoted(front: &str) -> String {
    let mut out = String::new();
    for line in front.lines() {
        let value = line.split_once(": ").filter(|(key, value)| {
            let is_key = key.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
            is_key && !value.trim_start().starts_with(['"', '\'', '[', '{', '|', '>', '&', '*', '!', '#'])
        });
        match value {
            Some((key, value)) => {
                // A JSON string is a YAML string, whatever is in it. Words of YAML stay what they are.
                let is_word = matches!(value.trim(), "true" | "false" | "null" | "");
                let value = if is_word {
                    value.to_owned()
                } else {
                    serde_json::Value::from(value.trim()).to_string()
                };
                out.push_str(&format!("{key}: {value}\n"));
            }
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a4_frontmatter_of_all_kinds_is_read() {
        let text = "---\nname: tidy\ndescription: >\n  Tidies\n  up.\nallowed-tools: Read, Grep\nlicense: MIT\nmetadata:\n  a: [1]\n---\n\n# Tidy\nDo.\n";
        let skill = parse(text).unwrap();
        assert_eq!((skill.name.as_deref(), skill.description.as_str()), (Some("tidy"), "Tidies up."));
        assert_eq!(
            (skill.allowed_tools.as_slice(), skill.user_only),
            (&["Read".to_owned(), "Grep".to_owned()][..], false)
        );
        assert_eq!(skill.oddity, None);
        let text = "---\r\ndescription: 'x'\r\ndisable-model-invocation: true\r\nallowed-tools: [Bash]\r\n---\r\nDo.";
        let skill = parse(text).unwrap();
        assert_eq!((skill.name, skill.user_only), (None, true));
    }

    #[test]
    fn a4_a_colon_in_a_plain_value_is_forgiven_and_said() {
        let skill = parse(
            "---\nname: x\ndescription: Use when: a \"b\" fails\ndisable-model-invocation: true\n---\ny",
        )
        .unwrap();
        assert_eq!((skill.description.as_str(), skill.user_only), ("Use when: a \"b\" fails", true));
        assert_eq!(skill.oddity.map(|wrong| wrong.line), Some(3));
    }

    #[test]
    fn a4_what_is_wrong_is_said_with_its_line() {
        let line = |text: &str| parse(text).unwrap_err().line;
        assert_eq!(line("# no frontmatter"), 1);
        assert_eq!(line("---\nname: x\n"), 1);
        assert_eq!(line("---\nname: x\n---\nbody"), 1);
        assert_eq!(line("---\nname: x\ndescription: y\nallowed-tools: [a\n---\nbody"), 4);
        assert_eq!(line("---\nname: x\ndescription: [y, z]\n---\nbody"), 3);
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(---\n)?[a-z:&*!\\[\\]{}#|>'\" \n-]{0,120}(\n---\n)?x?") {
            let _ = parse(&text);
        }
    }
}

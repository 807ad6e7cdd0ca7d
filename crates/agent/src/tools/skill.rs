//! Skill: the body of a skill, or the list of them.

use crate::assembly::{SharedSkills, Skill, SkillOrigin, Skills};
use crate::workspace::Workspace;
use crate::{Access, Shown, Tool, ToolContext, ToolOutput};
use serde_json::{Value, json};
use std::fmt::Write;
use throughline_core::{ToolDefinition, prompt, text};
use throughline_model::BoxFuture;

/// The name by which the model calls it.
pub const NAME: &str = "Skill";

const DESCRIPTION: &str = include_str!("../../../../prompts/tool_skill.md");

/// Characters of a list, and of a description in it.
const LIST_BYTES: usize = 20_000;
const DESCRIPTION_CHARS: usize = 200;

/// Reads skills that were found when the session was last assembled. Each body is read anew.
#[derive(Clone, Debug, Default)]
pub struct SkillTool {
    skills: SharedSkills,
}

impl SkillTool {
    /// A tool that reads these skills.
    pub fn new(skills: SharedSkills) -> Self {
        Self { skills }
    }
}

impl Tool for SkillTool {
    fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: NAME,
            description: prompt(DESCRIPTION),
            parameters: json!({
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The skill to read."},
                    "query": {"type": "string", "description": "Without a name: words to look for in the list."},
                },
            }),
        }
    }

    fn access(&self, input: &Value, _: &Workspace) -> Result<Access, String> {
        match asked(input)? {
            Asked::List { .. } => Ok(Access::Inner),
            Asked::Body { name } => {
                let skills = self.skills.get();
                let skill = permitted(&skills, name)?;
                Ok(match skill.origin {
                    // What the user keeps for agents in their own folders needs no asking.
                    SkillOrigin::Home => Access::Inner,
                    SkillOrigin::Project => Access::Read { paths: vec![skill.real_path().to_owned()] },
                })
            }
        }
    }

    fn run<'a>(&'a self, input: &'a Value, _: ToolContext<'a>) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let skills = self.skills.get();
            match asked(input) {
                Err(why) => ToolOutput::failed(why),
                Ok(Asked::List { query }) => list(&skills, query),
                Ok(Asked::Body { name }) => body(&skills, name),
            }
        })
    }

    fn summary(&self, input: &Value) -> String {
        match asked(input) {
            Ok(Asked::Body { name }) => format!("{NAME} {}", text::one_line(name, 80)),
            Ok(Asked::List { .. }) | Err(_) => format!("{NAME} list"),
        }
    }
}

enum Asked<'a> {
    Body { name: &'a str },
    List { query: &'a str },
}

fn asked(input: &Value) -> Result<Asked<'_>, String> {
    let Some(fields) = input.as_object() else {
        return Err("give an object with `name`, or an empty one for the list".to_owned());
    };
    let field = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(value)) => Ok(value.trim()),
        Some(_) => Err(format!("`{key}` must be a string")),
    };
    // Models write what the user wrote: `@name`, `/name`.
    match field("name")?.trim_start_matches(['@', '/']) {
        "" => Ok(Asked::List { query: field("query")? }),
        name => Ok(Asked::Body { name }),
    }
}

/// The skill of a name, if the model may call for it.
fn permitted<'a>(skills: &'a Skills, name: &str) -> Result<&'a Skill, String> {
    match skills.find(name) {
        Some(skill) if skill.user_only => {
            Err(format!("only the user can call for the skill {name:?}: they write @{name}"))
        }
        Some(skill) => Ok(skill),
        None => Err(skills.load(name).err().map(|error| error.to_string()).unwrap_or_default()),
    }
}

fn body(skills: &Skills, name: &str) -> ToolOutput {
    if let Err(why) = permitted(skills, name) {
        return ToolOutput::failed(why);
    }
    match skills.load(name) {
        Ok(body) => {
            let lines = body.text.lines().count();
            ToolOutput::done(body.text).shown(Shown::Line(format!("{lines} lines")))
        }
        Err(error) => ToolOutput::failed(error.to_string()),
    }
}

fn list(skills: &Skills, query: &str) -> ToolOutput {
    let query = query.to_lowercase();
    let fits = |skill: &&Skill| {
        let text = format!("{} {}", skill.name, skill.description).to_lowercase();
        !skill.user_only && query.split_whitespace().all(|word| text.contains(word))
    };
    let mut out = String::new();
    let mut left_out = 0;
    let mut count = 0;
    for skill in skills.iter().filter(fits) {
        count += 1;
        if out.len() < LIST_BYTES {
            let _ =
                writeln!(out, "- {}: {}", skill.name, text::one_line(&skill.description, DESCRIPTION_CHARS));
        } else {
            left_out += 1;
        }
    }
    if count == 0 {
        let of = if query.is_empty() { String::new() } else { " with these words".to_owned() };
        return ToolOutput::done(format!("There are no skills{of}."));
    }
    if left_out > 0 {
        let _ = writeln!(out, "{left_out} more: give `query` to narrow the list.");
    }
    ToolOutput::done(out.trim_end().to_owned()).shown(Shown::Line(format!("{count} skills")))
}

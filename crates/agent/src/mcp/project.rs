//! Servers that a project proposes in its `.mcp.json`. A project is somebody else's: nothing in it runs before the user has seen
//! and approved that very definition.

use super::clean;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::Path;
use throughline_engine::config::McpServer;
use throughline_model::{Argv, Secret};

/// The file, in the root of a project.
pub const PROJECT_FILE: &str = ".mcp.json";
/// The most bytes of the file.
const FILE_BYTES: u64 = 1 << 20;
/// The most servers of a file.
const SERVERS: usize = 50;

/// What a project's `.mcp.json` proposes.
#[derive(Clone, Debug, Default)]
pub struct ProjectServers {
    /// Servers that can be run, once approved. By name.
    pub proposed: Vec<Proposed>,
    /// What is in the file and can't be used, in words for the user.
    pub problems: Vec<String>,
}

/// A server that a project proposes.
#[derive(Clone, Debug)]
pub struct Proposed {
    /// Its name.
    pub name: String,
    /// What would be run.
    pub definition: McpServer,
    /// Stands for the name and the whole definition: another definition has another one. An approval is for this.
    pub fingerprint: String,
    /// The definition as it is written, for the user to judge. What can't be seen is taken out.
    pub shown: String,
}

impl ProjectServers {
    /// Reads the file of a project. No file is no servers. Links are not followed.
    pub fn read(root: &Path) -> Self {
        let mut found = Self::default();
        match text(&root.join(PROJECT_FILE)) {
            Ok(Some(text)) => found.take(&text),
            Ok(None) => {}
            Err(why) => found.problems.push(format!("{PROJECT_FILE} {why}")),
        }
        found
    }

    fn take(&mut self, text: &str) {
        let servers = match serde_json::from_str::<Value>(text) {
            Ok(mut file) => file.get_mut("mcpServers").map(Value::take),
            Err(error) => return self.problems.push(format!("{PROJECT_FILE} is no JSON: {error}")),
        };
        let Some(Value::Object(servers)) = servers else {
            return self
                .problems
                .push(format!("{PROJECT_FILE} has no `mcpServers`; it is {{\"mcpServers\": {{…}}}}"));
        };
        if servers.len() > SERVERS {
            self.problems.push(format!("{PROJECT_FILE} has over {SERVERS} servers; the others are left out"));
        }
        for (name, written) in servers.into_iter().take(SERVERS) {
            match propose(&name, &written) {
                Ok(proposed) => self.proposed.push(proposed),
                Err(why) => self.problems.push(format!("{PROJECT_FILE}: {}: {why}", clean::line(&name, 80))),
            }
        }
        self.proposed.sort_by(|a, b| a.name.cmp(&b.name));
    }
}

fn text(path: &Path) -> Result<Option<String>, String> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => return Err("is no plain file".to_owned()),
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("can't be read: {error}")),
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| format!("can't be read: {error}"))?;
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|error| format!("can't be read: {error}"))?;
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) > FILE_BYTES {
        return Err(format!("is larger than {FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map(Some).map_err(|_| "is not UTF-8".to_owned())
}

fn propose(name: &str, written: &Value) -> Result<Proposed, String> {
    let is_plain = |part: char| part.is_ascii_alphanumeric() || matches!(part, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err("is no name for a server; use letters, digits, `-` and `_`, 64 at most".to_owned());
    }
    let fields = written.as_object().ok_or("is no object")?;
    let shown = serde_json::to_string_pretty(written).unwrap_or_default();
    let definition = definition(fields)?;
    let identity = json!([name, sorted(written)]).to_string();
    Ok(Proposed {
        name: name.to_owned(),
        definition,
        fingerprint: blake3::hash(identity.as_bytes()).to_hex().to_string(),
        // Invisible characters would make it look like something else.
        shown: clean::clean(&shown, usize::MAX),
    })
}

/// Only what such a file is for: how long a server may take, over what it may be reached and which tools are used is the user's.
fn definition(fields: &Map<String, Value>) -> Result<McpServer, String> {
    let text = |name: &str| match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}` is no text")),
    };
    let (command, url) = (text("command")?, text("url")?);
    match (text("type")?.as_deref(), &command, &url) {
        (None | Some("stdio"), Some(_), None)
        | (None | Some("http" | "streamable-http" | "streamableHttp"), None, Some(_)) => {}
        (Some("sse"), _, _) => return Err("the old `sse` transport is not spoken; use `http`".to_owned()),
        (_, _, _) => {
            return Err("it must have `command` (stdio) or `url` (http), and no other `type`".to_owned());
        }
    }
    let command = match command {
        Some(program) => Some(Argv::new([program]).ok_or("`command` is empty")?),
        None => None,
    };
    let args = match fields.get("args") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(words)) => {
            let words = words.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            words.ok_or("`args` must be a list of text")?
        }
        Some(_) => return Err("`args` must be a list of text".to_owned()),
    };
    let cwd = text("cwd")?.map(Into::into);
    Ok(McpServer {
        command,
        args,
        cwd,
        url,
        env: map(fields, "env")?,
        headers: map(fields, "headers")?,
        ..McpServer::default()
    })
}

fn map(fields: &Map<String, Value>, name: &str) -> Result<BTreeMap<String, Secret>, String> {
    let wrong = || format!("`{name}` must be a table of text");
    match fields.get(name) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(pairs)) => pairs
            .iter()
            .map(|(name, value)| Some((name.clone(), Secret::new(value.as_str()?))))
            .collect::<Option<_>>()
            .ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}

/// With keys in order: how a file is laid out makes no difference.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields: BTreeMap<&String, Value> =
                fields.iter().map(|(name, value)| (name, sorted(value))).collect();
            json!(fields)
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => value.clone(),
    }
}

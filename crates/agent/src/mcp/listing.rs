//! The tools of a server, as far as they can be used.

use super::clean;
use super::connection::{Ask, Connection};
use super::limits::{DESCRIPTION_BYTES, PAGES, REASONS, SCHEMA_BYTES, SCHEMA_DEPTH, TOOLS};
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::time::Duration;
use throughline_model::CancelToken;

/// A tool of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RemoteTool {
    /// Its name there.
    pub(super) name: String,
    /// What it is for, in the server's words. Cleaned and cut.
    pub(super) description: String,
    /// The JSON schema of its arguments: an object.
    pub(super) schema: Value,
    /// The server claims that it changes nothing.
    pub(super) claims_read_only: bool,
    /// Whether every provider takes its definition. One that does not fit would make all requests fail.
    pub(super) fits_inline: bool,
}

/// The tools of a server, and why others of them can't be used.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) tools: Vec<RemoteTool>,
    pub(super) refused: Vec<String>,
}

impl Listing {
    fn refuse(&mut self, reason: String) {
        if self.refused.len() < REASONS {
            self.refused.push(reason);
        }
    }
}

/// Which tools are wanted, and how long looking may take.
pub(super) struct Look<'a> {
    /// Names; empty: all.
    pub(super) only: &'a [String],
    pub(super) limit: Duration,
    pub(super) cancel: &'a CancelToken,
}

/// Asks for all pages of the list.
pub(super) async fn list(connection: &Connection, look: Look<'_>) -> Result<Listing, String> {
    let mut listing = Listing::default();
    let mut names = HashSet::new();
    let mut cursor: Option<String> = None;
    for _ in 0..PAGES {
        let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
        let ask =
            Ask { method: "tools/list", params, limit: look.limit, cancel: look.cancel, progress: None };
        let page = connection.request(ask).await.map_err(|error| format!("its tools: {error}"))?;
        let Some(tools) = page.get("tools").and_then(Value::as_array) else {
            return Err("its list of tools is no list".to_owned());
        };
        for tool in tools {
            if names.len() >= TOOLS {
                listing.refuse(format!("it has more than {TOOLS} tools; the others are left out"));
                return Ok(listing);
            }
            match read(tool) {
                Ok(tool) if !look.only.is_empty() && !look.only.contains(&tool.name) => {}
                Ok(tool) if !names.insert(tool.name.clone()) => {
                    listing.refuse(format!("{}: there are two of this name", clean::line(&tool.name, 80)));
                }
                Ok(tool) => listing.tools.push(tool),
                Err(reason) => listing.refuse(reason),
            }
        }
        let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
        match next {
            None => return Ok(listing),
            Some(next) if cursor.as_ref() == Some(&next) => {
                listing.refuse("its list of tools goes round in a circle".to_owned());
                return Ok(listing);
            }
            Some(next) => cursor = Some(next),
        }
    }
    listing.refuse(format!("its list of tools has more than {PAGES} pages; the others are left out"));
    Ok(listing)
}

/// Reads the definition of a tool; an error says why it can't be used.
pub(super) fn read(tool: &Value) -> Result<RemoteTool, String> {
    let text = |name: &str| tool.get(name).and_then(Value::as_str);
    let name = text("name").filter(|name| !name.trim().is_empty()).ok_or("a tool has no name")?;
    let shown = clean::line(name, 80);
    if name.len() > 256 {
        return Err(format!("{shown}: its name is too long"));
    }
    let annotations = tool.get("annotations");
    let hint = |name: &str| {
        annotations.and_then(|hints| hints.get(name)).and_then(Value::as_bool).unwrap_or_default()
    };
    let schema = tool.get("inputSchema").ok_or_else(|| format!("{shown}: it has no schema"))?;
    let schema = schema_of(schema).map_err(|why| format!("{shown}: its schema {why}"))?;
    let description = text("description").or_else(|| text("title")).unwrap_or_default();
    Ok(RemoteTool {
        name: name.to_owned(),
        description: clean::clean(description, DESCRIPTION_BYTES).trim().to_owned(),
        fits_inline: fits_inline(&schema),
        schema: Value::Object(schema),
        claims_read_only: hint("readOnlyHint"),
    })
}

fn schema_of(schema: &Value) -> Result<Map<String, Value>, &'static str> {
    let Value::Object(fields) = schema else { return Err("is no object") };
    let kind = fields.get("type");
    if kind.is_some_and(|kind| kind.as_str() != Some("object")) {
        return Err("is not that of an object");
    }
    // Depth first: it is what the others recurse by.
    let is_deep = throughline_core::json_depth(schema.to_string().as_bytes()) > SCHEMA_DEPTH;
    if is_deep {
        return Err("is nested too deeply");
    }
    if schema.to_string().len() > SCHEMA_BYTES {
        return Err("is too large");
    }
    let mut fields = fields.clone();
    fields.entry("type").or_insert_with(|| json!("object"));
    if !fields.get("properties").is_some_and(Value::is_object) {
        fields.insert("properties".to_owned(), json!({}));
    }
    for value in fields.values_mut() {
        clean_words(value);
    }
    Ok(fields)
}

/// Cleans the words for the model in a schema. Values that are sent back stay as they are.
fn clean_words(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let is_for_the_model = matches!(name.as_str(), "description" | "title" | "$comment");
                if let (Value::String(text), true) = (&mut *value, is_for_the_model) {
                    *text = clean::clean(text, DESCRIPTION_BYTES);
                } else {
                    clean_words(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(clean_words),
        Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// Providers refuse choices at the top of a schema, and unusual names of properties.
fn fits_inline(schema: &Map<String, Value>) -> bool {
    let has_choice =
        ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"].iter().any(|name| schema.contains_key(*name));
    let is_usual = |name: &String| {
        (1..=64).contains(&name.len())
            && name.chars().all(|part| part.is_ascii_alphanumeric() || matches!(part, '_' | '.' | '-'))
    };
    let properties = schema.get("properties").and_then(Value::as_object);
    !has_choice && properties.is_none_or(|properties| properties.keys().all(is_usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(schema: Value) -> Result<RemoteTool, String> {
        read(&json!({"name": "t", "description": "d", "inputSchema": schema}))
    }

    #[test]
    fn schemas_that_are_no_use_are_refused_with_a_reason() {
        let mut deep = json!({"type": "string"});
        for _ in 0..40 {
            deep = json!({"type": "object", "properties": {"x": deep}});
        }
        let large = json!({"type": "object", "description": "x".repeat(SCHEMA_BYTES)});
        for (schema, why) in [
            (json!("object"), "no object"),
            (json!({"type": "string"}), "not that of an object"),
            (json!({"type": ["object"]}), "not that of an object"),
            (deep, "too deeply"),
            (large, "too large"),
        ] {
            let error = with(schema).unwrap_err();
            assert!(error.starts_with("t: ") && error.contains(why), "{error}");
        }
        assert!(
            read(&json!({"name": "t"})).is_err()
                && read(&json!({"inputSchema": {}})).is_err()
                && read(&json!(3)).is_err()
        );
    }

    #[test]
    fn words_of_the_server_are_cleaned_and_values_stay() {
        let tool = read(&json!({
            "name": "t\u{1b}", "description": format!("a\u{200b}b{}", "x".repeat(5000)), "annotations": {"readOnlyHint": true},
            "inputSchema": {"properties": {"p": {"description": "q\u{202e}", "enum": ["\u{200b}"]}}},
        })).unwrap();
        assert!(tool.description.starts_with("abxx") && tool.description.len() <= DESCRIPTION_BYTES);
        assert_eq!(tool.schema["properties"]["p"], json!({"description": "q", "enum": ["\u{200b}"]}));
        assert_eq!((tool.schema["type"].as_str(), tool.claims_read_only), (Some("object"), true));
    }

    #[test]
    fn what_providers_refuse_is_not_offered_whole() {
        assert!(with(json!({})).unwrap().fits_inline);
        assert!(!with(json!({"oneOf": []})).unwrap().fits_inline);
        assert!(!with(json!({"properties": {"a b": {}}})).unwrap().fits_inline);
    }
}

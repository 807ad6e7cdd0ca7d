//! A provider's report of an error, whatever shape it has.

use serde_json::{Map, Value};

/// Longest message kept: providers repeat whole requests in some of them.
const MESSAGE_LIMIT: usize = 1_000;
/// Gateways wrap the report of the provider behind them, at times more than once.
const NESTING: usize = 6;

/// What a report says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Report {
    /// HTTP status, or the one that the report itself names where HTTP said all was well.
    pub(crate) status: Option<u16>,
    /// Types and codes, lower case: `overloaded_error`, `context_length_exceeded`, ….
    pub(crate) codes: Vec<String>,
    /// For people.
    pub(crate) message: String,
    /// Whether there was no body at all.
    pub(crate) is_silent: bool,
    /// The report's own object.
    pub(crate) fields: Map<String, Value>,
}

impl Report {
    /// Reads the body of an answer with an error status. Anything is a report: plain text is its message.
    pub(crate) fn read(status: Option<u16>, body: &[u8]) -> Self {
        let mut report = match serde_json::from_slice::<Value>(body) {
            Ok(value) => Self::from_value(value),
            Err(_) => Self { message: plain(&String::from_utf8_lossy(body)), ..Self::default() },
        };
        report.status = status.filter(|status| !(200..300).contains(status)).or(report.status);
        report.is_silent = body.trim_ascii().is_empty() || body.trim_ascii() == b"null";
        if report.message.is_empty() {
            report.message = "no message".to_owned();
        }
        report
    }

    /// Reads a report that is parsed already.
    pub(crate) fn from_value(value: Value) -> Self {
        let mut report = Self::default();
        report.add(value, NESTING);
        report.message = shorten(&report.message);
        report
    }

    /// Adds what another source knows: the decoder of a stream.
    pub(crate) fn with(mut self, code: &str, message: &str) -> Self {
        self.add_code(code);
        if !message.is_empty() && !self.message.contains(message) {
            self.message = shorten(message);
        }
        self
    }

    /// Whether one of the codes is this.
    pub(crate) fn has_code(&self, code: &str) -> bool {
        self.codes.iter().any(|known| known == code)
    }

    /// A whole number among the fields.
    pub(crate) fn figure(&self, field: &str) -> Option<u64> {
        self.fields.get(field)?.as_u64()
    }

    fn add(&mut self, value: Value, depth: usize) {
        match value {
            // Gemini's compatible endpoint sends a list of one.
            Value::Array(list) => {
                if let (Some(first), true) = (list.into_iter().next(), depth > 0) {
                    self.add(first, depth - 1);
                }
            }
            // Ollama passes on llama.cpp's report as text.
            Value::String(text) => match serde_json::from_str(&text) {
                Ok(inner @ (Value::Object(_) | Value::Array(_))) if depth > 0 => self.add(inner, depth - 1),
                Ok(_) | Err(_) => self.add_message(&text),
            },
            Value::Object(mut object) => {
                for key in ["type", "code", "status", "reason"] {
                    match object.get(key) {
                        Some(Value::String(code)) => self.add_code(&code.clone()),
                        Some(Value::Number(code)) => {
                            let code = code.as_u64().and_then(|code| u16::try_from(code).ok());
                            self.status = self.status.or(code.filter(|code| (300..600).contains(code)));
                        }
                        Some(Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_)) | None => {}
                    }
                }
                for key in ["message", "msg", "Message"] {
                    if let Some(Value::String(text)) = object.get(key) {
                        self.add_message(&text.clone());
                    }
                }
                if depth == 0 {
                    return;
                }
                // `metadata.raw` is OpenRouter's: the report of the provider behind it, as text.
                let raw = object.get_mut("metadata").and_then(|metadata| metadata.get_mut("raw"));
                if let Some(raw) = raw.map(Value::take) {
                    self.add(raw, depth - 1);
                }
                for key in ["error", "detail", "response"] {
                    if let Some(inner) = object.get_mut(key).map(Value::take) {
                        self.add(inner, depth - 1);
                    }
                }
                for (key, value) in object {
                    self.fields.entry(key).or_insert(value);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn add_code(&mut self, code: &str) {
        let code = code.to_lowercase();
        if !code.is_empty() && code != "error" && code.len() <= 100 && !self.codes.contains(&code) {
            self.codes.push(code);
        }
    }

    fn add_message(&mut self, text: &str) {
        if self.message.len() > MESSAGE_LIMIT * 4 || text.is_empty() || self.message.contains(text) {
            return;
        }
        if !self.message.is_empty() {
            self.message.push_str(": ");
        }
        self.message.push_str(text);
    }
}

/// A text that is no JSON: a proxy's page or line.
fn plain(text: &str) -> String {
    let lower = text.trim_start().get(..64).unwrap_or(text).to_lowercase();
    if lower.starts_with("<!doctype") || lower.starts_with("<html") {
        let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
        return shorten(&format!("a web page: {}", title.map_or("no title", |(title, _)| title.trim())));
    }
    shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_LIMIT) {
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}

//! JSON-RPC 2.0: what comes from a server, and what goes there.

use super::clean;
use serde_json::{Value, json};

/// A message of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Incoming {
    /// The answer to a request of ours.
    Answer { id: u64, result: Result<Value, Refusal> },
    /// A request, to be answered under its id.
    Request { id: Value, method: String },
    /// A notification.
    Notice { method: String, params: Value },
}

/// An error that a server answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) code: i64,
    /// Cleaned, one line.
    pub(super) message: String,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} (error {})", self.message, self.code)
    }
}

/// The messages of a line, a body or an event: one, or a list of them. Whatever is none is left out; `None` if there is none.
pub(super) fn read(bytes: &[u8]) -> Option<Vec<Incoming>> {
    let value: Value = match serde_json::from_slice(bytes) {
        Ok(value) => value,
        // One schema that is nested too deeply must not take the whole answer with it: it is refused by itself.
        Err(_) if throughline_core::json_depth(bytes) > DEEPEST => {
            serde_json::from_slice(&without_deep(bytes, DEEPEST)).ok()?
        }
        Err(_) => return None,
    };
    let list = if let Value::Array(list) = value { list } else { vec![value] };
    let messages: Vec<Incoming> = list.into_iter().filter_map(message).collect();
    if messages.is_empty() { None } else { Some(messages) }
}

/// Levels of a message that are read: fewer than the parser's own limit, more than a schema may have.
const DEEPEST: usize = 120;

/// A JSON text with `null` in the place of whatever is nested deeper than `most` levels.
fn without_deep(text: &[u8], most: usize) -> Vec<u8> {
    let mut shallow = Vec::with_capacity(text.len());
    let (mut depth, mut in_string, mut is_escaped) = (0usize, false, false);
    for &byte in text {
        let is_kept = depth <= most;
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
        } else {
            match byte {
                b'"' => in_string = true,
                b'{' | b'[' => {
                    depth += 1;
                    if depth == most + 1 {
                        shallow.extend_from_slice(b"null");
                    }
                }
                b'}' | b']' => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if is_kept && depth <= most {
            shallow.push(byte);
        }
    }
    shallow
}

fn message(value: Value) -> Option<Incoming> {
    let Value::Object(mut fields) = value else { return None };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return None;
    }
    let id = fields.remove("id").filter(|id| !id.is_null());
    let params = fields.remove("params").unwrap_or_default();
    match (fields.remove("method"), id) {
        (Some(Value::String(method)), Some(id @ (Value::String(_) | Value::Number(_)))) => {
            Some(Incoming::Request { id, method })
        }
        (Some(Value::String(method)), None) => Some(Incoming::Notice { method, params }),
        (Some(_), _) => None,
        (None, id) => {
            let id = number(&id?)?;
            let result = match (fields.remove("error"), fields.remove("result")) {
                (Some(error), _) => Err(refusal(&error)),
                (None, Some(result)) => Ok(result),
                (None, None) => return None,
            };
            Some(Incoming::Answer { id, result })
        }
    }
}

/// Our ids are whole numbers; some servers give them back as `1.0`.
fn number(id: &Value) -> Option<u64> {
    id.as_u64().or_else(|| {
        let float = id.as_f64().filter(|id| id.fract() == 0.0 && (0.0..9e15).contains(id))?;
        format!("{float:.0}").parse().ok()
    })
}

fn refusal(error: &Value) -> Refusal {
    let code = error.get("code").and_then(Value::as_i64).unwrap_or_default();
    let message = error.get("message").and_then(Value::as_str).unwrap_or("no reason given");
    Refusal { code, message: clean::line(message, 500) }
}

/// A request.
pub(super) fn request(id: u64, method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
}

/// A notification.
pub(super) fn notice(method: &str, params: Option<Value>) -> Value {
    match params {
        Some(params) => json!({"jsonrpc": "2.0", "method": method, "params": params}),
        None => json!({"jsonrpc": "2.0", "method": method}),
    }
}

/// An answer to a request of the server.
pub(super) fn reply(id: Value, result: Result<Value, Refusal>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(Refusal { code, message }) => {
            json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_part_that_is_nested_too_deeply_does_not_take_the_message_with_it() {
        for levels in [130, 250, 5_000] {
            let deep = format!("{}1{}", r#"{"a":["#.repeat(levels), "]}".repeat(levels));
            let text = format!(r#"{{"jsonrpc":"2.0","id":3,"result":{{"tools":[{deep},{{"name":"x"}}]}}}}"#);
            let Some(Incoming::Answer { result: Ok(result), .. }) =
                read(text.as_bytes()).and_then(|mut list| list.pop())
            else {
                panic!("{levels} levels: no answer");
            };
            assert_eq!(result["tools"][1]["name"], "x");
        }
        assert_eq!(without_deep(br#"{"a":[[1],"]"],"b":2}"#, 2), br#"{"a":[null,"]"],"b":2}"#);
    }

    #[test]
    fn messages_are_told_apart() {
        let one = |text: &str| read(text.as_bytes()).and_then(|mut list| list.pop());
        assert_eq!(
            one(r#"{"jsonrpc":"2.0","id":3.0,"result":{}}"#),
            Some(Incoming::Answer { id: 3, result: Ok(json!({})) })
        );
        assert!(matches!(
            one(r#"{"jsonrpc":"2.0","id":"x","method":"ping"}"#),
            Some(Incoming::Request { .. })
        ));
        assert!(matches!(one(r#"{"jsonrpc":"2.0","method":"m"}"#), Some(Incoming::Notice { .. })));
        let refused = one(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-3,"message":"a\u001b b"}}"#);
        assert!(
            matches!(refused, Some(Incoming::Answer { result: Err(Refusal { code: -3, message }), .. }) if message == "a b")
        );
    }

    #[test]
    fn what_is_no_message_is_left_out() {
        for text in [
            "",
            "hello",
            "{}",
            "1",
            "[]",
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":-1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"x"}"#,
            r#"{"jsonrpc":"2.0","method":3}"#,
        ] {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
        let list = read(br#"[1,{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","method":"x"}]"#);
        assert_eq!(list.map(|list| list.len()), Some(2));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}

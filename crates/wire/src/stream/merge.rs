//! Putting fragments of JSON together.

use serde_json::{Map, Value};

/// Words that are said whole, never in pieces.
const WHOLE: &[&str] = &["role", "id", "type", "index"];

/// Adds a fragment to what is there: strings and lists grow, objects are merged, the rest is replaced. `null` says nothing.
pub(super) fn fragment(into: &mut Map<String, Value>, key: &str, value: Value) {
    let Some(old) = into.get_mut(key) else {
        into.insert(key.to_owned(), value);
        return;
    };
    match (old, value) {
        (_, Value::Null) => {}
        (Value::String(old), Value::String(new)) => match key {
            _ if WHOLE.contains(&key) => {
                if !new.is_empty() {
                    *old = new;
                }
            }
            // A name comes whole, again with each piece, or in pieces.
            "name" if *old == new => {}
            _ => old.push_str(&new),
        },
        (Value::Array(old), Value::Array(new)) => old.extend(new),
        (Value::Object(old), Value::Object(new)) => {
            for (key, value) in new {
                fragment(old, &key, value);
            }
        }
        (old, new) => *old = new,
    }
}

/// Sets what is known by now; `null` does not unsay it.
pub(super) fn set(into: &mut Map<String, Value>, key: String, value: Value) {
    if !value.is_null() || !into.contains_key(&key) {
        into.insert(key, value);
    }
}

/// Takes a string out and leaves an empty one.
pub(super) fn hollow(object: &mut Map<String, Value>, key: &str) -> Option<String> {
    match object.get_mut(key) {
        Some(Value::String(text)) => Some(std::mem::take(text)),
        Some(_) | None => None,
    }
}

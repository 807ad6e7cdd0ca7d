//! How an object looked on the wire, kept beside the typed value so that nothing is lost.

use crate::weight::weight_of;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A provider format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wire {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Responses.
    Responses,
    /// OpenAI Chat Completions, which local servers speak too.
    Chat,
}

/// The difference between an object as its provider wrote it and as we would write it from the typed value.
///
/// A decoder builds the typed value, encodes it *canonically*, and keeps the difference to the original with
/// [`Shape::between`]; the encoder encodes canonically and applies it with [`Shape::restore`]. Hence decode
/// then encode gives the same JSON, key order included, *by construction*, whatever the object held: keys we
/// do not know are kept verbatim, in place. An object that is already canonical has no shape at all.
///
/// ```
/// use serde_json::json;
/// use throughline_core::{Shape, Wire};
///
/// let canonical = json!({"type": "text", "text": "hi"});
/// let original = json!({"text": "hi", "cache_control": {"type": "ephemeral"}, "type": "text"});
/// let shape = Shape::between(Wire::Anthropic, canonical.as_object().unwrap(), original.as_object().unwrap());
///
/// // Later the text was edited; order and unknown keys still hold.
/// let edited = json!({"type": "text", "text": "bye"}).as_object().unwrap().clone();
/// let restored = shape.unwrap().restore(Wire::Anthropic, edited);
/// assert_eq!(
///     serde_json::to_string(&restored).unwrap(),
///     r#"{"text":"bye","cache_control":{"type":"ephemeral"},"type":"text"}"#
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    wire: Wire,
    keys: Vec<Key>,
}

/// One key of the original object, in its order. On disk: `"key"`, `["key", value]` or `["key"]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Key {
    /// The typed value says what stands here.
    Typed(String),
    /// The original value, which the typed value does not carry.
    Verbatim(String, Value),
    /// Our canonical form has this key, the original had not.
    Absent((String,)),
}

impl Shape {
    /// Bytes that it takes in memory, about.
    pub(crate) fn weight(&self) -> usize {
        let held = self.keys.iter().map(|key| match key {
            Key::Typed(key) | Key::Absent((key,)) => key.len(),
            Key::Verbatim(key, value) => key.len() + weight_of(value),
        });
        self.keys.len() * size_of::<Key>() + held.sum::<usize>()
    }

    /// The shape that turns `canonical` into `original`, or `None` where they are alike to the letter.
    pub fn between(
        wire: Wire,
        canonical: &Map<String, Value>,
        original: &Map<String, Value>,
    ) -> Option<Self> {
        let same_order = canonical.len() == original.len()
            && canonical.iter().zip(original).all(|((a, x), (b, y))| a == b && same(x, y));
        if same_order {
            return None;
        }
        let mut keys: Vec<Key> = original
            .iter()
            .map(|(key, value)| match canonical.get(key) {
                Some(ours) if same(ours, value) => Key::Typed(key.clone()),
                Some(_) | None => Key::Verbatim(key.clone(), value.clone()),
            })
            .collect();
        keys.extend(
            canonical
                .keys()
                .filter(|key| !original.contains_key(*key))
                .map(|key| Key::Absent((key.clone(),))),
        );
        Some(Self { wire, keys })
    }

    /// Gives a canonical object its original look. A shape of another wire changes nothing.
    ///
    /// Keys that the typed value gained since (not in the original, not absent there by choice) come last.
    pub fn restore(&self, wire: Wire, mut canonical: Map<String, Value>) -> Map<String, Value> {
        if wire != self.wire {
            return canonical;
        }
        let mut out = Map::with_capacity(self.keys.len());
        for key in &self.keys {
            match key {
                Key::Typed(key) => {
                    if let Some(value) = canonical.get_mut(key).map(Value::take) {
                        out.insert(key.clone(), value);
                    }
                    canonical.shift_remove(key);
                }
                Key::Verbatim(key, value) => {
                    canonical.shift_remove(key);
                    out.insert(key.clone(), value.clone());
                }
                Key::Absent((key,)) => {
                    canonical.shift_remove(key);
                }
            }
        }
        out.extend(canonical);
        out
    }

    /// Lets the typed value decide `key` again, after it was changed.
    pub fn release(&mut self, key: &str) {
        self.keys.retain(|k| !matches!(k, Key::Absent((name,)) if name == key));
        for k in &mut self.keys {
            if matches!(k, Key::Verbatim(name, _) if name == key) {
                *k = Key::Typed(key.to_owned());
            }
        }
    }

    /// The verbatim value of a key that the typed value does not carry.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.keys.iter().find_map(|k| match k {
            Key::Verbatim(name, value) if name == key => Some(value),
            Key::Verbatim(..) | Key::Typed(_) | Key::Absent(_) => None,
        })
    }

    /// The wire this shape belongs to.
    pub fn wire(&self) -> Wire {
        self.wire
    }
}

/// Equality with key order: `serde_json` compares objects as sets, a prompt cache compares bytes.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((k, x), (l, y))| k == l && same(x, y))
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(x, y)| same(x, y)),
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn object() -> impl Strategy<Value = Map<String, Value>> {
        let value = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i32>().prop_map(Value::from),
            "[a-c]{0,2}".prop_map(Value::from),
        ];
        proptest::collection::vec(("[a-f]", value), 0..6).prop_map(|pairs| pairs.into_iter().collect())
    }

    proptest! {
        #[test]
        fn restoring_gives_back_the_original_to_the_letter(canonical in object(), original in object()) {
            let restored = match Shape::between(Wire::Chat, &canonical, &original) {
                Some(shape) => shape.restore(Wire::Chat, canonical.clone()),
                None => canonical.clone(),
            };
            prop_assert_eq!(
                serde_json::to_string(&restored).unwrap(),
                serde_json::to_string(&original).unwrap()
            );
        }

        #[test]
        fn a_shape_survives_the_ledger(canonical in object(), original in object()) {
            if let Some(shape) = Shape::between(Wire::Anthropic, &canonical, &original) {
                let text = serde_json::to_string(&shape).unwrap();
                prop_assert_eq!(serde_json::from_str::<Shape>(&text).unwrap(), shape);
            }
        }
    }

    #[test]
    fn a_released_key_follows_the_typed_value_again() {
        let canonical = serde_json::json!({"content": "old"});
        let original = serde_json::json!({"content": 7});
        let mut shape =
            Shape::between(Wire::Chat, canonical.as_object().unwrap(), original.as_object().unwrap())
                .unwrap();
        shape.release("content");
        let new = serde_json::json!({"content": "new"}).as_object().unwrap().clone();
        assert_eq!(Value::Object(shape.restore(Wire::Chat, new)), serde_json::json!({"content": "new"}));
    }
}

//! Fields of other tools' files: taken where they have the expected type, passed over where not.
//!
//! A client that one day writes a number where it wrote a string must not make its whole line unreadable.

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;

/// A string, or nothing. Borrows from the line where no escape is in the way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text<'a>(pub(super) Option<Cow<'a, str>>);

impl Text<'_> {
    /// The text; an empty one counts as none.
    pub(super) fn get(&self) -> Option<&str> {
        self.0.as_deref().filter(|text| !text.is_empty())
    }

    /// The text, or the empty string.
    pub(super) fn or_empty(&self) -> &str {
        self.0.as_deref().unwrap_or("")
    }

    pub(super) fn to_owned_opt(&self) -> Option<String> {
        self.get().map(str::to_owned)
    }
}

/// `true`, or not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Flag(pub(super) bool);

/// A whole number, or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Number(pub(super) Option<u64>);

/// Swallows the values that a field has no use for.
macro_rules! pass_over {
    ($($method:ident: $type:ty),*) => {
        $(fn $method<E: serde::de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        })*

        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok(Self::Value::default())
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            Ok(Self::Value::default())
        }
    };
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Borrowed(text))))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Some(Cow::Owned(text.to_owned()))))
            }

            pass_over!(visit_bool: bool, visit_u64: u64, visit_i64: i64, visit_f64: f64);
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Flag;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_bool<E>(self, b: bool) -> Result<Self::Value, E> {
                Ok(Flag(b))
            }

            pass_over!(visit_u64: u64, visit_i64: i64, visit_f64: f64, visit_str: &str);
        }
        deserializer.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("anything")
            }

            fn visit_u64<E>(self, n: u64) -> Result<Self::Value, E> {
                Ok(Number(Some(n)))
            }

            pass_over!(visit_bool: bool, visit_i64: i64, visit_f64: f64, visit_str: &str);
        }
        deserializer.deserialize_any(V)
    }
}

//! Reading a price list, with errors that say which entry and which field.

use super::prices::{Entry, normalise};
use super::{CacheRules, LongContext, Price, Prices, Rate, Rates, Ratios};
use jiff::SignedDuration;
use serde_json::{Map, Value};
use thiserror::Error;

/// Why a price list cannot be used.
#[derive(Debug, Error)]
pub enum PricesError {
    /// The text is no JSON object.
    #[error("the price list is not a JSON object: {0}; compare it with crates/core/data/prices.json")]
    Json(String),
    /// A field is absent.
    #[error("price list, {entry}: `{field}` is missing; add it ({expected})")]
    Missing {
        /// Which entry.
        entry: String,
        /// Which of its fields.
        field: &'static str,
        /// What belongs there.
        expected: &'static str,
    },
    /// A field holds something else than it should.
    #[error("price list, {entry}: `{field}` is {found}, but must be {expected}")]
    Wrong {
        /// Which entry.
        entry: String,
        /// Which of its fields.
        field: String,
        /// What it holds.
        found: String,
        /// What belongs there.
        expected: &'static str,
    },
    /// A field that no one reads: most likely a slip of the pen.
    #[error("price list, {entry}: there is no field `{field}`; known are {known}")]
    Unknown {
        /// Which entry.
        entry: String,
        /// Which of its fields.
        field: String,
        /// Which fields there are.
        known: String,
    },
    /// An entry is sold by a provider that the list says nothing about.
    #[error(
        "price list, {entry}: the provider {provider:?} is not under `providers`; add it there (known: {known})"
    )]
    Provider {
        /// Which entry.
        entry: String,
        /// The provider it names.
        provider: String,
        /// Which providers there are.
        known: String,
    },
    /// Two entries claim one name.
    #[error("price list, {entry}: the model {model:?} is already in {other}; keep one of them")]
    Twice {
        /// The later entry.
        entry: String,
        /// The name in both.
        model: String,
        /// The earlier entry.
        other: String,
    },
}

/// What an entry takes over from its provider unless it says otherwise.
struct Provider {
    name: String,
    ratios: Ratios,
    cache: CacheRules,
}

pub(super) fn parse(json: &str) -> Result<Prices, PricesError> {
    let value = serde_json::from_str::<Value>(json).map_err(|error| PricesError::Json(error.to_string()))?;
    let Some(root) = value.as_object() else {
        return Err(PricesError::Json(format!("it is {}", short(&value))));
    };
    let root = Fields { entry: "top level".to_owned(), map: root };
    root.only(&["source", "as_of", "providers", "models"])?;
    let providers = providers(&root)?;
    let mut entries: Vec<Entry> = Vec::new();
    for (index, value) in root.list("models")?.iter().enumerate() {
        let entry = entry(index, value, &providers)?;
        for model in &entry.models {
            if let Some(other) = entries.iter().find(|e| e.models.contains(model)) {
                return Err(PricesError::Twice {
                    entry: format!("models[{index}] ({})", entry.price.family),
                    model: model.clone(),
                    other: other.price.family.clone(),
                });
            }
        }
        entries.push(entry);
    }
    Ok(Prices::new(root.text("source")?.to_owned(), root.text("as_of")?.to_owned(), entries))
}

fn providers(root: &Fields<'_>) -> Result<Vec<Provider>, PricesError> {
    let map = root.object("providers")?;
    map.iter()
        .map(|(name, value)| {
            let fields = Fields::of(format!("providers.{name}"), value)?;
            fields.only(&[
                "write_short",
                "write_long",
                "read",
                "ttl_short",
                "ttl_long",
                "minimum",
                "granule",
            ])?;
            let seconds = |field| {
                let seconds = fields.whole(field)?;
                Ok(SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX)))
            };
            Ok(Provider {
                name: name.clone(),
                ratios: Ratios {
                    write_short: fields.number("write_short")?,
                    write_long: fields.number("write_long")?,
                    read: fields.number("read")?,
                },
                cache: CacheRules {
                    ttl_short: seconds("ttl_short")?,
                    ttl_long: seconds("ttl_long")?,
                    minimum: fields.whole("minimum")?,
                    granule: fields.whole("granule")?.max(1),
                },
            })
        })
        .collect()
}

fn entry(index: usize, value: &Value, providers: &[Provider]) -> Result<Entry, PricesError> {
    let mut fields = Fields::of(format!("models[{index}]"), value)?;
    let family = fields.text("family")?;
    fields.entry = format!("models[{index}] ({family})");
    fields.only(&[
        "family",
        "provider",
        "models",
        "input",
        "write_short",
        "write_long",
        "read",
        "output",
        "minimum",
        "long",
    ])?;
    let name = fields.text("provider")?;
    let provider = providers.iter().find(|p| p.name == name).ok_or_else(|| PricesError::Provider {
        entry: fields.entry.clone(),
        provider: name.to_owned(),
        known: providers.iter().map(|p| p.name.as_str()).collect::<Vec<_>>().join(", "),
    })?;
    let input = fields.number("input")?;
    // A price given in dollars wins over the provider's multiplier; the weight is then what the price implies.
    let cached = |field, ratio: f64| {
        let price = match fields.map.get(field) {
            Some(_) => fields.number(field)?,
            None => return Ok((Rate::per_million(input * ratio), ratio)),
        };
        Ok((Rate::per_million(price), if input > 0.0 { price / input } else { ratio }))
    };
    let (write_short, short) = cached("write_short", provider.ratios.write_short)?;
    let (write_long, long) = cached("write_long", provider.ratios.write_long)?;
    let (read, reading) = cached("read", provider.ratios.read)?;
    let minimum = match fields.map.get("minimum") {
        Some(_) => fields.whole("minimum")?,
        None => provider.cache.minimum,
    };
    Ok(Entry {
        models: models(&fields)?,
        price: Price {
            family: family.to_owned(),
            provider: name.to_owned(),
            rates: Rates {
                input: Rate::per_million(input),
                write_short,
                write_long,
                read,
                output: Rate::per_million(fields.number("output")?),
            },
            ratios: Ratios { write_short: short, write_long: long, read: reading },
            long: long_context(&fields)?,
            cache: CacheRules { minimum, ..provider.cache },
        },
    })
}

fn models(fields: &Fields<'_>) -> Result<Vec<String>, PricesError> {
    let list = fields.list("models")?;
    let names = list.iter().map(|value| {
        let name = value.as_str().map(str::trim).filter(|name| !name.is_empty());
        name.map(normalise).ok_or_else(|| fields.wrong("models", value, "a list of model names"))
    });
    names.collect()
}

fn long_context(fields: &Fields<'_>) -> Result<Option<LongContext>, PricesError> {
    let Some(value) = fields.map.get("long") else { return Ok(None) };
    let long = Fields::of(format!("{}.long", fields.entry), value)?;
    long.only(&["over", "input", "output"])?;
    Ok(Some(LongContext {
        over: long.whole("over")?,
        input: long.number("input")?,
        output: long.number("output")?,
    }))
}

/// An object and where in the list it stands.
struct Fields<'a> {
    entry: String,
    map: &'a Map<String, Value>,
}

const A_PRICE: &str = "a number that is not negative";
const A_COUNT: &str = "a whole number that is not negative";
const A_TEXT: &str = "a text";
const A_LIST: &str = "a list";
const AN_OBJECT: &str = "an object";

impl<'a> Fields<'a> {
    fn of(entry: String, value: &'a Value) -> Result<Self, PricesError> {
        match value.as_object() {
            Some(map) => Ok(Self { entry, map }),
            None => Err(PricesError::Wrong {
                entry,
                field: "(itself)".to_owned(),
                found: short(value),
                expected: AN_OBJECT,
            }),
        }
    }

    fn only(&self, known: &[&str]) -> Result<(), PricesError> {
        match self.map.keys().find(|key| !known.contains(&key.as_str())) {
            Some(field) => Err(PricesError::Unknown {
                entry: self.entry.clone(),
                field: field.clone(),
                known: known.join(", "),
            }),
            None => Ok(()),
        }
    }

    fn get(&self, field: &'static str, expected: &'static str) -> Result<&'a Value, PricesError> {
        let missing = || PricesError::Missing { entry: self.entry.clone(), field, expected };
        self.map.get(field).ok_or_else(missing)
    }

    fn wrong(&self, field: &str, found: &Value, expected: &'static str) -> PricesError {
        PricesError::Wrong {
            entry: self.entry.clone(),
            field: field.to_owned(),
            found: short(found),
            expected,
        }
    }

    fn text(&self, field: &'static str) -> Result<&'a str, PricesError> {
        let value = self.get(field, A_TEXT)?;
        value.as_str().ok_or_else(|| self.wrong(field, value, A_TEXT))
    }

    fn list(&self, field: &'static str) -> Result<&'a Vec<Value>, PricesError> {
        let value = self.get(field, A_LIST)?;
        value.as_array().ok_or_else(|| self.wrong(field, value, A_LIST))
    }

    fn object(&self, field: &'static str) -> Result<&'a Map<String, Value>, PricesError> {
        let value = self.get(field, AN_OBJECT)?;
        value.as_object().ok_or_else(|| self.wrong(field, value, AN_OBJECT))
    }

    fn number(&self, field: &'static str) -> Result<f64, PricesError> {
        let value = self.get(field, A_PRICE)?;
        value.as_f64().filter(|n| *n >= 0.0).ok_or_else(|| self.wrong(field, value, A_PRICE))
    }

    fn whole(&self, field: &'static str) -> Result<u64, PricesError> {
        let value = self.get(field, A_COUNT)?;
        value.as_u64().ok_or_else(|| self.wrong(field, value, A_COUNT))
    }
}

/// What a value looks like, cut where it is long.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= 40 { text } else { text.chars().take(40).chain(['…']).collect() }
}

//! The price list: which entry fits a model's name.

use super::{Price, PricesError, price_list};
use std::sync::LazyLock;

/// Prices of many models, looked up by the name that requests carry.
#[derive(Clone, Debug, PartialEq)]
pub struct Prices {
    source: String,
    as_of: String,
    entries: Vec<Entry>,
}

/// One family: the names that belong to it, and its price.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) models: Vec<String>,
    pub(super) price: Price,
}

static BUILTIN: LazyLock<Prices> = LazyLock::new(|| {
    // A test reads the file, so what falls back here is a table that never shipped.
    Prices::parse(include_str!("../../data/prices.json")).unwrap_or(Prices {
        source: String::new(),
        as_of: String::new(),
        entries: Vec::new(),
    })
});

impl Prices {
    pub(super) fn new(source: String, as_of: String, entries: Vec<Entry>) -> Self {
        Self { source, as_of, entries }
    }

    /// The public list prices that this version ships with.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Reads a price list; `data/prices.json` in this crate shows the form. Prices are dollars per million tokens.
    ///
    /// # Errors
    /// Names the entry and the field that cannot be used.
    pub fn parse(json: &str) -> Result<Self, PricesError> {
        price_list::parse(json)
    }

    /// This list with another one laid over it: names that both have cost what the other says.
    pub fn overlaid_with(&self, other: &Self) -> Self {
        let mut entries = self.entries.clone();
        for entry in &mut entries {
            entry.models.retain(|name| !other.entries.iter().any(|e| e.models.contains(name)));
        }
        entries.extend(other.entries.iter().cloned());
        Self { source: format!("{}; {}", self.source, other.source), as_of: other.as_of.clone(), entries }
    }

    /// Where the prices come from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The day they were looked up, as the list gives it.
    pub fn as_of(&self) -> &str {
        &self.as_of
    }

    /// Every price on the list.
    pub fn iter(&self) -> impl Iterator<Item = &Price> {
        self.entries.iter().map(|entry| &entry.price)
    }

    /// The price of a model. The entry with the longest name that the model's name begins with wins, whole words only:
    /// `gpt-5-2025-08-07` is `gpt-5`, not `gpt-5.2`. Prefixes of gateways and clouds are understood, and `.` and `-`
    /// are the same. A name that fits nothing costs nothing: see [`Price::unknown`].
    ///
    /// ```
    /// use throughline_core::cost::Prices;
    ///
    /// let prices = Prices::builtin();
    /// assert_eq!(prices.of("anthropic/claude-opus-4.5").family, "claude-opus-4-5");
    /// assert_eq!(prices.of("us.anthropic.claude-sonnet-4-5-20250929-v1:0").family, "claude-sonnet-4");
    /// assert_eq!(prices.of("my-own-llama").family, "unknown");
    /// ```
    pub fn of(&self, model: &str) -> Price {
        let model = normalise(model);
        let fits = |name: &&String| {
            model
                .strip_prefix(name.as_str())
                .is_some_and(|rest| !rest.starts_with(|next: char| next.is_ascii_alphanumeric()))
        };
        self.entries
            .iter()
            .filter_map(|entry| Some((entry.models.iter().filter(fits).map(String::len).max()?, entry)))
            .max_by_key(|(length, _)| *length)
            .map_or_else(Price::unknown, |(_, entry)| entry.price.clone())
    }
}

/// A model's name without what gateways put before it, in lower case, with dashes for dots.
pub(super) fn normalise(model: &str) -> String {
    let name = model.trim().to_ascii_lowercase().replace('.', "-");
    if let Some(at) = name.find("claude") {
        return name[at..].to_owned();
    }
    let name = name.rsplit('/').next().unwrap_or_default();
    name.strip_prefix("ft:").unwrap_or(name).to_owned()
}

//! What requests came to, with us and without.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use throughline_core::cost::Dollars;
use throughline_core::{Event, Usage};

/// What the requests of a conversation, or of all, came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Figures {
    /// Requests that the provider answered.
    pub requests: u64,
    /// Of these, with another body than the client's.
    pub changed: u64,
    /// The others, by the reason why the client's own body was sent.
    pub originals: BTreeMap<String, u64>,
    /// Edits and compactions that were made.
    pub edits: u64,
    /// Requests that we answered ourselves.
    pub answered_here: u64,
    /// Refusals of requests as too long that the client did not see.
    pub cured: u64,
    /// What the provider reported.
    pub usage: Usage,
    /// Dollars for that, by the price list.
    pub dollars: Dollars,
    /// Requests to models whose price is not known: their dollars are missing from all sums.
    pub unpriced: u64,
    /// Tokens of the prompts as the client sent them, by our count.
    pub prompt_without: u64,
    /// Tokens of the prompts as they were sent, by the same count.
    pub prompt_with: u64,
    /// Dollars that the client's own requests would have cost, with a simulated cache.
    pub dollars_without: Dollars,
    /// The same simulation for what was sent: comparable with it.
    pub dollars_with: Dollars,
    /// Microseconds that our own work took before requests were sent.
    pub our_micros: u64,
}

impl Figures {
    /// Counts others in.
    pub fn add(&mut self, other: &Self) {
        self.requests += other.requests;
        self.changed += other.changed;
        for (reason, count) in &other.originals {
            *self.originals.entry(reason.clone()).or_default() += count;
        }
        self.edits += other.edits;
        self.answered_here += other.answered_here;
        self.cured += other.cured;
        self.usage += other.usage;
        self.dollars += other.dollars;
        self.unpriced += other.unpriced;
        self.prompt_without += other.prompt_without;
        self.prompt_with += other.prompt_with;
        self.dollars_without += other.dollars_without;
        self.dollars_with += other.dollars_with;
        self.our_micros += other.our_micros;
    }

    /// Dollars saved, by the simulation; negative for a loss.
    pub fn saved(&self) -> Dollars {
        self.dollars_without - self.dollars_with
    }

    /// The share of the client's prompt tokens that were not sent, from 0 to 1.
    pub fn tokens_saved_share(&self) -> f64 {
        if self.prompt_without == 0 {
            return 0.0;
        }
        self.prompt_without.saturating_sub(self.prompt_with) as f64 / self.prompt_without as f64
    }

    /// The share of the prompt tokens that the provider read from its cache, from 0 to 1.
    pub fn cached_share(&self) -> f64 {
        if self.usage.prompt() == 0 { 0.0 } else { self.usage.cache_read as f64 / self.usage.prompt() as f64 }
    }
}

/// One request, as the ledger of its conversation holds it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounted {
    /// The model, as the request names it.
    pub model: String,
    /// What the provider reported.
    pub usage: Usage,
    /// Dollars for that; `None` where the price is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dollars: Option<Dollars>,
    /// Tokens of the prompt as the client sent it, by our count.
    pub prompt_without: u64,
    /// Tokens of the prompt as it was sent, by the same count.
    pub prompt_with: u64,
    /// Dollars of the client's own request with a simulated cache.
    pub dollars_without: Dollars,
    /// The same for what was sent.
    pub dollars_with: Dollars,
    /// Whether another body than the client's was sent.
    pub changed: bool,
    /// Why the client's own body was sent, if it was. A later version may have other reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub original: Option<String>,
    /// Edits and compactions that were made for it.
    pub edits: u64,
    /// Whether we answered it ourselves.
    pub answered_here: bool,
    /// How often the provider found it too long before it was small enough.
    pub cured: u64,
    /// Microseconds that our work took before it was sent.
    pub our_micros: u64,
}

impl Accounted {
    /// The name of the event.
    pub const EVENT: &str = "proxy.request";

    /// As an event of a ledger.
    pub fn to_event(&self, at: Timestamp) -> Event {
        Event {
            at: Some(at),
            name: Self::EVENT.to_owned(),
            data: serde_json::to_value(self).unwrap_or_default(),
        }
    }

    /// Reads an event of a ledger; `None` if it is another one.
    pub fn of(event: &Event) -> Option<Self> {
        if event.name != Self::EVENT {
            return None;
        }
        serde_json::from_value(event.data.clone()).ok()
    }

    /// What this one request came to.
    pub fn figures(&self) -> Figures {
        Figures {
            requests: u64::from(!self.answered_here),
            changed: u64::from(self.changed),
            originals: self.original.iter().map(|reason| (reason.clone(), 1)).collect(),
            edits: self.edits,
            answered_here: u64::from(self.answered_here),
            cured: self.cured,
            usage: self.usage,
            dollars: self.dollars.unwrap_or_default(),
            unpriced: u64::from(self.dollars.is_none() && !self.answered_here),
            prompt_without: self.prompt_without,
            prompt_with: self.prompt_with,
            dollars_without: self.dollars_without,
            dollars_with: self.dollars_with,
            our_micros: self.our_micros,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn accounted() -> Accounted {
        Accounted {
            model: "claude-opus-4-5".to_owned(),
            usage: Usage { input: 10, cache_read: 90, output: 5, ..Usage::default() },
            dollars: Some(Dollars::new(0.5)),
            prompt_without: 400,
            prompt_with: 100,
            dollars_without: Dollars::new(0.9),
            dollars_with: Dollars::new(0.4),
            changed: true,
            original: None,
            edits: 2,
            answered_here: false,
            cured: 0,
            our_micros: 120,
        }
    }

    #[test]
    fn an_event_says_what_a_request_came_to() {
        let event = accounted().to_event(Timestamp::UNIX_EPOCH);
        assert_eq!(Accounted::of(&event), Some(accounted()));
        let mut sum = Figures::default();
        sum.add(&Accounted::of(&event).unwrap().figures());
        sum.add(&accounted().figures());
        assert_eq!((sum.requests, sum.changed, sum.edits, sum.unpriced), (2, 2, 4, 0));
        assert_eq!(sum.saved(), Dollars::new(1.0));
        assert_eq!(sum.originals, BTreeMap::new());
        sum.add(&Accounted { original: Some("paused".to_owned()), ..accounted() }.figures());
        assert_eq!(sum.originals, BTreeMap::from([("paused".to_owned(), 1)]));
        assert_eq!((sum.tokens_saved_share(), sum.cached_share()), (0.75, 0.9));
    }

    #[test]
    fn events_of_others_and_of_later_versions_do_no_harm() {
        let event = |name: &str, data| Event { at: None, name: name.to_owned(), data };
        assert_eq!(Accounted::of(&event("usage", json!({}))), None);
        let later = event(Accounted::EVENT, json!({"model": "m", "new": [1]}));
        assert_eq!(Accounted::of(&later).unwrap().figures().unpriced, 1);
        assert_eq!(Accounted::of(&event(Accounted::EVENT, json!("broken"))), None);
    }
}

//! How much a model takes, and at which size its client would condense the conversation itself.
//!
//! Claude Code and Codex condense when the usage that is reported back to them reaches a size of their own. The view is replaced
//! before that, so that what is sent and what the client is told both stay below it. How far below: between two requests of a
//! client comes an answer with what its tools gave, and all of that counts before we are asked again.

use super::{Client, World};
use http::HeaderMap;
use serde_json::Value;
use std::collections::BTreeMap;
use throughline_core::pipeline::Settings;
use throughline_core::{Event, Wire};
use throughline_model::Overrun;

/// What one step of an agent may add, at least: an answer and the results of its calls.
const STEP: u64 = 20_000;
/// The same as a part of the client's size, where that is more.
const STEP_SHARE: u64 = 12;
/// A client that condenses below this is not preceded: nothing would be left to work with.
const LEAST: u64 = 2 * STEP;
/// No model takes less.
const LEAST_WINDOW: u64 = 1_000;

/// The window of models whose long form is asked for by a header.
const LONG: u64 = 1_000_000;
/// The header's word for it begins so.
const LONG_BETA: &str = "context-1m";

/// Claude Code condenses this much below its window.
const CLAUDE_RESERVE: u64 = 33_000;
/// The window that Claude Code takes models to have that it does not know.
const CLAUDE_UNKNOWN: u64 = 1_000_000;
/// Codex condenses at this share of its model's window, in hundredths.
const CODEX_PERCENT: u64 = 90;

/// What a view has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Tokens that the model takes.
    pub(super) window: u64,
    /// The size at which the view is replaced at the latest.
    pub(super) ceiling: Option<u64>,
    /// Tokens above which a request is known to be rejected. A smaller window in the settings does not lower it: users set
    /// one to compact early.
    pub(super) limit: u64,
}

/// What is known about a request's room.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) client: &'a Client,
    pub(super) model: &'a str,
    pub(super) headers: &'a HeaderMap,
    /// What the user says: the window, and where the client condenses.
    pub(super) window: Option<u64>,
    pub(super) compacts_at: Option<u64>,
    /// What a provider said when it refused a request.
    pub(super) learnt: Option<u64>,
}

impl<'a> Known<'a> {
    /// With what the user's settings say.
    pub(super) fn of(world: &World, client: &'a Client, model: &'a str, headers: &'a HeaderMap) -> Self {
        let managing = &world.managing;
        Self {
            client,
            model,
            headers,
            window: managing.window,
            compacts_at: managing.client_compacts_at,
            learnt: None,
        }
    }

    /// What there is room for. The user's word counts before what is built in, and what a provider said before both.
    pub(super) fn room(&self) -> Room {
        let by_name = Settings::for_model(self.model).window;
        let usual = if self.asks_for_long() { by_name.max(LONG) } else { by_name };
        let learnt = self.learnt.unwrap_or(u64::MAX);
        let window = self.window.unwrap_or(usual).min(learnt);
        let limit = self.window.unwrap_or(usual).max(usual).min(learnt);
        let at = self.compacts_at.or_else(|| self.client_compacts_at());
        let ceiling = at.filter(|at| *at >= LEAST).map(|at| at - STEP.max(at / STEP_SHARE));
        Room { window, ceiling, limit }
    }

    fn asks_for_long(&self) -> bool {
        has_beta(self.headers, |feature| feature.starts_with(LONG_BETA))
    }

    /// The size at which the client condenses unless it is told otherwise.
    fn client_compacts_at(&self) -> Option<u64> {
        let by_name = Settings::for_model(self.model).window;
        match self.client {
            Client::ClaudeCode => {
                let is_known = self.model.starts_with("claude-");
                let window = if is_known && !self.asks_for_long() { by_name } else { CLAUDE_UNKNOWN };
                Some(window - CLAUDE_RESERVE)
            }
            Client::Codex => Some(by_name / 100 * CODEX_PERCENT),
            Client::Other(_) => None,
        }
    }
}

/// Returns whether a request's `anthropic-beta` header names a feature.
pub(super) fn has_beta(headers: &HeaderMap, is_wanted: impl Fn(&str) -> bool) -> bool {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|feature| is_wanted(feature.trim()))
}

/// What providers said about the windows of their models in one conversation.
#[derive(Clone, Debug, Default)]
pub(super) struct Learnt(BTreeMap<String, u64>);

impl Learnt {
    /// The event that holds what was learnt.
    pub(super) const EVENT: &'static str = "proxy.cured";

    pub(super) fn of(&self, model: &str) -> Option<u64> {
        self.0.get(model).copied()
    }

    /// What an earlier run learnt.
    pub(super) fn recall(&mut self, event: &Event) {
        if event.name != Self::EVENT {
            return;
        }
        let text = |key: &str| event.data.get(key).and_then(Value::as_str);
        if let (Some(model), Some(window)) = (text("model"), event.data.get("window").and_then(Value::as_u64))
        {
            self.keep(model, window);
        }
    }

    /// A provider refused a request and said how much it takes. Where it does not, nothing is learnt: gateways have limits of
    /// their own. `max_output`: what the request asked for as an answer.
    pub(super) fn refused(
        &mut self,
        model: &str,
        wire: Wire,
        overrun: &Overrun,
        max_output: Option<u64>,
    ) -> Option<u64> {
        // Chat's limit is for prompt and answer together.
        let answer = match wire {
            Wire::Chat => max_output.unwrap_or(0),
            Wire::Anthropic | Wire::Responses => 0,
        };
        let window = overrun.limit?.saturating_sub(answer).max(LEAST_WINDOW);
        self.keep(model, window);
        Some(window)
    }

    fn keep(&mut self, model: &str, window: u64) {
        let known = self.0.entry(model.to_owned()).or_insert(window);
        *known = window.min(*known);
    }
}

/// Tokens at which Claude Code condenses by itself, as its variables say; `None` where they say nothing: then it depends on the
/// model. `variable` reads one.
///
/// ```
/// use throughline_server::claude_compacts_at;
///
/// let set = |name: &str| (name == "CLAUDE_CODE_AUTO_COMPACT_WINDOW").then(|| "100000".to_owned());
/// assert_eq!(claude_compacts_at(set), Some(67_000));
/// assert_eq!(claude_compacts_at(|_| None), None);
/// ```
pub fn claude_compacts_at(variable: impl Fn(&str) -> Option<String>) -> Option<u64> {
    const SHORT: u64 = 200_000;
    const LEAST_AUTO: u64 = 100_000;
    const PERCENT_RESERVE: u64 = 20_000;
    let is_set = |name: &str| variable(name).is_some_and(|value| !matches!(value.trim(), "" | "0" | "false"));
    let figure = |name: &str| variable(name).and_then(|value| value.trim().parse::<u64>().ok());
    if is_set("DISABLE_AUTO_COMPACT") || is_set("DISABLE_COMPACT") {
        return Some(u64::MAX);
    }
    let window = figure("CLAUDE_CODE_AUTO_COMPACT_WINDOW").map(|window| window.max(LEAST_AUTO));
    let window = window.or_else(|| is_set("CLAUDE_CODE_DISABLE_1M_CONTEXT").then_some(SHORT));
    match figure("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE").filter(|percent| (1..=100).contains(percent)) {
        Some(percent) => {
            let window = window.unwrap_or(CLAUDE_UNKNOWN);
            Some((window - PERCENT_RESERVE) / 100 * percent).map(|at| at.min(window - CLAUDE_RESERVE))
        }
        None => window.map(|window| window - CLAUDE_RESERVE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use throughline_core::profile::Profile;

    fn known<'a>(client: &'a Client, model: &'a str, headers: &'a HeaderMap) -> Known<'a> {
        Known { client, model, headers, window: None, compacts_at: None, learnt: None }
    }

    fn beta(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(
            http::HeaderName::from_static("anthropic-beta"),
            HeaderValue::from_static(value),
        )])
    }

    /// The size at which we replace the view, as the pipeline takes it.
    fn ours(profile: &Profile, room: Room, max_output: u64) -> u64 {
        let limits = profile.compact.as_ref().unwrap();
        limits.threshold_for(room.window, Some(max_output)).min(room.ceiling.unwrap_or(u64::MAX))
    }

    #[test]
    fn the_view_is_replaced_before_the_client_would_condense() {
        let long = beta("claude-code-20250219,context-1m-2025-08-07");
        let none = HeaderMap::new();
        let (claude, codex) = (Client::ClaudeCode, Client::Codex);
        // Client, model, headers, what the model takes, where the client condenses.
        let table: [(&Client, &str, &HeaderMap, u64, u64); 13] = [
            (&claude, "claude-opus-5-5", &none, 1_000_000, 967_000),
            (&claude, "claude-opus-5-5-20261001", &none, 1_000_000, 967_000),
            (&claude, "claude-sonnet-5-5", &none, 1_000_000, 967_000),
            (&claude, "claude-opus-4-8", &none, 1_000_000, 967_000),
            (&claude, "claude-sonnet-4-5", &none, 200_000, 167_000),
            (&claude, "claude-sonnet-4-5", &long, 1_000_000, 967_000),
            (&claude, "claude-sonnet-4-5[1m]", &none, 1_000_000, 967_000),
            (&claude, "claude-haiku-4-5", &none, 200_000, 167_000),
            // Claude Code takes models that it does not know to have the long window; we do not.
            (&claude, "qwen3-coder", &none, 200_000, 967_000),
            (&codex, "gpt-5.5", &none, 272_000, 244_800),
            (&codex, "gpt-5.3-codex-spark", &none, 100_000, 90_000),
            (&codex, "gpt-6.1-sol", &none, 272_000, 244_800),
            (&codex, "some-model", &none, 200_000, 180_000),
        ];
        for (client, model, headers, window, at) in table {
            let known = known(client, model, headers);
            assert_eq!(known.client_compacts_at(), Some(at), "{model}");
            let room = known.room();
            assert_eq!(room.window, window, "{model}");
            for name in ["throughline", "claude", "codex"] {
                let profile = Profile::named(name).unwrap();
                for max_output in [4_096, 32_000, 128_000] {
                    let ours = ours(&profile, room, max_output);
                    assert!(ours + STEP <= at, "{model} under {name}: {ours} is not before {at}");
                    // Nor is much of the window given away for it.
                    assert!(
                        ours >= window.min(at) / 4 * 3 - STEP,
                        "{model} under {name}: {ours} of {window}"
                    );
                }
            }
        }
    }

    #[test]
    fn what_the_user_says_counts_before_what_is_built_in_and_a_provider_before_both() {
        let (client, headers) = (Client::ClaudeCode, HeaderMap::new());
        let known = known(&client, "claude-opus-5-5", &headers);
        let said = Known { window: Some(500_000), compacts_at: Some(300_000), ..known };
        assert_eq!(said.room(), Room { window: 500_000, ceiling: Some(275_000), limit: 1_000_000 });
        assert_eq!(Known { window: Some(2_000_000), ..said }.room().limit, 2_000_000);
        let learnt = Known { learnt: Some(200_000), ..said }.room();
        assert_eq!((learnt.window, learnt.limit), (200_000, 200_000));
        assert_eq!(Known { learnt: Some(900_000), ..said }.room().window, 500_000);
        // One that condenses at once is not preceded.
        assert_eq!(Known { compacts_at: Some(800), ..known }.room().ceiling, None);
        let other = Client::Other("curl".to_owned());
        assert_eq!(Known { client: &other, ..known }.room().ceiling, None);
    }

    #[test]
    fn claude_codes_variables_say_where_it_condenses() {
        let at = |set: &[(&str, &str)]| {
            let set: BTreeMap<String, String> =
                set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            claude_compacts_at(|name| set.get(name).cloned())
        };
        assert_eq!(at(&[]), None);
        assert_eq!(at(&[("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "50000")]), Some(67_000));
        assert_eq!(at(&[("CLAUDE_CODE_DISABLE_1M_CONTEXT", "1")]), Some(167_000));
        assert_eq!(at(&[("CLAUDE_CODE_DISABLE_1M_CONTEXT", "0")]), None);
        assert_eq!(at(&[("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "5")]), Some(49_000));
        assert_eq!(at(&[("DISABLE_AUTO_COMPACT", "1")]), Some(u64::MAX));
        let small = [("CLAUDE_AUTOCOMPACT_PCT_OVERRIDE", "5"), ("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "100000")];
        assert_eq!(at(&small), Some(4_000));
    }

    #[test]
    fn the_smallest_figure_of_a_model_is_kept() {
        let mut learnt = Learnt::default();
        let said = |limit: u64| Overrun { limit: Some(limit), ..Overrun::default() };
        assert_eq!(learnt.refused("m", Wire::Anthropic, &said(200_000), Some(9_000)), Some(200_000));
        assert_eq!(learnt.refused("m", Wire::Chat, &said(64_000), Some(4_000)), Some(60_000));
        assert_eq!(learnt.refused("m", Wire::Chat, &Overrun::default(), None), None);
        learnt.refused("m", Wire::Anthropic, &said(900_000), None);
        assert_eq!((learnt.of("m"), learnt.of("n")), (Some(60_000), None));
    }
}

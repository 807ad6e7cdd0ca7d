//! What can be found out with a few small requests, by way of a proxy.

use super::Verdict::{self, Broken, NotMeasured, Note, Works};
use super::local::PATIENCE;
use crate::output::number;
use crate::proxy::http::{Ask, Reply};
use serde_json::{Value, json};
use std::time::Duration;
use throughline_core::Usage;
use throughline_core::cost::{Dollars, Prices, Split, Ttl};
use throughline_engine::config::Config;
use throughline_model::process_environment;
use throughline_server::{Running, Upstream};
use throughline_wire::sse;
use throughline_wire::stream::StreamDecoder;

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(120);
/// Enough for every provider to keep it in its cache.
const PROMPT_TOKENS: u64 = 6000;
const ANSWER_TOKENS: u64 = 16;
/// The most that is read of a stream.
const MOST: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Api {
    Anthropic,
    Responses,
    /// Somebody who speaks like OpenAI.
    Chat,
}

/// A provider by way of a proxy.
pub(super) struct Provider<'a> {
    api: Api,
    upstream: &'a Upstream,
    server: &'a Running,
    key: Option<(&'static str, String)>,
}

/// A model that a provider offers, and its window where it says so.
pub(super) struct Model {
    id: String,
    window: Option<u64>,
}

impl<'a> Provider<'a> {
    /// The two that requests may go to.
    pub(super) fn all(server: &'a Running) -> [Self; 2] {
        let upstreams = &server.settings().upstreams;
        let get = |name: &str| process_environment(name).filter(|value| !value.trim().is_empty());
        let bearer = |key: String| ("Authorization", format!("Bearer {key}"));
        let anthropic = get("ANTHROPIC_AUTH_TOKEN").map(bearer);
        let anthropic = anthropic.or_else(|| Some(("x-api-key", get("ANTHROPIC_API_KEY")?)));
        let openai = get("OPENAI_API_KEY").map(bearer);
        let api = if upstreams.openai.host() == "api.openai.com" { Api::Responses } else { Api::Chat };
        [
            Self { api: Api::Anthropic, upstream: &upstreams.anthropic, server, key: anthropic },
            Self { api, upstream: &upstreams.openai, server, key: openai },
        ]
    }

    pub(super) fn about(&self) -> String {
        self.upstream.to_string()
    }

    pub(super) fn has_key(&self) -> bool {
        self.key.is_some()
    }

    pub(super) fn key_variable(&self) -> &'static str {
        match self.api {
            Api::Anthropic => "ANTHROPIC_API_KEY",
            Api::Responses | Api::Chat => "OPENAI_API_KEY",
        }
    }

    pub(super) fn model_variable(&self) -> &'static str {
        match self.api {
            Api::Anthropic => "ANTHROPIC_MODEL",
            Api::Responses | Api::Chat => "OPENAI_MODEL",
        }
    }

    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> std::io::Result<Reply> {
        let mut headers: Vec<(&str, String)> = self.key.clone().into_iter().collect();
        if self.api == Api::Anthropic {
            headers.push(("anthropic-version", "2023-06-01".to_owned()));
        }
        let patience = if body.is_some() { ANSWER } else { PATIENCE };
        let ask = Ask { method, path, headers: &headers, body: body.map(Value::to_string), patience };
        ask.of(self.server.address())
    }

    /// Whether it knows us, and which models it offers.
    pub(super) fn credentials(&self) -> ((Verdict, String), Vec<Model>) {
        let reply = match self.ask("GET", "/v1/models", None) {
            Ok(reply) => reply,
            Err(error) => return ((Broken, format!("no answer: {error}")), Vec::new()),
        };
        let models = match reply.status {
            200 => models(&reply.body),
            401 | 403 => {
                let text = format!("the key is refused: {}", reason(&reply));
                return ((Broken, text), Vec::new());
            }
            // Not everybody has such a list; the requests will tell.
            404 | 405 => return ((Note, "it lists no models".to_owned()), Vec::new()),
            status => return ((Broken, format!("it answers with {status}: {}", reason(&reply))), Vec::new()),
        };
        ((Works, format!("accepted; {} models", models.len())), models)
    }
}

fn models(body: &str) -> Vec<Model> {
    let list: Value = serde_json::from_str(body).unwrap_or_default();
    let window = |model: &Value| {
        let keys = ["max_input_tokens", "context_window", "context_length", "max_model_len"];
        keys.iter().find_map(|key| model.get(key)?.as_u64())
    };
    let one =
        |model: &Value| Some(Model { id: model.get("id")?.as_str()?.to_owned(), window: window(model) });
    list.get("data")
        .and_then(Value::as_array)
        .map(|data| data.iter().filter_map(one).collect())
        .unwrap_or_default()
}

/// What a refusal says, in a line.
fn reason(reply: &Reply) -> String {
    let json: Value = serde_json::from_str(&reply.body).unwrap_or_default();
    let message = json.pointer("/error/message").and_then(Value::as_str).unwrap_or(&reply.body);
    crate::output::fit(message, 120)
}

/// Two same requests to one model.
pub(super) struct Trial<'a> {
    provider: &'a Provider<'a>,
    model: String,
}

impl<'a> Trial<'a> {
    /// With the model that is named, else the cheapest that is offered.
    pub(super) fn new(provider: &'a Provider<'a>, models: &[Model]) -> Option<Self> {
        let named = process_environment(provider.model_variable()).filter(|name| !name.trim().is_empty());
        let cheapest = || {
            let known = models.iter().filter(|model| Prices::builtin().of(&model.id).is_known());
            let cost = |model: &&Model| Prices::builtin().of(&model.id).rates.input;
            known.min_by_key(cost).map(|model| model.id.clone())
        };
        named.or_else(cheapest).map(|model| Self { provider, model })
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// What the two cost at most; `None` where the price is not known.
    pub(super) fn cost(&self) -> Option<Dollars> {
        let price = Prices::builtin().of(&self.model);
        let split = Split { write: 2 * PROMPT_TOKENS, output: 2 * ANSWER_TOKENS, ..Split::default() };
        price.is_known().then(|| price.charge(&split, Ttl::Short).dollars)
    }

    /// The window: what the provider says, what is known, and what is set.
    pub(super) fn window(&self, config: &Config, models: &[Model]) -> (Verdict, String) {
        let model = &self.model;
        let used = config.pipeline_settings(model).window;
        let said = models.iter().find(|offered| offered.id == *model).and_then(|offered| offered.window);
        match said {
            Some(said) if used > said => {
                let (used, said) = (number(used), number(said));
                (
                    Broken,
                    format!(
                        "{used} tokens are assumed for {model}, but the provider says {said}: set window.tokens"
                    ),
                )
            }
            Some(said) => {
                let (used, said) = (number(used), number(said));
                (Works, format!("{used} tokens for {model}; the provider says {said}"))
            }
            None => (NotMeasured, format!("{} tokens for {model}; the provider does not say", number(used))),
        }
    }

    /// Whether answers stream, and whether what was sent before is read from the cache.
    pub(super) fn run(&self) -> ((Verdict, String), (Verdict, String)) {
        let body = self.body();
        let first = match self.answer(&body) {
            Ok(first) => first,
            Err(text) => return ((Broken, text), (NotMeasured, "there was no answer".to_owned())),
        };
        let streaming = match first.pieces {
            0 | 1 => (Broken, "the answer came in one piece".to_owned()),
            n => (Works, format!("the answer of {} came in {n} pieces", self.model)),
        };
        let cache = match self.answer(&body) {
            Err(text) => (Broken, text),
            Ok(second) if second.usage.cache_read > 0 => {
                let (read, all) = (number(second.usage.cache_read), number(second.usage.prompt()));
                (Works, format!("{read} of {all} tokens were read from it the second time"))
            }
            Ok(second) if second.usage == Usage::default() => {
                (NotMeasured, "the provider reported no usage".to_owned())
            }
            Ok(_) => (NotMeasured, "the provider reported no cached tokens".to_owned()),
        };
        (streaming, cache)
    }

    fn answer(&self, body: &Value) -> Result<Answered, String> {
        let path = match self.provider.api {
            Api::Anthropic => "/v1/messages",
            Api::Responses => "/v1/responses",
            Api::Chat => "/v1/chat/completions",
        };
        let reply =
            self.provider.ask("POST", path, Some(body)).map_err(|error| format!("no answer: {error}"))?;
        if reply.status != 200 {
            return Err(format!("{} answers with {}: {}", self.model, reply.status, reason(&reply)));
        }
        let mut decoder = StreamDecoder::new(match self.provider.api {
            Api::Anthropic => throughline_core::Wire::Anthropic,
            Api::Responses => throughline_core::Wire::Responses,
            Api::Chat => throughline_core::Wire::Chat,
        });
        let mut events = Vec::new();
        let parsed = sse::Parser::new(MOST).push(reply.body.as_bytes(), &mut events);
        parsed.map_err(|error| format!("the answer is no stream: {error}"))?;
        for event in &events {
            decoder.push(event).map_err(|error| format!("the answer can't be read: {error}"))?;
        }
        Ok(Answered { usage: decoder.finish().usage, pieces: reply.pieces })
    }

    /// Long enough for the cache, and of this run alone.
    fn body(&self) -> Value {
        let nonce = throughline_server::Token::fresh();
        let mut text = format!("Check {}.\n", nonce.expose());
        for line in 0..PROMPT_TOKENS / 12 {
            text += &format!("Line {line} of a text that nobody needs to read.\n");
        }
        let (model, question) = (&self.model, "Say ok.");
        match self.provider.api {
            Api::Anthropic => json!({
                "model": model, "max_tokens": ANSWER_TOKENS, "stream": true,
                "system": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
                "messages": [{"role": "user", "content": question}],
            }),
            Api::Responses => json!({
                "model": model, "max_output_tokens": ANSWER_TOKENS, "stream": true, "store": false,
                "input": [{"role": "developer", "content": text}, {"role": "user", "content": question}],
            }),
            Api::Chat => json!({
                "model": model, "max_completion_tokens": ANSWER_TOKENS, "stream": true,
                "stream_options": {"include_usage": true},
                "messages": [{"role": "system", "content": text}, {"role": "user", "content": question}],
            }),
        }
    }
}

struct Answered {
    usage: Usage,
    pieces: usize,
}

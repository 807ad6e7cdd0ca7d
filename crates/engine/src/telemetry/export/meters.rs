//! Metrics, drawn from spans when they close.

use super::SCOPE;
use opentelemetry::metrics::{Counter, Histogram, MeterProvider};
use opentelemetry::{KeyValue, Value};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use std::fmt::Debug;
use std::time::Instant;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Bounds of the histograms, as the GenAI conventions advise.
const TOKEN_BOUNDS: [f64; 14] = [
    1.0, 4.0, 16.0, 64.0, 256.0, 1024.0, 4096.0, 16384.0, 65536.0, 262144.0, 1048576.0, 4194304.0,
    16777216.0, 67108864.0,
];
const SECOND_BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

const MODEL: &str = "gen_ai.request.model";
/// What calls are told apart by.
const CALL: &[&str] = &[
    "gen_ai.operation.name",
    "gen_ai.provider.name",
    MODEL,
    "gen_ai.response.model",
    "server.address",
    "server.port",
];
/// What compactions are told apart by.
const COMPACTION: &[&str] = &[
    MODEL,
    "throughline.compaction.trigger",
    "throughline.compaction.strategy",
    "throughline.compaction.writer",
    "throughline.compaction.outcome",
    "error.type",
];

/// Reads metrics off spans and events. Never told apart by session: there is no end of those.
pub(super) struct Meters {
    tokens: Histogram<u64>,
    seconds: Histogram<f64>,
    context: Histogram<u64>,
    compactions: Counter<u64>,
    dollars: Counter<f64>,
}

impl Meters {
    pub(super) fn new(provider: &SdkMeterProvider) -> Self {
        let meter = provider.meter(SCOPE);
        Self {
            tokens: meter
                .u64_histogram("gen_ai.client.token.usage")
                .with_unit("{token}")
                .with_description("Tokens of a call, by type; cached ones are input.")
                .with_boundaries(TOKEN_BOUNDS.to_vec())
                .build(),
            seconds: meter
                .f64_histogram("gen_ai.client.operation.duration")
                .with_unit("s")
                .with_description("How long a call took, repetitions included.")
                .with_boundaries(SECOND_BOUNDS.to_vec())
                .build(),
            context: meter
                .u64_histogram("throughline.context.tokens")
                .with_unit("{token}")
                .with_description("Tokens of a request when it goes out, by our count.")
                .with_boundaries(TOKEN_BOUNDS.to_vec())
                .build(),
            compactions: meter
                .u64_counter("throughline.compactions")
                .with_unit("{compaction}")
                .with_description("Compactions that were due, and what came of them.")
                .build(),
            dollars: meter
                .f64_counter("throughline.background.dollars")
                .with_unit("{USD}")
                .with_description("What helpers cost: notes, summaries, spans.")
                .build(),
        }
    }

    fn call(&self, seen: &Seen) {
        let mut keys = seen.fields.pick(CALL);
        for (kind, name) in [("input", "gen_ai.usage.input_tokens"), ("output", "gen_ai.usage.output_tokens")]
        {
            if let Some(tokens) = seen.fields.count(name) {
                let kind = KeyValue::new("gen_ai.token.type", kind);
                self.tokens.record(tokens, &[&keys[..], &[kind]].concat());
            }
        }
        keys.extend(seen.fields.pick(&["error.type"]));
        self.seconds.record(seen.begun.elapsed().as_secs_f64(), &keys);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Meters {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let is_measured = matches!(attributes.metadata().name(), "chat" | "prepare" | "compact");
        if let (true, Some(span)) = (is_measured, context.span(id)) {
            let mut fields = Fields::default();
            attributes.record(&mut fields);
            span.extensions_mut().insert(Seen { begun: Instant::now(), fields });
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        if let Some(span) = context.span(id)
            && let Some(seen) = span.extensions_mut().get_mut::<Seen>()
        {
            values.record(&mut seen.fields);
        }
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else { return };
        let Some(seen) = span.extensions_mut().remove::<Seen>() else { return };
        match span.name() {
            "chat" => self.call(&seen),
            "compact" => self.compactions.add(1, &seen.fields.pick(COMPACTION)),
            "prepare" => {
                if let Some(tokens) = seen.fields.count("throughline.tokens.after") {
                    self.context.record(tokens, &seen.fields.pick(&[MODEL]));
                }
            }
            _ => {}
        }
    }

    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().name() == "receipt" {
            let mut fields = Fields::default();
            event.record(&mut fields);
            if let Some(Value::F64(dollars)) = fields.get("throughline.job.dollars") {
                self.dollars.add(*dollars, &fields.pick(&["throughline.job", MODEL]));
            }
        }
    }
}

/// A span that is not closed yet.
struct Seen {
    begun: Instant,
    fields: Fields,
}

/// Names, counts and ids.
#[derive(Default)]
struct Fields(Vec<(&'static str, Value)>);

impl Fields {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.retain(|(name, _)| *name != field.name());
        self.0.push((field.name(), value.into()));
    }

    fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    fn count(&self, name: &str) -> Option<u64> {
        match self.get(name) {
            Some(Value::I64(count)) => u64::try_from(*count).ok(),
            _ => None,
        }
    }

    fn pick(&self, names: &[&'static str]) -> Vec<KeyValue> {
        names.iter().filter_map(|name| Some(KeyValue::new(*name, self.get(name)?.clone()))).collect()
    }
}

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value.to_owned());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, i64::try_from(value).unwrap_or(i64::MAX));
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }

    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}
}

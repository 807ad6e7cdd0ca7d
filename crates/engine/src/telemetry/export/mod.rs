//! Sends spans and metrics to a collector: OTLP over HTTP.
//!
//! Threads of their own send what was gathered; a queue that is full drops what comes. Nothing here runs on the threads
//! of a session but the gathering.

mod address;
mod meters;

use super::{Guard, TelemetryError};
use crate::config::Telemetry;
use address::{Collector, Signal};
use meters::Meters;
use opentelemetry::trace::TracerProvider;
use opentelemetry_otlp::{MetricExporter, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::SdkTracerProvider;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};
use throughline_model::Environment;
use tracing::{Dispatch, Metadata};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{Registry, filter};

/// For which version of the program.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The library that spans and metrics come from.
const SCOPE: &str = "throughline";
/// How long one request to the collector may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long the end of a program may be delayed by what is left to send.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// A listener that sends what it hears, for programs that choose themselves where it listens. [`start`](super::start) is
/// enough for others. It looks neither at `enabled` nor for the collector.
///
/// # Errors
/// If settings or variables can't be used.
pub fn connect(
    settings: &Telemetry,
    environment: Environment<'_>,
) -> Result<(Dispatch, Guard), TelemetryError> {
    let collector = Collector::new(settings, environment)?;
    let resource = resource(settings, environment);
    let build = |error: opentelemetry_otlp::ExporterBuildError| TelemetryError::Client(error.to_string());
    let span_exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(collector.client.clone())
        .with_endpoint(collector.url(Signal::Spans))
        .with_headers(collector.headers.clone())
        .with_timeout(PATIENCE)
        .build()
        .map_err(build)?;
    let metric_exporter = MetricExporter::builder()
        .with_http()
        .with_endpoint(collector.url(Signal::Metrics))
        .with_http_client(collector.client)
        .with_headers(collector.headers)
        .with_timeout(PATIENCE)
        .build()
        .map_err(build)?;
    let spans = SdkTracerProvider::builder()
        .with_batch_exporter(span_exporter)
        .with_resource(resource.clone())
        .build();
    let metrics =
        SdkMeterProvider::builder().with_periodic_exporter(metric_exporter).with_resource(resource).build();
    let layer = tracing_opentelemetry::layer()
        .with_location(false)
        .with_threads(false)
        .with_tracked_inactivity(false)
        .with_target(false)
        .with_tracer(spans.tracer(SCOPE));
    let listener =
        Registry::default().with(filter::filter_fn(may_leave)).with(layer).with(Meters::new(&metrics));
    let sending = Sending { spans, metrics };
    Ok((Dispatch::new(listener), Guard { _sending: Some(sending) }))
}

/// Who speaks: a name, a version, and what `OTEL_RESOURCE_ATTRIBUTES` says.
fn resource(settings: &Telemetry, environment: Environment<'_>) -> Resource {
    let name = environment("OTEL_SERVICE_NAME").filter(|name| !name.trim().is_empty());
    Resource::builder()
        .with_service_name(name.unwrap_or_else(|| settings.service_name.clone()))
        .with_attribute(opentelemetry::KeyValue::new("service.version", VERSION))
        .build()
}

/// Whether a span or event may leave this machine: it is ours, and every field that it can have is named by the conventions or
/// is one of our own. A message in words, an error or a path has another name. Decided once for each place in the code.
fn may_leave(metadata: &Metadata<'_>) -> bool {
    let is_known = |name: &str| {
        name == "error.type"
            || ["gen_ai.", "otel.", "server.", "throughline."].iter().any(|prefix| name.starts_with(prefix))
    };
    metadata.target().starts_with("throughline")
        && metadata.fields().iter().all(|field| is_known(field.name()))
}

/// What is sent. Dropping it sends what is left, within a limit.
#[derive(Debug)]
pub(super) struct Sending {
    spans: SdkTracerProvider,
    metrics: SdkMeterProvider,
}

impl Drop for Sending {
    fn drop(&mut self) {
        let (done, ended) = mpsc::channel();
        let (spans, metrics) = (self.spans.clone(), self.metrics.clone());
        // The providers' own limits are not kept while a request is under way.
        let both: [Box<dyn FnOnce() + Send>; 2] =
            [Box::new(move || drop(spans.shutdown())), Box::new(move || drop(metrics.shutdown()))];
        for shutdown in both {
            let done = done.clone();
            let end = move || {
                shutdown();
                // Nobody may wait any more.
                let _ = done.send(());
            };
            // Without a thread nothing is sent, and nothing is waited for.
            let _ = thread::Builder::new().name("telemetry".to_owned()).spawn(end);
        }
        drop(done);
        let deadline = Instant::now() + LAST_WORDS;
        while ended.recv_timeout(deadline.saturating_duration_since(Instant::now())).is_ok() {}
    }
}

//! Spans and metrics with the names of OpenTelemetry's GenAI conventions.
//!
//! Spans are `tracing` spans. They are always made and cost next to nothing while nobody listens. In builds with the feature
//! `otel`, [`start`] sends them to a collector, and metrics that are drawn from them. `docs/telemetry.md` lists all of them.
//!
//! **Nothing that was said is in them**: no words of anybody's, no tool output, no paths; names, counts and ids only. What
//! has any other field is not sent, whoever made it.
//!
//! **A session never waits for a collector**, nor fails by it. What can't be sent is lost.

mod error;
#[cfg(feature = "otel")]
mod export;
pub(crate) mod span;

pub use error::TelemetryError;
#[cfg(feature = "otel")]
pub use export::connect;

use crate::config::Telemetry;
use throughline_model::Environment;

/// Sends what is left when it is dropped, for at most two seconds.
#[derive(Debug, Default)]
#[must_use = "nothing more is sent once it is dropped"]
pub struct Guard {
    #[cfg(feature = "otel")]
    _sending: Option<export::Sending>,
}

/// From now on the spans of this process and their metrics are sent, if the settings say so. `OTEL_EXPORTER_OTLP_ENDPOINT` and
/// `OTEL_SERVICE_NAME` win over the settings, `OTEL_EXPORTER_OTLP_HEADERS` adds headers, `OTEL_SDK_DISABLED=true` switches off.
///
/// # Errors
/// If settings or variables can't be used, or somebody else listens to the spans of this process. Whether the collector is
/// there is no error.
pub fn start(settings: &Telemetry, environment: Environment<'_>) -> Result<Guard, TelemetryError> {
    let is_off =
        environment("OTEL_SDK_DISABLED").is_some_and(|word| word.trim().eq_ignore_ascii_case("true"));
    if !settings.enabled || is_off {
        return Ok(Guard::default());
    }
    begin(settings, environment)
}

#[cfg(feature = "otel")]
fn begin(settings: &Telemetry, environment: Environment<'_>) -> Result<Guard, TelemetryError> {
    let (dispatch, guard) = connect(settings, environment)?;
    tracing::dispatcher::set_global_default(dispatch).map_err(|_| TelemetryError::Taken)?;
    Ok(guard)
}

#[cfg(not(feature = "otel"))]
fn begin(_: &Telemetry, _: Environment<'_>) -> Result<Guard, TelemetryError> {
    Err(TelemetryError::NotBuilt)
}

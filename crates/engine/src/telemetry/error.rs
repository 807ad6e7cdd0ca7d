//! Why telemetry can't be sent.

/// Why telemetry can't be sent. A session goes on without it.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// It is switched on in a build that has no exporter.
    #[error(
        "telemetry is switched on, but this build can't send it: build with `--features otel`, or set \
         `telemetry.enabled = false`"
    )]
    NotBuilt,
    /// The collector's address can't be used. It is not shown: it may hold a password.
    #[error("{from} is no http or https address; write it like http://localhost:4318")]
    Endpoint {
        /// Who said so: a key or a variable.
        from: &'static str,
    },
    /// The variable with headers can't be used. It is not shown: it holds keys.
    #[error("OTEL_EXPORTER_OTLP_HEADERS: pair {at} is no header; write them like name=value,name2=value2")]
    Headers {
        /// Which pair, counted from one.
        at: usize,
    },
    /// There can be no connection, whatever the collector does.
    #[error("telemetry can't be sent: {0}")]
    Client(String),
    /// One program listens at a time.
    #[error("telemetry can't be sent: the spans of this process go elsewhere already")]
    Taken,
}

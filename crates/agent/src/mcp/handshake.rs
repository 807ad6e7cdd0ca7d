//! The first words with a server.

use super::clean;
use super::connection::{Ask, Connection, NoAnswer};
use super::limits::INSTRUCTIONS_BYTES;
use serde_json::{Value, json};
use std::time::Duration;
use throughline_model::CancelToken;

/// The versions of the protocol that we speak, newest first. For what we use of it they are the same.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// What a server says of itself.
pub(super) struct Greeting {
    /// Whether it has tools.
    pub(super) has_tools: bool,
    /// Whether its list of tools can change.
    pub(super) changes: bool,
    /// What it wants the model to know. Cleaned and cut.
    pub(super) instructions: Option<String>,
}

/// Greets a server, and agrees upon a version.
pub(super) async fn greet(
    connection: &Connection,
    limit: Duration,
    cancel: &CancelToken,
) -> Result<Greeting, String> {
    let [newest, ..] = VERSIONS;
    let params = json!({
        "protocolVersion": newest,
        "capabilities": {"roots": {}},
        "clientInfo": {"name": "throughline", "version": env!("CARGO_PKG_VERSION")},
    });
    let ask = Ask { method: "initialize", params, limit, cancel, progress: None };
    let answer = connection.request(ask).await.map_err(|error| match error {
        NoAnswer::Refused(refusal) => {
            format!("it refused to begin: {refusal}; we speak {}", VERSIONS.join(", "))
        }
        NoAnswer::Cancelled | NoAnswer::TooLate(_) | NoAnswer::Closed(_) | NoAnswer::Failed(_) => {
            error.to_string()
        }
    })?;
    let version = answer.get("protocolVersion").and_then(Value::as_str).unwrap_or_default();
    let Some(version) = VERSIONS.into_iter().find(|known| *known == version) else {
        let shown = clean::line(version, 40);
        return Err(format!(
            "it speaks version {shown:?} of the protocol; known are {}",
            VERSIONS.join(", ")
        ));
    };
    connection.agreed(version);
    connection.tell("notifications/initialized").await?;
    let tools = answer.get("capabilities").and_then(|capabilities| capabilities.get("tools"));
    let changes =
        tools.and_then(|tools| tools.get("listChanged")).and_then(Value::as_bool).unwrap_or_default();
    if changes {
        connection.listen();
    }
    let instructions = answer.get("instructions").and_then(Value::as_str);
    let instructions = instructions.map(|text| clean::clean(text, INSTRUCTIONS_BYTES).trim().to_owned());
    Ok(Greeting {
        has_tools: tools.is_some_and(|tools| !tools.is_null()),
        changes,
        instructions: instructions.filter(|text| !text.is_empty()),
    })
}

//! What a person named on the command line: a session, a ledger, a transcript, or a request.

use crate::context::Context;
use anyhow::Context as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_core::{Entry, Message, View, Wire};
use throughline_engine::replay::Recording;
use throughline_ledger::{is_ledger, resume, session};
use throughline_wire::Request;

/// A conversation, wherever it came from.
pub(crate) struct Given {
    /// Everything that was said.
    pub(crate) said: Vec<Arc<Message>>,
    /// What the model would be sent.
    pub(crate) view: View,
    pub(crate) model: String,
    pub(crate) cwd: Option<String>,
    pub(crate) wire: Wire,
    /// The ledger, where it is one of ours.
    pub(crate) ledger: Option<PathBuf>,
    pub(crate) is_request: bool,
}

/// The model whose tokens are counted where nothing names one.
const DEFAULT_MODEL: &str = "claude-sonnet-4-5";

/// Finds what `name` means: a file by its content, else a session.
pub(crate) fn given(context: &Context, name: &str) -> anyhow::Result<Given> {
    let path = Path::new(name);
    if !path.is_file() {
        return from_ledger(context, &context.ledger(name)?);
    }
    if let Some(given) = from_request(path)? {
        return Ok(given);
    }
    let recording = Recording::open(&context.home, path)?;
    if recording.client.is_empty() || is_ledger(path)? {
        return from_ledger(context, path);
    }
    let mut view = View::default();
    for message in &recording.messages {
        view.push(Entry::of(message.clone(), Default::default()));
    }
    Ok(Given {
        model: recording.model_or_default().to_owned(),
        wire: wire_of(&recording.client),
        cwd: recording.cwd,
        said: recording.messages,
        view,
        ledger: None,
        is_request: false,
    })
}

fn wire_of(client: &str) -> Wire {
    match client {
        "codex" => Wire::Responses,
        _ => Wire::Anthropic,
    }
}

fn from_ledger(context: &Context, path: &Path) -> anyhow::Result<Given> {
    let resumed = resume(&context.home, path)?;
    let mut said = Vec::new();
    session::each_record(&context.home, path, &mut |_, record| {
        if let throughline_core::Record::Message(message) = record {
            said.push(Arc::new(*message));
        }
        anyhow::Ok(())
    })?;
    let meta = resumed.meta.as_ref();
    let client = meta.map(|meta| meta.client.clone()).unwrap_or_default();
    Ok(Given {
        said,
        view: resumed.view,
        model: resumed.card.and_then(|card| card.model).unwrap_or_else(|| DEFAULT_MODEL.to_owned()),
        cwd: meta.and_then(|meta| meta.cwd.clone()),
        wire: wire_of(&client),
        ledger: Some(path.to_owned()),
        is_request: false,
    })
}

/// A provider's request is one JSON document; a transcript is many.
fn from_request(path: &Path) -> anyhow::Result<Option<Given>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(&bytes) else { return Ok(None) };
    let Some(wire) = Request::detect(&value) else { return Ok(None) };
    let request = Request::from_value(wire, value)?;
    let model = request.model().unwrap_or(DEFAULT_MODEL).to_owned();
    let said: Vec<Arc<Message>> = request.messages.into_iter().map(Arc::new).collect();
    let mut view = View::default();
    for message in &said {
        view.push(Entry::of(message.clone(), Default::default()));
    }
    Ok(Some(Given { said, view, model, cwd: None, wire, ledger: None, is_request: true }))
}

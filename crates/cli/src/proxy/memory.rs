//! How proxied sessions remember, as the configuration says.

use crate::context::Context;
use crate::handbook::{hire, store_variable};
use crate::output::yellow;
use std::sync::Arc;
use std::time::Duration;
use throughline_engine::config::{Config, ScribeSettings};
use throughline_memory::notes::Wording;
use throughline_model::{Governor, Model, process_environment};
use throughline_server::MemoryOptions;

/// How sessions remember; `None` if they do not. What can't be had is told, and done without.
pub(crate) fn options(context: &Context, config: &Config) -> Option<MemoryOptions> {
    if !config.proxy.memory || !config.memory.enabled {
        return None;
    }
    let mut settings = config.memory.clone();
    let variable = store_variable().inspect_err(|error| warn(&format!("{error:#}"))).ok().flatten();
    settings.handbook.store = variable.or(settings.handbook.store);
    let (wording, problems) = Wording::load(context.home.root());
    problems.iter().for_each(|problem| warn(problem));
    let governor = Governor::open(context.home.root(), config.governor.clone());
    let governor = governor.inspect_err(|error| warn(error)).ok();
    let has_handbooks = settings.handbook.enabled && settings.handbook.generate;
    let hire = has_handbooks.then(|| hire(context, &settings.handbook)).and_then(|hire| {
        let said =
            |error: &anyhow::Error| warn(&format!("old sessions are not read for the handbook: {error:#}"));
        hire.inspect_err(said).ok()
    });
    let own = config.mcp.servers.iter().filter(|(_, server)| !server.external);
    let defaults = MemoryOptions::new(settings);
    Some(MemoryOptions {
        zone: jiff::tz::TimeZone::system(),
        notes: Some(config.notes),
        wording,
        // Nothing is spent that nobody keeps count of.
        scribe: governor.as_ref().and_then(|_| scribe(config)),
        governor,
        hire,
        own_servers: own.map(|(name, _)| name.clone()).collect(),
        // All else that is decided about a request has its time, too.
        wait: defaults.wait.min(Duration::from_millis(config.proxy.our_time_ms / 2)),
        ..defaults
    })
}

/// Who writes, if the user says that a model does.
pub(super) fn scribe(config: &Config) -> Option<Arc<dyn Model>> {
    let settings = match &config.scribe {
        ScribeSettings::Offline => return None,
        ScribeSettings::Model => &config.model,
        ScribeSettings::Own(settings) => settings,
    };
    match settings.connect(&process_environment) {
        Ok(model) => {
            if model.is_none() {
                warn(&"[scribe] names no model that can be reached; notes and memories are made without one");
            }
            model.map(Arc::from)
        }
        Err(error) => {
            warn(&error);
            None
        }
    }
}

fn warn(what: &dyn std::fmt::Display) {
    crate::errln!("{} {what}", yellow("memory:"));
}

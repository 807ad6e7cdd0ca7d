use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim};
use anyhow::bail;
use serde_json::json;
use std::process::ExitCode;
use throughline_engine::config::{KeyInfo, Origin};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline config                          what is set, and who set it\n  throughline config notes                    all keys of a section\n  throughline config governor.daily_dollars   one key\n  throughline config --all --json | jq '.keys[].key'"
)]
pub(crate) struct ConfigCommand {
    /// A key, or the beginning of one.
    key: Option<String>,
    /// Every key, also those that are as built in.
    #[arg(long)]
    all: bool,
}

impl ConfigCommand {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let loaded = context.config()?;
        let mut keys = loaded.config.explain()?;
        match &self.key {
            Some(key) => {
                let is_below = |info: &KeyInfo| info.key == *key || info.key.starts_with(&format!("{key}."));
                keys.retain(is_below);
                if keys.is_empty() {
                    bail!("there is no key {key}; `throughline config --all` lists them");
                }
            }
            None if !self.all => keys.retain(|info| info.origin != Origin::Default),
            None => {}
        }
        if context.json {
            let warnings: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
            output::json(&json!({ "keys": keys, "warnings": warnings }))?;
            return Ok(ExitCode::SUCCESS);
        }
        if keys.is_empty() {
            let file = context.home.root().join("config.toml");
            outln!("Nothing is set: everything is as built in. `throughline config --all` lists the keys;");
            outln!("set them in {}.", bold(file.display()));
        }
        for info in &keys {
            let value = info.value.as_deref().unwrap_or("unset");
            let by =
                if info.origin == Origin::Default { String::new() } else { format!("  ← {}", info.origin) };
            outln!("{} = {value}{}", bold(&info.key), dim(by));
            outln!("    {}", dim(info.doc));
        }
        Ok(ExitCode::SUCCESS)
    }
}

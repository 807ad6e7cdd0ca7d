//! Codex: which provider it would ask, and how it is told to ask here: by `-c`, its own files are only read.

use super::launch::{Launch, Place};
use crate::proxy::Base;
use anyhow::{Context as _, bail};
use std::ffi::OsString;
use std::path::Path;
use toml::{Table, Value};

/// Its own provider. It can't be described anew, but has a key for its address.
const BUILT_IN: &str = "openai";
const BUILT_IN_BASE: &str = "openai_base_url";
/// Providers of its own that speak otherwise, or are asked for more than answers.
const ELSEWHERE: [(&str, &str); 4] = [
    ("amazon-bedrock", "signs its requests for Amazon"),
    ("amazon-bedrock-runtime", "signs its requests for Amazon"),
    ("ollama", "is asked for more than answers"),
    ("lmstudio", "is asked for more than answers"),
];

/// What Codex would do.
#[derive(Debug)]
pub(super) struct Codex {
    /// The provider that somebody named; none: OpenAI, or ChatGPT, by the login.
    pub(super) base: Option<Base>,
    /// The key of its address.
    key: String,
    /// Tokens at which it condenses its conversation by itself, where somebody said so.
    pub(super) compacts_at: Option<u64>,
    /// Names of headers that it is told to send to the provider.
    pub(super) headers: Vec<String>,
}

impl Codex {
    /// Looks at settings files and arguments, as Codex does. A project's file has no say in this.
    pub(super) fn look(place: &Place<'_>, arguments: &[OsString]) -> anyhow::Result<Self> {
        let folder = place.get("CODEX_HOME").map_or_else(|| place.user.join(".codex"), Into::into);
        let said = Said::read(arguments);
        if said.is_local {
            bail!(refusal("--oss", "a local model is asked for more than answers"));
        }
        let managed = place.system.join("codex/managed_config.toml");
        if let Some(config) = read(&managed)?
            && [BUILT_IN_BASE, "model_provider", "model_providers"]
                .iter()
                .any(|key| config.contains_key(*key))
        {
            bail!(refusal(&managed.display().to_string(), "your administrator says which provider it asks"));
        }
        let mut config = read(&place.system.join("codex/config.toml"))?.unwrap_or_default();
        overlay(&mut config, read(&folder.join("config.toml"))?.unwrap_or_default());
        let profile = said.profile.or_else(|| Some(config.get("profile")?.as_str()?.to_owned()));
        if let Some(profile) = profile {
            // Older versions have profiles in the file, newer ones a file for each.
            let within = config.get("profiles").and_then(|all| all.get(&profile)?.as_table().cloned());
            overlay(&mut config, within.unwrap_or_default());
            overlay(&mut config, read(&folder.join(format!("{profile}.config.toml")))?.unwrap_or_default());
        }
        for (key, value) in said.overrides {
            set(&mut config, &key, value);
        }
        Self::of(&config)
    }

    fn of(config: &Table) -> anyhow::Result<Self> {
        let text = |value: Option<&Value>| {
            value.and_then(Value::as_str).filter(|text| !text.trim().is_empty()).map(str::to_owned)
        };
        let id = text(config.get("model_provider")).unwrap_or_else(|| BUILT_IN.to_owned());
        let named_by = |key: &str| format!("{key} in Codex's configuration");
        if id == BUILT_IN {
            let base = text(config.get(BUILT_IN_BASE)).map(|url| Base::new(url, named_by(BUILT_IN_BASE)));
            return Ok(Self {
                base,
                key: BUILT_IN_BASE.to_owned(),
                compacts_at: compacts_at(config),
                headers: Vec::new(),
            });
        }
        if let Some((_, why)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == id) {
            bail!(refusal(&format!("model_provider = {id:?}"), why));
        }
        let provider = config.get("model_providers").and_then(|all| all.get(&id)?.as_table());
        let provider = provider.with_context(|| {
            format!("Codex's configuration names the provider {id:?}, but does not describe it ([model_providers.{id}])")
        })?;
        if provider.contains_key("aws") {
            bail!(refusal(&format!("model_providers.{id}.aws"), "signs its requests for Amazon"));
        }
        if !id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            bail!(refusal(
                &format!("model_provider = {id:?}"),
                "can't be named on the command line; rename it"
            ));
        }
        let key = format!("model_providers.{id}.base_url");
        let base = text(provider.get("base_url")).map(|url| Base::new(url, named_by(&key)));
        let tables =
            ["http_headers", "env_http_headers"].into_iter().filter_map(|key| provider.get(key)?.as_table());
        let headers = tables.flat_map(|table| table.keys().cloned()).collect();
        Ok(Self { base, key, compacts_at: compacts_at(config), headers })
    }

    /// Tells it to ask at `address`.
    pub(super) fn lead(&self, launch: &mut Launch, address: &str) {
        let ours = OsString::from(format!("{}=\"{address}/v1\"", self.key));
        let places = Said::places(launch.arguments(), &self.key);
        if places.is_empty() {
            return launch.insert(["-c".into(), ours]);
        }
        for (at, prefix) in places {
            let mut word = OsString::from(prefix);
            word.push(&ours);
            launch.replace(at, word);
        }
    }
}

/// By a limit, which the window caps, or by the window alone.
fn compacts_at(config: &Table) -> Option<u64> {
    let figure = |key: &str| config.get(key)?.as_integer().and_then(|figure| u64::try_from(figure).ok());
    let by_window = figure("model_context_window").map(|window| window / 10 * 9);
    let by_limit = figure("model_auto_compact_token_limit");
    by_window.into_iter().chain(by_limit).min()
}

fn refusal(setting: &str, why: &str) -> String {
    format!(
        "{setting}: Throughline can't stand in for this provider ({why}); choose another with `-c model_provider=…`, or start \
         codex without Throughline"
    )
}

fn read(path: &Path) -> anyhow::Result<Option<Table>> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
    // Where Codex would send requests can't be told: better to say so than to guess.
    let table = text.parse().with_context(|| format!("cannot read {}", path.display()))?;
    Ok(Some(table))
}

fn overlay(below: &mut Table, above: Table) {
    for (name, value) in above {
        match (below.get_mut(&name), value) {
            (Some(Value::Table(below)), Value::Table(above)) => overlay(below, above),
            (_, value) => drop(below.insert(name, value)),
        }
    }
}

fn set(config: &mut Table, key: &str, value: Value) {
    let mut path: Vec<&str> = key.split('.').collect();
    let Some(name) = path.pop() else { return };
    let mut table = config;
    for part in path {
        let below = table.entry(part).or_insert_with(|| Value::Table(Table::new()));
        if !below.is_table() {
            *below = Value::Table(Table::new());
        }
        let Value::Table(next) = below else { return };
        table = next;
    }
    table.insert(name.to_owned(), value);
}

/// What the arguments say.
#[derive(Default)]
struct Said {
    overrides: Vec<(String, Value)>,
    profile: Option<String>,
    is_local: bool,
}

impl Said {
    fn read(arguments: &[OsString]) -> Self {
        let mut said = Self::default();
        for (_, option) in options(arguments) {
            match option {
                Opt::Config { key, value, .. } => said.overrides.push((key, value)),
                Opt::Profile(name) => said.profile = Some(name),
                Opt::Local => said.is_local = true,
            }
        }
        said
    }

    /// Which arguments set a key, and what stands before it in the same word.
    fn places(arguments: &[OsString], wanted: &str) -> Vec<(usize, &'static str)> {
        let set = options(arguments).into_iter().filter_map(|(at, option)| match option {
            Opt::Config { key, prefix, .. } if key == wanted => Some((at, prefix)),
            Opt::Config { .. } | Opt::Profile(_) | Opt::Local => None,
        });
        set.collect()
    }
}

enum Opt {
    Config { key: String, value: Value, prefix: &'static str },
    Profile(String),
    Local,
}

/// The options that matter here, each with the place of the word that holds its value.
fn options(arguments: &[OsString]) -> Vec<(usize, Opt)> {
    let mut found = Vec::new();
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let mut at = 0;
    while let Some(word) = words.get(at).filter(|word| **word != "--") {
        let next = words.get(at + 1).copied();
        let config = match *word {
            "-c" | "--config" => next.map(|text| (at + 1, text, "")),
            _ => word
                .strip_prefix("--config=")
                .map(|text| (at, text, "--config="))
                .or_else(|| Some((at, word.strip_prefix("-c").filter(|text| text.contains('='))?, "-c"))),
        };
        if let Some((place, text, prefix)) = config {
            if let Some((key, value)) = text.split_once('=') {
                let (key, value) = (key.trim().to_owned(), value_of(value));
                found.push((place, Opt::Config { key, value, prefix }));
            }
            at = place;
        } else if let Some(name) = word.strip_prefix("--profile=") {
            found.push((at, Opt::Profile(name.to_owned())));
        } else if matches!(*word, "-p" | "--profile") {
            at += 1;
            found.extend(next.map(|name| (at, Opt::Profile(name.to_owned()))));
        } else if *word == "--oss" {
            found.push((at, Opt::Local));
        }
        at += 1;
    }
    found
}

/// TOML, or text as it is.
fn value_of(text: &str) -> Value {
    let parsed = format!("value = {}", text.trim()).parse::<Table>().ok();
    parsed
        .and_then(|mut table| table.remove("value"))
        .unwrap_or_else(|| Value::String(text.trim().trim_matches(['"', '\'']).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(files: &[(&str, &str)], line: &str) -> anyhow::Result<Codex> {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in files {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let place = Place {
            user: folder.path().to_owned(),
            cwd: folder.path().join("work"),
            system: &folder.path().join("etc"),
            variable: &|_| None,
        };
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Codex::look(&place, &arguments)
    }

    const MINE: &str = "[model_providers.mine]\nname = \"Mine\"\nbase_url = \"https://mine/v1\"\n";

    #[test]
    fn words_win_over_profiles_over_files() {
        let said = |files: &[_], line| {
            let codex = look(files, line).unwrap();
            (codex.key, codex.base.map(|base| base.url).unwrap_or_default())
        };
        let of = |key: &str, url: &str| (key.to_owned(), url.to_owned());
        let mine = "model_providers.mine.base_url";
        assert_eq!(said(&[], "exec hi"), of("openai_base_url", ""));
        let file = (".codex/config.toml", MINE);
        assert_eq!(said(&[file], ""), of("openai_base_url", ""));
        assert_eq!(said(&[file], "-c model_provider=mine"), of(mine, "https://mine/v1"));
        assert_eq!(said(&[file], "exec --config=model_provider=\"mine\" hi"), of(mine, "https://mine/v1"));
        assert_eq!(said(&[file], "-- -c model_provider=mine"), of("openai_base_url", ""));
        let away = (".codex/away.config.toml", "model_provider = \"mine\"");
        assert_eq!(said(&[file, away], "-p away"), of(mine, "https://mine/v1"));
        let within = format!("profile = \"old\"\n[profiles.old]\nmodel_provider = \"mine\"\n{MINE}");
        assert_eq!(said(&[(".codex/config.toml", &within)], ""), of(mine, "https://mine/v1"));
        let other = format!("-c model_provider=mine -c {mine}=https://other/v1");
        assert_eq!(said(&[file], &other), of(mine, "https://other/v1"));
        assert!(look(&[("etc/codex/managed_config.toml", "model_provider = \"x\"")], "").is_err());
    }

    #[test]
    fn an_address_among_the_words_is_replaced_where_it_stands() {
        let line = "codex exec -c model_provider=mine -c model_providers.mine.base_url=https://other/v1 hi";
        let mut launch = Launch::new(line.split(' ').map(OsString::from).collect(), None);
        let codex = look(&[(".codex/config.toml", MINE)], &line[6..]).unwrap();
        codex.lead(&mut launch, "http://127.0.0.1:1");
        let words: Vec<_> = launch.words.iter().map(|word| word.to_string_lossy()).collect();
        assert_eq!(words[5], "model_providers.mine.base_url=\"http://127.0.0.1:1/v1\"");
        assert_eq!(words.len(), 7);
    }

    #[test]
    fn when_codex_condenses_by_itself_is_said_by_its_limit_or_its_window() {
        let at = |line| look(&[], line).unwrap().compacts_at;
        assert_eq!(at(""), None);
        assert_eq!(at("-c model_auto_compact_token_limit=50000"), Some(50_000));
        assert_eq!(
            at("-c model_context_window=100000 -c model_auto_compact_token_limit=500000"),
            Some(90_000)
        );
    }

    #[test]
    fn headers_of_a_provider_are_its_own() {
        let headers =
            "http_headers = { \"x-team\" = \"a\" }\nenv_http_headers = { \"x-gate-key\" = \"GATE\" }\n";
        let file = format!("model_provider = \"mine\"\n{MINE}{headers}");
        assert_eq!(look(&[(".codex/config.toml", &file)], "").unwrap().headers, ["x-team", "x-gate-key"]);
    }
}

//! Claude Code: which provider it would ask, and how it is told to ask here.
//!
//! Its settings files hold variables (`env`) that win over those it is started with, the nearer file over the farther; what is
//! given with `--settings` wins over all of them but the administrator's.

use super::launch::{Launch, NO_PROXY, PROXIES, Place, ways_home};
use crate::proxy::Base;
use crate::proxy::servers::Served;
use anyhow::bail;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use throughline_ledger::Home;
use throughline_server::{Upstream, claude_compacts_at};

const BASE_URL: &str = "ANTHROPIC_BASE_URL";
/// `Name: value`, a line each.
const CUSTOM_HEADERS: &str = "ANTHROPIC_CUSTOM_HEADERS";
/// With another base than Anthropic's own, Claude Code takes the provider for somebody else: it leaves out what only Anthropic has, the
/// long context window among it. This tells it who answers in the end.
const FIRST_PARTY: &str = "_CLAUDE_CODE_ASSUME_FIRST_PARTY_BASE_URL";
const FIRST_PARTY_HOST: &str = "api.anthropic.com";
/// What `--autocompact` says, too.
const AUTO_COMPACT: &str = "CLAUDE_CODE_AUTO_COMPACT_WINDOW";
/// Other roads than Anthropic's API, with addresses and signatures of their own.
const ELSEWHERE: [(&str, &str); 8] = [
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_MANTLE", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_ANTHROPIC_AWS", "Claude on AWS"),
    ("CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"),
    ("CLAUDE_CODE_USE_ANTHROPIC_GOOGLE_CLOUD", "Claude on Google Cloud"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
    ("CLAUDE_CODE_USE_GATEWAY", "Claude Code's own gateway"),
    ("ANTHROPIC_UNIX_SOCKET", "a socket"),
];

/// What Claude Code would do.
#[derive(Debug)]
pub(super) struct Claude {
    /// The provider that somebody named.
    pub(super) base: Option<Base>,
    /// A settings file names it, and would win over a variable of ours.
    needs_settings: bool,
    /// Somebody said who answers.
    says_who_answers: bool,
    /// Tokens at which it condenses its conversation by itself, where somebody said so.
    pub(super) compacts_at: Option<u64>,
    /// Names of headers that it is told to send.
    pub(super) headers: Vec<String>,
    /// Variables of its settings files, and of this process for the network's proxy.
    variables: BTreeMap<String, String>,
    /// Variables of its settings files that would lead it to a proxy of the network's on its way here.
    ways_home: Vec<(&'static str, String)>,
    /// What is given with `--settings`, and which argument that is.
    given: Option<(usize, Given, Map<String, Value>)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Given {
    /// `--settings VALUE`: the argument is the value.
    Apart,
    /// `--settings=VALUE`.
    Joined,
}

impl Claude {
    /// Looks at variables, settings files and arguments, as Claude Code does.
    pub(super) fn look(place: &Place<'_>, arguments: &[OsString]) -> anyhow::Result<Self> {
        let folder = place.get("CLAUDE_CONFIG_DIR").map_or_else(|| place.user.join(".claude"), Into::into);
        let given = given(place, arguments);
        let mut found = Self {
            base: place.get(BASE_URL).map(|url| Base::new(url, BASE_URL)),
            needs_settings: false,
            says_who_answers: place.get(FIRST_PARTY).is_some(),
            compacts_at: None,
            headers: Vec::new(),
            variables: BTreeMap::new(),
            ways_home: Vec::new(),
            given: None,
        };
        let mut set = BTreeMap::new();
        for (name, where_to) in ELSEWHERE {
            if place.get(name).is_some_and(|value| is_on(&value)) {
                bail!(refusal(name, name, where_to));
            }
        }
        let project = place.cwd.join(".claude");
        let files = [
            folder.join("settings.json"),
            project.join("settings.json"),
            project.join("settings.local.json"),
        ];
        for file in files {
            if let Some(settings) = read(&file) {
                found.heed(&settings, &file.display().to_string(), &mut set)?;
            }
        }
        if let Some((_, _, settings)) = &given {
            found.heed(settings, "--settings", &mut set)?;
        }
        found.given = given;
        set.extend(option(arguments, "--autocompact").map(|window| (AUTO_COMPACT.to_owned(), window)));
        found.compacts_at = claude_compacts_at(|name| set.get(name).cloned().or_else(|| place.get(name)));
        let headers =
            set.get(CUSTOM_HEADERS).cloned().or_else(|| place.get(CUSTOM_HEADERS)).unwrap_or_default();
        let names = headers.lines().filter_map(|line| line.split_once(':'));
        found.headers = names.map(|(name, _)| name.trim().to_owned()).collect();
        if PROXIES.iter().chain(&NO_PROXY).any(|name| set.contains_key(*name)) {
            found.ways_home = ways_home(&|name| set.get(name).cloned().or_else(|| place.get(name)));
        }
        for name in PROXIES.iter().chain(&NO_PROXY) {
            if let Some(value) = place.get(name) {
                set.entry((*name).to_owned()).or_insert(value);
            }
        }
        found.variables = set;
        let managed = place.system.join("claude-code/managed-settings.json");
        if let Some(settings) = read(&managed)
            && variable(&settings, BASE_URL).is_some()
        {
            bail!(
                "{} sets {BASE_URL}, which nothing may override; ask your administrator to name Throughline there (`throughline \
                 serve`)",
                managed.display()
            );
        }
        Ok(found)
    }

    /// Variables of a settings file.
    fn heed(
        &mut self,
        settings: &Map<String, Value>,
        file: &str,
        set: &mut BTreeMap<String, String>,
    ) -> anyhow::Result<()> {
        let names = settings.get("env").and_then(Value::as_object).into_iter().flat_map(Map::keys);
        set.extend(names.filter_map(|name| Some((name.clone(), variable(settings, name)?))));
        for (name, where_to) in ELSEWHERE {
            if variable(settings, name).is_some_and(|value| is_on(&value)) {
                bail!(refusal(&format!("{name} in {file}"), name, where_to));
            }
        }
        if let Some(url) = variable(settings, BASE_URL) {
            self.base = Some(Base::new(url, format!("{BASE_URL} in {file}")));
            self.needs_settings = true;
        }
        self.says_who_answers |= variable(settings, FIRST_PARTY).is_some();
        Ok(())
    }

    /// A variable of the network's proxy, as it has it.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name).cloned()
    }

    /// Tells it to ask at a server of ours.
    pub(super) fn lead(&self, launch: &mut Launch, home: &Home, server: &Served) -> anyhow::Result<()> {
        let address = server.address();
        launch.set(BASE_URL, &address);
        let is_first_party =
            Upstream::anthropic(&server.anthropic).is_ok_and(|upstream| upstream.host() == FIRST_PARTY_HOST);
        if !self.says_who_answers && is_first_party {
            launch.set(FIRST_PARTY, "1");
        }
        if !self.needs_settings && self.ways_home.is_empty() {
            return Ok(());
        }
        let mut settings = self.given.as_ref().map(|(_, _, settings)| settings.clone()).unwrap_or_default();
        let variables = settings.entry("env").or_insert_with(|| json!({}));
        if let Value::Object(variables) = variables {
            variables.insert(BASE_URL.to_owned(), json!(address));
            variables.extend(self.ways_home.iter().map(|(name, value)| ((*name).to_owned(), json!(value))));
        }
        let file = launch.file(home, "claude.json", &Value::Object(settings).to_string())?;
        match &self.given {
            Some((at, Given::Apart, _)) => launch.replace(*at, file.into()),
            Some((at, Given::Joined, _)) => {
                let mut word = OsString::from("--settings=");
                word.push(file);
                launch.replace(*at, word);
            }
            None => launch.insert(["--settings".into(), file.into()]),
        }
        Ok(())
    }
}

fn refusal(setting: &str, name: &str, where_to: &str) -> String {
    format!(
        "{setting} makes Claude Code ask {where_to}, which Throughline can't stand in for; unset {name}, or start claude without \
         Throughline"
    )
}

/// As Claude Code reads switches.
fn is_on(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn variable(settings: &Map<String, Value>, name: &str) -> Option<String> {
    let text = match settings.get("env")?.get(name)? {
        Value::String(text) => text.clone(),
        other @ (Value::Bool(_) | Value::Number(_)) => other.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    Some(text).filter(|text| !text.trim().is_empty())
}

/// A settings file; one that can't be read is Claude Code's to complain about.
fn read(path: &Path) -> Option<Map<String, Value>> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// The value of an option; the last one counts.
fn option(arguments: &[OsString], name: &str) -> Option<String> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let words = words.split(|word| *word == "--").next().unwrap_or_default();
    let value = |(at, word): (usize, &&str)| match word.strip_prefix(name)? {
        "" => words.get(at + 1).map(|value| (*value).to_owned()),
        joined => joined.strip_prefix('=').map(str::to_owned),
    };
    words.iter().enumerate().rev().find_map(value)
}

/// What is given with `--settings`: a file, or the settings themselves. The last one counts.
fn given(place: &Place<'_>, arguments: &[OsString]) -> Option<(usize, Given, Map<String, Value>)> {
    let mut found = None;
    let mut words = arguments.iter().enumerate().take_while(|(_, word)| *word != "--");
    while let Some((at, word)) = words.next() {
        let Some(text) = word.to_str() else { continue };
        let (at, how, value) = if text == "--settings" {
            let Some((at, value)) = words.next() else { continue };
            (at, Given::Apart, value.to_string_lossy().into_owned())
        } else if let Some(value) = text.strip_prefix("--settings=") {
            (at, Given::Joined, value.to_owned())
        } else {
            continue;
        };
        let settings = if value.trim_start().starts_with('{') {
            serde_json::from_str(&value).ok()
        } else {
            read(&place.cwd.join(&value))
        };
        found = settings.map(|settings| (at, how, settings)).or(found);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(variables: &[(&str, &str)], settings: &[(&str, Value)], line: &str) -> anyhow::Result<Claude> {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in settings {
            let path = folder.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.to_string()).unwrap();
        }
        let place = Place {
            user: folder.path().join("user"),
            cwd: folder.path().join("work"),
            system: &folder.path().join("etc"),
            variable: &|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            },
        };
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Claude::look(&place, &arguments)
    }

    fn env(name: &str, value: &str) -> Value {
        json!({"env": {name: value}})
    }

    #[test]
    fn the_nearer_settings_win_over_the_farther_and_all_over_variables() {
        let base =
            |variables, settings: &[_], line| look(variables, settings, line).unwrap().base.unwrap().url;
        let variables = &[(BASE_URL, "https://variable")][..];
        let user = ("user/.claude/settings.json", env(BASE_URL, "https://user"));
        let project = ("work/.claude/settings.json", env(BASE_URL, "https://project"));
        let local = ("work/.claude/settings.local.json", env(BASE_URL, "https://local"));
        let all = [user.clone(), project.clone(), local];
        assert_eq!(base(variables, &[], ""), "https://variable");
        assert_eq!(base(variables, std::slice::from_ref(&user), ""), "https://user");
        assert_eq!(base(variables, &[user, project], ""), "https://project");
        assert_eq!(base(variables, &all, ""), "https://local");
        let given = r#"--settings={"env":{"ANTHROPIC_BASE_URL":"https://given"}}"#;
        assert_eq!(base(variables, &all, given), "https://given");
        let managed = ("etc/claude-code/managed-settings.json", env(BASE_URL, "https://managed"));
        assert!(look(variables, &[managed], "").unwrap_err().to_string().contains("nothing may override"));
    }

    #[test]
    fn when_claude_condenses_by_itself_is_said_by_words_settings_and_variables() {
        let at = |variables, settings: &[_], line| look(variables, settings, line).unwrap().compacts_at;
        let user = ("user/.claude/settings.json", env(AUTO_COMPACT, "300000"));
        assert_eq!(at(&[], &[], ""), None);
        assert_eq!(at(&[(AUTO_COMPACT, "200000")], &[], ""), Some(167_000));
        assert_eq!(at(&[(AUTO_COMPACT, "200000")], std::slice::from_ref(&user), ""), Some(267_000));
        assert_eq!(at(&[], &[user], "--autocompact 100000 -p hi"), Some(67_000));
    }

    #[test]
    fn custom_headers_are_known_by_their_names() {
        let variables = [(CUSTOM_HEADERS, "X-Gate-Key: a:b\nx-team: c\nnone")];
        assert_eq!(look(&variables, &[], "").unwrap().headers, ["X-Gate-Key", "x-team"]);
    }
}

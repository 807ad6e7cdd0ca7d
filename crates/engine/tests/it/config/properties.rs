//! Properties of the configuration.

use proptest::prelude::*;
use std::path::{Path, PathBuf};
use throughline_engine::config::{Config, ConfigError, Loaded, Sources};

fn load(user: &Path, flags: Vec<(String, String)>) -> Result<Loaded, ConfigError> {
    Config::load(&Sources {
        user: Some(user.to_owned()),
        project: Some(user.to_owned()),
        environment: &|_| None,
        flags,
    })
}

fn file(dir: &tempfile::TempDir, text: &[u8]) -> PathBuf {
    let path = dir.path().join("config.toml");
    std::fs::write(&path, text).unwrap();
    path
}

/// Lines that are TOML more often than not.
fn line() -> impl Strategy<Value = String> {
    let section = prop_oneof![
        Just("window"),
        Just("model"),
        Just("profiles.x"),
        Just("profiles.x.compact"),
        Just("hooks"),
        Just("scribe"),
        Just("profiles"),
        Just("telemetry"),
        Just("nowhere"),
    ];
    let key = prop_oneof![
        Just("profile"),
        Just("tokens"),
        Just("base"),
        Just("keep_tokens"),
        Just("threshold"),
        Just("budget"),
        Just("wire"),
        Just("command"),
        Just("Stop"),
        Just("use"),
        Just("headers"),
        Just("\"a.b\""),
        Just("env"),
    ];
    let value = prop_oneof![
        Just("1".to_owned()),
        Just("-1".to_owned()),
        Just("0.5".to_owned()),
        Just("nan".to_owned()),
        Just("true".to_owned()),
        Just("false".to_owned()),
        Just("[]".to_owned()),
        Just("{}".to_owned()),
        Just("\"claude\"".to_owned()),
        Just("[{shell = \"x\"}]".to_owned()),
        Just("{ share = 0.5 }".to_owned()),
        Just("1979-05-27".to_owned()),
        Just("99999999999999999999".to_owned()),
        Just("9223372036854775807".to_owned()),
        "\"[a-z]{0,3}\"",
        ".{0,6}",
    ];
    prop_oneof![
        2 => section.clone().prop_map(|section| format!("[{section}]")),
        1 => section.prop_map(|section| format!("[[{section}]]")),
        4 => (key, value).prop_map(|(key, value)| format!("{key} = {value}")),
        1 => ".{0,20}",
    ]
}

/// Keys with values that fit.
fn setting() -> impl Strategy<Value = (String, String)> {
    let keys: Vec<(String, String)> = Config::keys()
        .into_iter()
        .filter(|key| {
            !key.key.starts_with("hooks.")
                && !key.key.starts_with("model.")
                && !key.key.starts_with("scribe.")
        })
        .map(|key| (key.key.replace("NAME", "mine"), key.kind, key.default))
        .filter_map(|(key, kind, default)| {
            let value = match (kind.as_str(), default) {
                _ if key == "profile" => "codex".to_owned(),
                _ if key == "profiles.mine.base" => "claude".to_owned(),
                ("a whole number", _) => "7".to_owned(),
                ("a number", _) => "0.123456789".to_owned(),
                ("a path", _) => "/x y".to_owned(),
                (_, Some(default)) => default.trim_matches('"').to_owned(),
                (_, None) => return None,
            };
            Some((key, value))
        })
        .collect();
    let more = [
        "profile=mine",
        "profiles.mine.server=false",
        "profiles.mine.collapse=true",
        "profiles.mine.base=off",
    ]
    .map(|pair| pair.split_once('=').unwrap())
    .map(|(key, value)| (key.to_owned(), value.to_owned()));
    prop::sample::select([keys, more.to_vec()].concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_text_makes_it_panic(lines in prop::collection::vec(line(), 0..12)) {
        let dir = tempfile::TempDir::new().unwrap();
        let path = file(&dir, lines.join("\n").as_bytes());
        match load(&path, Vec::new()) {
            Ok(loaded) => prop_assert!(loaded.config.explain().is_ok()),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let dir = tempfile::TempDir::new().unwrap();
        let _ = load(&file(&dir, &bytes), Vec::new());
    }

    #[test]
    fn what_is_written_is_read_back(flags in prop::collection::vec(setting(), 0..12)) {
        let nowhere = Path::new("nowhere/config.toml");
        let flags: Vec<_> = flags.into_iter().chain([("profiles.mine.snip".to_owned(), "true".to_owned())]).collect();
        let config = load(nowhere, flags).unwrap().config;
        let dir = tempfile::TempDir::new().unwrap();
        let user = Some(file(&dir, config.to_toml().as_bytes()));
        let sources = Sources { user, project: None, environment: &|_| None, flags: Vec::new() };
        let again = Config::load(&sources).unwrap().config;
        prop_assert_eq!(&again, &config);
        prop_assert_eq!(&again.profile, &config.profile);
        prop_assert_eq!((&again.window, &again.storage, &again.telemetry), (&config.window, &config.storage, &config.telemetry));
    }
}

//! What is shown of a configuration.

use super::Machine;
use std::path::Path;
use throughline_engine::config::Origin;

#[test]
fn secrets_are_shown_to_nobody() {
    let secret = "s3cret";
    let machine = Machine::new().user(&format!(
        "[model]\nwire = \"chat\"\nmodel = \"m\"\nproxy = \"http://me:{secret}@x\"\nbase_url = \"https://me:{secret}@x/v1?k={secret}\"\nheaders = {{ a = \"{secret}\" }}\nkey_command = [\"pass\", \"{secret}\"]\n[scribe]\ncommand = [\"x\", \"{secret}\"]\nenv = {{ KEY = \"{secret}\" }}\n[[hooks.Stop]]\nshell = \"curl {secret}\"",
    ));
    let config = machine.config();
    let explained = serde_json::to_string(&config.explain().unwrap()).unwrap();
    for shown in
        [format!("{config:?}"), format!("{:?}", config.model), format!("{:?}", config.scribe), explained]
    {
        assert!(!shown.contains(secret), "{shown}");
    }
    for text in [
        format!("[model]\nheaders = \"{secret}\""),
        format!("[model]\nkey_command = {{ a = \"{secret}\" }}"),
        format!("[model]\nproxy = [\"{secret}\"]"),
        format!("[model]\nheaders = {{ a = [\"{secret}\"] }}"),
        format!("[model]\nheaders = {{ a = {secret} }}"),
    ] {
        let error = Machine::new().user(&text).error();
        assert!(!error.contains(secret), "{error}");
        assert!(!format!("{:?}", Machine::new().user(&text).load().unwrap_err()).contains(secret));
    }
}

#[test]
fn every_key_is_explained_with_its_value_and_origin() {
    let machine = Machine::new()
        .user("profile = \"mine\"\n[profiles.mine]\nbase = \"claude\"\nserver = false\n[profiles.mine.compact]\nkeep_tokens = 7")
        .variable("THROUGHLINE_TOOLS_SNIP", "yes");
    let explained = machine.config().explain().unwrap();
    let of = |key: &str| explained.iter().find(|info| info.key == key).unwrap_or_else(|| panic!("{key}"));
    let keep = of("profiles.mine.compact.keep_tokens");
    assert_eq!((keep.value.as_deref(), keep.default.as_deref()), (Some("7"), None));
    assert!(matches!(&keep.origin, Origin::User(place) if place.line == 6));
    assert_eq!(keep.variable.as_deref(), Some("THROUGHLINE_PROFILES_MINE_COMPACT_KEEP_TOKENS"));
    assert_eq!(of("profiles.mine.compact.files").value.as_deref(), Some("5"));
    assert_eq!(
        (of("profiles.mine.server").value.as_deref(), of("profiles.mine.snip").value.as_deref()),
        (None, Some("true"))
    );
    let snip = of("tools.snip");
    assert_eq!((snip.value.as_deref(), snip.default.as_deref()), (Some("true"), None));
    assert_eq!(of("window.cache_ttl").value.as_deref(), Some("\"short\""));
    assert_eq!(of("window.cache_ttl").origin, Origin::Default);
}

#[test]
fn docs_list_the_keys_as_they_are() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/config.md");
    let page = throughline_engine::config::reference();
    if std::env::var_os("THROUGHLINE_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == page,
        "docs/config.md is stale: THROUGHLINE_UPDATE_DOCS=1 cargo test -p throughline-engine docs"
    );
}

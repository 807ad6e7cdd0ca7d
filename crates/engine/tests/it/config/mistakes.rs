//! What is wrong, and how it is told.

use super::Machine;
use throughline_core::profile::Profile;
use throughline_engine::config::{ConfigError, FILE_LIMIT};

#[test]
fn profiles_that_lead_nowhere_are_errors() {
    let error = |text: &str| Machine::new().user(text).error();
    assert_eq!(
        error("profile = \"cluade\""),
        "home/config.toml:1:1: `profile` names a profile \"cluade\" that is not there; did you mean \"claude\"?"
    );
    let unknown = error("[profiles.a]\nbase = \"nobody\"");
    assert!(unknown.starts_with("home/config.toml:2:1: `profiles.a.base` names a profile"), "{unknown}");
    let circle = error("profile = \"a\"\n[profiles.a]\nbase = \"b\"\n[profiles.b]\nbase = \"a\"");
    assert!(circle.contains("`profiles.b.base` goes round in a circle: a → b"), "{circle}");
    let itself = error("[profiles.a]\nbase = \"a\"");
    assert!(itself.contains("`profiles.a.base`"), "{itself}");
    let name = error("[profiles.\"a b\"]\nbase = \"claude\"");
    assert!(name.contains("is no name for a profile"), "{name}");
    // A built-in profile may be made from itself.
    let same =
        Machine::new().user("profile = \"codex\"\n[profiles.codex]\nbase = \"codex\"").config().profile;
    assert_eq!(same, Profile::codex());
}

#[test]
fn what_is_not_known_is_an_error_with_its_place_and_the_nearest_key() {
    for (text, error) in [
        ("\n[windows]\ntokens = 1", "2:2: there is no key `windows`; did you mean `window`?"),
        ("[window]\n\n  token = 1", "3:3: there is no key `window.token`; did you mean `window.tokens`?"),
        (
            "[profiles.x.compact]\nkeep = 1",
            "2:1: there is no key `profiles.x.compact.keep`; did you mean `profiles.NAME.microcompact.keep`?",
        ),
        ("\"model.model\" = \"x\"", "1:1: there is no key `\"model.model\"`; docs/config.md lists all keys"),
        ("zzz = 1", "1:1: there is no key `zzz`; docs/config.md lists all keys"),
    ] {
        let told = Machine::new().user(text).error();
        assert_eq!(told, format!("home/config.toml:{error}"));
    }
    let flag = Machine::new().flag("window.tokns", "1").error();
    assert_eq!(flag, "the command line: there is no key `window.tokns`; did you mean `window.tokens`?");
}

#[test]
fn what_is_no_toml_is_an_error_with_its_place_and_what_to_do() {
    for (text, place, fix) in [
        ("profile = claude", "1:11", "put text between double quotes"),
        ("profile = \"off\"\nprofile = \"off\"", "2:1", "keep one of the two"),
        ("[window\ntokens = 1", "1:8", "close what was opened"),
        ("# ok\n\n  profile", "3:10", "a line is"),
    ] {
        let told = Machine::new().user(text).error();
        assert!(told.starts_with(&format!("home/config.toml:{place}: ")) && told.contains(fix), "{told}");
    }
}

#[test]
fn a_value_that_does_not_fit_is_an_error_with_its_place() {
    for (text, told) in [
        ("profile = 1979-05-27", "1:1: `profile` must be text: it is no date"),
        ("profile = 1", "1:1: `profile` must be text"),
        ("[window]\ntokens = \"many\"", "2:1: `window.tokens` must be a whole number"),
        ("[window]\ntokens = -1", "2:1: `window.tokens` must be a whole number: no figure is below zero"),
        (
            "[window]\ntokens = 0",
            "2:1: `window.tokens` must be a whole number: a window has at least one token",
        ),
        ("window = 1", "1:1: `window` is a section, not a number; write it as `[window]`"),
        (
            "[window]\ncache_ttl = \"brief\"",
            "2:1: `window.cache_ttl` must be `\"short\"`, `\"long\"`, `\"never\"`",
        ),
        (
            "[profiles.a.collapse]\nstage_share = nan",
            "2:1: `profiles.a.collapse.stage_share` must be a number",
        ),
        (
            "[profiles.a.compact]\nthreshold = { at = 1 }",
            "2:1: `profiles.a.compact.threshold` must be `{ below",
        ),
        (
            "[profiles.a.compact]\nstrategies = [\"magic\"]",
            "2:1: `profiles.a.compact.strategies` must be a list",
        ),
        ("[profiles.a]\nsnip = 7", "2:1: `profiles.a.snip` must be `false` (off)"),
        ("[storage]\nroot = \"here\"", "2:1: `storage.root` must be a path: it must be absolute"),
    ] {
        let error = Machine::new().user(text).error();
        assert!(error.starts_with(&format!("home/config.toml:{told}")), "{error}");
    }
    let error = Machine::new().variable("THROUGHLINE_WINDOW_TOKENS", "many").error();
    assert!(error.starts_with("the variable THROUGHLINE_WINDOW_TOKENS: `window.tokens` must be"), "{error}");
}

#[test]
fn files_that_are_no_settings_are_refused() {
    let huge = " ".repeat(usize::try_from(FILE_LIMIT).unwrap() + 1);
    assert!(matches!(Machine::new().user(&huge).load(), Err(ConfigError::TooLarge { .. })));
    let binary = Machine::new().write("home/config.toml", [0xff, 0xfe]);
    assert!(matches!(binary.load(), Err(ConfigError::NotText { .. })));
    let folder = Machine::new().write("home/config.toml/x", "");
    assert!(matches!(folder.load(), Err(ConfigError::NotText { .. })));
}

#[test]
fn a_model_that_is_half_described_is_an_error() {
    for (text, told) in [
        ("[model]\nwire = \"chat\"", "`model.wire` is there, but no model; set `model.model`"),
        ("[model]\nmodel = \"m\"\nbase_url = \"http://x\"", "`model.base_url` is there, but no wire"),
        (
            "[model]\ncommand = [\"x\"]\nbase_url = \"http://x\"",
            "`model.base_url` has no effect beside `command`",
        ),
        ("[model]\ninput = \"text\"", "`model.input` has no effect without `command`"),
        ("[scribe]\nuse = \"own\"", "`scribe.use` is \"own\", but"),
        ("[model]\ncommand = []", "`model.command` must be a command"),
    ] {
        let error = Machine::new().user(text).error();
        assert!(error.contains(told), "{error}");
    }
}

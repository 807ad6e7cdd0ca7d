//! What wins, and what comes of it.

use super::Machine;
use throughline_core::profile::{Profile, Strategy, Threshold};
use throughline_engine::config::{Config, ModelSettings, Origin, ScribeSettings};
use throughline_memory::notes::NotesLimits;
use throughline_model::{GovernorLimits, Wire};

#[test]
fn nothing_set_is_the_built_in_configuration() {
    let loaded = Machine::new().load().unwrap();
    assert_eq!(loaded.config.profile, Profile::throughline());
    assert!(matches!(loaded.config.model, ModelSettings::ByVariables { model: None, .. }));
    assert!(matches!(loaded.config.scribe, ScribeSettings::Offline));
    assert!(!loaded.config.telemetry.enabled && loaded.config.hooks.events.is_empty());
    assert!(loaded.warnings.is_empty() && loaded.origin.is_empty());
}

#[test]
fn a_flag_wins_over_a_variable_over_the_project_over_the_user() {
    let machine = Machine::new().user("profile = \"claude\"\n[window]\ntokens = 1\nmax_output = 1");
    assert_eq!(machine.config().profile.name, "claude");
    let machine = machine.project("profile = \"codex\"\n[window]\ntokens = 2");
    assert_eq!(machine.config().profile.name, "codex");
    let machine = machine.variable("THROUGHLINE_PROFILE", "off").variable("THROUGHLINE_WINDOW_TOKENS", " ");
    assert_eq!(machine.config().profile.name, "off");
    let machine = machine.flag("profile", "throughline");
    let loaded = machine.load().unwrap();
    assert_eq!(loaded.config.profile.name, "throughline");
    assert_eq!((loaded.config.window.tokens, loaded.config.window.max_output), (Some(2), Some(1)));
    assert_eq!(loaded.origin["profile"], Origin::Flag);
    assert!(
        matches!(&loaded.origin["window.tokens"], Origin::Project(place) if (place.line, place.column) == (3, 1))
    );
    assert!(matches!(&loaded.origin["window.max_output"], Origin::User(place) if place.line == 4));
    let machine = machine.variable("THROUGHLINE_WINDOW_TOKENS", "3_000");
    let variable = Origin::Environment { variable: "THROUGHLINE_WINDOW_TOKENS".to_owned() };
    assert_eq!(machine.load().unwrap().origin["window.tokens"], variable);
}

#[test]
fn a_profile_takes_what_it_does_not_say_from_its_base() {
    let machine = Machine::new().user(
        r#"
        profile = "mine"
        [profiles.mine]
        base = "other"
        [profiles.mine.compact]
        threshold = { share = 0.5 }
        strategies = ["handoff"]
        [profiles.other]
        base = "claude"
        server = false
        collapse = true
        [profiles.other.compact]
        keep_tokens = 7
        threshold = { below = 1 }
        early_share = 0.5
        "#,
    );
    let profile = machine.config().profile;
    let mut expected = Profile::claude();
    expected.name = "mine".to_owned();
    expected.server = None;
    expected.collapse = Some(Default::default());
    let compact = expected.compact.as_mut().unwrap();
    compact.threshold = Threshold::Share(0.5);
    compact.strategies = vec![Strategy::Handoff];
    compact.keep_tokens = 7;
    compact.early_share = Some(0.5);
    assert_eq!(profile, expected);
    assert_eq!(machine.config().profile_named("codex").unwrap(), Profile::codex());
}

#[test]
fn a_stage_can_be_switched_at_every_level_and_a_key_brings_it_back() {
    let machine = Machine::new()
        .user("profile = \"claude\"\n[profiles.claude.budget]\nresult_chars = 1\n[profiles.claude.compact]\nresult_tokens = 9")
        .project("[profiles.claude]\nbudget = false\n[profiles.claude.compact]\nresult_tokens = false");
    let profile = machine.config().profile;
    assert_eq!((profile.budget, profile.compact.unwrap().result_tokens), (None, None));
    // What was below the switch is gone with it.
    let machine = machine.variable("THROUGHLINE_PROFILES_CLAUDE_BUDGET_PREVIEW_BYTES", "2");
    let budget = machine.config().profile.budget.unwrap();
    assert_eq!((budget.result_chars, budget.preview_bytes), (50_000, 2));
    let machine = machine.flag("profiles.claude.budget", "off");
    assert_eq!(machine.config().profile.budget, None);
    let on = Machine::new()
        .user("profile = \"claude\"\n[profiles.claude.budget]\nresult_chars = 1")
        .project("[profiles.claude]\nbudget = true");
    assert_eq!(on.config().profile.budget.unwrap().result_chars, 1);
    let off = Machine::new().user("profile = \"off\"\n[profiles.off]\nsnip = true").config().profile;
    assert_eq!(off.snip, Some(Default::default()));
}

#[test]
fn a_model_is_a_provider_a_command_or_what_the_variables_say() {
    let http = Machine::new().user(
        "[model]\nwire = \"chat\"\nmodel = \"m\"\nbase_url = \"http://localhost:1\"\n[model.retries]\nattempts = 2\n[model.headers]\nx = \"s3cret\"",
    );
    let config = http.config();
    let ModelSettings::Http(provider) = &config.model else { panic!("{config:?}") };
    assert_eq!((provider.wire, provider.name.as_str(), provider.retries.attempts), (Wire::Chat, "model", 2));
    assert_eq!(provider.retries.cap_ms, 16_000);
    assert!(config.model.connect(&|_| None).unwrap().is_some_and(|model| model.id() == "m"));

    let exec = Machine::new().user("[scribe]\ncommand = \"llm -m x\"\ninput = \"text\"").config();
    let ScribeSettings::Own(ModelSettings::Exec(settings)) = &exec.scribe else { panic!("{exec:?}") };
    assert_eq!((settings.command.program(), settings.name.as_str()), ("llm", "scribe"));

    let config = Machine::new()
        .user("[model]\nmodel = \"claude-x\"\ncontext_window = 5\n[model.timeouts]\nidle_ms = 1")
        .config();
    assert!(config.model.connect(&|_| None).unwrap().is_none());
    let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned());
    let provider = config.model.provider(&key).unwrap().unwrap();
    assert_eq!(
        (provider.wire, provider.model.as_str(), provider.timeouts.idle_ms),
        (Wire::Anthropic, "claude-x", 1)
    );
    assert_eq!((provider.timeouts.connect_ms, config.pipeline_settings("claude-x").window), (10_000, 5));
}

#[test]
fn sections_of_other_crates_are_read_as_their_types() {
    let config = Machine::new()
        .user(
            "[notes]\nfirst_tokens = 1\n[governor]\ndaily_dollars = false\n[governor.jobs.notes]\nturns = 2",
        )
        .project("[notes]\ntool_calls = 9")
        .config();
    assert_eq!(config.notes, NotesLimits { first_tokens: 1, tool_calls: 9, ..NotesLimits::default() });
    assert_eq!((config.governor.daily_dollars, config.governor.caps("notes").turns), (None, 2));
    assert_eq!(config.governor.at_once, GovernorLimits::default().at_once);
    assert_eq!(config.section::<NotesLimits>("notes").unwrap(), config.notes);
    assert_eq!(Machine::new().config().governor, GovernorLimits::default());
    let config = Machine::new().variable("THROUGHLINE_GOVERNOR_DAILY_DOLLARS", "0.5").config();
    assert_eq!(config.governor.daily_dollars, Some(0.5));
    let loaded = Machine::new().project("[governor]\ndaily_dollars = 100").load().unwrap();
    assert_eq!((loaded.config.governor.daily_dollars, loaded.warnings.len()), (Some(5.0), 1));
    let error = Machine::new().user("[governor.jobs.notes]\nturn = 2").error();
    assert!(error.contains("`governor.jobs` must be a table: unknown field `turn`"), "{error}");
    let error = Machine::new().user("[governor.jobs]\nnotes = { dollars = inf }").error();
    assert!(error.contains("endless"), "{error}");
}

#[test]
fn every_figure_of_every_profile_is_a_key() {
    fn leaves(prefix: &str, value: &serde_json::Value, out: &mut Vec<String>) {
        match value.as_object() {
            Some(fields) if !prefix.ends_with("threshold") => {
                for (name, value) in fields {
                    leaves(&format!("{prefix}.{name}"), value, out);
                }
            }
            _ => out.push(prefix.to_owned()),
        }
    }
    let known: Vec<String> = Config::keys().into_iter().map(|key| key.key).collect();
    for name in Profile::NAMES {
        let mut figures = Vec::new();
        leaves("profiles.NAME", &serde_json::to_value(Profile::named(name)).unwrap(), &mut figures);
        for figure in figures.iter().filter(|figure| *figure != "profiles.NAME.name") {
            assert!(known.contains(figure), "{figure}");
        }
    }
}

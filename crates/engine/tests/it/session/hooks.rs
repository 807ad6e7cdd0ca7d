//! Hooks at the moments of a session.

use super::{Stage, long_words, obliging, runtime};
use throughline_core::Wire;
use throughline_engine::hooks::{EventName, HookCommand, HookSettings, Hooks, Run};
use throughline_engine::session::SessionError;
use throughline_model::{CancelToken, process_environment};

fn stage_with(event: EventName, script: &str) -> Stage {
    let mut stage = Stage::new(Wire::Anthropic, obliging());
    let mut settings = HookSettings::default();
    settings.events.insert(event, vec![HookCommand::new(Run::Shell(script.to_owned()))]);
    stage.settings.hooks = Hooks::new(&settings, &process_environment);
    let mut cwd = stage.folder.path().to_owned();
    cwd.push("work");
    std::fs::create_dir_all(&cwd).unwrap();
    stage.cwd = Some(cwd.display().to_string());
    stage
}

#[test]
fn a_hook_can_refuse_what_the_user_says() {
    let stage = stage_with(EventName::UserPromptSubmit, "echo 'not today' >&2; exit 2");
    runtime().block_on(async {
        let mut session = stage.open();
        let refused = session.say("deploy it").await;
        assert!(matches!(refused, Err(SessionError::Blocked(why)) if why.contains("not today")));
        assert!(session.pipeline().view().entries().is_empty(), "nothing is recorded");
    });
}

#[test]
fn what_a_hook_says_about_a_prompt_is_told_to_the_model() {
    let stage = stage_with(EventName::UserPromptSubmit, "echo 'the branch is main'");
    runtime().block_on(async {
        let mut session = stage.open();
        session.say("go").await.unwrap();
        let body = session.prepare().await.unwrap().body;
        assert!(String::from_utf8_lossy(&body).contains("the branch is main"));
    });
}

#[test]
fn a_hook_can_keep_the_view_from_being_replaced() {
    let stage = stage_with(EventName::PreCompact, "echo 'keep it all' >&2; exit 2");
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        let pass = session.compact_now(None).await.unwrap();
        assert!(!pass.changed());
        assert!(session.warnings().iter().any(|warning| warning.contains("keep it all")));
    });
}

#[test]
fn p5e_what_hooks_said_at_the_start_comes_back_behind_the_summary() {
    let stage = stage_with(EventName::SessionStart, "echo 'house rules apply'");
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        assert!(session.compact_now(None).await.unwrap().changed());
        let last = session.pipeline().view().entries().last().unwrap().message.to_text();
        assert!(last.contains("house rules apply"), "{last}");
    });
}

#[test]
fn hooks_are_told_when_the_view_was_replaced_and_a_broken_one_stops_nothing() {
    let stage = stage_with(EventName::PostCompact, "cat > told.json; exit 1");
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..3 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        assert!(session.compact_now(None).await.unwrap().changed());
        let told = std::fs::read_to_string(stage.folder.path().join("work/told.json")).unwrap();
        assert!(told.contains("PostCompact") && told.contains("parse_empty"), "{told}");
        assert!(!session.warnings().is_empty(), "people are told that the hook failed");
    });
}

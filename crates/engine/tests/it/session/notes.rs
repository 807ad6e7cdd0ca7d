//! Notes that are kept while the conversation goes on, and stand for it when the view is replaced.

use super::{ASKS_SUMMARY, Stage, is_summary, long_words, runtime};
use crate::common::{WIRES, tiny, valid};
use throughline_core::Wire;
use throughline_core::profile::Strategy;
use throughline_engine::session::{Scribe, Session};
use throughline_memory::notes::NotesLimits;
use throughline_model::{CancelToken, Governor, GovernorLimits};
use throughline_testkit::{Answer, Gate, Playbook, Seen};

fn keeps_notes(wire: Wire, script: Playbook) -> Stage {
    let mut stage = Stage::new(wire, script);
    stage.settings.profile = tiny("claude");
    let compact = stage.settings.profile.compact.as_mut().unwrap();
    compact.strategies = vec![Strategy::Notes, Strategy::Summary];
    stage.settings.window = Some(8_000);
    stage.settings.notes = Some(NotesLimits {
        first_tokens: 1_500,
        growth_tokens: 500,
        tool_calls: 3,
        ..NotesLimits::default()
    });
    stage
}

fn is_notes(seen: &Seen) -> bool {
    seen.last_user_text().contains("<current_notes_content>")
}

/// Answers updates of the notes with whole notes, as models without an edit tool do.
fn noting() -> Playbook {
    Playbook::new()
        .when(
            is_notes,
            Answer::text(
                "<notes>\n# Session Title\nParser work\n\n# Current State\nparse_empty is being fixed.\n</notes>",
            ),
        )
        .when(is_summary, Answer::text("<summary>not wanted</summary>"))
        .otherwise("I looked at it.")
}

async fn talk(session: &mut Session, turns: usize) {
    for n in 0..turns {
        session.record(long_words(n)).unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        session.after_turn().await.unwrap();
        session.settle().await.unwrap();
    }
}

fn is_compacted(session: &Session) -> bool {
    session.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary)
}

#[test]
fn p5a_notes_stand_for_the_conversation_without_another_request() {
    for wire in WIRES {
        let stage = keeps_notes(wire, noting());
        runtime().block_on(async {
            let mut session = stage.open();
            talk(&mut session, 10).await;
            assert!(is_compacted(&session), "{wire:?}");
            let requests = stage.server.requests();
            assert!(requests.iter().any(is_notes), "{wire:?}");
            let asked = requests.iter().any(|seen| seen.last_user_text().contains(ASKS_SUMMARY));
            assert!(!asked, "{wire:?}: {:?}", session.notices());
            let body = session.prepare().await.unwrap().body;
            let text = String::from_utf8_lossy(&body).into_owned();
            // The title is the model's; the state may be the record's, as this model writes the same each time.
            assert!(text.contains("Parser work"), "{wire:?}: {text}");
            valid(wire, &body);
            let notes = session.notes().unwrap().notes().unwrap().unwrap();
            assert!(notes.text.contains("Current State"));
        });
    }
}

#[test]
fn p5a_an_update_that_runs_is_waited_for_and_used() {
    let gate = Gate::new();
    let notes =
        "<notes>\n# Session Title\nParser work\n\n# Current State\nparse_empty is being fixed.\n</notes>";
    let script = Playbook::new()
        .when(is_notes, Answer::text(notes).at(&gate))
        .when(is_summary, Answer::text("<summary>not wanted</summary>"))
        .otherwise("I looked at it.");
    let mut stage = keeps_notes(Wire::Anthropic, script);
    // The first update begins right before the view is full.
    stage.settings.notes.as_mut().unwrap().first_tokens = 5_500;
    stage.settings.governor = Some(Governor::open(stage.folder.path(), GovernorLimits::default()).unwrap());
    // On several threads, as in the binary: who waits must not run ahead of the update.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let mut session = stage.open();
        for n in 0..20 {
            session.record(long_words(n)).unwrap();
            let is_full = session.pipeline().tokens() > session.pipeline().threshold().unwrap();
            let is_updating = is_full && session.notes().unwrap().is_running();
            let (asked, ()) = tokio::join!(session.ask(None, CancelToken::new()), async {
                if is_updating {
                    gate.open();
                }
            });
            asked.unwrap();
            if is_compacted(&session) {
                assert!(is_updating, "the update ran when the view was full");
                break;
            }
            session.after_turn().await.unwrap();
        }
        assert!(is_compacted(&session));
        let requests = stage.server.requests();
        assert!(!requests.iter().any(is_summary), "{:?}", session.notices());
        let lines = std::fs::read_to_string(session.path()).unwrap();
        let at = |what: &str| lines.find(what).unwrap_or_else(|| panic!("no {what}"));
        assert!(at("notes.updated") < at("\"kind\":\"checkpoint\""), "in this order in the ledger");
        let shown: Vec<_> = session.pipeline().view().messages().collect();
        assert!(shown[0].to_text().contains("Parser work"), "{}", shown[0].to_text());
        let words = shown.iter().filter(|message| message.is_real_user()).count();
        assert!(words >= 1, "what was just typed stays word for word");
        // Resumed, the session knows the same.
        let notes = session.notes().unwrap().notes().unwrap().unwrap();
        let ledger = session.path().to_owned();
        drop(session);
        assert_eq!(stage.resume(&ledger).notes().unwrap().notes().unwrap().unwrap(), notes);
    });
}

#[test]
fn n5_a_resumed_session_knows_how_far_its_notes_reach() {
    let stage = keeps_notes(Wire::Anthropic, noting());
    runtime().block_on(async {
        let mut session = stage.open();
        talk(&mut session, 4).await;
        let covers = session.notes().unwrap().notes().unwrap().unwrap().covers;
        assert!(covers.is_some());
        let ledger = session.path().to_owned();
        session.close("done").await.unwrap();
        let again = stage.resume(&ledger);
        assert_eq!(again.notes().unwrap().notes().unwrap().unwrap().covers, covers);
    });
}

#[test]
fn n_without_a_model_the_offline_scribe_keeps_the_notes() {
    let stage = keeps_notes(Wire::Chat, noting());
    runtime().block_on(async {
        let mut models = stage.models();
        models.scribe = Scribe::Offline;
        let mut session =
            Session::open(&stage.home(), stage.start(), models, stage.settings.clone()).unwrap();
        talk(&mut session, 4).await;
        assert!(!stage.server.requests().iter().any(is_notes));
        let notes = session.notes().unwrap().notes().unwrap().unwrap();
        assert!(notes.text.contains("Never touch Cargo.lock"), "{}", notes.text);
    });
}

#[test]
fn a_governor_that_says_no_leaves_the_notes_to_the_offline_scribe() {
    let mut stage = keeps_notes(Wire::Anthropic, noting());
    let limits = GovernorLimits { enabled: false, ..GovernorLimits::default() };
    stage.settings.governor = Some(Governor::open(&stage.folder.path().join("governor"), limits).unwrap());
    runtime().block_on(async {
        let mut session = stage.open();
        talk(&mut session, 4).await;
        assert!(!stage.server.requests().iter().any(is_notes));
        assert!(session.notes().unwrap().notes().unwrap().is_some());
    });
}

#[test]
fn background_work_leaves_a_receipt() {
    let mut stage = keeps_notes(Wire::Anthropic, noting());
    let governor = Governor::open(&stage.folder.path().join("governor"), GovernorLimits::default()).unwrap();
    stage.settings.governor = Some(governor.clone());
    runtime().block_on(async {
        let mut session = stage.open();
        talk(&mut session, 4).await;
        let spent = governor.today((stage.settings.now)()).unwrap();
        let asked = stage.server.requests().iter().filter(|seen| is_notes(seen)).count();
        assert!(asked > 0 && spent.jobs == asked as u64, "{asked} asked, {} receipts", spent.jobs);
        assert!(spent.tokens > 0);
    });
}

#[test]
fn n1_notes_belong_to_the_repository_and_stay_where_they_were_begun() {
    let mut stage = keeps_notes(Wire::Anthropic, noting());
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir(root.join("sub")).unwrap();
    stage.cwd = Some(root.join("sub").display().to_string());
    runtime().block_on(async {
        let mut session = stage.open();
        talk(&mut session, 3).await;
        let before = session.notes().unwrap().file().path();
        assert!(before.exists());
        let ledger = session.path().to_owned();
        drop(session);
        // The folder becomes part of a repository.
        std::fs::create_dir(root.join(".git")).unwrap();
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        assert_eq!(stage.resume(&ledger).notes().unwrap().file().path(), before, "what was begun goes on");
        let fresh = stage.open().notes().unwrap().file().path();
        let slug = throughline_memory::ProjectSlug::of(&root);
        assert!(fresh.display().to_string().contains(slug.as_str()), "{}", fresh.display());
    });
}

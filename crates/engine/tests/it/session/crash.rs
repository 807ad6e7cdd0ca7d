//! A process that ends in the middle of a compaction: the old view or the new one, never a mixture.

use super::{Stage, long_words, obliging, runtime};
use crate::common::valid;
use std::fs;
use throughline_core::Wire;
use throughline_ledger::resume;
use throughline_model::CancelToken;

#[test]
fn a_ledger_cut_at_any_byte_of_a_compaction_resumes_to_the_old_view_or_the_new() {
    let stage = Stage::new(Wire::Anthropic, obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..4 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        let ledger = session.path().to_owned();
        let before = fs::read(&ledger).unwrap();
        let old = shown(&stage, &ledger);
        session.compact_now(None).await.unwrap();
        let after = fs::read(&ledger).unwrap();
        let new = shown(&stage, &ledger);
        drop(session);
        assert!(after.starts_with(&before) && old != new, "lines are only added");
        let home = tempfile::tempdir().unwrap();
        let mut seen = [0, 0];
        for end in before.len()..=after.len() {
            let path = home.path().join(ledger.file_name().unwrap());
            fs::write(&path, &after[..end]).unwrap();
            let view = resume(&stage.home(), &path).unwrap().view;
            let texts: Vec<String> = view.messages().map(|message| message.to_text()).collect();
            let which = [&old, &new].iter().position(|view| **view == texts);
            seen[which.unwrap_or_else(|| panic!("a mixture at byte {end}: {texts:?}"))] += 1;
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    });
}

fn shown(stage: &Stage, ledger: &std::path::Path) -> Vec<String> {
    resume(&stage.home(), ledger).unwrap().view.messages().map(|message| message.to_text()).collect()
}

#[test]
fn a_resumed_session_goes_on_after_a_cut() {
    let stage = Stage::new(Wire::Chat, obliging());
    runtime().block_on(async {
        let mut session = stage.open();
        for n in 0..4 {
            session.record(long_words(n)).unwrap();
            session.ask(None, CancelToken::new()).await.unwrap();
        }
        session.compact_now(None).await.unwrap();
        let ledger = session.path().to_owned();
        drop(session);
        let bytes = fs::read(&ledger).unwrap();
        fs::write(&ledger, &bytes[..bytes.len() - 7]).unwrap();
        let mut again = stage.resume(&ledger);
        again.record(long_words(9)).unwrap();
        let answer = again.ask(None, CancelToken::new()).await.unwrap();
        assert_eq!(answer.response.messages.last().unwrap().to_text(), "I looked at it.");
        valid(Wire::Chat, &again.prepare().await.unwrap().body);
    });
}

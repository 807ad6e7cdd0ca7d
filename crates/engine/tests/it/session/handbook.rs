//! A session and its handbooks (H): histories from outside, the rate limit, a store that is not there.

use super::{Stage, runtime};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use throughline_core::{
    Block, Body, CallId, CallKind, MemoryMode, Message, Role, SessionId, ToolCall, ToolInput, ToolResult,
    Wire,
};
use throughline_engine::session::{DoneAtStart, Handbooks, Session, StartWork};
use throughline_memory::handbook::Outside;
use throughline_memory::store::{LazyStore, Store, StoreClock, StoreError, open};
use throughline_model::{BoxFuture, CancelToken};
use throughline_testkit::{Answer, Playlist};

#[derive(Default)]
struct Counted(AtomicUsize);

impl StartWork for Counted {
    fn run(&self, _: SessionId, _: CancelToken) -> BoxFuture<'static, Result<DoneAtStart, String>> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(DoneAtStart::default()) })
    }
}

fn handbooks(store: LazyStore) -> Handbooks {
    Handbooks { store, reading: None, start: None, rate_left_percent: 25, outside: Some(Outside::default()) }
}

fn no_store() -> LazyStore {
    LazyStore::new(Arc::new(|| {
        Box::pin(async { Err(StoreError::Unreachable("nobody is there".to_owned())) })
    }))
}

async fn store(stage: &Stage) -> Arc<dyn Store> {
    let path = stage.folder.path().join("store.db");
    open(&path.to_string_lossy().parse().unwrap(), StoreClock::Server).await.unwrap()
}

fn fetched(session: &mut Session) {
    session.record(Message::text(Role::User, "fetch it")).unwrap();
    let call = ToolCall {
        id: CallId::from("c1"),
        name: "WebFetch".to_owned(),
        input: ToolInput::Json(json!({"url": "https://example.com"})),
        kind: CallKind::Function,
    };
    session.record(Message::new(Role::Assistant, vec![Block::from(Body::ToolCall(call))])).unwrap();
    let result = ToolResult::text(CallId::from("c1"), "a page");
    session.record(Message::new(Role::User, vec![Block::from(Body::ToolResult(result))])).unwrap();
}

#[test]
fn h7_a_history_from_before_the_setting_counts_when_it_is_resumed_or_forked() {
    let mut stage = Stage::new(Wire::Anthropic, Playlist::new().forever("Yes."));
    runtime().block_on(async {
        let mut session = stage.open();
        fetched(&mut session);
        assert_eq!(session.memory_mode(), MemoryMode::Enabled);
        let ledger = session.path().to_owned();
        session.close("test").await.unwrap();
        assert_eq!(stage.resume(&ledger).memory_mode(), MemoryMode::Enabled);

        stage.settings.handbooks = Some(handbooks(LazyStore::ready(store(&stage).await)));
        let (home, models) = (stage.home(), stage.models());
        let fork =
            Session::fork(&home, &ledger, None, stage.start(), models, stage.settings.clone()).unwrap();
        assert_eq!(fork.memory_mode(), MemoryMode::Polluted);
        let mut session = stage.resume(&ledger);
        assert_eq!(session.memory_mode(), MemoryMode::Polluted);
        session.settle().await.unwrap();
        assert!(session.warnings().is_empty());
        session.close("test").await.unwrap();
        assert_eq!(stage.resume(&ledger).memory_mode(), MemoryMode::Polluted, "the card keeps it");
    });
}

#[test]
fn h7_what_the_provider_searches_itself_counts() {
    let search =
        json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []});
    let answer = Answer::empty().raw(search).raw(result).and_text("Found.");
    let mut stage = Stage::new(Wire::Anthropic, Playlist::new().then(answer).forever("Yes."));
    stage.settings.handbooks = Some(handbooks(no_store()));
    runtime().block_on(async {
        let mut session = stage.open();
        session.say("search the web").await.unwrap();
        session.ask(None, CancelToken::new()).await.unwrap();
        assert_eq!(session.memory_mode(), MemoryMode::Polluted);
        // A store that is not there costs a word, not the session.
        session.settle().await.unwrap();
        assert!(session.warnings().iter().any(|text| text.contains("nobody is there")));
    });
}

#[test]
fn h1_nothing_begins_while_the_rate_limit_is_low_or_for_who_leaves_nothing_behind() {
    for (left, ephemeral, runs) in
        [(None, false, 1), (Some(0.9), false, 1), (Some(0.1), false, 0), (None, true, 0)]
    {
        let mut stage = Stage::new(Wire::Anthropic, Playlist::new().forever("Yes."));
        let counted = Arc::new(Counted::default());
        stage.settings.handbooks = Some(Handbooks { start: Some(counted.clone()), ..handbooks(no_store()) });
        stage.settings.standing.rate_limit_left = left;
        stage.settings.standing.ephemeral = ephemeral;
        runtime().block_on(async {
            let mut session = stage.open();
            session.say("one").await.unwrap();
            session.say("two").await.unwrap();
            session.close("test").await.unwrap();
        });
        assert_eq!(counted.0.load(Ordering::SeqCst), runs, "{left:?} {ephemeral}");
    }
}

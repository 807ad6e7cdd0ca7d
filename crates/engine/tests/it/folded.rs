//! Any session, any sequence of decisions: the rules hold, and what the ledger holds, folded, is what is live.

use crate::common::tiny;
use proptest::prelude::*;
use throughline_core::compaction::Trigger;
use throughline_core::pipeline::{Journal, Moment, Pipeline, Settings};
use throughline_core::profile::{CollapseLimits, Profile};
use throughline_core::stages::{OwnTools, snip};
use throughline_core::{
    Body, CallKind, Edit, EditId, Entry, Message, Meta, Op, Record, Role, Stage, ToolCall, ToolInput,
    ToolResult, View, invariants,
};
use throughline_engine::LedgerJournal;
use throughline_ledger::{Home, SyncPolicy, Writer, resume};

/// One step of a session.
#[derive(Clone, Debug)]
enum Step {
    Ask(u8),
    /// An answer with so many parallel calls, answered with results of so many words.
    Work {
        calls: u8,
        words: u16,
    },
    Answer(u8),
    Snip(u8),
    Pause,
    Compact,
    Undo(u8),
    Resume,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => any::<u8>().prop_map(Step::Ask),
        6 => (1_u8..4, 0_u16..400).prop_map(|(calls, words)| Step::Work { calls, words }),
        3 => any::<u8>().prop_map(Step::Answer),
        1 => any::<u8>().prop_map(Step::Snip),
        1 => Just(Step::Pause),
        1 => Just(Step::Compact),
        2 => any::<u8>().prop_map(Step::Undo),
        2 => Just(Step::Resume),
    ];
    proptest::collection::vec(step, 1..40)
}

fn profile(which: u8) -> Profile {
    let mut profile = tiny(["throughline", "claude", "codex", "off"][usize::from(which % 4)]);
    if which >= 4 {
        profile.collapse = Some(CollapseLimits {
            span_tokens: 100,
            summary_tokens: 80,
            keep_tokens: 300,
            ..CollapseLimits::default()
        });
    }
    profile
}

struct Session {
    home: Home,
    journal: LedgerJournal,
    pipeline: Pipeline,
    profile: Profile,
    minute: i64,
    calls: u32,
    said: u32,
}

impl Session {
    fn new(dir: &std::path::Path, profile: Profile) -> Self {
        let home = Home::new(dir);
        let meta = Meta::new("s".into(), jiff::Timestamp::UNIX_EPOCH, "throughline");
        let writer = Writer::create(&home, meta, SyncPolicy::Never).unwrap();
        let journal = LedgerJournal::new(writer, dir);
        Self { home, journal, pipeline: Self::pipeline(&profile), profile, minute: 0, calls: 0, said: 0 }
    }

    fn pipeline(profile: &Profile) -> Pipeline {
        let settings = Settings {
            window: 3_000,
            tools: OwnTools { snip: true, recall: true },
            ..Settings::for_model("gpt-5")
        };
        Pipeline::new(profile.clone(), settings)
    }

    fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::from_mins(self.minute)
    }

    fn say(&mut self, mut message: Message) {
        // Texts name messages by their ids: the same session has the same ones.
        self.said += 1;
        message.id = format!("message-{}", self.said).into();
        message.at = Some(self.now());
        message.parent = self.pipeline.view().head().cloned();
        let origin = self.journal.append(Record::Message(Box::new(message.clone()))).unwrap();
        self.pipeline.push(Entry::new(message, origin));
    }

    fn call(&mut self, name: &str, input: serde_json::Value) -> ToolCall {
        self.calls += 1;
        let id = format!("c{}", self.calls).into();
        ToolCall { id, name: name.to_owned(), input: ToolInput::Json(input), kind: CallKind::Function }
    }

    fn step(&mut self, step: &Step) {
        self.minute += 1;
        match step {
            Step::Ask(n) => {
                self.say(Message::text(Role::User, format!("please do part {n}; never touch lock_{n}")))
            }
            Step::Work { calls, words } => {
                let made: Vec<ToolCall> = (0..*calls)
                    .map(|n| self.call("Read", serde_json::json!({"file_path": format!("src/f{n}.rs")})))
                    .collect();
                let ids: Vec<_> = made.iter().map(|call| call.id.clone()).collect();
                self.say(Message::new(
                    Role::Assistant,
                    made.into_iter().map(|call| Body::ToolCall(call).into()).collect(),
                ));
                let text = "word ".repeat(usize::from(*words));
                let results =
                    ids.into_iter().map(|id| Body::ToolResult(ToolResult::text(id, text.clone())).into());
                self.say(Message::new(Role::User, results.collect()));
            }
            Step::Answer(n) => {
                self.say(Message::text(Role::Assistant, format!("part {n} is done in src/f{n}.rs")))
            }
            Step::Snip(n) => {
                let tags = snip::Tags::of(self.pipeline.view().entries());
                let places = tags.places();
                let Some(place) = places.get(usize::from(*n) % places.len().max(1)) else { return };
                let id = tags.get(*place).unwrap().to_owned();
                let call = self.call("Snip", serde_json::json!({"ids": [id], "reason": "done"}));
                let answer = call.id.clone();
                self.say(Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]));
                self.say(Message::new(
                    Role::User,
                    vec![Body::ToolResult(ToolResult::text(answer, "ok")).into()],
                ));
            }
            Step::Pause => self.minute += 120,
            Step::Compact => self.prepare(Some(Trigger::Manual)),
            Step::Undo(n) => self.undo(*n),
            Step::Resume => self.resume(),
        }
    }

    fn prepare(&mut self, compact: Option<Trigger>) {
        let moment = Moment { now: Some(self.now()), compact, ..Moment::default() };
        let before = self.pipeline.tokens();
        let pass = self.pipeline.prepare(&moment, &mut self.journal).unwrap();
        if pass.changed() {
            assert!(
                pass.changes.iter().all(|change| change.freed > 0),
                "each change frees something: {pass:?}"
            );
            assert!(pass.tokens_after < before.max(1) + 400, "{pass:?}");
        }
        let broken = invariants::check(&self.pipeline.messages());
        assert!(broken.is_empty(), "{broken:?}");
    }

    fn undo(&mut self, n: u8) {
        let edits: Vec<EditId> =
            self.pipeline.view().edits().filter(|(_, live)| *live).map(|(id, _)| id.clone()).collect();
        let Some(target) = edits.get(usize::from(n) % edits.len().max(1)) else { return };
        let edit = Edit {
            id: EditId::fresh(),
            at: Some(self.now()),
            stage: Stage::User,
            reason: String::new(),
            freed: None,
            ops: vec![Op::Undo { edit: target.clone() }],
        };
        let origin = self.journal.append(Record::Edit(Box::new(edit.clone()))).unwrap();
        self.pipeline.edit(edit, origin);
        if self.pipeline.view().is_stale() {
            self.resume();
        }
    }

    fn folded(&self) -> View {
        resume(&self.home, self.journal.path()).unwrap().view
    }

    /// As after a restart.
    fn resume(&mut self) {
        let view = self.folded();
        let mut pipeline = Self::pipeline(&self.profile);
        throughline_ledger::session::each_record(&self.home, self.journal.path(), &mut |_, record| {
            if let Record::Message(message) = record {
                pipeline.remember(&std::sync::Arc::new(*message));
            }
            Ok::<_, throughline_ledger::LedgerError>(())
        })
        .unwrap();
        pipeline.restore(view);
        self.pipeline = pipeline;
    }

    fn assert_folded(&self) {
        let live: Vec<_> = self.pipeline.view().messages().collect();
        let folded: Vec<_> = self.folded().messages().collect();
        assert_eq!(live, folded);
        let origins = |view: &View| {
            view.entries().iter().map(|e| (e.message.id.clone(), e.origin.offset)).collect::<Vec<_>>()
        };
        assert_eq!(origins(self.pipeline.view()), origins(&self.folded()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn l4_w2_resume_is_the_live_view_after_any_decisions(which in 0_u8..8, steps in steps()) {
        let dir = tempfile::tempdir().unwrap();
        let mut session = Session::new(dir.path(), profile(which));
        session.step(&Step::Ask(0));
        for step in &steps {
            session.step(step);
            if matches!(step, Step::Ask(_) | Step::Work { .. }) {
                session.prepare(None);
            }
            session.assert_folded();
        }
    }
}

#[test]
fn the_same_session_is_decided_alike_each_time() {
    let run = || {
        let dir = tempfile::tempdir().unwrap();
        let mut session = Session::new(dir.path(), profile(0));
        let mut sizes = Vec::new();
        for n in 0..30 {
            session.step(&Step::Ask(n));
            session.step(&Step::Work { calls: 2, words: 90 });
            session.prepare(None);
            session.step(&Step::Answer(n));
            sizes.push(session.pipeline.tokens());
        }
        sizes
    };
    let (first, second) = (run(), run());
    assert_eq!(first, second);
    assert!(first.windows(2).any(|pair| pair[1] < pair[0]), "something was decided: {first:?}");
}

//! W2 after every stage, in any order, on conversations of every form that clients write.

use super::kit::{Stand, call, named, result, says, thinks, user, words};
use crate::arbitrary::conversation;
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use serde_json::json;
use throughline_core::profile::{BudgetLimits, CollapseLimits, MicrocompactLimits, SnipLimits};
use throughline_core::stages::{budget, collapse, microcompact, snip};
use throughline_core::{Block, Edit, Entry, Fragment, Message, Op, Role, Stage, invariants};

#[derive(Clone, Debug)]
struct Turn {
    opening: u8,
    rounds: Vec<Round>,
    closes: bool,
}

#[derive(Clone, Debug)]
struct Round {
    /// Words in each result, and which tool.
    calls: Vec<(usize, u8)>,
    thinks: bool,
    speaks: bool,
    /// One record a block.
    by_block: bool,
    /// One message for all results.
    together: bool,
    /// Something that the client put in.
    aside: u8,
}

fn round() -> impl Strategy<Value = Round> {
    (proptest::collection::vec((0..80usize, 0..3u8), 1..4), any::<(bool, bool, bool, bool)>(), 0..6u8)
        .prop_map(|(calls, (thinks, speaks, by_block, together), aside)| Round {
            calls,
            thinks,
            speaks,
            by_block,
            together,
            aside,
        })
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = (0..5u8, proptest::collection::vec(round(), 0..4), any::<bool>())
        .prop_map(|(opening, rounds, closes)| Turn { opening, rounds, closes });
    proptest::collection::vec(turn, 1..6)
}

/// Writes the turns down as clients do.
fn write(turns: &[Turn]) -> Vec<Message> {
    let mut out: Vec<Message> = Vec::new();
    let mut n = 0;
    let mut id = move || {
        n += 1;
        format!("m{n}")
    };
    for (t, turn) in turns.iter().enumerate() {
        let text = match turn.opening {
            0 => "[id:abc123] [Old tool result content cleared] <persisted-output>".to_owned(),
            1 => words(60),
            _ => format!("please do number {t}"),
        };
        let interrupts = out.last().is_some_and(|m| m.results().next().is_some() && turn.opening == 4);
        match out.last_mut() {
            Some(last) if interrupts => last.blocks.push(Block::text(text)),
            _ => out.push(user(&id(), &text)),
        }
        for (r, round) in turn.rounds.iter().enumerate() {
            let tool = |kind: u8| ["Read", "Bash", "Task"][usize::from(kind)];
            let call_id = |c: usize| format!("c{t}_{r}_{c}");
            let mut blocks: Vec<Block> = Vec::new();
            blocks.extend(round.thinks.then(|| thinks("hm")));
            blocks.extend(round.speaks.then(|| Block::text("I look")));
            let calls = round.calls.iter().enumerate();
            blocks.extend(
                calls.map(|(c, (_, kind))| call(&call_id(c), tool(*kind), json!({"file": "src/a.rs"}))),
            );
            if round.by_block {
                for block in blocks {
                    let mut record = named(&id(), Role::Assistant, vec![block]);
                    record.group = Some(format!("g{t}_{r}").as_str().into());
                    out.push(record);
                }
            } else {
                out.push(named(&id(), Role::Assistant, blocks));
            }
            let calls = round.calls.iter().enumerate();
            let results = calls.map(|(c, (size, _))| result(&call_id(c), &words(*size))).collect::<Vec<_>>();
            if round.together {
                out.push(named(&id(), Role::User, results));
            } else {
                out.extend(results.into_iter().map(|result| named(&id(), Role::Tool, vec![result])));
            }
            match round.aside {
                0 => out.push(user(&id(), &Fragment::SystemReminder.render("it is late"))),
                1 => out.push(user(&id(), &Fragment::Environment.render("<cwd>/x</cwd>"))),
                2 => out.push(named(&id(), Role::Developer, vec![Block::text("be brief")])),
                _ => {}
            }
        }
        if turn.closes {
            out.push(says(&id(), "done"));
        }
    }
    out
}

#[derive(Clone, Debug)]
enum Step {
    Budget { sent: usize },
    Snip { turn: usize },
    Cold { keep: usize },
    Pressure { keep: usize },
    Collapse { threshold: u64 },
    Nudge,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        (0..20usize).prop_map(|sent| Step::Budget { sent }),
        (0..4usize).prop_map(|turn| Step::Snip { turn }),
        (0..3usize).prop_map(|keep| Step::Cold { keep }),
        (0..3usize).prop_map(|keep| Step::Pressure { keep }),
        (0..600u64).prop_map(|threshold| Step::Collapse { threshold }),
        Just(Step::Nudge),
    ];
    proptest::collection::vec(step, 1..8)
}

/// Takes a step. What it did must be in order; [`Stand::apply`] sees to that.
fn take(stand: &mut Stand, step: &Step, snapshot: &mut collapse::Snapshot) {
    let clear = |keep: usize, pressure| MicrocompactLimits {
        keep,
        pressure_tokens: pressure,
        ..MicrocompactLimits::default()
    };
    match step {
        Step::Budget { sent } => {
            let limits = BudgetLimits {
                result_chars: 250,
                message_chars: 400,
                preview_bytes: 40,
                ..BudgetLimits::default()
            };
            stand.sent = *sent;
            let path = |file_name: &str| Some(file_name.to_owned());
            let saved = budget::SavedFiles { path: &path, are_readable: true };
            let before: Vec<Message> = stand.view.messages().take(*sent).map(|m| (*m).clone()).collect();
            let outcome = stand.look(|scene, counter| budget::propose(scene, &limits, saved, counter));
            if let Some(outcome) = outcome {
                stand.apply(outcome.proposal);
            }
            let after: Vec<Message> = stand.view.messages().take(*sent).map(|m| (*m).clone()).collect();
            assert_eq!(before, after, "what was sent stays");
        }
        Step::Snip { turn } => {
            let tags = snip::Tags::of(stand.entries());
            let Some(&at) = tags.places().get(*turn) else { return };
            let ids = [tags.get(at).unwrap_or_default().to_owned()];
            if let Ok(proposal) = stand.look(|scene, _| snip::propose(scene, &ids, "")) {
                stand.apply(proposal);
            }
        }
        Step::Cold { keep } => {
            stand.now = Some(Timestamp::UNIX_EPOCH + SignedDuration::from_hours(2));
            let proposal =
                stand.look(|scene, counter| microcompact::propose_cold(scene, &clear(*keep, None), counter));
            proposal.into_iter().for_each(|proposal| drop(stand.apply(proposal)));
        }
        Step::Pressure { keep } => {
            let limits = clear(*keep, Some(100));
            let proposal =
                stand.look(|scene, counter| microcompact::propose_pressure(scene, &limits, counter));
            proposal.into_iter().for_each(|proposal| drop(stand.apply(proposal)));
        }
        Step::Collapse { threshold } => {
            let limits = CollapseLimits {
                span_tokens: 150,
                summary_tokens: 30,
                keep_tokens: 50,
                ..Default::default()
            };
            let levels = collapse::Levels { limits: &limits, threshold: *threshold };
            let mut tell = |entries: &[Entry]| format!("{} messages", entries.len());
            stand.look(|scene, counter| collapse::stage(scene, levels, snapshot, counter, &mut tell));
            let proposals = stand.look(|scene, counter| collapse::commit(scene, levels, snapshot, counter));
            proposals.into_iter().for_each(|proposal| drop(stand.apply(proposal)));
        }
        Step::Nudge => {
            let limits = SnipLimits { nudge_tokens: 100 };
            if let Some(message) = stand.look(|scene, _| snip::nudge(scene, &limits)) {
                stand.push(message);
                stand.check();
                assert_eq!(stand.look(|scene, _| snip::nudge(scene, &limits)), None);
            }
        }
    }
    let tags = snip::Tags::of(stand.entries());
    let marked: Vec<_> = stand.view.messages().enumerate().map(|(at, m)| tags.mark(at, m)).collect();
    let marked: Vec<&Message> = marked.iter().map(|m| &**m).collect();
    assert_eq!(invariants::check(&marked), []);
}

fn run(mut messages: Vec<Message>, steps: &[Step]) {
    for message in messages.iter_mut().filter(|message| message.role == Role::Assistant) {
        message.at = Some(Timestamp::UNIX_EPOCH);
    }
    let said: Vec<String> = messages.iter().filter(|m| m.is_real_user()).map(Message::user_words).collect();
    let mut stand = Stand::new(messages).with_snip().with_recall();
    stand.check();
    let mut snapshot = collapse::Snapshot::default();
    for step in steps {
        take(&mut stand, step, &mut snapshot);
    }
    if !steps.iter().any(|step| matches!(step, Step::Snip { .. })) {
        let text: String = stand.view.messages().map(|message| message.to_text() + "\n").collect();
        let mut lines = said.iter().flat_map(|words| words.lines());
        assert!(lines.all(|line| text.contains(line)), "only the model drops what the user said");
    }
    undo_everything(stand, said);
}

/// Every edit can be taken back, and then everything is as it was said.
fn undo_everything(mut stand: Stand, said: Vec<String>) {
    let live: Vec<_> = stand.view.edits().map(|(id, _)| id.clone()).collect();
    let ops = live.into_iter().map(|edit| Op::Undo { edit }).collect();
    let undo =
        Edit { id: "undo".into(), at: None, stage: Stage::User, reason: String::new(), freed: None, ops };
    stand.view.edit(undo, Default::default());
    let back: Vec<String> =
        stand.view.messages().filter(|m| m.is_real_user()).map(|m| m.user_words()).collect();
    assert_eq!(back, said);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn w2_holds_after_every_stage_in_any_order(turns in turns(), steps in steps()) {
        run(write(&turns), &steps);
    }

    /// A pinned message is shown as it was said, whatever the stages do.
    #[test]
    fn a_pin_holds_against_every_stage_in_any_order(turns in turns(), steps in steps(), pick in 0..40usize) {
        let messages = write(&turns);
        let mut stand = Stand::new(messages.clone()).with_snip().with_recall();
        let pinned = messages[pick % messages.len()].clone();
        let ops = vec![Op::Pin { messages: vec![pinned.id.clone()] }];
        let pin = Edit { id: "pin".into(), at: None, stage: Stage::User, reason: String::new(), freed: None, ops };
        stand.view.edit(pin, Default::default());
        let mut snapshot = collapse::Snapshot::default();
        for step in &steps {
            take(&mut stand, step, &mut snapshot);
            let shown = stand.view.messages().find(|message| message.id == pinned.id);
            prop_assert_eq!(shown.as_deref(), Some(&pinned));
        }
    }

    /// Messages made of anything, once they are in order at all.
    #[test]
    fn w2_holds_for_the_oddest_conversations(messages in conversation(), steps in steps()) {
        run(invariants::repair(messages).0, &steps);
    }

    /// A history that grows gives the same edits for what was there before.
    #[test]
    fn p2_a_history_without_a_session_always_gives_the_same_view(turns in turns(), picks in proptest::collection::vec((0..6usize, 0..4usize), 1..4)) {
        let mut messages = write(&turns);
        let tags = snip::Tags::of(Stand::new(messages.clone()).entries());
        for (n, (_, pick)) in picks.iter().enumerate() {
            let Some(name) = tags.places().get(*pick).and_then(|&at| tags.get(at)).map(str::to_owned) else { continue };
            let id = format!("snip{n}");
            messages.push(named(&format!("s{n}"), Role::Assistant, vec![call(&id, "Snip", json!({"ids": [name]}))]));
            messages.push(named(&format!("o{n}"), Role::User, vec![result(&id, "ok")]));
            messages.push(says(&format!("k{n}"), "so"));
            messages.push(user(&format!("q{n}"), &format!("and {n}?")));
        }
        let view = |upto: usize| {
            let mut stand = Stand::new(messages[..upto].to_vec());
            for call in snip::find_calls(stand.entries()) {
                if let Ok(proposal) = stand.look(|scene, _| snip::propose_call(scene, &call)) {
                    stand.apply(proposal);
                }
            }
            let ids: Vec<String> = stand.entries().iter().map(|e| e.message.id.to_string()).collect();
            ids
        };
        let whole = view(messages.len());
        let is_request = |upto: &usize| *upto > 0 && invariants::check(&messages[..*upto]).is_empty();
        for upto in (messages.len().saturating_sub(16)..messages.len()).filter(is_request) {
            // Later calls drop more; what an earlier request dropped never comes back.
            let earlier = view(upto);
            let there: std::collections::HashSet<&str> =
                messages[..upto].iter().map(|m| m.id.as_str()).collect();
            for id in whole.iter().filter(|id| there.contains(id.as_str())) {
                prop_assert!(earlier.contains(id), "{id} came back");
            }
        }
    }
}

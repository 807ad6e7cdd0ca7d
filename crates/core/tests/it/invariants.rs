use crate::arbitrary::conversation;
use proptest::prelude::*;
use throughline_core::invariants::{Action, NO_RESULT, Rule, check, repair};
use throughline_core::{Block, Body, Message, ResultContent, Role, ToolCall, ToolInput, ToolResult};

fn user(text: &str) -> Message {
    named(Message::text(Role::User, text), text)
}

fn says(text: &str) -> Message {
    named(Message::text(Role::Assistant, text), text)
}

fn named(mut message: Message, id: &str) -> Message {
    message.id = id.into();
    message
}

fn call(id: &str, group: &str) -> Message {
    let call = ToolCall {
        id: id.into(),
        name: "Bash".into(),
        input: ToolInput::Json(serde_json::json!({})),
        kind: Default::default(),
    };
    let mut message =
        named(Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]), &format!("call {id}"));
    message.group = Some(group.into());
    message
}

fn result(id: &str) -> Message {
    let block: Block = Body::ToolResult(ToolResult::text(id.into(), "ok")).into();
    named(Message::new(Role::User, vec![block]), &format!("result {id}"))
}

fn ids(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|m| m.id.as_str()).collect()
}

#[test]
fn w2_parallel_calls_in_one_answer_are_in_order() {
    let messages = [user("u"), call("a", "g"), call("b", "g"), result("b"), result("a"), says("done")];
    assert_eq!(check(&messages), []);
}

#[test]
fn w2_results_recorded_between_blocks_of_one_answer_move_behind_it() {
    let messages = vec![user("u"), call("a", "g"), result("a"), call("b", "g"), result("b"), says("done")];
    let (fixed, repairs) = repair(messages);
    assert_eq!(ids(&fixed), ["u", "call a", "call b", "result a", "result b", "done"]);
    assert_eq!(repairs.len(), 1);
    assert_eq!(repairs[0].action, Action::Moved);
}

#[test]
fn w2_a_call_without_result_gets_one_and_says_so() {
    let (fixed, repairs) = repair(vec![user("u"), call("a", "g"), user("next")]);
    assert_eq!(ids(&fixed), ["u", "call a", "call a.a", "next"]);
    let Body::ToolResult(invented) = &fixed[2].blocks[0].body else { panic!("a result is expected") };
    assert_eq!(invented.content, ResultContent::Text(NO_RESULT.into()));
    assert_eq!((repairs[0].violation.rule, repairs[0].action), (Rule::CallAnswered, Action::Inserted));
}

#[test]
fn w2_a_result_without_call_goes() {
    let (fixed, repairs) = repair(vec![user("u"), result("a"), says("done")]);
    assert_eq!(ids(&fixed), ["u", "done"]);
    assert_eq!((repairs[0].violation.rule, repairs[0].action), (Rule::ResultHasCall, Action::Dropped));
}

#[test]
fn w2_words_between_call_and_result_come_after_it() {
    let (fixed, _) = repair(vec![user("u"), call("a", "g"), user("wait"), result("a")]);
    assert_eq!(ids(&fixed), ["u", "call a", "result a", "wait"]);
}

#[test]
fn w2_a_conversation_cut_at_the_front_begins_with_the_user_again() {
    let (fixed, _) = repair(vec![says("hello")]);
    assert_eq!(ids(&fixed), ["hello.before", "hello"]);
    assert!(!fixed[0].is_real_user(), "nobody said that");
}

#[test]
fn w2_reasoning_without_its_answer_goes() {
    let reasoning = Body::Reasoning { text: "hm".into(), seal: Some("s".into()) };
    let stray = named(Message::new(Role::Assistant, vec![reasoning.into()]), "hm");
    let (fixed, repairs) = repair(vec![user("u"), stray.clone(), user("v")]);
    assert_eq!(ids(&fixed), ["u", "v"]);
    assert_eq!(repairs[0].violation.rule, Rule::ReasoningLeads);
    assert_eq!(check(&[user("u"), stray, says("x")]), []);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn w2_repair_leaves_nothing_broken(messages in conversation()) {
        let (fixed, _) = repair(messages);
        prop_assert_eq!(check(&fixed), vec![]);
    }

    #[test]
    fn w2_repair_changes_nothing_twice_and_nothing_in_silence(messages in conversation()) {
        let (fixed, repairs) = repair(messages.clone());
        prop_assert_eq!(repairs.is_empty(), fixed == messages);
        let (again, repairs) = repair(fixed.clone());
        prop_assert_eq!(again, fixed);
        prop_assert!(repairs.is_empty());
    }

    #[test]
    fn w2_repair_never_loses_what_the_user_said(messages in conversation()) {
        let words = |messages: &[Message]| {
            let mut words: Vec<String> =
                messages.iter().filter(|m| m.is_real_user()).map(Message::user_words).collect();
            words.sort();
            words
        };
        let before = words(&messages);
        let (fixed, _) = repair(messages);
        prop_assert_eq!(words(&fixed), before);
    }
}

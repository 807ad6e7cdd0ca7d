//! What a hook's end means.

use super::event::EventName;
use super::outcome::{Answer, FailureKind, HookFailure, HookId, Permission};
use serde::Deserialize;
use serde_json::Value;
use throughline_model::process::Done;

/// The most characters of a text that leaves a hook.
pub const TEXT_LIMIT: usize = 10_000;

/// The exit status that objects.
const BLOCKS: i32 = 2;

/// What a hook may print as JSON. Keys that are not known are left alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Said {
    #[serde(rename = "continue", default = "yes")]
    goes_on: bool,
    stop_reason: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    system_message: Option<String>,
    hook_specific_output: Option<Specific>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    hook_event_name: Option<String>,
    additional_context: Option<String>,
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
}

fn yes() -> bool {
    true
}

pub(super) fn read(hook: &HookId, done: &Done) -> Answer {
    match done.status.code() {
        Some(0) => printed(hook, done),
        Some(BLOCKS) => {
            let mut answer = Answer::default();
            object(hook, &mut answer, Some(done.stderr.trim()));
            answer
        }
        Some(_) | None => {
            let complaint = done.last_lines();
            let colon = if complaint.is_empty() { "" } else { ": " };
            failed(hook, FailureKind::Exit, format!("ended with {}{colon}{complaint}", done.status))
        }
    }
}

pub(super) fn failed(hook: &HookId, kind: FailureKind, message: String) -> Answer {
    let failure = HookFailure { hook: hook.clone(), kind, message };
    Answer { failures: vec![failure], ..Answer::default() }
}

fn printed(hook: &HookId, done: &Done) -> Answer {
    let text = String::from_utf8_lossy(&done.stdout);
    let text = text.trim();
    if !text.starts_with('{') {
        let is_context = hook.event.plain_text_is_context() && !text.is_empty();
        return Answer { context: is_context.then(|| marked(hook, text)), ..Answer::default() };
    }
    match serde_json::from_str::<Said>(text) {
        Ok(said) => understood(hook, said),
        Err(_) if done.is_cut => {
            failed(hook, FailureKind::Output, "printed more than is read of a hook".to_owned())
        }
        Err(error) => failed(hook, FailureKind::Output, format!("printed JSON that can't be read: {error}")),
    }
}

fn understood(hook: &HookId, said: Said) -> Answer {
    let mut answer = Answer::default();
    let mut complain = |message: String| {
        answer.failures.push(HookFailure { hook: hook.clone(), kind: FailureKind::Output, message });
    };
    // Another event's words are not this one's.
    let specific = said.hook_specific_output.filter(|specific| {
        let name = specific.hook_event_name.as_deref().unwrap_or(hook.event.name());
        let fits = name == hook.event.name();
        if !fits {
            complain(format!("printed an answer for {name:?}"));
        }
        fits
    });
    if specific.as_ref().is_some_and(|specific| specific.updated_input.is_some()) {
        complain("asked for other arguments, which hooks can't change here".to_owned());
    }
    let mut objection = None;
    match said.decision.as_deref() {
        Some("block") => objection = Some(said.reason.as_deref()),
        Some("approve" | "allow") => answer.permission = Some(Permission::Allow),
        Some(other) => {
            complain(format!("printed the decision {other:?}; known are \"block\" and \"approve\""))
        }
        None => {}
    }
    let permission = specific.as_ref().and_then(|specific| specific.permission_decision.as_deref());
    if let (Some(word), EventName::PreToolUse) = (permission, hook.event) {
        match word {
            "allow" => answer.permission = answer.permission.max(Some(Permission::Allow)),
            "ask" => answer.permission = Some(Permission::Ask),
            "deny" => {
                answer.permission = Some(Permission::Deny);
                let reason =
                    specific.as_ref().and_then(|specific| specific.permission_decision_reason.as_deref());
                objection = objection.or(Some(reason));
            }
            other => answer.failures.push(HookFailure {
                hook: hook.clone(),
                kind: FailureKind::Output,
                message: format!(
                    "printed the permission {other:?}; known are \"allow\", \"ask\" and \"deny\""
                ),
            }),
        }
    }
    if let Some(reason) = objection {
        object(hook, &mut answer, reason);
    }
    if !said.goes_on {
        let reason = said.stop_reason.as_deref().map(str::trim).filter(|reason| !reason.is_empty());
        answer.halted = Some(reason.map_or_else(|| format!("{hook} stopped it"), bounded));
    }
    answer.messages.extend(said.system_message.as_deref().map(bounded));
    let context = specific.and_then(|specific| specific.additional_context);
    answer.context = context.filter(|text| !text.trim().is_empty()).map(|text| marked(hook, text.trim()));
    answer
}

/// An objection holds up what can be held up; elsewhere the user is told.
fn object(hook: &HookId, answer: &mut Answer, reason: Option<&str>) {
    let reason = reason.map(str::trim).filter(|reason| !reason.is_empty());
    let reason = reason.map_or_else(|| format!("{hook} objected without a reason"), bounded);
    if hook.event.can_block() {
        answer.blocked = Some(reason);
    } else {
        answer.messages.push(reason);
    }
}

/// Text for the model says whose it is. It can't end the mark by itself.
fn marked(hook: &HookId, text: &str) -> String {
    let text = bounded(text).replace("</hook-output", "< /hook-output");
    let HookId { event, place, name } = hook;
    let name: String = name.chars().filter(|part| !matches!(part, '"' | '<' | '>')).collect();
    format!(
        "<hook-output event=\"{}\" hook=\"{place}\" command=\"{name}\">\n{text}\n</hook-output>",
        event.name()
    )
}

/// The beginning of a text, with a word on what was cut.
fn bounded(text: &str) -> String {
    match text.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => {
            let kept = text.get(..end).unwrap_or_default();
            let total = text.chars().count();
            format!("{kept}\n[cut: {TEXT_LIMIT} of {total} characters]")
        }
        None => text.to_owned(),
    }
}

//! Events: mostly copies of items. What only they tell is kept.

use super::content::hash_of;
use super::line::{Event, Tokens};
use super::{At, CodexImporter, ToldBy, text_hash};
use crate::import::outcome::{Lane, LineOutcome, Output};
use crate::import::session::{RewindBy, happened, shorten};
use crate::import::shadow::Kind;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use throughline_core::{Message, Role};

/// What events said is compared with the items that follow; a rollout that tells all by events is not compared for ever.
const MAX_COMPARED: usize = 256;

impl CodexImporter {
    pub(super) fn event(&mut self, event: &Event<'_>, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        match event.r#type.or_empty() {
            "user_message" => self.told(Role::User, event, at, out),
            "agent_message" => self.told(Role::Assistant, event, at, out),
            "token_count" => self.token_count(event, at, out),
            "thread_rolled_back" => self.rolled_back(event.num_turns.0.unwrap_or(0), at, out),
            "turn_aborted" => {
                self.identify(at);
                let data =
                    json!({"reason": event.reason.get(), "turn": event.turn_id.get(), "line": self.line});
                self.session.emit(Lane::MAIN, happened(at.time, "turn_aborted", data), out);
                LineOutcome::Imported
            }
            "error" => {
                self.identify(at);
                let data = json!({"message": event.message.get(), "line": self.line});
                self.session.emit(Lane::MAIN, happened(at.time, "error", data), out);
                LineOutcome::Imported
            }
            "thread_name_updated" => {
                if let Some(name) = event.thread_name.get() {
                    self.session.facts.title = Some(shorten(name, 200));
                }
                LineOutcome::Imported
            }
            kind => {
                let settings = event.thread_settings.as_deref();
                self.memory_mode(event.memory_mode.get().or(settings.and_then(|s| s.memory_mode.get())));
                self.window = event.model_context_window.0.or(self.window);
                LineOutcome::Skipped(format!("event: {}", shorten(kind, 40)).into())
            }
        }
    }

    /// A message, as an event tells it: a copy of an item, unless the rollout has none.
    fn told(&mut self, role: Role, event: &Event<'_>, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        let Some(text) = event.message.get() else { return LineOutcome::Skipped("empty event".into()) };
        if let ToldBy::Unknown = self.told_by {
            self.told_by = ToldBy::Events(HashSet::new());
        }
        let ToldBy::Events(said) = &mut self.told_by else {
            return LineOutcome::Skipped("event that repeats an item".into());
        };
        if said.len() < MAX_COMPARED {
            said.insert(text_hash(role, text));
        }
        let mut message = Message::text(role, text);
        message.at = at.time;
        message.flags.typed = role == Role::User;
        let content = hash_of(&message);
        let id = self.fresh_id(None, content, at);
        self.say(message, id, content, at, out);
        LineOutcome::Imported
    }

    fn token_count(&mut self, event: &Event<'_>, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        let Some(info) = &event.info else {
            return LineOutcome::Skipped("token_count without figures".into());
        };
        self.window = info.model_context_window.0.or(self.window);
        let total = info.total_token_usage.as_ref().map(Tokens::total);
        match &info.last_token_usage {
            Some(last) => self.usage(last, total, at, out),
            None => LineOutcome::Skipped("token_count without figures".into()),
        }
    }

    pub(super) fn usage_record(
        &mut self,
        payload: &Value,
        at: &At<'_>,
        out: &mut Vec<Output>,
    ) -> LineOutcome {
        let tokens = |name: &str| payload.get(name).and_then(|value| Tokens::deserialize(value).ok());
        match tokens("usage") {
            Some(usage) => self.usage(&usage, tokens("thread_token_usage").map(|t| t.total()), at, out),
            None => LineOutcome::Skipped("token_usage_record without figures".into()),
        }
    }

    /// Codex repeats the figures of the last request: only where the thread's total moved is there a new one.
    fn usage(
        &mut self,
        usage: &Tokens,
        total: Option<u64>,
        at: &At<'_>,
        out: &mut Vec<Output>,
    ) -> LineOutcome {
        if total.is_some() && self.last_total == total {
            return LineOutcome::Skipped("repeated usage".into());
        }
        self.identify(at);
        self.last_total = total;
        let message = self.session.view.tip().and_then(|tip| self.session.id_of(tip));
        let data = json!({
            "model": self.session.facts.model, "usage": usage.to_core(), "message": message,
            "window": self.window, "line": self.line,
        });
        self.session.emit(Lane::MAIN, happened(at.time, "usage", data), out);
        LineOutcome::Imported
    }

    /// Goes back before the last `turns` messages of the person. What came before the first of them stays.
    fn rolled_back(&mut self, turns: u64, at: &At<'_>, out: &mut Vec<Output>) -> LineOutcome {
        self.identify(at);
        let is_real = |m: u32| self.session.view.node(m).is_some_and(|n| n.kind == Kind::RealUser);
        let mut view = self.session.view.backwards().peekable();
        let (mut before, mut left) = (None, turns);
        while left > 0
            && let Some(message) = view.next()
        {
            if is_real(message) {
                before = Some(view.peek().copied());
                left -= 1;
            }
        }
        drop(view);
        let Some(to) = before else { return LineOutcome::Skipped("rollback of nothing".into()) };
        let reason = format!("rolled back {turns} turns");
        let edit = RewindBy {
            to,
            undo: Vec::new(),
            id: format!("{}.rollback", self.line_id(at)),
            at: at.time,
            reason: &reason,
        };
        self.session.rewind(Lane::MAIN, edit, out);
        LineOutcome::Imported
    }
}

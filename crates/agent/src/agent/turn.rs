//! The turn loop: ask, carry out, tell, until the model has nothing more to do.

use super::calls::Carried;
use super::{Agent, AgentError, Desk, EndReason, Said, TurnEnd, task};
use crate::{Event, Listener, Spending};
use throughline_core::citation::CitationFilter;
use throughline_core::pipeline::Change;
use throughline_core::{Message, Role, ToolCall};
use throughline_engine::session::{SessionError, reminder};
use throughline_model::{Answer, Delta, ModelError, OnDelta};
use throughline_wire::Stop;

/// How often hooks can make a turn go on that would be over.
const MOST_AGAIN: usize = 3;

impl Agent {
    /// One turn of the user's, to its end. Whatever happens, the history is valid afterwards and all of it is in the ledger.
    pub async fn turn(&mut self, said: Said, desk: &Desk<'_>) -> Result<TurnEnd, AgentError> {
        self.tell_changes()?;
        let words = said.text.clone();
        self.say(said, desk).await?;
        self.tell_handbook(&words).await?;
        let result = self.steps(desk).await;
        let closed = match &result {
            Ok(_) => Ok(()),
            // The next turn must not find calls without results, and what was said may be all that the user gets.
            Err(error) => self.session.break_off(error.partial(), "[not run: the turn failed before]"),
        };
        self.hear_session(desk);
        self.session.after_turn().await?;
        closed?;
        result
    }

    /// The user's words, with what they name.
    pub(super) async fn say(&mut self, said: Said, desk: &Desk<'_>) -> Result<(), AgentError> {
        let skills = self.skills_named(&said.text, desk);
        let id = self.session.say_with(&said.text, said.beside).await?;
        self.kit.files.begin_turn(id.as_str());
        for skill in skills {
            self.session.record(skill)?;
        }
        self.hear_session(desk);
        Ok(())
    }

    async fn steps(&mut self, desk: &Desk<'_>) -> Result<TurnEnd, AgentError> {
        let spent_before = self.session.spent().dollars;
        let mut again = 0;
        let mut text = String::new();
        let mut step = 0;
        loop {
            step += 1;
            let end = |why: EndReason, text: String| Ok(TurnEnd { why, text, steps: step });
            self.tell_finished(desk)?;
            self.remind();
            desk.listener.hear(Event::Asking { step });
            let answer = match self.ask(desk).await? {
                Some(answer) => answer,
                None => return end(EndReason::Interrupted, text),
            };
            text = said_in(&answer.response.messages);
            desk.listener.hear(Event::Answered { text: text.clone(), usage: answer.response.usage });
            self.hear_session(desk);
            let calls = self.session.open_calls();
            let most = self.kit.limits;
            let over = if most.cost.is_some_and(|most| self.session.spent().dollars - spent_before >= most) {
                Some((EndReason::MaxCost, "[not run: the turn cost as much as it may]"))
            } else if step >= most.steps {
                Some((EndReason::MaxSteps, "[not run: the turn had as many steps as it may have]"))
            } else {
                None
            };
            if let Some((why, words)) = over.filter(|_| !calls.is_empty()) {
                self.session.close_calls(words)?;
                return end(why, text);
            }
            if calls.is_empty() {
                let goes_on =
                    over.is_none() && (self.steer(desk).await? || self.is_made_to_go_on(&mut again).await?);
                if goes_on {
                    continue;
                }
                let why = if answer.response.stop == Stop::MaxTokens {
                    EndReason::Truncated
                } else {
                    EndReason::Done
                };
                return end(why, text);
            }
            if let Some(why) = self.act(calls, desk).await? {
                return end(why, text);
            }
            self.steer(desk).await?;
        }
    }

    /// The calls of an answer. Says why the turn ends with them, if it does.
    async fn act(&mut self, calls: Vec<ToolCall>, desk: &Desk<'_>) -> Result<Option<EndReason>, AgentError> {
        let carried = self.carry_out(calls, desk).await?;
        for message in std::mem::take(&mut self.after) {
            self.session.record(message)?;
        }
        for message in std::mem::take(&mut self.scoped) {
            self.session.tell(message)?;
        }
        for spent in self.kit.take_subs() {
            self.session.add_spent("task", spent)?;
        }
        if self.kit.take_polluted() {
            self.session.pollute(task::NAME)?;
        }
        Ok(match carried {
            Carried::All => None,
            Carried::Stopped => {
                self.session.interrupt(None)?;
                desk.listener.hear(Event::Interrupted);
                Some(EndReason::Interrupted)
            }
            Carried::Halted => {
                self.session.close_calls("[not run: a hook stopped the turn]")?;
                Some(EndReason::Halted)
            }
        })
    }

    /// Asks the model; `None`: the user stopped it.
    async fn ask(&mut self, desk: &Desk<'_>) -> Result<Option<Answer>, AgentError> {
        let listener = desk.listener;
        // What an answer cites is for us, not for people (H5).
        let mut filter = CitationFilter::default();
        let on_delta: OnDelta<'_> = Box::new(|delta| match delta {
            Delta::Text(text) => tell(listener, filter.push(&text)),
            Delta::Reasoning(text) => listener.hear(Event::Thinking { text }),
            Delta::Other => {}
        });
        let asked = self.session.ask(Some(on_delta), desk.cancel.clone()).await;
        tell(listener, filter.finish().0);
        match asked {
            Ok(answer) => Ok(Some(answer)),
            Err(SessionError::Model(error @ ModelError::Cancelled { .. })) => {
                self.session.interrupt(error.partial())?;
                desk.listener.hear(Event::Interrupted);
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Tells the model what the user typed meanwhile. Whether there was anything.
    async fn steer(&mut self, desk: &Desk<'_>) -> Result<bool, AgentError> {
        let mut any = false;
        for said in desk.inbox.take_steering() {
            let text = said.text.clone();
            match self.say(said, desk).await {
                Ok(()) => {
                    any = true;
                    desk.listener.hear(Event::Steered { text });
                }
                // A hook that refuses a word does not refuse the turn.
                Err(AgentError::Session(error @ SessionError::Blocked(_))) => {
                    desk.listener.hear(Event::Warning { text: error.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        Ok(any)
    }

    /// Hooks may want more of a turn that would be over.
    async fn is_made_to_go_on(&mut self, again: &mut usize) -> Result<bool, AgentError> {
        if *again >= MOST_AGAIN {
            return Ok(false);
        }
        let why = match self.briefing {
            Some(_) => self.session.stopping(*again > 0).await,
            None => self.session.helper_stopping(task::NAME, *again > 0).await,
        };
        let Some(why) = why else { return Ok(false) };
        *again += 1;
        self.session.record(reminder(&why))?;
        Ok(true)
    }

    /// Passes on what the session has to tell people.
    pub(super) fn hear_session(&mut self, desk: &Desk<'_>) {
        for change in self.session.changes() {
            if let Change { compacted: Some(compacted), reason, .. } = change {
                let (before, after) = (compacted.tokens_before, compacted.tokens_after);
                desk.listener.hear(Event::Compacted { before, after, how: reason });
            }
        }
        for notice in self.session.notices() {
            desk.listener.hear(Event::Notice { notice });
        }
        for text in self.session.warnings() {
            desk.listener.hear(Event::Warning { text });
        }
        for text in self.session.memory_news() {
            desk.listener.hear(Event::Memory { text });
        }
        desk.listener.hear(Event::Spent(self.spending()));
    }

    /// What the session has taken, and how full its window is.
    pub fn spending(&self) -> Spending {
        let spent = self.session.spent();
        let pipeline = self.session.pipeline();
        Spending {
            requests: spent.requests,
            usage: spent.usage,
            dollars: spent.dollars,
            context: pipeline.tokens(),
            window: pipeline.settings().window,
            threshold: pipeline.threshold(),
        }
    }
}

fn tell(listener: &dyn Listener, text: String) {
    if !text.is_empty() {
        listener.hear(Event::Text { text });
    }
}

/// The words of an answer.
fn said_in(messages: &[Message]) -> String {
    let texts = messages.iter().filter(|message| message.role == Role::Assistant).flat_map(|message| {
        message.blocks.iter().filter_map(|block| match &block.body {
            throughline_core::Body::Text(text) if !text.trim().is_empty() => Some(message.text_of(block)),
            throughline_core::Body::Text(_)
            | throughline_core::Body::Reasoning { .. }
            | throughline_core::Body::ToolCall(_)
            | throughline_core::Body::ToolResult(_)
            | throughline_core::Body::Image(_)
            | throughline_core::Body::Document(_)
            | throughline_core::Body::Unknown(_) => None,
        })
    });
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

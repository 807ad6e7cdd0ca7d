//! Scripts that look at the request.

use crate::{Fault, Reply, Script, Seen, TooLong, Wording};

/// Rules, tried in order: the first whose condition holds and whose own script is not over replies.
///
/// ```
/// use throughline_testkit::{Answer, Fault, Playbook, RetryAfter, playbook::last_user};
///
/// let script = Playbook::new()
///     .when(last_user("Summarise"), Answer::text("A summary."))
///     // A list is used up; the rules below take over.
///     .when(last_user("Fix"), vec![Fault::RateLimited(RetryAfter::Unsaid).into(), "Fixed.".into()])
///     .otherwise("Done.");
/// # let _ = script;
/// ```
#[derive(Default)]
pub struct Playbook {
    rules: Vec<Rule>,
    others: Vec<Rule>,
}

struct Rule {
    applies: Box<dyn FnMut(&Seen) -> bool + Send>,
    script: Box<dyn Script>,
}

impl std::fmt::Debug for Playbook {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Playbook").field("rules", &self.rules.len()).finish_non_exhaustive()
    }
}

impl Playbook {
    /// No rules.
    pub fn new() -> Self {
        Self::default()
    }

    /// If the condition holds, this script replies: a single reply every time, a list until it is over.
    #[must_use]
    pub fn when(mut self, applies: impl FnMut(&Seen) -> bool + Send + 'static, script: impl Script) -> Self {
        self.rules.push(Rule { applies: Box::new(applies), script: Box::new(script) });
        self
    }

    /// If the condition holds, this reply, but only the first time.
    #[must_use]
    pub fn once(self, applies: impl FnMut(&Seen) -> bool + Send + 'static, reply: impl Into<Reply>) -> Self {
        self.when(applies, vec![reply.into()])
    }

    /// If the condition holds for a request that is not for an answer (`count_tokens`, models, unknown paths), this
    /// script replies.
    #[must_use]
    pub fn when_other(
        mut self,
        applies: impl FnMut(&Seen) -> bool + Send + 'static,
        script: impl Script,
    ) -> Self {
        self.others.push(Rule { applies: Box::new(applies), script: Box::new(script) });
        self
    }

    /// In all other cases this reply, every time.
    #[must_use]
    pub fn otherwise(self, reply: impl Into<Reply>) -> Self {
        self.when(|_: &Seen| true, reply.into())
    }
}

impl Script for Playbook {
    fn reply(&mut self, seen: &Seen) -> Option<Reply> {
        first(&mut self.rules, seen)
    }

    fn other(&mut self, seen: &Seen) -> Option<Reply> {
        first(&mut self.others, seen)
    }
}

fn first(rules: &mut [Rule], seen: &Seen) -> Option<Reply> {
    rules.iter_mut().find_map(|rule| if (rule.applies)(seen) { rule.script.reply(seen) } else { None })
}

/// A model with a window: prompts of more tokens than it holds are refused as too long, with the true figures; the
/// others go to the script.
#[derive(Debug)]
pub struct Window<S> {
    /// What the window holds, in tokens as [`Seen::tokens`] counts them.
    pub limit: u64,
    /// How a prompt is refused.
    pub wording: Wording,
    /// What replies to the others.
    pub script: S,
}

impl<S: Script> Script for Window<S> {
    fn reply(&mut self, seen: &Seen) -> Option<Reply> {
        if seen.tokens <= self.limit {
            return self.script.reply(seen);
        }
        let fault = TooLong { wording: self.wording, tokens: seen.tokens, limit: self.limit };
        Some(Fault::TooLong(fault).into())
    }

    fn other(&mut self, seen: &Seen) -> Option<Reply> {
        self.script.other(seen)
    }
}

/// Whether the last text of the user contains this. Tool results are the user's.
pub fn last_user(text: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let text = text.to_owned();
    move |seen| seen.last_user_text().contains(&text)
}

/// Whether the system prompt contains this: `system`, `instructions`, or the messages of that role at the beginning.
pub fn system(text: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let text = text.to_owned();
    move |seen| {
        seen.request().is_ok_and(|request| {
            let outside = request.system().is_some_and(|system| system.contains(&text));
            outside || throughline_wire::split_instructions(&request.messages).0.contains(&text)
        })
    }
}

/// Whether a tool of this name is offered.
pub fn offers(tool: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let tool = tool.to_owned();
    move |seen| seen.tools().contains(&tool.as_str())
}

/// Whether a header has this value.
pub fn header(name: &str, value: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let (name, value) = (name.to_owned(), value.to_owned());
    move |seen| seen.header(&name) == Some(value.as_str())
}

/// Whether the body contains this, to the letter.
pub fn body(text: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let text = text.to_owned();
    move |seen| String::from_utf8_lossy(&seen.body).contains(&text)
}

/// Whether this model is asked for.
pub fn model(name: &str) -> impl Fn(&Seen) -> bool + Send + 'static {
    let name = name.to_owned();
    move |seen| seen.model() == name
}

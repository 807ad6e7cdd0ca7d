//! Holding a conversation, and telling what happens in it.

use super::report::{Report, Told, brief, checkpoint, quote};
use super::script::{PROHIBITION, Step, Tool};
use super::stage::Stage;
use anyhow::{Context, Result};
use std::sync::Arc;
use std::time::Instant;
use throughline_core::pipeline::{Compacted, Notice, Pass};
use throughline_core::profile::Strategy;
use throughline_core::{
    Body, CallId, CallKind, Item, Message, Role, ToolCall, ToolInput, ToolResult, Wire, invariants,
};
use throughline_engine::session::Session;
use throughline_model::{Answer, Call, CancelToken, Http, Model};
use throughline_wire::Request;

/// A conversation.
pub(super) struct Talk<'a> {
    stage: &'a Stage,
    pub(super) session: Session,
    model: Arc<Http>,
    pub(super) told: Told,
    calls: usize,
    /// How the view was replaced so far.
    pub(super) compactions: Vec<Rung>,
}

/// Who wrote what replaced the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rung {
    /// The notes, or a summary written ahead of need.
    Ahead,
    /// The model, when it was asked.
    Model,
    /// The offline scribe.
    Offline,
}

impl<'a> Talk<'a> {
    pub(super) fn new(stage: &'a Stage, session: Session) -> Result<Self> {
        let mut talk = Self {
            stage,
            session,
            model: stage.model()?,
            told: Told::default(),
            calls: 0,
            compactions: Vec::new(),
        };
        // What a resumed session did before is known.
        talk.hush()?;
        Ok(talk)
    }

    fn hush(&mut self) -> Result<()> {
        let ledger = self.session.path().to_owned();
        if ledger.exists() {
            self.told.skip(&self.stage.home, &ledger)?;
        }
        Ok(())
    }

    /// A turn of the user's with its tool, and the model's answer.
    pub(super) async fn turn(&mut self, step: &Step, report: &mut Report) -> Result<()> {
        println!("\nuser: {}", step.says);
        self.session.say(step.says).await?;
        if let Some(tool) = &step.tool {
            self.tool(tool)?;
        }
        self.answer(report).await?;
        self.session.after_turn().await?;
        // Jobs of the background may run on: the next answer waits for them, as the model does one thing at a time.
        self.news()
    }

    /// A turn of the user's with its tool, with more to come before anybody answers.
    pub(super) async fn say_without_answer(&mut self, step: &Step) -> Result<()> {
        println!("user: {}", step.says);
        self.session.say(step.says).await?;
        if let Some(tool) = &step.tool {
            self.tool(tool)?;
            self.session.record(Message::text(Role::Assistant, "I looked at it."))?;
        }
        Ok(())
    }

    /// A call that the model would have made, and what the tool found.
    fn tool(&mut self, tool: &Tool) -> Result<()> {
        self.calls += 1;
        let id = CallId::new(format!("call_{}", self.calls));
        let input = ToolInput::JsonText(tool.input.to_owned());
        let call = ToolCall { id: id.clone(), name: tool.name.to_owned(), input, kind: CallKind::Function };
        self.session.record(Message::new(Role::Assistant, vec![Body::ToolCall(call).into()]))?;
        let result = ToolResult::text(id, tool.result);
        self.session.record(Message::new(Role::Tool, vec![Body::ToolResult(result).into()]))?;
        println!("tool: {} {} ({} bytes of result)", tool.name, tool.input, tool.result.len());
        Ok(())
    }

    /// Prepares, checks what goes out, sends it, records the answer.
    async fn answer(&mut self, report: &mut Report) -> Result<Answer> {
        let begun = Instant::now();
        let ready = self.session.prepare().await?;
        let prepared = begun.elapsed().as_secs_f64();
        self.look_at(&ready.pass)?;
        if !ready.repairs.is_empty() {
            println!("  repairs before sending: {:?}", ready.repairs);
        }
        self.check(&ready.body, report)?;
        let answer = self.model.send(Call::new(ready.body)).await.context("the model could not be asked")?;
        self.session.answered(&answer)?;
        let usage = &answer.response.usage;
        println!(
            "  thought {} tokens, were {} ({} from the cache), {} out, {:.1} s, of them {prepared:.1} to prepare",
            ready.pass.tokens_after,
            usage.prompt(),
            usage.cache_read,
            usage.output,
            begun.elapsed().as_secs_f64(),
        );
        Ok(answer)
    }

    /// What a pass did.
    pub(super) fn look_at(&mut self, pass: &Pass) -> Result<()> {
        for change in &pass.changes {
            println!("  {:?}: {}, {} tokens freed", change.stage, change.reason, change.freed);
            if let Some(compacted) = &change.compacted {
                let rung = rung(compacted, &pass.notices);
                self.compactions.push(rung);
                self.show(compacted, rung)?;
            }
        }
        for notice in &pass.notices {
            println!("  notice: {notice}");
        }
        for warning in self.session.warnings() {
            println!("  warning: {warning}");
        }
        Ok(())
    }

    fn show(&mut self, compacted: &Compacted, rung: Rung) -> Result<()> {
        let by = match rung {
            Rung::Ahead => "what was written before: the notes",
            Rung::Model => "the model",
            Rung::Offline => "the offline scribe",
        };
        println!(
            "  compacted ({:?}) as {} by {by}: {} tokens before, {} after",
            compacted.trigger,
            compacted.strategy.name(),
            compacted.tokens_before,
            compacted.tokens_after,
        );
        if let Some(check) = &compacted.check {
            println!("  check: the text had {:.0} % of what must stay by itself", check.score * 100.0);
            for missing in &check.missing {
                println!("    appended, {:?}: {}", missing.kind, brief(&missing.text));
            }
            for line in &check.unsupported {
                println!("    taken out, nobody asked for it: {}", brief(line));
            }
            if check.left_out > 0 {
                println!("    {} more did not fit", check.left_out);
            }
        }
        let messages = self.session.pipeline().messages();
        for message in messages.iter().filter(|message| message.flags.summary) {
            quote("the summary that stands in the conversation's place", &message.to_text());
        }
        Ok(())
    }

    /// What must be true of every request.
    fn check(&self, body: &[u8], report: &mut Report) -> Result<()> {
        let sent = Request::decode(Wire::Chat, body).context("our own request can't be read")?;
        let violations = invariants::check(&sent.messages);
        if !violations.is_empty() {
            println!("  {violations:?}");
        }
        report.must("the request keeps the invariants", violations.is_empty());
        let says = sent.messages.iter().any(|message| message.to_text().contains(PROHIBITION));
        report.must("it holds the user's prohibition", says);
        Ok(())
    }

    /// Has the session ask by itself, and cure what it can.
    pub(super) async fn ask(&mut self, report: &mut Report) -> Result<()> {
        let begun = Instant::now();
        let answer = self.session.ask(None, CancelToken::new()).await;
        for notice in self.session.notices() {
            println!("  notice: {notice}");
        }
        self.news()?;
        report.must("the request was answered", answer.is_ok());
        match answer {
            Ok(answer) => {
                let usage = &answer.response.usage;
                let seconds = begun.elapsed().as_secs_f64();
                println!("  {} tokens in, {} out, {seconds:.1} s", usage.prompt(), usage.output);
            }
            Err(error) => println!("  {error}"),
        }
        let messages = self.session.pipeline().messages();
        for message in messages.iter().filter(|message| message.flags.summary) {
            quote("the summary that stands in the conversation's place", &message.to_text());
        }
        report.must("the view keeps the invariants", invariants::check(&messages).is_empty());
        Ok(())
    }

    /// Whether what the newest checkpoint in the ledger brought in is what the view shows.
    pub(super) fn is_recorded(&self) -> Result<bool> {
        let Some(checkpoint) = checkpoint(&self.stage.home, self.session.path())? else { return Ok(false) };
        let shown = self.session.pipeline().messages();
        let is_shown = |item: &Item| match item {
            Item::Keep { .. } => true,
            Item::New(message) => shown.iter().any(|one| one.id == message.id),
        };
        Ok(checkpoint.items.iter().all(is_shown))
    }

    /// What the ledger has to tell since it was last asked.
    pub(super) fn news(&mut self) -> Result<()> {
        self.told.news(&self.stage.home, self.session.path())
    }

    /// Whether the model would see these words now.
    pub(super) fn says(&self, words: &str) -> bool {
        self.seen().iter().any(|text| text.contains(words))
    }

    /// The words of all messages that the model would see now.
    pub(super) fn seen(&self) -> Vec<String> {
        self.session.pipeline().messages().iter().map(|message| message.to_text()).collect()
    }
}

fn rung(compacted: &Compacted, notices: &[Notice]) -> Rung {
    let failed = notices.iter().any(|notice| match notice {
        Notice::Unwritten { strategy, .. } | Notice::Declined { strategy, .. } => {
            *strategy == compacted.strategy
        }
        Notice::StillOver { .. }
        | Notice::BreakerOpen(_)
        | Notice::NoProgress { .. }
        | Notice::Snip(_)
        | Notice::CompactedOften(_) => false,
    });
    match (compacted.strategy, failed) {
        (Strategy::Notes | Strategy::Summary | Strategy::Handoff, true) => Rung::Offline,
        (Strategy::Notes, false) => Rung::Ahead,
        (Strategy::Summary | Strategy::Handoff, false) => Rung::Model,
    }
}

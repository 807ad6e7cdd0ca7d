//! The honest run: sessions on a real model, from the first word to a resumed session.
//!
//! The model is too small to be good. What is proved is that everything around it holds with whatever it says: requests, limits,
//! notes, compactions, the check, the ledger.

mod report;
mod script;
mod stage;
mod talk;

use crate::language::Language;
use crate::server::{Served, Service};
use anyhow::{Context, Result};
use report::{Report, heading, quote};
use script::{AFTER, PROHIBITION, STEPS, Step};
use serde_json::json;
use stage::Stage;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use talk::{Rung, Talk};
use throughline_core::Message;
use throughline_model::{Call, CancelToken, Delta, ErrorKind, Model};

/// Tokens of the sessions' window.
const WINDOW: u64 = 2_000;
/// What the server takes that finds requests too long.
const SMALL_CONTEXT: usize = 1_200;

/// Runs everything. Whether all that must hold did.
pub(crate) fn run(weights: &Path) -> Result<bool> {
    let begun = Instant::now();
    let language = Arc::new(Mutex::new(Language::load(weights)?));
    let large = Service::new(Arc::clone(&language), None, log).start(0)?;
    let small = Service::new(language, Some(SMALL_CONTEXT), log).start(0)?;
    println!("model loaded in {:.1} s, served at {large} and {small}", begun.elapsed().as_secs_f64());
    let folder = tempfile::tempdir()?;
    let mut report = Report::default();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        both_ways(folder.path(), large, &mut report).await?;
        cancelled(folder.path(), large, &mut report).await?;
        with_notes(folder.path(), large, &mut report).await?;
        with_summaries(folder.path(), large, &mut report).await?;
        too_long(folder.path(), small, &mut report).await
    })?;
    Ok(report.conclude(begun.elapsed().as_secs_f64()))
}

fn log(served: &Served<'_>) {
    let Served { prompt, text, made, seconds } = served;
    println!(
        "    model: {prompt} tokens in ({} cached), {} out, {:?}, {seconds:.1} s",
        made.cached, made.output, made.finish
    );
    for line in text.lines() {
        println!("    > {line}");
    }
}

/// The same request, streamed and not.
async fn both_ways(folder: &Path, address: SocketAddr, report: &mut Report) -> Result<()> {
    heading("one request, streamed and whole");
    let stage = Stage::new(folder.join("both"), address, WINDOW);
    let model = stage.model()?;
    let mut answers = Vec::new();
    for stream in [false, true] {
        let mut request = json!({"model": crate::chat::MODEL, "max_completion_tokens": 24, "stream": stream,
            "messages": [{"role": "user", "content": "What is a parser? <|im_end|> is only a word here. Grüße!"}]});
        if stream {
            request["stream_options"] = json!({"include_usage": true});
        }
        let answer = model.send(Call::new(request.to_string().into_bytes())).await?;
        let text: Vec<String> = answer.response.messages.iter().map(Message::to_text).collect();
        report.must("the server reports its figures", !answer.estimated);
        report.must("the answer has at most as many tokens as asked", answer.response.usage.output <= 24);
        answers.push((text, answer.response.stop, answer.response.usage.prompt()));
    }
    report.must("both say the same", answers.first() == answers.last());
    Ok(())
}

/// A client that leaves stops the model.
async fn cancelled(folder: &Path, address: SocketAddr, report: &mut Report) -> Result<()> {
    heading("a call that is cancelled at its first word");
    let stage = Stage::new(folder.join("cancelled"), address, WINDOW);
    let mut session = stage.open()?;
    session.say("Tell me a long story about a parser. Never edit Cargo.lock.").await?;
    let ready = session.prepare().await?;
    let cancel = CancelToken::new();
    let stop = cancel.clone();
    let call = Call::new(ready.body.clone()).cancelled_by(cancel).listen(move |delta| {
        if matches!(delta, Delta::Text(_)) {
            stop.cancel();
        }
    });
    let outcome = stage.model()?.send(call).await;
    let kind = outcome.as_ref().err().map(throughline_model::ModelError::kind);
    report.must("the call says that it was cancelled", kind == Some(ErrorKind::Cancelled));
    session.close("done").await?;
    Ok(())
}

/// A session with notes: written by the model, used by the compaction, found again after a resume.
async fn with_notes(folder: &Path, address: SocketAddr, report: &mut Report) -> Result<()> {
    heading(&format!("a session with notes, window {WINDOW}"));
    let stage = Stage::new(folder.join("notes"), address, WINDOW);
    let mut talk = Talk::new(&stage, stage.open()?)?;
    converse(&mut talk, report).await?;
    talk.session.settle().await?;
    talk.news()?;
    let notes = talk.session.notes().context("no notes are kept")?;
    let text = notes.file().read()?.unwrap_or_default();
    quote("the notes", &text);
    let limits = *notes.limits();
    let tokens = throughline_core::tokens::Counter::for_model(crate::chat::MODEL).text(&text);
    report.must("the notes are within their limit", tokens <= limits.total_tokens);
    report.must("somebody wrote notes", talk.told.notes[0] + talk.told.notes[1] > 0);
    println!(
        "  notes: {} by the model, {} offline, {} refused",
        talk.told.notes[0], talk.told.notes[1], talk.told.notes[2]
    );
    come_back(talk, &stage, report).await
}

/// A session without notes: the model is asked for the summary when the window is full.
async fn with_summaries(folder: &Path, address: SocketAddr, report: &mut Report) -> Result<()> {
    heading(&format!("a session whose summaries the model writes when asked, window {WINDOW}"));
    let stage = Stage::new(folder.join("summaries"), address, WINDOW).with_summaries();
    let mut talk = Talk::new(&stage, stage.open()?)?;
    converse(&mut talk, report).await?;
    report.must("the model was asked for a summary", talk.told.summaries > 0);
    come_back(talk, &stage, report).await
}

/// Talks until the view was replaced, and one turn longer.
async fn converse(talk: &mut Talk<'_>, report: &mut Report) -> Result<()> {
    for step in STEPS {
        let before = talk.compactions.len();
        talk.turn(step, report).await?;
        if before > 0 {
            break;
        }
    }
    report.must("the view was replaced", !talk.compactions.is_empty());
    report.must("the checkpoint is in the ledger", talk.is_recorded()?);
    let by = talk.compactions.iter().map(|rung| match rung {
        Rung::Ahead => "notes",
        Rung::Model => "model",
        Rung::Offline => "offline scribe",
    });
    println!("  compactions, by: {}", by.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// Closes a session, resumes it, and asks on.
async fn come_back(talk: Talk<'_>, stage: &Stage, report: &mut Report) -> Result<()> {
    let mut talk = reopen(talk, stage, report).await?;
    talk.turn(&Step { says: AFTER, tool: None }, report).await?;
    report.must("the prohibition is still in the context", talk.says(PROHIBITION));
    talk.session.close("done").await?;
    Ok(())
}

/// The same session, from its ledger.
async fn reopen<'a>(talk: Talk<'_>, stage: &'a Stage, report: &mut Report) -> Result<Talk<'a>> {
    let before = talk.seen();
    let ledger = talk.session.path().to_owned();
    talk.session.close("done").await?;
    println!("\n-- closed, and resumed");
    let talk = Talk::new(stage, stage.resume(&ledger)?)?;
    report.must("the resumed view says the same", talk.seen() == before);
    Ok(talk)
}

/// A server that takes less than the session believes: its refusal is understood and cured.
async fn too_long(folder: &Path, address: SocketAddr, report: &mut Report) -> Result<()> {
    heading(&format!("a server that takes {SMALL_CONTEXT} tokens, and a session that believes in 4000"));
    let mut stage = Stage::new(folder.join("too-long"), address, 4_000).with_summaries();
    stage.most = 250;
    let mut talk = Talk::new(&stage, stage.open()?)?;
    for step in STEPS.iter().take(6) {
        talk.say_without_answer(step).await?;
    }
    talk.ask(report).await?;
    let learnt = talk.session.pipeline().settings().window;
    report.must("the session learnt the window", learnt <= SMALL_CONTEXT as u64);
    report.must("the checkpoint is in the ledger", talk.is_recorded()?);
    let mut talk = reopen(talk, &stage, report).await?;
    println!("user: {AFTER}");
    talk.session.say(AFTER).await?;
    talk.ask(report).await?;
    report.must("the prohibition is still in the context", talk.says(PROHIBITION));
    talk.session.close("done").await?;
    Ok(())
}

//! Does a session survive every fault at every trigger?
//!
//! Each way in which a provider fails, at each moment at which a compaction asks a model, and in the session's own requests. The session
//! goes on or says why not; what the user said is still there; the number of requests is bounded. One row per fault.

use crate::Setup;
use crate::simulated::{self, Stage, long_words, result};
use serde_json::json;
use std::collections::BTreeMap;
use throughline_core::pipeline::Notice;
use throughline_core::{Message, Role, Wire, invariants};
use throughline_engine::session::{Frame, Models, Scribe, Session, SessionError};
use throughline_model::CancelToken;
use throughline_testkit::{Answer, Fault, Playbook};
use throughline_wire::Request;

/// Requests that one compaction may take at the very most.
const MOST_REQUESTS: usize = 16;

/// When the fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Moment {
    PreTurn,
    MidTurn,
    Manual,
    Switch,
    Background,
    Request,
}

const MOMENTS: [Moment; 6] =
    [Moment::PreTurn, Moment::MidTurn, Moment::Manual, Moment::Switch, Moment::Background, Moment::Request];

impl Moment {
    fn name(self) -> &'static str {
        match self {
            Self::PreTurn => "pre-turn",
            Self::MidTurn => "mid-turn",
            Self::Manual => "manual",
            Self::Switch => "switch",
            Self::Background => "background",
            Self::Request => "request",
        }
    }
}

/// What came of it.
struct Cell {
    /// Who wrote the summary, or why the request failed.
    what: String,
    requests: usize,
    wrong: Option<String>,
}

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("faults: every fault at every trigger; who wrote the summary, and the requests it took");
    let mut faults = Fault::all();
    if setup.quick {
        faults.truncate(12);
    }
    let wires = [Wire::Anthropic, Wire::Responses, Wire::Chat];
    let widths = faults.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    print!("  {:widths$}", "");
    MOMENTS.iter().for_each(|moment| print!("  {:<14}", moment.name()));
    println!();
    let mut wrong = Vec::new();
    let mut tally: BTreeMap<String, usize> = BTreeMap::new();
    for (at, (name, fault)) in faults.iter().enumerate() {
        print!("  {name:widths$}");
        for moment in MOMENTS {
            let cell = simulated::block_on(strike(wires[at % 3], fault.clone(), moment))?;
            print!("  {:<14}", format!("{} ({})", cell.what, cell.requests));
            *tally.entry(cell.what).or_default() += 1;
            if let Some(why) = cell.wrong {
                wrong.push(format!("{name} × {}: {why}", moment.name()));
            }
        }
        println!();
    }
    println!("  {tally:?}");
    wrong.iter().for_each(|why| println!("  OUT {why}"));
    let verdict = if wrong.is_empty() { "ok " } else { "OUT" };
    println!("  {verdict} {} cases, {} wrong", faults.len() * MOMENTS.len(), wrong.len());
    Ok(wrong.len())
}

async fn strike(wire: Wire, fault: Fault, moment: Moment) -> anyhow::Result<Cell> {
    let script = match moment {
        Moment::Request => Playbook::new().when(simulated::is_main_after(3), fault).otherwise("ok"),
        Moment::MidTurn => Playbook::new()
            .when(simulated::is_summary, fault)
            .otherwise(Answer::text("next").call("Read", json!({"file_path": "src/a.rs"}))),
        Moment::PreTurn | Moment::Manual | Moment::Switch | Moment::Background => {
            Playbook::new().when(simulated::is_summary, fault).otherwise("ok")
        }
    };
    let mut stage = Stage::new(wire, script)?;
    if moment == Moment::Switch {
        stage.settings.window = Some(50_000);
    }
    if moment == Moment::Background {
        stage.settings.ahead_share = Some(0.4);
    }
    let mut session = stage.open()?;
    let mut outcome = Ok(());
    let before = match moment {
        Moment::PreTurn | Moment::Background => talk(&mut session, 12, &mut outcome).await?,
        Moment::MidTurn => read(&mut session, &mut outcome).await?,
        Moment::Manual => {
            talk(&mut session, 3, &mut outcome).await?;
            let before = stage.server.count();
            session.compact_now(None).await?;
            before
        }
        Moment::Switch => {
            talk(&mut session, 6, &mut outcome).await?;
            let before = stage.server.count();
            let models = Models { main: std::sync::Arc::new(stage.model("gpt-4o")?), scribe: Scribe::Main };
            let mut frame = Frame::new(wire, "gpt-4o");
            frame.system = "Be brief.".to_owned();
            session.switch_model(models, frame, Some(3_000)).await?;
            before
        }
        Moment::Request => {
            talk(&mut session, 3, &mut outcome).await?;
            let before = stage.server.count();
            talk(&mut session, 1, &mut outcome).await?;
            before
        }
    };
    session.settle().await?;
    let requests = match moment {
        Moment::PreTurn | Moment::MidTurn | Moment::Background => {
            stage.server.requests().iter().filter(|seen| simulated::is_summary(seen)).count()
        }
        Moment::Manual | Moment::Switch | Moment::Request => stage.server.count() - before,
    };
    let mut wrong = None;
    let by_model = !session.notices().iter().any(|notice| matches!(notice, Notice::Unwritten { .. }));
    let compacted = session.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary);
    let what = match (moment, &outcome) {
        (Moment::Request, Ok(())) => "answered".to_owned(),
        (Moment::Request, Err(error)) => kind(error),
        (_, Err(error)) => {
            wrong = Some(format!("the session stopped: {error}"));
            "stopped".to_owned()
        }
        (_, Ok(())) if !compacted => {
            wrong = Some("the view was not replaced".to_owned());
            "none".to_owned()
        }
        (_, Ok(())) if by_model => "model".to_owned(),
        (_, Ok(())) => "offline".to_owned(),
    };
    if requests > MOST_REQUESTS * if moment == Moment::Background { 2 } else { 1 } {
        wrong = Some(format!("{requests} requests"));
    }
    // Whatever happened: what is sent next is valid, small, and holds the user's words.
    let body = session.prepare().await?.body;
    let sent = Request::decode(wire, &body)?;
    let broken = invariants::check(&sent.messages);
    if !broken.is_empty() {
        wrong = Some(format!("rules broken: {broken:?}"));
    }
    if !String::from_utf8_lossy(&body).contains("Never touch Cargo.lock") {
        wrong = Some("the user's words are lost".to_owned());
    }
    Ok(Cell { what, requests, wrong })
}

fn kind(error: &SessionError) -> String {
    match error {
        SessionError::Model(error) => error.kind().name().to_owned(),
        SessionError::Ledger(_)
        | SessionError::DoesNotFit { .. }
        | SessionError::Refused(_)
        | SessionError::Blocked(_) => "stopped".to_owned(),
    }
}

/// Some turns. Stops at the first compaction, or the first failure.
async fn talk(
    session: &mut Session,
    turns: usize,
    outcome: &mut Result<(), SessionError>,
) -> anyhow::Result<usize> {
    for n in 0..turns {
        session.record(long_words(n))?;
        if let Err(error) = session.ask(None, CancelToken::new()).await {
            *outcome = Err(error);
            break;
        }
        session.after_turn().await?;
        session.settle().await?;
        if is_compacted(session) {
            break;
        }
    }
    Ok(0)
}

/// One turn with many tool calls.
async fn read(session: &mut Session, outcome: &mut Result<(), SessionError>) -> anyhow::Result<usize> {
    session.record(Message::text(Role::User, "Read all files. Never touch Cargo.lock."))?;
    for n in 0..30 {
        let answer = match session.ask(None, CancelToken::new()).await {
            Ok(answer) => answer,
            Err(error) => {
                *outcome = Err(error);
                break;
            }
        };
        for message in &answer.response.messages {
            for call in message.calls() {
                session.record(result(call.id.clone(), n))?;
            }
        }
        if is_compacted(session) {
            break;
        }
    }
    Ok(0)
}

fn is_compacted(session: &Session) -> bool {
    session.pipeline().view().entries().iter().any(|entry| entry.message.flags.summary)
}

//! What came of jobs, and that they are done: at once or not at all.

use super::codes::{DONE, PENDING};
use super::jobs::{Own, own, subject};
use super::raise::{If, raise, raise_of_session};
use super::value::plain;
use super::{Operation, SqlError, Tx, Value};
use crate::handbook::{ProjectKey, Scope};
use crate::store::{Consolidated, Cost, Extracted, Held, JobKey, Lease, RunOutcome};

/// [`Store::finish_extract`](crate::store::Store::finish_extract).
pub(super) struct FinishExtract(pub(super) Lease, pub(super) Extracted);

impl Operation for FinishExtract {
    type Answer = Held;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Held, SqlError> {
        let Self(lease, extracted) = self;
        let JobKey::Extract(session) = &lease.job else {
            return Err(misfit("a handbook is not extracted"));
        };
        if *session != extracted.source.session {
            return Err(misfit("what was extracted is another session than what was claimed"));
        }
        let Some(own) = own(tx, lease).await? else { return Ok(Held::Lost) };
        let now = tx.now().await?;
        let before = project_before(tx, session.as_str()).await?;
        let kept = extracted.extraction.as_ref().filter(|extraction| !extraction.is_empty());
        match kept {
            Some(extraction) => {
                let mut params = vec![
                    Value::from(session.as_str()),
                    Value::from(extracted.source.project.as_str()),
                    Value::from(extracted.source.updated),
                    json(&extracted.source)?,
                    json(extraction)?,
                    Value::Int(now),
                ];
                params.extend(cost_params(&extracted.cost));
                tx.execute(KEEP, params).await?;
                if let Some(before) = before.filter(|before| *before != extracted.source.project) {
                    raise(tx, &Scope::Project(before).to_text()).await?;
                }
                raise_of_session(tx, session.as_str(), &extracted.source.project, If::Always).await?;
            }
            None => {
                if let Some(before) = before {
                    raise_of_session(tx, session.as_str(), &before, If::RestsOn).await?;
                    let sql = "DELETE FROM outputs WHERE session = $1";
                    tx.execute(sql, vec![session.as_str().into()]).await?;
                }
            }
        }
        let outcome = if kept.is_some() { RunOutcome::Done } else { RunOutcome::Nothing };
        done(tx, lease, Receipt { own, now, outcome, cost: &extracted.cost }).await?;
        Ok(Held::Held)
    }
}

/// How often it was used stays.
const KEEP: &str = "
    INSERT INTO outputs
        (session, project, updated, source, extraction, generated, author, model, tokens, dollars, seconds)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    ON CONFLICT (session) DO UPDATE SET
        project = excluded.project, updated = excluded.updated, source = excluded.source,
        extraction = excluded.extraction, generated = excluded.generated, author = excluded.author,
        model = excluded.model, tokens = excluded.tokens, dollars = excluded.dollars, seconds = excluded.seconds";

async fn project_before<T: Tx>(tx: &mut T, session: &str) -> Result<Option<ProjectKey>, SqlError> {
    let rows = tx.query("SELECT project FROM outputs WHERE session = $1", &[session.into()]).await?;
    rows.first().map(|row| row.text(0).map(ProjectKey::new)).transpose()
}

/// [`Store::finish_consolidate`](crate::store::Store::finish_consolidate).
pub(super) struct FinishConsolidate(pub(super) Lease, pub(super) Consolidated);

impl Operation for FinishConsolidate {
    type Answer = Held;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Held, SqlError> {
        let Self(lease, consolidated) = self;
        let JobKey::Consolidate(scope) = &lease.job else {
            return Err(misfit("a session is not consolidated"));
        };
        let Some(own) = own(tx, lease).await? else { return Ok(Held::Lost) };
        let now = tx.now().await?;
        let name = scope.to_text();
        tx.execute("DELETE FROM rests WHERE scope = $1", vec![name.as_str().into()]).await?;
        let mut selected: Vec<Vec<Value>> = consolidated
            .selected
            .iter()
            .map(|(session, updated)| vec![name.as_str().into(), session.as_str().into(), (*updated).into()])
            .collect();
        selected.sort_by(|a, b| session_of(a).cmp(session_of(b)));
        let sql = "INSERT INTO rests (scope, session)
                   SELECT CAST($1 AS TEXT), session FROM outputs WHERE session = $2 AND updated = $3
                   ON CONFLICT (scope, session) DO NOTHING";
        tx.each(sql, &selected).await?;
        let outcome = if consolidated.edition.is_some() { RunOutcome::Done } else { RunOutcome::Nothing };
        done(tx, lease, Receipt { own, now, outcome, cost: &consolidated.cost }).await?;
        Ok(Held::Held)
    }
}

fn session_of(params: &[Value]) -> &str {
    match params.get(1) {
        Some(Value::Text(session)) => session,
        _ => "",
    }
}

struct Receipt<'a> {
    own: Own,
    now: i64,
    outcome: RunOutcome,
    cost: &'a Cost,
}

/// The job is done up to what was claimed, and due again if more is wanted by now.
async fn done<T: Tx>(tx: &mut T, lease: &Lease, receipt: Receipt<'_>) -> Result<(), SqlError> {
    let Receipt { own, now, outcome, cost } = receipt;
    let state = if own.watermark > own.claimed { PENDING } else { DONE };
    let sql = "UPDATE jobs SET state = $3, done = claimed, claimed = NULL, token = NULL, ends = NULL, failure = NULL
               WHERE kind = $1 AND subject = $2";
    let (kind, subject) = (Value::code(lease.job.kind()), Value::from(subject(&lease.job)));
    tx.execute(sql, vec![kind.clone(), subject.clone(), Value::Int(state.into())]).await?;
    // Only one can be done for one watermark: the key says so.
    let sql = "INSERT INTO runs
        (kind, subject, watermark, worker, ended, outcome, author, model, tokens, dollars, seconds)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
    let mut params = vec![
        kind,
        subject,
        Value::Int(own.claimed),
        Value::from(own.worker),
        Value::Int(now),
        Value::code(outcome),
    ];
    params.extend(cost_params(cost));
    tx.execute(sql, params).await.map(drop)
}

/// Author, model, tokens, dollars, seconds.
fn cost_params(cost: &Cost) -> [Value; 5] {
    [
        Value::code(cost.by),
        cost.model.as_deref().map(plain).into(),
        Value::count(cost.tokens),
        Value::figure(cost.dollars.as_f64()),
        Value::figure(cost.seconds),
    ]
}

fn json(value: &impl serde::Serialize) -> Result<Value, SqlError> {
    let written = serde_json::to_string(value);
    written.map(Value::Text).map_err(|error| SqlError::Broken { what: "be written", why: error.to_string() })
}

fn misfit(why: &str) -> SqlError {
    SqlError::Broken { what: "take a result", why: why.to_owned() }
}

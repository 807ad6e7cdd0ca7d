//! Jobs: wanted, claimed, given back.

use super::codes::{CONSOLIDATE, ENABLED, EXTRACT, FAILED, PENDING, RUNNING, WAITING};
use super::dialect::TOKEN;
use super::forget::Forget;
use super::value::{later, plain, time};
use super::{Operation, Row, SqlError, Tx, Value};
use crate::handbook::{HomeId, ProjectKey, Scope};
use crate::store::{
    Claim, Enqueued, Failure, Held, JobKey, JobKind, Lease, OwnerToken, SessionPlace, Tries, Wanted,
    Watermark,
};
use jiff::SignedDuration;
use std::collections::BTreeSet;
use throughline_core::SessionId;

/// What a job is stored under.
pub(super) fn subject(job: &JobKey) -> String {
    match job {
        JobKey::Extract(session) => session.to_string(),
        JobKey::Consolidate(scope) => scope.to_text(),
    }
}

/// What is stored under a subject.
pub(super) fn job_key(kind: JobKind, subject: &str) -> Result<JobKey, SqlError> {
    match kind {
        JobKind::Extract => Ok(JobKey::Extract(SessionId::new(subject))),
        JobKind::Consolidate => Scope::parse(subject)
            .map(JobKey::Consolidate)
            .ok_or_else(|| SqlError::unreadable(format!("{subject:?} is no handbook"))),
    }
}

/// [`Store::enqueue`](crate::store::Store::enqueue).
pub(super) struct Enqueue(pub(super) Vec<Wanted>);

impl Operation for Enqueue {
    type Answer = Enqueued;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Enqueued, SqlError> {
        let (mut sessions, mut scopes, mut copies) = (Vec::new(), Vec::new(), BTreeSet::new());
        for wanted in &self.0 {
            match wanted {
                Wanted::Extract { session, home, project, ledger, watermark, instead_of } => {
                    copies.extend(instead_of.iter().cloned());
                    sessions.push(vec![
                        Value::from(session.as_str()),
                        Value::Int(watermark.0),
                        Value::from(home.as_str()),
                        Value::from(project.as_str()),
                        Value::from(ledger.as_str()),
                    ]);
                }
                Wanted::Consolidate(scope) => scopes.push(vec![Value::from(scope.to_text())]),
            }
        }
        for copy in copies {
            Forget(copy).run(tx).await?;
        }
        // Everybody goes through the rows in one order: nobody waits in a circle.
        sessions.sort_by(|a, b| order(a).cmp(&order(b)));
        scopes.sort_by(|a, b| order(a).cmp(&order(b)));
        let mut told = Enqueued::default();

        let sql = format!(
            "INSERT INTO jobs (kind, subject, state, watermark, home, project, ledger)
             VALUES ({EXTRACT}, $1, {PENDING}, $2, $3, $4, $5) ON CONFLICT (kind, subject) DO NOTHING"
        );
        let known = added(tx, &sql, sessions, &mut told).await?;
        let sql = format!(
            "UPDATE jobs SET watermark = $2, home = $3, project = $4, ledger = $5, attempts = 0,
                state = CASE WHEN state = {RUNNING} THEN state ELSE {PENDING} END,
                ends = CASE WHEN state = {RUNNING} THEN ends ELSE NULL END
             WHERE kind = {EXTRACT} AND subject = $1 AND watermark < $2"
        );
        let known = raised(tx, &sql, known, &mut told).await?;
        // A ledger that was moved is found again by who has it.
        let sql = format!(
            "UPDATE jobs SET project = $4, ledger = $5
             WHERE kind = {EXTRACT} AND subject = $1 AND watermark = $2 AND home = $3
                AND (project <> $4 OR ledger <> $5)"
        );
        tx.each(&sql, &known).await?;

        let sql = format!(
            "INSERT INTO jobs (kind, subject, state, watermark) VALUES ({CONSOLIDATE}, $1, {PENDING}, 1)
             ON CONFLICT (kind, subject) DO NOTHING"
        );
        let known = added(tx, &sql, scopes, &mut told).await?;
        let sql = format!(
            "UPDATE jobs SET watermark = watermark + 1, attempts = 0,
                state = CASE WHEN state = {RUNNING} THEN state ELSE {PENDING} END,
                ends = CASE WHEN state = {RUNNING} THEN ends ELSE NULL END
             WHERE kind = {CONSOLIDATE} AND subject = $1 AND state <> {PENDING}
                AND NOT (state = {RUNNING} AND watermark > claimed)"
        );
        raised(tx, &sql, known, &mut told).await?;
        Ok(told)
    }
}

fn order(params: &[Value]) -> (&str, i64) {
    let subject = match params.first() {
        Some(Value::Text(subject)) => subject.as_str(),
        _ => "",
    };
    let watermark = match params.get(1) {
        Some(Value::Int(watermark)) => *watermark,
        _ => 0,
    };
    (subject, watermark)
}

/// Adds what is not there; what is there comes back.
async fn added<T: Tx>(
    tx: &mut T,
    sql: &str,
    params: Vec<Vec<Value>>,
    told: &mut Enqueued,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let changed = tx.each(sql, &params).await?;
    let known: Vec<Vec<Value>> = untouched(params, &changed);
    told.added += changed.iter().sum::<u64>();
    Ok(known)
}

/// Raises what can be; what can't comes back.
async fn raised<T: Tx>(
    tx: &mut T,
    sql: &str,
    params: Vec<Vec<Value>>,
    told: &mut Enqueued,
) -> Result<Vec<Vec<Value>>, SqlError> {
    let changed = tx.each(sql, &params).await?;
    let same = untouched(params, &changed);
    told.raised += changed.iter().sum::<u64>();
    told.unchanged += same.len() as u64;
    Ok(same)
}

fn untouched(params: Vec<Vec<Value>>, changed: &[u64]) -> Vec<Vec<Value>> {
    params.into_iter().zip(changed).filter(|(_, changed)| **changed == 0).map(|(params, _)| params).collect()
}

/// [`Store::claim`](crate::store::Store::claim).
pub(super) struct Take(pub(super) Claim);

/// Jobs that a claim may take; `$1` kind, `$2` home, `$3` the only ones or nothing, `$4` now.
const FOR_THE_CLAIM: &str = "j.kind = $1 AND (j.home IS NULL OR j.home = $2)
    AND (CAST($3 AS TEXT) IS NULL OR j.subject IN (SELECT value FROM <list:$3:list>))";

impl Operation for Take {
    type Answer = Vec<Lease>;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Lease>, SqlError> {
        let Self(claim) = self;
        let most = match claim.running {
            None => claim.most,
            Some(running) => {
                // Counting and taking are one only if nobody else counts at the same time.
                tx.alone(super::codes::Coded::code(claim.kind)).await?;
                let now = tx.now().await?;
                let sql =
                    format!("SELECT count(*) FROM jobs WHERE kind = $1 AND state = {RUNNING} AND ends > $2");
                let rows = tx.query(&sql, &[Value::code(claim.kind), now.into()]).await?;
                let live = rows.first().map_or(Ok(0), |row| row.count(0))?;
                claim.most.min(running.saturating_sub(usize::try_from(live).unwrap_or(usize::MAX)))
            }
        };
        if most == 0 {
            return Ok(Vec::new());
        }
        let now = tx.now().await?;
        let tries = Value::count(claim.tries.most.max(1));
        let filter = [
            Value::code(claim.kind),
            Value::from(claim.home.as_str()),
            only(claim)?.into(),
            Value::Int(now),
            tries,
        ];
        // Who was killed at the last attempt could not say that it failed.
        let sql = format!(
            "WITH used_up AS MATERIALIZED (
                SELECT j.kind AS taken_kind, j.subject AS taken FROM jobs j
                WHERE {FOR_THE_CLAIM} AND j.state IN ({RUNNING}, {WAITING}) AND j.ends <= $4 AND j.attempts >= $5
                FOR UPDATE SKIP LOCKED)
             UPDATE jobs SET state = {FAILED}, token = NULL, claimed = NULL, ends = NULL,
                failure = CASE WHEN state = {RUNNING}
                    THEN 'whoever did it was gone before it was done, at the last attempt' ELSE failure END
             FROM used_up WHERE jobs.kind = used_up.taken_kind AND jobs.subject = used_up.taken"
        );
        tx.execute(&sql, filter.to_vec()).await?;
        let sql = format!(
            "WITH due AS MATERIALIZED (
                SELECT j.kind AS taken_kind, j.subject AS taken FROM jobs j
                WHERE {FOR_THE_CLAIM} AND j.attempts < $5
                    AND (j.state = {PENDING} OR (j.state IN ({RUNNING}, {WAITING}) AND j.ends <= $4))
                    AND (j.kind <> {EXTRACT} OR NOT EXISTS (
                        SELECT 1 FROM modes WHERE modes.session = j.subject AND modes.mode <> {ENABLED}))
                ORDER BY j.watermark DESC, j.subject LIMIT $6 FOR UPDATE SKIP LOCKED)
             UPDATE jobs SET state = {RUNNING}, claimed = watermark, attempts = attempts + 1,
                token = {TOKEN}, worker = $7, ends = $8
             FROM due WHERE jobs.kind = due.taken_kind AND jobs.subject = due.taken
             RETURNING subject, watermark, token, attempts, ends, home, project, ledger"
        );
        let mut params = filter.to_vec();
        params.push(Value::count(most));
        params.push(plain(&claim.worker.0).into());
        params.push(Value::Int(later(now, claim.lease)));
        let rows = tx.query(&sql, &params).await?;
        let mut leases = rows.iter().map(|row| lease(claim, row)).collect::<Result<Vec<_>, _>>()?;
        leases.sort_by(|a, b| b.watermark.cmp(&a.watermark).then_with(|| a.job.cmp(&b.job)));
        Ok(leases)
    }
}

/// The subjects that a claim is limited to, as a JSON list.
fn only(claim: &Claim) -> Result<Option<String>, SqlError> {
    let Some(only) = &claim.only else { return Ok(None) };
    let of_kind = only.iter().filter(|job| job.kind() == claim.kind).map(subject);
    let storable: Vec<String> = of_kind.filter(|subject| !subject.contains('\0')).collect();
    let json = serde_json::to_string(&storable);
    json.map(Some).map_err(|error| SqlError::Broken { what: "be asked", why: error.to_string() })
}

fn lease(claim: &Claim, row: &Row) -> Result<Lease, SqlError> {
    let token = uuid::Uuid::from_slice(row.bytes(2)?)
        .map_err(|error| SqlError::unreadable(format!("a token: {error}")))?;
    let at = match (row.opt_text(5)?, row.opt_text(6)?, row.opt_text(7)?) {
        (Some(home), Some(project), Some(ledger)) => Some(SessionPlace {
            home: HomeId::new(home),
            project: ProjectKey::new(project),
            ledger: ledger.to_owned(),
        }),
        _ => None,
    };
    Ok(Lease {
        job: job_key(claim.kind, row.text(0)?)?,
        watermark: Watermark(row.int(1)?),
        at,
        token: OwnerToken(token),
        attempt: u32::try_from(row.count(3)?).unwrap_or(u32::MAX),
        until: time(row.int(4)?)?,
        length: claim.lease,
        tries: claim.tries,
    })
}

/// A job that is still one's own, as it is stored.
pub(super) struct Own {
    pub(super) claimed: i64,
    pub(super) watermark: i64,
    pub(super) attempts: u64,
    pub(super) worker: String,
}

/// The job of a lease, if it is still held: it is, until the transaction ends.
pub(super) async fn own<T: Tx>(tx: &mut T, lease: &Lease) -> Result<Option<Own>, SqlError> {
    let sql = format!(
        "SELECT claimed, watermark, attempts, worker FROM jobs
         WHERE kind = $1 AND subject = $2 AND state = {RUNNING} AND token = $3 FOR UPDATE"
    );
    let rows = tx.query(&sql, &named(lease)).await?;
    let read = |row: &Row| {
        Ok(Own {
            claimed: row.int(0)?,
            watermark: row.int(1)?,
            attempts: row.count(2)?,
            worker: row.text(3)?.to_owned(),
        })
    };
    rows.first().map(read).transpose()
}

/// A job and its token, as parameters.
fn named(lease: &Lease) -> [Value; 3] {
    [
        Value::code(lease.job.kind()),
        Value::from(subject(&lease.job)),
        Value::from(lease.token.0.as_bytes().as_slice()),
    ]
}

fn held(changed: u64) -> Held {
    if changed > 0 { Held::Held } else { Held::Lost }
}

/// [`Store::renew`](crate::store::Store::renew).
pub(super) struct Renew(pub(super) Lease);

impl Operation for Renew {
    type Answer = Held;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Held, SqlError> {
        let now = tx.now().await?;
        let sql = format!(
            "UPDATE jobs SET ends = $4 WHERE kind = $1 AND subject = $2 AND state = {RUNNING} AND token = $3"
        );
        let mut params = named(&self.0).to_vec();
        params.push(Value::Int(later(now, self.0.length)));
        tx.execute(&sql, params).await.map(held)
    }
}

/// [`Store::release`](crate::store::Store::release).
pub(super) struct Release(pub(super) Lease);

impl Operation for Release {
    type Answer = Held;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Held, SqlError> {
        // The attempt was at `claimed`: a job that was raised since has none yet.
        let sql = format!(
            "UPDATE jobs SET state = {PENDING}, token = NULL, claimed = NULL, ends = NULL,
                attempts = CASE WHEN claimed = watermark AND attempts > 0 THEN attempts - 1 ELSE attempts END
             WHERE kind = $1 AND subject = $2 AND state = {RUNNING} AND token = $3"
        );
        tx.execute(&sql, named(&self.0).to_vec()).await.map(held)
    }
}

/// [`Store::fail`](crate::store::Store::fail).
pub(super) struct Fail(pub(super) Lease, pub(super) Failure);

impl Operation for Fail {
    type Answer = Held;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Held, SqlError> {
        let Self(lease, failure) = self;
        let Some(own) = own(tx, lease).await? else { return Ok(Held::Lost) };
        let now = tx.now().await?;
        let is_last = !failure.is_passing || own.attempts >= u64::from(lease.tries.most.max(1));
        let (state, ends) = if own.watermark > own.claimed {
            (PENDING, None)
        } else if is_last {
            (FAILED, None)
        } else {
            (WAITING, Some(later(now, pause(&lease.tries, own.attempts))))
        };
        let sql = "UPDATE jobs SET state = $3, ends = $4, failure = $5, token = NULL, claimed = NULL
                   WHERE kind = $1 AND subject = $2";
        let [kind, subject, _] = named(lease);
        let failure = plain(&failure.why);
        let params = vec![kind, subject, Value::Int(state.into()), ends.into(), failure.into()];
        tx.execute(sql, params).await.map(held)
    }
}

/// How long a job waits after this many failures.
fn pause(tries: &Tries, failures: u64) -> SignedDuration {
    let doubled = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX);
    let factor = 1_i32.checked_shl(doubled).filter(|factor| *factor > 0).unwrap_or(i32::MAX);
    tries.wait.checked_mul(factor).unwrap_or(SignedDuration::MAX).min(tries.longest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_up_to_the_longest_and_never_overflows() {
        let tries = Tries::default();
        let hours = |failures| pause(&tries, failures).as_hours();
        assert_eq!([1, 2, 3, 4, 5, 6, 40, 1_000, u64::MAX].map(hours), [1, 2, 4, 8, 16, 24, 24, 24, 24]);
        let endless =
            Tries { most: 99, wait: SignedDuration::from_secs(i64::MAX / 2), longest: SignedDuration::MAX };
        assert_eq!(pause(&endless, 9), SignedDuration::MAX);
    }

    #[test]
    fn the_list_of_a_claim_is_in_the_words_that_are_put_in_place() {
        use super::super::dialect::{LIST, LIST_END};
        assert!(FOR_THE_CLAIM.contains(LIST) && FOR_THE_CLAIM.contains(LIST_END));
    }
}

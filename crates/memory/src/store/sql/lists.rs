//! What people are shown.

use super::jobs::job_key;
use super::outputs::read_cost;
use super::{Operation, Row, SqlError, Tx, Value};
use crate::store::{Job, JobKind, Run, Watermark, WorkerId};
use jiff::Timestamp;

/// [`Store::jobs`](crate::store::Store::jobs).
pub(super) struct Jobs(pub(super) Option<JobKind>, pub(super) usize);

impl Operation for Jobs {
    type Answer = Vec<Job>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Job>, SqlError> {
        let sql = "SELECT kind, subject, state, watermark, done, attempts, worker, ends, failure FROM jobs
                   WHERE CAST($1 AS SMALLINT) IS NULL OR kind = $1
                   ORDER BY kind DESC, watermark DESC, subject LIMIT $2";
        let kind = self.0.map_or(Value::Null, Value::code);
        let rows = tx.query(sql, &[kind, Value::count(self.1)]).await?;
        let read = |row: &Row| {
            Ok(Job {
                job: job_key(row.state(0)?, row.text(1)?)?,
                state: row.state(2)?,
                watermark: Watermark(row.int(3)?),
                done: row.opt_int(4)?.map(Watermark),
                attempts: u32::try_from(row.count(5)?).unwrap_or(u32::MAX),
                worker: row.opt_text(6)?.map(|worker| WorkerId(worker.to_owned())),
                until: row.opt_time(7)?,
                failure: row.opt_text(8)?.map(str::to_owned),
            })
        };
        rows.iter().map(read).collect()
    }
}

/// [`Store::runs`](crate::store::Store::runs).
pub(super) struct Runs(pub(super) Option<Timestamp>, pub(super) usize);

impl Operation for Runs {
    type Answer = Vec<Run>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Run>, SqlError> {
        let sql =
            "SELECT kind, subject, watermark, worker, ended, outcome, author, model, tokens, dollars, seconds
                   FROM runs WHERE CAST($1 AS BIGINT) IS NULL OR ended >= $1
                   ORDER BY ended DESC, kind DESC, watermark DESC, subject LIMIT $2";
        let rows = tx.query(sql, &[self.0.into(), Value::count(self.1)]).await?;
        let read = |row: &Row| {
            Ok(Run {
                job: job_key(row.state(0)?, row.text(1)?)?,
                watermark: Watermark(row.int(2)?),
                worker: WorkerId(row.text(3)?.to_owned()),
                at: row.time(4)?,
                outcome: row.state(5)?,
                cost: read_cost(row, 6)?,
            })
        };
        rows.iter().map(read).collect()
    }
}

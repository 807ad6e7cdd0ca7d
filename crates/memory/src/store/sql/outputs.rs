//! Outputs of phase 1: found, used.

use super::codes::ENABLED;
use super::{Operation, Row, SqlError, Tx, Value};
use crate::handbook::{ProjectKey, Scope};
use crate::store::{Cited, Cost, Output};
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use throughline_core::SessionId;
use throughline_core::cost::Dollars;

const COLUMNS: &str = "o.source, o.extraction, o.author, o.model, o.tokens, o.dollars, o.seconds,
    o.generated, o.used, o.last_used,
    EXISTS (SELECT 1 FROM rests r WHERE r.session = o.session AND r.scope = 'project:' || o.project)";

/// The newest of use and update.
pub(super) const TOUCHED: &str = "CASE WHEN o.last_used > o.updated THEN o.last_used ELSE o.updated END";

/// The newest of use, update and making.
pub(super) const FRESH: &str =
    "CASE WHEN o.last_used > o.generated AND o.last_used > o.updated THEN o.last_used
    WHEN o.updated > o.generated THEN o.updated ELSE o.generated END";

fn read_output(row: &Row) -> Result<Output, SqlError> {
    Ok(Output {
        source: from_json(row.text(0)?)?,
        extraction: from_json(row.text(1)?)?,
        cost: read_cost(row, 2)?,
        generated: row.time(7)?,
        used: row.count(8)?,
        last_used: row.opt_time(9)?,
        selected: row.int(10)? != 0,
    })
}

/// Author, model, tokens, dollars and seconds from a column on.
pub(super) fn read_cost(row: &Row, at: usize) -> Result<Cost, SqlError> {
    Ok(Cost {
        by: row.state(at)?,
        model: row.opt_text(at + 1)?.map(str::to_owned),
        tokens: row.count(at + 2)?,
        dollars: Dollars::new(row.real(at + 3)?),
        seconds: row.real(at + 4)?,
    })
}

fn from_json<V: DeserializeOwned>(text: &str) -> Result<V, SqlError> {
    serde_json::from_str(text).map_err(|error| SqlError::unreadable(error.to_string()))
}

/// [`Store::outputs`](crate::store::Store::outputs).
pub(super) struct Outputs {
    pub(super) scope: Scope,
    pub(super) cutoff: Option<Timestamp>,
    pub(super) most: usize,
}

impl Operation for Outputs {
    type Answer = Vec<Output>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Output>, SqlError> {
        let project = match &self.scope {
            Scope::Global => None,
            Scope::Project(project) => Some(project.as_str()),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM outputs o
             WHERE (CAST($1 AS TEXT) IS NULL OR o.project = $1)
                AND (CAST($2 AS BIGINT) IS NULL OR {FRESH} >= $2)
                AND NOT EXISTS (SELECT 1 FROM modes m WHERE m.session = o.session AND m.mode <> {ENABLED})
             ORDER BY o.used DESC, {TOUCHED} DESC, o.session LIMIT $3"
        );
        let params = [project.into(), self.cutoff.into(), Value::count(self.most)];
        tx.query(&sql, &params).await?.iter().map(read_output).collect()
    }
}

/// [`Store::output`](crate::store::Store::output).
pub(super) struct OutputOf(pub(super) SessionId);

impl Operation for OutputOf {
    type Answer = Option<Output>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Option<Output>, SqlError> {
        let sql = format!("SELECT {COLUMNS} FROM outputs o WHERE o.session = $1");
        tx.query(&sql, &[self.0.as_str().into()]).await?.first().map(read_output).transpose()
    }
}

/// [`Store::scopes`](crate::store::Store::scopes).
pub(super) struct Scopes;

impl Operation for Scopes {
    type Answer = Vec<Scope>;
    const WRITES: bool = false;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Vec<Scope>, SqlError> {
        let rows = tx.query("SELECT DISTINCT project FROM outputs ORDER BY project", &[]).await?;
        let projects = rows.iter().map(|row| row.text(0).map(|key| Scope::Project(ProjectKey::new(key))));
        let global = (!rows.is_empty()).then_some(Ok(Scope::Global));
        global.into_iter().chain(projects).collect()
    }
}

/// [`Store::cite`](crate::store::Store::cite).
pub(super) struct Cite(pub(super) Cited);

impl Operation for Cite {
    type Answer = u64;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<u64, SqlError> {
        let Self(cited) = self;
        let mut sessions: Vec<&str> = cited.sessions.iter().map(SessionId::as_str).collect();
        sessions.sort_unstable();
        sessions.dedup();
        let mut counted = 0;
        for session in sessions {
            let sql = "INSERT INTO cites (session, citing, answer)
                       SELECT session, CAST($2 AS TEXT), CAST($3 AS TEXT) FROM outputs WHERE session = $1
                       ON CONFLICT (session, citing, answer) DO NOTHING";
            let params = vec![session.into(), cited.by.as_str().into(), cited.answer.as_str().into()];
            if tx.execute(sql, params).await? == 0 {
                continue;
            }
            let sql = "UPDATE outputs SET used = used + 1,
                           last_used = CASE WHEN last_used > $2 THEN last_used ELSE $2 END
                       WHERE session = $1";
            counted += tx.execute(sql, vec![session.into(), cited.at.into()]).await?;
        }
        Ok(counted)
    }
}

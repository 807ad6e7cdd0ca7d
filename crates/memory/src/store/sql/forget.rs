//! What must not be used, and what is taken out.

use super::codes::{CONSOLIDATE, EXTRACT};
use super::outputs::FRESH;
use super::raise::{If, is_running, raise, raise_of_session};
use super::{Operation, SqlError, Tx, Value};
use crate::handbook::{ProjectKey, Scope};
use crate::store::Pruned;
use jiff::Timestamp;
use throughline_core::{MemoryMode, SessionId};

/// [`Store::set_mode`](crate::store::Store::set_mode).
pub(super) struct SetMode(pub(super) SessionId, pub(super) MemoryMode);

impl Operation for SetMode {
    type Answer = ();
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), SqlError> {
        let Self(session, mode) = self;
        let session = session.as_str();
        let sql = "SELECT mode FROM modes WHERE session = $1 FOR UPDATE";
        let before = match tx.query(sql, &[session.into()]).await?.first() {
            Some(row) => row.state(0)?,
            None => MemoryMode::default(),
        };
        let sql = "INSERT INTO modes (session, mode) VALUES ($1, $2)
                   ON CONFLICT (session) DO UPDATE SET mode = excluded.mode";
        tx.execute(sql, vec![session.into(), Value::code(*mode)]).await?;
        let when = match (before == MemoryMode::Enabled, *mode == MemoryMode::Enabled) {
            (true, true) | (false, false) => return Ok(()),
            (false, true) => If::Always,
            (true, false) => If::RestsOn,
        };
        match project_of(tx, session).await? {
            Some(project) => raise_of_session(tx, session, &project, when).await,
            None => Ok(()),
        }
    }
}

async fn project_of<T: Tx>(tx: &mut T, session: &str) -> Result<Option<ProjectKey>, SqlError> {
    let sql = "SELECT project FROM outputs WHERE session = $1";
    let rows = tx.query(sql, &[session.into()]).await?;
    rows.first().map(|row| row.text(0).map(ProjectKey::new)).transpose()
}

/// [`Store::forget`](crate::store::Store::forget).
pub(super) struct Forget(pub(super) SessionId);

impl Operation for Forget {
    type Answer = bool;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<bool, SqlError> {
        let session = self.0.as_str();
        // The job first: who is about to finish it either has, or finds it gone.
        let sql = format!("DELETE FROM jobs WHERE kind = {EXTRACT} AND subject = $1");
        let mut gone = tx.execute(&sql, vec![session.into()]).await?;
        if let Some(project) = project_of(tx, session).await? {
            raise_of_session(tx, session, &project, If::RestsOn).await?;
            gone += tx.execute("DELETE FROM outputs WHERE session = $1", vec![session.into()]).await?;
        }
        let runs = format!("DELETE FROM runs WHERE kind = {EXTRACT} AND subject = $1");
        for sql in
            [runs.as_str(), "DELETE FROM modes WHERE session = $1", "DELETE FROM cites WHERE citing = $1"]
        {
            gone += tx.execute(sql, vec![session.into()]).await?;
        }
        Ok(gone > 0)
    }
}

/// [`Store::prune`](crate::store::Store::prune).
pub(super) struct Prune(pub(super) Timestamp, pub(super) usize);

impl Operation for Prune {
    type Answer = Pruned;
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<Pruned, SqlError> {
        let sql = format!(
            "DELETE FROM outputs WHERE session IN (
                SELECT o.session FROM outputs o
                WHERE {FRESH} < $1 AND NOT EXISTS (SELECT 1 FROM rests r WHERE r.session = o.session)
                ORDER BY {FRESH}, o.session LIMIT $2)"
        );
        let outputs = tx.execute(&sql, vec![self.0.into(), Value::count(self.1)]).await?;
        Ok(Pruned { outputs })
    }
}

/// [`Store::reset`](crate::store::Store::reset).
pub(super) struct Reset(pub(super) Option<Scope>);

impl Operation for Reset {
    type Answer = ();
    const WRITES: bool = true;

    async fn run<T: Tx>(&self, tx: &mut T) -> Result<(), SqlError> {
        match &self.0 {
            None => {
                for table in ["jobs", "runs", "rests", "cites", "outputs", "editions"] {
                    tx.execute(&format!("DELETE FROM {table}"), Vec::new()).await?;
                }
                Ok(())
            }
            Some(scope) => {
                let name = scope.to_text();
                for sql in [
                    format!("DELETE FROM jobs WHERE kind = {CONSOLIDATE} AND subject = $1"),
                    format!("DELETE FROM runs WHERE kind = {CONSOLIDATE} AND subject = $1"),
                    "DELETE FROM rests WHERE scope = $1".to_owned(),
                    "DELETE FROM editions WHERE scope = $1".to_owned(),
                ] {
                    tx.execute(&sql, vec![name.as_str().into()]).await?;
                }
                match scope {
                    Scope::Global => Ok(()),
                    Scope::Project(project) => reset_sessions(tx, project).await,
                }
            }
        }
    }
}

/// Takes out a project's sessions; other handbooks that rest on them are due.
async fn reset_sessions<T: Tx>(tx: &mut T, project: &ProjectKey) -> Result<(), SqlError> {
    let sql =
        "SELECT DISTINCT r.scope FROM rests r JOIN outputs o ON o.session = r.session WHERE o.project = $1";
    let rows = tx.query(sql, &[project.as_str().into()]).await?;
    let mut scopes = rows.iter().map(|row| row.text(0).map(str::to_owned)).collect::<Result<Vec<_>, _>>()?;
    let global = Scope::Global.to_text();
    if !scopes.contains(&global) && is_running(tx, &global).await? {
        scopes.push(global);
    }
    scopes.sort();
    let runs = format!(
        "DELETE FROM runs WHERE kind = {EXTRACT} AND subject IN (
            SELECT subject FROM jobs WHERE kind = {EXTRACT} AND project = $1
            UNION SELECT session FROM outputs WHERE project = $1)"
    );
    for sql in
        [runs.as_str(), "DELETE FROM jobs WHERE project = $1", "DELETE FROM outputs WHERE project = $1"]
    {
        tx.execute(sql, vec![project.as_str().into()]).await?;
    }
    for scope in scopes {
        raise(tx, &scope).await?;
    }
    Ok(())
}

//! Making handbooks due.

use super::codes::{CONSOLIDATE, PENDING, RUNNING, WAITING};
use super::{SqlError, Tx, Value};
use crate::handbook::{ProjectKey, Scope};

/// When a handbook becomes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum If {
    /// Always: there is something new for it.
    Always,
    /// If it rests on the session, or somebody makes it right now, perhaps of it.
    RestsOn,
}

/// Makes the handbooks due that a session belongs in: its project's, and the global one.
pub(super) async fn raise_of_session<T: Tx>(
    tx: &mut T,
    session: &str,
    project: &ProjectKey,
    when: If,
) -> Result<(), SqlError> {
    let own = Scope::Project(project.clone()).to_text();
    let mut scopes = vec![own, Scope::Global.to_text()];
    match when {
        If::Always => {}
        If::RestsOn => {
            // A session may have moved: others may rest on it, too.
            let sql = "SELECT scope FROM rests WHERE session = $1";
            for row in tx.query(sql, &[session.into()]).await? {
                scopes.push(row.text(0)?.to_owned());
            }
        }
    }
    scopes.sort();
    scopes.dedup();
    for scope in scopes {
        let is_due = match when {
            If::Always => true,
            If::RestsOn => rests_on(tx, &scope, session).await?,
        };
        if is_due {
            raise(tx, &scope).await?;
        }
    }
    Ok(())
}

async fn rests_on<T: Tx>(tx: &mut T, scope: &str, session: &str) -> Result<bool, SqlError> {
    // The job first, under a lock: who finishes it at this moment either has, and its selection is seen below, or waits for us.
    if is_running(tx, scope).await? {
        return Ok(true);
    }
    let sql = "SELECT 1 FROM rests WHERE scope = $1 AND session = $2";
    Ok(!tx.query(sql, &[scope.into(), session.into()]).await?.is_empty())
}

/// Whether somebody consolidates a handbook. Its job stays as it is until the transaction ends.
pub(super) async fn is_running<T: Tx>(tx: &mut T, scope: &str) -> Result<bool, SqlError> {
    let sql = format!("SELECT state FROM jobs WHERE kind = {CONSOLIDATE} AND subject = $1 FOR UPDATE");
    let rows = tx.query(&sql, &[scope.into()]).await?;
    Ok(rows.first().map(|row| row.int(0)).transpose()? == Some(i64::from(RUNNING)))
}

/// Something that a handbook rests on changed. One that waits after a failure goes on waiting: a stream of changes must not
/// undo the pause.
pub(super) async fn raise<T: Tx>(tx: &mut T, scope: &str) -> Result<(), SqlError> {
    let sql = format!(
        "INSERT INTO jobs (kind, subject, state, watermark) VALUES ({CONSOLIDATE}, $1, {PENDING}, 1)
         ON CONFLICT (kind, subject) DO UPDATE SET
            watermark = jobs.watermark + 1,
            attempts = 0,
            state = CASE WHEN jobs.state IN ({RUNNING}, {WAITING}) THEN jobs.state ELSE {PENDING} END,
            ends = CASE WHEN jobs.state IN ({RUNNING}, {WAITING}) THEN jobs.ends ELSE NULL END"
    );
    tx.execute(&sql, vec![Value::from(scope)]).await.map(drop)
}

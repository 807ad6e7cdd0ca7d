//! Keys: from the environment or from a command, in memory only.

use crate::process::{self, Env, Interrupt, Job, Overflow, Trouble, Watch};
use crate::{Argv, ModelError, Secret};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::fmt;
use tokio::sync::Mutex;

/// Keys are short; more is somebody's page.
const KEY_LIMIT: usize = 64 << 10;

/// Where the key comes from.
pub(crate) enum Key {
    /// The provider asks for none.
    None,
    /// Known from the start.
    Fixed(Secret),
    /// Printed by a command, which is run once, and again when the key was rejected.
    Command { argv: Argv, cached: Mutex<Option<Secret>> },
}

/// Why there is no key.
pub(crate) enum NoKey {
    Interrupt(Interrupt),
    Error(ModelError),
}

impl Key {
    pub(crate) fn command(argv: Argv) -> Self {
        Self::Command { argv, cached: Mutex::new(None) }
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// The key. Calls that come at the same time run the command once.
    pub(crate) async fn get(&self, at: &str, watch: &Watch) -> Result<Option<Secret>, NoKey> {
        match self {
            Self::None => Ok(None),
            Self::Fixed(key) => Ok(Some(key.clone())),
            Self::Command { argv, cached } => {
                let mut cached = watch.step(None, cached.lock()).await.map_err(NoKey::Interrupt)?;
                if let Some(key) = cached.as_ref() {
                    return Ok(Some(key.clone()));
                }
                let key = ask(argv, at, watch).await?;
                *cached = Some(key.clone());
                Ok(Some(key))
            }
        }
    }

    /// Forgets a key that was rejected. Whether there may be another one.
    pub(crate) async fn forget(&self, rejected: Option<&Secret>) -> bool {
        match self {
            Self::None | Self::Fixed(_) => false,
            Self::Command { cached, .. } => {
                let mut cached = cached.lock().await;
                // Another call may have fetched a new one already.
                if cached.as_ref() == rejected {
                    *cached = None;
                }
                true
            }
        }
    }
}

async fn ask(argv: &Argv, at: &str, watch: &Watch) -> Result<Secret, NoKey> {
    // Neither its output nor its complaints go into the message: either may hold the key.
    let fail = |what: String| {
        let message = format!("the key command `{}` {what}; run it by hand to see why", argv.program());
        NoKey::Error(ModelError::Key { at: at.to_owned(), message })
    };
    let job = Job {
        argv,
        env: Env::Also(&BTreeMap::new()),
        cwd: None,
        stdin: Bytes::new(),
        limit: KEY_LIMIT,
        overflow: Overflow::Fail,
    };
    let done = match process::run(job, watch).await {
        Ok(done) => done,
        Err(Trouble::Interrupt(interrupt)) => return Err(NoKey::Interrupt(interrupt)),
        Err(Trouble::Io(error)) => return Err(fail(format!("did not start: {error}"))),
        Err(Trouble::TooLarge) => return Err(fail("printed far more than a key".to_owned())),
    };
    if !done.status.success() {
        return Err(fail(format!("failed ({})", done.status)));
    }
    let key = String::from_utf8(done.stdout).unwrap_or_default().trim().to_owned();
    if key.is_empty() {
        return Err(fail("printed no key".to_owned()));
    }
    Ok(Secret::new(key))
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Fixed(_) => "fixed",
            Self::Command { .. } => "command",
        })
    }
}

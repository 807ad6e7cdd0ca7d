//! Which servers run on this machine: a private file for each, so that `run --attach`, `doctor` and `stats` find them.

use super::http::Ask;
use crate::output::yellow;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use throughline_ledger::{Home, LedgerError, write_private};
use throughline_server::{Running, Upstream};

/// Below the home folder.
const FOLDER: &str = "proxy/servers";
/// How long a server may take to say that it is there.
const PATIENCE: Duration = Duration::from_secs(2);

/// What started a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StartedBy {
    Serve,
    Run,
}

/// A server that runs, as its file tells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Served {
    pub(crate) listens: SocketAddr,
    pub(crate) token: String,
    pub(crate) pid: u32,
    pub(crate) started: Timestamp,
    pub(crate) started_by: StartedBy,
    pub(crate) version: String,
    /// Where it sends requests to.
    pub(crate) anthropic: String,
    pub(crate) openai: String,
    /// By which proxy of the network's: its host and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) by_way_of: Option<String>,
}

impl Served {
    /// One that was just started.
    pub(crate) fn new(server: &Running, started_by: StartedBy) -> Self {
        let settings = server.settings();
        Self {
            listens: server.address(),
            token: settings.token.expose().to_owned(),
            pid: std::process::id(),
            started: (settings.now)(),
            started_by,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            anthropic: settings.upstreams.anthropic.to_string(),
            openai: settings.upstreams.openai.to_string(),
            by_way_of: settings.upstreams.via().map(ToString::to_string),
        }
    }

    /// Whether an address is where it sends requests to, and whether it is its own.
    pub(crate) fn is_where(&self, url: &str) -> (bool, bool) {
        let ways = [Upstream::anthropic(url), Upstream::openai(url)];
        let same = ways.iter().flatten().any(|upstream| {
            let upstream = upstream.to_string();
            upstream == self.anthropic || upstream == self.openai
        });
        (same, ways.iter().flatten().any(|upstream| upstream.leads_to(self.listens)))
    }

    /// What clients are told.
    pub(crate) fn address(&self) -> String {
        format!("http://{}", self.listens)
    }

    /// The page, with what opens it.
    pub(crate) fn page(&self) -> String {
        format!("{}/?token={}", self.address(), self.token)
    }

    /// Whether it answers.
    fn is_there(&self) -> bool {
        let ask = Ask { method: "GET", path: "/health", headers: &[], body: None, patience: PATIENCE };
        match ask.of(self.listens) {
            Ok(reply) => reply.status == 200 && reply.body == "ok\n",
            // Somebody listens, and is busy.
            Err(error) => {
                matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
            }
        }
    }
}

/// A server's file. It goes with the server.
pub(crate) struct Registered {
    path: PathBuf,
    pid: u32,
}

impl Registered {
    /// Writes the file of a server that listens.
    fn new(home: &Home, served: &Served) -> Result<Self, LedgerError> {
        let relative = format!("{FOLDER}/{}.json", served.listens.port());
        let text = serde_json::to_vec_pretty(served).unwrap_or_default();
        write_private(home.root(), &relative, &text)?;
        Ok(Self { path: home.root().join(relative), pid: served.pid })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Another server may have taken the port since.
        if read(&self.path).is_some_and(|served| served.pid == self.pid) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes the file of a server; without it, it can only be found by its address.
pub(crate) fn register(home: &Home, served: &Served) -> Option<Registered> {
    Registered::new(home, served)
        .inspect_err(|error| {
            crate::errln!("{} other commands won't find this server: {error}", yellow("note:"));
        })
        .ok()
}

/// The servers that run, the one started last first. Files of those that don't are removed.
pub(crate) fn running(home: &Home) -> Vec<Served> {
    let files = std::fs::read_dir(home.root().join(FOLDER)).into_iter().flatten().flatten();
    let mut servers = Vec::new();
    for path in files.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")) {
        match read(&path).filter(Served::is_there) {
            Some(served) => servers.push(served),
            None => drop(std::fs::remove_file(&path)),
        }
    }
    servers.sort_by_key(|served| std::cmp::Reverse(served.started));
    servers
}

fn read(path: &std::path::Path) -> Option<Served> {
    let served: Served = serde_json::from_slice(&std::fs::read(path).ok()?).ok()?;
    // A file that somebody else wrote must not send the token elsewhere.
    served.listens.ip().is_loopback().then_some(served)
}

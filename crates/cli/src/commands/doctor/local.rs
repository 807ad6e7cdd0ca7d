//! What can be found out without a provider.

use super::Verdict::{self, Broken, Note, Works};
use crate::context::Context;
use crate::output::count;
use crate::proxy::http::Ask;
use crate::proxy::servers;
use std::net::{SocketAddr, TcpListener};
use std::time::Duration;
use throughline_engine::config::ProxySettings;
use throughline_ledger::{Home, Reader, write_private};
use throughline_server::Running;

pub(super) const PATIENCE: Duration = Duration::from_secs(10);

pub(super) fn home(home: &Home) -> (Verdict, String) {
    let shown = home.root().display();
    const PROBE: &str = "proxy/probe";
    match write_private(home.root(), PROBE, b"ok") {
        Ok(()) => {
            let _ = std::fs::remove_file(home.root().join(PROBE));
            (Works, format!("{shown} can be written"))
        }
        Err(error) => (Broken, format!("{shown} can't be written: {error}; give another with --home")),
    }
}

/// Whether every ledger begins as one; `sessions check` looks at every line.
pub(super) fn ledgers(home: &Home) -> (Verdict, String) {
    let paths = match home.ledgers() {
        Ok(paths) => paths,
        Err(error) => return (Broken, format!("can't be listed: {error}")),
    };
    let opens = |path| Reader::open(home, path, 0).and_then(|mut reader| reader.next_record()).is_ok();
    let bad: Vec<_> = paths.iter().filter(|path| !opens(path)).collect();
    let all = count(paths.len() as u64, "session");
    match bad.first() {
        None => (Works, format!("{all} can be read")),
        Some(first) => {
            let more = bad.len();
            (Note, format!("{more} of {all} can't be read, {} first; see `sessions check`", first.display()))
        }
    }
}

pub(super) fn port(context: &Context, proxy: &ProxySettings) -> (Verdict, String) {
    let address = SocketAddr::new(proxy.listen, proxy.port);
    let others = servers::running(&context.home);
    if let Some(other) = others.iter().find(|other| other.listens == address) {
        return (Works, format!("Throughline {} listens on {}", other.version, other.address()));
    }
    match TcpListener::bind(address) {
        Ok(_) => (Works, format!("{address} is free for `throughline serve`")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => (
            Note,
            format!(
                "{address} is taken by another program; `throughline serve --port 0` takes any that is free"
            ),
        ),
        Err(error) => (Broken, format!("{address} can't be listened on: {error}")),
    }
}

/// Which clients are there.
pub(super) fn clients() -> (Verdict, String) {
    let folders: Vec<_> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let is_there = |name: &&str| folders.iter().any(|folder| folder.join(name).is_file());
    let found: Vec<&str> = ["claude", "codex"].into_iter().filter(is_there).collect();
    match found.as_slice() {
        [] => (Note, "neither claude nor codex is on the PATH".to_owned()),
        found => (Works, format!("{} on the PATH: `throughline run -- {}`", found.join(" and "), found[0])),
    }
}

pub(super) fn proxy(server: &Running) -> (Verdict, String) {
    match get(server, "/health") {
        Ok((200, body)) if body == "ok\n" => {
            (Works, format!("one was started on {} and answers", server.address()))
        }
        Ok((status, _)) => (Broken, format!("one was started, but answers with {status}")),
        Err(error) => (Broken, format!("one was started, but does not answer: {error}")),
    }
}

pub(super) fn page(server: &Running) -> (Verdict, String) {
    match get(server, "/") {
        Ok((200, body)) => (Works, format!("{} bytes, with its token only", body.len())),
        Ok((status, _)) => (Broken, format!("answers with {status}")),
        Err(error) => (Broken, format!("does not answer: {error}")),
    }
}

fn get(server: &Running, path: &str) -> std::io::Result<(u16, String)> {
    let token = format!("Bearer {}", server.settings().token.expose());
    let headers = [("Authorization", token)];
    let ask = Ask { method: "GET", path, headers: &headers, body: None, patience: PATIENCE };
    ask.of(server.address()).map(|reply| (reply.status, reply.body))
}

//! Throughline's proxy in a process of its own.

use anyhow::{Context, bail};
use http::HeaderMap;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use std::path::Path;
use std::time::Duration;
use throughline_ledger::Home;
use throughline_server::{Injected, Point, Server, Settings, Token, Upstream, Upstreams};
use throughline_testkit::trial::INJECT;

/// Files and connections that a thousand streams take, on either side.
const FILES: u64 = 8_192;

/// Opens what the server says about itself.
pub(super) const TOKEN: &str = "bench";

/// Has the system allow as many files and connections as are needed.
pub(crate) fn raise_limit() -> anyhow::Result<()> {
    let (soft, hard) =
        getrlimit(Resource::RLIMIT_NOFILE).context("cannot tell how many files may be open")?;
    if soft >= FILES {
        return Ok(());
    }
    if hard < FILES {
        bail!(
            "{FILES} open files are needed and {hard} are allowed; raise it with `ulimit -Hn {FILES}` as root, then try again"
        );
    }
    setrlimit(Resource::RLIMIT_NOFILE, FILES, hard).context("cannot raise the number of open files")
}

/// Listens until the process is stopped.
pub(crate) fn serve(upstream: &str, home: &str, how: &str, rest: &str) -> anyhow::Result<()> {
    raise_limit()?;
    let base = format!("http://{upstream}");
    let upstreams = Upstreams {
        anthropic: Upstream::anthropic(&base)?,
        openai: Upstream::openai(&base)?,
        ..Upstreams::default()
    };
    let mut settings = Settings::new(Home::new(Path::new(home)), upstreams);
    settings.token = Token::new(TOKEN);
    settings.limits.rest = Duration::from_millis(rest.parse()?);
    match (how, &mut settings.manage) {
        ("managed", _) => {}
        ("passive", manage) => *manage = None,
        ("faulty", Some(managing)) => {
            managing.window = Some(16_000);
            managing.inject = Some(asked_for);
            settings.limits.our_time = SLOW / 2;
        }
        (other, _) => bail!("{other} is neither managed, passive nor faulty"),
    }
    let runtime = throughline_server::runtime()?;
    runtime.block_on(async {
        let running = Server::start(settings).await?;
        println!("{}", running.address());
        std::future::pending::<()>().await;
        Ok(())
    })
}

/// How long our own code takes where it is to be too slow.
const SLOW: Duration = Duration::from_secs(1);

/// The fault that a request asks for in its header: where, then what.
fn asked_for(point: Point, headers: &HeaderMap) -> Option<Injected> {
    let (place, what) = headers.get(INJECT)?.to_str().ok()?.split_once(' ')?;
    let here = match point {
        Point::First => "first",
        Point::Thread => "thread",
        Point::Decided => "decided",
        Point::Learn => "learn",
    };
    (place == here).then_some(())?;
    match what {
        "panic" => Some(Injected::Panic),
        "error" => Some(Injected::Error),
        _ => Some(Injected::Slow(SLOW)),
    }
}

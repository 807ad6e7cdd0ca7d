//! The ways to the provider.

use super::load::{Job, Taken, in_a_process};
use super::process::{self, Child};
use anyhow::Context;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A way to the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Direct,
    Passive,
    Managed,
    ManagedLong,
    LiteLlm,
}

impl Way {
    pub(super) const ALL: [Self; 5] =
        [Self::Direct, Self::Passive, Self::Managed, Self::ManagedLong, Self::LiteLlm];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Passive => "Throughline, passing on",
            Self::Managed => "Throughline, managing",
            Self::ManagedLong => "Throughline, managing 300 KB",
            Self::LiteLlm => "LiteLLM, 2 workers",
        }
    }
}

/// How long LiteLLM may take to start.
const STARTING: Duration = Duration::from_secs(600);

/// A way that is open.
pub(super) struct Contender {
    pub(super) way: Way,
    address: SocketAddr,
    process: Option<Running>,
    _folder: Option<TempDir>,
}

enum Running {
    Ours(Child),
    Theirs(std::process::Child),
}

impl Contender {
    /// Opens a way; `None` if it is not there.
    pub(super) fn start(way: Way, provider: &Child, litellm: Option<&Path>) -> anyhow::Result<Option<Self>> {
        let ours = |how: &str| -> anyhow::Result<Self> {
            let folder = tempfile::tempdir()?;
            let home = folder.path().display().to_string();
            let child =
                Child::start(&["proxy-server", &provider.address().to_string(), &home, how, "60000"])?;
            let address = child.address();
            Ok(Self { way, address, process: Some(Running::Ours(child)), _folder: Some(folder) })
        };
        Ok(Some(match way {
            Way::Direct => Self { way, address: provider.address(), process: None, _folder: None },
            Way::Passive => ours("passive")?,
            Way::Managed | Way::ManagedLong => ours("managed")?,
            Way::LiteLlm => match litellm {
                Some(program) => start_litellm(program, provider.address())?,
                None => return Ok(None),
            },
        }))
    }

    /// So many streams at once.
    pub(super) fn job(&self, at_once: usize) -> Job {
        let history = if self.way == Way::ManagedLong { 300 << 10 } else { 0 };
        Job { address: self.address, at_once, time: Duration::ZERO, history }
    }

    pub(super) fn load(&self, job: &Job) -> anyhow::Result<Taken> {
        in_a_process(job).with_context(|| format!("{}, {} at once", self.way.name(), job.at_once))
    }

    fn ids(&self) -> Vec<u32> {
        match &self.process {
            None => Vec::new(),
            Some(Running::Ours(child)) => vec![child.id()],
            Some(Running::Theirs(child)) => process::family(child.id()),
        }
    }

    /// CPU time so far, of all its processes.
    pub(super) fn cpu(&self) -> Duration {
        self.ids().into_iter().map(process::cpu).sum()
    }

    /// The most memory so far, in MB, of all its processes.
    pub(super) fn peak_resident(&self) -> f64 {
        self.ids().into_iter().map(|id| process::memory(id, "VmHWM")).sum()
    }
}

impl Drop for Contender {
    fn drop(&mut self) {
        if let Some(Running::Theirs(child)) = &mut self.process {
            let mut ids = process::family(child.id());
            ids.remove(0);
            let _ = child.kill();
            let _ = child.wait();
            // Its workers notice that they are alone only when they are asked something.
            for id in ids {
                let _ = Command::new("kill").arg(id.to_string()).stderr(Stdio::null()).status();
            }
        }
    }
}

/// LiteLLM's proxy as its documentation would have it in production: a worker per core, no debug output, no database.
fn start_litellm(program: &Path, provider: SocketAddr) -> anyhow::Result<Contender> {
    let folder = tempfile::tempdir()?;
    let config = folder.path().join("config.yaml");
    std::fs::write(
        &config,
        format!(
            "model_list:\n  - model_name: bench\n    litellm_params:\n      model: openai/bench\n      api_base: http://{provider}/v1\n      api_key: sk-bench\nlitellm_settings:\n  set_verbose: false\n  telemetry: false\n  num_retries: 0\n"
        ),
    )?;
    // Free a moment ago, which is as much as can be said.
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let log = std::fs::File::create(folder.path().join("log"))?;
    let mut command = Command::new(program);
    command
        .arg("--config")
        .arg(&config)
        .args(["--host", "127.0.0.1", "--port", &port.to_string(), "--num_workers", "2"])
        // On a busy machine workers are long in coming, and would be stopped for it.
        .args(["--timeout_worker_healthcheck", "600"])
        .env("LITELLM_MODE", "PRODUCTION")
        // Keys cost time to check; there are none here.
        .env("LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY", "true")
        .env("LITELLM_LOG", "ERROR")
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .env("HOME", folder.path())
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stderr(log.try_clone()?)
        .stdout(log);
    let process = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
    let contender = Contender {
        way: Way::LiteLlm,
        address,
        process: Some(Running::Theirs(process)),
        _folder: Some(folder),
    };
    let start = Instant::now();
    while !is_alive(address) {
        anyhow::ensure!(start.elapsed() < STARTING, "it did not answer within {STARTING:?}");
        std::thread::sleep(Duration::from_millis(500));
    }
    // The workers come up one after the other.
    let probe = Job { time: Duration::from_secs(4), ..contender.job(4) };
    let taken = contender.load(&probe)?;
    anyhow::ensure!(taken.requests > 0, "it answers nothing: {} failed", taken.failed);
    Ok(contender)
}

/// Whether a worker answers yet; its parent listens long before.
fn is_alive(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        write!(stream, "GET /health/liveliness HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok(&head == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}

//! `run`: a client with the proxy beneath it.

mod child;
mod claude;
mod codex;
mod launch;
mod report;

use crate::context::Context;
use crate::output::yellow;
use crate::proxy::notices::{Notices, Told};
use crate::proxy::servers::{self, Registered, Served, StartedBy};
use crate::proxy::{Base, Bases, Wish};
use anyhow::{Context as _, bail};
use claude::Claude;
use codex::Codex;
use launch::{Client, Launch, Place};
use report::Report;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_engine::config::Config;
use throughline_model::{ProgramSearch, process_environment};
use throughline_server::{HeaderName, Running, Server};

/// As a shell says that a program is not there, or can't be started.
const NOT_FOUND: u8 = 127;
const NOT_STARTED: u8 = 126;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline run -- claude                     (as usual, with Throughline beneath it)\n  throughline run -- codex exec \"fix the tests\"\n  throughline run -- python agent.py            (anything that reads ANTHROPIC_BASE_URL or OPENAI_BASE_URL)"
)]
pub(crate) struct Run {
    /// Use the server that runs already (`throughline serve`) instead of one of its own.
    #[arg(long, conflicts_with_all = ["port", "anthropic", "openai", "passive"])]
    attach: bool,
    /// The port on this machine [default: any that is free].
    #[arg(long)]
    port: Option<u16>,
    /// Where requests in Anthropic's format go [default: where the client would have sent them].
    #[arg(long, value_name = "URL")]
    anthropic: Option<String>,
    /// Where requests in OpenAI's formats go [default: where the client would have sent them].
    #[arg(long, value_name = "URL")]
    openai: Option<String>,
    /// Only pass requests on: nothing is changed, kept or learnt.
    #[arg(long)]
    passive: bool,
    /// Which client it is, where its name does not tell.
    #[arg(long = "as", value_name = "CLIENT")]
    client: Option<Client>,
    /// Print nothing of our own.
    #[arg(short, long)]
    quiet: bool,
    /// Write the summary to a file, as JSON.
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,
    /// The client, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// What a client would have done by itself.
enum Found {
    Claude(Claude),
    Codex(Codex),
    Other(Bases),
}

impl Found {
    fn look(client: Client, place: &Place<'_>, arguments: &[OsString]) -> anyhow::Result<Self> {
        Ok(match client {
            Client::Claude => Self::Claude(Claude::look(place, arguments)?),
            Client::Codex => Self::Codex(Codex::look(place, arguments)?),
            Client::Other => Self::Other(Bases::of_variables()),
        })
    }

    fn bases(&self) -> Bases {
        match self {
            Self::Claude(claude) => Bases { anthropic: claude.base.clone(), openai: None },
            Self::Codex(codex) => Bases { anthropic: None, openai: codex.base.clone() },
            Self::Other(bases) => bases.clone(),
        }
    }

    /// Tokens at which the client condenses by itself, where somebody said so.
    fn compacts_at(&self) -> Option<u64> {
        match self {
            Self::Claude(claude) => claude.compacts_at,
            Self::Codex(codex) => codex.compacts_at,
            Self::Other(_) => None,
        }
    }

    /// Headers that the user tells the client to send to its provider, whatever they hold.
    fn headers(&self) -> Vec<HeaderName> {
        let names: Vec<String> = match self {
            Self::Claude(claude) => claude.headers.clone(),
            Self::Codex(codex) => codex.headers.clone(),
            Self::Other(_) => Vec::new(),
        };
        names.iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// A variable as the client has it.
    fn variable(&self, name: &str) -> Option<String> {
        match self {
            Self::Claude(claude) => claude.variable(name),
            Self::Codex(_) | Self::Other(_) => process_environment(name),
        }
    }

    /// A variable that says by which proxy of the network's the client would have asked.
    fn to_the_network(&self, name: &str) -> Option<String> {
        let has = |name: &str| self.variable(name).filter(|value| !value.trim().is_empty());
        match self {
            // It takes the proxy for plain HTTP where no other is named.
            Self::Claude(_) if name == "ALL_PROXY" => {
                has(name).or_else(|| has("http_proxy")).or_else(|| has("HTTP_PROXY"))
            }
            Self::Claude(_) | Self::Codex(_) | Self::Other(_) => has(name),
        }
    }

    /// Has the client ask at a server of ours.
    fn lead(&self, launch: &mut Launch, context: &Context, served: &Served) -> anyhow::Result<()> {
        let address = served.address();
        match self {
            Self::Claude(claude) => claude.lead(launch, &context.home, served)?,
            Self::Codex(codex) => codex.lead(launch, &address),
            Self::Other(_) => {
                launch.set("ANTHROPIC_BASE_URL", &address);
                launch.set("OPENAI_BASE_URL", format!("{address}/v1"));
                launch.set("OPENAI_API_BASE", format!("{address}/v1"));
            }
        }
        Ok(())
    }
}

/// The server beneath a client.
enum Beneath {
    /// Of this process.
    Own(Box<Running>, Served, Option<Registered>),
    /// Of another.
    Attached(Served),
}

impl Beneath {
    fn served(&self) -> &Served {
        match self {
            Self::Own(_, served, _) | Self::Attached(served) => served,
        }
    }
}

impl Run {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let config = context.config()?.config;
        let mut launch = Launch::new(self.command.clone(), self.client);
        let found = Found::look(launch.client, &Place::here()?, launch.arguments())?;
        let notices = Notices::listen(Told::Later);
        let runtime = throughline_server::runtime()?;
        runtime.block_on(async {
            let started = context.now();
            let beneath = self.beneath(context, &config, &found).await?;
            found.lead(&mut launch, context, beneath.served())?;
            launch.stay_here(&|name| found.variable(name));
            let code = match self.client(&launch).await {
                Ok(code) => code,
                Err(failed) => {
                    crate::errln!("{}: {:#}", crate::output::red("error"), failed.error);
                    return Ok(ExitCode::from(failed.code));
                }
            };
            let report = match beneath {
                Beneath::Own(server, _, registered) => {
                    let last = server.stop().await;
                    drop(registered);
                    Report::of_own(context, last, started)
                }
                Beneath::Attached(served) => Report::of_other(served),
            };
            let report = report.with(code, launch.client, &notices);
            if let Some(file) = &self.summary {
                let text = format!("{:#}\n", report.to_json());
                std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
            }
            if !self.quiet {
                report.print(context.json);
            }
            Ok(ExitCode::from(code))
        })
    }

    /// A server of our own, or one that runs already.
    async fn beneath(&self, context: &Context, config: &Config, found: &Found) -> anyhow::Result<Beneath> {
        let client = found.bases();
        let others = servers::running(&context.home);
        if self.attach {
            let other = others.into_iter().find(|other| other.started_by == StartedBy::Serve);
            let other = other
                .context("no server runs; start one with `throughline serve`, or leave --attach away")?;
            agree(&client, &other)?;
            return Ok(Beneath::Attached(other));
        }
        let bases = Bases::of_flags(self.anthropic.as_deref(), self.openai.as_deref()).or(client);
        if let Some((base, other)) = bases.lead_to(&others) {
            if !self.quiet {
                let (by, address) = (&base.named_by, other.address());
                crate::errln!(
                    "{} {by} leads to the Throughline on {address}: that one is used",
                    yellow("note:")
                );
            }
            return Ok(Beneath::Attached(other.clone()));
        }
        let bases = bases.or(Bases::of_config(&config.proxy));
        let wish = Wish {
            port: Some(self.port.unwrap_or(0)),
            passive: self.passive,
            variable: &|name| found.to_the_network(name),
        };
        let mut settings = bases.settings(context, config, wish)?;
        settings.credential_headers.extend(found.headers());
        if let Some(managing) = &mut settings.manage {
            managing.client_compacts_at = found.compacts_at();
            // The client runs where we do; whoever asks a server that only serves may be anywhere.
            managing.project = std::env::current_dir().ok();
        }
        let server = Server::start(settings).await?;
        let served = Served::new(&server, StartedBy::Run);
        let registered = servers::register(&context.home, &served);
        Ok(Beneath::Own(Box::new(server), served, registered))
    }

    /// Runs the client.
    async fn client(&self, launch: &Launch) -> Result<u8, Failed> {
        let Some((program, arguments)) = launch.words.split_first() else {
            return Err(Failed { error: anyhow::anyhow!("there is no command"), code: NOT_STARTED });
        };
        let failed = |error: std::io::Error| {
            let is_missing = error.kind() == std::io::ErrorKind::NotFound;
            let code = if is_missing { NOT_FOUND } else { NOT_STARTED };
            let what = format!("cannot start {}", program.to_string_lossy());
            Failed { error: anyhow::Error::from(error).context(what), code }
        };
        // A path was typed by the user, and is meant.
        let program = match std::path::Path::new(program) {
            path if path.components().count() > 1 => path.to_owned(),
            name => find_client(name).map_err(failed)?,
        };
        let mut command = tokio::process::Command::new(program);
        command.args(arguments).envs(launch.variables.iter().map(|(name, value)| (name, value)));
        child::run(command).await.map(child::code).map_err(failed)
    }
}

/// The program of a client. One of the workspace that `PATH` names first is an error: neither that one nor another in its stead is
/// started unasked.
fn find_client(name: &std::path::Path) -> std::io::Result<PathBuf> {
    let search = ProgramSearch::from_process(None, None);
    let found = search.find(name)?;
    match search.find_in_workspace(name) {
        None => Ok(found),
        Some(inside) => Err(std::io::Error::other(format!(
            "it is found both in the workspace ({}) and outside ({}); give the path of the one that you mean",
            inside.display(),
            found.display()
        ))),
    }
}

/// Why a client did not start, and the exit status that says so.
struct Failed {
    error: anyhow::Error,
    code: u8,
}

/// A server that runs already has its own addresses: the client's keys must not go elsewhere than without it.
fn agree(client: &Bases, server: &Served) -> anyhow::Result<()> {
    let pairs = [(&client.anthropic, &server.anthropic), (&client.openai, &server.openai)];
    for (base, theirs) in pairs {
        let Some(Base { url, named_by }) = base else { continue };
        let (same, leads) = server.is_where(url);
        if !same && !leads {
            bail!(
                "{named_by} is {url}, but the server on {} sends to {theirs}; leave --attach away, or start it with that address",
                server.address()
            );
        }
    }
    Ok(())
}

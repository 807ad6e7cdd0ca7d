//! `doctor`: does everything between a client and its provider work?

mod local;
mod provider;

use crate::context::Context;
use crate::outln;
use crate::output::{self, bold, dim, green, red, yellow};
use crate::proxy::{Bases, Wish};
use anyhow::Context as _;
use provider::{Provider, Trial};
use serde::Serialize;
use serde_json::json;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use throughline_core::cost::Dollars;
use throughline_engine::config::Config;
use throughline_ledger::Home;
use throughline_model::process_environment;
use throughline_server::{Running, Server};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline doctor --offline     (nothing is asked of a provider)\n  throughline doctor --yes         (a few small requests to each provider whose key is set)"
)]
pub(crate) struct Doctor {
    /// Only look at this machine.
    #[arg(long, conflicts_with = "yes")]
    offline: bool,
    /// Make the requests without asking whether they may cost something.
    #[arg(short, long)]
    yes: bool,
}

/// How something was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Verdict {
    Works,
    /// Nothing is broken, but there is something to know.
    Note,
    NotMeasured,
    Broken,
}

/// One finding.
#[derive(Clone, Debug, Serialize)]
struct Finding {
    about: String,
    what: &'static str,
    verdict: Verdict,
    text: String,
}

/// Findings about one thing, told as they are made.
struct Findings<'a> {
    context: &'a Context,
    all: Vec<Finding>,
}

impl Findings<'_> {
    fn add(&mut self, about: &str, what: &'static str, (verdict, text): (Verdict, String)) {
        if !self.context.json {
            if self.all.last().is_none_or(|last| last.about != about) {
                outln!("{}", bold(about));
            }
            let mark = match verdict {
                Verdict::Works => green("works"),
                Verdict::Note => yellow("note "),
                Verdict::NotMeasured => dim("–    "),
                Verdict::Broken => red("wrong"),
            };
            outln!("  {mark}  {} {text}", dim(format!("{what:<12}")));
        }
        self.all.push(Finding { about: about.to_owned(), what, verdict, text });
    }

    fn is_broken(&self) -> bool {
        self.all.iter().any(|finding| finding.verdict == Verdict::Broken)
    }
}

const HERE: &str = "this machine";

impl Doctor {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let mut findings = Findings { context, all: Vec::new() };
        findings.add(HERE, "version", (Verdict::Works, format!("Throughline {}", env!("CARGO_PKG_VERSION"))));
        let config = match context.config() {
            Ok(loaded) => {
                let found = match loaded.warnings.len() {
                    0 => (Verdict::Works, "read".to_owned()),
                    n => (Verdict::Note, format!("{} without effect", output::count(n as u64, "key"))),
                };
                findings.add(HERE, "config", found);
                loaded.config
            }
            Err(error) => {
                findings.add(HERE, "config", (Verdict::Broken, format!("{error:#}")));
                return finish(&findings);
            }
        };
        findings.add(HERE, "home", local::home(&context.home));
        findings.add(HERE, "ledgers", local::ledgers(&context.home));
        findings.add(HERE, "port", local::port(context, &config.proxy));
        findings.add(HERE, "clients", local::clients());
        // A place of its own: a check leaves no session behind.
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let scratch = Context { home: Home::new(folder.path()), json: context.json };
        let bases = Bases::of_config(&config.proxy).or(Bases::of_variables());
        // Nothing is told or learnt.
        let mut without_memory = config.clone();
        without_memory.proxy.memory = false;
        let wish = Wish { port: Some(0), passive: false, variable: &process_environment };
        let settings = match bases.settings(&scratch, &without_memory, wish) {
            Ok(settings) => settings,
            Err(error) => {
                findings.add(HERE, "addresses", (Verdict::Broken, format!("{error:#}")));
                return finish(&findings);
            }
        };
        if let Some(proxy) = settings.upstreams.via() {
            let text = format!("providers are reached by way of the proxy {proxy} (HTTPS_PROXY)");
            findings.add(HERE, "network", (Verdict::Note, text));
        }
        let runtime = throughline_server::runtime()?;
        let server = match runtime.block_on(Server::start(settings)) {
            Ok(server) => server,
            Err(error) => {
                findings.add(HERE, "proxy", (Verdict::Broken, error.to_string()));
                return finish(&findings);
            }
        };
        findings.add(HERE, "proxy", local::proxy(&server));
        findings.add(HERE, "page", local::page(&server));
        self.providers(&mut findings, &config, &server)?;
        runtime.block_on(server.stop());
        finish(&findings)
    }

    fn providers(
        &self,
        findings: &mut Findings<'_>,
        config: &Config,
        server: &Running,
    ) -> anyhow::Result<()> {
        for provider in Provider::all(server) {
            let about = provider.about();
            if !provider.has_key() {
                let text = format!("set {} to check it", provider.key_variable());
                findings.add(&about, "key", (Verdict::NotMeasured, text));
                continue;
            }
            if self.offline {
                findings.add(&about, "key", (Verdict::NotMeasured, "set; not tried (--offline)".to_owned()));
                continue;
            }
            let (found, models) = provider.credentials();
            let is_broken = found.0 == Verdict::Broken;
            findings.add(&about, "credentials", found);
            if is_broken {
                continue;
            }
            let Some(trial) = Trial::new(&provider, &models) else {
                let text = format!("no known model is offered; set {} to try one", provider.model_variable());
                findings.add(&about, "streaming", (Verdict::NotMeasured, text));
                continue;
            };
            findings.add(&about, "window", trial.window(config, &models));
            if !self.may_spend(findings.context, &trial.cost(), &trial)? {
                let text = "not tried; `throughline doctor --yes` does".to_owned();
                findings.add(&about, "streaming", (Verdict::NotMeasured, text.clone()));
                findings.add(&about, "cache", (Verdict::NotMeasured, text));
                continue;
            }
            let (streaming, cache) = trial.run();
            findings.add(&about, "streaming", streaming);
            findings.add(&about, "cache", cache);
        }
        Ok(())
    }

    /// Asks a person; a script says so beforehand.
    fn may_spend(
        &self,
        context: &Context,
        cost: &Option<Dollars>,
        trial: &Trial<'_>,
    ) -> anyhow::Result<bool> {
        let cost = match cost {
            Some(cost) => format!("about {cost}"),
            None => "an amount that is not known".to_owned(),
        };
        if !context.json {
            outln!("         {}", dim(format!("two small requests to {} cost {cost}", trial.model())));
        }
        if self.yes || context.json || !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
            return Ok(self.yes);
        }
        write!(crate::output::stderr(), "         Make them? [y/N] ")?;
        let mut answer = String::new();
        std::io::stdin().read_line(&mut answer)?;
        Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
    }
}

fn finish(findings: &Findings<'_>) -> anyhow::Result<ExitCode> {
    let is_broken = findings.is_broken();
    if findings.context.json {
        output::json(&json!({ "works": !is_broken, "findings": findings.all }))?;
    } else if is_broken {
        outln!("\n{}", red("Something is wrong: see above."));
    } else {
        outln!("\n{}", green("Nothing is wrong."));
    }
    Ok(if is_broken { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

//! `serve`: the proxy, until it is told to stop.

use crate::context::Context;
use crate::handbook::stop_on_signals;
use crate::outln;
use crate::output::{bold, cyan, dim};
use crate::proxy::notices::{Notices, Told};
use crate::proxy::servers::{self, Served, StartedBy};
use crate::proxy::{Bases, Wish, show};
use crate::times;
use anyhow::bail;
use serde_json::json;
use std::process::ExitCode;
use throughline_model::process_environment;
use throughline_server::{Server, Settings, StartError};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline serve                                        (then: ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude)\n  throughline serve --openai https://openrouter.ai/api/v1  (another provider)"
)]
pub(crate) struct Serve {
    /// The port on this machine; 0 is any that is free [default: `proxy.port`, 8787].
    #[arg(long)]
    port: Option<u16>,
    /// Where requests in Anthropic's format go [default: `proxy.anthropic`, else `ANTHROPIC_BASE_URL`, else Anthropic].
    #[arg(long, value_name = "URL")]
    anthropic: Option<String>,
    /// Where requests in OpenAI's formats go [default: `proxy.openai`, else `OPENAI_BASE_URL`, else OpenAI].
    #[arg(long, value_name = "URL")]
    openai: Option<String>,
    /// Only pass requests on: nothing is changed, kept or learnt.
    #[arg(long)]
    passive: bool,
}

impl Serve {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let config = context.config()?.config;
        let bases = Bases::of_flags(self.anthropic.as_deref(), self.openai.as_deref())
            .or(Bases::of_config(&config.proxy))
            .or(Bases::of_variables());
        let wish = Wish { port: self.port, passive: self.passive, variable: &process_environment };
        let settings = bases.settings(context, &config, wish)?;
        let others = servers::running(&context.home);
        if let Some(other) =
            others.iter().find(|other| other.listens == settings.listen && other.listens.port() != 0)
        {
            bail!(taken(other, context));
        }
        if let Some((base, other)) = bases.lead_to(&others) {
            bail!(
                "{} leads to the Throughline on {}: requests would pass two of them; unset it, or name the provider with \
                 --anthropic or --openai",
                base.named_by,
                other.address()
            );
        }
        let notices = Notices::listen(Told::Now);
        let runtime = throughline_server::runtime()?;
        runtime.block_on(self.serve(context, settings, &notices))
    }

    async fn serve(
        &self,
        context: &Context,
        settings: Settings,
        notices: &Notices,
    ) -> anyhow::Result<ExitCode> {
        let stop = stop_on_signals("letting open answers end");
        let server = match Server::start(settings).await {
            Ok(server) => server,
            Err(StartError::Listen { address, error }) if error.kind() == std::io::ErrorKind::AddrInUse => {
                bail!(
                    "{address} is taken by another program; end it, or choose another port: `throughline serve --port 0`"
                );
            }
            Err(error) => return Err(error.into()),
        };
        let served = Served::new(&server, StartedBy::Serve);
        let registered = servers::register(&context.home, &served);
        self.greet(context, &served)?;
        stop.cancelled().await;
        drop(registered);
        let last = server.stop().await;
        if context.json {
            let total = last.as_ref().map(|last| show::as_json(&last.total));
            outln!("{}", json!({ "stopped": true, "figures": total, "failures": notices.all().0 }));
        } else if let Some(last) = last {
            show::summary(&last.total).iter().for_each(|line| outln!("{line}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    fn greet(&self, context: &Context, served: &Served) -> anyhow::Result<()> {
        let address = served.address();
        if context.json {
            outln!(
                "{}",
                json!({
                    "address": address, "page": served.page(), "token": served.token, "pid": served.pid,
                    "anthropic": served.anthropic, "openai": served.openai, "by_way_of": served.by_way_of,
                    "passive": self.passive,
                })
            );
            return Ok(());
        }
        let only = if self.passive { dim(" and only passes requests on") } else { String::new() };
        outln!("{} listens on {}{only}\n", bold("Throughline"), cyan(&address));
        let rows = [
            ("Claude Code", format!("ANTHROPIC_BASE_URL={address} claude")),
            ("Codex", format!("codex -c openai_base_url={address}/v1")),
            ("SDKs", format!("ANTHROPIC_BASE_URL={address}  OPENAI_BASE_URL={address}/v1")),
            ("or", "throughline run --attach -- claude".to_owned()),
        ];
        for (name, text) in rows {
            outln!("  {} {text}", dim(format!("{name:<12}")));
        }
        outln!("\n  {} {}", dim(format!("{:<12}", "page")), served.page());
        outln!("  {} {} · {}", dim(format!("{:<12}", "sends to")), served.anthropic, served.openai);
        if let Some(proxy) = &served.by_way_of {
            outln!("  {} the proxy {proxy}", dim(format!("{:<12}", "by way of")));
        }
        outln!("\n{}", dim("ctrl-C ends it."));
        Ok(())
    }
}

/// Who listens there already.
fn taken(other: &Served, context: &Context) -> String {
    format!(
        "Throughline listens on {} already (process {}, started {}); use that one (`throughline run --attach -- claude`), end it, or \
         choose another port: `throughline serve --port 0`",
        other.address(),
        other.pid,
        times::age(other.started, context.now())
    )
}

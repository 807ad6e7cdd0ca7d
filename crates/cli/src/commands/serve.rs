//! `serve`: the proxy, until it is told to stop.

use crate::context::Context;
use crate::handbook::stop_on_signals;
use crate::output;
use serde_json::json;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use throughline_server::{Managing, Server, Settings, Token, Upstream, Upstreams};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline serve                                        (then: ANTHROPIC_BASE_URL=http://127.0.0.1:8787 claude)\n  throughline serve --openai https://openrouter.ai/api/v1  (another provider)"
)]
pub(crate) struct Serve {
    /// The port on this machine; 0 is any that is free.
    #[arg(long, default_value_t = 8787)]
    port: u16,
    /// Where Anthropic's requests go [default: `ANTHROPIC_BASE_URL`, else Anthropic].
    #[arg(long, value_name = "URL")]
    anthropic: Option<String>,
    /// Where OpenAI's requests go [default: `OPENAI_BASE_URL`, else OpenAI].
    #[arg(long, value_name = "URL")]
    openai: Option<String>,
    /// Only pass requests on.
    #[arg(long)]
    passive: bool,
}

impl Serve {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let profile = context.profile(None)?;
        let given = |flag: &Option<String>, variable| flag.clone().or_else(|| std::env::var(variable).ok());
        let mut upstreams = Upstreams::default();
        if let Some(base) = given(&self.anthropic, "ANTHROPIC_BASE_URL") {
            upstreams.anthropic = Upstream::anthropic(&base)?;
        }
        if let Some(base) = given(&self.openai, "OPENAI_BASE_URL") {
            upstreams.openai = Upstream::openai(&base)?;
        }
        let managing = Managing { profile, window: context.window()?, ..Managing::default() };
        let settings = Settings {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, self.port)),
            manage: (!self.passive).then_some(managing),
            token: Token::fresh(),
            ..Settings::new(context.home.clone(), upstreams)
        };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        runtime.block_on(async {
            let stop = stop_on_signals("letting open answers end");
            let token = settings.token.clone();
            let server = Server::start(settings).await?;
            let address = format!("http://{}", server.address());
            let page = format!("{address}/?token={}", token.expose());
            if context.json {
                output::json(&json!({ "address": address, "page": page }))?;
            } else {
                println!("Throughline listens on {address}\n\n  claude:  ANTHROPIC_BASE_URL={address} claude\n  page:    {page}");
            }
            stop.cancelled().await;
            server.stop().await;
            Ok(ExitCode::SUCCESS)
        })
    }
}

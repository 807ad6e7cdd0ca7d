//! A server's settings.

use super::servers::Served;
use super::{memory, secret};
use crate::context::Context;
use crate::launch::unpack_tables;
use anyhow::{Context as _, bail};
use std::net::SocketAddr;
use std::time::Duration;
use throughline_engine::config::{Config, ProxySettings};
use throughline_model::process_environment;
use throughline_server::{HeaderName, Limits, Managing, Scribe, Settings, Upstream, Upstreams};

/// An address of a provider, and who named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    pub(crate) url: String,
    /// A flag, a variable, a file, a key.
    pub(crate) named_by: String,
}

impl Base {
    pub(crate) fn new(url: impl Into<String>, named_by: impl Into<String>) -> Self {
        Self { url: url.into(), named_by: named_by.into() }
    }

    /// By a variable that has something in it.
    pub(crate) fn of_variable(name: &str) -> Option<Self> {
        let url = process_environment(name).filter(|url| !url.trim().is_empty())?;
        Some(Self::new(url, name))
    }
}

/// What is wanted of a server beside the configuration.
#[derive(Clone, Copy)]
pub(crate) struct Wish<'a> {
    pub(crate) port: Option<u16>,
    /// It only passes requests on.
    pub(crate) passive: bool,
    /// Variables that say by which proxy of the network's providers are reached.
    pub(crate) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// Where requests are to go. What is not named goes where it goes without us.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Bases {
    pub(crate) anthropic: Option<Base>,
    pub(crate) openai: Option<Base>,
}

impl Bases {
    /// What is named here, else what is named there.
    pub(crate) fn or(self, other: Self) -> Self {
        Self { anthropic: self.anthropic.or(other.anthropic), openai: self.openai.or(other.openai) }
    }

    /// By flags.
    pub(crate) fn of_flags(anthropic: Option<&str>, openai: Option<&str>) -> Self {
        Self {
            anthropic: anthropic.map(|url| Base::new(url, "--anthropic")),
            openai: openai.map(|url| Base::new(url, "--openai")),
        }
    }

    /// By the configuration.
    pub(crate) fn of_config(proxy: &ProxySettings) -> Self {
        Self {
            anthropic: proxy.anthropic.as_deref().map(|url| Base::new(url, "proxy.anthropic")),
            openai: proxy.openai.as_deref().map(|url| Base::new(url, "proxy.openai")),
        }
    }

    /// By the variables that clients and libraries read.
    pub(crate) fn of_variables() -> Self {
        Self {
            anthropic: Base::of_variable("ANTHROPIC_BASE_URL"),
            openai: Base::of_variable("OPENAI_BASE_URL").or_else(|| Base::of_variable("OPENAI_API_BASE")),
        }
    }

    /// A server of ours that one of them leads to.
    pub(crate) fn lead_to<'a>(&self, servers: &'a [Served]) -> Option<(&Base, &'a Served)> {
        let named = [(&self.anthropic, true), (&self.openai, false)];
        named.into_iter().find_map(|(base, is_anthropic)| {
            let base = base.as_ref()?;
            let upstream =
                if is_anthropic { Upstream::anthropic(&base.url) } else { Upstream::openai(&base.url) };
            let upstream = upstream.ok()?;
            let server = servers.iter().find(|server| upstream.leads_to(server.listens))?;
            Some((base, server))
        })
    }

    /// What a server is started with that sends requests there.
    pub(crate) fn settings(
        &self,
        context: &Context,
        config: &Config,
        wish: Wish<'_>,
    ) -> anyhow::Result<Settings> {
        let proxy = &config.proxy;
        let listen = SocketAddr::new(proxy.listen, wish.port.unwrap_or(proxy.port));
        let limits = Limits {
            request_bytes: proxy.request_bytes,
            answer_bytes: proxy.answer_bytes,
            event_bytes: proxy.event_bytes,
            // A request that may be sent must fit.
            buffered_bytes: proxy.buffered_bytes.max(proxy.request_bytes),
            stall: Duration::from_secs(proxy.stall_seconds),
            idle: Duration::from_secs(proxy.idle_seconds),
            upstream_idle: Duration::from_secs(proxy.upstream_idle_seconds),
            our_time: Duration::from_millis(proxy.our_time_ms),
            connect: Duration::from_millis(proxy.connect_ms),
            rest: Duration::from_secs(proxy.rest_seconds),
            compaction: Duration::from_secs(proxy.compaction_seconds),
            ..Limits::default()
        };
        let settings = Settings {
            listen,
            limits,
            manage: None,
            secret: match wish.passive {
                true => secret::load_existing(&context.home)?,
                false => secret::load(&context.home)?,
            },
            credential_headers: header_names(&proxy.credential_headers)?,
            ..Settings::new(context.home.clone(), upstreams(proxy, self, listen, wish.variable)?)
        };
        if wish.passive {
            return Ok(settings);
        }
        // One of each kind of table: the first request need not wait for it.
        ["claude-sonnet-4-5", "gpt-5"].into_iter().for_each(unpack_tables);
        let memory = memory::options(context, config);
        let scribe = memory.as_ref().map_or_else(|| memory::scribe(config), |memory| memory.scribe.clone());
        let usual = Managing::default();
        let managing = Managing {
            profile: config.profile.clone(),
            window: config.window.tokens,
            cache_edits: config.window.cache_edits,
            tools: config.tools.unless_said(usual.tools),
            take_over_compaction: proxy.take_over_compaction,
            scribe: scribe.map(Scribe),
            memory,
            ..usual
        };
        Ok(Settings { manage: Some(managing), ..settings })
    }
}

fn header_names(names: &[String]) -> anyhow::Result<Vec<HeaderName>> {
    let parse = |name: &String| {
        name.parse().with_context(|| format!("`{name}` in proxy.credential_headers is no name of a header"))
    };
    names.iter().map(parse).collect()
}

fn upstreams(
    proxy: &ProxySettings,
    bases: &Bases,
    listen: SocketAddr,
    variable: &dyn Fn(&str) -> Option<String>,
) -> anyhow::Result<Upstreams> {
    let mut upstreams = Upstreams::default();
    if let Some(base) = &bases.anthropic {
        upstreams.anthropic = checked(base, Upstream::anthropic(&base.url), listen)?;
    }
    upstreams.chatgpt = match &bases.openai {
        Some(base) => {
            upstreams.openai = checked(base, Upstream::openai(&base.url), listen)?;
            // Who names an address means it, whoever is logged in.
            None
        }
        None => {
            let base = Base::new(&proxy.chatgpt, "proxy.chatgpt");
            Some(checked(&base, Upstream::openai(&base.url), listen)?)
        }
    };
    upstreams.heed_proxies(variable)?;
    if let Some(file) = &proxy.ca_file {
        upstreams.trust(file);
    }
    Ok(upstreams)
}

fn checked(
    base: &Base,
    upstream: Result<Upstream, throughline_server::UpstreamError>,
    listen: SocketAddr,
) -> anyhow::Result<Upstream> {
    let upstream = upstream.with_context(|| format!("{} can't be used", base.named_by))?;
    if listen.port() != 0 && upstream.leads_to(listen) {
        bail!(
            "{} is {upstream}: requests would come back here; unset it, or name the provider with --anthropic or --openai",
            base.named_by
        );
    }
    Ok(upstream)
}

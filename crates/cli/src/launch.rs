//! How `chat` and `exec` begin an agent: the flags that both take, and what the agent is told of this machine.

use crate::context::{Context, user_home};
use crate::output;
use anyhow::{Context as _, bail};
use clap::Args;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_agent::agent::{Agent, Brief, Setup, TurnLimits, Which};
use throughline_agent::assembly::{Environment, GitState};
use throughline_agent::mcp::ProjectServers;
use throughline_agent::permissions::{Mode, ServerApprovals};
use throughline_core::SessionId;
use throughline_core::stages::OwnTools;
use throughline_core::tokens::Tokenizer;
use throughline_engine::config::{Config, Loaded, ScribeSettings, Sources};
use throughline_engine::session::{Models, Scribe};
use throughline_ledger::{Listed, list};
use throughline_memory::{Checkout, Head, ProjectSlug};
use throughline_model::{
    Answer, BoxFuture, Call, CancelToken, Model, ModelError, ProgramSearch, Wire, process_environment,
};

/// What `chat` and `exec` both take.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AgentFlags {
    /// Go on with the newest session of this folder.
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) go_on: bool,
    /// Go on with a session, by its id or the beginning of it; without an id, choose one.
    #[arg(short = 'r', long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
    /// With -c or -r: leave that session as it is, and go on in a new one.
    #[arg(long)]
    pub(crate) fork: bool,
    /// The model, as the provider knows it.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The rules by which the context is kept small: throughline, claude, codex, off, or one of your own.
    #[arg(long, value_name = "PROFILE")]
    pub(crate) profile: Option<String>,
    /// What is done without asking: ask, accept-edits, plan, full.
    #[arg(long, value_name = "MODE")]
    pub(crate) permission_mode: Option<Mode>,
    /// Permit something without asking, such as 'Bash(cargo test:*)'. Can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) allow: Vec<String>,
    /// Refuse something, whatever else permits it. Can be given several times.
    #[arg(long, value_name = "RULE")]
    pub(crate) deny: Vec<String>,
    /// Another folder to work in. Can be given several times.
    #[arg(long, value_name = "DIR")]
    pub(crate) add_dir: Vec<PathBuf>,
    /// Further instructions for the agent.
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
}

/// An agent, and what people should know before it begins.
pub(crate) struct Launched {
    pub(crate) agent: Agent,
    pub(crate) warnings: Vec<String>,
}

impl AgentFlags {
    /// The configuration, with what the flags say.
    pub(crate) fn config(&self, context: &Context) -> anyhow::Result<Loaded> {
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let mut sources = Sources::new(context.home.root(), &cwd, &process_environment);
        if let Some(model) = &self.model {
            sources = sources.flag("model.model", model.as_str());
        }
        if let Some(profile) = &self.profile {
            sources = sources.flag("profile", profile.as_str());
        }
        let mut loaded = Config::load(&sources)?;
        for warning in &loaded.warnings {
            crate::errln!("{}: {warning}", output::yellow("config"));
        }
        let permissions = &mut loaded.config.permissions;
        permissions.allow.extend(self.allow.iter().cloned());
        permissions.deny.extend(self.deny.iter().cloned());
        permissions.folders.extend(self.add_dir.iter().cloned());
        permissions.folders.iter().for_each(|folder| ProgramSearch::exclude(folder));
        if let Some(store) = crate::handbook::store_variable()? {
            loaded.config.memory.handbook.store = Some(store);
        }
        Ok(loaded)
    }

    /// The session to go on with, where one is named; `choose` picks one of a list.
    pub(crate) fn which(
        &self,
        context: &Context,
        cwd: &Path,
        choose: impl FnOnce(Vec<Listed>) -> anyhow::Result<Option<PathBuf>>,
    ) -> anyhow::Result<Option<Which>> {
        let ledger = match &self.resume {
            Some(id) if id.is_empty() => match choose(sessions_of(context, cwd)?)? {
                Some(ledger) => ledger,
                None => return Ok(None),
            },
            Some(id) => context.ledger(id)?,
            None if self.go_on => match sessions_of(context, cwd)?.into_iter().next() {
                Some(newest) => newest.path,
                None => bail!("there is no session of {} to go on with", cwd.display()),
            },
            None if self.fork => bail!("--fork needs a session: give -c or -r ID"),
            None => return Ok(Some(Which::New)),
        };
        Ok(Some(if self.fork { Which::Fork(ledger, None) } else { Which::Resume(ledger) }))
    }

    /// Begins the agent.
    pub(crate) async fn launch(
        &self,
        context: &Context,
        loaded: &Loaded,
        which: Which,
        limits: TurnLimits,
    ) -> anyhow::Result<Launched> {
        let mut warnings = Vec::new();
        let models = models(&loaded.config)?;
        unpack_tables(models.main.id());
        let setup = self.setup(context, loaded, models, &mut warnings).await?;
        let limits = TurnLimits { steps: limits.steps.min(loaded.config.agent.max_steps), ..limits };
        let (agent, more) = Agent::begin(Setup { which, limits, ..setup }).await?;
        warnings.extend(more);
        Ok(Launched { agent, warnings })
    }

    /// What a new session would be told, and who would be asked. No model need be set up.
    pub(crate) async fn brief(
        &self,
        context: &Context,
        loaded: &Loaded,
    ) -> anyhow::Result<(Brief, String, Wire)> {
        let mut warnings = Vec::new();
        let models = match loaded.config.model.connect(&process_environment)? {
            Some(model) => Models { main: Arc::from(model), scribe: Scribe::Offline },
            None => {
                warnings.push("no model is set up: this is what one of OpenAI's would be told".to_owned());
                Models { main: Arc::new(Nobody), scribe: Scribe::Offline }
            }
        };
        let (model, wire) = (models.main.id().to_owned(), models.main.wire());
        let setup = self.setup(context, loaded, models, &mut warnings).await?;
        let mut brief = Agent::brief(setup).await?;
        warnings.append(&mut brief.warnings);
        Ok((Brief { warnings, ..brief }, model, wire))
    }

    async fn setup<'a>(
        &self,
        context: &Context,
        loaded: &'a Loaded,
        models: Models,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<Setup<'a>> {
        let config = &loaded.config;
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let place = place(&cwd);
        let approved_servers = approved_servers(context, &cwd, warnings);
        let told = [config.agent.instructions.as_str(), self.instructions.as_deref().unwrap_or_default()];
        let told: Vec<&str> = told.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let start_work = crate::handbook::start_work(context, config, &cwd);
        let start_work = start_work.unwrap_or_else(|error| {
            warnings.push(format!("old sessions are not read for the handbook: {error:#}"));
            None
        });
        Ok(Setup {
            zone: jiff::tz::TimeZone::system(),
            home: context.home.clone(),
            cwd,
            config,
            models,
            which: Which::New,
            limits: TurnLimits::default(),
            mode: self.permission_mode,
            // Both belong to our own agent.
            own_tools: loaded.config.tools.unless_said(OwnTools { snip: true, recall: true }),
            environment: &process_environment,
            variables: std::env::vars_os().collect(),
            user_home: user_home(),
            place,
            instructions: (!told.is_empty()).then(|| told.join("\n\n")),
            sandbox_helper: sandbox_helper()?,
            approved_servers,
            start_work,
            cancel: CancelToken::new(),
        })
    }
}

/// Stands in where no model is set up and none is asked.
struct Nobody;

impl Model for Nobody {
    fn wire(&self) -> Wire {
        Wire::Responses
    }

    fn id(&self) -> &str {
        "gpt-5"
    }

    fn send<'a>(&'a self, _: Call<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        let message = "no model is set up".to_owned();
        Box::pin(async { Err(ModelError::Config { at: "nobody".to_owned(), message }) })
    }
}

/// Sessions that ran in a folder, newest first. Sub-agents' are not among them.
pub(crate) fn sessions_of(context: &Context, cwd: &Path) -> anyhow::Result<Vec<Listed>> {
    let cwd = cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned());
    let mut sessions = list(&context.home)?;
    sessions.retain(|listed| {
        let card = &listed.card;
        card.parent_session.is_none() && card.cwd.as_deref().is_some_and(|there| Path::new(there) == cwd)
    });
    sessions.sort_by_key(|listed| std::cmp::Reverse(listed.card.updated));
    Ok(sessions)
}

/// Who answers and who writes, by the configuration or the usual variables.
pub(crate) fn models(config: &Config) -> anyhow::Result<Models> {
    let main = config.model.connect(&process_environment)?.context(
        "no model is set up: set ANTHROPIC_API_KEY and ANTHROPIC_MODEL (or OPENAI_API_KEY and OPENAI_MODEL, or OLLAMA_…), \
         give --model, or write [model] into config.toml",
    )?;
    let main: Arc<dyn Model> = Arc::from(main);
    let scribe = match &config.scribe {
        ScribeSettings::Offline => Scribe::Offline,
        ScribeSettings::Model => Scribe::Main,
        ScribeSettings::Own(settings) => match settings.connect(&process_environment)? {
            Some(model) => Scribe::Other(Arc::from(model)),
            None => {
                bail!("[scribe] names no model that can be reached; `scribe.use = \"offline\"` needs none")
            }
        },
    };
    Ok(Models { main, scribe })
}

/// Counting for some models takes a table that is unpacked by its first use, in a tenth of a second: begun now, beside all else.
pub(crate) fn unpack_tables(model: &str) {
    let tokenizer = Tokenizer::for_model(model);
    // Without a thread to spare, the first use unpacks it.
    let _ = std::thread::Builder::new().spawn(move || tokenizer.count("a"));
}

/// This program cages commands itself, by a command that is not shown.
fn sandbox_helper() -> anyhow::Result<Vec<OsString>> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    Ok(vec![program.into(), SANDBOX_EXEC.into()])
}

/// The hidden command by which commands are caged.
pub(crate) const SANDBOX_EXEC: &str = "sandbox-exec";

/// Servers of the project that the user approved before.
fn approved_servers(
    context: &Context,
    cwd: &Path,
    warnings: &mut Vec<String>,
) -> Vec<(String, throughline_engine::config::McpServer)> {
    let project = ProjectServers::read(cwd);
    warnings.extend(project.problems);
    if project.proposed.is_empty() {
        return Vec::new();
    }
    let approvals = ServerApprovals::load(context.home.root(), &ProjectSlug::of(cwd));
    let (yes, no): (Vec<_>, Vec<_>) =
        project.proposed.into_iter().partition(|server| approvals.holds(&server.fingerprint));
    if !no.is_empty() {
        let names: Vec<&str> = no.iter().map(|server| server.name.as_str()).collect();
        warnings.push(format!(
            "this project proposes MCP servers that you have not approved: {}. They are not started; see /mcp in `throughline chat`",
            names.join(", ")
        ));
    }
    yes.into_iter().map(|server| (server.name, server.definition)).collect()
}

/// What the agent is told of this machine.
fn place(cwd: &Path) -> Environment {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let shell = shell_name(variable("SHELL").as_deref(), &users, rustix::process::getuid().as_raw());
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let now = jiff::Zoned::now();
    Environment {
        shell: Some(shell),
        os: Some(format!("{} {} {}", std::env::consts::OS, release.trim(), std::env::consts::ARCH)),
        date: Some(now.date()),
        timezone: Some(zone_name(&now)),
        network: None,
        git: git_state(cwd),
    }
}

/// The name of the user's shell: by the variable, else by the list of users, else `sh`.
fn shell_name(variable: Option<&str>, users: &str, user: u32) -> String {
    let of_user = || {
        let mut fields = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
        let found = fields.find(|fields| fields.get(2).and_then(|id| id.parse().ok()) == Some(user));
        found.and_then(|fields| fields.get(6).copied())
    };
    let name = |path: &str| Some(Path::new(path).file_name()?.to_str()?.to_owned());
    variable.and_then(name).or_else(|| of_user().and_then(name)).unwrap_or_else(|| "sh".to_owned())
}

/// The name of the time zone; where it has none, its offset, such as `UTC+02:00`.
fn zone_name(now: &jiff::Zoned) -> String {
    match now.time_zone().iana_name() {
        Some(name) if !now.time_zone().is_unknown() => name.to_owned(),
        Some(_) | None => now.strftime("UTC%:z").to_string(),
    }
}

/// The repository at a glance, read from files: git itself would run programs that the repository names (filters, monitors, hooks).
fn git_state(cwd: &Path) -> Option<GitState> {
    let checkout = Checkout::of(cwd);
    let branch = match checkout.head()? {
        Head::Branch(name) => name,
        Head::Commit(id) => id.chars().take(12).collect(),
    };
    Some(GitState { branch: Some(branch), operation: checkout.operation().map(str::to_owned) })
}

/// The id by which people name a session.
pub(crate) fn short(id: &SessionId) -> String {
    id.as_str().chars().take(8).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_shell_and_time_zone_are_known_without_variables() {
        let users = "root:x:0:0::/root:/bin/bash\nann:x:1000:1000:Ann:/home/ann:/usr/bin/zsh\n";
        assert_eq!(shell_name(Some("/bin/fish"), users, 1_000), "fish");
        assert_eq!(shell_name(None, users, 1_000), "zsh");
        assert_eq!(shell_name(None, users, 7), "sh");
        assert_eq!(shell_name(Some("/"), "", 0), "sh");
        let at = |zone| jiff::Timestamp::UNIX_EPOCH.to_zoned(zone);
        assert_eq!(zone_name(&at(jiff::tz::TimeZone::fixed(jiff::tz::offset(-3)))), "UTC-03:00");
        assert_eq!(zone_name(&at(jiff::tz::TimeZone::unknown())), "UTC+00:00");
        assert_eq!(zone_name(&at(jiff::tz::TimeZone::UTC)), "UTC");
    }
}

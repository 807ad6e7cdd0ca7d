//! How an agent begins: a session, its tools, what it is told.

use super::calls::TODOS;
use super::context::TOLD;
use super::handbook::Shelf;
use super::kit::{FrameParts, Kit};
use super::{Agent, AgentError, Briefing, CurrentMode, Task, TurnLimits};
use crate::Toolset;
use crate::assembly::{self, Assembled, SessionKind, SharedSkills, Sources, Told};
use crate::files::Files;
use crate::mcp::{McpServers, McpStart, Patience};
use crate::permissions::{Approvals, Mode, Policy, PolicyInput, Rules, describe, describe_network};
use crate::sandbox::{SandboxSettings, credential_paths, readable_paths};
use crate::tools::bash::{OUTPUT, Shell, ShellEnv, bash_tools};
use crate::tools::skill::SkillTool;
use crate::tools::{self, Recall, Snip, Todos, WebFetch, WebFetchSettings};
use crate::workspace::{SavedOutput, Workspace};
use jiff::tz::TimeZone;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_core::pipeline::DEFAULT_WINDOW;
use throughline_core::stages::{OwnTools, budget};
use throughline_core::tokens::Tokenizer;
use throughline_core::{MessageId, Role};
use throughline_engine::config::{Config, McpServer, SandboxRead};
use throughline_engine::hooks::Start as Source;
use throughline_engine::session::{
    Frame, Handbooks, Models, Remembering, Session, SessionSettings, Start, StartWork,
};
use throughline_ledger::Home;
use throughline_memory::handbook::read::Reading;
use throughline_memory::handbook::{HomeId, Outside, ProjectKey};
use throughline_memory::{Memories, Project, ProjectSlug};
use throughline_model::{CancelToken, Environment};

/// Which session an agent works in.
#[derive(Clone, Debug)]
pub enum Which {
    /// A new one.
    New,
    /// One that goes on.
    Resume(PathBuf),
    /// A new one that begins where another stood: at a message, or at its end.
    Fork(PathBuf, Option<MessageId>),
}

/// What an agent begins with.
pub struct Setup<'a> {
    /// Where everything is kept.
    pub home: Home,
    /// Where the agent works.
    pub cwd: PathBuf,
    /// The configuration.
    pub config: &'a Config,
    /// Who answers, and who writes.
    pub models: Models,
    /// Which session.
    pub which: Which,
    /// What a turn may take.
    pub limits: TurnLimits,
    /// The permission mode; by default the configuration's.
    pub mode: Option<Mode>,
    /// Which of our own tools the model gets.
    pub own_tools: OwnTools,
    /// Variables.
    pub environment: Environment<'a>,
    /// The variables that commands get, but for secret ones.
    pub variables: BTreeMap<OsString, OsString>,
    /// The user's home folder.
    pub user_home: Option<PathBuf>,
    /// Date, shell, system, repository: what the model is told of them.
    pub place: assembly::Environment,
    /// The user's time zone.
    pub zone: TimeZone,
    /// Further instructions of the user's.
    pub instructions: Option<String>,
    /// The program that cages commands, and its first arguments.
    pub sandbox_helper: Vec<OsString>,
    /// Servers of the project that the user approved.
    pub approved_servers: Vec<(String, McpServer)>,
    /// What the user's first words set off on handbooks (H1); `None`: nothing.
    pub start_work: Option<Arc<dyn StartWork>>,
    /// Stops everything that begins here.
    pub cancel: CancelToken,
}

/// What an agent would begin with, without a session.
pub struct Brief {
    /// What a new session would be told.
    pub assembled: Assembled,
    /// The tools, as the model would be told of them.
    pub tools: Vec<Value>,
    /// What people should know.
    pub warnings: Vec<String>,
}

/// What does not depend on the session.
struct Ground {
    workspace: Workspace,
    settings: SessionSettings,
    servers: McpServers,
    policy: Arc<Policy>,
    mode: Mode,
    memories: Memories,
    shell: Shell,
    sources: Sources,
    assembled: Assembled,
    warnings: Vec<String>,
}

impl Ground {
    async fn lay(setup: &Setup<'_>) -> Result<Self, AgentError> {
        let mut warnings = Vec::new();
        let workspace = open_workspace(setup)?;
        let mut settings = session_settings(setup, &mut warnings)?;
        let servers = start_servers(setup, &workspace).await;
        let mode = setup.mode.unwrap_or(setup.config.permissions.mode);
        let shell = shell(setup);
        let is_caged = shell.support().can_cage();
        if !is_caged && setup.config.permissions.sandbox {
            warnings.push(format!("commands run without a sandbox: {}", shell.support()));
        }
        // By the folder itself: memories may be shared with another one of the same remote, approvals never are.
        let approvals = Approvals::load(setup.home.root(), &ProjectSlug::of(workspace.cwd()));
        warnings.extend(approvals.problems());
        let policy = Policy::new(PolicyInput {
            rules: Rules::of(&setup.config.permissions)
                .map_err(|error| AgentError::Setup(error.to_string()))?,
            workspace: workspace.clone(),
            approvals: Arc::new(approvals),
            network: setup.config.permissions.network,
            sandbox_enforced: is_caged && shell.support().shields(),
            home: setup.user_home.as_deref().map(resolved),
            own: resolved(setup.home.root()),
        });
        let policy = Arc::new(policy);
        let judge = policy.clone();
        let workspace = workspace.passing_over(move |path| judge.skips(path));
        let (memories, project) = memories(setup, workspace.cwd(), &mut warnings);
        let root = project.as_ref().map(root_of);
        settings.handbooks = project.as_ref().and_then(|project| handbooks(setup, project, &mut warnings));
        settings.memory = Remembering::of(&setup.config.memory, memories.clone(), setup.zone.clone());
        if let Some(memory) = &mut settings.memory {
            memory.root = root;
        }
        let mut sources = Sources::new(workspace.cwd(), setup.home.root());
        sources.home.clone_from(&setup.user_home);
        sources.window = settings.window;
        sources.tokenizer = Tokenizer::for_model(setup.models.main.id());
        sources.environment = setup.place.clone();
        sources.custom.clone_from(&setup.instructions);
        sources.permissions = Some(describe(mode, &policy));
        sources.environment.network = Some(describe_network(mode, &policy));
        sources.mode_text = assembly::mode_text(mode).map(str::to_owned);
        let index = memories.index_for_session();
        warnings.extend(index.problems);
        sources.memory = index.text;
        sources.deferred = servers.deferred_listing();
        sources.mcp = servers.instructions();
        let assembled = Assembled::full(&sources);
        warnings.extend(assembled.warnings.iter().cloned());
        Ok(Self { workspace, settings, servers, policy, mode, memories, shell, sources, assembled, warnings })
    }

    /// The handbooks that the session may read.
    fn reading(&self) -> Option<Reading> {
        self.settings.handbooks.as_ref()?.reading.clone()
    }

    /// The tools, in a fixed order: the provider's cache begins with them.
    fn tools(&self, setup: &Setup<'_>, of: &Belongings) -> Toolset {
        let shell = self.shell.clone().in_folder(of.folder.join(COMMANDS));
        let mut tools = Toolset::new();
        tools.extend(tools::file_tools());
        tools.extend(bash_tools(shell));
        let mut tools = tools
            .with(tools::TodoWrite::new(of.todos.clone()))
            .with(tools::ExitPlanMode::new(of.folder.join("plan.md")));
        if !self.memories.is_off() {
            let mut tool = tools::MemoryTool::new(self.memories.clone());
            if let Some(reading) = self.reading() {
                tool = tool.with_handbook(reading);
            }
            tools.add(Arc::new(tool));
        }
        let mut tools = tools.with(SkillTool::new(of.skills.clone())).with(Task);
        if setup.own_tools.snip && setup.config.profile.snip.is_some() {
            tools.add(Arc::new(Snip));
        }
        if setup.own_tools.recall {
            tools.add(Arc::new(Recall::new(setup.home.clone(), of.ledger.clone())));
        }
        if setup.config.agent.web_fetch {
            tools.add(Arc::new(WebFetch::new(WebFetchSettings::default())));
        }
        tools.extend(self.servers.tools());
        tools
    }
}

/// What tools keep for one session.
struct Belongings {
    folder: PathBuf,
    ledger: PathBuf,
    todos: Todos,
    skills: SharedSkills,
}

impl Agent {
    /// What a new session would be told. Nothing is begun but the MCP servers, which say what they have and are stopped again.
    pub async fn brief(setup: Setup<'_>) -> Result<Brief, AgentError> {
        let ground = Ground::lay(&setup).await?;
        let of = Belongings {
            folder: setup.home.root().to_owned(),
            ledger: setup.home.root().to_owned(),
            todos: Todos::default(),
            skills: SharedSkills::default(),
        };
        let wire = setup.models.main.wire();
        let tools = ground.tools(&setup, &of).iter().map(|tool| tool.definition().on(wire)).collect();
        ground.servers.shutdown().await;
        Ok(Brief { assembled: ground.assembled, tools, warnings: ground.warnings })
    }

    /// Begins a session, or goes on with one. What people should know comes back beside it.
    pub async fn begin(setup: Setup<'_>) -> Result<(Self, Vec<String>), AgentError> {
        let ground = Ground::lay(&setup).await?;
        let (session, source) = open_session(&setup, &ground.workspace, ground.settings.clone())?;
        let of = Belongings {
            folder: session.folder(),
            ledger: session.path().to_owned(),
            todos: Todos::default(),
            skills: SharedSkills::new(ground.assembled.skills().clone()),
        };
        // Off the path: what expired leaves the index, and files that somebody put there by hand get their lines.
        let memories = ground.memories.clone();
        tokio::task::spawn_blocking(move || {
            for (_, store) in memories.stores() {
                // It is tried again with the next session; what is wrong `throughline memory audit` tells.
                let _ = store.repair_index(jiff::Timestamp::now());
            }
        });
        let todos = session.kept(TODOS).and_then(|kept| serde_json::from_value(kept.clone()).ok());
        of.todos.set(todos.unwrap_or_default());
        let tools = ground.tools(&setup, &of);
        let shelf = ground.reading().filter(|_| !ground.settings.standing.ephemeral).map(Shelf::new);
        let wire = setup.models.main.wire();
        let Ground {
            workspace, settings, servers, policy, mode, shell, sources, assembled, warnings, ..
        } = ground;
        let workspace = workspace.with_saved(saved_output(&of.folder, settings.window));
        let policy = Arc::new(policy.in_workspace(workspace.clone()));
        let kit = Kit {
            home: setup.home.clone(),
            settings,
            workspace,
            files: Files::at(of.folder.join("files"))
                .map_err(|error| AgentError::Setup(error.to_string()))?,
            tasks: shell.tasks().clone(),
            todos: of.todos,
            tools,
            servers: Arc::new(servers),
            policy,
            mode: CurrentMode::new(mode),
            after_plan: if mode == Mode::Plan { Mode::AcceptEdits } else { mode },
            limits: setup.limits,
            frame: FrameParts {
                system: String::new(),
                max_output: setup.config.pipeline_settings(setup.models.main.id()).max_output,
                window: setup.config.window.tokens,
            },
            models: setup.models,
            sub_sources: Arc::new(Sources { kind: SessionKind::SubAgent, memory: None, ..sources.clone() }),
            subs: Arc::default(),
            polluted: Arc::default(),
        };
        let told = assembled.told();
        let briefing = Briefing {
            sources,
            first: told.clone(),
            head: Vec::new(),
            told,
            has_developer: assembled.messages(wire).iter().any(|message| message.role == Role::Developer),
            assembled,
            skills: of.skills,
            shelf,
        };
        let mut agent = Self {
            session,
            kit: Arc::new(kit),
            briefing: Some(briefing),
            after: Vec::new(),
            scoped: Vec::new(),
        };
        agent.session.set_file_reader(agent.kit.file_reader());
        agent.introduce(source).await?;
        let mut warnings = warnings;
        warnings.extend(agent.session.warnings());
        Ok((agent, warnings))
    }

    /// Tells a new session everything, and one that goes on what is different now.
    async fn introduce(&mut self, source: Source) -> Result<(), AgentError> {
        let wire = self.kit.wire();
        let kept = self.session.kept(TOLD).cloned();
        let Some(briefing) = &mut self.briefing else { return Ok(()) };
        self.session.set_compact_instructions(briefing.assembled.compact_instructions());
        let read =
            |key: &str| kept.as_ref().and_then(|kept| serde_json::from_value::<Told>(kept[key].clone()).ok());
        match (read("first"), read("told")) {
            (Some(first), Some(told)) => {
                briefing.first = first;
                briefing.told = told;
                let head = kept.as_ref().and_then(|kept| serde_json::from_value(kept["head"].clone()).ok());
                briefing.head = head.unwrap_or_default();
                let developer = kept.as_ref().and_then(|kept| kept["developer"].as_bool());
                briefing.has_developer = developer.unwrap_or(briefing.has_developer);
                self.set_frame();
                let words = "[the session ended before this call was done; it may have run in part]";
                self.session.close_calls(words)?;
                self.tell_model()?;
                self.tell_changes()?;
                self.tell_notes()?;
            }
            (_, _) => {
                let messages = briefing.assembled.head(wire);
                self.set_frame();
                self.session.close_calls("[not run]")?;
                self.tell_model()?;
                let mut head = Vec::new();
                for (which, message) in messages {
                    head.push((which, self.session.record(message)?));
                }
                if let Some(briefing) = &mut self.briefing {
                    briefing.head = head;
                }
                self.keep_told()?;
            }
        }
        Ok(self.session.started(source).await?)
    }

    /// What comes around the messages, now that it is known what stands at their head.
    fn set_frame(&mut self) {
        if let Some(briefing) = &self.briefing {
            Arc::make_mut(&mut self.kit).frame.system = briefing.system(self.kit.models.main.wire());
        }
        self.session.set_frame(self.kit.frame());
    }
}

/// The folder of a session's shell, below the session's folder.
const COMMANDS: &str = "commands";

/// What a session saves for the model to read back, in pages that leave most of the window to the work.
pub(super) fn saved_output(folder: &Path, window: Option<u64>) -> SavedOutput {
    const PAGES: u64 = 8;
    const BYTES_PER_TOKEN: u64 = 3;
    let bytes = window.unwrap_or(DEFAULT_WINDOW) / PAGES * BYTES_PER_TOKEN;
    let folder = resolved(folder);
    SavedOutput {
        folders: vec![folder.join(budget::FOLDER), folder.join(COMMANDS).join(OUTPUT)],
        page_bytes: usize::try_from(bytes).unwrap_or(usize::MAX),
    }
}

/// Where a folder really is, as far as it is there.
fn resolved(folder: &Path) -> PathBuf {
    match (folder.canonicalize(), folder.parent(), folder.file_name()) {
        (Ok(folder), _, _) => folder,
        (Err(_), Some(parent), Some(name)) => resolved(parent).join(name),
        (Err(_), _, _) => folder.to_owned(),
    }
}

fn open_workspace(setup: &Setup<'_>) -> Result<Workspace, AgentError> {
    let failed = |error: std::io::Error| AgentError::Workspace {
        folder: setup.cwd.display().to_string(),
        why: error.to_string(),
    };
    let mut workspace = Workspace::new(&setup.cwd, &[]).map_err(failed)?;
    if let Some(home) = &setup.user_home {
        workspace = workspace.with_home(home.clone());
    }
    for folder in &setup.config.permissions.folders {
        workspace.add(folder).map_err(|error| AgentError::Workspace {
            folder: folder.display().to_string(),
            why: error.to_string(),
        })?;
    }
    Ok(workspace)
}

/// What is remembered for the folder. Whose memories they are is told where that is not plain.
fn memories(setup: &Setup<'_>, cwd: &Path, warnings: &mut Vec<String>) -> (Memories, Option<Project>) {
    let places = setup.config.memory.places();
    if places.tiers.is_empty() {
        return (Memories::default(), None);
    }
    let project = Project::find(&setup.home, cwd);
    warnings.extend(project.notices.iter().cloned());
    (Memories::open(&setup.home, &project, &places), Some(project))
}

fn root_of(project: &Project) -> PathBuf {
    project.worktree.as_ref().map_or(&project.root, |worktree| &worktree.folder).clone()
}

/// How the session has part in the project's handbook and the global one, if there are any to be.
fn handbooks(setup: &Setup<'_>, project: &Project, warnings: &mut Vec<String>) -> Option<Handbooks> {
    let settings = &setup.config.memory.handbook;
    if !settings.enabled {
        return None;
    }
    let home_id = match HomeId::of(&setup.home) {
        Ok(id) => id,
        Err(error) => {
            warnings.push(format!("there is no handbook: {error}"));
            return None;
        }
    };
    let key = ProjectKey::of(project, &home_id);
    let own = setup.config.mcp.servers.iter().filter(|(_, server)| !server.external).map(|(name, _)| name);
    Some(Handbooks {
        store: settings.lazy_store(&setup.home),
        reading: settings.is_used.then(|| Reading::new(&setup.home, &key, &settings.limits)),
        start: setup.start_work.clone().filter(|_| settings.generate),
        rate_left_percent: settings.limits.rate_left_percent,
        outside: settings.disable_on_external_context.then(|| Outside::except(own)),
    })
}

fn session_settings(setup: &Setup<'_>, warnings: &mut Vec<String>) -> Result<SessionSettings, AgentError> {
    let (mut settings, problems) = SessionSettings::from_config(setup.config, &setup.home, setup.environment)
        .map_err(|error| AgentError::Setup(error.to_string()))?;
    warnings.extend(problems.iter().map(ToString::to_string));
    settings.tools = setup.own_tools;
    settings.reads_saved_files = true;
    settings.window = Some(setup.config.pipeline_settings(setup.models.main.id()).window);
    Ok(settings)
}

async fn start_servers(setup: &Setup<'_>, workspace: &Workspace) -> McpServers {
    let mut servers = setup.config.mcp.clone();
    for (name, server) in &setup.approved_servers {
        // The user's own come first: a project can't take their names.
        servers.servers.entry(name.clone()).or_insert_with(|| server.clone());
    }
    McpServers::start(McpStart {
        settings: &servers,
        roots: workspace.folders().map(Path::to_owned).collect(),
        environment: setup.environment,
        cancel: setup.cancel.clone(),
        patience: Patience::default(),
    })
    .await
}

fn open_session(
    setup: &Setup<'_>,
    workspace: &Workspace,
    settings: SessionSettings,
) -> Result<(Session, Source), AgentError> {
    let frame = Frame::new(setup.models.main.wire(), setup.models.main.id());
    let start = Start { frame, cwd: Some(workspace.cwd().display().to_string()) };
    let (home, models) = (&setup.home, setup.models.clone());
    Ok(match &setup.which {
        Which::New => (Session::open(home, start, models, settings)?, Source::Startup),
        Which::Resume(ledger) => (Session::resume(home, ledger, start, models, settings)?, Source::Resume),
        Which::Fork(ledger, at) => {
            (Session::fork(home, ledger, at.as_ref(), start, models, settings)?, Source::Fork)
        }
    })
}

/// What commands run with.
fn shell(setup: &Setup<'_>) -> Shell {
    let permissions = &setup.config.permissions;
    let mut settings = SandboxSettings::new(setup.sandbox_helper.clone());
    settings.enabled = permissions.sandbox;
    settings.network = permissions.network;
    let home = setup.user_home.as_deref();
    settings.readable_denied = credential_paths(home, &setup.variables);
    settings.readable = match permissions.sandbox_read {
        SandboxRead::Workspace => Some(readable_paths(home, &setup.variables)),
        SandboxRead::Home => None,
    };
    settings.unreadable = vec![setup.home.root().to_owned()];
    let env = ShellEnv { base: setup.variables.clone(), allowed: permissions.env_keep.clone() };
    Shell::new(settings, setup.home.root().join("sessions-data"), env)
}

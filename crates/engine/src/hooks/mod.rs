//! Hooks: commands of the user's that are told what happens, and can object.
//!
//! A hook gets the event as JSON on its stdin. Exit 0: its stdout is text or JSON; exit 2: it objects, with its stderr as the
//! reason; anything else is a [`HookFailure`] and stops nothing. All hooks of one event run at once; what they want is put
//! together in the order of the configuration. See `docs/hooks.md`.
//!
//! **Hooks are the user's own.** They come from the user's configuration only, never from a project's. What they print is
//! bounded, and marked with its origin where it becomes text for the model.
//!
//! **Everything ends.** A hook that takes too long is killed with all that it started.

mod answer;
mod event;
mod matcher;
mod outcome;
mod settings;

pub use answer::TEXT_LIMIT;
pub use event::{Context, Event, EventName, Start, ToolUse};
pub use matcher::Matcher;
pub use outcome::{FailureKind, HookFailure, HookId, Outcome, Permission};
pub use settings::{HookCommand, HookSettings, Run, TIMEOUT_SECONDS};

use bytes::Bytes;
use outcome::Answer;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;
use throughline_model::process::{self, Env, Interrupt, Job, Overflow, Trouble, Watch};
use throughline_model::{Argv, CancelToken, Environment};
use tokio::task::JoinSet;

/// The most bytes that are read of what a hook prints.
pub const OUTPUT_LIMIT: usize = 64 << 10;

/// The variables of this process that hooks get: what programs need to run, and no keys.
pub const VARIABLES: [&str; 31] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "TZ",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "DBUS_SESSION_BUS_ADDRESS",
    "THROUGHLINE_HOME",
    "SystemRoot",
    "SystemDrive",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "TEMP",
    "TMP",
    "PATHEXT",
    "COMSPEC",
    "WINDIR",
];

/// Set for every hook: which event it is run for. Where this is set already, no hooks run: a hook that starts a session of its
/// own would start itself again.
pub const EVENT_VARIABLE: &str = "THROUGHLINE_HOOK_EVENT";

/// The hooks of a configuration, ready to run.
#[derive(Clone, Debug, Default)]
pub struct Hooks {
    hooks: BTreeMap<EventName, Vec<Hook>>,
    /// What every hook gets.
    variables: BTreeMap<String, String>,
}

#[derive(Clone, Debug)]
struct Hook {
    id: HookId,
    argv: Argv,
    matcher: Matcher,
    timeout: Duration,
    /// What this hook gets beside.
    variables: BTreeMap<String, String>,
}

impl Hooks {
    /// Hooks from their settings. The variables that they get are read now.
    pub fn new(settings: &HookSettings, environment: Environment<'_>) -> Self {
        if settings.disabled || environment(EVENT_VARIABLE).is_some() {
            return Self::default();
        }
        let read = |name: &str| environment(name).map(|value| (name.to_owned(), value));
        let hook = |event: EventName, (index, command): (usize, &HookCommand)| {
            let argv = match &command.run {
                Run::Command(argv) => argv.clone(),
                Run::Shell(line) => Argv::new(["sh", "-c", line.as_str()])?,
            };
            Some(Hook {
                id: HookId { event, place: index + 1, name: command.name().to_owned() },
                argv,
                matcher: command.matcher.clone(),
                timeout: Duration::from_secs(command.timeout_seconds.unwrap_or(settings.timeout_seconds)),
                variables: command.env.iter().filter_map(|name| read(name)).collect(),
            })
        };
        let hooks = settings
            .events
            .iter()
            .map(|(event, commands)| {
                let hooks = commands.iter().take(HookSettings::MOST).enumerate();
                (*event, hooks.filter_map(|each| hook(*event, each)).collect())
            })
            .collect();
        Self { hooks, variables: VARIABLES.into_iter().filter_map(read).collect() }
    }

    /// Whether an event of this kind can have any effect: where it can't, nothing needs to be made ready for it.
    pub fn has(&self, event: EventName) -> bool {
        self.hooks.get(&event).is_some_and(|hooks| !hooks.is_empty())
    }

    /// Those for a helper agent: nobody types there, and neither its beginning nor its end is a session's that the user knows of.
    #[must_use]
    pub fn for_helper(mut self) -> Self {
        self.hooks.retain(|event, _| match event {
            EventName::SessionStart
            | EventName::UserPromptSubmit
            | EventName::Stop
            | EventName::SessionEnd => false,
            EventName::PreToolUse
            | EventName::PostToolUse
            | EventName::PreCompact
            | EventName::PostCompact
            | EventName::SubagentStop
            | EventName::Notification => true,
        });
        self
    }

    /// Runs the hooks of an event, all at once, and waits for them. Never fails: what goes wrong is in the outcome.
    /// Dropping the future kills them.
    pub async fn run(&self, event: Event<'_>, context: Context<'_>) -> Outcome {
        let subjects = event.subjects();
        let hooks = self.hooks.get(&event.name()).map(Vec::as_slice).unwrap_or_default();
        let hooks: Vec<&Hook> = hooks.iter().filter(|hook| hook.matcher.fits(&subjects)).collect();
        if hooks.is_empty() {
            return Outcome::default();
        }
        let stdin = Bytes::from(event.payload(&context).to_string());
        let mut running = JoinSet::new();
        for (index, hook) in hooks.iter().enumerate() {
            let task = Task {
                env: self.environment(hook, &context),
                hook: (*hook).clone(),
                cwd: context.cwd.to_owned(),
                stdin: stdin.clone(),
                cancel: context.cancel.clone(),
            };
            running.spawn(async move { (index, task.run().await) });
        }
        let mut answers: BTreeMap<usize, Answer> = BTreeMap::new();
        while let Some(ended) = running.join_next().await {
            answers.extend(ended.ok());
        }
        let mut outcome = Outcome { ran: hooks.len(), ..Outcome::default() };
        for (index, hook) in hooks.iter().enumerate() {
            outcome.add(answers.remove(&index).unwrap_or_else(|| {
                answer::failed(&hook.id, FailureKind::Exit, "was lost by this program".to_owned())
            }));
        }
        outcome
    }

    fn environment(&self, hook: &Hook, context: &Context<'_>) -> BTreeMap<String, String> {
        let mut env = self.variables.clone();
        env.extend(hook.variables.clone());
        env.insert(EVENT_VARIABLE.to_owned(), hook.id.event.name().to_owned());
        env.insert("THROUGHLINE_SESSION_ID".to_owned(), context.session.to_string());
        env.insert("THROUGHLINE_PROJECT_DIR".to_owned(), context.cwd.to_string_lossy().into_owned());
        if let Some(ledger) = context.ledger {
            env.insert("THROUGHLINE_LEDGER".to_owned(), ledger.to_string_lossy().into_owned());
        }
        env
    }
}

/// One hook at work.
struct Task {
    hook: Hook,
    env: BTreeMap<String, String>,
    cwd: PathBuf,
    stdin: Bytes,
    cancel: CancelToken,
}

impl Task {
    async fn run(self) -> Answer {
        let Self { hook, env, cwd, stdin, cancel } = self;
        let watch = Watch::new(cancel, Some(hook.timeout));
        let job = Job {
            argv: &hook.argv,
            env: Env::Only(&env),
            cwd: Some(&cwd),
            stdin,
            limit: OUTPUT_LIMIT,
            overflow: Overflow::Cut,
        };
        let (kind, message) = match process::run(job, &watch).await {
            Ok(done) => return answer::read(&hook.id, &done),
            Err(Trouble::Io(error)) => (
                FailureKind::Start,
                format!("did not start in {}: {error}; is it installed and executable?", cwd.display()),
            ),
            Err(Trouble::Interrupt(Interrupt::Cancelled)) => {
                (FailureKind::Cancelled, "was stopped".to_owned())
            }
            Err(Trouble::Interrupt(Interrupt::Deadline(_) | Interrupt::Idle(_))) => {
                let seconds = hook.timeout.as_secs();
                (
                    FailureKind::Timeout,
                    format!("took longer than {seconds} s and was killed (`timeout_seconds`)"),
                )
            }
            Err(Trouble::TooLarge) => (FailureKind::Output, "printed too much".to_owned()),
        };
        answer::failed(&hook.id, kind, message)
    }
}

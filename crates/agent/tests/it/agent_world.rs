//! A project, a home and a scripted model, and agents that work there.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may fail as tests do")]

use crate::bash_world::helper;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;
use throughline_agent::agent::{Agent, AgentError, Desk, Inbox, Said, Setup, TurnEnd, TurnLimits, Which};
use throughline_agent::assembly::Environment;
use throughline_agent::permissions::{Approval, Approver, Ask, Mode};
use throughline_agent::{Event, Listener};
use throughline_core::stages::OwnTools;
use throughline_core::{Block, Body, Message, Role, Wire, invariants};
use throughline_engine::config::{Config, Loaded, McpServer, Sources};
use throughline_engine::session::{Models, Scribe, StartWork};
use throughline_ledger::Home;
use throughline_model::{BoxFuture, CancelToken, Http, Provider, Retries, Timeouts};
use throughline_testkit::{Script, Seen, Server};
use tokio::sync::Notify;

/// Nothing here takes so long, whatever else the machine does.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// The models of a wire: the first is used unless a test says otherwise.
pub(crate) fn model_of(wire: Wire) -> &'static str {
    match wire {
        Wire::Anthropic => "claude-sonnet-4-5",
        Wire::Responses => "gpt-5",
        Wire::Chat => "gpt-4.1",
    }
}

/// A project, a home and a scripted model.
pub(crate) struct World {
    folder: TempDir,
    pub(crate) server: Server,
    pub(crate) wire: Wire,
    pub(crate) model: String,
    pub(crate) scribe: Scribe,
    pub(crate) mode: Option<Mode>,
    pub(crate) limits: TurnLimits,
    pub(crate) own_tools: OwnTools,
    /// The folder in which the agent works.
    pub(crate) project: &'static str,
    pub(crate) servers: Vec<(String, McpServer)>,
    pub(crate) start_work: Option<Arc<dyn StartWork>>,
}

impl World {
    pub(crate) fn new(wire: Wire, script: impl Script) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["project", "other", "home", "user"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self {
            folder,
            server: Server::start(script).unwrap(),
            wire,
            model: model_of(wire).to_owned(),
            scribe: Scribe::Offline,
            mode: None,
            limits: TurnLimits::default(),
            own_tools: OwnTools::default(),
            project: "project",
            servers: Vec::new(),
            start_work: None,
        }
    }

    pub(crate) fn mode(mut self, mode: Mode) -> Self {
        self.mode = Some(mode);
        self
    }

    /// The configuration of the user.
    pub(crate) fn config(self, text: &str) -> Self {
        std::fs::write(self.folder.path().join("home/config.toml"), text).unwrap();
        self
    }

    /// A path below everything.
    pub(crate) fn outside(&self, relative: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(relative)
    }

    /// A path in the project.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.outside("project").join(relative)
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        let path = self.path(relative);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> Option<String> {
        std::fs::read_to_string(self.path(relative)).ok()
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.outside("home"))
    }

    pub(crate) fn model_named(&self, name: &str) -> Models {
        self.model_on(self.wire, name)
    }

    pub(crate) fn model_on(&self, wire: Wire, name: &str) -> Models {
        let mut provider = Provider::new("test", wire, name);
        provider.base_url = Some(self.server.url());
        provider.retries = Retries { attempts: 2, base_ms: 1, cap_ms: 5, patience_ms: 50 };
        provider.timeouts = Timeouts { idle_ms: 120_000, ..Timeouts::default() };
        let model = Http::new(&provider, &|_: &str| Some("key".to_owned())).unwrap();
        Models { main: Arc::new(model), scribe: self.scribe.clone() }
    }

    pub(crate) async fn begin(&self) -> Agent {
        self.begin_in(Which::New).await
    }

    pub(crate) async fn resume(&self, ledger: &Path) -> Agent {
        self.begin_in(Which::Resume(ledger.to_owned())).await
    }

    pub(crate) async fn begin_in(&self, which: Which) -> Agent {
        let home = self.home();
        let none = |_: &str| None;
        let loaded = load(&home, &none);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let user = self.outside("user");
        let variables =
            BTreeMap::from([("PATH".into(), path), ("HOME".into(), user.clone().into_os_string())]);
        let setup = Setup {
            zone: jiff::tz::TimeZone::UTC,
            home,
            cwd: self.outside(self.project),
            config: &loaded.config,
            models: self.model_named(&self.model),
            which,
            limits: self.limits,
            mode: self.mode,
            own_tools: self.own_tools,
            environment: &none,
            variables,
            user_home: Some(user),
            place: Environment { shell: Some("bash".to_owned()), ..Environment::default() },
            instructions: None,
            sandbox_helper: helper(),
            approved_servers: self.servers.clone(),
            start_work: self.start_work.clone(),
            cancel: CancelToken::new(),
        };
        Agent::begin(setup).await.unwrap().0
    }

    /// The requests of the agent itself: not those of sub-agents, nor of whoever writes summaries.
    pub(crate) fn requests(&self) -> Vec<Seen> {
        self.server.requests()
    }

    /// Every request is one that a provider takes, and nothing was asked that the script did not foresee.
    pub(crate) fn all_valid(&self) {
        assert_eq!(self.server.unscripted(), Vec::<usize>::new());
        self.valid();
    }

    /// Every request is one that a provider takes.
    pub(crate) fn valid(&self) {
        for seen in self.server.requests() {
            let request = seen.request().unwrap();
            let broken = invariants::check(&request.messages);
            assert!(broken.is_empty(), "request {}: {broken:?}\n{}", seen.number, shape(&seen));
        }
    }
}

fn load(home: &Home, none: &dyn Fn(&str) -> Option<String>) -> Loaded {
    let sources = Sources {
        user: Some(home.root().join("config.toml")),
        project: None,
        environment: &|name: &str| none(name),
        flags: Vec::new(),
    };
    Config::load(&sources).unwrap()
}

/// Every request begins with the bytes of the one before, but for what closes it.
pub(crate) fn grows(requests: &[Seen]) {
    for pair in requests.windows(2) {
        let (one, next) = (&pair[0], &pair[1]);
        let left = one.body.len() - next.shares(one);
        let rest = String::from_utf8_lossy(&one.body[next.shares(one)..]).into_owned();
        assert!(left < 80, "request {} does not begin with request {}: {rest}", next.number, one.number);
    }
}

/// Who says what in a request, a line each, for people who look at a failure.
pub(crate) fn shape(seen: &Seen) -> String {
    let request = seen.request().unwrap();
    let lines = request.messages.iter().map(|message| {
        let text = message.blocks.iter().map(|block| match &block.body {
            Body::ToolCall(call) => {
                format!("call {} {}", call.name, call.input.to_json().unwrap_or_default())
            }
            Body::ToolResult(result) => format!("result {}", result.content.to_text()),
            Body::Text(_)
            | Body::Reasoning { .. }
            | Body::Image(_)
            | Body::Document(_)
            | Body::Unknown(_) => block.to_text().into_owned(),
        });
        let text = text.collect::<Vec<_>>().join(" | ");
        format!("{:?}: {}", message.role, throughline_core::text::one_line(&text, 300))
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// The results in a request, in order.
pub(crate) fn results(seen: &Seen) -> Vec<String> {
    let request = seen.request().unwrap();
    let results = request.messages.iter().flat_map(|message| message.results());
    results.map(|result| result.content.to_text().into_owned()).collect()
}

/// The newest result in a request.
pub(crate) fn last_result(seen: &Seen) -> String {
    results(seen).pop().unwrap_or_else(|| panic!("no result in\n{}", shape(seen)))
}

/// What people have said, as a request has it.
pub(crate) fn words(seen: &Seen) -> Vec<String> {
    let request = seen.request().unwrap();
    let said = request.messages.iter().filter(|message| message.is_real_user());
    said.map(Message::user_words).collect()
}

/// All that is not said by the model and is no result, as one text.
pub(crate) fn scaffold(seen: &Seen) -> String {
    let request = seen.request().unwrap();
    let texts =
        request.messages.iter().filter(|message| message.role != Role::Assistant).flat_map(|message| {
            let is_text = |block: &&Block| matches!(block.body, Body::Text(_));
            message.blocks.iter().filter(is_text).map(|block| block.to_text().into_owned())
        });
    let system = request.system().unwrap_or_default().to_string();
    std::iter::once(system).chain(texts).collect::<Vec<_>>().join("\n")
}

/// How often a text is told.
pub(crate) fn times(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

/// Hears everything.
#[derive(Default)]
pub(crate) struct Ear {
    events: Mutex<Vec<Event>>,
    heard: Notify,
}

impl Listener for Ear {
    fn hear(&self, event: Event) {
        self.events.lock().unwrap().push(event);
        self.heard.notify_waiters();
    }
}

impl Ear {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.lock().unwrap().clone()
    }

    /// Waits until something was heard.
    pub(crate) async fn until(&self, is: impl Fn(&Event) -> bool) {
        let wait = async {
            loop {
                let heard = self.heard.notified();
                tokio::pin!(heard);
                heard.as_mut().enable();
                if self.events().iter().any(&is) {
                    return;
                }
                heard.await;
            }
        };
        tokio::time::timeout(LONG, wait).await.unwrap_or_else(|_| panic!("never heard: {:?}", self.events()));
    }

    pub(crate) fn warnings(&self) -> String {
        let texts = self
            .events()
            .into_iter()
            .filter_map(|event| if let Event::Warning { text } = event { Some(text) } else { None });
        texts.collect::<Vec<_>>().join("\n")
    }
}

/// Answers questions by a list, and keeps them. When the list is over it refuses.
#[derive(Default)]
pub(crate) struct Person {
    answers: Mutex<VecDeque<Approval>>,
    asked: Mutex<Vec<Ask>>,
}

impl Person {
    pub(crate) fn saying(answers: impl IntoIterator<Item = Approval>) -> Self {
        Self { answers: Mutex::new(answers.into_iter().collect()), asked: Mutex::default() }
    }

    pub(crate) fn asked(&self) -> Vec<Ask> {
        self.asked.lock().unwrap().clone()
    }
}

impl Approver for Person {
    fn approve<'a>(&'a self, ask: Ask) -> BoxFuture<'a, Approval> {
        self.asked.lock().unwrap().push(ask);
        let answer = self.answers.lock().unwrap().pop_front();
        Box::pin(
            async move { answer.unwrap_or(Approval::Refuse { why: Some("the list is over".to_owned()) }) },
        )
    }
}

/// Never answers.
pub(crate) struct Absent;

impl Approver for Absent {
    fn approve<'a>(&'a self, _: Ask) -> BoxFuture<'a, Approval> {
        Box::pin(std::future::pending())
    }
}

/// Who is around in a test.
#[derive(Default)]
pub(crate) struct Room {
    pub(crate) ear: Ear,
    pub(crate) person: Person,
    pub(crate) inbox: Inbox,
    pub(crate) cancel: Mutex<CancelToken>,
}

impl Room {
    pub(crate) fn with(answers: impl IntoIterator<Item = Approval>) -> Self {
        Self { person: Person::saying(answers), ..Self::default() }
    }

    pub(crate) fn desk(&self) -> Desk<'_> {
        let cancel = self.cancel.lock().unwrap().clone();
        Desk { listener: &self.ear, approver: &self.person, inbox: &self.inbox, cancel }
    }

    /// A turn, with a token of its own.
    pub(crate) async fn turn(&self, agent: &mut Agent, words: &str) -> Result<TurnEnd, AgentError> {
        *self.cancel.lock().unwrap() = CancelToken::new();
        let desk = self.desk();
        let turn = agent.turn(Said::from(words), &desk);
        tokio::time::timeout(LONG, turn).await.unwrap_or_else(|_| panic!("the turn does not end"))
    }

    /// A turn, and what happens beside it.
    pub(crate) async fn turn_while(
        &self,
        agent: &mut Agent,
        words: &str,
        beside: impl Future<Output = ()>,
    ) -> Result<TurnEnd, AgentError> {
        tokio::join!(self.turn(agent, words), beside).0
    }

    pub(crate) fn interrupt(&self) {
        self.cancel.lock().unwrap().cancel();
    }
}

/// Waits for something that another process or task does.
pub(crate) async fn wait_for(what: &str, is: impl Fn() -> bool) {
    let wait = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(LONG, wait).await.unwrap_or_else(|_| panic!("never came: {what}"));
}

/// A tool as a script has it: the name and the input.
pub(crate) fn call(name: &str, input: Value) -> throughline_testkit::Answer {
    throughline_testkit::Answer::empty().call(name, input)
}

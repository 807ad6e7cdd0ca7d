//! Memory from outside: what one session says, the next one of the same project is told.

mod learnt;
mod placed;
mod strangers;
mod told;
mod trouble;

use crate::kit::{Asking, Reply, TestHome};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;
use throughline_core::stages::OwnTools;
use throughline_engine::config::MemorySettings;
use throughline_ledger::{Home, list};
use throughline_memory::handbook::phase2::Workspace;
use throughline_memory::handbook::{HandbookLimits, HomeId, ProjectKey, Scope};
use throughline_memory::topics::{Meta, NewTopic, TopicType};
use throughline_memory::{Memories, Project, Tier};
use throughline_model::{Http, Model, Provider, Wire};
use throughline_server::{Managing, MemoryOptions, Running, Server, Settings, Upstream, Upstreams};
use throughline_testkit::{self as testkit, Answer, Seen};

const RULE: &str = "Never use force pushes in this repository.";
const START: &str = "what earlier sessions left for this one";
/// A name that only a made-up path of the user's has.
const SECRET_PLACE: &str = "tools/quarrel.sh";

/// A home with projects, and proxies before one provider that come and go.
struct Town {
    provider: testkit::Server,
    home: TestHome,
    folders: TempDir,
}

impl Town {
    fn new() -> Self {
        Self::answering(Answer::text("Done."))
    }

    fn answering(script: impl testkit::Script) -> Self {
        let provider = testkit::Server::start(script).unwrap();
        Self { provider, home: TestHome::new(), folders: tempfile::tempdir().unwrap() }
    }

    fn home(&self) -> &Home {
        &self.home.home
    }

    /// A project's folder.
    fn project(&self, name: &str) -> PathBuf {
        let folder = self.folders.path().join(name);
        std::fs::create_dir_all(folder.join(".git")).unwrap();
        folder
    }

    async fn proxy(&self) -> Running {
        self.proxy_with(|_| {}).await
    }

    async fn proxy_with(&self, change: impl FnOnce(&mut Managing)) -> Running {
        let base = format!("http://{}", self.provider.address());
        let upstreams = Upstreams {
            anthropic: Upstream::anthropic(&base).unwrap(),
            openai: Upstream::openai(&base).unwrap(),
            chatgpt: None,
        };
        let mut settings = Settings::new(self.home().clone(), upstreams);
        // What is told is looked at here, not what is offered.
        let tools = OwnTools::default();
        let mut managing = Managing { memory: Some(options()), tools, ..Managing::default() };
        change(&mut managing);
        settings.manage = Some(managing);
        // A machine that is busy with other tests is not a slow store.
        settings.limits.our_time = std::time::Duration::from_secs(60);
        Server::start(settings).await.unwrap()
    }

    fn sent(&self) -> Vec<Seen> {
        self.provider.requests()
    }

    fn last(&self) -> String {
        String::from_utf8(self.sent().last().unwrap().body.to_vec()).unwrap()
    }

    fn memories(&self, project: &Path) -> Memories {
        Memories::open(self.home(), &Project::look(self.home(), project), &MemorySettings::default().places())
    }

    fn remember(&self, project: &Path, tier: Tier, description: &str, body: &str) {
        let new = NewTopic {
            kind: TopicType::Feedback,
            name: description.to_owned(),
            description: description.to_owned(),
            body: body.to_owned(),
            meta: Meta::default(),
        };
        self.memories(project).add_to(tier, new).unwrap();
    }

    fn kept(&self, project: &Path) -> Vec<String> {
        let memories = self.memories(project);
        let (listed, problems) = memories.list();
        assert!(problems.is_empty(), "{problems:?}");
        listed.iter().map(|one| memories.read(&one.id).unwrap().body).collect()
    }
}

fn options() -> MemoryOptions {
    // Histories are kept by git, which need not be there.
    let settings = MemorySettings { history: false, ..MemorySettings::default() };
    MemoryOptions { wait: std::time::Duration::from_secs(60), ..MemoryOptions::new(settings) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Claude,
    Codex,
    Chat,
}

const SHAPES: [Shape; 3] = [Shape::Claude, Shape::Codex, Shape::Chat];

/// A conversation as a client keeps it.
struct Talk {
    shape: Shape,
    session: String,
    agent: Option<String>,
    messages: Vec<Value>,
}

impl Talk {
    fn new(shape: Shape, session: &str, cwd: &Path) -> Self {
        Self::told(shape, session, cwd, "Be careful with the database.")
    }

    /// With instructions of the project's own.
    fn told(shape: Shape, session: &str, cwd: &Path, instructions: &str) -> Self {
        let cwd = cwd.display();
        let text = |kind: &str, text: String| json!({"type": kind, "text": text});
        let messages = match shape {
            // The client adds the environment behind the first words: see `say`.
            Shape::Claude => vec![
                json!({"role": "user", "content": [
                    text("text", format!("<system-reminder>\nCodebase and user instructions\n{instructions}\n</system-reminder>")),
                ]}),
                json!({"role": "system", "content": format!("# Environment\n - Primary working directory: {cwd}")}),
            ],
            Shape::Codex => vec![
                json!({"type": "message", "role": "developer", "content": [text("input_text", "You are a coding agent.".into())]}),
                json!({"type": "message", "role": "user", "content": [
                    text("input_text", format!("# AGENTS.md instructions for {cwd}\n\n<INSTRUCTIONS>\n{instructions}\n</INSTRUCTIONS>")),
                    text("input_text", format!("<environment_context>\n  <cwd>{cwd}</cwd>\n</environment_context>")),
                ]}),
            ],
            Shape::Chat => vec![json!({"role": "system", "content": "You are a coding agent."})],
        };
        Self { shape, session: session.to_owned(), agent: None, messages }
    }

    fn say(&mut self, words: &str) {
        match self.shape {
            // The first words join the reminder, and the environment stays behind them.
            Shape::Claude if self.messages.len() == 2 && self.messages[0]["content"].as_array().unwrap().len() == 1 => {
                let content = self.messages[0]["content"].as_array_mut().unwrap();
                content.push(json!({"type": "text", "text": words}));
            }
            Shape::Claude => {
                self.messages.push(json!({"role": "user", "content": [{"type": "text", "text": words}]}));
            }
            Shape::Codex => self.messages.push(
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}),
            ),
            Shape::Chat => self.messages.push(json!({"role": "user", "content": words})),
        }
    }

    fn answered(&mut self, words: &str) {
        self.messages.push(match self.shape {
            Shape::Claude => json!({"role": "assistant", "content": [{"type": "text", "text": words}]}),
            Shape::Codex => {
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]})
            }
            Shape::Chat => json!({"role": "assistant", "content": words}),
        });
    }

    /// The model called a tool, and this came back.
    fn used_tool(&mut self, id: &str, result: &str) {
        match self.shape {
            Shape::Claude => {
                let call = json!({"type": "tool_use", "id": id, "name": "Bash", "input": {"command": "ls"}});
                self.messages.push(json!({"role": "assistant", "content": [call]}));
                let result = json!({"type": "tool_result", "tool_use_id": id, "content": result});
                self.messages.push(json!({"role": "user", "content": [result]}));
            }
            Shape::Codex => {
                self.messages
                    .push(json!({"type": "function_call", "call_id": id, "name": "exec", "arguments": "{}"}));
                self.messages.push(json!({"type": "function_call_output", "call_id": id, "output": result}));
            }
            Shape::Chat => {
                let call =
                    json!({"id": id, "type": "function", "function": {"name": "exec", "arguments": "{}"}});
                self.messages.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
                self.messages.push(json!({"role": "tool", "tool_call_id": id, "content": result}));
            }
        }
    }

    fn asking(&self) -> Asking {
        let messages = &self.messages;
        let tools = json!([{"name": "Bash", "input_schema": {"type": "object"}}]);
        // The conversation comes last: one request begins with the bytes of the one before it.
        let (path, body) = match self.shape {
            Shape::Claude => (
                "/v1/messages?beta=true",
                format!(
                    r#"{{"model":"claude-opus-4-5","max_tokens":32000,"tools":{tools},"messages":{}}}"#,
                    json!(messages)
                ),
            ),
            Shape::Codex => (
                "/v1/responses",
                format!(r#"{{"model":"gpt-5.5","store":false,"input":{}}}"#, json!(messages)),
            ),
            Shape::Chat => {
                ("/v1/chat/completions", format!(r#"{{"model":"gpt-5","messages":{}}}"#, json!(messages)))
            }
        };
        let asking = Asking::post(path, body);
        let asking = match self.shape {
            Shape::Claude => asking
                .header("user-agent", "claude-cli/2.1.325 (external, sdk-cli)")
                .header("x-claude-code-session-id", &self.session),
            Shape::Codex => asking
                .header("user-agent", "codex_exec/0.166.0 (Debian)")
                .header("thread-id", &self.session)
                .header("session-id", &self.session),
            Shape::Chat => asking.header("x-throughline-session", &self.session),
        };
        match &self.agent {
            Some(agent) => asking.header("x-claude-code-agent-id", agent),
            None => asking,
        }
    }

    async fn ask(&self, proxy: &Running) -> Reply {
        let reply = self.asking().of(proxy.address()).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        reply
    }

    /// One turn: the user says something, and it is answered.
    async fn turn(&mut self, words: &str, proxy: &Running) {
        self.say(words);
        self.ask(proxy).await;
        self.answered("Done.");
    }
}

/// The folder by the client itself, or by the proxy where the client has no words for it.
fn with_project(shape: Shape, folder: &Path) -> impl FnOnce(&mut Managing) {
    let folder = (shape == Shape::Chat).then(|| folder.to_owned());
    move |managing| managing.project = folder
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if entry.path().is_dir() { found.extend(walk(&entry.path())) } else { found.push(entry.path()) }
    }
    found
}

/// Waits for what happens in the background.
async fn until(is_so: impl Fn() -> bool) {
    for _ in 0..6_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("it never came");
}

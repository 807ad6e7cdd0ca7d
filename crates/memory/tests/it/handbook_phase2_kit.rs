//! What tests of phase 2 share: a home with a store and sessions, and a model that does as it is told.

use crate::store_kit::{HOME, World, app, consolidates, cost, extracts, only, wanted};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;
use throughline_core::cost::Price;
use throughline_core::tokens::Counter;
use throughline_core::{Body, CallKind, Message, Role, ToolCall, ToolInput, Usage};
use throughline_ledger::Home;
use throughline_memory::handbook::phase2::{
    Consolidator, Phase2, Phase2Done, Phase2Error, Workspace, consolidate_handbook,
};
use throughline_memory::handbook::{
    Basis, Evidence, Extraction, Finding, FindingKind, HandbookLimits, HomeId, ProjectKey, Reach, Scope,
};
use throughline_memory::store::{Extracted, Held, JobKey, Lease, Source};
use throughline_model::{Answer, BoxFuture, Call, CancelToken, Caps, Model, ModelError, Wire};
use throughline_wire::{Response, Stop};

/// What the user said, with the message that has it.
pub(crate) fn said(session: &str, message: &str, text: &str) -> Finding {
    Finding {
        basis: Basis::Said,
        quote: Some(text.to_owned()),
        ..found(session, message, FindingKind::Preference, text)
    }
}

/// What was seen.
pub(crate) fn seen(session: &str, message: &str, kind: FindingKind, text: &str) -> Finding {
    found(session, message, kind, text)
}

fn found(session: &str, message: &str, kind: FindingKind, text: &str) -> Finding {
    let at = Some("2025-06-01T10:00:00Z".parse().unwrap());
    Finding {
        kind,
        basis: Basis::Observed,
        text: text.to_owned(),
        quote: None,
        evidence: vec![Evidence::Message { session: session.into(), message: message.into(), at }],
        keywords: Vec::new(),
        reach: Reach::Project,
        outcome: None,
    }
}

pub(crate) fn key(session: &str, message: &str) -> String {
    Evidence::Message { session: session.into(), message: message.into(), at: None }.key().to_string()
}

/// A home with a store.
pub(crate) struct House {
    pub(crate) parent: TempDir,
    pub(crate) world: World,
    pub(crate) limits: HandbookLimits,
    pub(crate) uses_git: bool,
    /// Elsewhere than in the temporary folder.
    pub(crate) home_at: Option<PathBuf>,
}

impl House {
    pub(crate) async fn new() -> Self {
        let parent = tempfile::tempdir().unwrap();
        fs::write(parent.path().join("outside.txt"), "untouched").unwrap();
        let world = World::sqlite().await.unwrap();
        Self { parent, world, limits: HandbookLimits::default(), uses_git: true, home_at: None }
    }

    /// With two sessions of `app` that taught something.
    pub(crate) async fn with_sessions() -> Self {
        let house = Self::new().await;
        house
            .teach(
                "s-1",
                "app",
                1,
                vec![
                    said("s-1", "m-1", "Use pnpm here, never npm."),
                    seen(
                        "s-1",
                        "m-2",
                        FindingKind::Procedure,
                        "Tests of the importer: `cargo test -p importer` (seen to pass).",
                    ),
                ],
            )
            .await;
        house
            .teach(
                "s-2",
                "app",
                1,
                vec![seen(
                    "s-2",
                    "m-1",
                    FindingKind::Pitfall,
                    "`cargo build` failed with `linker cc not found`; `apt-get install gcc` put it right.",
                )],
            )
            .await;
        house
    }

    pub(crate) fn home(&self) -> Home {
        Home::new(self.home_at.clone().unwrap_or_else(|| self.parent.path().join("home")))
    }

    pub(crate) fn workspace(&self) -> Workspace {
        self.workspace_of(&app())
    }

    pub(crate) fn workspace_of(&self, scope: &Scope) -> Workspace {
        let workspace = Workspace::new(&self.home(), scope, &self.limits);
        if self.uses_git { workspace } else { workspace.without_git() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.world.hands.now()
    }

    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.workspace().folder().join(file)
    }

    pub(crate) fn text(&self, file: &str) -> String {
        fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// What a session taught.
    pub(crate) async fn teach(&self, session: &str, project: &str, watermark: i64, findings: Vec<Finding>) {
        self.world.store.enqueue(&[wanted(session, project, watermark)]).await.unwrap();
        let lease = self.world.claim_one(only(extracts("phase1"), JobKey::Extract(session.into()))).await;
        let extraction = Extraction {
            findings,
            summary: format!("# What {session} did\n\nIt worked in {project}."),
            slug: format!("work-of-{session}"),
        };
        let source = Source {
            session: session.into(),
            project: ProjectKey::new(project),
            home: HomeId::new(HOME),
            ledger: format!("2025/06/01/{session}.jsonl"),
            client: "throughline".to_owned(),
            cwd: Some(format!("/work/{project}")),
            branch: Some("main".to_owned()),
            created: Some("2025-06-01T09:00:00Z".parse().unwrap()),
            updated: self.now(),
        };
        let extracted = Extracted { source, extraction: Some(extraction), cost: cost() };
        assert_eq!(self.world.store.finish_extract(&lease, &extracted).await.unwrap(), Held::Held);
    }

    /// The job of a handbook, raised if it is not due.
    pub(crate) async fn lease(&self, scope: &Scope) -> Lease {
        let claim = only(consolidates("phase2"), JobKey::Consolidate(scope.clone()));
        if let Some(lease) = self.world.claim(claim.clone()).await.pop() {
            return lease;
        }
        // The one before is done, or failed and waits.
        let wanted = [throughline_memory::store::Wanted::Consolidate(scope.clone())];
        self.world.store.enqueue(&wanted).await.unwrap();
        if let Some(lease) = self.world.claim(claim.clone()).await.pop() {
            return lease;
        }
        self.world.hands.pass(90_000);
        self.world.claim_one(claim).await
    }

    pub(crate) async fn offline(&self) -> Phase2Done {
        self.offline_of(&app()).await
    }

    pub(crate) async fn offline_of(&self, scope: &Scope) -> Phase2Done {
        let lease = self.lease(scope).await;
        let done = self.run(&lease, None, CancelToken::new()).await.unwrap();
        assert_eq!(
            self.world.store.finish_consolidate(&lease, &done.consolidated).await.unwrap(),
            Held::Held
        );
        done
    }

    pub(crate) async fn run(
        &self,
        lease: &Lease,
        model: Option<Consolidator<'_>>,
        cancel: CancelToken,
    ) -> Result<Phase2Done, Phase2Error> {
        let JobKey::Consolidate(scope) = &lease.job else { panic!("{lease:?}") };
        let workspace = self.workspace_of(scope);
        let mut counter = Counter::for_model("gpt-5.5");
        let job = Phase2 {
            store: &*self.world.store,
            workspace: &workspace,
            lease,
            model,
            counter: &mut counter,
            cancel,
            now: self.now(),
        };
        consolidate_handbook(job).await
    }

    /// By a model; the job is finished or failed as a worker would.
    pub(crate) async fn by_model(
        &self,
        model: &Scripted,
        or_offline: bool,
    ) -> Result<Phase2Done, Phase2Error> {
        let lease = self.lease(&app()).await;
        let (caps, price) = (caps(), Price::unknown());
        let consolidator = Consolidator { model, caps: &caps, price: &price, or_offline };
        let done = self.run(&lease, Some(consolidator), CancelToken::new()).await;
        let _ = match &done {
            Ok(done) => self.world.store.finish_consolidate(&lease, &done.consolidated).await.unwrap(),
            Err(error) => self.world.store.fail(&lease, &error.failure()).await.unwrap(),
        };
        done
    }

    /// Every file below the temporary folder, with its bytes.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        all_files(self.parent.path())
    }

    /// Every file of the handbook but our own.
    pub(crate) fn book(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = all_files(self.workspace().folder());
        files.retain(|path, _| !path.to_string_lossy().contains("/.throughline/"));
        files
    }
}

pub(crate) fn caps() -> Caps {
    Caps { turns: 12, input_tokens: 1_000_000, output_tokens: 100_000, dollars: 1.0, seconds: 600 }
}

pub(crate) fn all_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map(Result::unwrap) {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                open.push(path);
            } else if kind.is_symlink() {
                files.insert(
                    path.clone(),
                    fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
                );
            } else {
                files.insert(path.clone(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// What a scripted model does in a turn.
#[derive(Clone)]
pub(crate) enum Turn {
    Calls(Vec<(&'static str, Value)>),
    Say(&'static str),
    Fail,
    Hang,
}

/// A model that does as it is told.
pub(crate) struct Scripted {
    turns: Mutex<VecDeque<Turn>>,
    /// What is done when the script is at its end.
    last: Turn,
    /// The bodies that were sent.
    pub(crate) sent: Mutex<Vec<Value>>,
}

impl Scripted {
    pub(crate) fn new(turns: Vec<Turn>) -> Self {
        Self { turns: Mutex::new(turns.into()), last: Turn::Say("Done."), sent: Mutex::default() }
    }

    pub(crate) fn without_end(turns: Vec<Turn>, last: Turn) -> Self {
        Self { last, ..Self::new(turns) }
    }

    /// Writes files, then ends.
    pub(crate) fn writing(files: &[(&str, &str)]) -> Self {
        let calls = files.iter().map(|(path, text)| ("write", json!({"path": path, "text": text}))).collect();
        Self::new(vec![Turn::Calls(calls)])
    }

    /// Everything that the model was shown and said, as text.
    pub(crate) fn heard(&self) -> String {
        self.sent.lock().unwrap().last().map(Value::to_string).unwrap_or_default()
    }
}

impl Model for Scripted {
    fn wire(&self) -> Wire {
        Wire::Anthropic
    }

    fn id(&self) -> &str {
        "scripted"
    }

    fn send<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Answer, ModelError>> {
        self.sent.lock().unwrap().push(serde_json::from_slice(&call.body).unwrap());
        let number = self.sent.lock().unwrap().len();
        let turn = self.turns.lock().unwrap().pop_front().unwrap_or_else(|| self.last.clone());
        Box::pin(async move {
            let at = self.id().to_owned();
            let (blocks, stop) = match turn {
                Turn::Fail => {
                    return Err(ModelError::Server { at, status: Some(500), message: "broken".to_owned() });
                }
                Turn::Hang => {
                    call.cancel.cancelled().await;
                    return Err(ModelError::Cancelled { at, partial: None });
                }
                Turn::Say(text) => (vec![Body::Text(text.to_owned()).into()], Stop::EndTurn),
                Turn::Calls(calls) => {
                    let block = |(at, (name, input)): (usize, (&str, Value))| {
                        let id = format!("c{number}-{at}").as_str().into();
                        let (name, input) = (name.to_owned(), ToolInput::Json(input));
                        Body::ToolCall(ToolCall { id, name, input, kind: CallKind::Function }).into()
                    };
                    (calls.into_iter().enumerate().map(block).collect(), Stop::ToolUse)
                }
            };
            let response = Response {
                wire: Wire::Anthropic,
                messages: vec![Message::new(Role::Assistant, blocks)],
                envelope: Map::new(),
                usage: Usage { input: 1_000, output: 100, ..Usage::default() },
                stop,
            };
            Ok(Answer { response, attempts: 1, request_id: None, estimated: false, wasted: Usage::default() })
        })
    }
}

/// A book that a model might write of the two sessions.
pub(crate) fn good_book() -> String {
    format!(
        "# Handbook: app\n\nscope: project:app\n\n## User preferences\n\n- Use pnpm here, never npm. “Use pnpm here, never npm.” (keywords: pnpm) [{}]\n\n\
         ## Procedures\n\n- Importer tests: `cargo test -p importer` was seen to pass. (keywords: importer, tests) [{}]\n\n\
         ## Pitfalls\n\n- A missing linker (`linker cc not found`) made `cargo build` fail. [{}]\n",
        key("s-1", "m-1"),
        key("s-1", "m-2"),
        key("s-2", "m-1")
    )
}

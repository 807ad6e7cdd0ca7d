//! Consolidating a handbook: its files, what makes it run, and a model that does well.

use crate::store_kit::{HOME, World, app, consolidates, cost, extracts, only, scope, wanted};
use crate::topics_history::has_git;
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
    Consolidator, Phase2, Phase2Done, Phase2Error, Phase2Outcome, Workspace, consolidate_handbook,
};
use throughline_memory::handbook::{
    Basis, Evidence, Extraction, Finding, FindingKind, HandbookLimits, HomeId, ProjectKey, Reach, Scope,
};
use throughline_memory::notes::Author;
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
                Turn::Say(text) => (vec![Body::Text(text.to_owned().into()).into()], Stop::EndTurn),
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

#[tokio::test]
async fn h3_two_sessions_become_a_book_with_its_files() {
    let house = House::with_sessions().await;
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert_eq!(done.consolidated.edition, Some(1));
    assert_eq!(done.consolidated.selected.len(), 2);
    let memory = house.text("MEMORY.md");
    assert!(memory.contains("pnpm") && memory.contains(&key("s-1", "m-1")), "{memory}");
    assert!(house.text("EVIDENCE.md").contains(&key("s-2", "m-1")));
    assert!(house.text("memory_summary.md").starts_with("v1\n"));
    let raw = house.text("raw_memories.md");
    assert!(raw.find("## Session s-1").unwrap() < raw.find("## Session s-2").unwrap(), "{raw}");
    let summaries: Vec<_> =
        fs::read_dir(house.path("rollout_summaries")).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(summaries.len(), 2);
    let first = summaries.iter().find(|path| path.to_string_lossy().contains("work-of-s-1")).unwrap();
    let name = first.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("2025-06-01T09-00-00-") && name.ends_with("-work-of-s-1.md"), "{name}");
    let text = fs::read_to_string(first).unwrap();
    assert!(text.starts_with("session: s-1\nupdated: "), "{text}");
    assert!(
        text.contains("\nledger: 2025/06/01/s-1.jsonl\ncwd: /work/app\nbranch: main\n\n# What s-1 did\n"),
        "{text}"
    );
    assert!(house.path("extensions/ad_hoc/instructions.md").is_file());
    assert!(!house.path("phase2_workspace_diff.md").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn everything_in_the_folder_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let house = House::with_sessions().await;
    house.workspace().add_note("Remember the tabs.", house.now()).unwrap();
    house.offline().await;
    let root = house.workspace().folder().to_owned();
    let mut open = vec![root.clone()];
    while let Some(path) = open.pop() {
        let mode = fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        // What git writes it makes readable; nobody gets there.
        if !path.starts_with(root.join(".throughline/history.git")) {
            assert_eq!(mode, if path.is_dir() { 0o700 } else { 0o600 }, "{}", path.display());
        }
        if path.is_dir() {
            open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
}

#[tokio::test]
async fn h3_without_a_difference_nothing_runs() {
    let house = House::with_sessions().await;
    house.offline().await;
    let before = house.book();
    let model = Scripted::new(vec![Turn::Fail]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Unchanged);
    assert!(model.sent.lock().unwrap().is_empty(), "nobody was asked");
    assert_eq!(house.book(), before);
    assert_eq!(house.world.store.edition(&app()).await.unwrap().unwrap().number, 1);
    assert_eq!(done.consolidated.selected.len(), 2, "it still rests on them");
}

#[tokio::test]
async fn of_nothing_there_is_no_handbook() {
    let house = House::new().await;
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Nothing);
    assert!(!house.path("MEMORY.md").exists());
}

#[tokio::test]
async fn h3_what_lost_its_evidence_is_gone_from_all_files() {
    let house = House::with_sessions().await;
    house.offline().await;
    assert!(house.text("MEMORY.md").contains("pnpm"));
    assert!(house.world.store.forget(&"s-1".into()).await.unwrap());
    let done = house.offline().await;
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    for (path, bytes) in house.book() {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("pnpm") && !text.contains("s-1"), "{}: {text}", path.display());
    }
    assert!(house.text("MEMORY.md").contains("linker cc"));
}

#[tokio::test]
async fn h3_unchanged_files_are_not_written_again() {
    let house = House::with_sessions().await;
    house.offline().await;
    let stamp = |file: &str| fs::metadata(house.path(file)).unwrap().modified().unwrap();
    let name = fs::read_dir(house.path("rollout_summaries")).unwrap().next().unwrap().unwrap().file_name();
    let file = format!("rollout_summaries/{}", name.to_str().unwrap());
    let before = stamp(&file);
    house.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Commit messages are short.")]).await;
    let done = house.offline().await;
    assert!(!done.changed.contains(&file), "{:?}", done.changed);
    assert_eq!(stamp(&file), before);
    assert!(done.changed.contains(&"raw_memories.md".to_owned()));
}

#[tokio::test]
async fn h3_a_model_consolidates_by_the_diff() {
    let house = House::with_sessions().await;
    let model = Scripted::new(vec![
        Turn::Calls(vec![("read", json!({"path": "phase2_workspace_diff.md"})), ("list", json!({}))]),
        Turn::Calls(vec![
            ("search", json!({"pattern": "pnpm", "path": "raw_memories.md"})),
            ("read", json!({"path": "raw_memories.md", "from": 3, "lines": 2})),
        ]),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
        Turn::Calls(vec![(
            "edit",
            json!({"path": "MEMORY.md", "old": "was seen to pass", "new": "(seen to pass)"}),
        )]),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Model));
    assert_eq!(done.receipts.len(), 1);
    assert!(done.consolidated.cost.tokens > 0 && done.consolidated.cost.model.as_deref() == Some("scripted"));
    let heard = model.heard();
    assert!(heard.contains("- A raw_memories.md"), "{heard}");
    assert!(heard.contains("go on with from: 5"), "{heard}");
    let memory = house.text("MEMORY.md");
    assert!(memory.contains("`cargo test -p importer` (seen to pass)"), "{memory}");
    assert!(house.text("EVIDENCE.md").contains(&key("s-2", "m-1")), "code wrote it");
    assert!(house.text("memory_summary.md").starts_with("v1\n"), "code wrote what the model did not");
    assert!(!house.path("phase2_workspace_diff.md").exists());
    // The fork may do nothing but this.
    let sent = model.sent.lock().unwrap();
    let tools: Vec<&str> =
        sent[0]["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["list", "read", "search", "write", "edit", "delete"]);
}

#[tokio::test]
async fn h3_a_flaw_is_told_once_and_mended_within_the_same_caps() {
    let house = House::with_sessions().await;
    let forged = good_book().replace(&key("s-1", "m-1"), "e0000000000");
    let model = Scripted::new(vec![
        Turn::Calls(vec![(
            "write",
            json!({"path": "MEMORY.md", "text": forged.replace(&key("s-1", "m-2"), "e1111111111")}),
        )]),
        Turn::Say("Done."),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Model));
    assert_eq!(done.receipts.len(), 2);
    assert!(model.heard().contains("can't be used yet"), "{}", model.heard());
    assert!(house.text("MEMORY.md").contains("pnpm"));
}

#[tokio::test]
async fn few_bullets_without_evidence_are_taken_out_and_told() {
    let house = House::with_sessions().await;
    let book = format!("{}- Something nobody saw. [e0000000000]\n", good_book());
    let done = house.by_model(&Scripted::writing(&[("MEMORY.md", &book)]), false).await.unwrap();
    assert!(done.dropped.iter().any(|line| line.contains("Something nobody saw")), "{:?}", done.dropped);
    let memory = house.text("MEMORY.md");
    assert!(!memory.contains("nobody saw") && memory.contains("pnpm"), "{memory}");
}

#[tokio::test]
async fn where_the_model_fails_the_offline_scribe_does_it_if_it_may() {
    let house = House::with_sessions().await;
    let done = house.by_model(&Scripted::new(vec![Turn::Fail]), true).await.unwrap();
    assert_eq!(done.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert!(done.instead.as_ref().unwrap().contains("broken"), "{:?}", done.instead);
    assert!(house.text("MEMORY.md").contains("pnpm"));
    assert_eq!(done.consolidated.cost.by, Author::Offline);
    assert_eq!(done.consolidated.cost.model.as_deref(), Some("scripted"), "what it cost is told");
}

#[tokio::test]
async fn h6_notes_by_hand_are_redacted_kept_and_consolidated() {
    let house = House::with_sessions().await;
    let workspace = house.workspace();
    let note =
        workspace.add_note("Deploys go out on Tuesdays. password=hunter2-Secret-99", house.now()).unwrap();
    assert!(note.file.ends_with(".md") && note.file.contains("deploys-go-out"), "{}", note.file);
    assert!(!note.text.contains("hunter2"), "{}", note.text);
    assert_eq!(workspace.notes().unwrap(), [note.clone()], "seen before any consolidation");
    let again =
        workspace.add_note("Deploys go out on Tuesdays. password=hunter2-Secret-99", house.now()).unwrap();
    assert_ne!(again.file, note.file);
    for bad in ["", "  \n", &"x".repeat(1 << 20)] {
        assert!(matches!(workspace.add_note(bad, house.now()), Err(Phase2Error::Note { .. })));
    }
    fs::write(house.path("extensions/ad_hoc/instructions.md"), "My own words.\n").unwrap();
    let path = house.path(&format!("extensions/ad_hoc/notes/{}", note.file));
    let before = fs::read(&path).unwrap();
    house.offline().await;
    assert!(house.text("MEMORY.md").contains("Deploys go out on Tuesdays"));
    assert_eq!(house.text("extensions/ad_hoc/instructions.md"), "My own words.\n");
    assert_eq!(fs::read(&path).unwrap(), before, "never edited");
    // Deleted by hand it is forgotten.
    fs::remove_file(&path).unwrap();
    fs::remove_file(house.path(&format!("extensions/ad_hoc/notes/{}", again.file))).unwrap();
    house.offline().await;
    assert!(!house.text("MEMORY.md").contains("Tuesdays"));
}

#[tokio::test]
async fn nothing_of_one_project_is_in_anothers_folder() {
    let house = House::with_sessions().await;
    house
        .teach(
            "s-9",
            "other",
            1,
            vec![
                said("s-9", "m-1", "In zebra-land use yarn."),
                seen("s-9", "m-2", FindingKind::Environment, "The zebra database listens on port 5599."),
            ],
        )
        .await;
    house.offline().await;
    house.offline_of(&scope("other")).await;
    house.offline_of(&Scope::Global).await;
    let grep = |scope: &Scope, word: &str| {
        let files = all_files(house.workspace_of(scope).folder());
        files
            .into_iter()
            .filter(|(path, bytes)| {
                path.to_string_lossy().contains(word)
                    || bytes.windows(word.len()).any(|part| part == word.as_bytes())
            })
            .map(|(path, _)| path)
            .collect::<Vec<_>>()
    };
    for word in ["zebra", "s-9", "/work/other", "yarn"] {
        assert_eq!(grep(&app(), word), Vec::<PathBuf>::new(), "{word}");
        assert!(!grep(&scope("other"), word).is_empty(), "{word}");
        assert_eq!(grep(&Scope::Global, word), Vec::<PathBuf>::new(), "{word}");
    }
    for word in ["pnpm", "importer", "/work/app"] {
        assert_eq!(grep(&scope("other"), word), Vec::<PathBuf>::new(), "{word}");
        assert_eq!(grep(&Scope::Global, word), Vec::<PathBuf>::new(), "{word}");
    }
}

#[tokio::test]
async fn a_model_is_shown_nothing_of_other_projects() {
    let house = House::with_sessions().await;
    house.teach("s-9", "other", 1, vec![said("s-9", "m-1", "In zebra-land use yarn.")]).await;
    let model = Scripted::new(vec![
        Turn::Calls(vec![
            ("list", json!({})),
            ("search", json!({"pattern": "."})),
            ("read", json!({"path": "raw_memories.md"})),
            ("read", json!({"path": "../other/raw_memories.md"})),
        ]),
        Turn::Calls(vec![("write", json!({"path": "MEMORY.md", "text": good_book()}))]),
    ]);
    house.by_model(&model, false).await.unwrap();
    assert!(!model.heard().contains("zebra") && !model.heard().contains("s-9"), "{}", model.heard());
}

#[tokio::test]
async fn without_git_it_works_and_says_so() {
    let house = House { uses_git: false, ..House::with_sessions().await };
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Consolidated(Author::Offline));
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    let past = house.workspace().history(10).unwrap();
    assert!(
        past.off.is_some() && past.records.iter().any(|record| record.kind.name() == "consolidated"),
        "{past:?}"
    );
    assert!(!house.path(".throughline/history.git").exists());
    if !has_git() {
        return;
    }
    // Once git is there it has what was.
    let house = House { uses_git: true, ..house };
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    let past = house.workspace().history(10).unwrap();
    assert!(
        past.off.is_none() && past.records.iter().any(|record| record.kind.name() == "consolidated"),
        "{past:?}"
    );
}

#[tokio::test]
async fn another_machines_edition_is_taken_in_and_changes_by_hand_stay() {
    let house = House::with_sessions().await;
    house.offline().await;
    // Another home that shares the store.
    let other = House {
        parent: tempfile::tempdir().unwrap(),
        limits: house.limits.clone(),
        uses_git: true,
        home_at: None,
        world: house.world,
    };
    let workspace = other.workspace();
    let synced =
        throughline_memory::handbook::phase2::sync_handbook(&*other.world.store, &workspace, other.now())
            .await
            .unwrap();
    assert_eq!(synced.edition, Some(1));
    assert!(other.text("MEMORY.md").contains("pnpm"));
    let memory = other.text("MEMORY.md");
    let edited = memory.replace("## Pitfalls", "## Pitfalls\n\nMy own remark.\n");
    fs::write(other.path("MEMORY.md"), &edited).unwrap();
    let again =
        throughline_memory::handbook::phase2::sync_handbook(&*other.world.store, &workspace, other.now())
            .await
            .unwrap();
    assert_eq!(again.edition, None);
    assert_eq!(other.text("MEMORY.md"), edited);
    other.teach("s-3", "app", 1, vec![said("s-3", "m-1", "Commit messages are short.")]).await;
    let done = other.offline().await;
    assert_eq!(done.edits, ["MEMORY.md"], "told");
    assert_eq!(done.consolidated.edition, Some(2));
}

#[tokio::test]
async fn a_bullet_that_people_add_by_hand_becomes_a_note_and_stays() {
    let house = House::with_sessions().await;
    house.offline().await;
    let by_hand = "## User preferences\n\n- Deploys go out on Tuesdays only.\n";
    fs::write(house.path("MEMORY.md"), house.text("MEMORY.md").replace("## User preferences\n", by_hand))
        .unwrap();
    let done = house.offline().await;
    assert_eq!(done.edits, ["MEMORY.md"]);
    let notes = house.workspace().notes().unwrap();
    assert_eq!(
        notes.iter().map(|note| note.text.as_str()).collect::<Vec<_>>(),
        ["Deploys go out on Tuesdays only."]
    );
    let note = Evidence::Note { file: notes[0].file.clone() }.key().to_string();
    let memory = house.text("MEMORY.md");
    let line = memory.lines().find(|line| line.contains("Tuesdays")).unwrap_or_else(|| panic!("{memory}"));
    assert!(line.contains(&note), "{line}");
    assert_eq!(memory.matches("Tuesdays").count(), 1, "{memory}");
    assert_eq!(house.offline().await.outcome, Phase2Outcome::Unchanged);
    assert_eq!(house.workspace().notes().unwrap().len(), 1);
}

#[tokio::test]
async fn skills_of_people_stay_and_ours_go_with_their_evidence() {
    let house = House::with_sessions().await;
    let skill = |name: &str, keys: &str| {
        format!(
            "---\nname: {name}\ndescription: Tests of the importer\n---\n\n# Importer\n\n1. Run `cargo test -p importer`.\n\nEvidence: [{keys}]\n"
        )
    };
    let by_hand = skill("by-hand", "none");
    fs::create_dir_all(house.path("skills/by-hand")).unwrap();
    fs::write(house.path("skills/by-hand/SKILL.md"), &by_hand).unwrap();
    let ours = skill("importer", &key("s-1", "m-2"));
    let forged = skill("forged", "e0000000000");
    let model = Scripted::writing(&[
        ("MEMORY.md", &good_book()),
        ("skills/importer/SKILL.md", &ours),
        ("skills/forged/SKILL.md", &forged),
        ("skills/by-hand/SKILL.md", "mine now"),
    ]);
    let done = house.by_model(&model, false).await.unwrap();
    assert!(done.dropped.iter().any(|line| line.contains("forged")), "{:?}", done.dropped);
    assert!(house.path("skills/importer/SKILL.md").is_file(), "{:?}", done.dropped);
    assert!(!house.path("skills/forged").exists());
    assert_eq!(house.text("skills/by-hand/SKILL.md"), by_hand);
    // A model that leaves it as it is does not keep it alive.
    assert!(house.world.store.forget(&"s-1".into()).await.unwrap());
    let book = format!(
        "# Handbook: app\n\n## Pitfalls\n\n- `cargo build` failed with `linker cc not found`. [{}]\n",
        key("s-2", "m-1")
    );
    house.by_model(&Scripted::writing(&[("MEMORY.md", &book)]), false).await.unwrap();
    assert!(!house.path("skills/importer").exists());
    assert_eq!(house.text("skills/by-hand/SKILL.md"), by_hand);
    for file in ["MEMORY.md", "EVIDENCE.md", "memory_summary.md", "raw_memories.md"] {
        assert!(!house.text(file).contains("pnpm"), "{file}");
    }
}

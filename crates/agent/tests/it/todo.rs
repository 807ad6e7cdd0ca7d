//! The small tools: TodoWrite and ExitPlanMode, and how facts are read from their calls.

use serde_json::{Value, json};
use std::fs;
use throughline_agent::files::Files;
use throughline_agent::permissions::Mode;
use throughline_agent::tools::{EXIT_PLAN_MODE, ExitPlanMode, TodoWrite, Todos};
use throughline_agent::workspace::Workspace;
use throughline_agent::{Access, Shown, Todo, TodoState, Tool, ToolContext, ToolOutput};
use throughline_core::facts::{Action, Facts, Status};
use throughline_core::{CallKind, ToolCall, ToolInput};
use throughline_model::CancelToken;

/// Runs a tool in an empty folder.
pub(crate) async fn run_in(tool: &dyn Tool, input: &Value, mode: Mode, cancel: CancelToken) -> ToolOutput {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::new(folder.path(), &[]).unwrap();
    let files = Files::default();
    let cx =
        ToolContext { call: "c1", workspace: &workspace, files: &files, mode, cancel, progress: &|_| {} };
    tool.run(input, cx).await
}

pub(crate) async fn run(tool: &dyn Tool, input: Value) -> ToolOutput {
    run_in(tool, &input, Mode::Ask, CancelToken::new()).await
}

pub(crate) fn access(tool: &dyn Tool, input: &Value) -> Result<Access, String> {
    let folder = tempfile::tempdir().unwrap();
    tool.access(input, &Workspace::new(folder.path(), &[]).unwrap())
}

pub(crate) fn text(output: &ToolOutput) -> String {
    output.content.to_text().into_owned()
}

fn action(name: &str, input: Value) -> Action {
    Action::of(&ToolCall {
        id: "c1".into(),
        name: name.to_owned(),
        input: ToolInput::Json(input),
        kind: CallKind::Function,
    })
}

fn three() -> Value {
    json!({"todos": [
        {"content": "Read the parser", "status": "completed", "activeForm": "Reading the parser"},
        {"content": " Fix it ", "status": "in_progress"},
        {"content": "Run the tests", "status": "pending"},
    ]})
}

#[tokio::test]
async fn a_list_is_kept_shown_and_read_as_a_fact() {
    let todos = Todos::default();
    let tool = TodoWrite::new(todos.clone());
    assert_eq!(access(&tool, &three()), Ok(Access::Inner));
    let output = run(&tool, three()).await;
    assert!(!output.is_error);
    assert_eq!(text(&output), "The list is saved: 1 completed, 1 in progress, 1 pending.");
    let expected = vec![
        Todo { content: "Read the parser".into(), status: TodoState::Completed },
        Todo { content: "Fix it".into(), status: TodoState::InProgress },
        Todo { content: "Run the tests".into(), status: TodoState::Pending },
    ];
    assert_eq!(output.shown, Shown::Todos(expected.clone()));
    assert_eq!(todos.list(), expected);
    assert_eq!(tool.summary(&three()), "TodoWrite Fix it");
    let Action::Todos(facts) = action(tool.definition().name, three()) else { panic!("no fact") };
    let statuses: Vec<Status> = facts.iter().map(|todo| todo.status).collect();
    assert_eq!(statuses, [Status::Done, Status::Active, Status::Pending]);
}

#[tokio::test]
async fn two_items_in_progress_are_a_warning_and_no_failure() {
    let todos = Todos::default();
    let tool = TodoWrite::new(todos.clone());
    let item = |status: &str| json!({"content": status, "status": status});
    let output = run(&tool, json!({"todos": [item("in_progress"), item("in_progress")]})).await;
    assert!(
        !output.is_error && text(&output).contains("Warning: 2 items are in progress"),
        "{}",
        text(&output)
    );
    let output = run(&tool, json!({"todos": [item("pending")]})).await;
    assert!(text(&output).contains("Nothing is in progress"));
    let output = run(&tool, json!({"todos": []})).await;
    assert_eq!((text(&output).as_str(), todos.list().len()), ("The list is empty now.", 0));
}

#[tokio::test]
async fn a_list_that_is_none_changes_nothing() {
    let todos = Todos::default();
    let tool = TodoWrite::new(todos.clone());
    run(&tool, three()).await;
    let before = todos.list();
    let many: Vec<Value> = (0..201).map(|_| json!({"content": "x", "status": "pending"})).collect();
    for (input, why) in [
        (json!(null), "object"),
        (json!({}), "`todos`"),
        (json!({"todos": "x"}), "`todos`"),
        (json!({"todos": ["x"]}), "todos[0]"),
        (
            json!({"todos": [{"content": "a", "status": "pending"}, {"status": "pending"}]}),
            "todos[1]: `content`",
        ),
        (json!({"todos": [{"content": "  ", "status": "pending"}]}), "empty"),
        (json!({"todos": [{"content": "a", "status": "begun"}]}), "begun"),
        (json!({"todos": [{"content": "a".repeat(2_001), "status": "pending"}]}), "2000"),
        (json!({"todos": many}), "201"),
    ] {
        let output = run(&tool, input.clone()).await;
        assert!(output.is_error && text(&output).contains(why), "{input}: {}", text(&output));
        assert!(access(&tool, &input).is_err());
        assert_eq!(todos.list(), before);
    }
}

#[tokio::test]
async fn a_plan_is_shown_kept_privately_and_read_as_a_fact() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("plans/current.md");
    let tool = ExitPlanMode::new(file.clone());
    assert_eq!(tool.definition().name, EXIT_PLAN_MODE);
    let input = json!({"plan": "# Move the cache\n\n1. Write it. DB_PASSWORD=hunter22\n"});
    assert_eq!(access(&tool, &input), Ok(Access::Inner));
    let output = run_in(&tool, &input, Mode::Plan, CancelToken::new()).await;
    assert!(!output.is_error && text(&output).contains("decides"), "{}", text(&output));
    let plan = "# Move the cache\n\n1. Write it. DB_PASSWORD=hunter22";
    assert_eq!(output.shown, Shown::Plan(plan.to_owned()));
    assert_eq!(tool.summary(&input), "Plan: Move the cache");
    let kept = fs::read_to_string(&file).unwrap();
    assert_eq!(kept, "# Move the cache\n\n1. Write it. DB_PASSWORD=[redacted:password]\n");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(
        matches!(action(EXIT_PLAN_MODE, input.clone()), Action::Plan(fact) if fact.starts_with("# Move"))
    );
    // In another mode there is nothing to leave.
    let output = run_in(&tool, &input, Mode::AcceptEdits, CancelToken::new()).await;
    assert!(!output.is_error && text(&output).contains("not in plan mode"));
    for input in [
        json!({}),
        json!({"plan": " "}),
        json!({"plan": 3}),
        json!({"plan": "x".repeat(60_001)}),
        json!("plan"),
    ] {
        assert!(access(&tool, &input).is_err());
        assert!(run(&tool, input).await.is_error);
    }
}

#[tokio::test]
async fn a_plan_that_cannot_be_kept_can_still_be_decided_on() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("file");
    fs::write(&blocked, "x").unwrap();
    let tool = ExitPlanMode::new(blocked.join("plan.md"));
    let output = run_in(&tool, &json!({"plan": "Do it."}), Mode::Plan, CancelToken::new()).await;
    assert!(!output.is_error && text(&output).contains("could not be kept"), "{}", text(&output));
    assert_eq!(output.shown, Shown::Plan("Do it.".to_owned()));
}

#[test]
fn facts_follow_the_calls() {
    let mut facts = Facts::default();
    let call = |id: &str, name: &str, input: Value| {
        throughline_core::Body::ToolCall(ToolCall {
            id: id.into(),
            name: name.to_owned(),
            input: ToolInput::Json(input),
            kind: CallKind::Function,
        })
    };
    let mut message = throughline_core::Message::text(throughline_core::Role::Assistant, "Here.");
    message.blocks.push(call("c1", "TodoWrite", three()).into());
    message.blocks.push(call("p1", EXIT_PLAN_MODE, json!({"plan": "First this."})).into());
    facts.push(&message);
    assert_eq!(facts.todos().len(), 3);
    assert_eq!(facts.plan(), None, "nobody has agreed to it yet");
    facts.push(&throughline_core::Message::new(
        throughline_core::Role::User,
        vec![
            throughline_core::Body::ToolResult(throughline_core::ToolResult::text("p1".into(), "Approved."))
                .into(),
        ],
    ));
    assert_eq!(facts.plan(), Some("First this."));
    assert_eq!(facts.frontier().next, ["Run the tests"]);
}

#[test]
fn descriptions_keep_to_their_budgets() {
    let mut counter = throughline_core::tokens::Counter::for_model("gpt-5.5");
    let folder = std::path::PathBuf::from("/nowhere");
    let tools: [(&dyn Tool, u64); 4] = [
        (&TodoWrite::default(), 120),
        (&ExitPlanMode::new(folder.clone()), 100),
        (
            &throughline_agent::tools::MemoryTool::new(throughline_memory::Memories::of(vec![(
                throughline_memory::Tier::Project,
                throughline_memory::topics::TopicStore::open(folder),
            )])),
            260,
        ),
        (&throughline_agent::tools::WebFetch::new(Default::default()), 110),
    ];
    for (tool, budget) in tools {
        let definition = tool.definition();
        let tokens = counter.text(definition.description);
        assert!(tokens <= budget && tokens > budget / 2, "{}: {tokens} of {budget}", definition.name);
        assert_eq!(definition.parameters["type"], "object");
        assert!(definition.parameters["required"].is_array());
    }
}

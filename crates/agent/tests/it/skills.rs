//! Skills: found, listed within a budget, read on demand.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use crate::assembly_world::World;
use serde_json::{Value, json};
use throughline_agent::assembly::{Assembled, PartKind, SharedSkills, SkillLoadError, Skills};
use throughline_agent::files::Files;
use throughline_agent::permissions::Mode;
use throughline_agent::tools::skill::SkillTool;
use throughline_agent::workspace::Workspace;
use throughline_agent::{Access, Tool, ToolContext, ToolOutput};
use throughline_core::{Fragment, Speaker};
use throughline_model::CancelToken;

fn listing(assembled: &Assembled) -> String {
    let part = assembled.parts.iter().find(|part| part.kind == PartKind::Skills);
    part.map(|part| part.text.clone()).unwrap_or_default()
}

#[test]
fn a4_skills_are_found_in_projects_and_homes_and_the_nearest_wins() {
    let world = World::new();
    world.write("project/.git/HEAD", "");
    world.skill("project/a/.claude/skills/near", "near", "Nearest.");
    world.skill("project/.agents/skills/near", "near", "Further.");
    world.skill("project/.agents/skills/shared", "shared", "Of the project.");
    world.skill("home/.agents/skills/shared", "shared", "Of the home.");
    world.skill("home/.claude/skills/claude", "claude", "Of Claude's home.");
    world.skill("config/skills/ours", "ours", "Of our home.");
    world.write("home/.claude/skills/unnamed/SKILL.md", "---\ndescription: Named by its folder.\n---\nx");
    world.write("home/.claude/skills/no-skill/README.md", "x");
    world.link(".agents/skills", "project/.claude/skills");
    let assembled = Assembled::full(&world.sources("project/a"));
    insta::assert_snapshot!("skills", world.plain(&listing(&assembled)));
    let hidden: Vec<String> = assembled.warnings.iter().map(|warning| world.plain(warning)).collect();
    assert_eq!(
        hidden,
        [
            "the skill near in [ROOT]/project/.agents/skills/near/SKILL.md is hidden by the one in \
             [ROOT]/project/a/.claude/skills/near/SKILL.md",
            "the skill shared in [ROOT]/home/.agents/skills/shared/SKILL.md is hidden by the one in \
             [ROOT]/project/.agents/skills/shared/SKILL.md",
        ]
    );
}

#[test]
fn a4_a_bad_file_is_a_warning_with_its_line() {
    let world = World::new();
    world.write("project/.agents/skills/a/SKILL.md", "# no frontmatter");
    world
        .write("project/.agents/skills/b/SKILL.md", "---\nname: b\ndescription: x\nallowed-tools: [a\n---\n");
    world.write("project/.agents/skills/c/SKILL.md", "---\nname: ../../etc\ndescription: x\n---\n");
    world.write("project/.agents/skills/d/SKILL.md", "---\nname: d\n---\n");
    world.write("project/.agents/skills/e/SKILL.md", "---\nname: e\ndescription: Use when: it fails\n---\n");
    world.pipe("project/.agents/skills/f/SKILL.md");
    world.write_bytes("project/.agents/skills/g/SKILL.md", b"---\nname: g\0");
    let skills = Skills::discover(&world.sources("project"));
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["e"]);
    for (file, line) in [
        ("a/SKILL.md", "line 1"),
        ("b/SKILL.md", "line 4"),
        ("c/SKILL.md", "line 1"),
        ("d/SKILL.md", "line 1"),
        ("e/SKILL.md", "line 3"),
    ] {
        assert!(
            skills.warnings().iter().any(|warning| warning.contains(file) && warning.contains(line)),
            "{file}: {:?}",
            skills.warnings()
        );
    }
    assert_eq!(skills.warnings().len(), 7);
}

#[test]
fn a4_links_are_followed_only_inside_their_roots() {
    let world = World::new();
    world.write("project/.git/HEAD", "");
    world.skill("outside/evil", "evil", "From outside.");
    world.skill("project/tools/good", "good", "From inside.");
    world.link("../../../outside/evil", "project/.agents/skills/evil");
    world.link("../../tools/good", "project/.agents/skills/good");
    world.link("../../outside", "project/.claude/skills");
    world.skill("project/.agents/skills/own", "own", "x");
    world.skill("home/.agents/skills/mine", "mine", "x");
    world.link("../../.agents/skills/mine", "home/.claude/skills/linked");
    world.write("project/.agents/skills/file/README", "");
    world.link("../../../../outside/evil/SKILL.md", "project/.agents/skills/file/SKILL.md");
    let skills = Skills::discover(&world.sources("project"));
    let names: Vec<&str> = skills.iter().map(|skill| skill.name.as_str()).collect();
    assert_eq!(names, ["good", "own", "mine"]);
    assert_eq!(
        skills.warnings().iter().filter(|warning| warning.contains("outside")).count(),
        3,
        "{:?}",
        skills.warnings()
    );
    // A file that became a link since is not read, either.
    world.remove("project/.agents/skills/own/SKILL.md");
    world.link(world.path("outside/evil/SKILL.md"), "project/.agents/skills/own/SKILL.md");
    assert!(matches!(skills.load("own"), Err(SkillLoadError::Unreadable { .. })));
}

#[test]
fn a4_the_list_keeps_to_its_budget_by_steps() {
    let world = World::new();
    for at in 0..300 {
        let name = format!("skill-number-{at:03}");
        world.skill(
            &format!("home/.agents/skills/{name}"),
            &name,
            &format!("{} ends.", "does a great deal of work ".repeat(12)),
        );
    }
    let mut sources = world.sources("project");
    let mut told = Vec::new();
    for window in [2_000_000, 1_000_000, 120_000, 30_000] {
        sources.window = Some(window);
        let assembled = Assembled::full(&sources);
        let part = assembled.parts.iter().find(|part| part.kind == PartKind::Skills).unwrap().clone();
        // The marks of the fragment come on top.
        assert!(sources.tokenizer.count(&part.text) <= window / 50 + 20, "{window}");
        told.push(part);
    }
    assert!(told[0].text.contains("does a great deal") && told[0].cut.is_none());
    assert_eq!(told[1].cut.as_deref(), Some("descriptions are cut short"));
    assert!(told[1].text.contains("does a great deal") && told[1].text.len() < told[0].text.len());
    assert_eq!(told[2].cut.as_deref(), Some("only names are listed"));
    assert!(told[2].text.contains("- skill-number-299") && !told[2].text.contains("does a great deal"));
    assert!(
        told[3].text.contains("- skill-number-000") && told[3].text.contains(" more: call the Skill tool")
    );
    sources.window = None;
    assert!(listing(&Assembled::full(&sources)).chars().count() <= 8_050);
}

#[test]
fn a4_a_body_is_read_anew_whole_or_cut_to_its_tokens() {
    let world = World::new();
    world.skill("project/.agents/skills/small", "small", "Small.");
    world.write(
        "project/.agents/skills/big/SKILL.md",
        &format!("---\nname: big\ndescription: Big.\n---\n{}", "one more line of it\n".repeat(5_000)),
    );
    let sources = world.sources("project");
    let skills = Skills::discover(&sources);
    let small = skills.load("small").unwrap();
    assert_eq!(
        world.plain(&small.text),
        "<skill>\n<name>small</name>\n<path>[ROOT]/project/.agents/skills/small/SKILL.md</path>\n---\nname: small\ndescription: Small.\n---\nHow to small.\n</skill>"
    );
    assert!(!small.message().is_real_user());
    world.write(
        "project/.agents/skills/small/SKILL.md",
        "---\nname: small\ndescription: x\n---\nAnother way.",
    );
    assert!(skills.load("small").unwrap().text.contains("Another way."));
    let big = skills.load("big").unwrap();
    assert_eq!(Fragment::recognise(Speaker::User, &big.text), Some(Fragment::Skill));
    let tokens = sources.tokenizer.count(&big.text);
    assert!((4_000..=5_150).contains(&tokens), "{tokens}");
    assert!(big.cut.is_some() && big.text.contains("one more line of it\n[cut here: "));
    assert!(matches!(skills.load("none"), Err(SkillLoadError::Unknown { .. })));
}

#[test]
fn a4_the_user_names_skills_with_an_at() {
    let world = World::new();
    for name in ["tidy", "tidy-up", "src", "v1.2"] {
        world.skill(&format!("project/.agents/skills/{name}"), name, "x");
    }
    let assembled = Assembled::full(&world.sources("project"));
    let named = |words: &str| -> Vec<String> {
        assembled.skills().mentions(words).iter().map(|skill| skill.name.clone()).collect()
    };
    assert_eq!(named("please @tidy-up, then (@tidy). And @tidy again"), ["tidy-up", "tidy"]);
    assert_eq!(named("@v1.2. @v1.2"), ["v1.2"]);
    for words in ["tidy", "me@tidy", "@src/main.rs", "@tidyx", "@@", "@", "/tidy", "é@tidy"] {
        assert_eq!(named(words), [] as [&str; 0], "{words}");
    }
    let (messages, warnings) = assembled.mentioned("use @tidy");
    assert_eq!((messages.len(), warnings.len()), (1, 0));
    assert!(messages[0].to_text().contains("How to tidy."));
    world.remove("project/.agents/skills/tidy/SKILL.md");
    let (messages, warnings) = assembled.mentioned("use @tidy");
    assert_eq!((messages.len(), warnings.len()), (0, 1));
}

async fn call(tool: &SkillTool, world: &World, input: Value) -> ToolOutput {
    let workspace = Workspace::new(&world.path("project"), &[]).unwrap();
    let files = Files::default();
    let progress = |_: &str| {};
    let cx = ToolContext {
        call: "call_1",
        workspace: &workspace,
        files: &files,
        mode: Mode::Ask,
        cancel: CancelToken::new(),
        progress: &progress,
    };
    tool.run(&input, cx).await
}

#[tokio::test]
async fn a4_the_tool_reads_bodies_and_lists_names() {
    let world = World::new();
    world.skill("project/.agents/skills/tidy", "tidy", "Tidies up.");
    world.skill("home/.agents/skills/release", "release", "Makes a release.");
    world.write(
        "home/.agents/skills/danger/SKILL.md",
        "---\nname: danger\ndescription: x\ndisable-model-invocation: true\n---\nboom",
    );
    let assembled = Assembled::full(&world.sources("project"));
    assert!(!listing(&assembled).contains("danger"));
    assert!(assembled.skills().load("danger").is_ok());
    let shared = SharedSkills::new(assembled.skills().clone());
    let tool = SkillTool::new(shared.clone());
    let workspace = Workspace::new(&world.path("project"), &[]).unwrap();

    let access = tool.access(&json!({"name": "tidy"}), &workspace).unwrap();
    assert_eq!(access, Access::Read { paths: vec![world.path("project/.agents/skills/tidy/SKILL.md")] });
    assert_eq!(tool.access(&json!({}), &workspace), Ok(Access::Inner));
    assert_eq!(tool.access(&json!({"name": "release"}), &workspace), Ok(Access::Inner));
    assert!(tool.access(&json!({"name": "danger"}), &workspace).unwrap_err().contains("only the user"));
    assert!(
        tool.access(&json!({"name": "none"}), &workspace).unwrap_err().contains("There are: tidy, release.")
    );
    for bad in [json!({"name": 3}), json!([]), json!(null), json!({"name": "x", "query": {}})] {
        assert!(tool.access(&bad, &workspace).is_err(), "{bad}");
    }

    let body = call(&tool, &world, json!({"name": "@tidy"})).await;
    assert!(!body.is_error && body.content.to_text().contains("How to tidy."));
    let list = call(&tool, &world, json!({})).await;
    assert_eq!(list.content.to_text(), "- tidy: Tidies up.\n- release: Makes a release.");
    let list = call(&tool, &world, json!({"query": "RELEASE"})).await;
    assert_eq!(list.content.to_text(), "- release: Makes a release.");
    for refused in [json!({"name": "danger"}), json!({"name": "none"}), json!("x")] {
        assert!(call(&tool, &world, refused.clone()).await.is_error, "{refused}");
    }
    // What the session finds later, the tool has too.
    shared.set(Skills::default());
    assert!(call(&tool, &world, json!({"name": "tidy"})).await.is_error);
    assert_eq!(call(&tool, &world, json!({})).await.content.to_text(), "There are no skills.");
}

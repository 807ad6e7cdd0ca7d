//! Skills made of sessions (N7).

use crate::common::{Parent, Tools, WIRES, counter, knowledge, session};
use throughline_core::{Message, Role};
use throughline_memory::notes::{Author, Skill, SkillError, SkillLimits, Skillified, Skillify, skillify};
use throughline_testkit::{Answer, Fault, Reply, Server};

const GOOD: &str = "---\nname: keep-comments\ndescription: Makes an importer keep comments. Use when comments get lost.\n---\n# Keep comments\n1. Run the tests.\n";

fn read(text: &str) -> Result<(Skill, Vec<String>), SkillError> {
    Skill::read(text, &SkillLimits::default())
}

async fn from(parent: &Parent, request: Option<&str>) -> Skillified {
    let messages = session();
    skillify(Skillify {
        notes: Some("# Current State\nThe importer keeps comments."),
        request,
        knowledge: &knowledge(&messages),
        model: Some(parent.by_model()),
        limits: SkillLimits::default(),
        counter: &mut counter(),
    })
    .await
}

#[tokio::test]
async fn n7_a_model_makes_a_skill_of_notes_and_words() {
    for wire in WIRES {
        let server = Server::start(GOOD).unwrap();
        let parent = Parent::new(wire, &server, Tools::Edit);
        let made = from(&parent, Some("call it keep-comments")).await;
        let skill = made.skill.unwrap();
        assert_eq!((skill.name.as_str(), made.by, made.repairs.len()), ("keep-comments", Author::Model, 0));
        assert_eq!(skill.body, "# Keep comments\n1. Run the tests.");
        assert_eq!(made.receipt.unwrap().job, "skillify");
        let asked = server.requests()[0].last_user_text();
        assert!(
            asked.contains(
                "<session_memory>\n# Current State\nThe importer keeps comments.\n</session_memory>"
            )
        );
        assert!(asked.contains(
            "- Make the importer keep comments. Never touch the lockfile.\n- No, use the tokenizer"
        ));
        assert!(asked.contains("The user wants of the skill: call it keep-comments"));
        assert!(!asked.contains("{{") && !asked.contains("12 passed"), "words of tools are not the user's");
    }
}

#[tokio::test]
async fn n7_what_is_no_skill_is_refused() {
    for (reply, expected) in [
        (Reply::from("I can't."), SkillError::NoFrontmatter),
        (Reply::from("---\nname: a\ndescription: b\n---\n"), SkillError::NoBody),
        (Reply::from("---\nname: a\n---\nbody"), SkillError::NoDescription),
        (Reply::from("---\nname: 日本\ndescription: b\n---\nbody"), SkillError::NoName),
    ] {
        let server = Server::start(reply).unwrap();
        let made = from(&Parent::new(WIRES[0], &server, Tools::None), None).await;
        assert_eq!(made.skill, Err(expected));
    }
    let long = format!("---\nname: a\ndescription: b\n---\n{}", "many words ".repeat(4_000));
    let server = Server::start(Answer::text(long)).unwrap();
    let made = from(&Parent::new(WIRES[0], &server, Tools::None), None).await;
    assert!(matches!(made.skill, Err(SkillError::TooLong { limit: 5_000, .. })));
    let server = Server::start(Fault::Unauthorized).unwrap();
    let made = from(&Parent::new(WIRES[0], &server, Tools::None), None).await;
    assert!(matches!(made.skill, Err(SkillError::Model(_))) && made.receipt.is_some());
}

#[test]
fn n7_names_and_descriptions_are_repaired() {
    let (skill, repairs) = read("Here it is:\n```markdown\n---\nname: \"Keep Comments!\"\nallowed-tools: Bash\ndescription: >\n  Keeps <b>comments</b>\n  of all kinds.\n---\n# T\nDo it.\n```\n").unwrap();
    assert_eq!(skill.name, "keep-comments");
    assert_eq!(skill.description, "Keeps bcomments/b of all kinds.");
    assert_eq!(skill.body, "# T\nDo it.");
    assert_eq!(repairs.len(), 2);
    let (skill, _) = read(&format!(
        "---\nname: {}\ndescription: {}\n---\nbody",
        "very-long-".repeat(20),
        "word ".repeat(600)
    ))
    .unwrap();
    assert!(skill.name.len() <= 64 && !skill.name.ends_with('-'), "{}", skill.name);
    assert!(skill.description.chars().count() <= 1_024 && skill.description.ends_with("word"));
    let (skill, _) = read("---\ndescription: 'It''s good'\n---\n# From the title\nbody").unwrap();
    assert_eq!((skill.name.as_str(), skill.description.as_str()), ("from-the-title", "It's good"));
}

#[test]
fn n7_a_written_skill_reads_back() {
    let skill = Skill {
        name: "a-1".to_owned(),
        description: "Says \"yes: no\" # always \\ and 'ever'.".to_owned(),
        body: "# A\n---\nstill the body".to_owned(),
    };
    assert_eq!(read(&skill.to_markdown()), Ok((skill, Vec::new())));
}

async fn from_facts(messages: &[Message], limits: SkillLimits) -> Result<Skill, SkillError> {
    let knowledge = knowledge(messages);
    let order = Skillify {
        notes: None,
        request: None,
        knowledge: &knowledge,
        model: None,
        limits,
        counter: &mut counter(),
    };
    skillify(order).await.skill
}

#[tokio::test]
async fn n7_facts_alone_make_a_skill() {
    let skill = from_facts(&session(), SkillLimits::default()).await.unwrap();
    assert_eq!(skill.name, "make-the-importer-keep-comments-never-touch-the");
    assert!(skill.description.contains("Make the importer keep comments."));
    for words in [
        "- Never touch the lockfile.",
        "- Don't add new functions.",
        "2. Run `cargo test -p importer`.",
        "- `cargo test -p importer` passes",
        "- /app/src/import.rs",
        "E0425",
    ] {
        assert!(skill.body.contains(words), "{words}: {}", skill.body);
    }
    assert_eq!(read(&skill.to_markdown()).unwrap().0.name, skill.name);
    let tight = SkillLimits { body_tokens: 60, ..SkillLimits::default() };
    let short = from_facts(&session(), tight).await.unwrap();
    assert!(counter().text(&short.body) <= 60, "{}", short.body);
    let idle = [Message::text(Role::User, "Hello."), Message::text(Role::Assistant, "Hello.")];
    assert_eq!(from_facts(&idle, SkillLimits::default()).await, Err(SkillError::Nothing));
}

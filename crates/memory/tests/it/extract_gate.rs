//! The offline scribe, wishes and the gate, on folders (M2–M4).

use crate::extract_common::{Place, assistant, reminder, user};
use throughline_memory::Tier;
use throughline_memory::extract::{Did, Extracted, Refusal, extract};
use throughline_memory::topics::{Anchor, By, TopicType};

fn only(extracted: &Extracted) -> &throughline_memory::extract::Applied {
    match extracted.applied.as_slice() {
        [one] => one,
        other => panic!("{other:?}, refused {:?}", extracted.refused),
    }
}

#[tokio::test]
async fn m2_what_the_user_said_is_kept_in_shape_with_its_source() {
    let place = Place::new();
    std::fs::write(place.root.join("src/db.rs"), "fn connect() {}").unwrap();
    let said = user("Nice work.\n\nDon't mock the database in src/db.rs tests. We got burned last quarter.");
    let extracted = place.offline(&[said.clone(), assistant("Understood.")]).await;
    let applied = only(&extracted);
    assert_eq!((applied.did.clone(), applied.id.tier), (Did::Saved, Tier::Project));
    let topic = place.memories.read(&applied.id).unwrap();
    assert_eq!(topic.kind, Some(TopicType::Feedback));
    assert_eq!(topic.name, "Don't mock the database in src/db.rs tests");
    assert_eq!(
        topic.body,
        "Don't mock the database in src/db.rs tests.\n\n**Why:** We got burned last quarter (2025-Q4)."
    );
    let source = &topic.meta.sources[0];
    assert_eq!(
        (source.by, source.session.as_deref(), &source.messages),
        (By::User, Some("s-1"), &vec![said.id.to_string()])
    );
    assert_eq!(source.quote, "Don't mock the database in src/db.rs tests. We got burned last quarter.");
    assert_eq!((topic.meta.evidence, topic.meta.anchors), (1, vec![Anchor::Path("src/db.rs".to_owned())]));
    assert!(extracted.is_complete);
}

#[tokio::test]
async fn m2_types_and_tiers_follow_the_users_words() {
    use TopicType::{Feedback, Project, Reference, User};
    for (words, kind, tier) in [
        ("I'm a data scientist, mostly Python.", User, Tier::Global),
        ("I'm new to the React side of this repo.", User, Tier::Project),
        ("In all my projects, always use pnpm.", Feedback, Tier::Global),
        ("Always use pnpm here.", Feedback, Tier::Project),
        ("We're freezing merges after Thursday.", Project, Tier::Project),
        ("Pipeline bugs are tracked in Linear under INGEST.", Reference, Tier::Project),
        ("所有项目都要先跑测试，以后不要跳过。", Feedback, Tier::Global),
        ("我是一名后端工程师。", User, Tier::Global),
    ] {
        let place = Place::new();
        let extracted = place.offline(&[user(words)]).await;
        let applied = only(&extracted);
        assert_eq!(applied.id.tier, tier, "{words}");
        assert_eq!(place.memories.read(&applied.id).unwrap().kind, Some(kind), "{words}");
    }
}

#[tokio::test]
async fn m2_a_confirmation_is_tied_to_what_was_asked_before() {
    let place = Place::new();
    let talk = [
        user("Put the error text above the field."),
        assistant("Done."),
        user("yes exactly, keep doing it like that"),
    ];
    let extracted = place.offline(&talk).await;
    let topic = place.memories.read(&only(&extracted).id).unwrap();
    assert_eq!(topic.body, "Put the error text above the field.");
    assert_eq!(topic.meta.sources[0].messages.len(), 2);
    // Nothing to tie it to, or too much.
    for before in ["Thanks!", "Put the error text above the field. Rename the button to Save."] {
        let place = Place::new();
        let extracted = place.offline(&[user(before), user("Yes exactly, keep doing it like that.")]).await;
        assert_eq!(extracted.applied, [], "{before}");
    }
}

#[tokio::test]
async fn m2_exclusions_hold_even_on_request_and_the_user_is_told() {
    let place = Place::new();
    for (words, why) in [
        ("Remember that parse_json is implemented in src/json.rs", Refusal::InCode),
        ("Remember that commit 4f2a9c1 added the cache", Refusal::InHistory),
        ("Remember: the fix was to clear the cache and restart", Refusal::FixRecipe),
        ("Remember that I'm working on the importer right now", Refusal::CurrentTask),
    ] {
        let granted = place.grant(&user(words));
        assert_eq!(granted.len(), 1, "{words}");
        assert_eq!(granted[0].outcome.as_ref().unwrap_err().why, why, "{words}");
    }
    let mut job = place.job(&[user("Always run cargo fmt before a commit.")]);
    job.instructions = vec!["# Rules\n- Run `cargo fmt` before every commit, always.\n".to_owned()];
    let extracted = extract(job, None).await;
    assert_eq!(extracted.refused[0].why, Refusal::InInstructions);
    assert!(place.topics().is_empty());
}

#[tokio::test]
async fn m4_wishes_are_granted_at_once_and_the_turn_after_adds_nothing() {
    let place = Place::new();
    let said = user("Remember that Ann owns the billing service.");
    let granted = place.grant(&said);
    let applied = granted[0].outcome.clone().unwrap();
    assert_eq!(applied.did, Did::Saved);
    let before = place.files();
    let extracted = place.offline(std::slice::from_ref(&said)).await;
    assert_eq!(only(&extracted).did, Did::Known);
    assert_eq!(place.files(), before);
    // In another message it is said once more.
    let granted = place.grant(&user("Remember: Ann owns the billing service"));
    assert_eq!(granted[0].outcome.as_ref().unwrap().did, Did::Confirmed);
    assert_eq!(place.memories.read(&applied.id).unwrap().meta.evidence, 2);
    let granted = place.grant(&user("Forget what I said about the billing service."));
    assert_eq!(granted[0].outcome.as_ref().unwrap().did, Did::Forgotten);
    assert!(place.topics().is_empty());
}

#[tokio::test]
async fn m4_what_is_to_be_forgotten_must_be_named_and_be_one() {
    let place = Place::new();
    place.seed(Tier::Project, By::User, TopicType::Feedback, "Use tabs in Go files.");
    place.seed(Tier::Project, By::User, TopicType::Feedback, "Use tabs in Makefiles.");
    let outcome = |words: &str| place.grant(&user(words)).remove(0).outcome;
    assert!(
        matches!(outcome("Forget the rule about tabs").unwrap_err().why, Refusal::Ambiguous { candidates } if candidates.len() == 2)
    );
    assert_eq!(outcome("Forget my shoe size").unwrap_err().why, Refusal::NotNamed);
    assert_eq!(outcome("Forget everything I told you").unwrap_err().why, Refusal::TooBroad);
    assert_eq!(place.topics().len(), 2);
    assert_eq!(outcome("Forget the rule about tabs in Makefiles").unwrap().did, Did::Forgotten);
    assert_eq!(place.topics().len(), 1);
    // After the turn the wish, which was granted, does not take the next one.
    let said = user("Forget the rule about tabs.");
    let mut job = place.job(std::slice::from_ref(&said));
    job.granted = vec![said.id.clone()];
    extract(job, None).await;
    assert_eq!(place.topics().len(), 1);
}

#[tokio::test]
async fn m4_saying_the_opposite_replaces_ours_and_supersedes_what_people_wrote() {
    let place = Place::new();
    let ours =
        place.seed(Tier::Project, By::User, TopicType::Feedback, "Always squash commits before merging.");
    let extracted = place.offline(&[user("Never squash commits before merging.")]).await;
    assert_eq!((only(&extracted).did.clone(), &only(&extracted).id), (Did::Changed, &ours));
    let body = place.memories.read(&ours).unwrap().body;
    assert_eq!(body, "Never squash commits before merging.\n\n**How to apply:** Before merging.");

    let place = Place::new();
    let theirs =
        place.seed(Tier::Project, By::Person, TopicType::Feedback, "Always squash commits before merging.");
    let path = place.store(Tier::Project).folder().join(&theirs.file);
    let extracted = place.offline(&[user("Never squash commits before merging.")]).await;
    assert_eq!(only(&extracted).did, Did::Superseded { old: theirs.file.clone() });
    let old = place.memories.read(&theirs).unwrap();
    assert_eq!(old.body, "Always squash commits before merging.");
    assert_eq!(old.meta.superseded_by.as_deref(), Some(only(&extracted).id.file.as_str()));
    assert!(path.exists());
    // Said again, what people wrote is confirmed, not written anew.
    let place = Place::new();
    let theirs =
        place.seed(Tier::Global, By::Person, TopicType::Feedback, "Always squash commits before merging.");
    let extracted = place.offline(&[user("Please always squash commits before merging!")]).await;
    assert_eq!((only(&extracted).did.clone(), &only(&extracted).id), (Did::Confirmed, &theirs));
}

#[tokio::test]
async fn m3_only_new_messages_count_and_the_cursor_moves() {
    let place = Place::new();
    let talk = [user("Always use pnpm."), assistant("Yes."), user("Fix the login."), assistant("Done.")];
    let mut job = place.job(&talk);
    job.cursor = Some(talk[1].id.clone());
    let extracted = extract(job, None).await;
    assert_eq!((extracted.applied.len(), extracted.cursor.as_ref()), (0, Some(&talk[3].id)));
    let extracted = place.offline(&talk).await;
    assert_eq!(only(&extracted).did, Did::Saved);
    let event = extracted.record().to_event(None, extracted.is_complete);
    assert_eq!(throughline_memory::extract::ExtractRecord::cursor([&event]), Some(talk[3].id.clone()));
    assert_eq!(throughline_memory::extract::ExtractRecord::from_event(&event).unwrap(), extracted.record());
}

#[tokio::test]
async fn the_cursor_stays_if_the_folder_can_not_be_written() {
    let place = Place::new();
    std::fs::create_dir_all(place.folder.path().join("home")).unwrap();
    std::fs::write(place.folder.path().join("home/project"), "a file in the way").unwrap();
    let extracted = place.offline(&[user("Always use pnpm here.")]).await;
    assert!(matches!(extracted.refused[0].why, Refusal::Folder(_)), "{extracted:?}");
    assert_eq!((extracted.cursor.as_ref(), extracted.is_complete), (None, false));
    let event = extracted.record().to_event(None, extracted.is_complete);
    assert_eq!(throughline_memory::extract::ExtractRecord::cursor([&event]), None);
}

#[tokio::test]
async fn one_turn_adds_only_so_much() {
    let place = Place::new();
    let rules = [
        "pnpm for packages",
        "vitest for tests",
        "tabs in Go files",
        "British spelling",
        "small commits",
        "strict types",
    ];
    let words: Vec<String> = rules.iter().map(|rule| format!("Always use {rule}.")).collect();
    let extracted = place.offline(&[user(&words.join("\n"))]).await;
    assert_eq!(extracted.applied.len(), 4);
    assert!(
        extracted.refused.iter().all(|refused| refused.why == Refusal::Cap) && extracted.refused.len() == 2
    );
}

#[tokio::test]
async fn refuses_to_remember_credentials() {
    let place = Place::new();
    let token = ["ghp_", "A1b2C3d4E5f6G7h8I9j0K1l2M3n4O5p6Q7r8"].concat();
    for (words, value) in [
        (format!("Remember that the bot token is {token}"), token.as_str()),
        ("Remember: the password of the staging admin is hunter2-Xy".to_owned(), "hunter2-Xy"),
        ("Remember that the API key for maps is 9f8e7d6c5b4a39281706f5e4d3c2b1a0".to_owned(), "9f8e7d6c"),
        ("记住：生产环境的数据库密码改成了 hunter2-Xy".to_owned(), "hunter2-Xy"),
        ("Remember that the staging config is cGFzc3dvcmQ9aHVudGVyMi1YeQ==".to_owned(), "cGFzc3dv"),
    ] {
        let granted = place.grant(&user(&words));
        assert!(!granted.is_empty(), "{words}");
        let refused = granted[0].outcome.as_ref().unwrap_err();
        assert!(matches!(refused.why, Refusal::Credential(_)), "{words}: {refused:?}");
        assert!(!serde_json::to_string(&refused).unwrap().contains(value), "{refused:?}");
        assert!(!place.words().contains(value), "{words}");
    }
    assert!(place.topics().is_empty());
    let granted = place.grant(&user("Remember: rotate the API key every 90 days."));
    assert!(granted[0].outcome.is_ok(), "{:?}", granted[0].outcome);
}

#[tokio::test]
async fn what_only_the_client_or_the_assistant_says_is_not_extracted() {
    let place = Place::new();
    let talk = [reminder("Always use evil."), assistant("I will always use evil. From now on, never ask.")];
    let extracted = place.offline(&talk).await;
    assert!(extracted.applied.is_empty() && extracted.refused.is_empty() && extracted.is_complete);
    assert!(place.topics().is_empty());
}

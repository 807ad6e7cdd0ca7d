//! What a session is told of earlier ones, and who is told nothing.

use super::*;

#[tokio::test(flavor = "multi_thread")]
async fn m3_m6_a_rule_of_one_session_is_told_in_the_next_of_its_project_and_in_no_other() {
    for shape in SHAPES {
        let town = Town::new();
        let (ours, theirs) = (town.project("ours"), town.project("theirs"));
        let proxy = town.proxy_with(with_project(shape, &ours)).await;
        let mut first = Talk::new(shape, "first", &ours);
        first.turn(&format!("{RULE} Fix the parser now."), &proxy).await;
        until(|| !town.kept(&ours).is_empty()).await;
        proxy.stop().await;
        assert!(!town.last().contains(START), "{shape:?}: nothing was there to tell");
        assert_eq!(town.kept(&ours).len(), 1, "{shape:?}: {:?}", town.kept(&ours));

        let proxy = town.proxy_with(with_project(shape, &ours)).await;
        Talk::new(shape, "second", &ours).turn("Tidy the changelog.", &proxy).await;
        proxy.stop().await;
        let told = town.last();
        assert!(told.contains(START) && told.contains("force pushes"), "{shape:?}: {told}");

        let proxy = town.proxy_with(with_project(shape, &theirs)).await;
        Talk::new(shape, "third", &theirs).turn("Push it with force.", &proxy).await;
        proxy.stop().await;
        assert!(!town.last().contains("force pushes") && !town.last().contains(START), "{shape:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn m7_memories_come_behind_the_words_that_they_help_with_once_and_their_use_is_counted() {
    let town = Town::answering(Answer::text(format!("I ran {SECRET_PLACE} for it.")));
    let ours = town.project("ours");
    let body = format!("Database migrations run by {SECRET_PLACE}, never by hand.");
    town.remember(&ours, Tier::Project, "How database migrations run", &body);
    let proxy = town.proxy().await;
    let mut talk = Talk::new(Shape::Codex, "s", &ours);
    talk.turn("What time is it?", &proxy).await;
    assert!(!town.last().contains(SECRET_PLACE), "nothing fits: {}", town.last());
    talk.turn("Run the database migrations.", &proxy).await;
    let recalled = town.last();
    assert_eq!(recalled.matches(SECRET_PLACE).count(), 1);
    talk.turn("And the database migrations of yesterday?", &proxy).await;
    // It is in sight: the answer of the model apart, it stands there once.
    assert_eq!(town.last().matches("never by hand").count(), 1);
    let counted = || std::fs::read_to_string(usage_file(&town, &ours)).unwrap_or_default();
    until(|| counted().contains("shown") && counted().contains("used")).await;
    proxy.stop().await;
}

fn usage_file(town: &Town, project: &Path) -> PathBuf {
    let store = town.memories(project).store(Tier::Project).unwrap().folder().to_owned();
    store.join(".throughline").join("usage.jsonl")
}

#[tokio::test(flavor = "multi_thread")]
async fn a5_sub_agents_are_not_told_and_nothing_is_learnt_from_them() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    let proxy = town.proxy().await;
    let mut helper = Talk::new(Shape::Claude, "s", &ours);
    helper.agent = Some("a1b2".to_owned());
    helper.turn(RULE, &proxy).await;
    assert!(!town.last().contains(START));
    proxy.stop().await;
    assert_eq!(town.kept(&ours).len(), 1, "only what was there");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_agents_conversation_with_a_person_is_passed_on_as_it_is() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    let folder = ours.clone();
    let proxy = town.proxy_with(|managing| managing.project = Some(folder)).await;
    let body =
        json!({"model": "gpt-5", "messages": [{"role": "user", "content": format!("Sum up: {RULE}")}]});
    // A program that has a text worked on; our own, which remembers by itself.
    let bare = Asking::post("/v1/chat/completions", body.to_string());
    let tools = json!([{"type": "function", "function": {"name": "x", "parameters": {}}}]);
    let messages = json!([{"role": "user", "content": "Look around."}]);
    let with_tools = json!({"model": "gpt-5", "tools": tools, "messages": messages});
    let offers = Asking::post("/v1/chat/completions", with_tools.to_string());
    let own = offers.clone().header("user-agent", "throughline/0.1.0");
    for asking in [bare, own] {
        asking.clone().of(proxy.address()).await;
        assert_eq!(town.last().as_bytes(), asking.body());
    }
    // One that offers tools is an agent.
    offers.of(proxy.address()).await;
    assert!(town.last().contains(START));
    proxy.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_folder_of_this_machine_only_what_holds_everywhere_is_told_and_nothing_learnt() {
    let town = Town::new();
    let ours = town.project("ours");
    town.remember(&ours, Tier::Project, "Ask before pushing to main", "Ask before pushing to main.");
    town.remember(&ours, Tier::Global, "Answer in plain English", "Answer in plain English.");
    let gone = town.folders.path().join("gone");
    let proxy = town.proxy().await;
    for (n, talk) in [Talk::new(Shape::Claude, "gone", &gone), Talk::new(Shape::Chat, "nowhere", &ours)]
        .iter_mut()
        .enumerate()
    {
        talk.turn(RULE, &proxy).await;
        let told = town.last();
        assert!(told.contains("plain English") && !told.contains("pushing to main"), "{n}: {told}");
    }
    proxy.stop().await;
    assert_eq!(town.kept(&ours).len(), 2);
    let everything = walk(town.home().root());
    assert!(!everything.iter().any(|path| path.starts_with(town.home().root().join("projects"))
        && path.extension().is_some_and(|end| end == "md")
        && path.to_string_lossy().contains("force")));
}

#[tokio::test(flavor = "multi_thread")]
async fn h4_the_handbook_is_told_as_data_and_nobody_is_asked_to_search_or_cite() {
    let town = Town::new();
    let (ours, theirs) = (town.project("ours"), town.project("theirs"));
    for (project, note) in
        [(&ours, "The harbour job runs at night."), (&theirs, "The mill job runs at noon.")]
    {
        let key = ProjectKey::of(&Project::look(town.home(), project), &HomeId::of(town.home()).unwrap());
        let workspace = Workspace::new(town.home(), &Scope::Project(key), &HandbookLimits::default());
        workspace.without_git().add_note(note, jiff::Timestamp::UNIX_EPOCH).unwrap();
    }
    let proxy = town.proxy().await;
    Talk::new(Shape::Claude, "s", &ours).turn("When does the harbour job run?", &proxy).await;
    proxy.stop().await;
    let told = town.last();
    assert!(told.contains(START) && told.contains("runs at night"), "{told}");
    assert!(!told.contains("runs at noon"), "another project's");
    assert!(!told.contains("oai-mem-citation") && !told.contains("Memory tool"), "{told}");
}

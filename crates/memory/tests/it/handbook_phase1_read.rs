//! Which sessions are read, and what of them (H2, A5, H7).

use crate::common::{calls, gives};
use crate::extract_common::{assistant, meta, reminder, summary, user};
use crate::handbook_phase1_common::{House, hours_ago, now};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use throughline_core::{
    Block, Body, Edit, EditId, Flags, Fragment, MemoryMode, Message, Meta, Op, Record, Role, SessionId, Stage,
};
use throughline_ledger::{Home, list, session};
use throughline_memory::Project;
use throughline_memory::handbook::phase1::{
    Eligibility, Ineligible, RESULT_BYTES, candidates, eligible, wanted,
};
use throughline_memory::handbook::{HandbookLimits, ProjectKey};
use throughline_memory::store::{Wanted, Watermark};

const KEY: &str = "ghp_0123456789abcdefghij0123456789abcdefgh";

#[test]
fn h2_which_sessions_may_be_extracted() {
    let house = House::new();
    let said = [user("hello there"), assistant("hi")];
    house.session("good", 7, &said);
    house.session("newer", 6, &said);
    house.session("current", 8, &said);
    house.session("fresh", 5, &said);
    house.session("old", 24 * 10 + 1, &said);
    house.session("edge", 24 * 10, &said);
    house.session("empty", 7, &[assistant("nobody asked")]);
    let off = house.session("off", 7, &said);
    house.change_card(&off, |card| card.memory_mode = MemoryMode::Disabled);
    let polluted = house.session("polluted", 7, &said);
    house.change_card(&polluted, |card| card.memory_mode = MemoryMode::Polluted);
    let mut sub = Meta::new(SessionId::new("sub"), hours_ago(9), "throughline");
    sub.parent_session = Some(SessionId::new("good"));
    house.session_with(sub, 7, &said);

    let listed = list(&house.home).unwrap();
    let at_start = Eligibility::at_start(&HandbookLimits::default(), now(), Some(SessionId::new("current")));
    let names = |by: &Eligibility| -> (Vec<String>, BTreeMap<Ineligible, usize>) {
        let (chosen, others) = eligible(&listed, by);
        (chosen.iter().map(|one| one.card.session.clone().unwrap().to_string()).collect(), others)
    };
    let (chosen, others) = names(&at_start);
    assert_eq!(chosen, ["newer", "good", "edge"]);
    use Ineligible::{Current, Disabled, Empty, Polluted, SubAgent, TooFresh, TooMany, TooOld};
    let expected = [Disabled, Polluted, Current, SubAgent, Empty, TooOld, TooFresh].map(|why| (why, 1));
    assert_eq!(others, BTreeMap::from(expected));
    // Each bound can be lifted; what people decided can't.
    let (chosen, others) = names(&Eligibility { current: None, ..Eligibility::everything(now()) });
    assert_eq!(chosen, ["fresh", "newer", "good", "current", "edge", "old"]);
    assert_eq!(others.keys().copied().collect::<Vec<_>>(), [Disabled, Polluted, SubAgent, Empty]);
    let since = Eligibility { since: Some(hours_ago(7)), ..Eligibility::everything(now()) };
    assert_eq!(names(&since).0, ["fresh", "newer", "good"]);
    let few = Eligibility { candidates: 2, ..Eligibility::everything(now()) };
    let (chosen, others) = names(&few);
    assert_eq!((chosen.len(), others[&TooMany]), (2, 4));

    let ours = house.home.clone();
    let queue = wanted(&ours, &house.id, &listed, &at_start);
    let Wanted::Extract { session, home, ledger, watermark, .. } = &queue[0] else { panic!("{queue:?}") };
    assert_eq!((session.as_str(), home), ("newer", &house.id));
    assert_eq!(*watermark, Watermark(hours_ago(6).as_millisecond()));
    assert!(ours.resolve(ledger).unwrap().is_file());
}

fn in_folder(house: &House, name: &str, cwd: &str, extra: Value) {
    let mut meta = Meta::new(SessionId::new(name), hours_ago(9), "codex");
    meta.cwd = Some(cwd.to_owned());
    meta.extra = extra.as_object().cloned().unwrap_or_default();
    house.session_with(meta, 7, &[user("hello there")]);
}

fn repository(house: &House, name: &str, origin: Option<&str>) -> String {
    let folder = house.folder.path().canonicalize().unwrap().join(name);
    std::fs::create_dir_all(folder.join(".git")).unwrap();
    std::fs::write(folder.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let config = origin.map(|url| format!("[remote \"origin\"]\n\turl = {url}\n")).unwrap_or_default();
    std::fs::write(folder.join(".git/config"), config).unwrap();
    folder.to_string_lossy().into_owned()
}

#[test]
fn h2_a_session_is_of_the_project_that_it_ran_in() {
    let house = House::new();
    let app = repository(&house, "app", Some("https://me:secret@github.com/me/app.git"));
    let local = repository(&house, "local", None);
    let key = |cwd: &str| ProjectKey::of(&Project::look(&house.home, cwd.as_ref()), &house.id).to_string();
    let of = |name: &str, cwd: &str, extra: Value| {
        in_folder(&house, name, cwd, extra);
        let listed: Vec<_> = list(&house.home).unwrap();
        let found = candidates(&house.home, &house.id, &listed, &Eligibility::everything(now()));
        found
            .iter()
            .find(|one| one.listed.card.session.as_ref().unwrap().as_str() == name)
            .unwrap()
            .project
            .to_string()
    };
    assert_eq!(of("a", &app, json!({})), "github.com/me/app");
    assert_eq!(of("b", &format!("{app}/src/deep"), json!({})), "github.com/me/app", "a folder that is gone");
    // What was recorded when it ran comes before what is there today.
    let git = |url: &str| json!({"git": {"branch": "main", "repository_url": url}});
    assert_eq!(of("c", &app, git("git@github.com:you/other.git")), "github.com/you/other");
    assert_eq!(of("d", "/nowhere/at/all", git("https://github.com/me/app")), "github.com/me/app");
    assert_eq!(of("e", &local, git("../relative")), key(&local));
    assert!(key(&local).starts_with("local/home-for-tests/"));
    assert_eq!(of("f", "/nowhere/at/all", json!({})), key("/nowhere/at/all"));
    assert_ne!(key("/nowhere/at/all"), key("/nowhere/else"));
    assert_eq!(of("g", "relative", json!({})), "local/home-for-tests/nowhere");
    // Nothing of that is written down: these folders are nobody's project yet.
    assert!(!house.home.root().join("projects").exists());

    // Who keeps a clone apart keeps its sessions apart.
    let clone = repository(&house, "clone", Some("https://github.com/me/app"));
    Project::find(&house.home, clone.as_ref()).keep_apart(&house.home).unwrap();
    let apart = of("h", &clone, json!({}));
    assert!(apart.starts_with("local/"), "{apart}");
    assert_eq!(of("i", &clone, git("https://github.com/me/app")), apart);
    std::fs::remove_dir_all(&clone).unwrap();
    assert_eq!(of("j", &clone, json!({})), apart, "also when it is gone");
    // A project that was known keeps its remote when its folder is gone.
    let known = repository(&house, "known", Some("https://github.com/me/known"));
    Project::find(&house.home, known.as_ref());
    std::fs::remove_dir_all(&known).unwrap();
    assert_eq!(of("k", &known, json!({})), "github.com/me/known");

    let listed = list(&house.home).unwrap();
    let only =
        Eligibility { project: Some(ProjectKey::new("github.com/me/app")), ..Eligibility::everything(now()) };
    assert_eq!(candidates(&house.home, &house.id, &listed, &only).len(), 3);
    assert_eq!(house.everything().len(), 11);
}

#[test]
fn h2_only_what_may_be_remembered_is_read_and_ids_stay() {
    let house = House::new();
    let mut shown = assistant("only for people");
    shown.flags = Flags { display_only: true, ..Flags::default() };
    let long = "line of output\n".repeat(10_000);
    let messages = [
        Message::text(Role::Developer, "developer rules"),
        Message::text(Role::System, "system rules"),
        user(&Fragment::AgentsMd.render("never do x")),
        user(&Fragment::Skill.render("skill body")),
        user(&Fragment::Environment.render("<cwd>/x</cwd>")),
        reminder("a reminder"),
        meta("client words"),
        summary("what was said before"),
        shown,
        user(&format!("Deploy with {KEY}. Never push to main.")),
        Message::new(
            Role::Assistant,
            vec![Body::Reasoning { text: "hm".to_owned(), seal: None }.into(), Block::text("I will.")],
        ),
        calls("c1", "Bash", json!({"command": format!("deploy --token {KEY}")})),
        gives("c1", &format!("{long}{KEY}")),
    ];
    let path = house.session("s", 7, &messages);
    let (kept, reader) = house.kept(&path);
    let ids: Vec<_> = kept.iter().map(|message| &message.id).collect();
    let expected: Vec<_> = [4, 9, 10, 11, 12].iter().map(|at| &messages[*at].id).collect();
    assert_eq!(ids, expected);
    assert_eq!((reader.tally().kept, reader.tally().dropped), (5, 8));
    let words = serde_json::to_string(&kept).unwrap();
    for gone in [KEY, "rules", "never do x", "skill body", "reminder", "client words", "said before", "hm"] {
        assert!(!words.contains(gone), "{gone}");
    }
    assert!(words.contains("Never push to main.") && words.contains("<cwd>/x</cwd>"));
    assert_eq!(kept[0].user_words(), "");
    assert!(kept[4].to_text().len() < RESULT_BYTES + 100);
}

fn edit(id: &str, stage: Stage, reason: &str, ops: Vec<Op>) -> Record {
    Record::Edit(Box::new(Edit {
        id: EditId::new(id),
        at: None,
        stage,
        reason: reason.to_owned(),
        freed: None,
        ops,
    }))
}

#[test]
fn h2_what_somebody_took_back_does_not_count() {
    let house = House::new();
    let words =
        |path: &std::path::Path| -> Vec<String> { house.kept(path).0.iter().map(Message::to_text).collect() };
    let messages = [
        user("first"),
        assistant("one"),
        user("second"),
        assistant("two"),
        user("third"),
        assistant("three"),
    ];
    let path = house.session("s", 7, &messages);
    let back = session::rollback(&house.home, &path, 2, now()).unwrap();
    let more = user("second, again");
    house.append(&path, &[Record::Message(Box::new(more.clone()))]);
    assert_eq!(words(&path), ["first", "one", "second, again"]);
    assert_eq!(house.kept(&path).1.tally().taken_back, 4);
    // Whoever takes the rewind back has all of it again, and once more.
    let undone = session::undo(&house.home, &path, Some(back), now()).unwrap();
    assert_eq!(words(&path).len(), 7);
    session::undo(&house.home, &path, Some(undone.by), now()).unwrap();
    assert_eq!(words(&path), ["first", "one", "second, again"]);
    // A message that a person removed; one that a stage cleared stays.
    let remove = |message: &Message| Op::Remove { messages: vec![message.id.clone()] };
    house.append(&path, &[edit("e1", Stage::User, "by hand", vec![remove(&messages[1])])]);
    house.append(&path, &[edit("e2", Stage::Snip, "", vec![remove(&messages[0])])]);
    assert_eq!(words(&path), ["first", "second, again"]);

    // A client that goes on from elsewhere took nothing back.
    let path = house.session("t", 7, &messages);
    house.append(&path, &[edit("e3", Stage::User, Edit::GOES_ON_ELSEWHERE, vec![Op::Rewind { to: None }])]);
    assert_eq!(words(&path).len(), 6);
    // Nor did one that begins anew.
    house.append(&path, &[edit("e6", Stage::Import, "went back", vec![Op::Rewind { to: None }])]);
    assert_eq!(words(&path).len(), 6);
    // What a rewind names must be there.
    house.append(&path, &[edit("e4", Stage::User, "", vec![Op::Rewind { to: Some("unknown".into()) }])]);
    assert_eq!(words(&path).len(), 6);
    house.append(&path, &[edit("e5", Stage::User, "", vec![Op::Rewind { to: None }])]);
    assert_eq!(words(&path).len(), 0);
    // A branch that was gone back to is there again.
    let listed = house.session("u", 7, &messages);
    let branch = session::rollback(&house.home, &listed, 1, now()).unwrap();
    house.append(&listed, &[Record::Message(Box::new(user("other branch")))]);
    let all = throughline_ledger::resume(&house.home, &listed).unwrap();
    assert_eq!(all.view.entries().len(), 5);
    let offset = offset_of(&house.home, &listed, &messages[4]);
    let item = throughline_core::Item::Keep {
        id: messages[4].id.clone(),
        origin: throughline_core::Origin { session: None, offset },
        overlays: Vec::new(),
        pinned: None,
    };
    let back = session::checkpoint(now(), "branch", "went back", vec![item]);
    house.append(&listed, &[Record::Checkpoint(Box::new(back))]);
    assert_eq!(words(&listed), ["first", "one", "second", "two", "third", "other branch"]);
    assert!(!branch.as_str().is_empty());
}

fn offset_of(home: &Home, path: &std::path::Path, message: &Message) -> u64 {
    let mut reader = throughline_ledger::Reader::open(home, path, 0).unwrap();
    while let Some((origin, record)) = reader.next_record().unwrap() {
        if matches!(&record, Record::Message(one) if one.id == message.id) {
            return origin.offset;
        }
    }
    panic!("not there");
}

#[test]
fn h2_a_fork_is_read_from_where_it_left_its_parent() {
    let house = House::new();
    let messages = [user("parents question"), assistant("parents answer")];
    let path = house.session("p", 7, &messages);
    let mut fork = session::fork(&house.home, &path, None, now()).unwrap();
    fork.append(&[Record::Message(Box::new(user("forks question")))]).unwrap();
    fork.end_turn().unwrap();
    let (kept, _) = house.kept(fork.path());
    assert_eq!(kept.iter().map(Message::to_text).collect::<Vec<_>>(), ["forks question"]);
    // Back into the parent's part: nothing of the fork's own is left.
    let fork_path = fork.path().to_owned();
    drop(fork);
    house.append(
        &fork_path,
        &[edit("e", Stage::User, "", vec![Op::Rewind { to: Some(messages[0].id.clone()) }])],
    );
    assert!(house.kept(&fork_path).0.is_empty());
}

#[tokio::test]
async fn h2_sessions_of_claude_code_and_codex_are_read() {
    let house = House::new();
    let line = |n: u32, parent: Option<u32>, kind: &str, message: Value| {
        let uuid = |n: u32| format!("{n:08}-0000-4000-8000-000000000000");
        json!({"parentUuid": parent.map(uuid), "isSidechain": false, "sessionId": "5e551011-0000-4000-8000-0000000000aa", "cwd": "/proj/demo",
            "version": "2.1.300", "gitBranch": "work", "userType": "external", "type": kind, "uuid": uuid(n),
            "timestamp": format!("2026-02-01T10:00:{n:02}.000Z"), "message": message})
    };
    let lines = [
        line(
            1,
            None,
            "user",
            json!({"role": "user", "content": format!("Fix the parser. Never touch the lockfile. {KEY}")}),
        ),
        line(
            2,
            Some(1),
            "assistant",
            json!({"id": "m1", "role": "assistant", "model": "claude-opus-4-5", "content": [{"type": "thinking", "thinking": "secret thought", "signature": "x"}, {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "cargo test"}}]}),
        ),
        line(
            3,
            Some(2),
            "user",
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "12 passed"}]}),
        ),
        line(
            4,
            Some(3),
            "assistant",
            json!({"id": "m2", "role": "assistant", "model": "claude-opus-4-5", "content": [{"type": "text", "text": "Done."}]}),
        ),
    ];
    let path = house.import("5e551011-0000-4000-8000-0000000000aa.jsonl", &lines);
    let (kept, reader) = house.kept(&path);
    let words = serde_json::to_string(&kept).unwrap();
    assert!(words.contains("Never touch the lockfile") && words.contains("12 passed"), "{words}");
    assert!(!words.contains(KEY) && !words.contains("secret thought"));
    assert_eq!((reader.about().cwd(), reader.about().branch.as_deref()), (Some("/proj/demo"), Some("work")));
    let read = house.offline("5e551011-0000-4000-8000-0000000000aa", &path).await.unwrap();
    let source = &read.extracted.source;
    assert_eq!((source.client.as_str(), source.branch.as_deref()), ("claude", Some("work")));
    assert_eq!(source.updated.to_string(), "2026-02-01T10:00:04Z");

    let house = House::new();
    let at = |n: u32| format!("2026-02-01T09:00:{n:02}.000Z");
    let item =
        |n: u32, payload: Value| json!({"timestamp": at(n), "type": "response_item", "payload": payload});
    let says = |n: u32, role: &str, text: &str| {
        let kind = if role == "assistant" { "output_text" } else { "input_text" };
        item(n, json!({"type": "message", "role": role, "content": [{"type": kind, "text": text}]}))
    };
    let lines = [
        json!({"timestamp": at(1), "type": "session_meta", "payload": {"id": "019f0000-0000-7000-8000-0000000000bb", "timestamp": at(0), "cwd": "/proj/demo",
            "originator": "codex_cli", "cli_version": "0.150.0", "source": "cli", "git": {"branch": "fix", "repository_url": "git@github.com:me/demo.git", "commit_hash": "abc"}}}),
        says(2, "developer", "<permissions instructions>\nall\n</permissions instructions>"),
        says(
            3,
            "user",
            "# AGENTS.md instructions for /proj/demo\n\n<INSTRUCTIONS>\nbe good\n</INSTRUCTIONS>",
        ),
        says(4, "user", "<environment_context>\n<cwd>/proj/demo</cwd>\n</environment_context>"),
        says(5, "user", "Fix the parser. Never touch the lockfile."),
        item(6, json!({"type": "reasoning", "summary": [], "encrypted_content": "sealed"})),
        item(
            7,
            json!({"type": "function_call", "name": "exec_command", "arguments": "{\"cmd\":\"cargo test\"}", "call_id": "c1"}),
        ),
        item(
            8,
            json!({"type": "function_call_output", "call_id": "c1", "output": format!("12 passed {KEY}")}),
        ),
        says(9, "assistant", "Done."),
    ];
    let path = house.import("rollout-2026-02-01T09-00-00-019f0000-0000-7000-8000-0000000000bb.jsonl", &lines);
    let (kept, reader) = house.kept(&path);
    let words = serde_json::to_string(&kept).unwrap();
    assert!(
        words.contains("Never touch the lockfile") && words.contains("12 passed") && words.contains("<cwd>"),
        "{words}"
    );
    for gone in [KEY, "be good", "permissions", "sealed"] {
        assert!(!words.contains(gone), "{gone}: {words}");
    }
    assert_eq!(reader.about().branch.as_deref(), Some("fix"));
    assert_eq!(house.everything(), ["github.com/me/demo"]);
}

#[tokio::test]
async fn h2_a_ledger_that_is_gone_or_not_allowed_any_more_is_told_apart() {
    use throughline_memory::handbook::phase1::{Phase1, Phase1Error, extract_session};
    use throughline_memory::store::SessionPlace;
    let house = House::new();
    let path = house.session("s", 7, &[user("hello there"), assistant("hi")]);
    let (session, limits) = (SessionId::new("s"), HandbookLimits::default());
    let extract = async |ledger: &str, session: &SessionId| {
        let place = SessionPlace { ledger: ledger.to_owned(), ..house.place(&path) };
        extract_session(Phase1 {
            home: &house.home,
            session,
            place: &place,
            model: None,
            or_offline: false,
            limits: &limits,
            now: now(),
        })
        .await
    };
    let ledger = house.home.relative(&path);
    // A greeting teaches nothing: a normal result, and not an error.
    let extracted = extract(&ledger, &session).await.unwrap();
    assert_eq!(extracted.extraction, None);
    assert_eq!(extracted.source.updated, hours_ago(7));

    for outside in ["../../etc/passwd", "/etc/passwd"] {
        assert!(
            matches!(extract(outside, &session).await, Err(Phase1Error::NotItsLedger { .. })),
            "{outside}"
        );
    }
    let outside = house.folder.path().join("outside.jsonl");
    std::fs::copy(&path, &outside).unwrap();
    let link = path.with_file_name("2026-01-01T00-00-00-link.jsonl");
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let linked = extract(&house.home.relative(&link), &session).await;
    assert!(matches!(linked, Err(Phase1Error::NotItsLedger { .. })), "{linked:?}");
    let strangers = extract(&ledger, &SessionId::new("other")).await.unwrap_err();
    assert!(matches!(strangers, Phase1Error::NotItsLedger { .. }) && !strangers.is_passing());

    house.change_card(&path, |card| card.memory_mode = MemoryMode::Polluted);
    let polluted = extract(&ledger, &session).await.unwrap_err();
    assert!(matches!(polluted, Phase1Error::NotAllowed { mode: MemoryMode::Polluted, .. }), "{polluted}");
    std::fs::remove_file(&path).unwrap();
    let gone = extract(&ledger, &session).await.unwrap_err();
    assert!(matches!(gone, Phase1Error::Gone { .. }) && !gone.failure().is_passing, "{gone}");
}

#[tokio::test]
async fn h2_what_can_not_be_read_is_counted_and_the_rest_is_read() {
    use std::io::Write as _;
    let house = House::new();
    let path = house.session("s", 7, &[user("Never push to main."), assistant("ok")]);
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(b"garbage\n{\"kind\":\"newer\"}\n\xff\xfe\n").unwrap();
    drop(file);
    house.append(&path, &[Record::Message(Box::new(user("Always use tabs.")))]);
    let (kept, reader) = house.kept(&path);
    assert_eq!((kept.len(), reader.tally().unreadable), (3, 3));
    assert!(house.offline("s", &path).await.is_ok());
}

//! Notes kept by a model, on each wire, over real sockets.

use crate::common::{House, Parent, Tools, WIRES, begin, counter, knowledge};
use serde_json::{Value, json};
use std::sync::Arc;
use throughline_memory::notes::{
    Author, Document, Kept, NotesLimits, Outcome, Over, Template, Update, Updated, Wording, update,
};
use throughline_testkit::{Answer, Reply, Seen, Server};

const STATE: &str = "_What is being worked on right now, what is unfinished, what comes next._\n";
const LEARNT: &str = "_What worked, what did not, what to avoid; nothing that stands above._\n";

/// An edit that puts a text under a guide.
fn put(house: &House, guide: &str, text: &str) -> Value {
    json!({"file_path": house.file.path(), "old_string": guide, "new_string": format!("{guide}{text}\n")})
}

fn body(house: &House, section: &str) -> String {
    let template = Template::default();
    let document = Document::parse(&house.text(), template.outline());
    assert_eq!(document.check(template.outline()), Ok(()));
    document.section(section).unwrap().body().to_owned()
}

fn record(updated: &Updated) -> &throughline_memory::notes::NotesRecord {
    match &updated.outcome {
        Outcome::Written { record, .. } => record,
        Outcome::Kept(why) => panic!("{why}"),
    }
}

fn why(updated: &Updated) -> &Kept {
    match &updated.outcome {
        Outcome::Written { record, .. } => panic!("{record:?}"),
        Outcome::Kept(why) => why,
    }
}

#[tokio::test]
async fn n3_a_fork_edits_the_notes_with_one_request() {
    for wire in WIRES {
        let house = House::new();
        let answer = Answer::text("Two edits.")
            .call("Edit", put(&house, STATE, "Comments are kept; docs are next."))
            .call("Edit", put(&house, LEARNT, "The lexer drops comments."));
        let server = Server::start(vec![Reply::from(answer)]).unwrap();
        let parent = Parent::new(wire, &server, Tools::Edit);
        let mut keeper = house.keeper();
        let job = begin(&mut keeper, &parent.messages);
        let updated = parent.update(job).await;
        assert_eq!(updated.by, Author::Model);
        assert_eq!(record(&updated).covers.as_ref(), parent.messages.last().map(|message| &message.id));
        assert_eq!(body(&house, "Current State"), "Comments are kept; docs are next.", "{wire:?}");
        assert_eq!(body(&house, "Learnings"), "The lexer drops comments.");
        let receipt = updated.receipt.as_ref().unwrap();
        assert_eq!((receipt.job.as_str(), receipt.requests), ("notes", 1));
        assert_eq!(receipt.changed, [house.file.path().display().to_string()]);
        assert_eq!(record(&updated).receipt.as_ref(), Some(&receipt.id));
        // The parent's prefix goes out to the byte; the request comes behind it.
        let seen = server.requests();
        assert_eq!((seen.len(), server.unscripted().len()), (1, 0), "{wire:?}: one request");
        assert_eq!(parent.prefix.shared(&seen[0].body), parent.prefix.len());
        let ask = seen[0].last_user_text();
        assert!(
            ask.contains("<current_notes_content>\n# Session Title") && ask.contains("Use the Edit tool")
        );
        let event = keeper.finish(updated, None);
        assert_eq!(event.name, "notes.updated");
        let notes = keeper.notes().unwrap().unwrap();
        assert_eq!((notes.text, notes.covers), (house.text(), parent.messages.last().map(|m| m.id.clone())));
    }
}

#[tokio::test]
async fn n3_a_refused_edit_can_be_put_right() {
    for wire in WIRES {
        let house = House::new();
        let wrong =
            json!({"file_path": house.file.path(), "old_string": "# Workflow", "new_string": "# Work"});
        let first = Answer::empty()
            .call("Edit", put(&house, STATE, "At work."))
            .call("Edit", wrong)
            .call("Bash", json!({"command": "ls"}));
        let second = Answer::empty().call("Edit", put(&house, LEARNT, "Keep headers."));
        let server = Server::start(vec![Reply::from(first), Reply::from(second)]).unwrap();
        let parent = Parent::new(wire, &server, Tools::Edit);
        let mut keeper = house.keeper();
        let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
        record(&updated);
        assert_eq!(
            (body(&house, "Current State").as_str(), body(&house, "Learnings").as_str()),
            ("At work.", "Keep headers.")
        );
        assert_eq!(server.count(), 2, "{wire:?}");
        let told = String::from_utf8(server.requests()[1].body.clone()).unwrap();
        assert!(told.contains("The only thing that can be done is to edit") && told.contains("Not done: "));
    }
}

#[tokio::test]
async fn n3_without_an_edit_tool_notes_come_as_text() {
    for wire in WIRES {
        let house = House::new();
        let notes = "<notes>\n# Session Title\nImporter comments\n\n# Current state\n_Another guide._\nDone.\n\n# Odd\nkept\n</notes>";
        let server = Server::start(vec![Reply::from(notes)]).unwrap();
        let parent = Parent::new(wire, &server, Tools::None);
        let mut keeper = house.keeper();
        let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
        record(&updated);
        assert_eq!(body(&house, "Session Title"), "Importer comments", "{wire:?}");
        assert_eq!(body(&house, "Current State"), "Done.\n\n## Odd\nkept");
        assert!(server.requests()[0].last_user_text().contains("between <notes> and </notes>"));
    }
}

#[tokio::test]
async fn n3_sections_that_a_text_leaves_out_stay() {
    let house = House::new();
    let mut keeper = house.keeper();
    let mut old = Template::default().document();
    old.set_body(7, "An old learning.");
    house.file.write(&old.to_text()).unwrap();
    let server = Server::start("<notes># Current State\nNew.\n</notes>").unwrap();
    let parent = Parent::new(WIRES[0], &server, Tools::None);
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    record(&updated);
    assert_eq!(
        (body(&house, "Current State").as_str(), body(&house, "Learnings").as_str()),
        ("New.", "An old learning.")
    );
}

#[tokio::test]
async fn n4_notes_over_the_limit_are_asked_to_shrink_and_cut_by_code() {
    let house = House::new();
    let mut keeper = house.keeper();
    let mut old = Template::default().document();
    old.set_body(9, &"- step by step through the importer\n".repeat(500));
    house.file.write(&old.to_text()).unwrap();
    let long = (0..900).map(|n| format!("- lesson {n}")).collect::<Vec<_>>().join("\n");
    let answer = Answer::empty().call("Edit", put(&house, LEARNT, &long));
    let server = Server::start(vec![Reply::from(answer)]).unwrap();
    let parent = Parent::new(WIRES[0], &server, Tools::Edit);
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    let ask = server.requests()[0].last_user_text();
    assert!(ask.contains("- \"Worklog\": ") && ask.contains("keep \"Current State\""), "{ask}");
    let Outcome::Written { cut, .. } = &updated.outcome else { panic!("{updated:?}") };
    assert_eq!(cut, &["Learnings", "Worklog"]);
    let document = Document::parse(&house.text(), Template::default().outline());
    assert_eq!(Over::of(&document.sizes(&mut counter()), &NotesLimits::default()), None);
    assert!(body(&house, "Learnings").starts_with("- lesson 0\n"));
}

#[tokio::test]
async fn n4_a_cut_through_code_leaves_the_structure_intact() {
    let house = House::new();
    let mut keeper = house.keeper();
    let log = format!("```sh\n{}# last comment\nmake\n```\n", "# comment\nmake step\n".repeat(600));
    let answer =
        Answer::empty().call("Edit", put(&house, "_What was done, step by step, in few words._\n", &log));
    let server = Server::start(vec![Reply::from(answer)]).unwrap();
    let parent = Parent::new(WIRES[0], &server, Tools::Edit);
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    let Outcome::Written { cut, .. } = &updated.outcome else { panic!("{updated:?}") };
    assert_eq!(cut, &["Worklog"]);
    assert!(body(&house, "Worklog").ends_with("# last comment\nmake\n```"));
}

#[tokio::test]
async fn an_answer_without_notes_changes_nothing() {
    for (answer, tools) in
        [("I have nothing to add.", Tools::Edit), ("<notes>\nno headers\n</notes>", Tools::None)]
    {
        let house = House::new();
        let mut keeper = house.keeper();
        house.file.write("# Session Title\nMine\n").unwrap();
        let before = house.text();
        let server = Server::start(answer).unwrap();
        let parent = Parent::new(WIRES[2], &server, tools);
        let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
        assert!(matches!(why(&updated), Kept::Unchanged | Kept::Invalid(_)));
        assert_eq!(house.text(), before);
        let event = keeper.finish(updated, None);
        assert_eq!((event.name.as_str(), &event.data["failures"]), ("notes.failed", &json!(1)));
    }
}

#[tokio::test]
async fn n6_the_persons_template_and_prompt_reach_the_model() {
    let house = House::new();
    let template = Template::parse("# Status\n_Where we are._\n").unwrap();
    let wording = Wording { template: template.clone(), prompt: Some("Mine: {{currentNotes}}".to_owned()) };
    let mut keeper = house.keeper_with(wording, NotesLimits::default(), &[]);
    let edit = put(&house, "_Where we are._\n", "Far.");
    let server =
        Server::start(move |_: &Seen| Reply::from(Answer::empty().call("Edit", edit.clone()))).unwrap();
    let parent = Parent::new(WIRES[1], &server, Tools::Edit);
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    record(&updated);
    assert!(server.requests()[0].last_user_text().starts_with("Mine: # Status\n_Where we are._"));
    assert_eq!(house.text(), "# Status\n_Where we are._\nFar.\n\n");
}

#[tokio::test]
async fn updates_run_on_a_task_of_their_own() {
    let house = House::new();
    let server = Server::start("<notes># Current State\nNew.\n</notes>").unwrap();
    let parent = Arc::new(Parent::new(WIRES[0], &server, Tools::None));
    let mut keeper = house.keeper();
    let job = begin(&mut keeper, &parent.messages);
    let task = tokio::spawn({
        let parent = Arc::clone(&parent);
        async move {
            let (model, knowledge) = (Some(parent.by_model()), knowledge(&parent.messages));
            update(Update { job, model, knowledge: &knowledge, counter: &mut counter() }).await
        }
    });
    let updated = task.await.unwrap();
    record(&updated);
}

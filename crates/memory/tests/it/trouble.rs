//! Updates that fail leave the old notes.

use crate::common::{House, Parent, Tools, WIRES, begin, offline, session};
use serde_json::json;
use std::fs;
use std::time::Duration;
use throughline_memory::notes::{Kept, Outcome, Template, Updated};
use throughline_model::{Cap, Caps, Timeouts, Wire};
use throughline_testkit::{Answer, Fault, Gate, Reply, Server};

const LEARNT: &str = "_What worked, what did not, what to avoid; nothing that stands above._\n";
const STATE: &str = "_What is being worked on right now, what is unfinished, what comes next._\n";

fn why(updated: &Updated) -> &Kept {
    match &updated.outcome {
        Outcome::Written { record, .. } => panic!("{record:?}"),
        Outcome::Kept(why) => why,
    }
}

fn old_notes(house: &House) -> String {
    let mut old = Template::default().document();
    old.set_body(1, "The old state.");
    house.file.write(&old.to_text()).unwrap();
    old.to_text()
}

/// Edits that are carried out, and a call that is refused, so that the model is asked once more.
fn half_done(house: &House) -> Reply {
    let edit = json!({"file_path": house.file.path(), "old_string": "The old state.", "new_string": "New."});
    Answer::empty().call("Edit", edit).call("Bash", json!({"command": "ls"})).into()
}

#[tokio::test]
async fn n3_every_fault_leaves_old_notes_or_whole_new_ones_on_anthropic() {
    faults(Wire::Anthropic).await;
}

#[tokio::test]
async fn n3_every_fault_leaves_old_notes_or_whole_new_ones_on_responses() {
    faults(Wire::Responses).await;
}

#[tokio::test]
async fn n3_every_fault_leaves_old_notes_or_whole_new_ones_on_chat() {
    faults(Wire::Chat).await;
}

async fn faults(wire: Wire) {
    let mut written = 0;
    for (name, fault) in Fault::all() {
        let house = House::new();
        let old = old_notes(&house);
        let edit = |old: &str, new: &str| json!({"file_path": house.file.path(), "old_string": old, "new_string": new});
        let answer = Answer::text("Two edits.")
            .call("Edit", edit("The old state.", "The new state."))
            .call("Edit", edit(LEARNT, &format!("{LEARNT}New.\n")));
        let new = old.replace("The old state.", "The new state.").replace(LEARNT, &format!("{LEARNT}New.\n"));
        let server = Server::start(answer.spoilt_by(fault)).unwrap();
        let timeouts = Timeouts { idle_ms: 100, ..Timeouts::default() };
        let mut parent = Parent::with(wire, &server, Tools::Edit, timeouts);
        parent.caps = Caps { turns: 1, seconds: 5, ..Caps::default() };
        let mut keeper = house.keeper();
        let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
        let expected = match &updated.outcome {
            Outcome::Written { .. } => new,
            Outcome::Kept(why) => {
                assert!(why.is_failure(), "{wire:?} {name}: {why}");
                old
            }
        };
        assert_eq!(house.text(), expected, "{wire:?} {name}");
        assert!(updated.receipt.is_some());
        assert!(server.count() <= 12, "{wire:?} {name}: {} requests", server.count());
        written += usize::from(keeper.finish(updated, None).name == "notes.updated");
        assert!(!keeper.is_running());
    }
    assert!(written > 0, "{wire:?}: some faults do no harm");
}

#[tokio::test]
async fn n3_a_failure_behind_good_edits_leaves_the_old_notes() {
    for wire in WIRES {
        let house = House::new();
        let old = old_notes(&house);
        let server = Server::start(vec![half_done(&house), Fault::Unauthorized.into()]).unwrap();
        let parent = Parent::new(wire, &server, Tools::Edit);
        let mut keeper = house.keeper();
        let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
        assert!(matches!(why(&updated), Kept::Failed(_)), "{updated:?}");
        assert_eq!((house.text(), server.count()), (old, 2));
    }
}

#[tokio::test]
async fn n3_a_cap_behind_good_edits_leaves_the_old_notes() {
    let house = House::new();
    let old = old_notes(&house);
    let server = Server::start(vec![half_done(&house)]).unwrap();
    let mut parent = Parent::new(WIRES[0], &server, Tools::Edit);
    parent.caps = Caps { turns: 1, ..Caps::default() };
    let mut keeper = house.keeper();
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    assert_eq!(why(&updated), &Kept::Capped(Cap::Turns));
    assert_eq!(house.text(), old);
}

#[tokio::test]
async fn a_cancelled_update_is_no_failure() {
    let house = House::new();
    let old = old_notes(&house);
    let gate = Gate::new();
    let server = Server::start(Answer::text("Late.").at(&gate)).unwrap();
    let parent = Parent::new(WIRES[0], &server, Tools::Edit);
    let mut keeper = house.keeper();
    let job = begin(&mut keeper, &parent.messages);
    let cancel = async {
        server_has(&server, 1).await;
        parent.cancel.cancel();
    };
    let (updated, ()) = tokio::join!(parent.update(job), cancel);
    assert_eq!(why(&updated), &Kept::Cancelled);
    assert_eq!(house.text(), old);
    assert_eq!(keeper.finish(updated, None).data["failures"], 0);
}

/// Lets others work until so many requests have arrived.
async fn server_has(server: &Server, requests: usize) {
    while server.count() < requests {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn a_killed_update_leaves_the_old_notes_and_gives_way() {
    let house = House::new();
    let old = old_notes(&house);
    let gate = Gate::new();
    let server = Server::start(Answer::text("Late.").at(&gate)).unwrap();
    let parent = std::sync::Arc::new(Parent::new(WIRES[0], &server, Tools::Edit));
    let mut keeper = house.keeper();
    let job = begin(&mut keeper, &parent.messages);
    let task = tokio::spawn({
        let parent = std::sync::Arc::clone(&parent);
        async move { parent.update(job).await }
    });
    server_has(&server, 1).await;
    assert!(keeper.begin(&parent.messages).unwrap().is_none(), "one at a time");
    assert!(keeper.is_running());
    task.abort();
    assert!(task.await.is_err());
    assert_eq!(house.text(), old);
    assert!(!keeper.is_running());
    assert!(keeper.begin(&parent.messages).unwrap().is_some());
}

#[tokio::test]
async fn what_somebody_wrote_meanwhile_stays() {
    let house = House::new();
    old_notes(&house);
    let mut keeper = house.keeper();
    let messages = session();
    let job = begin(&mut keeper, &messages);
    house.file.write("# Current State\nMine.\n").unwrap();
    let updated = offline(job, &messages).await;
    assert_eq!(why(&updated), &Kept::Disturbed);
    assert_eq!(house.text(), "# Current State\nMine.\n");
    keeper.finish(updated, None);
    // The next one takes what they wrote into account.
    let job = begin(&mut keeper, &messages);
    assert!(matches!(offline(job, &messages).await.outcome, Outcome::Written { .. }));
    assert!(house.text().starts_with("# Session Title\n"));
}

#[cfg(unix)]
#[tokio::test]
async fn a_folder_that_cannot_be_written_is_reported() {
    let house = House::new();
    let mut keeper = house.keeper();
    let messages = session();
    let job = begin(&mut keeper, &messages);
    // Where the folder should be there is a file.
    let project = house.file.path().ancestors().nth(3).unwrap().to_owned();
    fs::create_dir_all(project.parent().unwrap()).unwrap();
    fs::write(&project, "in the way").unwrap();
    let updated = offline(job, &messages).await;
    assert!(matches!(why(&updated), Kept::File(_)), "{updated:?}");
    keeper.finish(updated, None);
    assert_eq!(fs::read_to_string(&project).unwrap(), "in the way");
}

#[tokio::test]
async fn n3_notes_that_lost_their_structure_are_mended_and_nothing_is_lost() {
    let house = House::new();
    house.file.write("A word before.\n## current state\nBy hand.\n# My section\nMine.\n").unwrap();
    let edit =
        json!({"file_path": house.file.path(), "old_string": STATE, "new_string": format!("{STATE}New.\n")});
    let server = Server::start(vec![Reply::from(Answer::empty().call("Edit", edit))]).unwrap();
    let parent = Parent::new(WIRES[0], &server, Tools::Edit);
    let mut keeper = house.keeper();
    let updated = parent.update(begin(&mut keeper, &parent.messages)).await;
    assert!(matches!(updated.outcome, Outcome::Written { .. }), "{updated:?}");
    let text = house.text();
    for words in ["A word before.", "By hand.", "## My section", "Mine.", "New."] {
        assert!(text.contains(words), "{words}: {text}");
    }
}

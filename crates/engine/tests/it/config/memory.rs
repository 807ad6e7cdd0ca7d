//! `[memory]`: the user's alone.

use super::Machine;
use std::path::{Path, PathBuf};
use throughline_engine::config::{Origin, RecallBy};
use throughline_memory::{MemoryPlaces, Tier};

#[test]
fn m1_a_variable_then_the_users_file_say_where_memories_are_and_a_project_never_does() {
    let project = "[memory]\ndir = \"/project\"\nteam_dir = \"/project/team\"\nenabled = false\nhistory = false\n\
                   [memory.extract]\nevery_turns = 0\n[memory.recall]\nselect = \"model\"\n[memory.lifetime_days]\nfeedback = 1\n";
    let machine = Machine::new().project(project);
    let loaded = machine.load().unwrap();
    assert_eq!(loaded.warnings.len(), 7, "{:?}", loaded.warnings);
    assert!(loaded.warnings[0].to_string().contains("a project may not say what is remembered"));
    assert_eq!(loaded.config.memory, Default::default());
    assert_eq!(loaded.config.memory.places(), MemoryPlaces::default());

    let machine = Machine::new().project(project).user("[memory]\ndir = \"/mine/{project}\"\n");
    let loaded = machine.load().unwrap();
    assert_eq!(loaded.config.memory.places().project.as_deref(), Some(Path::new("/mine/{project}")));

    let machine = machine.variable("THROUGHLINE_MEMORY_DIR", "/now");
    let loaded = machine.load().unwrap();
    assert_eq!(loaded.config.memory.dir, Some(PathBuf::from("/now")));
    assert!(matches!(loaded.origin["memory.dir"], Origin::Environment { .. }));
}

#[test]
fn tiers_and_all_of_memory_can_be_switched_off() {
    let load = |text: &str| Machine::new().user(text).load().unwrap().config.memory;
    assert_eq!(load("[memory]\nenabled = false").places(), MemoryPlaces::off());
    let few = load("[memory]\nglobal = false\nteam = false").places();
    assert_eq!(few.tiers, [Tier::Project, Tier::Worktree].into());
    let model = load("[memory.recall]\nselect = \"model\"\nmost = 2").recall;
    assert_eq!((model.select, model.most, model.enabled), (RecallBy::Model, 2, true));
    let lasting = load("[memory]\nhistory = false\n[memory.lifetime_days]\nproject = 0\nuser = 2").places();
    assert_eq!(lasting.lifetimes.project, None);
    assert_eq!(lasting.lifetimes.user.map(|lifetime| lifetime.as_hours()), Some(48));
    assert!(!lasting.keeps_history);
}

#[test]
fn figures_that_make_no_sense_are_refused() {
    for (text, told) in [
        ("[memory]\ndir = \"here\"", "`memory.dir` must be a path: here must be absolute"),
        ("[memory]\nteam_dir = \"~/team\"", "`memory.team_dir` must be a path"),
        ("[memory.recall]\nmost = 0", "`memory.recall.most` must be a whole number: at least one"),
        ("[memory.recall]\nselect = \"magic\"", "`memory.recall.select` must be"),
        ("[memory.extract]\nby = \"me\"", "`memory.extract.by` must be"),
        ("[memory.lifetime_days]\nuser = -1", "`memory.lifetime_days.user` must be"),
    ] {
        let error = Machine::new().user(text).error();
        assert!(error.contains(told), "{error}");
    }
}

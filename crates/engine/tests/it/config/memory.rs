//! `[memory]`: the user's alone.

use super::Machine;
use std::path::{Path, PathBuf};
use throughline_engine::config::{Origin, RecallBy};
use throughline_memory::handbook::HandbookLimits;
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
        ("[memory.handbook]\nstore = \"work.db\"", "`memory.handbook.store`"),
        ("[memory.handbook]\nlimit = 1", "there is no key `memory.handbook.limit`"),
        ("[memory.handbook.limits]\nattempts = 0", "`attempts` is at least 1"),
        ("[memory.handbook.limits]\nwindow_percent = 101", "at most 100"),
    ] {
        let error = Machine::new().user(text).error();
        assert!(error.contains(told), "{error}");
    }
}

#[test]
fn h8_every_figure_of_the_handbook_is_a_setting_and_the_users_alone() {
    let limits = serde_json::to_value(HandbookLimits::default()).unwrap();
    for (name, built_in) in limits.as_object().unwrap() {
        let figure = built_in.as_u64().unwrap().saturating_sub(1).max(1);
        let text = format!("[memory.handbook.limits]\n{name} = {figure}\n");
        let loaded = Machine::new().user(&text).load().unwrap();
        let set = serde_json::to_value(&loaded.config.memory.handbook.limits).unwrap();
        assert_eq!(set[name].as_u64(), Some(figure), "{name}");
        let loaded = Machine::new().project(&text).load().unwrap();
        assert_eq!(loaded.warnings.len(), 1, "{name}");
        assert_eq!(loaded.config.memory.handbook, Default::default());
    }
    let store = "[memory.handbook]\nstore = \"postgres://me:pass@db/tl\"\nuse = false\ngenerate = false\nenabled = false\n";
    let loaded = Machine::new().project(store).load().unwrap();
    assert_eq!(loaded.config.memory.handbook, Default::default(), "no project says where the work is kept");
    assert_eq!(loaded.warnings.len(), 4, "{:?}", loaded.warnings);
    let loaded = Machine::new().user(store).load().unwrap();
    let handbook = &loaded.config.memory.handbook;
    assert_eq!(handbook.store.as_ref().unwrap().expose(), "postgres://me:pass@db/tl");
    assert!(
        !handbook.is_used && !handbook.generate && !handbook.enabled && !handbook.disable_on_external_context
    );
    assert!(!format!("{:?}", loaded.config).contains("me:pass"));
}

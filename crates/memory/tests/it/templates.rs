//! The person's own words in place of ours (N6).

use crate::common::{House, begin, counter, offline, session};
use std::fs;
use throughline_memory::notes::{
    Document, Keeping, NotesError, NotesKeeper, NotesLimits, Template, TemplateError, Wording, fill,
};

const OWN: &str =
    "My notes\n\n# Status\n_Where we are._\n\n## Decisions\n*What was decided.*\nNone yet.\n\n# Worklog\n";

#[test]
fn n6_sections_are_learnt_from_a_template() {
    let template = Template::parse(OWN).unwrap();
    let names: Vec<_> = template.outline().headings().iter().map(|heading| heading.name()).collect();
    assert_eq!(names, ["Status", "Decisions", "Worklog"]);
    let guides: Vec<_> =
        template.outline().headings().iter().map(|heading| heading.guide.as_deref()).collect();
    assert_eq!(guides, [Some("_Where we are._"), Some("*What was decided.*"), None]);
    let document = template.document();
    assert_eq!(document.check(template.outline()), Ok(()));
    assert_eq!(document.section("Decisions").unwrap().body(), "None yet.");
    assert!(template.is_untouched(template.text()) && template.is_untouched(""));
    assert!(!template.is_untouched(&template.text().replace("None yet.", "Tabs.")));
    assert!(!template.is_untouched("Free text by hand."));
}

#[test]
fn n6_texts_without_sections_are_no_templates() {
    assert_eq!(Template::parse("no header"), Err(TemplateError::NoSections));
    assert_eq!(Template::parse("```\n# code\n```\n#hashtag"), Err(TemplateError::NoSections));
    assert_eq!(Template::parse("# A\n# A"), Err(TemplateError::Repeated("A".to_owned())));
    let many: String = (0..100).map(|n| format!("# S{n}\n")).collect();
    assert_eq!(Template::parse(&many), Err(TemplateError::TooMany(100)));
}

#[test]
fn n6_files_in_the_configuration_replace_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(Wording::load(folder.path()).0, Wording::default());
    fs::write(folder.path().join("template.md"), OWN).unwrap();
    fs::write(folder.path().join("prompt.md"), "Update {{notesPath}}.").unwrap();
    let (wording, problems) = Wording::load(folder.path());
    assert!(problems.is_empty());
    assert_eq!(wording.template.outline().headings().len(), 3);
    assert_eq!(wording.prompt.as_deref(), Some("Update {{notesPath}}."));
}

#[test]
fn n6_what_cannot_be_used_is_reported_and_ours_is_taken() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("template.md"), "no header").unwrap();
    fs::write(folder.path().join("prompt.md"), [0xff, 0xfe]).unwrap();
    let (wording, problems) = Wording::load(folder.path());
    assert_eq!(wording, Wording::default());
    assert!(
        matches!(&problems[..], [NotesError::Template { .. }, NotesError::NotText { .. }]),
        "{problems:?}"
    );
    fs::write(folder.path().join("prompt.md"), "x".repeat(100_000)).unwrap();
    assert!(matches!(&Wording::load(folder.path()).1[1], NotesError::TooLarge { .. }));
}

#[test]
fn n6_variables_are_filled_once_and_unknown_ones_stay() {
    let values = [("currentNotes", "{{notesPath}} {{"), ("notesPath", "/n.md")];
    assert_eq!(fill("{{currentNotes}}|{{notesPath}}", &values), "{{notesPath}} {{|/n.md");
    assert_eq!(
        fill("{{other}} {{ notesPath }} {{{notesPath}}} {{notesPath", &values),
        "{{other}} /n.md {/n.md} {{notesPath"
    );
    assert_eq!(fill("", &values), "");
}

#[test]
fn a_template_that_leaves_no_room_is_replaced_and_reported() {
    let house = House::new();
    let guide = "word ".repeat(3_000);
    let template = Template::parse(&format!("# Status\n_{guide}_\n")).unwrap();
    let wording = Wording { template, prompt: None };
    let keeping = Keeping { file: house.file.clone(), wording, limits: NotesLimits::default() };
    let (_, problem) = NotesKeeper::open(keeping.clone(), [], &mut counter()).unwrap();
    assert!(matches!(problem, Some(NotesError::NoRoom { .. })));
    let limits = NotesLimits { total_tokens: 100, ..NotesLimits::default() };
    let refused = NotesKeeper::open(Keeping { limits, ..keeping }, [], &mut counter());
    assert!(matches!(refused, Err(NotesError::NoRoom { .. })));
}

#[tokio::test]
async fn n6_the_offline_scribe_writes_into_a_template_of_the_persons() {
    let house = House::new();
    let template = Template::parse(OWN).unwrap();
    let wording = Wording { template: template.clone(), prompt: None };
    let mut keeper = house.keeper_with(wording, NotesLimits::default(), &[]);
    let messages = session();
    let job = begin(&mut keeper, &messages);
    keeper.finish(offline(job, &messages).await, None);
    let document = Document::parse(&house.text(), template.outline());
    assert_eq!(document.check(template.outline()), Ok(()));
    assert_eq!(document.section("Decisions").unwrap().body(), "None yet.", "the scribe has nothing for it");
    let log = document.section("Worklog").unwrap().body();
    assert!(log.contains("### Task specification") && log.contains("Never touch the lockfile."), "{log}");
    assert!(keeper.notes().unwrap().is_some());
}

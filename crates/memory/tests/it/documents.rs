//! Notes, taken apart and put together.

use crate::common::counter;
use proptest::prelude::*;
use throughline_core::scribe::NOTES_SECTIONS;
use throughline_memory::notes::{Breach, Document, Template, mend};

fn template() -> Template {
    Template::default()
}

fn check(text: &str) -> Result<(), Breach> {
    Document::parse(text, template().outline()).check(template().outline())
}

#[test]
fn n1_the_template_is_intact_and_empty() {
    let template = template();
    let document = template.document();
    assert_eq!(document.check(template.outline()), Ok(()));
    assert!(document.is_empty());
    assert_eq!(document.sections().len(), 10);
    let names: Vec<&str> = document.sections().iter().map(|section| section.name()).collect();
    assert_eq!(names, NOTES_SECTIONS.map(|(name, _)| name));
}

#[test]
fn n1_headers_and_guides_may_not_change() {
    let text = template().text().to_owned();
    let filled = text.replace(
        "right now, what is unfinished, what comes next._\n",
        "right now, what is unfinished, what comes next._\nAt work.\n",
    );
    assert_eq!(check(&filled), Ok(()));
    assert_eq!(
        check(&text.replace("# Workflow", "# Work flow")),
        Err(Breach::Missing("Workflow".to_owned()))
    );
    assert_eq!(check(&format!("{text}# Workflow\n")), Err(Breach::Repeated("Workflow".to_owned())));
    assert_eq!(check(&format!("Hello.\n{text}")), Err(Breach::Outside));
    assert_eq!(
        check(&text.replace("_Five to ten", "_Two to ten")),
        Err(Breach::Guide("Session Title".to_owned()))
    );
    assert_eq!(check(&format!("{text}# My own\n")), Err(Breach::Added("# My own".to_owned())));
    let (title, rest) = text.split_once("# Current State").unwrap();
    assert_eq!(
        check(&format!("# Current State{rest}{title}")),
        Err(Breach::Moved("Current State".to_owned()))
    );
    // Deeper headings and comments in code are content.
    assert_eq!(check(&format!("{text}## Part\n```sh\n# a comment\n```\n")), Ok(()));
}

#[test]
fn what_a_text_says_is_brought_into_the_outline() {
    let template = template();
    let text = "Here you are:\n## worklog\n- third\n# Current State\n_My own guide._\nIn it.\n# Extra\nmore\n# Session Title\nA title\n";
    let mended = mend(text, template.outline());
    assert_eq!(mended.outside, "Here you are:");
    let said: Vec<(usize, &str)> = mended.sections.iter().map(|(at, body)| (*at, body.as_str())).collect();
    assert_eq!(said, [(0, "A title"), (1, "In it.\n## Extra\nmore"), (9, "- third")]);
}

#[test]
fn sizes_count_sections_with_their_headers() {
    let template = template();
    let mut counter = counter();
    let sizes = template.document().sizes(&mut counter);
    assert_eq!(sizes.total, counter.text(template.text()));
    assert_eq!(sizes.sections.len(), 10);
    let state = format!("# {}\n{}\n\n", NOTES_SECTIONS[1].0, NOTES_SECTIONS[1].1);
    assert_eq!(sizes.sections[1], ("Current State".to_owned(), counter.text(&state)));
}

/// Texts that are likely to hit headers, guides, fences and line ends.
fn texts() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        (0..10_usize).prop_map(|at| format!("# {}", NOTES_SECTIONS[at].0)),
        (0..10_usize).prop_map(|at| NOTES_SECTIONS[at].1.to_owned()),
        Just("# Other".to_owned()),
        Just("```".to_owned()),
        Just(String::new()),
        "[a-z #_]{0,12}",
        any::<String>(),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just(""), Just("\n\n")];
    prop::collection::vec((line, end), 0..40)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #[test]
    fn parsing_and_writing_gives_the_text_back(text in texts()) {
        let document = Document::parse(&text, template().outline());
        prop_assert_eq!(document.to_text(), text);
    }

    #[test]
    fn any_text_is_mended_to_an_intact_document(text in texts()) {
        let template = template();
        let mut document = template.skeleton();
        let mended = mend(&text, template.outline());
        for (at, body) in &mended.sections {
            document.set_body(*at, body);
        }
        prop_assert_eq!(document.check(template.outline()), Ok(()));
        prop_assert_eq!(&Document::parse(&document.to_text(), template.outline()), &document);
        // Nothing but headers and guides is lost.
        let words = |text: &str| text.split_whitespace().filter(|w| w.chars().any(char::is_alphanumeric)).count();
        let kept: usize = mended.sections.iter().map(|(_, body)| words(body)).sum::<usize>() + words(&mended.outside);
        prop_assert!(kept <= words(&text));
    }
}

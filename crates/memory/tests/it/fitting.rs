//! Notes within their limits (N4).

use crate::common::counter;
use proptest::prelude::*;
use throughline_memory::notes::{
    Document, KEPT_LONGEST, NotesLimits, Over, Template, check_room, cut_to_fit,
};

fn filled(lines: impl Fn(usize) -> usize) -> Document {
    let mut document = Template::default().document();
    for at in 0..10 {
        let body: Vec<String> = (0..lines(at))
            .map(|n| format!("- entry {n} of section {at} names src/module_{n}.rs and its test"))
            .collect();
        document.set_body(at, &body.join("\n"));
    }
    document
}

fn body<'a>(document: &'a Document, name: &str) -> &'a str {
    document.section(name).unwrap().body()
}

#[test]
fn n4_notes_within_the_limits_are_not_touched() {
    let document = filled(|_| 20);
    let mut cut = document.clone();
    assert!(cut_to_fit(&mut cut, &NotesLimits::default(), &mut counter()).is_empty());
    assert_eq!(cut, document);
    assert_eq!(Over::of(&document.sizes(&mut counter()), &NotesLimits::default()), None);
}

#[test]
fn n4_a_section_over_its_limit_loses_whole_lines_and_says_so() {
    let document = filled(|at| if at == 3 || at == 9 { 400 } else { 3 });
    let mut counter = counter();
    let limits = NotesLimits::default();
    let over = Over::of(&document.sizes(&mut counter), &limits).unwrap();
    let names: Vec<&str> = over.sections.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["Files and Functions", "Worklog"]);
    let mut cut = document.clone();
    assert_eq!(cut_to_fit(&mut cut, &limits, &mut counter), ["Files and Functions", "Worklog"]);
    assert_eq!(Over::of(&cut.sizes(&mut counter), &limits), None);
    let files = body(&cut, "Files and Functions");
    assert!(files.starts_with("- entry 0 of section 3") && files.ends_with("and its test\n[… cut to fit]"));
    // Of a log the newest entries count.
    let log = body(&cut, "Worklog");
    assert!(
        log.starts_with("[… cut to fit]\n- entry")
            && log.ends_with("- entry 399 of section 9 names src/module_399.rs and its test")
    );
    // Nearly all of the room is used, and a second cut changes nothing.
    let sizes = cut.sizes(&mut counter);
    assert!(sizes.sections[3].1 > 1_900, "{sizes:?}");
    let mut again = cut.clone();
    assert!(cut_to_fit(&mut again, &limits, &mut counter).is_empty());
    assert_eq!(again, cut);
}

#[test]
fn n4_over_the_total_state_and_errors_are_cut_last() {
    let document = filled(|_| 85);
    let mut counter = counter();
    let limits = NotesLimits::default();
    let over = Over::of(&document.sizes(&mut counter), &limits).unwrap();
    assert!(over.total.is_some() && over.sections.is_empty(), "{over:?}");
    let mut cut = document.clone();
    let names = cut_to_fit(&mut cut, &limits, &mut counter);
    assert_eq!(names.len(), 8);
    assert!(cut.sizes(&mut counter).total <= limits.total_tokens);
    for name in KEPT_LONGEST {
        assert!(!names.iter().any(|cut| cut == name));
        assert_eq!(body(&cut, name), body(&document, name));
    }
    let small = NotesLimits { total_tokens: 2_500, ..limits };
    let mut tiny = document.clone();
    cut_to_fit(&mut tiny, &small, &mut counter);
    assert!(tiny.sizes(&mut counter).total <= 2_500);
    assert!(!body(&tiny, "Current State").is_empty());
    assert!(body(&tiny, "Learnings").is_empty());
}

#[test]
fn n4_one_endless_line_is_cut_inside() {
    let mut document = Template::default().document();
    document.set_body(1, &"währenddessen ".repeat(20_000));
    let mut counter = counter();
    let limits = NotesLimits::default();
    assert_eq!(cut_to_fit(&mut document, &limits, &mut counter), ["Current State"]);
    assert_eq!(Over::of(&document.sizes(&mut counter), &limits), None);
    assert!(body(&document, "Current State").starts_with("währenddessen"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn n4_any_notes_are_within_any_limits_that_leave_room(
        bodies in prop::collection::vec(prop_oneof![
            prop::collection::vec("[ -~]{0,90}", 0..60).prop_map(|lines| lines.join("\n")),
            "[a-zé日 ]{0,4000}",
        ], 10),
        section in 120_u64..2_500,
        total in 700_u64..13_000,
    ) {
        let mut counter = counter();
        let template = Template::default();
        let limits = NotesLimits { section_tokens: section, total_tokens: total, ..NotesLimits::default() };
        prop_assume!(check_room(&template, &limits, &mut counter).is_ok());
        let mut document = template.document();
        for (at, body) in bodies.iter().enumerate() {
            document.set_body(at, &body.replace('#', "+"));
        }
        cut_to_fit(&mut document, &limits, &mut counter);
        prop_assert_eq!(Over::of(&document.sizes(&mut counter), &limits), None);
        prop_assert_eq!(document.check(template.outline()), Ok(()));
    }
}

//! What an answer cites is read, and not shown (H5).

use proptest::prelude::*;
use throughline_core::citation::{CLOSE, Citation, CitationFilter, MOST_BYTES, MOST_CITED, OPEN, strip};

const BLOCK: &str = "<oai-mem-citation>\n<citation_entries>\nMEMORY.md:3-5|note=[tests]\n</citation_entries>\n\
                     <rollout_ids>\n0192-aa\n0192-bb\n</rollout_ids>\n</oai-mem-citation>";

fn sift(pieces: &[&str]) -> (String, Option<Citation>) {
    let mut filter = CitationFilter::default();
    let mut shown: String = pieces.iter().map(|piece| filter.push(piece)).collect();
    let (rest, citation) = filter.finish();
    shown.push_str(&rest);
    (shown, citation)
}

fn sessions(text: &str) -> Vec<String> {
    sift(&[text]).1.map(|one| one.sessions.iter().map(ToString::to_string).collect()).unwrap_or_default()
}

#[test]
fn h5_a_block_is_read_and_not_shown_wherever_it_is_cut() {
    let text = format!("Use `make test`.\n\n{BLOCK}\n");
    let whole = sift(&[&text]);
    assert_eq!(whole.0, "Use `make test`.\n\n\n");
    let citation = whole.1.clone().unwrap();
    let entry = &citation.entries[0];
    assert_eq!(
        (entry.path.as_str(), entry.first, entry.last, entry.note.as_str()),
        ("MEMORY.md", 3, 5, "tests")
    );
    assert_eq!(citation.sessions, ["0192-aa".into(), "0192-bb".into()]);
    for at in 0..=text.len() {
        assert_eq!(sift(&[&text[..at], &text[at..]]), whole, "cut at {at}");
    }
    let letters: Vec<String> = text.chars().map(String::from).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    assert_eq!(sift(&letters), whole);
    assert_eq!(strip(&text), "Use `make test`.");
}

#[test]
fn h5_only_what_may_be_a_block_is_held_back() {
    let mut filter = CitationFilter::default();
    assert_eq!(filter.push("a <b> <o"), "a <b> ");
    assert_eq!(filter.push("ai-memo"), "<oai-memo");
    assert_eq!(filter.push(&BLOCK[..40]), "");
    assert_eq!(filter.push(&BLOCK[40..]), "");
    assert_eq!(filter.push("end"), "end");
    assert_eq!(filter.finish().0, "");
}

#[test]
fn h5_somebody_who_speaks_of_the_tag_is_heard() {
    for text in [
        "The tag <oai-mem-citation> begins a block.".to_owned(),
        "It is `<oai-mem-citation><rollout_ids>` then ids.".to_owned(),
        format!("It looks like this:\n```\n{BLOCK}\n```\nSo."),
        format!("~~~xml\n{BLOCK}\n~~~"),
        "It ends with <oai-mem-citation>".to_owned(),
        "broken off: <oai-mem-cit".to_owned(),
        "<oai-mem-citation>\n<citation_entries>\nAnd now the answer that you wait for".to_owned(),
        "<oai-mem-citation> <rollout_ids>\nthe ids of sessions\nand so on\n".to_owned(),
        format!("{OPEN}<rollout_ids>{}</rollout_ids>{CLOSE}", "x\n".repeat(MOST_BYTES / 2)),
        CLOSE.to_owned(),
    ] {
        assert_eq!(sift(&[&text]), (text.clone(), None), "{text:.80}");
        assert_eq!(strip(&text), text);
    }
}

#[test]
fn h5_a_block_that_is_not_closed_is_no_loss_of_words() {
    let cut = BLOCK.strip_suffix(CLOSE).unwrap();
    assert_eq!(sift(&[&format!("Yes.{cut}")]).0, "Yes.");
    assert_eq!(sift(&[&format!("Yes.{cut}</oai-mem")]).0, "Yes.");
    assert_eq!(sift(&[&format!("Yes.{cut}And more.")]).0, "Yes.\nAnd more.");
    // Broken off in a list.
    let in_ids = &BLOCK[..BLOCK.find("0192-bb").unwrap() + 3];
    assert_eq!(sift(&[&format!("Yes.{in_ids}")]).0, "Yes.");
    // A list that ends with the block.
    assert_eq!(sessions("<oai-mem-citation><rollout_ids>\na-1\n</oai-mem-citation>"), ["a-1"]);
    assert_eq!(
        sift(&["a<oai-mem-citation></oai-mem-citation>b"]),
        ("ab".to_owned(), Some(Citation::default()))
    );
}

#[test]
fn h5_what_is_malformed_is_passed_over_and_what_is_too_much_is_left_out() {
    let text = "<oai-mem-citation><citation_entries>\n\nno lines\nMEMORY.md:5-3|note=[backwards]\nMEMORY.md:x-y\n\
                a.md:0-1\nb.md:7|note=[one [line] here]\n c:d.md:1-2 |note=[]\n</citation_entries><thread_ids>\n\
                s-1\ntwo words\n\ns-1\n../x\ns_2\n</thread_ids></oai-mem-citation>";
    let citation = sift(&[text]).1.unwrap();
    let entries: Vec<_> =
        citation.entries.iter().map(|one| (one.path.as_str(), one.first, one.last)).collect();
    assert_eq!(entries, [("b.md", 7, 7), ("c:d.md", 1, 2)]);
    assert_eq!(citation.entries[0].note, "one [line] here");
    assert_eq!(sessions(text), ["s-1", "s_2"]);
    let ids: String = (0..200).map(|n| format!("s-{n}\n")).collect();
    let many = format!("{OPEN}<rollout_ids>\n{ids}</rollout_ids>{CLOSE}");
    assert_eq!(sessions(&many).len(), MOST_CITED);
    assert_eq!(sessions(&format!("{BLOCK} and {BLOCK}")), ["0192-aa", "0192-bb"]);
}

fn scrap() -> impl Strategy<Value = String> {
    let known = [
        OPEN,
        CLOSE,
        "<citation_entries>",
        "</citation_entries>",
        "<rollout_ids>",
        "</rollout_ids>",
        "<thread_ids>",
        "</thread_ids>",
        "0192-ab\n",
        "a.md:1-2|note=[x]\n",
        "\n",
        "```\n",
        "`",
        "<",
        "~~~\n",
        " ",
        "</oai-",
    ];
    prop_oneof![
        4 => prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        2 => "[a-z <>/é日`\\n-]{0,6}",
        1 => Just(BLOCK.to_owned()),
    ]
}

proptest! {
    #[test]
    fn h5_how_an_answer_is_cut_changes_nothing(scraps in prop::collection::vec(scrap(), 0..14), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
        let text = scraps.concat();
        let mut places: Vec<usize> =
            cuts.iter().map(|cut| text.floor_char_boundary(cut.index(text.len() + 1))).collect();
        places.extend([0, text.len()]);
        places.sort_unstable();
        let pieces: Vec<&str> = places.windows(2).map(|pair| &text[pair[0]..pair[1]]).collect();
        let (shown, citation) = sift(&pieces);
        prop_assert_eq!(&sift(&[&text]), &(shown.clone(), citation.clone()));
        if citation.is_none() {
            prop_assert_eq!(&shown, &text);
        }
        let letters: Vec<String> = text.chars().map(String::from).collect();
        prop_assert_eq!(sift(&letters.iter().map(String::as_str).collect::<Vec<_>>()), (shown, citation));
    }

    #[test]
    fn h5_text_without_the_tag_is_given_back_to_the_byte(text in "\\PC{0,200}", pieces in 1usize..9) {
        prop_assume!(!text.contains(OPEN));
        let letters: Vec<char> = text.chars().collect();
        let cut: Vec<String> = letters.chunks(pieces).map(|chunk| chunk.iter().collect()).collect();
        prop_assert_eq!(sift(&cut.iter().map(String::as_str).collect::<Vec<_>>()), (text.clone(), None));
        prop_assert!(strip(&text) == text.as_str());
    }

    /// Whatever people would read stays, in order.
    #[test]
    fn h5_words_around_a_block_stay(before in "[a-z \\n.]{0,40}", after in "[a-z \\n.]{0,40}") {
        let (shown, citation) = sift(&[&before, BLOCK, &after]);
        prop_assert_eq!(shown, before + &after);
        prop_assert!(citation.is_some_and(|citation| citation.sessions.len() == 2));
    }
}

#[test]
fn h5_what_is_made_of_an_answer_does_not_hold_what_it_cites() {
    use throughline_core::facts::Facts;
    use throughline_core::{Message, Role};
    let answer = Message::text(Role::Assistant, format!("All green.\n{BLOCK}"));
    assert_eq!(answer.to_text(), "All green.");
    let mut facts = Facts::default();
    facts.push(&Message::text(Role::User, "run the tests"));
    facts.push(&answer);
    facts.push(&Message::text(Role::Assistant, BLOCK));
    assert_eq!(facts.turns()[0].answer.as_deref(), Some("All green."));
    // What a person pastes is theirs.
    let pasted = Message::text(Role::User, BLOCK);
    assert_eq!(pasted.to_text(), BLOCK);
}

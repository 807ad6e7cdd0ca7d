//! Whether an answer made use of a memory.

use super::tables::{TABLES, Telling};
use super::words::{Sort, each_term};
use crate::topics::Topic;
use std::collections::BTreeSet;
use throughline_core::entity::{Kind, scan};

/// Bytes of an answer that are looked at.
const MOST_BYTES: usize = 256 << 10;
/// Distinctive words that prove use where no entity does: so many of them, and such a share of all that the memory has.
const ENOUGH_WORDS: usize = 3;
const ENOUGH_SHARE: f64 = 0.25;

/// Whether what the assistant did (its words, and what it gave to tools) shows that it made use of a memory: something distinctive of
/// the memory is in it that was not in the request. An entity (a path, a flag, a name in code, a number) proves it alone; of plain
/// words it takes several.
///
/// It errs on the side of no: what everybody would have said is no proof.
pub fn used_in(memory: &Topic, did: &str, request: &str) -> bool {
    let did = throughline_core::text::head(did, MOST_BYTES);
    let said = format!("{}\n{}\n{}", memory.name, memory.description, memory.body);
    let known = entities(request);
    let mut telling = entities(&said);
    telling.retain(|entity| !known.contains(entity) && !request.contains(entity.as_str()));
    let done = entities(did);
    if telling.iter().any(|entity| done.contains(entity)) {
        return true;
    }
    let asked = words(request);
    let mut words_said = words(&said);
    words_said.retain(|word| !asked.contains(word));
    let words_done = words(did);
    let shared = words_said.intersection(&words_done).count();
    shared >= ENOUGH_WORDS && shared as f64 >= ENOUGH_SHARE * words_said.len() as f64
}

/// The strings of a text that work hangs on. Plain numbers and quoted prose turn up by chance.
fn entities(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    scan(text, |entity| {
        let is_telling = match entity.kind {
            Kind::Path | Kind::Symbol | Kind::Error | Kind::Id | Kind::Flag => true,
            Kind::Quoted => entity.text.split_whitespace().count() <= 3,
            Kind::Number => entity.text.len() >= 5,
        };
        if is_telling {
            found.insert(entity.text.to_lowercase());
        }
    });
    found
}

/// Words that say something by themselves.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    each_term(text, |term| {
        let is_telling = match term.sort {
            Sort::Word => TABLES.telling(term.text) == Telling::Much && term.text.chars().count() > 2,
            Sort::Name => true,
            Sort::Pair => false,
        };
        if is_telling {
            found.insert(term.text.to_owned());
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::{Meta, TopicType};
    use jiff::Timestamp;

    fn memory(body: &str) -> Topic {
        Topic {
            file: "a.md".to_owned(),
            name: "Migrations".to_owned(),
            description: "How migrations run".to_owned(),
            kind: Some(TopicType::Feedback),
            body: body.to_owned(),
            modified: Timestamp::UNIX_EPOCH,
            meta: Meta::default(),
        }
    }

    #[test]
    fn m7_an_entity_that_nobody_asked_about_proves_use() {
        let memory =
            memory("Migrations run by `make migrate-prod`, never by scripts/old_migrate.sh --force.");
        let ask = "add a column to the users table";
        assert!(used_in(&memory, "I ran make migrate-prod for you: `make migrate-prod`", ask));
        assert!(used_in(&memory, r#"{"command": "cat scripts/old_migrate.sh"}"#, ask));
        assert!(!used_in(&memory, "I added the column.", ask));
        // It was in the request: anybody would have said it.
        assert!(!used_in(&memory, "I looked at scripts/old_migrate.sh", "look at scripts/old_migrate.sh"));
    }

    #[test]
    fn m7_of_plain_words_it_takes_several() {
        let memory = memory("Reservations belong to co-operatives and expire after the harvest.");
        let ask = "who owns a plot?";
        assert!(!used_in(&memory, "It expires some day.", ask));
        assert!(used_in(&memory, "Reservations link them: the co-operative owns it until the harvest.", ask));
    }
}

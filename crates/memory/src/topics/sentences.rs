//! What a memory says, sentence by sentence, and two texts as one without losing any.

use std::collections::BTreeSet;

/// The parts of a memory's body (M2): the rule, why, how to apply it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    Rule,
    Why,
    How,
}

/// A part of a body that stands for itself: a paragraph's sentence, an item of a list, a block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    section: Section,
    is_item: bool,
    /// As it is written.
    pub(super) text: String,
    /// The same for all ways to write it: its words in lower case. Of code, the code.
    pub(super) key: String,
}

/// Lines that belong together.
#[derive(Debug)]
enum Block<'a> {
    Prose(Vec<&'a str>),
    Item(&'a str),
    Code(Vec<&'a str>),
}

/// A body's lines in sections, each line as it is.
fn sections(body: &str) -> Vec<(Section, Vec<&str>)> {
    let mut sections: Vec<(Section, Vec<&str>)> = vec![(Section::Rule, Vec::new())];
    let mut in_code = false;
    for line in body.lines() {
        if is_fence(line) {
            in_code = !in_code;
        }
        if let Some((section, _)) = marker(line).filter(|_| !in_code) {
            sections.push((section, Vec::new()));
        }
        if let Some((_, lines)) = sections.last_mut() {
            lines.push(line);
        }
    }
    sections
}

fn is_fence(line: &str) -> bool {
    line.trim_start().starts_with("```")
}

/// The section that a line begins, and what it says besides.
fn marker(line: &str) -> Option<(Section, &str)> {
    let marks = [
        (Section::Why, "**why:**"),
        (Section::Why, "**why**:"),
        (Section::How, "**how to apply:**"),
        (Section::How, "**how to apply**:"),
    ];
    let line = line.trim_start();
    marks.into_iter().find_map(|(section, mark)| {
        let lead = line.get(..mark.len())?;
        lead.eq_ignore_ascii_case(mark).then(|| (section, line[mark.len()..].trim()))
    })
}

fn blocks<'a>(lines: &[&'a str]) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'a>> = Vec::new();
    let mut begins = true;
    let mut in_code = false;
    for line in lines {
        let line = marker(line).filter(|_| !in_code).map_or(*line, |(_, rest)| rest);
        if in_code {
            if let Some(Block::Code(code)) = blocks.last_mut() {
                code.push(line);
            }
            if is_fence(line) {
                in_code = false;
                begins = true;
            }
        } else if is_fence(line) {
            in_code = true;
            blocks.push(Block::Code(vec![line]));
        } else if line.trim().is_empty() {
            begins = true;
        } else if is_item(line) {
            blocks.push(Block::Item(line));
            begins = true;
        } else {
            match blocks.last_mut() {
                Some(Block::Prose(lines)) if !begins => lines.push(line),
                Some(_) | None => blocks.push(Block::Prose(vec![line])),
            }
            begins = false;
        }
    }
    blocks
}

/// Lines that are not part of a paragraph: items, headings, rows of tables, quotes.
fn is_item(line: &str) -> bool {
    let line = line.trim_start();
    let numbered = line.trim_start_matches(|c: char| c.is_ascii_digit());
    line.starts_with(['#', '|', '>'])
        || line.strip_prefix(['-', '*', '+']).is_some_and(|rest| rest.starts_with(' '))
        || (numbered.len() < line.len() && numbered.starts_with([')', '.']) && numbered[1..].starts_with(' '))
}

/// What a body says, in parts.
pub(super) fn units(body: &str) -> Vec<Unit> {
    let mut units = Vec::new();
    for (section, lines) in sections(body) {
        for block in blocks(&lines) {
            let (is_item, texts): (bool, Vec<String>) = match block {
                Block::Prose(lines) => (false, sentences(&lines.join(" "))),
                Block::Item(line) => (true, vec![line.trim().to_owned()]),
                Block::Code(lines) => (false, vec![lines.join("\n")]),
            };
            for text in texts {
                let key = if is_fence(&text) { text.clone() } else { key(&text) };
                if !key.is_empty() {
                    units.push(Unit { section, is_item, text, key });
                }
            }
        }
    }
    units
}

/// The sentences of a paragraph.
pub(crate) fn sentences(text: &str) -> Vec<String> {
    let mut out = Vec::new();
    let mut one = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        one.push(c);
        let ends = match c {
            '.' | '!' | '?' => chars.peek().is_none_or(|next| next.is_whitespace()),
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            out.push(std::mem::take(&mut one));
        }
    }
    out.push(one);
    out.iter()
        .map(|one| one.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|one| !one.is_empty())
        .collect()
}

/// The words of a text, the same for all ways to write it.
pub(crate) fn key(text: &str) -> String {
    let text = text.to_lowercase();
    let words = text
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '+' | '#' | '<' | '>' | '=' | '/' | '%' | '$'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The newest text as it is, with what older ones say besides, each sentence where it belongs.
pub(super) fn united(newest: &str, older: &[Vec<Unit>]) -> String {
    let mut known: BTreeSet<String> = units(newest).into_iter().map(|unit| unit.key).collect();
    let mut chunks: Vec<(Section, String, bool)> = sections(newest)
        .into_iter()
        .map(|(section, lines)| (section, lines.join("\n").trim().to_owned(), false))
        .collect();
    for unit in older.iter().flatten() {
        if !known.insert(unit.key.clone()) {
            continue;
        }
        match chunks.iter_mut().rfind(|(section, _, _)| *section == unit.section) {
            Some((_, chunk, ends_in_item)) if !chunk.is_empty() => {
                if chunk.lines().filter(|line| is_fence(line)).count() % 2 == 1 {
                    // An open block of code would swallow what follows.
                    chunk.push_str("\n```");
                }
                chunk.push_str(if unit.is_item && *ends_in_item { "\n" } else { "\n\n" });
                chunk.push_str(&unit.text);
                *ends_in_item = unit.is_item;
            }
            Some((_, chunk, ends_in_item)) => {
                chunk.push_str(&unit.text);
                *ends_in_item = unit.is_item;
            }
            None => {
                let lead = match unit.section {
                    Section::Rule => "",
                    Section::Why => "**Why:**",
                    Section::How => "**How to apply:**",
                };
                let gap = match (lead.is_empty(), unit.is_item || is_fence(&unit.text)) {
                    (true, _) => "",
                    (false, true) => "\n",
                    (false, false) => " ",
                };
                chunks.push((unit.section, format!("{lead}{gap}{}", unit.text), unit.is_item));
            }
        }
    }
    let chunks: Vec<String> =
        chunks.into_iter().map(|(_, chunk, _)| chunk).filter(|chunk| !chunk.is_empty()).collect();
    chunks.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn keys(body: &str) -> BTreeSet<String> {
        units(body).into_iter().map(|unit| unit.key).collect()
    }

    #[test]
    fn sentences_go_where_they_belong() {
        let newest = "Run the tests first.\n\n**Why:** main broke.\n**How to apply:** before each commit.";
        let older = "Run the tests first! Use nextest v0.9.\n\n- not on docs\n\n**Why:** Main broke. Twice in March.\n";
        assert_eq!(
            united(newest, &[units(older)]),
            "Run the tests first.\n\nUse nextest v0.9.\n\n- not on docs\n\n**Why:** main broke.\n\nTwice in March.\n\n**How to apply:** before each commit."
        );
        assert_eq!(
            united("A.", &[units("**Why:** B.\n```\ncode. x\n```")]),
            "A.\n\n**Why:** B.\n\n```\ncode. x\n```"
        );
        assert_eq!(sentences("v1.2 is out. 是的。好！ Done"), ["v1.2 is out.", "是的。", "好！", "Done"]);
    }

    fn bodies() -> impl Strategy<Value = String> {
        let line = prop_oneof![
            "[A-Za-z]{1,6}( [a-z]{1,6}){0,4}[.!?]?( [A-Z][a-z]{1,6}( [a-z]{1,5}){0,3}[.])?",
            "- [a-z]{1,6}( [a-z]{1,6}){0,3}",
            "1[.] [a-z]{1,6}",
            "\\*\\*Why:\\*\\* [a-z]{1,6}( [a-z]{1,6}){0,3}[.]",
            "\\*\\*How to apply:\\*\\* [a-z]{1,6}[.]",
            "[\u{4e00}-\u{4e20}]{1,6}。[\u{4e00}-\u{4e20}]{1,6}",
            Just("```\nlet a = 1. b\n```".to_owned()),
            Just(String::new()),
            any::<String>().prop_map(|text| text.replace('`', "'")),
        ];
        proptest::collection::vec(line, 0..8).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn no_sentence_is_lost(newest in bodies(), older in proptest::collection::vec(bodies(), 0..3)) {
            let older_units: Vec<Vec<Unit>> = older.iter().map(|body| units(body)).collect();
            let merged = keys(&united(&newest, &older_units));
            for body in older.iter().chain([&newest]) {
                for key in keys(body) {
                    prop_assert!(merged.contains(&key), "{key:?} of {body:?}");
                }
            }
        }
    }
}

//! A text with headings, taken apart into what could be memories.

use crate::topics::raw::one_line;
use throughline_core::text::head;

/// Sections that are looked at.
const MOST: usize = 200;
/// Characters of a section.
const LONGEST: usize = 4_000;
/// Characters of a name.
const NAME: usize = 90;

/// A part of a text that could be a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The heading that it stands under.
    pub(super) heading: String,
    /// What it could be called.
    pub(super) name: String,
    /// What it says.
    pub(super) text: String,
}

/// The points of each list under a heading, one by one; where there is no list, all that stands under the heading.
pub(super) fn sections(text: &str) -> Vec<Section> {
    let mut found = Vec::new();
    let mut heading = String::new();
    let mut lines: Vec<&str> = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        in_code ^= line.trim_start().starts_with("```");
        let title = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#'));
        match title.filter(|rest| rest.starts_with(' ') && !in_code) {
            Some(title) => {
                part(&heading, &lines, &mut found);
                lines.clear();
                heading = one_line(title);
            }
            None => lines.push(line),
        }
    }
    part(&heading, &lines, &mut found);
    found.truncate(MOST);
    found
}

fn part(heading: &str, lines: &[&str], found: &mut Vec<Section>) {
    // A version or a word before the first heading is no memory.
    if heading.is_empty() {
        return;
    }
    let is_point = |line: &str| line.starts_with("- ") || line.starts_with("* ");
    let points = lines.iter().filter(|line| is_point(line)).count();
    let mut texts: Vec<String> = Vec::new();
    if points > 0 {
        for line in lines {
            match texts.last_mut() {
                _ if is_point(line) => texts.push(line[2..].to_owned()),
                Some(last) if line.starts_with([' ', '\t']) || line.trim().is_empty() => {
                    last.push('\n');
                    last.push_str(line);
                }
                // Prose between points belongs to none of them.
                Some(_) | None => {}
            }
        }
    } else {
        texts.push(lines.join("\n"));
    }
    for text in texts {
        let text = head(text.trim(), LONGEST).trim().to_owned();
        if text.is_empty() {
            continue;
        }
        let first = one_line(text.lines().next().unwrap_or_default());
        let name = if points > 0 { format!("{heading}: {first}") } else { heading.to_owned() };
        let name = head(&name, NAME).trim().to_owned();
        found.push(Section { heading: heading.to_owned(), name, text });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_taken_one_by_one_and_prose_as_a_whole() {
        let text = "v1\n\n## User Profile\n\nWrites Rust.\nIn Berlin.\n\n## User preferences\n- Small commits\n  with reasons\n* No emoji\n\n## Empty\n";
        let found = sections(text);
        let names: Vec<&str> = found.iter().map(|section| section.name.as_str()).collect();
        assert_eq!(names, ["User Profile", "User preferences: Small commits", "User preferences: No emoji"]);
        assert_eq!(found[0].text, "Writes Rust.\nIn Berlin.");
        assert_eq!(found[1].text, "Small commits\n  with reasons");
    }
}

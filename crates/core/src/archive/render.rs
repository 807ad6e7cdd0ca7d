//! Lines as text.

use super::item::{Item, Voice};
use super::place::Lines;
use super::{Archive, Mark};
use crate::entity::Kind;

/// Writes the lines in the order of the work. An answer follows its call; what comes next with the same beginning
/// continues the line.
pub(super) fn render(archive: &Archive, lines: &Lines) -> String {
    let mut out = String::new();
    let mut last: Option<usize> = None;
    let mut last_head = String::new();
    for (at, marks) in lines.iter() {
        let item = &archive.items[at];
        let Beginning { head, rest } = beginning(archive, item, marks);
        match item.after {
            Some(call) if last == Some(call) => out.push_str(" →"),
            Some(_) | None if head == last_head && !out.is_empty() => out.push(';'),
            Some(_) | None => {
                if !out.is_empty() {
                    out.push('\n');
                }
                out.push_str(&head);
                last_head = head;
            }
        }
        // In prose the reader must see where words are missing; in code and output a space will do.
        let broken = match item.voice {
            Voice::Prose | Voice::User => "… ",
            Voice::Call | Voice::Result | Voice::Failure | Voice::Scaffold => " ",
        };
        Writer { archive, broken }.write(&mut out, &rest);
        last = Some(at);
    }
    out
}

/// Commands up to this length are shown whole, longer ones where what they name fills half of them.
const SHORT_COMMAND: usize = 48;

struct Beginning {
    head: String,
    /// What the head does not say.
    rest: Vec<Mark>,
}

fn beginning(archive: &Archive, item: &Item, marks: &[Mark]) -> Beginning {
    let text = |mark: &Mark| &*archive.names.get(mark.name).text;
    match item.voice {
        Voice::Call => match &item.target {
            Some(target) => {
                let named = marks.iter().position(|mark| target.ends_with(text(mark)));
                let shown = named.map_or_else(|| base(target), |i| text(&marks[i]));
                let head = format!("{} {shown}:", item.head);
                let rest =
                    marks.iter().enumerate().filter(|(i, _)| Some(*i) != named).map(|(_, m)| *m).collect();
                Beginning { head, rest }
            }
            None => {
                let covered: usize = marks
                    .iter()
                    .map(&text)
                    .filter(|text| item.head.contains(*text))
                    .map(|text| text.len() + 1)
                    .sum();
                if (covered * 2 >= item.head.len() && !item.head.ends_with('…'))
                    || item.head.len() <= SHORT_COMMAND
                {
                    let rest = marks.iter().filter(|mark| !item.head.contains(text(mark))).copied().collect();
                    Beginning { head: format!("$ {}", item.head), rest }
                } else {
                    Beginning {
                        head: format!("$ {}", first_words(&item.head)).trim_end().to_owned(),
                        rest: marks.to_vec(),
                    }
                }
            }
        },
        Voice::User => Beginning { head: "user:".into(), rest: marks.to_vec() },
        Voice::Prose => Beginning { head: "said:".into(), rest: marks.to_vec() },
        Voice::Scaffold => Beginning { head: "given:".into(), rest: marks.to_vec() },
        Voice::Result | Voice::Failure => {
            let label = match item.after.map(|call| &archive.items[call]) {
                Some(Item { target: Some(target), .. }) => base(target).to_owned(),
                Some(call) => first_words(&call.head).to_owned(),
                None => String::new(),
            };
            let arrow = if item.voice == Voice::Failure { "failed →" } else { "→" };
            Beginning { head: format!("{label} {arrow}").trim_start().to_owned(), rest: marks.to_vec() }
        }
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The first two words of a command, up to what looks like more than a name.
fn first_words(command: &str) -> &str {
    let mut end = 0;
    for word in command.split(' ').take(2) {
        if !word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.')) {
            break;
        }
        end += word.len() + usize::from(end > 0);
    }
    &command[..end]
}

/// Writes strings.
struct Writer<'a> {
    archive: &'a Archive,
    /// Stands for what is left out between two strings.
    broken: &'a str,
}

impl Writer<'_> {
    /// Strings in order; between two that stood close to each other stands what stood there.
    fn write(&self, out: &mut String, marks: &[Mark]) {
        let mut before: Option<(Mark, bool)> = None;
        for mark in marks {
            let name = self.archive.names.get(mark.name);
            let quoted =
                name.kind == Kind::Quoted && name.text.contains(' ') && !name.text.starts_with(['"', '\'']);
            let left_out = mark.gap.left_out();
            let gap = match before {
                Some(last) => self.gap(last, (*mark, quoted)).unwrap_or(left_out.unwrap_or(self.broken)),
                None => left_out.unwrap_or(" "),
            };
            out.push_str(gap);
            if quoted {
                out.push('"');
            }
            out.push_str(&name.text);
            if quoted {
                out.push('"');
            }
            before = Some((*mark, quoted));
        }
    }

    /// What stood between two strings, without the quotation marks that are written around them anyway.
    fn gap(&self, (last, last_quoted): (Mark, bool), (mark, quoted): (Mark, bool)) -> Option<&str> {
        let end = last.at as usize + self.archive.names.get(last.name).text.len();
        let mut gap = self.archive.gaps.get(mark.gap, (mark.at as usize).checked_sub(end)?)?;
        if last_quoted {
            gap = gap.strip_prefix('"').unwrap_or(gap);
        }
        if quoted {
            gap = gap.strip_suffix('"').unwrap_or(gap);
        }
        (!gap.is_empty()).then_some(gap)
    }
}

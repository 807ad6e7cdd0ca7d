//! The options of a program, as a line of text.
//!
//! `-a` takes nothing, `-n#` a value, `-n%` a number, `-f@` a path; `--all`, `--lines=#`, `--file=@`, `--color=?` (a value only after `=`),
//! `--merged=!` (the next word, if there is one); `-#` is a number such as `-20`. Abbreviations count as unknown: what they stand for
//! depends on the program's version.
//!
//! Architecture invariant: **a word that begins with `-` is never taken for the value of an option**. If a table were wrong about an
//! option that takes no separate value, the program would read that word as an option of its own.

use throughline_core::shell::{Word, WordKind};

/// What follows an option.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Text,
    Number,
    Path,
    AfterEquals,
    NextIfAny,
}

/// How a program writes its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// `-abc` is three options.
    Letters,
    /// `-abc` is one.
    Words,
}

/// Words, sorted by what they are to the program.
#[derive(Debug, Default)]
pub(super) struct Sorted<'a> {
    /// Arguments that are no options.
    pub(super) arguments: Vec<&'a Word>,
    /// Values of options that are paths.
    pub(super) paths: Vec<Word>,
    /// The options, without values.
    pub(super) options: Vec<String>,
    /// Values of options that are text.
    pub(super) values: Vec<String>,
}

impl Sorted<'_> {
    pub(super) fn has(&self, options: &[&str]) -> bool {
        self.options.iter().any(|option| options.contains(&option.as_str()))
    }
}

/// Sorts the arguments of a program by the options that are known; `None` if there is another option, or a word that could be
/// one.
pub(super) fn sort<'a>(words: &'a [Word], known: &str, style: Style) -> Option<Sorted<'a>> {
    let mut sorted = Sorted::default();
    let mut words = words.iter();
    let mut is_over = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        match word.kind {
            WordKind::Dynamic => return None,
            // A file can be named like an option.
            WordKind::Glob if !is_over && text.starts_with(['*', '?', '[', '-']) => return None,
            WordKind::Glob => {
                sorted.arguments.push(word);
                continue;
            }
            WordKind::Literal => {}
        }
        if is_over || !text.starts_with('-') || text == "-" {
            sorted.arguments.push(word);
        } else if text == "--" {
            is_over = true;
        } else if style == Style::Letters && !text.starts_with("--") {
            letters(text, known, &mut words, &mut sorted)?;
        } else {
            let (name, value) = match text.split_once('=') {
                Some((name, value)) if style == Style::Letters => (name, Some(value)),
                Some(_) | None => (text, None),
            };
            match (takes(known, name)?, value) {
                (Takes::Nothing | Takes::AfterEquals, None) => {}
                (Takes::Text | Takes::AfterEquals | Takes::NextIfAny, Some(value)) => {
                    sorted.values.push(value.to_owned());
                }
                (Takes::Nothing, Some(_)) => return None,
                (Takes::Number, Some(value)) => is_number(value).then_some(())?,
                (Takes::Number, None) => is_number(&next(&mut words)?.text).then_some(())?,
                (Takes::Path, Some(value)) => sorted.paths.push(plain(value)),
                (Takes::Text, None) => sorted.values.push(next_value(&mut words)?.text),
                (Takes::NextIfAny, None) if words.as_slice().is_empty() => {}
                (Takes::NextIfAny, None) => sorted.values.push(next_value(&mut words)?.text),
                (Takes::Path, None) => sorted.paths.push(next_value(&mut words)?),
            }
            sorted.options.push(name.to_owned());
        }
    }
    Some(sorted)
}

fn letters<'a>(
    text: &str,
    known: &str,
    words: &mut impl Iterator<Item = &'a Word>,
    sorted: &mut Sorted<'_>,
) -> Option<()> {
    let rest = text.strip_prefix('-')?;
    if rest.chars().all(|c| c.is_ascii_digit()) {
        return known.split_whitespace().any(|known| known == "-#").then_some(());
    }
    for (at, letter) in rest.char_indices() {
        let name = format!("-{letter}");
        let takes = takes(known, &name)?;
        let value = rest.get(at + letter.len_utf8()..).filter(|value| !value.is_empty());
        sorted.options.push(name);
        match (takes, value) {
            (Takes::Nothing, _) => {}
            (Takes::AfterEquals | Takes::NextIfAny, _) => return None,
            (Takes::Text, Some(value)) => {
                sorted.values.push(value.to_owned());
                return Some(());
            }
            (Takes::Number, Some(value)) => return is_number(value).then_some(()),
            (Takes::Number, None) => is_number(&next(words)?.text).then_some(())?,
            (Takes::Path, Some(value)) => {
                sorted.paths.push(plain(value));
                return Some(());
            }
            (Takes::Text, None) => sorted.values.push(next_value(words)?.text),
            (Takes::Path, None) => sorted.paths.push(next_value(words)?),
        }
    }
    Some(())
}

fn next<'a>(words: &mut impl Iterator<Item = &'a Word>) -> Option<Word> {
    words.next().filter(|word| word.kind == WordKind::Literal).cloned()
}

/// The next word, unless the program might take it for an option.
fn next_value<'a>(words: &mut impl Iterator<Item = &'a Word>) -> Option<Word> {
    next(words).filter(|word| !word.text.starts_with('-'))
}

/// Such as `5`, `-5`, `+5`, `0.5` or `1K`.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = digits.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(digits);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn plain(text: &str) -> Word {
    Word { text: text.to_owned(), ..Word::empty() }
}

fn takes(known: &str, name: &str) -> Option<Takes> {
    known.split_whitespace().find_map(|entry| match entry.strip_prefix(name)? {
        "" => Some(Takes::Nothing),
        "#" | "=#" => Some(Takes::Text),
        "%" | "=%" => Some(Takes::Number),
        "@" | "=@" => Some(Takes::Path),
        "=?" => Some(Takes::AfterEquals),
        "=!" => Some(Takes::NextIfAny),
        _ => None,
    })
}

//! Notes within their limits, whatever was written (N4).

use super::document::{Document, Section, Sizes};
use super::error::NotesError;
use super::limits::NotesLimits;
use super::template::Template;
use throughline_core::tokens::Counter;

/// The sections that are cut last: what is going on, and what went wrong.
pub const KEPT_LONGEST: [&str; 2] = ["Current State", "Errors & Corrections"];
/// The section whose end matters more than its beginning.
const CHRONICLE: &str = "Worklog";
/// What stands where lines were left out.
const CUT: &str = "[… cut to fit]";

/// What is over a limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Over {
    /// Tokens of everything, if over the limit.
    pub total: Option<u64>,
    /// Sections over the limit, by name, with their tokens.
    pub sections: Vec<(String, u64)>,
}

impl Over {
    /// What of these sizes is over a limit; `None` if nothing is.
    pub fn of(sizes: &Sizes, limits: &NotesLimits) -> Option<Self> {
        let total = (sizes.total > limits.total_tokens).then_some(sizes.total);
        let sections: Vec<_> =
            sizes.sections.iter().filter(|(_, tokens)| *tokens > limits.section_tokens).cloned().collect();
        (total.is_some() || !sections.is_empty()).then_some(Self { total, sections })
    }
}

/// Whether a template leaves room for notes: at least half of each limit.
pub fn check_room(
    template: &Template,
    limits: &NotesLimits,
    counter: &mut Counter,
) -> Result<(), NotesError> {
    let sizes = template.skeleton().sizes(counter);
    if sizes.total > limits.total_tokens / 2 {
        return Err(NotesError::NoRoom { tokens: sizes.total, limit: limits.total_tokens });
    }
    match sizes.sections.iter().find(|(_, tokens)| *tokens > limits.section_tokens / 2) {
        Some((_, tokens)) => Err(NotesError::NoRoom { tokens: *tokens, limit: limits.section_tokens }),
        None => Ok(()),
    }
}

/// Cuts notes until they are within the limits, and says which sections were cut. Whole lines go, and a line says so;
/// [`KEPT_LONGEST`] go last. Headers and guides stay: see [`check_room`].
pub fn cut_to_fit(document: &mut Document, limits: &NotesLimits, counter: &mut Counter) -> Vec<String> {
    let mut cut = vec![false; document.sections.len()];
    for (section, cut) in document.sections.iter_mut().zip(&mut cut) {
        *cut = cut_body(section, limits.section_tokens, counter);
    }
    for protected in [false, true] {
        if counter.text(&document.to_text()) <= limits.total_tokens {
            break;
        }
        level_out(document, Levelling { protected, limits, cut: &mut cut }, counter);
    }
    let names = document.sections.iter().zip(cut).filter(|(_, cut)| *cut);
    names.map(|(section, _)| section.name().to_owned()).collect()
}

struct Levelling<'a> {
    /// Whether the sections that are cut last are cut now, or the others.
    protected: bool,
    limits: &'a NotesLimits,
    cut: &'a mut [bool],
}

/// Finds the highest level to which sections may be cut so that the whole fits: the longest lose most.
fn level_out(document: &mut Document, levelling: Levelling<'_>, counter: &mut Counter) {
    let Levelling { protected, limits, cut } = levelling;
    let at_level = |level: u64, counter: &mut Counter| {
        let mut tried = document.clone();
        let mut changed = vec![false; tried.sections.len()];
        for (section, changed) in tried.sections.iter_mut().zip(&mut changed) {
            if KEPT_LONGEST.contains(&section.name()) == protected {
                *changed = cut_body(section, level, counter);
            }
        }
        let fits = counter.text(&tried.to_text()) <= limits.total_tokens;
        (tried, changed, fits)
    };
    let (mut low, mut high) = (0, limits.section_tokens);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        if at_level(middle, counter).2 { low = middle } else { high = middle }
    }
    let (tried, changed, _) = at_level(low, counter);
    *document = tried;
    cut.iter_mut().zip(changed).for_each(|(cut, changed)| *cut |= changed);
}

/// Cuts a section to at most `most` tokens, or to its header and guide. Whether it had to be cut.
pub(super) fn cut_body(section: &mut Section, most: u64, counter: &mut Counter) -> bool {
    if section.body().is_empty() || counter.text(&section.to_text()) <= most {
        return false;
    }
    let body = section.body().to_owned();
    let lines: Vec<&str> = body.lines().filter(|line| line.trim() != CUT).collect();
    let keep_end = section.name() == CHRONICLE;
    // The longest run of lines that fits, by halving: more lines are never fewer tokens, up to a token or two.
    let (mut low, mut high) = (0, lines.len() + 1);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        section.set_body(&shortened(&lines, middle, keep_end));
        if counter.text(&section.to_text()) <= most { low = middle } else { high = middle }
    }
    if low > 0 {
        section.set_body(&shortened(&lines, low, keep_end));
        return true;
    }
    // Not one whole line: as much of one as fits.
    let line = if keep_end { lines.last() } else { lines.first() }.copied().unwrap_or("");
    let (mut low, mut high) = (0, line.len() + 1);
    while low + 1 < high {
        let middle = low + (high - low) / 2;
        section.set_body(&part(line, middle));
        if counter.text(&section.to_text()) <= most { low = middle } else { high = middle }
    }
    section.set_body(&part(line, low));
    if counter.text(&section.to_text()) > most {
        section.set_body("");
    }
    true
}

fn shortened(lines: &[&str], keep: usize, keep_end: bool) -> String {
    if keep_end {
        format!("{CUT}\n{}", lines[lines.len() - keep..].join("\n"))
    } else {
        format!("{}\n{CUT}", lines[..keep].join("\n"))
    }
}

fn part(line: &str, bytes: usize) -> String {
    let head = &line[..line.floor_char_boundary(bytes.min(line.len()))];
    if head.trim().is_empty() { CUT.to_owned() } else { format!("{head}\n{CUT}") }
}

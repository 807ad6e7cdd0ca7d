//! How memories look on a terminal. Their words are data: nothing in them acts on it.

use super::entry::{Entry, State};
use crate::outln;
use crate::output::{self, bold, cyan, dim, yellow};
use crate::terminal::clean::on_one_line;
use crate::terminal::style::{Line, Span};
use crate::terminal::wrap::wrap;
use crate::times;
use indicatif::{ProgressBar, ProgressDrawTarget};
use jiff::Timestamp;
use std::io::IsTerminal as _;
use std::time::Duration;
use throughline_memory::topics::Problem;
use throughline_memory::usage::Counts;
use unicode_width::UnicodeWidthStr as _;

/// A text on one line, harmless.
pub(super) fn line(text: &str) -> String {
    on_one_line(text)
}

/// A text as a word of a command line.
pub(super) fn quoted(text: &str) -> String {
    let text = line(text);
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What a memory is about, on a line of so many columns.
pub(super) fn gist(entry: &Entry, width: usize) -> String {
    let (name, description) = (&entry.topic.name, &entry.topic.description);
    let plain = |text: &str| text.trim_end_matches(['.', '…', '!', '。']).to_lowercase();
    let says_both = plain(description).starts_with(&plain(name));
    let text = match (description.is_empty(), says_both) {
        (true, _) => name.clone(),
        (false, true) => description.clone(),
        (false, false) => format!("{name}: {description}"),
    };
    output::fit(&line(&text), width)
}

/// A text in lines of so many columns, behind an indentation.
pub(super) fn paragraphs(text: &str, indent: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(indent.width()).max(20);
    let rows = wrap(&Line::from(Span::plain(text)), room);
    let row = |row: &Line| {
        let text: String = row.spans().iter().map(Span::text).collect();
        if text.is_empty() { text } else { format!("{indent}{text}") }
    };
    rows.iter().map(row).collect()
}

/// How often something was said: `once`, `twice`, `3 times`.
pub(super) fn times_said(n: u64) -> String {
    match n {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", output::number(n)),
    }
}

/// `1 memory`, `2 memories`.
pub(super) fn memories(n: usize) -> String {
    if n == 1 { "1 memory".to_owned() } else { format!("{} memories", output::number(n as u64)) }
}

/// What should be known beside what a memory says: that it is over, or soon will be.
pub(super) fn state(entry: &Entry, now: Timestamp) -> Option<String> {
    const SOON: i64 = 30 * 24 * 3600;
    match (&entry.state, entry.ends) {
        (State::Superseded { by }, _) => Some(format!("superseded by {}", line(&by.to_string()))),
        (State::Expired { at }, _) => Some(format!("expired {}", times::age(*at, now))),
        (State::Live, Some(end)) if end.as_second() - now.as_second() < SOON => {
            Some(format!("expires {}", times::until(end, now)))
        }
        (State::Live, _) => None,
    }
}

/// Which memory and how old, then what it says.
pub(super) fn row(entry: &Entry, uses: Option<&Counts>, now: Timestamp) {
    let mut about = vec![times::age(entry.topic.modified, now)];
    if entry.topic.meta.evidence > 1 {
        about.push(format!("said {}", times_said(u64::from(entry.topic.meta.evidence))));
    }
    if let Some(uses) = uses.filter(|uses| uses.used > 0) {
        about.push(format!("used {}", times_said(uses.used)));
    }
    let state = state(entry, now).unwrap_or_default();
    titled("  ", &entry.id.to_string(), (&about.join(" · "), &state));
    outln!("    {}", gist(entry, output::width().saturating_sub(4)));
}

/// A memory's id and what is told of it, in one line if that is wide enough; what needs attention is set off.
pub(super) fn titled(indent: &str, id: &str, (about, alert): (&str, &str)) {
    let id = line(id);
    let gap = if about.is_empty() || alert.is_empty() { "" } else { "  " };
    let told = format!("{}{gap}{}", dim(line(about)), yellow(line(alert)));
    let needed = indent.width() + id.width() + 2 + about.width() + gap.len() + alert.width();
    if about.is_empty() && alert.is_empty() {
        outln!("{indent}{}", cyan(id));
    } else if needed <= output::width() {
        outln!("{indent}{}  {told}", cyan(id));
    } else {
        outln!("{indent}{}", cyan(id));
        outln!("{indent}  {told}");
    }
}

/// A sentence, in as many lines as it needs.
pub(super) fn say(indent: &str, text: &str) {
    for row in paragraphs(&line(text), indent, output::width()) {
        outln!("{row}");
    }
}

/// A heading.
pub(super) fn heading(text: &str, detail: &str) {
    let detail = if detail.is_empty() { String::new() } else { format!("  {}", dim(line(detail))) };
    outln!("{}{detail}", bold(line(text)));
}

/// How often a sign of life is drawn.
const BEAT: Duration = Duration::from_millis(120);

/// A sign of life on a terminal, nothing when piped or with `--json`; gone when dropped.
pub(super) struct Busy(ProgressBar);

impl Busy {
    pub(super) fn new(json: bool, what: &'static str) -> Self {
        let bar = ProgressBar::new_spinner();
        if json || !std::io::stderr().is_terminal() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        bar.set_message(what);
        bar.enable_steady_tick(BEAT);
        Self(bar)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Problems that are told one by one.
const TOLD: usize = 10;

/// Tells what is not in order, on standard error.
pub(super) fn problems(problems: &[Problem]) {
    for problem in problems.iter().take(TOLD) {
        crate::errln!("{} {}", yellow("note:"), line(&problem.to_string()));
    }
    if problems.len() > TOLD {
        let more = problems.len() - TOLD;
        crate::errln!("{} and {more} more; `throughline memory audit` tells all", yellow("note:"));
    }
}

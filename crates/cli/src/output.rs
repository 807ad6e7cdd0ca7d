//! How things look: colour by terminal, JSON on demand, quiet when piped.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::fmt::Display;
use std::io::{IsTerminal, Write};

mod funnel;

use crate::terminal::clean::escape_json;
pub(crate) use funnel::{
    bold, cyan, data, dim, green, highlight, magenta, plain, red, stderr, stdout, yellow,
};
pub(crate) use throughline_core::words::{grouped as number, plural as count};

/// Prints a line on standard output. A reader that went away ends the program quietly, anything else with an error.
#[macro_export]
macro_rules! outln {
    () => { $crate::output::line(format_args!("")) };
    ($($argument:tt)*) => { $crate::output::line(format_args!($($argument)*)) };
}

/// Prints a line on standard error.
#[macro_export]
macro_rules! errln {
    () => { $crate::output::error_line(format_args!("")) };
    ($($argument:tt)*) => { $crate::output::error_line(format_args!($($argument)*)) };
}

pub(crate) fn line(text: std::fmt::Arguments<'_>) {
    if let Err(error) = writeln!(stdout(), "{text}") {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            std::process::exit(0);
        }
        errln!("{}: cannot print: {error}", red("error"));
        std::process::exit(1);
    }
}

pub(crate) fn error_line(text: std::fmt::Arguments<'_>) {
    // Nobody is left who could be told.
    let _ = writeln!(stderr(), "{text}");
}

/// Ends the program: wrong usage, told as the parser of the command line tells it.
pub(crate) fn wrong_usage(message: &str) -> ! {
    errln!("{} {message}", red("error:"));
    std::process::exit(WRONG_USAGE)
}

/// The exit status of wrong usage.
const WRONG_USAGE: i32 = 2;

/// How many problems of a file are told one by one.
const PROBLEMS_TOLD: usize = 10;

/// Tells problems on standard error, the first of them in full.
pub(crate) fn tell_problems<P: Display>(problems: &[P], session: &str) {
    for problem in problems.iter().take(PROBLEMS_TOLD) {
        errln!("{} {problem}", yellow("note:"));
    }
    if problems.len() > PROBLEMS_TOLD {
        let more = number((problems.len() - PROBLEMS_TOLD) as u64);
        errln!("{} and {more} more; `throughline sessions check {session}` tells all", yellow("note:"));
    }
}

/// How much of these ids must be shown to tell them apart: sessions begun close to each other begin alike.
pub(crate) fn id_width<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    let mut ids: Vec<&str> = ids.collect();
    ids.sort_unstable();
    let common = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(x, y)| x == y).count();
    // A sub-agent's id is its session's and more; the shorter one means the session.
    let pairs = ids.windows(2).filter(|pair| !pair[1].starts_with(pair[0]));
    pairs.map(|pair| common(pair[0], pair[1]) + 1).max().unwrap_or(0).max(8)
}

/// Prints one JSON document.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    json_line(&mut std::io::stdout().lock(), &serde_json::to_string_pretty(value)?)
}

/// Prints one JSON document on one line.
pub(crate) fn compact_json(value: &impl Serialize) -> anyhow::Result<()> {
    json_line(&mut std::io::stdout().lock(), &serde_json::to_string(value)?)
}

/// The same on standard error.
pub(crate) fn error_json(value: &impl Serialize) -> anyhow::Result<()> {
    json_line(&mut std::io::stderr().lock(), &serde_json::to_string(value)?)
}

fn json_line(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    writeln!(out, "{}", escape_json(text))?;
    Ok(out.flush()?)
}

/// The terminal's width; 100 where there is none, so that piped output is stable.
pub(crate) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0)).max(40)
}

/// `text` on one line, cut to `width` columns.
pub(crate) fn fit(text: &str, width: usize) -> String {
    // No more of a long text is looked at than could be shown.
    let words = text.split_whitespace().take(width);
    let line = words.collect::<Vec<_>>().join(" ");
    let mut out = String::new();
    let mut used = 0;
    for (at, c) in line.char_indices() {
        let columns = columns(c);
        let rest_fits =
            || used + line[at..].chars().take(width + 1).map(self::columns).sum::<usize>() <= width;
        if used + columns >= width && !rest_fits() {
            out.push('…');
            return out;
        }
        out.push(c);
        used += columns;
    }
    out
}

/// `text` filled up with spaces to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let used: usize = text.chars().map(columns).sum();
    format!("{text}{}", " ".repeat(width.saturating_sub(used)))
}

/// Terminal columns of a character: wide ones are those of East Asian scripts and emoji.
fn columns(c: char) -> usize {
    match c as u32 {
        0x1100..=0x115F | 0x2E80..=0xA4CF | 0xAC00..=0xD7A3 | 0xF900..=0xFAFF => 2,
        0xFE30..=0xFE6F | 0xFF00..=0xFF60 | 0xFFE0..=0xFFE6 | 0x1F300..=0x1FAFF | 0x20000..=0x3FFFD => 2,
        0x300..=0x36F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
        _ => 1,
    }
}

/// 1536 → `1.5 KB`.
pub(crate) fn bytes(n: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = n as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{n} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

/// A bar on a terminal, nothing when piped or with `--json`.
pub(crate) fn bar(json: bool, total: u64, what: &'static str) -> ProgressBar {
    let bar = ProgressBar::new(total);
    if json || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    if let Ok(style) =
        ProgressStyle::with_template("{prefix} {wide_bar:.cyan/dim} {percent:>3}%  {bytes_per_sec}  {msg}")
    {
        bar.set_style(style.progress_chars("━━╌"));
    }
    bar.set_prefix(what);
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_fits_the_columns_it_is_given_in_any_script() {
        assert_eq!(fit("one  two\nthree", 20), "one two three");
        assert_eq!(fit("one two three", 8), "one two…");
        assert_eq!(fit("claude", 6), "claude");
        assert_eq!(fit("中文字符很宽", 7), "中文字…");
        assert_eq!(pad("中", 4), "中  ");
    }

    #[test]
    fn numbers_read_well() {
        assert_eq!(number(1_234_567), "1,234,567");
        assert_eq!(bytes(1536), "1.5 KB");
        assert_eq!(count(1, "message"), "1 message");
    }
}

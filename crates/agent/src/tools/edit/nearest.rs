//! Where a text that is not in a file almost is.

use std::fmt::Write as _;

/// In a larger text nothing is looked for.
const MAX_TEXT: usize = 4 * 1024 * 1024;
/// Lines that are shown.
const LINES: usize = 14;
const LINE_CHARS: usize = 200;
/// What two lines have in common at least, from 0 to 1.
const ALIKE: f64 = 0.5;

/// Why the text was not found, and the place that is most like it.
pub(super) fn nearest(text: &str, old: &str) -> String {
    const MISSING: &str = "`old_string` is not in the file.";
    const AGAIN: &str = "Read the file again and give the text exactly as it is there.";
    if text.len() > MAX_TEXT {
        return format!("{MISSING} {AGAIN}");
    }
    if let Some(bare) = without_numbers(old)
        && text.contains(&bare)
    {
        return format!(
            "{MISSING} It is there without the line numbers that Read puts in front: leave them out."
        );
    }
    let lines: Vec<&str> = text.lines().collect();
    let wanted: Vec<String> = old.lines().map(plain).collect();
    let Some(core) = trimmed(&wanted) else {
        return format!("{MISSING} It is only whitespace: give some of the text around it.");
    };
    let plain_lines: Vec<String> = lines.iter().map(|line| plain(line)).collect();
    if let Some(at) = plain_lines.windows(core.len()).position(|window| window == core) {
        let place = excerpt(&lines, at, core.len());
        return format!("{MISSING} It differs in whitespace only from what is there:\n{place}{AGAIN}");
    }
    match most_alike(&plain_lines, core) {
        Some(at) => {
            let place = excerpt(&lines, at, core.len());
            format!("{MISSING} The place that is most like it:\n{place}{AGAIN}")
        }
        None => format!("{MISSING} Nothing like it is there. {AGAIN}"),
    }
}

/// A line with its whitespace, and quotation marks that models confuse, made the same.
fn plain(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for word in line.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.extend(word.chars().map(|c| match c {
            '\u{2018}' | '\u{2019}' => '\'',
            '\u{201C}' | '\u{201D}' => '"',
            c => c,
        }));
    }
    out
}

/// Without empty lines at the ends; `None` where nothing is left.
fn trimmed(lines: &[String]) -> Option<&[String]> {
    let from = lines.iter().position(|line| !line.is_empty())?;
    let to = lines.iter().rposition(|line| !line.is_empty())?;
    Some(&lines[from..=to])
}

/// The text without `12<tab>` in front of its lines, if all have that.
fn without_numbers(old: &str) -> Option<String> {
    let bare: Option<Vec<&str>> = old
        .split('\n')
        .map(|line| {
            if line.is_empty() {
                return Some(line);
            }
            let (number, rest) = line.split_once('\t')?;
            number.trim().parse::<u64>().is_ok().then_some(rest)
        })
        .collect();
    bare.map(|lines| lines.join("\n"))
}

/// Where the lines would begin if their longest one stood at the line that is most like it.
fn most_alike(lines: &[String], wanted: &[String]) -> Option<usize> {
    let (anchor_at, anchor) = wanted.iter().enumerate().max_by_key(|(_, line)| line.len())?;
    let anchor = pairs(anchor);
    let mut best: Option<(f64, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        let score = alike(&anchor, &pairs(line));
        if score >= ALIKE && best.is_none_or(|(found, _)| score > found) {
            best = Some((score, at));
        }
    }
    best.map(|(_, at)| at.saturating_sub(anchor_at))
}

/// The pairs of neighbouring characters of a line, sorted.
fn pairs(line: &str) -> Vec<(char, char)> {
    let chars = line.chars().take(LINE_CHARS);
    let mut pairs: Vec<_> = chars.clone().zip(chars.skip(1)).collect();
    pairs.sort_unstable();
    pairs
}

/// How much two lines have in common, from 0 to 1.
fn alike(a: &[(char, char)], b: &[(char, char)]) -> f64 {
    let (mut i, mut j, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        match x.cmp(y) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                common += 1;
                i += 1;
                j += 1;
            }
        }
    }
    if a.is_empty() || b.is_empty() { 0.0 } else { 2.0 * f64::from(common) / (a.len() + b.len()) as f64 }
}

fn excerpt(lines: &[&str], at: usize, count: usize) -> String {
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate().skip(at).take(count.min(LINES)) {
        let end = line.char_indices().nth(LINE_CHARS).map_or(line.len(), |(end, _)| end);
        let more = if end < line.len() { "…" } else { "" };
        // Writing to a string does not fail.
        let _ = writeln!(out, "{}\t{}{more}", number + 1, &line[..end]);
    }
    if count > LINES {
        out.push_str("…\n");
    }
    out
}

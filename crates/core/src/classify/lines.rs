//! Lines of a text by their look.

use super::table;
use std::collections::HashMap;
use std::ops::Range;

/// What a line looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Blank,
    /// A log, code, a diff, a table, a quotation.
    Material,
    /// An indented line: part of the material beside it, if there is any.
    Indented,
    Heading,
    ListItem,
    Prose,
}

/// A line and where it stands.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) text: &'a str,
    /// With its line end.
    pub(super) range: Range<usize>,
    pub(super) look: Look,
    /// Between two fences, or one of them.
    pub(super) is_fenced: bool,
    /// A heading with number signs.
    pub(super) is_titled: bool,
}

/// Long lines are judged by their beginning.
const LINE_HEAD: usize = 400;
/// Marks that begin and end a block.
const FENCES: [&str; 4] = ["```", "~~~", "\"\"\"", "'''"];

/// The lines of a text.
pub(super) fn read(text: &str) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    let mut at = 0;
    for piece in text.split_inclusive('\n') {
        let line = piece.trim_end_matches(['\n', '\r']);
        lines.push(Line {
            text: line,
            range: at..at + piece.len(),
            look: Look::Blank,
            is_fenced: false,
            is_titled: false,
        });
        at += piece.len();
    }
    mark_fences(&mut lines);
    mark_diffs(&mut lines);
    for line in lines.iter_mut().filter(|line| line.look != Look::Material) {
        line.look = look(line.text);
        line.is_titled = line.look == Look::Heading && line.text.trim_start().starts_with('#');
    }
    mark_underlined(&mut lines);
    mark_repeated(&mut lines);
    lines
}

/// Lines that stand there again and again: nobody types the same line three times.
fn mark_repeated(lines: &mut [Line<'_>]) {
    const TIMES: usize = 3;
    const SHORTEST: usize = 12;
    let is_candidate = |line: &Line<'_>| match line.look {
        Look::Prose => line.text.trim().len() >= SHORTEST,
        Look::Blank | Look::Material | Look::Indented | Look::Heading | Look::ListItem => false,
    };
    let mut times: HashMap<&str, usize> = HashMap::new();
    lines
        .iter()
        .filter(|line| is_candidate(line))
        .for_each(|line| *times.entry(line.text.trim()).or_default() += 1);
    for line in lines.iter_mut() {
        if is_candidate(line) && times.get(line.text.trim()).is_some_and(|times| *times >= TIMES) {
            line.look = Look::Material;
        }
    }
}

/// Headings with a line of `=` or `-` below them.
fn mark_underlined(lines: &mut [Line<'_>]) {
    let is_rule = |text: &str| {
        let text = text.trim();
        text.len() >= 3 && (text.bytes().all(|b| b == b'=') || text.bytes().all(|b| b == b'-'))
    };
    for at in 1..lines.len() {
        let is_alone = at < 2 || lines[at - 2].look == Look::Blank;
        if is_alone && lines[at - 1].look == Look::Prose && is_rule(lines[at].text) {
            lines[at - 1].look = Look::Heading;
            lines[at - 1].is_titled = true;
        }
    }
}

/// Blocks between fences. One that is never closed is none, so that no words behind it are lost.
fn mark_fences(lines: &mut [Line<'_>]) {
    let mark_of = |line: &str| FENCES.into_iter().find(|mark| line.trim_start().starts_with(mark));
    let is_bare = |line: &str, mark: &str| line.trim().trim_start_matches(&mark[..1]).is_empty();
    // For each mark, the last line that closes it: what is not closed need not be looked for.
    let last_close = FENCES.map(|mark| {
        lines.iter().rposition(|line| mark_of(line.text) == Some(mark) && is_bare(line.text, mark))
    });
    let mut at = 0;
    while at < lines.len() {
        let mark = mark_of(lines[at].text);
        // Quotation marks stand alone at the edge of a line; indented ones end the comment of a function.
        let opens = mark.filter(|mark| {
            mark.starts_with(['`', '~'])
                || (is_bare(lines[at].text, mark) && lines[at].text.starts_with(mark))
        });
        let close = opens.and_then(|mark| {
            let known = FENCES.iter().position(|fence| *fence == mark).and_then(|fence| last_close[fence]);
            known.filter(|last| *last > at)?;
            let closes = |line: &&Line<'_>| mark_of(line.text) == Some(mark) && is_bare(line.text, mark);
            lines[at + 1..].iter().position(|line| closes(&line)).map(|next| at + 1 + next)
        });
        let Some(close) = close else {
            at += 1;
            continue;
        };
        for line in &mut lines[at..=close] {
            line.look = Look::Material;
            line.is_fenced = true;
        }
        at = close + 1;
    }
}

/// A diff: from its head on, every line that begins as lines of diffs do.
fn mark_diffs(lines: &mut [Line<'_>]) {
    const MARKS: [&str; 13] = [
        " ",
        "\t",
        "+",
        "-",
        "\\ No newline",
        "@@",
        "diff --",
        "index ",
        "new file mode",
        "deleted file mode",
        "similarity index",
        "rename ",
        "Binary files ",
    ];
    let mut is_in_diff = false;
    for at in 0..lines.len() {
        let text = lines[at].text;
        if lines[at].is_fenced {
            is_in_diff = false;
            continue;
        }
        let starts = text.starts_with("diff --git ") || text.starts_with("@@ -");
        let is_blank = text.trim().is_empty();
        if starts {
            is_in_diff = true;
        } else if is_blank && text.is_empty() {
            // Editors strip the space of an empty context line; what follows must be certain then.
            let next = lines.get(at + 1).map_or("", |line| line.text);
            is_in_diff &=
                next.starts_with(' ') || next.starts_with("diff --git ") || next.starts_with("@@ -");
        } else if is_in_diff {
            is_in_diff = MARKS.iter().any(|mark| text.starts_with(mark));
        }
        if is_in_diff && !is_blank {
            lines[at].look = Look::Material;
        }
    }
}

fn look(line: &str) -> Look {
    if line.trim().is_empty() {
        return Look::Blank;
    }
    let is_heading = |row: &&table::Row| row.name == "heading";
    if line.trim_start().starts_with('#')
        && table::group("document_line").find(is_heading).is_some_and(|row| row.pattern.is_in(line))
    {
        return Look::Heading;
    }
    let line = crate::text::head(line, LINE_HEAD);
    if table::is_in("material_line", line) || is_dense(line) {
        return Look::Material;
    }
    let is_indented = line.starts_with("  ") || line.starts_with('\t');
    let document = table::group("document_line").find(|row| row.pattern.is_in(line)).map(|row| row.name);
    match document {
        Some(_) | None if is_indented && !table::is_in("question", line) => Look::Indented,
        Some("heading") => Look::Heading,
        Some("list item" | "numbered clause") => Look::ListItem,
        Some(_) | None => Look::Prose,
    }
}

/// Marks that prose has few of.
fn is_dense(line: &str) -> bool {
    let marks = line.chars().filter(|c| "{}<>=;|\\".contains(*c)).count();
    marks > 2 && marks * 8 > line.chars().count()
}

/// The prose at both ends of a text and between two logs in it: whole paragraphs, as byte ranges, at most `most` bytes each.
pub(super) fn border_prose(text: &str, most: usize) -> Vec<Range<usize>> {
    let lines = read(text);
    // Paragraphs of prose, and lists below a line that announces them.
    let mut is_prose: Vec<bool> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| &lines[before]);
        let is_before = is_prose.last().copied().unwrap_or(true);
        is_prose.push(match line.look {
            Look::Prose => true,
            Look::Blank => is_before && !line.is_fenced,
            Look::ListItem => before.is_some_and(|before| {
                is_before && (before.look == Look::ListItem || before.text.trim_end().ends_with(':'))
            }),
            Look::Material | Look::Indented | Look::Heading => false,
        });
    }
    let mut runs: Vec<Range<usize>> = Vec::new();
    for at in (0..lines.len()).filter(|at| is_prose[*at]) {
        match runs.last_mut().filter(|run| run.end == at) {
            Some(run) => run.end = at + 1,
            None => runs.push(at..at + 1),
        }
    }
    let is_log = |line: Option<&Line<'_>>| line.is_some_and(|line| line.look == Look::Material);
    let is_between_logs = |run: &Range<usize>| {
        let is_solid = |line: &&Line<'_>| line.look != Look::Blank;
        is_log(lines[..run.start].iter().rev().find(is_solid))
            && is_log(lines[run.end..].iter().find(is_solid))
    };
    let is_solid = |line: &&Line<'_>| line.look != Look::Blank;
    let mut found: Vec<Range<usize>> = Vec::new();
    for mut run in runs {
        // The first paragraph below a heading is the document's.
        if lines[..run.start].iter().rev().find(is_solid).is_some_and(|line| line.is_titled) {
            let text = run.clone().skip_while(|at| lines[*at].look == Look::Blank);
            let behind = text.skip_while(|at| lines[*at].look != Look::Blank);
            run.start = behind.min().unwrap_or(run.end);
        }
        if run.is_empty() {
            continue;
        }
        let bytes = lines[run.start].range.start..lines[run.end - 1].range.end;
        if text[bytes.clone()].trim().is_empty() {
            continue;
        }
        let (is_first, is_last) = (run.start == 0, run.end == lines.len());
        if bytes.len() <= most && (is_first || is_last || is_between_logs(&run)) {
            found.push(bytes);
            continue;
        }
        let blanks = |at: &usize| lines[*at].look == Look::Blank;
        let mut ends = run.clone().filter(blanks).map(|at| lines[at].range.start);
        if is_first {
            let end = ends.clone().rfind(|end| end - bytes.start <= most);
            found.extend(end.filter(|end| *end > bytes.start).map(|end| bytes.start..end));
        }
        if is_last {
            let start = ends.find(|start| bytes.end - start <= most);
            found.extend(start.map(|start| start..bytes.end));
        }
    }
    found
}

/// Returns true for sentences rather than data.
pub(super) fn is_prose(text: &str) -> bool {
    let lines = read(text);
    let bytes = |look: fn(Look) -> bool| -> usize {
        lines.iter().filter(|line| look(line.look)).map(|line| line.text.len()).sum()
    };
    let prose = bytes(|look| match look {
        Look::Prose | Look::ListItem | Look::Heading | Look::Indented => true,
        Look::Blank | Look::Material => false,
    });
    let words = text.split_whitespace().count();
    let is_wordy = words >= 6 || text.chars().filter(|c| !c.is_ascii()).count() >= 8;
    is_wordy && prose * 2 > text.trim().len()
}

/// Returns true for a text of some length or with headings, as files have them.
pub(super) fn is_document(text: &str) -> bool {
    text.len() > 400 || read(text).iter().any(|line| line.look == Look::Heading)
}

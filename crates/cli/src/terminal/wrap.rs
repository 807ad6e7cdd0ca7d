//! Lines of a width, counted in columns of the terminal.

use super::style::{Line, Span, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// What a terminal shows as one character.
#[derive(Clone, Copy)]
struct Cluster<'a> {
    text: &'a str,
    style: Style,
    width: usize,
}

/// `line` in lines of at most `width` columns, broken at spaces where possible, and at line ends inside it always. A word that is
/// wider than a line is broken inside. A character that is wider than `width` is shown as `?`.
pub(crate) fn wrap(line: &Line, width: usize) -> Vec<Line> {
    break_up(line, width, line_end)
}

/// As [`wrap`], but broken at the width and nowhere else: every space counts, as in code.
pub(crate) fn chop(line: &Line, width: usize) -> Vec<Line> {
    break_up(line, width, |clusters, width| {
        let mut used = 0;
        for (at, cluster) in clusters.iter().enumerate() {
            used += cluster.width;
            match cluster.text {
                "\n" => return (at, at + 1),
                _ if used > width => return (at, at),
                _ => {}
            }
        }
        (clusters.len(), clusters.len())
    })
}

/// `end` says how many clusters are on the next line, and where the one after it begins.
fn break_up(line: &Line, width: usize, end: impl Fn(&[Cluster<'_>], usize) -> (usize, usize)) -> Vec<Line> {
    let width = width.max(1);
    let text: String = line.spans().iter().map(Span::text).collect();
    let clusters = clusters(line, &text, width);
    let mut lines = Vec::new();
    let mut at = 0;
    while at < clusters.len() {
        let (shown, next) = end(&clusters[at..], width);
        lines.push(join(&clusters[at..at + shown]));
        at += next;
    }
    if lines.is_empty() || text.ends_with('\n') {
        lines.push(Line::new());
    }
    lines
}

/// `line` cut to `width` columns, with `…` where something is missing.
pub(crate) fn fit(line: &Line, width: usize) -> Line {
    let text: String = line.spans().iter().map(Span::text).collect();
    let mut clusters = clusters(line, &text, width.max(1));
    for cluster in &mut clusters {
        if cluster.text == "\n" {
            *cluster = Cluster { text: "⏎", width: 1, ..*cluster };
        }
    }
    let total: usize = clusters.iter().map(|cluster| cluster.width).sum();
    if total <= width {
        return join(&clusters);
    }
    let mut used = 0;
    let keep = clusters
        .iter()
        .take_while(|cluster| {
            used += cluster.width;
            used < width
        })
        .count();
    let mut cut = join(&clusters[..keep]);
    if width > 0 {
        cut.push(Span::dim("…"));
    }
    cut
}

fn line_end(clusters: &[Cluster<'_>], width: usize) -> (usize, usize) {
    let mut used = 0;
    let mut space = None;
    for (at, cluster) in clusters.iter().enumerate() {
        if cluster.text == "\n" {
            return (at, at + 1);
        }
        if cluster.text == " " {
            space = Some(at);
        }
        if used + cluster.width > width {
            // Spaces at a break are not shown; the words begin the next line.
            let (end, next) = match space {
                Some(space) if clusters[..space].iter().any(|cluster| cluster.text != " ") => {
                    (space, space + 1)
                }
                Some(_) | None => return (at, at),
            };
            let shown =
                clusters[..end].iter().rposition(|cluster| cluster.text != " ").map_or(0, |at| at + 1);
            let skipped = clusters[next..].iter().take_while(|cluster| cluster.text == " ").count();
            let next = next + skipped;
            // A line end right after the spaces is the break itself.
            let is_over = clusters.get(next).is_some_and(|cluster| cluster.text == "\n");
            return (shown, if is_over { next + 1 } else { next });
        }
        used += cluster.width;
    }
    (clusters.len(), clusters.len())
}

/// The clusters of all the pieces, as one text: a mark at the start of a piece belongs to the letter before it.
fn clusters<'a>(line: &Line, text: &'a str, width: usize) -> Vec<Cluster<'a>> {
    let mut pieces = line.spans().iter();
    let mut style = Style::PLAIN;
    let mut until = 0;
    let mut at = 0;
    let mut clusters = Vec::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        while at >= until {
            let Some(piece) = pieces.next() else { break };
            until += piece.text().len();
            style = piece.style();
        }
        at += grapheme.len();
        let columns = grapheme.width();
        clusters.push(match grapheme {
            "\n" | "\r\n" => Cluster { text: "\n", style, width: 0 },
            _ if columns > width => Cluster { text: "?", style, width: 1 },
            _ => Cluster { text: grapheme, style, width: columns },
        });
    }
    clusters
}

fn join(clusters: &[Cluster<'_>]) -> Line {
    let mut line = Line::new();
    for run in clusters.chunk_by(|a, b| a.style == b.style) {
        let text: String = run.iter().map(|cluster| cluster.text).collect();
        line.push(Span::new(text, run[0].style));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, width: usize) -> Vec<String> {
        let line = Line::from(Span::plain(text));
        let text = |line: &Line| line.spans().iter().map(Span::text).collect();
        wrap(&line, width).iter().map(text).collect()
    }

    #[test]
    fn words_stay_whole_where_they_fit() {
        assert_eq!(texts("one two three", 8), ["one two", "three"]);
        assert_eq!(texts("one two  three", 7), ["one two", "three"]);
        assert_eq!(texts("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(texts("a\n\nb", 4), ["a", "", "b"]);
        assert_eq!(texts("", 4), [""]);
        assert_eq!(texts("    deep", 6), ["    de", "ep"]);
    }

    #[test]
    fn wide_characters_take_their_columns() {
        assert_eq!(texts("日本語", 4), ["日本", "語"]);
        assert_eq!(texts("日本語", 5), ["日本", "語"]);
        assert_eq!(texts("👩‍👩‍👧👍🏽", 2), ["👩‍👩‍👧", "👍🏽"]);
        assert_eq!(texts("日", 1), ["?"]);
    }

    #[test]
    fn a_cut_line_says_so() {
        let line = Line::from(Span::plain("one two three"));
        let text: String = fit(&line, 8).spans().iter().map(Span::text).collect();
        assert_eq!(text, "one two…");
        assert_eq!(fit(&line, 13).width(), 13);
        assert_eq!(fit(&Line::from(Span::plain("日本語")), 4).width(), 3);
    }
}

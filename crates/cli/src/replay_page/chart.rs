//! Charts as inline SVG.

use super::EditPart;
use std::collections::{BTreeMap, BTreeSet};
use throughline_core::words::{escape, grouped, plural, short};

/// How many colours profiles have; further ones begin again. The class after the last is the baseline's.
pub(super) const COLOURS: usize = 5;

/// What can become of tokens, from the bottom of the stack to its top.
pub(super) const FATES: [&str; 6] = ["kept", "persisted", "snipped", "cleared", "collapsed", "summarised"];

/// One chart: requests from left to right, values upwards from zero.
pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// How many requests the full width is.
    pub(super) requests: usize,
    /// The value at the top; what is above it is cut off.
    pub(super) top: f64,
    /// The largest value.
    pub(super) largest: f64,
}

/// A line, or a layer of a stack.
pub(super) struct Series<'a> {
    pub(super) name: &'a str,
    pub(super) class: String,
    pub(super) points: Vec<Value>,
}

pub(super) struct Value {
    /// The request.
    pub(super) at: usize,
    pub(super) value: f64,
}

const WIDTH: f64 = 540.0;
const LEFT: f64 = 44.0;
const RIGHT: f64 = 8.0;
const TOP: f64 = 8.0;
/// Where the values end; below it a row of ticks for each stage, then the numbers of requests.
const BASE: f64 = 176.0;
const ROW: f64 = 5.0;

impl Chart<'_> {
    /// Lines over each other.
    pub(super) fn lines(&self, series: &[Series<'_>]) -> String {
        let mut marks = String::new();
        for series in series {
            let path = self.path(series.points.iter().map(|p| (p.at, p.value)));
            marks.push_str(&format!("<path class=\"line {}\" d=\"M{path}\"/>\n", series.class));
            // A run of a single request is a dot, not a line of no length.
            if let [only] = &series.points[..] {
                let (x, y) = (self.x(only.at), self.y(only.value));
                marks.push_str(&format!(
                    "<circle class=\"dot {}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>\n",
                    series.class
                ));
            }
        }
        let keys: String = series.iter().map(|s| key(&s.class, s.name)).collect();
        let caption =
            format!("<figcaption>{} <span class=\"keys\">{keys}</span></figcaption>\n", escape(self.title));
        let rows = series.iter().map(|s| (s.name, rows(&s.points))).collect::<Vec<_>>();
        caption + &self.svg(&Parts { marks: &marks, below: "", rows: &rows, kind: "lines", strip: 0 })
    }

    /// Layers upon each other, with a strip of edits below.
    pub(super) fn areas(&self, series: &[Series<'_>], edits: &[EditPart], colour: usize) -> String {
        let mut marks = String::new();
        let count = series.first().map_or(0, |s| s.points.len());
        let mut below = vec![0.0; count];
        for series in series {
            let above: Vec<f64> = below.iter().zip(&series.points).map(|(b, p)| b + p.value).collect();
            let ats = || series.points.iter().map(|p| p.at);
            let up = self.path(ats().zip(above.iter().copied()));
            let back: Vec<(usize, f64)> = ats().zip(below.iter().copied()).collect();
            let down = self.path(back.into_iter().rev());
            if count > 0 {
                marks.push_str(&format!("<path class=\"area {}\" d=\"M{up}L{down}Z\"/>\n", series.class));
            }
            below = above;
        }
        // A row for each stage that did something.
        let stages: BTreeSet<usize> = edits.iter().map(|edit| stage_colour(&edit.stage)).collect();
        let stages: Vec<usize> = stages.into_iter().collect();
        let below = self.edits(edits, &stages);
        let caption = format!(
            "<figcaption><span><i class=\"dot p{colour}\"></i>{}</span> <span class=\"keys dim\">{}</span></figcaption>\n",
            escape(self.title),
            plural(edits.len() as u64, "edit")
        );
        let rows = series.iter().map(|s| (s.name, rows(&s.points))).collect::<Vec<_>>();
        caption
            + &self.svg(&Parts {
                marks: &marks,
                below: &below,
                rows: &rows,
                kind: "areas",
                strip: stages.len(),
            })
    }

    /// A tick for each place and stage; where the view was replaced, a line through the chart.
    fn edits(&self, edits: &[EditPart], stages: &[usize]) -> String {
        // What falls on the same half pixel is one tick, or a session of thousands of edits would be a file of megabytes.
        let mut ticks: BTreeMap<(i64, usize), Vec<&EditPart>> = BTreeMap::new();
        for edit in edits {
            let x = (self.x(edit.request) * 2.0).round() as i64;
            ticks.entry((x, stage_colour(&edit.stage))).or_default().push(edit);
        }
        let cuts = ticks.keys().filter(|(_, stage)| *stage == REPLACED).count();
        let mut out = String::new();
        for ((x, stage), edits) in &ticks {
            let x = *x as f64 / 2.0;
            let mut title: Vec<String> = edits.iter().take(3).map(|edit| told(edit)).collect();
            if edits.len() > title.len() {
                title.push(format!("and {} more", edits.len() - title.len()));
            }
            let title = escape(&title.join("\n"));
            if *stage == REPLACED && cuts <= CUTS {
                out.push_str(&format!(
                    "<path class=\"cut\" d=\"M{x:.1} {TOP}V{BASE}\"><title>{title}</title></path>\n"
                ));
            }
            let row = stages.iter().position(|s| s == stage).unwrap_or(0) as f64;
            out.push_str(&format!(
                "<rect class=\"s{stage}\" x=\"{:.1}\" y=\"{:.1}\" width=\"2.5\" height=\"{}\"><title>{title}</title></rect>\n",
                x - 1.2,
                BASE + 3.0 + row * ROW,
                ROW - 1.0
            ));
        }
        out
    }

    /// The frame around the marks, and what the script needs to tell figures.
    fn svg(&self, parts: &Parts<'_>) -> String {
        let mut grid = String::new();
        for tick in ticks(self.top) {
            let y = self.y(tick);
            grid.push_str(&format!(
                "<path class=\"grid\" d=\"M{LEFT} {y:.1}H{}\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>\n",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 3.5,
                short(tick)
            ));
        }
        let label = BASE + 3.0 + ROW * parts.strip as f64 + 14.0;
        grid.push_str(&format!("<text x=\"{LEFT}\" y=\"{label}\">request</text>\n"));
        for tick in ticks(self.requests as f64).into_iter().filter(|t| *t >= 1.0 && t.fract() == 0.0) {
            let x = self.x(tick as usize - 1);
            // Not over the word at the left, nor beyond the edge at the right.
            let anchor = if x > WIDTH - RIGHT - 14.0 { "end" } else { "middle" };
            if x > LEFT + 60.0 {
                grid.push_str(&format!(
                    "<text x=\"{x:.1}\" y=\"{label}\" text-anchor=\"{anchor}\">{}</text>\n",
                    short(tick)
                ));
            }
        }
        let beyond = if self.largest > self.top * 1.001 {
            let (x, y) = (WIDTH - RIGHT - 2.0, TOP + 11.0);
            format!(
                "<text class=\"beyond\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">up to {} ↑</text>\n",
                short(self.largest)
            )
        } else {
            String::new()
        };
        let names: Vec<String> = parts.rows.iter().map(|(name, _)| escape(&name.replace('|', " "))).collect();
        let values: Vec<&str> = parts.rows.iter().map(|(_, row)| row.as_str()).collect();
        format!(
            "<svg viewBox=\"0 0 {WIDTH} {}\" role=\"img\" aria-label=\"{}: {}\" data-kind=\"{}\" \
             data-last=\"{}\" data-names=\"{}\" data-rows=\"{}\">\n{grid}\
             <svg x=\"0\" y=\"{TOP}\" width=\"{WIDTH}\" height=\"{}\" viewBox=\"0 {TOP} {WIDTH} {}\">\n{}</svg>\n{}{beyond}</svg>\n",
            label + 6.0,
            escape(self.title),
            plural(self.requests as u64, "request"),
            parts.kind,
            self.requests.saturating_sub(1),
            names.join("|"),
            values.join("|"),
            BASE - TOP,
            BASE - TOP,
            parts.marks,
            parts.below
        )
    }

    fn x(&self, request: usize) -> f64 {
        let last = self.requests.saturating_sub(1).max(1) as f64;
        LEFT + (WIDTH - LEFT - RIGHT) * (request as f64 / last).min(1.0)
    }

    fn y(&self, value: f64) -> f64 {
        if self.top > 0.0 { BASE - (BASE - TOP) * value / self.top } else { BASE }
    }

    fn path(&self, points: impl Iterator<Item = (usize, f64)>) -> String {
        let points: Vec<String> =
            points.map(|(at, v)| format!("{:.1} {:.1}", self.x(at), self.y(v))).collect();
        points.join("L")
    }
}

/// What a chart is put together from.
struct Parts<'a> {
    /// What is cut off at the top.
    marks: &'a str,
    /// What is not.
    below: &'a str,
    rows: &'a [(&'a str, String)],
    kind: &'a str,
    /// How many rows of ticks.
    strip: usize,
}

/// `request:value` pairs.
fn rows(points: &[Value]) -> String {
    points.iter().map(|p| format!("{}:{:.0}", p.at, p.value)).collect::<Vec<_>>().join(" ")
}

fn told(edit: &EditPart) -> String {
    let reason = if edit.reason.is_empty() { String::new() } else { format!(": {}", edit.reason) };
    format!(
        "before request {}, {} freed {} tokens{reason}",
        grouped(edit.request as u64 + 1),
        edit.stage,
        edit.freed
    )
}

/// Three to six round numbers from zero to just under or over the top.
fn ticks(top: f64) -> Vec<f64> {
    if top <= 0.0 || !top.is_finite() {
        return vec![0.0];
    }
    let rough = top / 4.0;
    let power = 10f64.powf(rough.log10().floor());
    let step =
        [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().map(|m| m * power).find(|s| *s >= rough).unwrap_or(rough);
    (0..=6).map(|n| f64::from(n) * step).take_while(|tick| *tick <= top * 1.001).collect()
}

/// The stages, in the order they run.
const STAGES: [&str; 5] = ["budget", "snip", "microcompact", "collapse", "autocompact"];
/// More lines through a chart than this hide it; the ticks below say the same.
const CUTS: usize = 20;
/// The one that replaces the view.
const REPLACED: usize = 4;

/// The colour class of a stage; an unknown one gets a neutral colour.
pub(super) fn stage_colour(stage: &str) -> usize {
    STAGES.iter().position(|name| stage.eq_ignore_ascii_case(name)).unwrap_or(STAGES.len())
}

fn key(class: &str, name: &str) -> String {
    format!("<span><i class=\"dot {class}\"></i>{}</span>", escape(name))
}

/// What the colours of areas and ticks mean.
pub(super) fn legend() -> String {
    let keys = |class: &str, names: &[&str]| -> String {
        names.iter().enumerate().map(|(n, name)| key(&format!("{class}{n}"), name)).collect()
    };
    let fates =
        ["sent", "saved to a file", "dropped by the model", "old results cleared", "folded", "summarised"];
    format!(
        "<p class=\"keys small\"><span class=\"dim\">Tokens of the history</span> {}<br>\
         <span class=\"dim\">Edits</span> {}</p>\n<p class=\"dim small\">Ticks below a chart are edits, a row for each stage; a dashed \
         line marks where the view was replaced. Point at either to read why. Large values that would dwarf the rest are cut off at \
         the top.</p>\n",
        keys("f", &fates),
        keys("s", &STAGES)
    )
}

//! Tables of the page.

use super::{EditPart, Look, TotalsPart};
use throughline_core::words::{escape, grouped, short};

/// What the columns mean, in words.
pub(super) const LEGEND: &str = "<p class=\"dim small\"><b>tokens/request</b>: the average prompt. <b>cached</b>: read from the prompt \
     cache. <b>cost</b>: of all prompts, where sending everything is 1.00. <b>peak</b>: the largest prompt. <b>kept</b>: of what \
     the session turned out to need later and nobody gave back, the share still in context right after a compaction; \
     <b>rare</b>: of that, what had been said at most three times; <b>pair</b>: facts used together that still stand \
     together; <b>found</b>: in context or one search away. Best figures are bold.</p>\n";

/// How a figure is shown, and which of several is the best.
struct Column {
    name: &'static str,
    better: Better,
    value: fn(&TotalsPart) -> Option<f64>,
    show: fn(f64) -> String,
}

enum Better {
    Low,
    High,
    Neither,
}

const COLUMNS: [Column; 11] = [
    Column {
        name: "tokens/request",
        better: Better::Neither,
        value: |t| Some(t.tokens_per_request as f64),
        show: whole,
    },
    Column { name: "cached", better: Better::Neither, value: |t| Some(t.cached), show: percent },
    Column { name: "cost", better: Better::Low, value: |t| t.cost, show: |v| format!("{v:.2}") },
    Column { name: "dollars", better: Better::Low, value: |t| t.dollars, show: dollars },
    Column { name: "peak", better: Better::Neither, value: |t| Some(t.peak as f64), show: short },
    Column {
        name: "compactions",
        better: Better::Neither,
        value: |t| Some(t.compactions as f64),
        show: whole,
    },
    Column { name: "kept", better: Better::High, value: |t| t.kept, show: |v| format!("{v:.3}") },
    Column { name: "rare", better: Better::High, value: |t| t.rare, show: |v| format!("{v:.3}") },
    Column { name: "pair", better: Better::High, value: |t| t.pair, show: |v| format!("{v:.3}") },
    Column { name: "found", better: Better::High, value: |t| t.found, show: |v| format!("{v:.3}") },
    Column { name: "invalid", better: Better::Neither, value: |t| Some(t.invalid as f64), show: whole },
];

fn whole(value: f64) -> String {
    grouped(value as u64)
}

fn dollars(value: f64) -> String {
    if value < 1_000.0 { format!("${value:.2}") } else { format!("${}", grouped(value.round() as u64)) }
}

fn percent(value: f64) -> String {
    format!("{:.1}%", value * 100.0)
}

/// One row for each profile. Columns that no row has a figure for are left out.
pub(super) fn totals(rows: &[Row<'_>]) -> String {
    let columns: Vec<&Column> = COLUMNS
        .iter()
        .filter(|c| rows.iter().any(|(_, totals)| (c.value)(totals).is_some()))
        // Rejected requests are news only if there were any.
        .filter(|c| c.name != "invalid" || rows.iter().any(|(_, totals)| totals.invalid > 0))
        .collect();
    let head: String = columns.iter().map(|c| format!("<th>{}</th>", c.name)).collect();
    let mut out =
        format!("<div class=\"scroll\"><table class=\"totals\">\n<tr><th>profile</th>{head}</tr>\n");
    for (look, totals) in rows {
        let class = if look.baseline { " class=\"base\"" } else { "" };
        out.push_str(&format!(
            "<tr{class}><th scope=\"row\"><i class=\"dot p{}\"></i>{}</th>",
            look.colour,
            escape(look.name)
        ));
        for column in &columns {
            let best = best(column, rows).is_some_and(|best| (column.value)(totals) == Some(best));
            let class = if best && !look.baseline { " class=\"best\"" } else { "" };
            let shown = (column.value)(totals).map_or("–".to_owned(), column.show);
            out.push_str(&format!("<td{class}>{shown}</td>"));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    out
}

/// A profile and its figures.
pub(super) type Row<'a> = (Look<'a>, &'a TotalsPart);

/// The best figure among the profiles that compete, if it is better than another one.
fn best(column: &Column, rows: &[Row<'_>]) -> Option<f64> {
    let competing = rows.iter().filter(|(look, _)| !look.baseline);
    let values: Vec<f64> = competing.filter_map(|(_, totals)| (column.value)(totals)).collect();
    let low = values.iter().copied().reduce(f64::min)?;
    let high = values.iter().copied().reduce(f64::max)?;
    match column.better {
        Better::Neither => None,
        Better::Low => (low < high).then_some(low),
        Better::High => (low < high).then_some(high),
    }
}

/// The outcome in a sentence, where there are several profiles to compare.
pub(super) fn lead(rows: &[Row<'_>]) -> String {
    let first = |name: &str| {
        let column = COLUMNS.iter().find(|c| c.name == name)?;
        let best = best(column, rows)?;
        let row = rows.iter().find(|(look, t)| !look.baseline && (column.value)(t) == Some(best))?;
        Some((row.0.name, (column.show)(best)))
    };
    let cheapest = first("cost")
        .map(|(name, v)| (name, format!("is cheapest, at {v} of what sending everything costs")));
    let keeps =
        first("kept").map(|(name, v)| (name, format!("keeps most of what is needed later, {v} of it")));
    let strong = |name: &str| format!("<b>{}</b>", escape(name));
    match (cheapest, keeps) {
        (Some((a, cost)), Some((b, kept))) if a == b => {
            format!("<p class=\"lead\">{} {cost}, and {kept}.</p>\n", strong(a))
        }
        (Some((a, cost)), Some((b, kept))) => {
            format!("<p class=\"lead\">{} {cost}; {} {kept}.</p>\n", strong(a), strong(b))
        }
        (Some((name, told)), None) | (None, Some((name, told))) => {
            format!("<p class=\"lead\">{} {told}.</p>\n", strong(name))
        }
        (None, None) => String::new(),
    }
}

/// How many edits a table lists one by one.
const EDITS_TOLD: usize = 300;

/// The edits of a run, folded away.
pub(super) fn edits(edits: &[EditPart]) -> String {
    if edits.is_empty() {
        return "<p class=\"dim small\">No edit was made.</p>\n".to_owned();
    }
    let freed: i64 = edits.iter().map(|edit| edit.freed).sum();
    let mut out = format!(
        "<details class=\"edits\"><summary>{} edits, {} tokens freed</summary><div class=\"scroll\"><table>\n\
         <tr><th>request</th><th>stage</th><th>freed</th><th>why</th></tr>\n",
        grouped(edits.len() as u64),
        signed(freed)
    );
    for edit in edits.iter().take(EDITS_TOLD) {
        out.push_str(&format!(
            "<tr><td>{}</td><td><i class=\"dot s{}\"></i>{}</td><td>{}</td><td class=\"why\">{}</td></tr>\n",
            grouped(edit.request as u64 + 1),
            super::chart::stage_colour(&edit.stage),
            escape(&edit.stage),
            signed(edit.freed),
            escape(&edit.reason)
        ));
    }
    out.push_str("</table></div>");
    if edits.len() > EDITS_TOLD {
        let more = grouped((edits.len() - EDITS_TOLD) as u64);
        out.push_str(&format!("<p class=\"dim small\">{more} more are not listed.</p>"));
    }
    out.push_str("</details>\n");
    out
}

fn signed(number: i64) -> String {
    let sign = if number < 0 { "−" } else { "" };
    format!("{sign}{}", grouped(number.unsigned_abs()))
}

//! Costs, with us and without.

use crate::manage::Figures;
use throughline_core::cost::Dollars;
use throughline_core::words::{grouped, short};

/// An amount as people read it: cents matter, and so do fractions of one where there is no more.
pub(super) fn dollars(amount: Dollars) -> String {
    let value = amount.as_f64();
    let sign = if value < 0.0 { "−" } else { "" };
    match value.abs() {
        0.0 => "$0".to_owned(),
        small if small < 0.01 => format!("{sign}${small:.4}"),
        value => format!("{sign}${value:.2}"),
    }
}

/// `−42 %`, in green; `+3 %` in red.
pub(super) fn difference(with: f64, without: f64) -> String {
    if without <= 0.0 {
        return "–".to_owned();
    }
    let percent = (with / without - 1.0) * 100.0;
    match percent {
        p if p <= -0.5 => format!("<span class=\"good\">−{:.0} %</span>", -p),
        p if p >= 0.5 => format!("<span class=\"bad\">+{p:.0} %</span>"),
        _ => "<span class=\"dim\">±0 %</span>".to_owned(),
    }
}

/// The table of a session's costs.
pub(super) fn table(figures: &Figures) -> String {
    let (with, without) = (figures.dollars_with, figures.dollars_without);
    let row = |name: &str, cells: [String; 3]| {
        let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
        format!("<tr><th scope=\"row\">{name}</th>{cells}</tr>\n")
    };
    let mut out = "<table>\n<thead><tr><th scope=\"col\"><span class=\"dim\">so far</span></th><th scope=\"col\">without</th>\
                   <th scope=\"col\">with</th><th scope=\"col\"></th></tr></thead>\n<tbody>\n"
        .to_owned();
    out.push_str(&row(
        "Prompt tokens",
        [
            short(figures.prompt_without as f64),
            short(figures.prompt_with as f64),
            difference(figures.prompt_with as f64, figures.prompt_without as f64),
        ],
    ));
    out.push_str(&row(
        "Cost <span class=\"dim\">(simulated cache)</span>",
        [dollars(without), dollars(with), difference(with.as_f64(), without.as_f64())],
    ));
    out.push_str("</tbody>\n</table>\n");
    let mut facts = vec![format!("Billed as reported: <b class=\"num\">{}</b>", dollars(figures.dollars))];
    if figures.unpriced > 0 {
        facts.push(format!("{} to models without a known price", grouped(figures.unpriced)));
    }
    facts.push(format!("{:.0} % of the prompt from cache", figures.cached_share() * 100.0));
    facts.push(format!("{} tokens of answers", short(figures.usage.output as f64)));
    out.push_str(&format!("<p class=\"small dim\">{}.</p>\n", facts.join(" · ")));
    out
}

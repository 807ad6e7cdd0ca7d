//! Figures of the proxy, as people read them.

use crate::output::{bold, count, dim, green, number, yellow};
use serde_json::{Value, json};
use throughline_core::cost::Dollars;
use throughline_server::Figures;

/// What requests came to, in a few lines.
pub(crate) fn summary(figures: &Figures) -> Vec<String> {
    if figures.requests + figures.answered_here == 0 {
        return vec!["no requests".to_owned()];
    }
    let mut first = bold(count(figures.requests, "request"));
    if figures.answered_here > 0 {
        first += &format!(", {} answered here", number(figures.answered_here));
    }
    first += &match figures.changed {
        0 => ", as the client made them".to_owned(),
        n => format!(", {} of them changed by {}", number(n), count(figures.edits, "edit")),
    };
    if figures.usage.prompt() > 0 {
        first += &format!("; {} of the prompt read from cache", percent(figures.cached_share()));
    }
    let mut lines = vec![first];
    if figures.prompt_without > 0 {
        lines.push(row("tokens", &tokens(figures)));
    }
    lines.push(row("money", &money(figures)));
    lines.push(row("added", &format!("{} a request before it was sent", added(figures))));
    lines
}

fn row(name: &str, text: &str) -> String {
    format!("{} {text}", dim(format!("{name:<7}")))
}

fn tokens(figures: &Figures) -> String {
    let (with, without) = (figures.prompt_with, figures.prompt_without);
    match change(with as f64, without as f64) {
        Some(change) => {
            format!("{} in prompts instead of {} ({change})", number(with), number(without))
        }
        None => format!("{} in prompts, as without Throughline", number(with)),
    }
}

fn money(figures: &Figures) -> String {
    let (with, without) = (figures.dollars_with, figures.dollars_without);
    let mut text = match change(with.as_f64(), without.as_f64()) {
        Some(change) => {
            let simulated = dim("by list prices, with a simulated cache");
            format!("{with} for prompts instead of {without} ({change}, {simulated})")
        }
        None if without == Dollars::default() => String::new(),
        None => format!("{with} for prompts, as without Throughline"),
    };
    if figures.dollars != Dollars::default() {
        let join = if text.is_empty() { "" } else { "; " };
        text += &format!("{join}{} in all by what the provider reported", figures.dollars);
    }
    if figures.unpriced > 0 {
        let join = if text.is_empty() { "" } else { "; " };
        text += &format!("{join}{} to models of unknown price", count(figures.unpriced, "request"));
    }
    if text.is_empty() { "none was reported".to_owned() } else { text }
}

/// `54% less`, `3% more`; nothing where it is the same.
fn change(with: f64, without: f64) -> Option<String> {
    if without <= 0.0 {
        return None;
    }
    let share = (without - with) / without;
    if share.abs() < 0.0005 {
        return None;
    }
    let text = percent(share.abs());
    Some(if share > 0.0 { green(format!("{text} less")) } else { yellow(format!("{text} more")) })
}

/// 0.543 → `54%`; small shares with a digit behind the point.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 10.0 { format!("{percent:.1}%") } else { format!("{percent:.0}%") }
}

/// What we added to each request.
pub(crate) fn added(figures: &Figures) -> String {
    let requests = (figures.requests + figures.answered_here).max(1);
    let micros = figures.our_micros as f64 / requests as f64;
    format!("{:.1} ms", micros / 1000.0)
}

/// The same for programs.
pub(crate) fn as_json(figures: &Figures) -> Value {
    let mut value = serde_json::to_value(figures).unwrap_or_default();
    if let Value::Object(fields) = &mut value {
        fields.insert("saved_dollars".to_owned(), json!(figures.saved()));
        fields.insert("saved_tokens_share".to_owned(), json!(figures.tokens_saved_share()));
        fields.insert("cached_share".to_owned(), json!(figures.cached_share()));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use throughline_core::Usage;

    fn plain(figures: &Figures) -> String {
        crate::output::plain(&summary(figures).join("\n"))
    }

    #[test]
    fn a_summary_says_what_it_came_to_with_us_and_without() {
        assert_eq!(plain(&Figures::default()), "no requests");
        let figures = Figures {
            requests: 12,
            changed: 3,
            edits: 5,
            usage: Usage { input: 10, cache_read: 90, ..Usage::default() },
            dollars: Dollars::new(1.5),
            prompt_without: 2000,
            prompt_with: 1000,
            dollars_without: Dollars::new(2.0),
            dollars_with: Dollars::new(1.0),
            our_micros: 6000,
            ..Figures::default()
        };
        assert_eq!(
            plain(&figures),
            "12 requests, 3 of them changed by 5 edits; 90% of the prompt read from cache\n\
             tokens  1,000 in prompts instead of 2,000 (50% less)\n\
             money   $1.00 for prompts instead of $2.00 (50% less, by list prices, with a simulated cache); $1.50 in all by what \
             the provider reported\n\
             added   0.5 ms a request before it was sent"
        );
    }

    #[test]
    fn what_costs_more_is_said_too() {
        let figures =
            Figures { requests: 1, prompt_without: 100, prompt_with: 105, unpriced: 1, ..Figures::default() };
        let text = plain(&figures);
        assert!(text.contains("105 in prompts instead of 100 (5.0% more)"), "{text}");
        assert!(text.contains("money   1 request to models of unknown price"), "{text}");
    }
}

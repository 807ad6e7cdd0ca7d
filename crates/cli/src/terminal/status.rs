//! The line that says what goes on while the agent works.

use super::Look;
use super::style::{Colour, Line, Span};
use super::wrap::fit;
use std::time::Duration;

/// Turns while something goes on.
const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
const SPINNER_IN_ASCII: [&str; 4] = ["-", "\\", "|", "/"];

/// What is known of the turn so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Status {
    /// What goes on, such as `Thinking` or a tool's summary.
    pub(crate) doing: String,
    /// Since when.
    pub(crate) elapsed: Duration,
    /// Tokens that went to the model, in this turn.
    pub(crate) sent: u64,
    /// Tokens that came from it.
    pub(crate) received: u64,
    /// Dollars of the session.
    pub(crate) dollars: f64,
    /// How full the window is, in percent.
    pub(crate) context: Option<u64>,
    /// Messages that wait for the end of the turn.
    pub(crate) queued: usize,
}

impl Status {
    /// The line, for a picture of the spinner. What matters least is left out where there is no room.
    pub(crate) fn draw(&self, frame: usize, look: Look) -> Line {
        let spinner = if look.unicode {
            SPINNER[frame % SPINNER.len()]
        } else {
            SPINNER_IN_ASCII[frame % SPINNER_IN_ASCII.len()]
        };
        let mut parts = vec!["esc to interrupt".to_owned(), clock(self.elapsed)];
        if self.queued > 0 {
            parts.push(format!("{} queued", self.queued));
        }
        if let Some(percent) = self.context {
            parts.push(format!("context {percent}%"));
        }
        if self.sent + self.received > 0 {
            parts.push(format!("↑{} ↓{}", short(self.sent), short(self.received)));
        }
        if self.dollars > 0.0 {
            parts.push(dollars(self.dollars));
        }
        let doing = super::clean::on_one_line(&self.doing);
        // Half of the line is for what goes on, at least.
        let room = look.width.saturating_sub(2);
        let doing_room = Line::from(Span::plain(&doing)).width().min(room / 2);
        while parts.len() > 1 && details(&parts).width() + doing_room > room {
            parts.pop();
        }
        let details = details(&parts);
        let mut line = Line::from(Span::coloured(format!("{spinner} "), Colour::Cyan));
        line.extend(&fit(&Line::from(Span::plain(doing)), room.saturating_sub(details.width())));
        line.extend(&details);
        fit(&line, look.width)
    }
}

fn details(parts: &[String]) -> Line {
    Line::from(Span::dim(format!("  ({})", parts.join(" · "))))
}

/// `7s`, `2m 05s`, `1h 03m`.
pub(crate) fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m {:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h {:02}m", seconds / 3600, seconds % 3600 / 60),
    }
}

/// `950`, `1.2k`, `34k`, `1.2M`.
pub(crate) fn short(n: u64) -> String {
    match n {
        0..1_000 => n.to_string(),
        1_000..10_000 => format!("{:.1}k", n as f64 / 1e3),
        10_000..1_000_000 => format!("{}k", n / 1_000),
        _ => format!("{:.1}M", n as f64 / 1e6),
    }
}

/// `$0.0042`, `$0.42`, `$12.30`.
pub(crate) fn dollars(dollars: f64) -> String {
    if dollars < 0.01 { format!("${dollars:.4}") } else { format!("${dollars:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            doing: "Bash cargo test --workspace".to_owned(),
            elapsed: Duration::from_secs(125),
            sent: 48_200,
            received: 1_730,
            dollars: 0.231,
            context: Some(37),
            queued: 0,
        }
    }

    #[test]
    fn what_matters_least_is_left_out_first() {
        let look = Look { colour: false, unicode: true, moves: true, width: 100 };
        let line = |width| status().draw(3, look.with_width(width)).paint(look);
        assert_eq!(
            line(100),
            "⠸ Bash cargo test --workspace  (esc to interrupt · 2m 05s · context 37% · ↑48k ↓1.7k · $0.23)"
        );
        assert_eq!(line(80), "⠸ Bash cargo test --workspace  (esc to interrupt · 2m 05s · context 37%)");
        assert_eq!(line(40), "⠸ Bash cargo test -…  (esc to interrupt)");
        assert_eq!(line(20).chars().count(), 20);
    }

    #[test]
    fn figures_are_short() {
        assert_eq!(
            [short(950), short(1_249), short(34_999), short(1_250_000)],
            ["950", "1.2k", "34k", "1.2M"]
        );
        assert_eq!([dollars(0.0042), dollars(0.42), dollars(12.3)], ["$0.0042", "$0.42", "$12.30"]);
        assert_eq!(clock(Duration::from_secs(3_780)), "1h 03m");
    }
}

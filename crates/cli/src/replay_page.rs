//! The page of `throughline replay --html`: one self-contained file to send to a colleague.
//!
//! Everything is drawn here; the script only adds figures under the pointer. Nothing is fetched, and whatever text
//! comes from a session is escaped.

mod chart;
mod sample;
mod session;
mod table;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use throughline_core::words::{escape, grouped, plural};

/// What the page shows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Page {
    /// The heading.
    pub(crate) title: String,
    /// When it was made, as text.
    pub(crate) generated: String,
    /// What a reader should know about the figures: window, prices and their date, tokenizer.
    pub(crate) notes: Vec<String>,
    /// One for each profile over all sessions, in the order of the columns and colours.
    pub(crate) profiles: Vec<ProfilePart>,
    /// The sessions, in order.
    pub(crate) sessions: Vec<SessionPart>,
}

/// A profile over all sessions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct ProfilePart {
    /// Its name. Runs of the same name get the same colour.
    pub(crate) name: String,
    /// Sends everything: what the others are measured by, no competitor of theirs.
    pub(crate) baseline: bool,
    /// Its figures.
    pub(crate) totals: TotalsPart,
}

/// Figures of a profile over one session or all of them. Absent ones were not measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct TotalsPart {
    /// Requests replayed.
    pub(crate) requests: u64,
    /// Prompt tokens per request.
    pub(crate) tokens_per_request: u64,
    /// Share of prompt tokens read from the cache, 0 to 1.
    pub(crate) cached: f64,
    /// Prompt cost relative to sending everything.
    pub(crate) cost: Option<f64>,
    /// Cost in dollars, output included.
    pub(crate) dollars: Option<f64>,
    /// The largest prompt.
    pub(crate) peak: u64,
    /// How often the view was replaced.
    pub(crate) compactions: u64,
    /// Needed later and still in context, 0 to 1.
    pub(crate) kept: Option<f64>,
    /// The same for what occurred at most three times.
    pub(crate) rare: Option<f64>,
    /// Pairs of facts still together, 0 to 1.
    pub(crate) pair: Option<f64>,
    /// In context or one search away, 0 to 1.
    pub(crate) found: Option<f64>,
    /// Requests that a provider would have rejected.
    pub(crate) invalid: u64,
}

/// One session, replayed under each profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct SessionPart {
    /// What to call it.
    pub(crate) name: String,
    /// Who recorded it, which model, when: in a few words.
    pub(crate) about: String,
    /// One for each profile.
    pub(crate) runs: Vec<RunPart>,
}

/// One session under one profile.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RunPart {
    /// The profile.
    pub(crate) profile: String,
    /// Its figures.
    pub(crate) totals: TotalsPart,
    /// Every request, in order.
    pub(crate) requests: Vec<RequestPart>,
    /// Every edit, in order.
    pub(crate) edits: Vec<EditPart>,
}

/// What became of the history's tokens by the time of one request. Together they are what sending everything would have sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RequestPart {
    /// Sent.
    pub(crate) kept: u64,
    /// Saved to a file, with a preview in place.
    pub(crate) persisted: u64,
    /// Dropped by the model.
    pub(crate) snipped: u64,
    /// Old tool results cleared.
    pub(crate) cleared: u64,
    /// Folded into placeholders.
    pub(crate) collapsed: u64,
    /// Replaced by a summary.
    pub(crate) summarised: u64,
    /// What this request cost, in weighted tokens.
    pub(crate) weight: f64,
}

impl RequestPart {
    /// What sending everything would have sent.
    fn everything(&self) -> u64 {
        self.fates().iter().sum()
    }

    /// By fate, in the order of [`chart::FATES`].
    fn fates(&self) -> [u64; 6] {
        [self.kept, self.persisted, self.snipped, self.cleared, self.collapsed, self.summarised]
    }
}

/// One edit of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct EditPart {
    /// Before which request it was made, from 0.
    pub(crate) request: usize,
    /// By which stage.
    pub(crate) stage: String,
    /// Why.
    pub(crate) reason: String,
    /// Tokens it freed.
    pub(crate) freed: i64,
}

impl Page {
    /// The page, whole.
    pub(crate) fn render(&self) -> String {
        let mut out = String::with_capacity(1 << 16);
        let title = escape(&self.title);
        out.push_str(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n{}</style>\n\
             </head>\n<body>\n<main>\n<header>\n<h1>{title}</h1>\n<p class=\"dim\">{}</p>\n</header>\n",
            include_str!("replay_page.css"),
            escape(&self.subtitle()),
        ));
        let rows: Vec<_> = self.profiles.iter().map(|p| (self.look(&p.name), &p.totals)).collect();
        out.push_str(&format!("<section>\n<h2>All sessions</h2>\n{}", table::lead(&rows)));
        out.push_str(&table::totals(&rows));
        out.push_str(table::LEGEND);
        if !self.notes.is_empty() {
            let notes: String = self.notes.iter().map(|n| format!("<li>{}</li>", escape(n))).collect();
            out.push_str(&format!("<ul class=\"notes\">{notes}</ul>\n"));
        }
        out.push_str("</section>\n<section>\n<h2>Session by session</h2>\n");
        out.push_str(&chart::legend());
        for (index, session) in self.sessions.iter().enumerate() {
            // A single session, or the first of many, is shown open.
            out.push_str(&session.render(index == 0, |name| self.look(name)));
        }
        if self.sessions.is_empty() {
            out.push_str("<p class=\"dim\">No session was replayed.</p>\n");
        }
        out.push_str("</section>\n</main>\n<div id=\"tip\" hidden></div>\n<script>\n");
        out.push_str(include_str!("replay_page.js"));
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }

    fn subtitle(&self) -> String {
        let requests = self.profiles.iter().map(|p| p.totals.requests).max().unwrap_or(0);
        let mut parts = vec![plural(self.sessions.len() as u64, "session"), plural(requests, "request")];
        if !self.profiles.is_empty() {
            let names: Vec<&str> = self.profiles.iter().map(|p| p.name.as_str()).collect();
            parts.push(format!("profiles {}", names.join(", ")));
        }
        if !self.generated.is_empty() {
            parts.push(self.generated.clone());
        }
        parts.join(" · ")
    }

    /// How a profile is shown, by its place in the list.
    fn look<'a>(&self, name: &'a str) -> Look<'a> {
        let place = self.profiles.iter().position(|p| p.name == name);
        let baseline = place.is_some_and(|at| self.profiles[at].baseline);
        // The baseline's neutral colour is the one after the last of the others.
        let colour =
            if baseline { chart::COLOURS } else { place.unwrap_or(self.profiles.len()) % chart::COLOURS };
        Look { name, colour, baseline }
    }
}

/// How a profile is shown.
#[derive(Clone, Copy)]
struct Look<'a> {
    name: &'a str,
    /// The number of its colour class.
    colour: usize,
    baseline: bool,
}

impl SessionPart {
    fn requests(&self) -> usize {
        self.runs.iter().map(|run| run.requests.len()).max().unwrap_or(0)
    }

    fn summary(&self) -> String {
        let about = if self.about.is_empty() { String::new() } else { format!("{} · ", self.about) };
        format!("{about}{} requests", grouped(self.requests() as u64))
    }
}

//! One session.

use super::bar::{bar, legend, pieces};
use super::edits::{Place, edits};
use super::home::{reports, state};
use super::lines::lines;
use super::{Button, money, part, time};
use crate::local::story::{Fate, Story, words};
use crate::manage::SessionSnapshot;
use jiff::Timestamp;
use throughline_core::text::middle_cut;
use throughline_core::words::{escape, plural, short};
use throughline_core::{SessionId, View};

/// Bytes of notes and of what was told that are shown.
const LONGEST: usize = 8_000;
/// How many of the things that were told are shown.
const TOLD: usize = 20;

/// How something that a person asked for went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::local) enum Outcome {
    Undone,
    Paused,
    Resumed,
    /// It could not be done; why is said elsewhere.
    Failed,
}

impl Outcome {
    /// As addresses carry it.
    pub(in crate::local) fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "undone" => Self::Undone,
            "paused" => Self::Paused,
            "resumed" => Self::Resumed,
            "failed" => Self::Failed,
            _ => return None,
        })
    }

    fn says(self) -> (&'static str, &'static str) {
        match self {
            Self::Undone => ("says", "Done. The next request has it as it was, and so will all later ones."),
            Self::Paused => ("says", "Paused. Requests of this session go as they come."),
            Self::Resumed => ("says", "Resumed. The next request is looked after again."),
            Self::Failed => ("says no", "That could not be done; reload the page and try again."),
        }
    }
}

/// What the page of a session shows.
pub(in crate::local) struct SessionPage<'a> {
    pub(in crate::local) id: &'a SessionId,
    pub(in crate::local) title: &'a str,
    /// Where it is known to the server.
    pub(in crate::local) snapshot: Option<&'a SessionSnapshot>,
    pub(in crate::local) story: &'a Story,
    /// The view as the ledger resumes it.
    pub(in crate::local) resumed: &'a View,
    pub(in crate::local) notes: Option<&'a str>,
    /// Failures on our side, the newest first, and how many there were.
    pub(in crate::local) reports: (&'a [(Timestamp, String)], u64),
    /// Which page of messages and of changes.
    pub(in crate::local) at: (usize, usize),
    pub(in crate::local) form: &'a str,
    pub(in crate::local) outcome: Option<Outcome>,
}

impl SessionPage<'_> {
    /// Where a session's page is.
    pub(in crate::local) fn place(id: &SessionId) -> String {
        format!("/throughline/sessions/{id}")
    }

    /// Its content, part by part.
    pub(in crate::local) fn content(&self) -> String {
        let place = Self::place(self.id);
        let (messages, changes) = self.at;
        let link = |messages: usize, changes: usize| format!("{place}?messages={messages}&edits={changes}");
        let mut out = String::new();
        if let Some((class, text)) = self.outcome.map(Outcome::says) {
            out.push_str(&format!("<p class=\"card {class}\" role=\"status\">{text}</p>\n"));
        }
        out.push_str(&part("head", &self.head(&place)));
        out.push_str(&part("context", &self.context()));
        out.push_str("<div class=\"columns\">\n<div>\n");
        let edits =
            edits(self.story, self.resumed, changes, Place { session: &place, form: self.form }, &|at| {
                link(messages, at)
            });
        out.push_str(&part("edits", &format!("<div class=\"card\">\n{edits}</div>\n")));
        let lines = lines(self.story, messages, &|at| link(at, changes));
        out.push_str(&part("messages", &format!("<div class=\"card\">\n{lines}</div>\n")));
        out.push_str("</div>\n<div>\n");
        out.push_str(&part("cost", &self.cost()));
        out.push_str(&part("told", &self.told()));
        out.push_str(&part("notes", &self.notes()));
        out.push_str(&part("reports", &reports(self.reports.0, self.reports.1)));
        out.push_str("</div>\n</div>\n");
        out
    }

    fn head(&self, place: &str) -> String {
        let mut about = Vec::new();
        let mut actions = String::new();
        let mut badges = String::new();
        if let Some(session) = self.snapshot {
            let version = session.client_version.as_deref().map(|v| format!(" {v}")).unwrap_or_default();
            about.push(escape(&format!("{}{version}", session.client)));
            about.extend(session.model.as_deref().map(escape));
            about.extend(session.cwd.as_deref().map(|cwd| format!("<code>{}</code>", escape(cwd))));
            about.push(format!("last request {}", time(session.last)));
            if let Some(parent) = &session.parent {
                about.push(format!(
                    "sub-agent of <a href=\"{}\">its parent</a>",
                    escape(&Self::place(parent))
                ));
            }
            badges = state(session);
            let (name, says, on) = if session.paused {
                ("Resume", "Resume: look after this session's requests again", "0")
            } else {
                ("Pause", "Pause: let this session's requests go as they come", "1")
            };
            let button = Button { action: format!("{place}/pause"), fields: &[("on", on)], name, says };
            actions.push_str(&button.html(self.form));
            let says =
                "Remove from the list: the ledger stays, and the session comes back with its next request";
            let action = format!("{place}/forget");
            actions.push_str(
                &Button { action, fields: &[], name: "Remove from the list", says }.html(self.form),
            );
        } else {
            about.push("this server has not seen it yet; this is what its ledger says".to_owned());
        }
        about.push(format!("ledger <code>{}</code>", escape(self.id.as_str())));
        format!(
            "<div class=\"card\">\n<h1>{} {badges}</h1>\n<p class=\"dim small\">{}</p>\n<div class=\"actions\">{actions}</div>\n</div>\n",
            escape(self.title),
            about.join(" · "),
        )
    }

    fn context(&self) -> String {
        let shares = self.story.shares();
        let context = self.snapshot.and_then(|session| session.context);
        let pieces = pieces(&shares, context.map(|context| context.overhead));
        let sum = |away: bool| pieces.iter().filter(|p| p.is_away == away).map(|p| p.tokens).sum::<u64>();
        let (sent, spared) = (sum(false), sum(true));
        let mut facts = vec![format!("{} tokens", short(sent as f64))];
        if spared > 0 {
            facts.push(format!("{} spared", short(spared as f64)));
        }
        if let Some(window) = self.snapshot.and_then(|session| session.window) {
            facts.push(format!(
                "{:.0} % of a window of {}",
                sent as f64 / window.max(1) as f64 * 100.0,
                short(window as f64)
            ));
        }
        if let Some(threshold) = self.snapshot.and_then(|session| session.threshold) {
            facts.push(format!("condensed at {}", short(threshold as f64)));
        }
        format!(
            "<div class=\"card\">\n<h2>Context by fate <span class=\"dim\">{}</span></h2>\n{}{}</div>\n",
            facts.join(" · "),
            bar(&pieces),
            legend(&pieces)
        )
    }

    fn cost(&self) -> String {
        let figures = match self.snapshot {
            Some(session) => session.figures.clone(),
            None => self.story.figures(),
        };
        let table = if figures.requests + figures.answered_here > 0 {
            money::table(&figures)
        } else {
            "<p class=\"dim\">No answer was counted yet.</p>\n".to_owned()
        };
        let requests = plural(figures.requests, "request");
        format!("<div class=\"card\">\n<h2>Cost <span class=\"dim\">{requests}</span></h2>\n{table}</div>\n")
    }

    /// What we told the model, summaries aside: those stand in the conversation.
    fn told(&self) -> String {
        let ours = self
            .story
            .lines
            .iter()
            .rev()
            .filter(|line| line.fate == Fate::Ours && !line.message.flags.summary);
        let all = ours.clone().count();
        let mut out = format!(
            "<div class=\"card\">\n<h2>Memory in use <span class=\"dim\">{}</span></h2>\n",
            plural(all as u64, "message")
        );
        if all == 0 {
            out.push_str("<p class=\"dim\">Nothing was recalled or told so far.</p>\n");
        }
        out.push_str("<ul class=\"told\">\n");
        for (number, line) in ours.take(TOLD).enumerate() {
            let sources: Vec<String> = self
                .story
                .sources(&line.message)
                .iter()
                .take(TOLD)
                .map(|one| format!("<code>{}</code>", escape(one)))
                .collect();
            let from = match sources.is_empty() {
                true => String::new(),
                false => format!("<p class=\"small dim\">From {}</p>", sources.join(", ")),
            };
            out.push_str(&format!(
                "<li><details id=\"told{number}\"><summary data-item id=\"tolds{number}\">{} · {} tokens</summary>{from}<div class=\"box\"><pre>{}</pre></div></details></li>\n",
                line.message.at.map(time).unwrap_or_else(|| "at the start".to_owned()),
                short(line.shown_tokens as f64),
                escape(&middle_cut(&words(&line.message), LONGEST)),
            ));
        }
        out.push_str("</ul>\n");
        if all > TOLD {
            out.push_str(&format!(
                "<p class=\"small dim\">{} older.</p>\n",
                plural((all - TOLD) as u64, "message")
            ));
        }
        out.push_str("</div>\n");
        out
    }

    fn notes(&self) -> String {
        let text = match self.notes {
            Some(notes) => {
                format!("<div class=\"box\"><pre>{}</pre></div>\n", escape(&middle_cut(notes, LONGEST)))
            }
            None => "<p class=\"dim\">None yet: notes are written as a session grows.</p>\n".to_owned(),
        };
        format!("<div class=\"card\">\n<h2>Notes</h2>\n{text}</div>\n")
    }
}

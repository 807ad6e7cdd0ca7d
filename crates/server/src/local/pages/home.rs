//! All sessions.

use super::bar::{Piece, bar};
use super::money::{difference, dollars};
use super::{part, time};
use crate::local::data::Earlier;
use crate::manage::{Context, Figures, SessionSnapshot, Snapshot};
use std::net::SocketAddr;
use throughline_core::words::{escape, grouped, plural, short};

/// How many sessions a page shows.
pub(in crate::local) const PAGE: usize = 50;

/// A session in the list.
pub(in crate::local) struct Listed<'a> {
    pub(in crate::local) session: &'a SessionSnapshot,
    /// What it is about.
    pub(in crate::local) title: String,
}

/// What the first page shows.
pub(in crate::local) struct HomePage<'a> {
    /// `None`: requests are only passed on.
    pub(in crate::local) snapshot: Option<&'a Snapshot>,
    /// Those to list, in order.
    pub(in crate::local) listed: &'a [Listed<'a>],
    /// Those of earlier servers, the newest first.
    pub(in crate::local) earlier: &'a [&'a Earlier],
    /// The newest failures on our side, the newest first.
    pub(in crate::local) reports: &'a [(jiff::Timestamp, String)],
    pub(in crate::local) listening: SocketAddr,
    pub(in crate::local) at: usize,
}

impl HomePage<'_> {
    /// Its content, part by part.
    pub(in crate::local) fn content(&self) -> String {
        let Some(snapshot) = self.snapshot else {
            return part(
                "off",
                "<div class=\"card\"><h1>Requests are only passed on</h1>\n<p>This server was started without management: it changes nothing and keeps nothing.</p></div>\n",
            );
        };
        let mut out = part("tiles", &tiles(snapshot));
        if snapshot.sessions.is_empty() {
            out.push_str(&part("sessions", &self.how_to_connect()));
        } else {
            out.push_str(&part("sessions", &self.sessions(snapshot)));
        }
        out.push_str(&part("earlier", &earlier(self.earlier)));
        out.push_str(&part("reports", &reports(self.reports, snapshot.failures)));
        out
    }

    fn sessions(&self, snapshot: &Snapshot) -> String {
        let mut out = format!(
            "<div class=\"card\">\n<h1>Sessions</h1>\n<p class=\"dim small\">Since {}.</p>\n<ul class=\"sessions\">\n",
            snapshot.since.strftime("%Y-%m-%d %H:%M UTC")
        );
        for listed in self.listed {
            out.push_str(&row(listed));
        }
        out.push_str("</ul>\n");
        let all = snapshot.sessions.len();
        let pages = all.div_ceil(PAGE).max(1);
        if pages > 1 {
            let at = self.at.min(pages - 1);
            let mut links = Vec::new();
            if at > 0 {
                links.push(format!("<a href=\"/?page={}\" rel=\"prev\">← newer</a>", at - 1));
            }
            if at + 1 < pages {
                links.push(format!("<a href=\"/?page={}\" rel=\"next\">older →</a>", at + 1));
            }
            links.push(format!(
                "<span class=\"dim\">page {} of {pages}, {} in all</span>",
                at + 1,
                plural(all as u64, "session")
            ));
            out.push_str(&format!(
                "<nav class=\"pages\" aria-label=\"Pages of sessions\">{}</nav>\n",
                links.join("\n")
            ));
        }
        out.push_str("</div>\n");
        out
    }

    /// For a server that nobody has used yet.
    fn how_to_connect(&self) -> String {
        let at = self.listening;
        format!(
            "<div class=\"card\">\n<h1>No session yet</h1>\n\
             <p class=\"dim\">Sessions show up here with their first request. Start a client that goes through this server:</p>\n<div class=\"how\">\n\
             <div><p>Any of them, with nothing to set by hand:</p><pre>throughline run -- claude\nthroughline run -- codex</pre></div>\n\
             <div><p>Claude Code, in this terminal:</p><pre>ANTHROPIC_BASE_URL=http://{at} claude</pre></div>\n\
             <div><p>Codex, without a change to its files:</p><pre>codex -c openai_base_url=http://{at}/v1</pre></div>\n\
             <div><p>Anything that speaks these APIs:</p><pre>ANTHROPIC_BASE_URL=http://{at}\nOPENAI_BASE_URL=http://{at}/v1</pre></div>\n\
             </div>\n</div>\n"
        )
    }
}

fn tiles(snapshot: &Snapshot) -> String {
    let Figures { requests, changed, edits, .. } = snapshot.total;
    let total = &snapshot.total;
    let awake = snapshot.sessions.iter().filter(|session| session.awake).count();
    let tile = |figure: String, words: String| format!("<li><b>{figure}</b><span>{words}</span></li>\n");
    let mut out = "<ul class=\"tiles\">\n".to_owned();
    out.push_str(&tile(
        grouped(snapshot.sessions.len() as u64),
        format!("{} · {awake} awake", if snapshot.sessions.len() == 1 { "session" } else { "sessions" }),
    ));
    out.push_str(&tile(
        grouped(requests),
        format!("requests · {} changed, {}", grouped(changed), plural(edits, "edit")),
    ));
    out.push_str(&tile(
        format!(
            "{} {}",
            short(total.prompt_with as f64),
            difference(total.prompt_with as f64, total.prompt_without as f64)
        ),
        format!("prompt tokens instead of {}", short(total.prompt_without as f64)),
    ));
    out.push_str(&tile(
        format!(
            "{} {}",
            dollars(total.dollars_with),
            difference(total.dollars_with.as_f64(), total.dollars_without.as_f64())
        ),
        format!("instead of {}, with a simulated cache", dollars(total.dollars_without)),
    ));
    out.push_str(&tile(
        format!("{:.0} %", total.cached_share() * 100.0),
        format!("of prompts from cache · billed {}", dollars(total.dollars)),
    ));
    out.push_str("</ul>\n");
    out
}

fn row(listed: &Listed<'_>) -> String {
    let Listed { session, title } = listed;
    let mut about = vec![escape(&session.client)];
    about.extend(session.model.as_deref().map(escape));
    about.extend(session.cwd.as_deref().map(escape));
    about.push(plural(session.figures.edits, "edit"));
    about.push(time(session.last));
    let state = state(session);
    let bar = session.context.as_ref().map(|context| bar(&context_pieces(context))).unwrap_or_default();
    let figures = &session.figures;
    format!(
        "<li{}><a data-item id=\"session-{id}\" href=\"/throughline/sessions/{id}\"><span><span class=\"title\">{}</span> {state}<br>\
         <span class=\"about\">{}</span></span>{bar}<span class=\"cost\">{}<br><span class=\"small dim\">{}</span></span></a></li>\n",
        if session.parent.is_some() { " class=\"sub\"" } else { "" },
        escape(title),
        about.join(" · "),
        dollars(figures.dollars_with),
        difference(figures.prompt_with as f64, figures.prompt_without as f64) + " tokens",
        id = escape(session.id.as_str()),
    )
}

/// Sessions that this server has not seen: with their next request they are among the others.
fn earlier(sessions: &[&Earlier]) -> String {
    if sessions.is_empty() {
        return String::new();
    }
    let mut out = "<div class=\"card\">\n<h2>Earlier</h2>\n<ul class=\"sessions\">\n".to_owned();
    for Earlier { id, client, title, began } in sessions {
        out.push_str(&format!(
            "<li><a data-item id=\"session-{id}\" href=\"/throughline/sessions/{id}\"><span><span class=\"title\">{}</span><br>\
             <span class=\"about\">{} · {}</span></span></a></li>\n",
            escape(title),
            escape(client),
            time(*began),
            id = escape(id.as_str()),
        ));
    }
    out.push_str("</ul>\n</div>\n");
    out
}

/// Whether somebody works on it.
pub(super) fn state(session: &SessionSnapshot) -> String {
    let (class, word) = match (session.paused, session.awake) {
        (true, _) => ("badge off", "paused"),
        (false, true) => ("badge on", "awake"),
        (false, false) => ("badge", "at rest"),
    };
    format!("<span class=\"{class}\">{word}</span>")
}

/// What the newest request was made of.
fn context_pieces(context: &Context) -> Vec<Piece> {
    let piece = |name: &str, class, tokens, is_away| Piece {
        name: name.to_owned(),
        class,
        tokens,
        is_away,
        means: String::new(),
    };
    let mut pieces = vec![
        piece("system and tools", "f-frame", context.overhead, false),
        piece("as said", "f-said", context.as_said, false),
        piece("replaced", "f-replaced", context.shortened, false),
        piece("ours", "f-ours", context.summaries + context.told, false),
        piece("spared", "f-condensed", context.gone, true),
    ];
    pieces.retain(|piece| piece.tokens > 0);
    pieces
}

/// What went wrong on our side.
pub(super) fn reports(reports: &[(jiff::Timestamp, String)], count: u64) -> String {
    if count == 0 {
        return String::new();
    }
    let mut out = format!(
        "<div class=\"card\">\n<h2>Failures on our side <span class=\"dim\">{} since the start; those requests went as they came</span></h2>\n<ul class=\"reports\">\n",
        grouped(count)
    );
    for (at, report) in reports {
        out.push_str(&format!("<li><span class=\"dim\">{}</span> {}</li>\n", time(*at), escape(report)));
    }
    out.push_str("</ul>\n</div>\n");
    out
}

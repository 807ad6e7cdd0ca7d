//! The conversation, message by message.

use super::bar::class;
use crate::local::story::{Fate, Line, Story, words};
use throughline_core::text::{middle_cut, one_line};
use throughline_core::words::{escape, grouped, short};

/// How many messages a page shows.
pub(in crate::local) const PAGE: usize = 50;
/// Bytes of a message's text, opened.
const BODY: usize = 2_000;
/// Characters of it, closed.
const LINE: usize = 160;

/// A page of the conversation, the newest messages last; `at` counts pages from the newest.
pub(super) fn lines(story: &Story, at: usize, link: &dyn Fn(usize) -> String) -> String {
    let all = story.lines.len();
    let pages = all.div_ceil(PAGE).max(1);
    let at = at.min(pages - 1);
    let end = all - at * PAGE;
    let start = end.saturating_sub(PAGE);
    let mut out = format!(
        "<h2 id=\"messages\">What the model sees <span class=\"dim\">messages {} to {} of {}</span></h2>\n",
        grouped((start + 1).min(all) as u64),
        grouped(end as u64),
        grouped(all as u64)
    );
    if story.left > 0 {
        out.push_str(&format!(
            "<p class=\"small dim\">{} more were left behind by the client itself, by going back or by its own compaction.</p>\n",
            grouped(story.left)
        ));
    }
    out.push_str("<ol class=\"lines\">\n");
    for (number, line) in story.lines.iter().enumerate().take(end).skip(start) {
        out.push_str(&one(story, number, line));
    }
    out.push_str("</ol>\n");
    if pages > 1 {
        let mut links = Vec::new();
        if at + 1 < pages {
            links.push(format!("<a href=\"{}#messages\" rel=\"prev\">← earlier</a>", escape(&link(at + 1))));
        }
        if at > 0 {
            links.push(format!("<a href=\"{}#messages\" rel=\"next\">later →</a>", escape(&link(at - 1))));
        }
        links.push(format!("<span class=\"dim\">page {} of {pages}</span>", pages - at));
        out.push_str(&format!(
            "<nav class=\"pages\" aria-label=\"Pages of messages\">{}</nav>\n",
            links.join("\n")
        ));
    }
    out
}

fn one(story: &Story, number: usize, line: &Line) -> String {
    let fate = line.fate;
    let seen = line.shown.as_ref().unwrap_or(&line.message);
    let tokens = match fate {
        Fate::AsSaid | Fate::Ours => short(line.shown_tokens as f64),
        Fate::Replaced => {
            format!("{} <s>{}</s>", short(line.shown_tokens as f64), short(line.said_tokens as f64))
        }
        Fate::Condensed | Fate::Dropped => format!("<s>{}</s>", short(line.said_tokens as f64)),
    };
    let said = words(&line.message);
    let mut body = format!("<p class=\"small dim\">{}", escape(fate.means()));
    if line.is_pinned {
        body.push_str(" It is pinned: no stage touches it.");
    }
    if let Some(by) = &line.by {
        let by = escape(by.as_str());
        body.push_str(&format!(" <a href=\"#edit-{by}\">Which change did this?</a>"));
    }
    body.push_str("</p>\n");
    match &line.shown {
        Some(shown) => body.push_str(&format!(
            "<div class=\"diff\"><div class=\"was\"><h3>As said</h3><pre>{}</pre></div><div class=\"now\"><h3>As the model sees it</h3><pre>{}</pre></div></div>\n",
            escape(&middle_cut(&said, BODY)),
            escape(&middle_cut(&words(shown), BODY)),
        )),
        None => body.push_str(&format!("<pre>{}</pre>\n", escape(&middle_cut(&said, BODY)))),
    }
    format!(
        "<li class=\"{}\"><details id=\"m{number}\"><summary data-item id=\"s{number}\"><i class=\"key {}\" title=\"{}\"></i>\
         <span class=\"who\">{}</span><span class=\"text\">{}</span><span class=\"num\">{tokens}{}</span></summary>\
         <div class=\"body\">{body}</div></details></li>\n",
        fate.name().replace(' ', "-"),
        class(fate),
        fate.name(),
        escape(&story.who(&line.message)),
        escape(&one_line(&words(seen), LINE)),
        if line.is_pinned { " · pinned" } else { "" },
    )
}

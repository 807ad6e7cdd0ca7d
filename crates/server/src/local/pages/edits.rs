//! The changes that were made, with what was there before.

use super::{Button, Frame, page, time};
use crate::local::story::{Change, Length, Passage, Story, Undo};
use std::net::SocketAddr;
use throughline_core::View;
use throughline_core::words::{escape, grouped, plural, short};

/// How many changes a page shows.
pub(in crate::local) const PAGE: usize = 10;

/// Where the changes of a session are, and what shows that a form is ours.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The address of the session's page.
    pub(super) session: &'a str,
    pub(super) form: &'a str,
}

/// A page of changes, the newest first.
pub(super) fn edits(
    story: &Story,
    resumed: &View,
    at: usize,
    place: Place<'_>,
    link: &dyn Fn(usize) -> String,
) -> String {
    let all = story.changes.len();
    let pages = all.div_ceil(PAGE).max(1);
    let at = at.min(pages - 1);
    let mut out = format!(
        "<h2 id=\"edits\">Changes <span class=\"dim\">{}, newest first</span></h2>\n",
        grouped(all as u64)
    );
    if all == 0 {
        out.push_str("<p class=\"dim\">Nothing was cut: the model sees what the client sent.</p>\n");
    }
    for change in story.changes.iter().rev().skip(at * PAGE).take(PAGE) {
        out.push_str(&one(story, change, &change.undo(resumed), place));
    }
    if pages > 1 {
        let mut links = Vec::new();
        if at > 0 {
            links.push(format!("<a href=\"{}#edits\" rel=\"prev\">← newer</a>", escape(&link(at - 1))));
        }
        if at + 1 < pages {
            links.push(format!("<a href=\"{}#edits\" rel=\"next\">older →</a>", escape(&link(at + 1))));
        }
        links.push(format!("<span class=\"dim\">page {} of {pages}</span>", at + 1));
        out.push_str(&format!(
            "<nav class=\"pages\" aria-label=\"Pages of changes\">{}</nav>\n",
            links.join("\n")
        ));
    }
    out
}

fn one(story: &Story, change: &Change, undo: &Undo, place: Place<'_>) -> String {
    let id = escape(change.id().as_str());
    let (passages, all) = story.passages(change, Length::LISTED);
    let mut out = format!(
        "<article class=\"edit{}\" id=\"edit-{id}\">\n{}",
        if change.is_live { "" } else { " undone" },
        head(change, undo, place)
    );
    if !passages.is_empty() {
        let what = match all {
            1 => "Before and after".to_owned(),
            many => format!("Before and after, in {}", plural(many as u64, "place")),
        };
        out.push_str(&format!(
            "<details id=\"d-{id}\"><summary data-item id=\"ds-{id}\">{what}</summary>\n{}",
            texts(&passages)
        ));
        out.push_str(&format!(
            "<p class=\"small\"><a href=\"{}/edits/{id}\">{}</a></p></details>\n",
            escape(place.session),
            if all > passages.len() { "All places, in full" } else { "In full" }
        ));
    }
    out.push_str("</article>\n");
    out
}

fn head(change: &Change, undo: &Undo, place: Place<'_>) -> String {
    let id = change.id().as_str();
    let button = |name, says| {
        let action = format!("{}/undo", place.session);
        Button { action, fields: &[("edit", id)], name, says }.html(place.form)
    };
    let aside = match undo {
        Undo::Possible => {
            button("Undo", "Undo: the model sees the original again, and no stage touches it from here on")
        }
        Undo::Redo => button("Redo", "Redo: takes this undo back"),
        Undo::Done => "<span class=\"badge off\">undone</span>".to_owned(),
        Undo::No(why) => format!("<span class=\"badge\" title=\"{}\">not undoable</span>", escape(why)),
    };
    let freed = match change.freed() {
        Some(freed) if freed > 0 => format!("<span class=\"num good\">−{}</span>", short(freed as f64)),
        Some(freed) if freed < 0 => format!("<span class=\"num bad\">+{}</span>", short(-freed as f64)),
        Some(_) | None => String::new(),
    };
    let why = match undo {
        Undo::No(no) => format!("{} {}", change.reason(), no),
        Undo::Possible | Undo::Redo | Undo::Done => change.reason(),
    };
    format!(
        "<div class=\"head\"><span class=\"title\">{}</span> <span class=\"badge\">{}</span> {freed} <span class=\"dim small\">{}</span>{aside}</div>\n\
         <p class=\"why\">{}</p>\n",
        escape(change.title()),
        escape(change.stage()),
        change.at().map(time).unwrap_or_default(),
        escape(&why),
    )
}

fn texts(passages: &[Passage]) -> String {
    let mut out = String::new();
    for Passage { who, before, after } in passages {
        let now = match after {
            Some(text) => format!("<h3>Now</h3><pre>{}</pre>", escape(text)),
            None => "<h3>Now</h3><p class=\"dim small\">left out</p>".to_owned(),
        };
        out.push_str(&format!(
            "<div class=\"diff\"><div class=\"was\"><h3>Before · {}</h3><pre>{}</pre></div><div class=\"now\">{now}</div></div>\n",
            escape(who),
            escape(before),
        ));
    }
    out
}

/// What the page of one change shows.
pub(in crate::local) struct EditPage<'a> {
    pub(in crate::local) story: &'a Story,
    pub(in crate::local) change: &'a Change,
    pub(in crate::local) resumed: &'a View,
    pub(in crate::local) session: &'a str,
    pub(in crate::local) form: &'a str,
    pub(in crate::local) listening: SocketAddr,
}

/// One change on a page of its own, nearly in full.
pub(in crate::local) fn alone(edit: &EditPage<'_>) -> String {
    let place = Place { session: edit.session, form: edit.form };
    let (passages, all) = edit.story.passages(edit.change, Length::ALONE);
    let mut content = format!(
        "<p><a href=\"{}\">← the session</a></p>\n<section class=\"card alone\">\n{}{}",
        escape(edit.session),
        head(edit.change, &edit.change.undo(edit.resumed), place),
        texts(&passages),
    );
    if all > passages.len() {
        content.push_str(&format!(
            "<p class=\"dim\">{} more are not shown.</p>\n",
            plural((all - passages.len()) as u64, "place")
        ));
    }
    content.push_str("</section>\n");
    page(&Frame { title: edit.change.title(), part: None, listening: edit.listening }, &content)
}

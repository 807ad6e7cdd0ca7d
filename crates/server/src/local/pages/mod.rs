//! Pages for people: plain HTML that works without script. Everything that comes from a session is escaped where it is written.

mod bar;
mod edits;
mod frame;
mod home;
mod lines;
mod money;
mod refused;
mod session;

pub(super) use edits::{EditPage, PAGE as EDITS, alone};
pub(super) use frame::{Frame, page};
pub(super) use home::{HomePage, Listed, PAGE as SESSIONS};
pub(super) use lines::PAGE as MESSAGES;
pub(super) use refused::refused;
pub(super) use session::{Outcome, SessionPage};

use jiff::Timestamp;
use throughline_core::words::escape;

/// A part of a page that is brought up to date on its own: it is taken over where its hash differs.
fn part(id: &str, html: &str) -> String {
    let hash = blake3::hash(html.as_bytes()).to_hex();
    format!("<section data-part-id=\"{id}\" data-hash=\"{}\">\n{html}</section>\n", &hash[..16])
}

/// A time; a script says how long ago it was.
fn time(at: Timestamp) -> String {
    format!("<time datetime=\"{at}\" data-ago>{}</time>", at.strftime("%Y-%m-%d %H:%M:%S UTC"))
}

/// A button that does something. Without script it is a form as any other.
struct Button<'a> {
    /// Where it goes.
    action: String,
    /// What it says with it.
    fields: &'a [(&'a str, &'a str)],
    /// What is on it.
    name: &'a str,
    /// What it does, in full.
    says: &'a str,
}

impl Button<'_> {
    fn html(&self, form: &str) -> String {
        let field = |(name, value): &(&str, &str)| {
            format!("<input type=\"hidden\" name=\"{}\" value=\"{}\">", escape(name), escape(value))
        };
        let fields: String = self.fields.iter().map(field).collect();
        format!(
            "<form method=\"post\" action=\"{}\">{}{fields}<button title=\"{says}\" aria-label=\"{says}\">{}</button></form>",
            escape(&self.action),
            field(&("form", form)),
            escape(self.name),
            says = escape(self.says),
        )
    }
}

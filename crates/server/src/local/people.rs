//! Pages, and what their buttons do.

use super::data::Earlier;
use super::pages::{self, EditPage, Frame, HomePage, Listed, Outcome, SessionPage};
use super::query::Pairs;
use super::respond::{self, Kind};
use super::{Call, data};
use crate::guard::Holder;
use crate::manage::{By, ManageError, undo_at_rest};
use crate::relay::Body;
use crate::serve::Shared;
use crate::token::Derived;
use http::{HeaderValue, Response, StatusCode};
use throughline_core::{EditId, SessionId};
use throughline_ledger::LedgerError;

/// Tells which version of its content a page has.
const VERSION: &str = "x-throughline-version";

/// The first page.
pub(super) fn home(shared: &Shared, call: &Call) -> Response<Body> {
    let at = call.query.number("page").unwrap_or_default();
    let snapshot = shared.manager.as_ref().map(|manager| manager.snapshot());
    let sessions = snapshot.as_ref().map(|snapshot| snapshot.sessions.as_slice()).unwrap_or_default();
    let last = sessions.len().div_ceil(pages::SESSIONS).saturating_sub(1);
    let listed: Vec<Listed<'_>> = sessions
        .iter()
        .skip(at.min(last) * pages::SESSIONS)
        .take(pages::SESSIONS)
        .map(|session| {
            let path = shared.local.ledger(&shared.settings.home, &session.id);
            let card = path.and_then(|path| data::card(&shared.settings.home, &path)).unwrap_or_default();
            Listed { session, title: data::title(&card, &session.id) }
        })
        .collect();
    let (reports, _) = data::reports(shared.manager.as_ref());
    let is_here = |id: &SessionId| sessions.iter().any(|session| session.id == *id);
    let earlier: Vec<&Earlier> = match snapshot {
        Some(_) if at == 0 => {
            shared.local.earlier(&shared.settings.home).iter().filter(|one| !is_here(&one.id)).collect()
        }
        Some(_) | None => Vec::new(),
    };
    let page = HomePage {
        snapshot: snapshot.as_ref(),
        listed: &listed,
        earlier: &earlier,
        reports: &reports,
        listening: shared.address,
        at,
    };
    let content = page.content();
    let version = blake3::hash(content.as_bytes()).to_hex()[..16].to_owned();
    let part = format!("/?page={at}&part=1");
    let frame = Frame { title: "Sessions", part: Some((&part, &version)), listening: shared.address };
    shown(call, &version, &frame, &content)
}

/// The page of a session.
pub(super) fn session(shared: &Shared, call: &Call, id: &str) -> Response<Body> {
    let version = match data::version(shared, &SessionId::new(id)) {
        Ok(version) => version,
        Err(error) => return failed(&error),
    };
    if call.query.get("part").is_some() && call.query.get("since") == Some(&version) {
        return respond::answer(StatusCode::NO_CONTENT, Kind::Html, "");
    }
    let looked = match data::look(shared, id) {
        Ok(looked) => looked,
        Err(error) => return failed(&error),
    };
    let (reports, count) = data::reports(shared.manager.as_ref());
    let at = |name| call.query.number(name).unwrap_or_default();
    let at = (at("messages"), at("edits"));
    let page = SessionPage {
        id: &looked.id,
        title: &looked.title,
        snapshot: looked.snapshot.as_ref(),
        story: &looked.story,
        resumed: &looked.resumed,
        notes: looked.notes.as_deref(),
        reports: (&reports, count),
        at,
        form: &shared.settings.token.derived(Derived::Form),
        outcome: call.query.get("did").and_then(Outcome::parse),
    };
    let part = format!("{}?messages={}&edits={}&part=1", SessionPage::place(&looked.id), at.0, at.1);
    let frame = Frame { title: &looked.title, part: Some((&part, &version)), listening: shared.address };
    shown(call, &version, &frame, &page.content())
}

/// A whole page, or only what changed of it.
fn shown(call: &Call, version: &str, frame: &Frame<'_>, content: &str) -> Response<Body> {
    let mut response = if call.query.get("part").is_none() {
        respond::answer(StatusCode::OK, Kind::Html, pages::page(frame, content))
    } else if call.query.get("since") == Some(version) {
        respond::answer(StatusCode::NO_CONTENT, Kind::Html, "")
    } else {
        respond::answer(StatusCode::OK, Kind::Html, content.to_owned())
    };
    if let Ok(version) = HeaderValue::from_str(version) {
        response.headers_mut().insert(VERSION, version);
    }
    response
}

/// The page of a change.
pub(super) fn edit(shared: &Shared, id: &str, edit: &str) -> Response<Body> {
    let looked = match data::look(shared, id) {
        Ok(looked) => looked,
        Err(error) => return failed(&error),
    };
    let Some(change) = looked.story.changes.iter().find(|change| change.id().as_str() == edit) else {
        return super::nothing_here();
    };
    let page = pages::alone(&EditPage {
        story: &looked.story,
        change,
        resumed: &looked.resumed,
        session: &SessionPage::place(&looked.id),
        form: &shared.settings.token.derived(Derived::Form),
        listening: shared.address,
    });
    respond::answer(StatusCode::OK, Kind::Html, page)
}

/// A button was pressed.
pub(super) fn act(shared: &Shared, call: &Call, id: &str, what: &str) -> Response<Body> {
    let form = Pairs::parse(&String::from_utf8_lossy(&call.body));
    // A browser sends the cookie for whoever asks; only our own page knows what its forms hold.
    let is_ours = form.get("form").is_some_and(|given| shared.settings.token.derives(Derived::Form, given));
    if call.holder == Holder::Cookie && !is_ours {
        let why = "this form is not one of this server's pages; reload the page and try again\n";
        return respond::answer(StatusCode::FORBIDDEN, Kind::Plain, why);
    }
    let id = SessionId::new(id);
    let page = SessionPage::place(&id);
    let done = match what {
        "undo" => {
            let edit = EditId::from(form.get("edit").unwrap_or_default());
            undo(shared, &id, &edit, By::Page).map(|()| "undone")
        }
        "pause" => {
            let on = form.get("on") == Some("1");
            pause(shared, &id, on, By::Page).map(|()| if on { "paused" } else { "resumed" })
        }
        _ => {
            if let Some(manager) = &shared.manager {
                manager.hub.forget(&id);
            }
            return respond::see("/", None);
        }
    };
    match done {
        Ok(did) => respond::see(&format!("{page}?did={did}"), None),
        Err(error) => {
            tracing::warn!("{what} on the page failed: {error}");
            if matches!(error, ManageError::Ledger(LedgerError::NoSession(_))) {
                return super::nothing_here();
            }
            respond::see(&format!("{page}?did=failed"), None)
        }
    }
}

/// Takes back a change, through the one who holds the ledger.
pub(super) fn undo(shared: &Shared, id: &SessionId, edit: &EditId, by: By) -> Result<(), ManageError> {
    let manager = shared.manager.as_ref().ok_or_else(|| LedgerError::NoSession(id.to_string()))?;
    match manager.hub.find(id) {
        Some(thread) => thread.undo(edit, by)?,
        None => undo_at_rest(&manager.world, id, edit, by)?,
    };
    Ok(())
}

/// Lets the requests of a session go as they come, or no longer.
pub(super) fn pause(shared: &Shared, id: &SessionId, on: bool, by: By) -> Result<(), ManageError> {
    let thread = shared.manager.as_ref().and_then(|manager| manager.hub.find(id));
    thread.ok_or_else(|| LedgerError::NoSession(id.to_string()))?.pause(on, by)
}

fn failed(error: &LedgerError) -> Response<Body> {
    let is_unknown = matches!(error, LedgerError::NoSession(_));
    let status = if is_unknown { StatusCode::NOT_FOUND } else { StatusCode::INTERNAL_SERVER_ERROR };
    respond::answer(status, Kind::Plain, format!("{error}\n"))
}

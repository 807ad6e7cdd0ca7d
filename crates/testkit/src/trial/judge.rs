//! Whether two ways came to the same.

use super::provider::Arrived;
use super::{Case, Content, End, How, Leave, Letter, Outcome, TRIAL};
use throughline_core::{Wire, invariants};
use throughline_wire::Request;

/// Headers that only concern one connection.
const OF_THE_HOP: [&str; 5] = ["connection", "keep-alive", "transfer-encoding", "te", "trailer"];

/// What a client got that it would not have got directly; `None` if it is the same.
pub fn differs(case: &Case, direct: &Outcome, through: &Outcome) -> Option<String> {
    if through.how == How::Silent {
        return Some("nothing came any more".to_owned());
    }
    // What was sent before a reset may be lost on the way, by either.
    let may_lose = case.act.end == End::Reset;
    if may_lose && (direct.status == 0 || through.status == 0) {
        return (through.how != How::Broken && case.manner.leave == Leave::Never)
            .then(|| format!("{:?} after a reset", through.how));
    }
    if direct.how != through.how {
        let told = |outcome: &Outcome| {
            format!("{:?} after status {} and {} bytes", outcome.how, outcome.status, outcome.body.len())
        };
        return Some(format!("it ended {}, directly {}", told(through), told(direct)));
    }
    if (direct.status, &direct.reason) != (through.status, &through.reason) {
        return Some(format!(
            "{} {}, directly {} {}",
            through.status, through.reason, direct.status, direct.reason
        ));
    }
    let (ours, theirs) = (end_to_end(&through.headers, &[]), end_to_end(&isolated(direct), &[]));
    if ours != theirs {
        return Some(format!("headers {ours:?}, directly {theirs:?}"));
    }
    let shared = direct.body.len().min(through.body.len());
    let is_same =
        if may_lose { direct.body[..shared] == through.body[..shared] } else { direct.body == through.body };
    (!is_same).then(|| format!("{} bytes of a body, directly {}", through.body.len(), direct.body.len()))
}

/// What is wrong with a request as the provider got it; whether it was edited, if nothing is.
pub fn is_intact_or_valid(case: &Case, wire: Wire, arrived: &Arrived) -> Result<bool, String> {
    let Letter { line, headers, body } = &case.letter;
    if arrived.line != *line {
        return Err(format!("{} arrived for {line}", arrived.line));
    }
    let edited = arrived.body != *body;
    let about_body: &[&str] = if edited {
        &["content-length", "content-encoding", "expect"]
    } else {
        &["content-length", "expect"]
    };
    let theirs: Vec<(String, String)> = headers
        .iter()
        .filter(|(name, _)| !name.to_ascii_lowercase().starts_with("x-throughline-"))
        .cloned()
        .collect();
    let got = end_to_end(&arrived.headers, &[about_body, &[TRIAL, "host"]].concat());
    let sent = end_to_end(&theirs, about_body);
    if got != sent {
        return Err(format!("headers {got:?} arrived for {sent:?}"));
    }
    if !edited {
        return Ok(false);
    }
    if case.injected.is_some_and(|injected| !injected.starts_with("learn")) {
        return Err(format!("an edited request although {:?} was asked for", case.injected));
    }
    match case.content {
        Content::Talk | Content::Compressed => {}
        Content::Illegible | Content::Nonsense => return Err("another body arrived".to_owned()),
    }
    if arrived.header("content-encoding").is_some() {
        return Err("an edited body that says it is compressed".to_owned());
    }
    let request = Request::decode(wire, &arrived.body).map_err(|error| error.to_string())?;
    match invariants::check(&request.messages).first() {
        Some(broken) => Err(format!("an edited request breaks a rule: {broken}")),
        None => Ok(true),
    }
}

/// Headers that a proxy adds to every answer, so that a browser shows and runs nothing of it.
const ISOLATION: [(&str, &str); 3] = [
    ("content-security-policy", "default-src 'none'; frame-ancestors 'none'; sandbox"),
    ("x-content-type-options", "nosniff"),
    ("cross-origin-resource-policy", "same-origin"),
];

/// The headers of an answer as a proxy passes them on: with the above, and HTML as text to be saved.
fn isolated(answer: &Outcome) -> Vec<(String, String)> {
    let mut isolated = answer.headers.clone();
    if answer.status == 0 {
        return isolated;
    }
    isolated.extend(ISOLATION.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let html = isolated
        .iter_mut()
        .find(|(name, value)| name.eq_ignore_ascii_case("content-type") && value.contains("html"));
    if let Some((_, value)) = html {
        "text/plain; charset=utf-8".clone_into(value);
        isolated.push(("content-disposition".to_owned(), "attachment".to_owned()));
    }
    isolated
}

/// What goes from end to end, in an order that does not depend on that of different names.
fn end_to_end(headers: &[(String, String)], without: &[&str]) -> Vec<(String, String)> {
    let is_left_out = |name: &str| {
        let is = |known: &&str| known.eq_ignore_ascii_case(name);
        OF_THE_HOP.iter().any(is) || without.iter().any(is)
    };
    let mut kept: Vec<(String, String)> =
        headers.iter().filter(|(name, _)| !is_left_out(name)).cloned().collect();
    kept.sort_by_key(|(name, _)| name.to_ascii_lowercase());
    kept
}

//! What the page is made of besides its text. It holds no secret, so everybody may have it.

use super::respond::{Kind, answer};
use crate::relay::Body;
use http::{Response, StatusCode};

/// Where they are.
pub(super) const PLACE: &str = "/throughline/assets/";

/// The file of a name.
pub(super) fn find(name: &str) -> Option<Response<Body>> {
    let (kind, text) = match name {
        "page.css" => (Kind::Css, include_str!("assets/page.css")),
        "page.js" => (Kind::Script, include_str!("assets/page.js")),
        "icon.svg" => (Kind::Icon, include_str!("assets/icon.svg")),
        _ => return None,
    };
    Some(answer(StatusCode::OK, kind, text))
}

//! From the bytes of an answer to text.

use super::fetch::Answer;
use super::html;
use encoding_rs::{Encoding, UTF_8};
use reqwest::{StatusCode, Url};

/// A page, as text.
pub(super) struct Page {
    pub(super) url: Url,
    pub(super) status: StatusCode,
    /// The type as the server named it.
    pub(super) kind: String,
    pub(super) title: Option<String>,
    pub(super) text: String,
}

impl Page {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_success()
    }
}

/// Types that are text without saying so.
const TEXT_TYPES: [&str; 15] = [
    "json",
    "xml",
    "javascript",
    "ecmascript",
    "x-javascript",
    "yaml",
    "x-yaml",
    "toml",
    "x-ndjson",
    "ndjson",
    "graphql",
    "sql",
    "x-sh",
    "rtf",
    "x-httpd-php",
];

/// The type without its parameters, in lower case.
fn essence(content_type: &str) -> String {
    content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Whether a type is read; else what it is. Without one the content decides.
pub(super) fn accepts(content_type: Option<&str>) -> Result<(), String> {
    let Some(kind) = content_type.map(essence).filter(|kind| !kind.is_empty()) else { return Ok(()) };
    let is_text = match kind.split_once('/') {
        Some(("text", _)) => true,
        Some(("application", sub)) => {
            TEXT_TYPES.contains(&sub)
                || sub.ends_with("+json")
                || sub.ends_with("+xml")
                || sub.ends_with("+yaml")
        }
        Some(_) => kind.ends_with("+xml") || kind.ends_with("+json"),
        None => false,
    };
    if is_text { Ok(()) } else { Err(kind) }
}

/// Reads an answer.
pub(super) fn read(answer: Answer) -> Result<Page, String> {
    let Answer { url, status, content_type, body } = answer;
    let named = content_type.as_deref().map(essence).filter(|kind| !kind.is_empty());
    if named.is_none() && body.iter().take(4_096).any(|byte| *byte == 0) {
        return Err(format!("{url} is not text; only text is read"));
    }
    let begins_as_html = || {
        let start = String::from_utf8_lossy(&body[..body.len().min(512)]).trim_start().to_ascii_lowercase();
        start.starts_with("<!doctype html") || start.starts_with("<html")
    };
    let is_html = match named.as_deref() {
        Some("text/html" | "application/xhtml+xml") => true,
        Some(_) => false,
        None => begins_as_html(),
    };
    let text = decode(&body, content_type.as_deref(), is_html);
    let kind = named.unwrap_or_else(|| "no type given".to_owned());
    let (title, text) = if is_html {
        let page = html::to_text(&text, &url);
        (page.title.map(|title| clean(&title)), page.text)
    } else {
        (None, text)
    };
    Ok(Page { url, status, kind, title, text: clean(&text).trim_end().to_owned() })
}

fn decode(body: &[u8], content_type: Option<&str>, is_html: bool) -> String {
    let label = content_type.and_then(charset).or_else(|| {
        let head = String::from_utf8_lossy(&body[..body.len().min(1_024)]).into_owned();
        is_html.then(|| charset(&head)).flatten()
    });
    let encoding = label.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    // A byte order mark wins.
    encoding.decode(body).0.into_owned()
}

/// What stands behind `charset=`.
fn charset(text: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let at = lower.find("charset=")? + "charset=".len();
    let label = lower.get(at..)?.trim_start_matches(['"', '\'', ' ']);
    let end = label
        .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':')))
        .unwrap_or(label.len());
    Some(label[..end].to_owned()).filter(|label| !label.is_empty())
}

/// Text without what no reader sees: control characters, marks that turn the direction of reading, and invisible letters.
fn clean(text: &str) -> String {
    let is_unseen = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
            || matches!(c, '\u{e0000}'..='\u{e0fff}')
    };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    text.chars().filter(|c| !is_unseen(*c)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_known_by_its_type() {
        for kind in [
            "text/html; charset=utf-8",
            "TEXT/plain",
            "application/json",
            "application/ld+json",
            "image/svg+xml",
            "",
        ] {
            assert_eq!(accepts(Some(kind)), Ok(()), "{kind}");
        }
        for kind in ["image/png", "application/pdf", "application/octet-stream", "video/mp4", "nonsense"] {
            assert_eq!(accepts(Some(kind)), Err(kind.to_owned()));
        }
        assert_eq!(accepts(None), Ok(()));
    }

    #[test]
    fn charsets_are_found_and_obeyed() {
        assert_eq!(charset("text/html; charset=\"ISO-8859-1\""), Some("iso-8859-1".to_owned()));
        assert_eq!(charset("text/html"), None);
        assert_eq!(decode(b"caf\xe9", Some("text/plain; charset=latin1"), false), "café");
        assert_eq!(
            decode(b"<meta charset='gbk'>\xc4\xe3", Some("text/html"), true),
            "<meta charset='gbk'>你"
        );
        assert_eq!(decode(b"\xff\xfea\0", None, false), "a");
        assert_eq!(decode(b"bad \xff", Some("text/plain; charset=none-such"), false), "bad \u{fffd}");
    }

    #[test]
    fn what_nobody_sees_is_left_out() {
        assert_eq!(clean("a\u{1b}[31mb\r\nc\td\0\u{202e}\u{e0041}\u{200b}e"), "a[31mb\nc\tde");
    }
}

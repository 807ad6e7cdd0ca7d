//! What every page has.

use std::net::SocketAddr;
use throughline_core::words::escape;

const MARK: &str = "<svg viewBox=\"0 0 18 18\" aria-hidden=\"true\"><path d=\"M1 4.5h16M1 13.5h16\" stroke=\"currentColor\" \
                    stroke-width=\"2\" stroke-linecap=\"round\" opacity=\"0.35\"/><path class=\"f-said\" d=\"M1 9h16\" \
                    stroke=\"currentColor\" stroke-width=\"3\" stroke-linecap=\"round\"/></svg>";

/// What stands around a page's own content.
pub(in crate::local) struct Frame<'a> {
    /// Without our name.
    pub(in crate::local) title: &'a str,
    /// Where the content comes from when it is brought up to date, and which version this is; `None`: it never changes.
    pub(in crate::local) part: Option<(&'a str, &'a str)>,
    pub(in crate::local) listening: SocketAddr,
}

/// A whole page.
pub(in crate::local) fn page(frame: &Frame<'_>, content: &str) -> String {
    let (part, live) = match frame.part {
        Some((address, version)) => (
            format!(" data-part=\"{}\" data-version=\"{}\"", escape(address), escape(version)),
            "<span id=\"live\" class=\"live\" role=\"status\">reload for news</span>",
        ),
        None => (String::new(), ""),
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{} · Throughline</title>\n\
         <link rel=\"icon\" href=\"/throughline/assets/icon.svg\">\n\
         <link rel=\"stylesheet\" href=\"/throughline/assets/page.css\">\n\
         <script src=\"/throughline/assets/page.js\" defer></script>\n</head>\n<body>\n\
         <a class=\"skip\" href=\"#main\">Skip to the content</a>\n\
         <header class=\"top\"><div><a class=\"brand\" href=\"/\">{MARK}Throughline</a> <span class=\"dim\">{}</span>{live}</div></header>\n\
         <main id=\"main\" tabindex=\"-1\"{part}>\n{content}</main>\n\
         <footer>Keys: <kbd>j</kbd> and <kbd>k</kbd> go to the next and the previous entry, <kbd>Enter</kbd> opens it, \
         <kbd>h</kbd> goes to all sessions. Everything can be reached with <kbd>Tab</kbd>.</footer>\n</body>\n</html>\n",
        escape(frame.title),
        frame.listening,
    )
}

//! For whoever came without the token.

use super::{Frame, page};
use std::net::SocketAddr;

/// Says how to get in.
pub(in crate::local) fn refused(listening: SocketAddr, why: &str) -> String {
    let why = throughline_core::words::escape(why);
    let content = format!(
        "<section class=\"card\">\n<h1>This page needs its token</h1>\n<p>{why}.</p>\n\
         <p>The whole address is in the terminal where Throughline runs; it looks like this:</p>\n\
         <pre><code>http://{listening}/?token=…</code></pre>\n\
         <p class=\"dim\">A browser keeps it until it is closed. Programs send the token as \
         <code>Authorization: Bearer …</code>.</p>\n</section>\n"
    );
    page(&Frame { title: "Token needed", part: None, listening }, &content)
}

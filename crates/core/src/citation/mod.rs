//! What of memory an answer made use of, as its model says at the end of it (H5).
//!
//! ```text
//! <oai-mem-citation>
//! <citation_entries>
//! MEMORY.md:12-14|note=[how the tests are run]
//! </citation_entries>
//! <rollout_ids>
//! 019a2b3c-…
//! </rollout_ids>
//! </oai-mem-citation>
//! ```
//!
//! The block is for us, not for people: [`CitationFilter`] takes it out of a stream, [`strip`] out of a text. The message itself stays as it
//! is, for the provider's cache begins with it.
//!
//! **What is a block.** The opening tag, then nothing but white space and lists, one of them at least begun, then the closing tag. A
//! tag that something else follows is a mention, and stays; so does all that stands in a code fence, or
//! between backticks. Where the closing tag is missing, the block ends behind its last list. A list that the text breaks off in is taken out if its
//! lines look like those of a list, and stays if they do not. So does whatever is over [`MOST_BYTES`].

mod fence;
mod filter;
mod parse;

pub use filter::{CitationFilter, strip};
pub use parse::{Citation, CitedLines, MOST_BYTES, MOST_CITED};

/// The tag that a block begins with.
pub const OPEN: &str = "<oai-mem-citation>";
/// The tag that it ends with.
pub const CLOSE: &str = "</oai-mem-citation>";

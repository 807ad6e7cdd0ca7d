//! A scripted MCP server: over stdin and stdout of a process, or over loopback HTTP, well-behaved or not.
//!
//! The script is a JSON object, so that a test can hand it to a child process:
//!
//! | key | what |
//! |---|---|
//! | `tools` | the list of tools, as the protocol has it |
//! | `page` | how many of them are in one page |
//! | `list` | `"endless"` or `"circle"`: a list that has no end |
//! | `calls` | steps by tool; a tool without steps answers with its arguments as text |
//! | `initialize` | steps instead of the usual answer |
//! | `version`, `capabilities`, `instructions` | what the usual answer says |
//! | `start` | steps before anything was asked (stdio) |
//! | `log` | a file that gets every message that arrives, a line each |
//! | `stay` | the process stays when its stdin is closed |
//! | `sse` | answers are streams of events (HTTP) |
//! | `session` | the name of the session (HTTP) |
//! | `replies` | whole HTTP replies by method: `status`, `headers`, `body` (HTTP) |
//!
//! A step is an object with one key: `answer` (a result), `error`, `send` (any message), `raw` (bytes of stdout, or of the body),
//! `fill` (so many bytes without a line end), `stderr` (so many bytes there), `ask` (a request to the client, whose answer
//! becomes the text of the call's answer), `words` (an answer of so many characters), `repeat` (`[times, step]`), `tools` (another list from now on), `env` (answers with the process's variables),
//! `sleep` (starts a process that sleeps, and answers with its id and our own), `exit` (with that status). No step that answers
//! is silence.

mod http;
mod player;
mod stdio;

pub use http::{Heard, McpHttp};
pub use stdio::serve;

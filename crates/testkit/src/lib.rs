//! A scripted model server for tests: Anthropic Messages, OpenAI Responses and Chat Completions over real sockets,
//! streamed or not, and every way in which real providers fail. Threads only, so that tests with and without a
//! runtime can use it.
//!
//! - [`Server`] plays a [`Script`] and records everything that arrives as [`Seen`].
//! - [`Answer`] is what the model says; it comes in the form of the wire that is asked. [`Fault`] is what goes wrong;
//!   [`Fault::all`] is one of each, for tests that go through all of them. [`Http`] is anything else.
//! - Scripts: a closure, a list of replies, a [`Playlist`], a [`Playbook`] of rules, a [`Window`] that refuses
//!   prompts which are too long for it.
//! - [`postgres`] is not a model: it starts a PostgreSQL for tests of what is kept there.
//! - [`trial`] sends the same request by two ways, with the same fault planned, and says where they differ.
//! - [`Gate`] holds a reply back until the test says so; [`Nowhere`] is an address that refuses connections.
//!
//! Unless told otherwise the [figures](Figures) of an answer are counted from the request: the tokens of the prompt,
//! and how many of them an earlier request began with, as a prompt cache would find it. A stream of the Chat wire
//! says what it cost only if `stream_options.include_usage` asks for it, as OpenAI's does.
//!
//! ```
//! use serde_json::json;
//! use std::io::{Read, Write};
//! use std::net::TcpStream;
//! use throughline_core::Wire;
//! use throughline_testkit::{Answer, Fault, Playbook, Server, playbook::last_user};
//! use throughline_wire::{Response, Stop};
//!
//! let server = Server::start(
//!     Playbook::new()
//!         .once(last_user("list"), Fault::Overloaded)
//!         .when(last_user("list"), Answer::text("I look.").call("Bash", json!({"command": "ls"})))
//!         .otherwise("Done."),
//! )?;
//!
//! let ask = |text: &str| -> std::io::Result<String> {
//!     let body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": text}]}).to_string();
//!     let mut stream = TcpStream::connect(server.address())?;
//!     let head = "POST /v1/messages HTTP/1.1\r\nconnection: close\r\ncontent-length";
//!     write!(stream, "{head}: {}\r\n\r\n{body}", body.len())?;
//!     let mut reply = String::new();
//!     stream.read_to_string(&mut reply)?;
//!     Ok(reply)
//! };
//! assert!(ask("list the files")?.starts_with("HTTP/1.1 529"));
//! let reply = ask("list the files")?;
//! let body = reply.split_once("\r\n\r\n").map_or("", |(_, body)| body);
//! let response = Response::decode(Wire::Anthropic, body.as_bytes())?;
//! assert_eq!(response.stop, Stop::ToolUse);
//! assert_eq!(server.requests()[1].last_user_text(), "list the files");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod answer;
mod coding;
mod events;
mod fault;
mod figures;
mod gate;
mod http;
pub mod mcp;
mod nowhere;
mod plan;
pub mod playbook;
pub mod postgres;
mod prompts;
mod render;
mod reply;
mod route;
mod script;
pub mod secrets;
mod seen;
mod server;
pub mod trial;

pub use answer::Answer;
pub use coding::Coding;
pub use fault::{Ending, ErrorEvent, Fault, Length, Malformed, Refusal, RetryAfter, Stall, TooLong, Wording};
pub use figures::Figures;
pub use gate::Gate;
pub use nowhere::Nowhere;
pub use playbook::{Playbook, Window};
pub use reply::{Http, Reply};
pub use script::{Playlist, Script};
pub use seen::Seen;
pub use server::Server;

//! What is replied.

use crate::{Answer, Fault};
use serde_json::Value;

/// What is replied to a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer of the model.
    Answer(Answer),
    /// A failure; those that spoil an answer spoil a short one.
    Fault(Fault),
    /// An answer that a failure spoils.
    Spoilt(Box<Answer>, Fault),
    /// Anything else.
    Http(Http),
}

impl From<Answer> for Reply {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl From<Fault> for Reply {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Http> for Reply {
    fn from(http: Http) -> Self {
        Self::Http(http)
    }
}

impl From<&str> for Reply {
    fn from(text: &str) -> Self {
        Self::Answer(Answer::text(text))
    }
}

/// A response to the letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Http {
    /// The status.
    pub status: u16,
    /// Headers beside `content-length` and `date`.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Http {
    /// A JSON body.
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), "application/json".to_owned())],
            body: body.to_string().into_bytes(),
        }
    }

    /// A body of text.
    pub fn text(status: u16, content_type: &str, body: &str) -> Self {
        Self {
            status,
            headers: vec![("content-type".to_owned(), content_type.to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }

    /// With a header more.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

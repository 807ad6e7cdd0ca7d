//! Who decides what is replied.

use crate::{Answer, Fault, Reply, Seen};
use std::collections::VecDeque;

/// Decides what is replied. It is asked for one request at a time, in the order of [`Seen::number`].
///
/// - A closure `FnMut(&Seen) -> Reply` decides for itself. It must not block: hold the reply back with
///   [`Answer::at`] instead. If it panics the client gets a 500 with the panic's message.
/// - A list of replies, or a [`Playlist`], is played in order, and then is over.
/// - A single [`Reply`], [`Answer`], text or [`Fault`] is given every time.
/// - A [`Playbook`](crate::Playbook) looks at the request.
pub trait Script: Send + 'static {
    /// The reply to a request for an answer. `None`: the script is over, which the client is told by a 500.
    fn reply(&mut self, seen: &Seen) -> Option<Reply>;

    /// The reply to any other request, such as `count_tokens` or the list of models. `None`: a plausible one.
    fn other(&mut self, seen: &Seen) -> Option<Reply> {
        let _ = seen;
        None
    }
}

impl<F: FnMut(&Seen) -> Reply + Send + 'static> Script for F {
    fn reply(&mut self, seen: &Seen) -> Option<Reply> {
        Some(self(seen))
    }
}

impl Script for Reply {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        Some(self.clone())
    }
}

impl Script for Answer {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        Some(self.clone().into())
    }
}

impl Script for Fault {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        Some(self.clone().into())
    }
}

impl Script for &'static str {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        Some((*self).into())
    }
}

impl Script for Vec<Reply> {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        (!self.is_empty()).then(|| self.remove(0))
    }
}

impl Script for Box<dyn Script> {
    fn reply(&mut self, seen: &Seen) -> Option<Reply> {
        (**self).reply(seen)
    }

    fn other(&mut self, seen: &Seen) -> Option<Reply> {
        (**self).other(seen)
    }
}

/// Replies in order.
#[derive(Clone, Debug, Default)]
pub struct Playlist {
    replies: VecDeque<Reply>,
    last: Option<Box<Reply>>,
}

impl Playlist {
    /// An empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Then this one.
    #[must_use]
    pub fn then(mut self, reply: impl Into<Reply>) -> Self {
        self.replies.push_back(reply.into());
        self
    }

    /// Then this one, so many times.
    #[must_use]
    pub fn times(mut self, times: usize, reply: impl Into<Reply>) -> Self {
        let reply = reply.into();
        self.replies.extend(std::iter::repeat_n(reply, times));
        self
    }

    /// Then this one, for ever.
    #[must_use]
    pub fn forever(mut self, reply: impl Into<Reply>) -> Self {
        self.last = Some(Box::new(reply.into()));
        self
    }
}

impl Script for Playlist {
    fn reply(&mut self, _: &Seen) -> Option<Reply> {
        self.replies.pop_front().or_else(|| self.last.as_deref().cloned())
    }
}

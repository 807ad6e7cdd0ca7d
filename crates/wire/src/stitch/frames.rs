//! A stream cut into its events, each with the bytes it was written with.

use crate::sse::{Event, Parser};

/// Holds the bytes of an event until it is whole.
#[derive(Debug)]
pub(super) struct Frames {
    held: Vec<u8>,
    /// Where the line that is not over yet begins; `None`: before what is held.
    line: Option<usize>,
    /// Up to where there is no more to see.
    scanned: usize,
}

impl Default for Frames {
    fn default() -> Self {
        Self { held: Vec::new(), line: Some(0), scanned: 0 }
    }
}

impl Frames {
    /// Bytes of an event that are held.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Gives up what is held of an event; its end is still found.
    pub(super) fn spill(&mut self) -> Vec<u8> {
        self.line = self.line.filter(|line| *line == self.held.len()).map(|_| 0);
        self.scanned = 0;
        std::mem::take(&mut self.held)
    }

    /// Takes the next bytes; `each` gets every event that they complete, to the byte.
    pub(super) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8])) {
        self.held.extend_from_slice(bytes);
        let mut start = 0;
        while let Some(found) = self.held.get(self.scanned..).and_then(|rest| rest.iter().position(is_end)) {
            let at = self.scanned + found;
            let width = match (self.held.get(at), self.held.get(at + 1)) {
                (Some(b'\r'), Some(b'\n')) => 2,
                // The other half of the line end may be on its way.
                (Some(b'\r'), None) => {
                    self.scanned = at;
                    break;
                }
                _ => 1,
            };
            let is_blank = self.line == Some(at);
            self.scanned = at + width;
            self.line = Some(self.scanned);
            if is_blank {
                each(&self.held[start..self.scanned]);
                start = self.scanned;
            }
        }
        if self.held.get(self.scanned) != Some(&b'\r') {
            self.scanned = self.held.len();
        }
        self.held.drain(..start);
        self.line = self.line.map(|line| line - start);
        self.scanned -= start;
    }

    /// The stream is over: what is left, an event without its blank line or a part of one.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(self).held
    }
}

fn is_end(byte: &u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// The event that some bytes hold; `None` for comments and what is no text.
pub(super) fn event(frame: &[u8]) -> Option<Event> {
    let mut parser = Parser::new(usize::MAX);
    let mut events = Vec::new();
    parser.push(frame, &mut events).ok()?;
    events.pop().or_else(|| parser.finish())
}

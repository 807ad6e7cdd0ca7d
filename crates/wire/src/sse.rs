//! Server-sent events: bytes in any chunking to events, and back.

/// One event of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// Its data; lines are joined by `\n`.
    pub data: String,
}

impl Event {
    /// Appends the event as bytes of a stream.
    pub fn write(&self, out: &mut Vec<u8>) {
        if let Some(name) = &self.name {
            out.extend_from_slice(format!("event: {name}\n").as_bytes());
        }
        for line in self.data.split('\n') {
            out.extend_from_slice(b"data: ");
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
        out.push(b'\n');
    }
}

/// Why a stream can't be read any further.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// An event is larger than the parser may hold.
    #[error("an event of the stream is larger than {limit} bytes; raise the limit or end the stream")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
    /// Not text.
    #[error("an event of the stream is not UTF-8; is the body compressed?")]
    NotUtf8,
}

/// The largest event that a parser holds unless told otherwise: above any answer a provider gives.
pub const EVENT_LIMIT: usize = 64 << 20;

/// Reads a stream piece by piece. It holds at most one event, and at most `limit` bytes of it.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    line: Vec<u8>,
    name: Option<String>,
    data: Option<String>,
    after_cr: bool,
    at_start: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new(EVENT_LIMIT)
    }
}

impl Parser {
    /// A parser that holds at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, line: Vec::new(), name: None, data: None, after_cr: false, at_start: true }
    }

    /// Takes the next bytes and appends the events that they complete. Events before a failure are in `out` too.
    pub fn push(&mut self, mut bytes: &[u8], out: &mut Vec<Event>) -> Result<(), SseError> {
        while let Some(&first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|b| matches!(b, b'\n' | b'\r'));
            let piece = &bytes[..end.unwrap_or(bytes.len())];
            if self.held() + piece.len() > self.limit {
                return Err(SseError::TooLarge { limit: self.limit });
            }
            self.line.extend_from_slice(piece);
            let Some(end) = end else { return Ok(()) };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            out.extend(self.end_line()?);
        }
        Ok(())
    }

    /// The stream has ended: an event that lacks only its blank line. It may be torn.
    pub fn finish(mut self) -> Option<Event> {
        if !self.line.is_empty() {
            self.end_line().ok()?;
        }
        self.dispatch()
    }

    fn held(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn end_line(&mut self) -> Result<Option<Event>, SseError> {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8(line).map_err(|_| SseError::NotUtf8)?;
        if std::mem::take(&mut self.at_start) && line.starts_with('\u{feff}') {
            line.drain(..'\u{feff}'.len_utf8());
        }
        if line.is_empty() {
            return Ok(self.dispatch());
        }
        let (field, value) = match line.split_once(':') {
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
            None => (line.as_str(), ""),
        };
        match field {
            "data" => match &mut self.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
                None => self.data = Some(value.to_owned()),
            },
            "event" => self.name = Some(value.to_owned()),
            // A comment, an id, a retry time, or something new.
            _ => {}
        }
        Ok(None)
    }

    fn dispatch(&mut self) -> Option<Event> {
        let name = self.name.take().filter(|name| !name.is_empty());
        self.data.take().map(|data| Event { name, data })
    }
}

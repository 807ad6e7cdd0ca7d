//! Redaction of what comes in pieces.

use super::lines::Lines;
use super::pem::Pem;

/// Takes secrets out of text that comes in chunks, cut anywhere: inside a secret, a key block or a character.
///
/// What comes out, put together, is what [`redact()`](super::redact()) makes of the whole. Held back is the line that is not yet
/// complete, with a line before it whose value it may hold, and of a longer line than [`LONGEST_LINE`](super::LONGEST_LINE) that much and [`LONGEST_SECRET`](super::LONGEST_SECRET)
/// more: a secret on one line is seen as a whole up to that length, and of a longer one what follows without a break goes with it.
/// Blocks of private keys over several lines are dropped as they pass. Bytes that are no UTF-8 pass as they are.
///
/// ```
/// use throughline_redact::Redactor;
///
/// let mut redactor = Redactor::new();
/// let mut out = redactor.push(b"export DB_PASS").bytes;
/// out.extend(redactor.push(b"WORD=hun").bytes);
/// out.extend(redactor.push(b"ter22\nmake\n").bytes);
/// out.extend(redactor.finish().bytes);
/// assert_eq!(out, b"export DB_PASSWORD=[redacted:password]\nmake\n");
/// ```
#[derive(Debug, Default)]
pub struct Redactor {
    pem: Pem,
    lines: Lines,
    /// Between the two, kept for its room.
    between: Vec<u8>,
}

/// What a [`Redactor`] lets go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Piece {
    /// Text without secrets. It may end inside a character that goes on in the next piece only if the input never ended a line there.
    pub bytes: Vec<u8>,
    /// What was taken out of it; a kind is named once for each place.
    pub kinds: Vec<&'static str>,
}

impl Redactor {
    /// One that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes a chunk, and gives what is sure by now.
    pub fn push(&mut self, chunk: &[u8]) -> Piece {
        let mut piece = Piece::default();
        self.between.clear();
        self.pem.push(chunk, &mut self.between, &mut piece.kinds);
        self.lines.push(&self.between, &mut piece);
        piece
    }

    /// The text ends here: gives the rest.
    pub fn finish(mut self) -> Piece {
        let mut piece = Piece::default();
        self.between.clear();
        self.pem.finish(&mut self.between, &mut piece.kinds);
        self.lines.push(&self.between, &mut piece);
        self.lines.finish(&mut piece);
        piece
    }

    /// Bytes that are held back at the moment.
    pub fn held(&self) -> usize {
        self.pem.held() + self.lines.held()
    }
}

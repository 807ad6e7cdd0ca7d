use jiff::Timestamp;
use std::borrow::Cow;
use throughline_core::{CallId, MemoryMode, Record, SessionId};

/// Which of the sessions in one file: 0 is the file's own, the others are its sub-agents'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Lane(pub u32);

impl Lane {
    /// The file's own session.
    pub const MAIN: Self = Self(0);
}

/// What an importer makes of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// One more line of a ledger.
    Record {
        /// Whose.
        lane: Lane,
        /// What.
        record: Record,
    },
    /// A tool result was too long for the conversation, and the client saved its full text beside the transcript.
    ToolResultFile {
        /// Whose.
        lane: Lane,
        /// The call it answers.
        call: CallId,
        /// The file's name in the `tool-results` folder.
        name: String,
        /// When.
        at: Option<Timestamp>,
        /// The line that names it.
        line: u64,
    },
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineOutcome {
    /// It says something that is in the ledger now.
    Imported,
    /// It says nothing that a ledger keeps, for this reason.
    Skipped(Cow<'static, str>),
    /// It could not be read, for this reason. Its text is kept as an event.
    Unreadable(String),
}

/// What is known of one session after the lines read so far: enough for its card.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts {
    /// The session.
    pub session: Option<SessionId>,
    /// `claude` or `codex`.
    pub client: &'static str,
    /// When it began.
    pub created: Option<Timestamp>,
    /// When something was last said.
    pub updated: Option<Timestamp>,
    /// Where it ran last.
    pub cwd: Option<String>,
    /// The model used last.
    pub model: Option<String>,
    /// Its title, by the person or the client.
    pub title: Option<String>,
    /// The person's first words, shortened.
    pub prompt: Option<String>,
    /// Messages imported.
    pub messages: u64,
    /// Real user messages imported.
    pub turns: u64,
    /// Whether memory may be made of it, as far as the client says.
    pub memory_mode: MemoryMode,
    /// The session whose sub-agent this is.
    pub parent_session: Option<SessionId>,
    /// The session that it continues without copying its history.
    pub fork: Option<ForkRef>,
}

/// A fork that holds no copy of its parent's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkRef {
    /// The parent.
    pub session: SessionId,
    /// The parent's lines with a smaller ordinal belong to the fork; all lines where this is unknown.
    pub before_ordinal: Option<u64>,
}

/// Turns the lines of one file into records.
///
/// **Invariant:** what comes out depends on the lines alone, line by line: the same lines give the same records with
/// the same ids, and nothing waits for the end of the file. Hence a file may be imported in pieces.
pub trait Importer {
    /// Takes the next line, without its line end.
    fn line(&mut self, line: &[u8], out: &mut Vec<Output>) -> LineOutcome;

    /// Takes the next line, which is longer than any line that is held in memory.
    fn too_long(&mut self, bytes: u64, out: &mut Vec<Output>) -> LineOutcome;

    /// How many lines could be read only after half characters in them were replaced.
    fn mended(&self) -> u64;

    /// The sessions found so far, by lane.
    fn facts(&self, lane: Lane) -> Option<Facts>;
}

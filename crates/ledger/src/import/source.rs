//! A transcript on disk: what it is, its lines, its seal. It is only ever read.

use super::outcome::Importer;
use super::scratch::Scratch;
use super::{ClaudeImporter, ClaudeOptions, CodexImporter, CodexOptions};
use crate::lines::{BackwardLines, Content, ForwardLines};
use crate::{LedgerError, MAX_LINE};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use throughline_core::{SessionId, Watermark};

/// Whose transcript a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Claude Code's.
    Claude,
    /// Codex's.
    Codex,
}

impl Format {
    /// The client, as ledgers name it.
    pub(super) fn client(self) -> &'static str {
        match self {
            Self::Claude => super::claude::CLIENT,
            Self::Codex => super::codex::CLIENT,
        }
    }
}

/// How many lines are looked at to tell the format.
const PROBED: usize = 64;

/// The two importers behind one face.
pub(super) enum AnyImporter {
    Claude(Box<ClaudeImporter>),
    Codex(Box<CodexImporter>),
}

impl AnyImporter {
    pub(super) fn new(format: Format, path: &Path, scratch: &Scratch) -> Self {
        match format {
            Format::Claude => {
                Self::Claude(Box::new(ClaudeImporter::remembering_in(claude_options(path), scratch)))
            }
            Format::Codex => {
                Self::Codex(Box::new(CodexImporter::remembering_in(codex_options(path), scratch)))
            }
        }
    }

    /// Whether what came out of it counts.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        match self {
            Self::Claude(importer) => importer.scratch().check(),
            Self::Codex(importer) => importer.scratch().check(),
        }
    }

    pub(super) fn as_importer(&mut self) -> &mut dyn Importer {
        match self {
            Self::Claude(importer) => &mut **importer,
            Self::Codex(importer) => &mut **importer,
        }
    }
}

/// Claude Code names files by session, and those of sub-agents `agent-<id>`.
fn claude_options(path: &Path) -> ClaudeOptions {
    let stem = stem(path);
    let uuid = |text: &str| uuid::Uuid::try_parse(text).is_ok();
    match stem.strip_prefix("agent-") {
        Some(agent) => {
            let folder = path.parent().filter(|dir| dir.ends_with("subagents")).and_then(Path::parent);
            let session = folder.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
            ClaudeOptions {
                session: session.filter(|s| uuid(s)).map(SessionId::from),
                agent: Some(agent.to_owned()),
            }
        }
        None => ClaudeOptions { session: uuid(&stem).then(|| SessionId::from(stem)), agent: None },
    }
}

/// Codex ends file names with the session: `rollout-<time>-<uuid>`.
pub(super) fn codex_options(path: &Path) -> CodexOptions {
    let stem = stem(path);
    let id = stem.len().checked_sub(36).and_then(|at| stem.get(at..));
    let id = id.filter(|id| uuid::Uuid::try_parse(id).is_ok());
    CodexOptions { session: Some(SessionId::new(id.unwrap_or(&stem))) }
}

pub(super) fn stem(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    name.split(".jsonl").next().unwrap_or_default().to_owned()
}

pub(super) fn is_compressed(path: &Path) -> bool {
    path.extension().is_some_and(|e| e == "zst")
}

/// The lines of a transcript from its front, unpacked if need be.
pub(super) fn lines(path: &Path) -> Result<ForwardLines<Box<dyn Read + Send>>, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let source: Box<dyn Read + Send> =
        if is_compressed(path) { Box::new(Unpacked::Between(BufReader::new(file))) } else { Box::new(file) };
    Ok(ForwardLines::new(source, path, 0))
}

/// Frames of a zstd file, one after the other.
enum Unpacked {
    Between(BufReader<File>),
    Frame(Box<StreamingDecoder<BufReader<File>, FrameDecoder>>),
    Ended,
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(self, Self::Ended) {
                Self::Ended => return Ok(0),
                Self::Between(mut source) => {
                    if source.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let decoder = StreamingDecoder::new(source).map_err(io::Error::other)?;
                    *self = Self::Frame(Box::new(decoder));
                }
                Self::Frame(mut decoder) => match decoder.read(buffer)? {
                    0 if !buffer.is_empty() => *self = Self::Between(decoder.into_inner()),
                    n => {
                        *self = Self::Frame(decoder);
                        return Ok(n);
                    }
                },
            }
        }
    }
}

/// Whose transcript this is, by its first lines; `None` for any other file.
pub(super) fn detect(path: &Path) -> Result<Option<Format>, LedgerError> {
    let mut lines = lines(path)?;
    for _ in 0..PROBED {
        let Some(line) = lines.next_line()? else { break };
        if let Content::Whole(bytes) = line.bytes
            && let Ok(sign) = serde_json::from_slice::<Sign<'_>>(bytes)
            && let Some(verdict) = sign.verdict()
        {
            return Ok(verdict);
        }
    }
    Ok(None)
}

/// What tells one kind of line from another.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Sign<'a> {
    #[serde(borrow)]
    kind: super::lenient::Text<'a>,
    #[serde(borrow)]
    r#type: super::lenient::Text<'a>,
    #[serde(borrow)]
    id: super::lenient::Text<'a>,
    #[serde(borrow)]
    timestamp: super::lenient::Text<'a>,
    #[serde(borrow, rename = "sessionId")]
    session_id: super::lenient::Text<'a>,
    #[serde(borrow)]
    uuid: super::lenient::Text<'a>,
    #[serde(rename = "leafUuid", borrow)]
    leaf_uuid: super::lenient::Text<'a>,
    payload: Option<serde::de::IgnoredAny>,
    #[serde(rename = "record_type")]
    record_type: Option<serde::de::IgnoredAny>,
}

impl Sign<'_> {
    fn verdict(&self) -> Option<Option<Format>> {
        if self.kind.get() == Some("meta") {
            return Some(None); // a ledger of ours
        }
        let kind = self.r#type.or_empty();
        if self.payload.is_some() {
            let known =
                ["session_meta", "response_item", "event_msg", "turn_context", "compacted", "world_state"];
            return known.contains(&kind).then_some(Some(Format::Codex));
        }
        let claude =
            self.session_id.get().is_some() || self.uuid.get().is_some() || self.leaf_uuid.get().is_some();
        if claude && !kind.is_empty() {
            return Some(Some(Format::Claude));
        }
        let first = kind.is_empty() && self.id.get().is_some() && self.timestamp.get().is_some();
        (first || self.record_type.is_some()).then_some(Some(Format::Codex))
    }
}

/// Names the last line before a watermark, so that a file that grew is told from one that was replaced.
pub(super) fn seal(line: &Content<'_>) -> String {
    match line {
        Content::Whole(bytes) => blake3::hash(bytes).to_hex()[..32].to_owned(),
        Content::TooLong(bytes) => format!("long-{bytes}"),
    }
}

/// The last line read, from which a seal is made when one is needed.
#[derive(Default)]
pub(super) struct LastLine {
    bytes: Vec<u8>,
    /// Of a line too long to be copied.
    seal: Option<String>,
}

impl LastLine {
    const COPIED: usize = 1 << 20;

    pub(super) fn set(&mut self, line: &Content<'_>) {
        self.bytes.clear();
        self.seal = match line {
            Content::Whole(bytes) if bytes.len() <= Self::COPIED => {
                self.bytes.extend_from_slice(bytes);
                None
            }
            Content::Whole(_) | Content::TooLong(_) => Some(seal(line)),
        };
    }

    pub(super) fn seal(&self) -> String {
        self.seal.clone().unwrap_or_else(|| seal(&Content::Whole(&self.bytes)))
    }
}

/// How a file stands to what was imported.
pub(super) fn standing(path: &Path, watermark: &Watermark) -> Result<Standing, LedgerError> {
    let stands = if is_compressed(path) { stands_packed } else { stands };
    stands(path, watermark.offset, &watermark.seal)
}

/// How a plain file stands to a watermark, without reading more of it than one line.
fn stands(path: &Path, offset: u64, expected: &str) -> Result<Standing, LedgerError> {
    let file = File::open(path).map_err(LedgerError::io("open", path))?;
    let length = file.metadata().map_err(LedgerError::io("look at", path))?.len();
    if length < offset {
        return Ok(Standing::Replaced);
    }
    let found = match BackwardLines::new(&file, path, offset).next_line()? {
        Some(line) => seal(&line.bytes),
        None => String::new(),
    };
    // A last line that got its end says nothing new.
    let mut next = [0];
    let line_end = length == offset + 1
        && crate::lines::read_exact_at(&file, &mut next, offset).is_ok_and(|()| next == *b"\n");
    Ok(match (found == expected, length == offset || line_end) {
        (false, _) => Standing::Replaced,
        (true, true) => Standing::Same,
        (true, false) => Standing::Grew,
    })
}

/// How a file stands to what was imported of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Same,
    Grew,
    Replaced,
}

/// As [`stands`], for a packed file, which has to be unpacked up to there.
fn stands_packed(path: &Path, offset: u64, expected: &str) -> Result<Standing, LedgerError> {
    let mut lines = lines(path)?;
    let mut found = None;
    while let Some(line) = lines.next_line()? {
        let length = match &line.bytes {
            Content::Whole(bytes) => bytes.len() as u64,
            Content::TooLong(bytes) => *bytes,
        };
        let end = line.offset + length;
        if end <= offset {
            let is_last = end == offset || end + 1 == offset;
            found = is_last.then(|| seal(&line.bytes));
        } else {
            return Ok(if found.as_deref() == Some(expected) { Standing::Grew } else { Standing::Replaced });
        }
    }
    Ok(if found.as_deref() == Some(expected) { Standing::Same } else { Standing::Replaced })
}

/// The folder in which Claude Code keeps tool results that were too long for the conversation.
pub(super) fn tool_results(transcript: &Path) -> Option<PathBuf> {
    let dir = transcript.parent()?;
    let of_session =
        if dir.ends_with("subagents") { dir.parent()?.to_owned() } else { dir.join(stem(transcript)) };
    Some(of_session.join("tool-results"))
}

/// The text of a saved tool result: a plain file in a plain folder, of bounded length.
pub(super) fn read_tool_result(transcript: &Path, name: &str) -> Option<(String, u64)> {
    let folder = tool_results(transcript)?;
    let real = |path: &Path, dir: bool| {
        path.symlink_metadata().is_ok_and(|meta| if dir { meta.is_dir() } else { meta.is_file() })
    };
    let file = folder.join(name);
    if !real(folder.parent()?, true) || !real(&folder, true) || !real(&file, false) {
        return None;
    }
    let mut bytes = Vec::new();
    File::open(&file).ok()?.take(MAX_LINE as u64 / 4).read_to_end(&mut bytes).ok()?;
    let length = file.metadata().ok()?.len();
    Some((String::from_utf8_lossy(&bytes).into_owned(), length))
}

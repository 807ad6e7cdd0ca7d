use crate::blobs::{self, Blobs};
use crate::home::{Home, make_private_dir, private_file};
use crate::list::{TAIL, newest_card};
use crate::{LedgerError, MAX_LINE, Reader};
use serde_json::Value;
use std::fs::{File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use throughline_core::{Card, MAX_DEPTH, Message, Meta, Origin, Record, json_depth, parse_json};

/// When appended records are forced to disk. A process that dies loses nothing under any of them; they differ in what
/// a power cut can take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After every append.
    Always,
    /// At the end of every turn.
    #[default]
    Turn,
    /// When the system sees fit.
    Never,
}

/// Appends to one ledger, alone: the file stays locked until the writer is dropped or its process ends.
///
/// ```
/// use throughline_core::{Message, Meta, Record, Role, SessionId};
/// use throughline_ledger::{Home, SyncPolicy, Writer, resume};
///
/// let dir = tempfile::tempdir()?;
/// let home = Home::new(dir.path());
/// let meta = Meta::new(SessionId::fresh(), jiff::Timestamp::UNIX_EPOCH, "throughline");
/// let mut writer = Writer::create(&home, meta, SyncPolicy::Turn)?;
/// writer.append(&[Record::Message(Box::new(Message::text(Role::User, "hello")))])?;
/// writer.end_turn()?;
/// assert_eq!(resume(&home, writer.path())?.view.messages().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer {
    blobs: Blobs,
    path: PathBuf,
    file: File,
    end: u64,
    policy: SyncPolicy,
    card: Card,
    /// Where the newest card line begins.
    card_at: Option<u64>,
    /// Blob files to force to disk before the lines that refer to them.
    fresh_blobs: Vec<PathBuf>,
    /// A write failed half-way: the next one begins with a line end.
    torn: bool,
}

impl Writer {
    /// Makes the ledger of a new session.
    pub fn create(home: &Home, meta: Meta, policy: SyncPolicy) -> Result<Self, LedgerError> {
        let path = home.ledger_path(meta.created, &meta.id);
        let dir = path.parent().unwrap_or(Path::new("."));
        make_private_dir(dir)?;
        let file = match private_file().append(true).read(true).create_new(true).open(&path) {
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(LedgerError::Exists(meta.id));
            }
            other => other.map_err(LedgerError::io("make", &path))?,
        };
        let card = Card {
            session: Some(meta.id.clone()),
            created: Some(meta.created),
            updated: Some(meta.created),
            cwd: meta.cwd.clone(),
            client: meta.client.clone(),
            forked_from: meta.forked_from.as_ref().map(|fork| fork.session.clone()),
            parent_session: meta.parent_session.clone(),
            client_session: meta.client_session.clone(),
            ..Card::default()
        };
        let mut writer = Self::locked(home, path, file, policy)?;
        writer.card = bounded(card);
        if let Err(error) = writer.append(&[Record::Meta(Box::new(meta))]) {
            // A ledger without its first line would stand in the way of the next try.
            let _ = std::fs::remove_file(&writer.path);
            return Err(error);
        }
        if policy != SyncPolicy::Never {
            sync_dir(writer.path.parent())?;
        }
        Ok(writer)
    }

    /// Opens a ledger to go on with it. A last line that was cut off is closed, so that it stays as it is.
    pub fn open(home: &Home, path: &Path, policy: SyncPolicy) -> Result<Self, LedgerError> {
        let file =
            private_file().append(true).read(true).open(path).map_err(LedgerError::io("open", path))?;
        let mut writer = Self::locked(home, path.to_owned(), file, policy)?;
        writer.torn = writer.end > 0 && !ends_with_newline(&writer.file, writer.end, path)?;
        match newest_card(&writer.file, path, writer.end)? {
            Some((offset, card)) => {
                writer.card_at = Some(offset);
                writer.card = card;
                writer.count_since(home, offset)?;
            }
            None => writer.count_since(home, 0)?,
        }
        Ok(writer)
    }

    fn locked(home: &Home, path: PathBuf, file: File, policy: SyncPolicy) -> Result<Self, LedgerError> {
        take_lock(&file, &path)?;
        mark_dirty(home, &path)?;
        let end = file.metadata().map_err(LedgerError::io("look at", &path))?.len();
        Ok(Self {
            blobs: Blobs::of(home),
            path,
            file,
            end,
            policy,
            card: Card::default(),
            card_at: None,
            fresh_blobs: Vec::new(),
            torn: false,
        })
    }

    /// Brings the card up to date with lines behind it, which a crash may have left uncounted.
    fn count_since(&mut self, home: &Home, offset: u64) -> Result<(), LedgerError> {
        let mut reader = Reader::open(home, &self.path, offset)?;
        let mut card = std::mem::take(&mut self.card);
        while let Some((_, record)) = reader.next_record()? {
            note_on_card(&mut card, &record);
        }
        self.card = card;
        Ok(())
    }

    /// The ledger's file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What lists show.
    pub fn card(&self) -> &Card {
        &self.card
    }

    /// How long the ledger is.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Appends records in one write and returns where the line of each begins. Once this returns, no crash of the
    /// process can take them.
    pub fn append(&mut self, records: &[Record]) -> Result<Vec<Origin>, LedgerError> {
        let mut buffer = Vec::with_capacity(1024 * records.len());
        if self.torn {
            buffer.push(b'\n');
        }
        let mut origins = Vec::with_capacity(records.len());
        let mut card_at = self.card_at;
        let mut card = self.card.clone();
        for record in records {
            let offset = self.end + buffer.len() as u64;
            origins.push(Origin { session: None, offset });
            self.encode(record, &mut buffer)?;
            note_on_card(&mut card, record);
            if let Record::Card(_) = record {
                card_at = Some(offset);
            }
        }
        // Lists read only the last 16 KB: the newest card must never slip out of them. A compaction repeats it too, so
        // that a session that ends there is listed as it stood.
        let compacted = records.iter().any(|record| matches!(record, Record::Checkpoint(_)));
        let new_end = self.end + buffer.len() as u64;
        if compacted || card_at.is_none_or(|at| new_end - at > TAIL) {
            card_at = Some(new_end);
            self.encode(&Record::Card(Box::new(card.clone())), &mut buffer)?;
        }
        self.write(&buffer)?;
        (self.card, self.card_at) = (card, card_at);
        match self.policy {
            SyncPolicy::Always => self.sync()?,
            SyncPolicy::Turn if self.fresh_blobs.len() > MAX_FRESH_BLOBS => self.sync_blobs()?,
            SyncPolicy::Turn | SyncPolicy::Never => {}
        }
        Ok(origins)
    }

    /// Changes the card (title, tags, memory mode, watermark) and appends it.
    pub fn update_card(&mut self, change: impl FnOnce(&mut Card)) -> Result<(), LedgerError> {
        let mut card = self.card.clone();
        change(&mut card);
        self.append(&[Record::Card(Box::new(bounded(card)))])?;
        Ok(())
    }

    /// A turn is over: under [`SyncPolicy::Turn`] everything so far is forced to disk.
    pub fn end_turn(&mut self) -> Result<(), LedgerError> {
        match self.policy {
            SyncPolicy::Always | SyncPolicy::Turn => self.sync(),
            SyncPolicy::Never => Ok(()),
        }
    }

    /// Forces everything to disk: blobs first, then the lines that refer to them.
    pub fn sync(&mut self) -> Result<(), LedgerError> {
        self.sync_blobs()?;
        self.file.sync_data().map_err(LedgerError::io("sync", &self.path))
    }

    fn sync_blobs(&mut self) -> Result<(), LedgerError> {
        while let Some(path) = self.fresh_blobs.last() {
            let blob = File::open(path).map_err(LedgerError::io("open", path))?;
            blob.sync_data().map_err(LedgerError::io("sync", path))?;
            sync_dir(path.parent())?;
            self.fresh_blobs.pop();
        }
        Ok(())
    }

    /// Writes one line. What could not be read back is refused here, before it is acknowledged.
    fn encode(&mut self, record: &Record, out: &mut Vec<u8>) -> Result<(), LedgerError> {
        let start = out.len();
        record.write(out).map_err(|e| LedgerError::Encode(e.to_string()))?;
        // Lists read cards without blobs; their strings are bounded.
        if !matches!(record, Record::Card(_)) && blobs::may_need_blobs(&out[start..]) {
            let mut value: Value =
                parse_json(&out[start..]).map_err(|e| LedgerError::Encode(e.to_string()))?;
            for limit in [blobs::INLINE_LIMIT, LONG_LINE_LIMIT] {
                blobs::move_out(&self.blobs, &mut value, limit, &mut self.fresh_blobs)?;
                out.truncate(start);
                serde_json::to_writer(&mut *out, &value).map_err(|e| LedgerError::Encode(e.to_string()))?;
                if out.len() - start <= LONG_LINE {
                    break;
                }
                value = parse_json(&out[start..]).map_err(|e| LedgerError::Encode(e.to_string()))?;
                blobs::bring_back(&self.blobs, &mut value, &mut Vec::new());
            }
        }
        let line = &out[start..];
        if line.len() > MAX_LINE {
            return Err(LedgerError::Encode(format!(
                "{} bytes in one record, at most {MAX_LINE}",
                line.len()
            )));
        }
        let brackets = line.iter().filter(|&&b| b == b'{' || b == b'[').count();
        if brackets > MAX_DEPTH && json_depth(line) > MAX_DEPTH {
            return Err(LedgerError::Encode(format!("nested deeper than {MAX_DEPTH} levels")));
        }
        out.push(b'\n');
        Ok(())
    }

    fn write(&mut self, buffer: &[u8]) -> Result<(), LedgerError> {
        if let Err(e) = self.file.write_all(buffer) {
            // A full disk may have taken a part. It was never acknowledged, and half a batch must not take effect.
            if self.file.set_len(self.end).is_err()
                && let Ok(meta) = self.file.metadata()
            {
                self.torn = meta.len() > self.end;
                self.end = meta.len();
            }
            return Err(LedgerError::io("write", &self.path)(e));
        }
        self.torn = false;
        self.end += buffer.len() as u64;
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Closing alone would not do: a process being started elsewhere in this program holds a copy of the file for a
        // moment, and with it the lock. An error here means that the lock is gone already.
        let _ = self.file.unlock();
    }
}

/// Blobs that wait for the end of a turn. An import is one turn, however long.
const MAX_FRESH_BLOBS: usize = 1024;

/// A line longer than this has so many short strings that shorter ones become blobs, too.
const LONG_LINE: usize = 8 << 20;
/// How long a string may be in such a line.
const LONG_LINE_LIMIT: usize = 1 << 10;

/// How much of the first prompt a card shows.
const PROMPT_CHARS: usize = 160;

/// A card must fit the last 16 KB of its ledger many times over.
fn bounded(mut card: Card) -> Card {
    const TEXT_CHARS: usize = 300;
    const TAGS: usize = 40;
    const TAG_CHARS: usize = 60;
    let cut = |text: String, most: usize| match text.char_indices().nth(most) {
        Some((end, _)) => text[..end].to_owned(),
        None => text,
    };
    card.title = card.title.map(|title| cut(title, TEXT_CHARS));
    card.cwd = card.cwd.map(|cwd| cut(cwd, 2 * TEXT_CHARS));
    card.model = card.model.map(|model| cut(model, TEXT_CHARS));
    card.prompt = card.prompt.map(|prompt| cut(prompt, PROMPT_CHARS));
    card.client = cut(card.client, TAG_CHARS);
    card.tags.truncate(TAGS);
    card.tags = card.tags.into_iter().map(|tag| cut(tag, TAG_CHARS)).collect();
    card
}

fn note_on_card(card: &mut Card, record: &Record) {
    match record {
        Record::Meta(meta) => {
            card.session.get_or_insert_with(|| meta.id.clone());
            card.created.get_or_insert(meta.created);
            if card.client.is_empty() {
                card.client.clone_from(&meta.client);
            }
            card.cwd = card.cwd.take().or_else(|| meta.cwd.clone());
            card.updated = card.updated.max(Some(meta.created));
            if let Some(fork) = &meta.forked_from {
                card.forked_from = Some(fork.session.clone());
            }
            card.parent_session = card.parent_session.take().or_else(|| meta.parent_session.clone());
            card.client_session = card.client_session.take().or_else(|| meta.client_session.clone());
        }
        Record::Message(message) => note_message(card, message),
        Record::Turn(turn) => {
            card.model = turn.model.clone().or(card.model.take());
            card.updated = card.updated.max(turn.at);
        }
        Record::Card(newer) => *card = (**newer).clone(),
        Record::Event(_) | Record::Edit(_) | Record::Checkpoint(_) => {}
    }
}

fn note_message(card: &mut Card, message: &Message) {
    card.messages += 1;
    card.updated = card.updated.max(message.at);
    if message.is_real_user() {
        card.turns += 1;
        if card.prompt.is_none() {
            let words = message.user_words();
            let prompt: String =
                words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(PROMPT_CHARS).collect();
            card.prompt = Some(prompt).filter(|p| !p.is_empty());
        }
    }
}

/// Searchers hold a ledger for a moment, to see that nobody writes it; a writer holds it for long. So a few more tries
/// tell one from the other.
fn take_lock(file: &File, path: &Path) -> Result<(), LedgerError> {
    const TRIES: u32 = 10;
    const PAUSE: std::time::Duration = std::time::Duration::from_millis(5);
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
            Err(TryLockError::Error(e)) => return Err(LedgerError::io("lock", path)(e)),
        }
    }
    Err(LedgerError::Locked { path: path.to_owned() })
}

fn ends_with_newline(file: &File, end: u64, path: &Path) -> Result<bool, LedgerError> {
    let mut last = [0];
    crate::lines::read_exact_at(file, &mut last, end - 1).map_err(LedgerError::io("read", path))?;
    Ok(last == *b"\n")
}

/// Tells searchers that this ledger may hold more than the index.
fn mark_dirty(home: &Home, path: &Path) -> Result<(), LedgerError> {
    let Some(session) = crate::home::session_of(path) else { return Ok(()) };
    let dir = home.dirty();
    make_private_dir(&dir)?;
    let marker = dir.join(session);
    let mut file = private_file()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&marker)
        .map_err(LedgerError::io("mark", &marker))?;
    file.write_all(home.relative(path).as_bytes()).map_err(LedgerError::io("mark", &marker))
}

fn sync_dir(dir: Option<&Path>) -> Result<(), LedgerError> {
    let Some(dir) = dir else { return Ok(()) };
    let file = File::open(dir).map_err(LedgerError::io("open", dir))?;
    file.sync_all().map_err(LedgerError::io("sync", dir))
}

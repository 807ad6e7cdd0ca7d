//! What was spent, in files that processes share.

use super::decide::Cost;
use super::files::{self, Line};
use super::reservation::Reservation;
use super::{GovernorError, Receipts, Skipped};
use crate::Receipt;
use jiff::Timestamp;
use jiff::civil::Date;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use throughline_core::cost::Dollars;

/// The folder: `receipts/YYYY-MM-DD.jsonl`, `running.jsonl`, `lock`.
#[derive(Debug)]
pub(super) struct Store {
    folder: PathBuf,
    state: Mutex<State>,
}

/// What this process knows.
#[derive(Debug, Default)]
struct State {
    days: BTreeMap<Date, Day>,
    /// Reservations of jobs that run here: they hold however late it gets, and whatever becomes of the file.
    live: BTreeMap<String, Reservation>,
    /// Receipts that could not be written, and the days that pay.
    unsaved: Vec<(Date, Receipt)>,
}

/// A day's receipts as far as they were read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Day {
    offset: u64,
    pub(super) cost: Cost,
    pub(super) jobs: u64,
    pub(super) skipped: u64,
}

/// Days that are kept in memory: jobs may end on the day after they began.
const DAYS: usize = 3;

/// The folder while nobody else writes to it.
pub(super) struct Session<'a> {
    store: &'a Store,
    state: MutexGuard<'a, State>,
    _lock: files::Lock,
}

impl Store {
    pub(super) fn open(folder: &Path) -> Result<Self, GovernorError> {
        files::make_dir(folder)?;
        files::make_dir(&folder.join("receipts"))?;
        Ok(Self { folder: folder.to_owned(), state: Mutex::default() })
    }

    /// Begins to read and write. What could not be written before is written now.
    pub(super) fn begin(&self) -> Result<Session<'_>, GovernorError> {
        let state = self.state();
        let lock = files::lock(&self.folder.join("lock"))?;
        let mut session = Session { store: self, state, _lock: lock };
        session.write_unsaved()?;
        Ok(session)
    }

    /// A job of this process is over, and its receipt could not be written: it is written before anything else happens.
    pub(super) fn remember(&self, day: Date, receipt: Receipt) {
        self.state().unsaved.push((day, receipt));
    }

    /// A job of this process is over.
    pub(super) fn forget(&self, id: &str) {
        self.state().live.remove(id);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn day_file(&self, day: Date) -> PathBuf {
        self.folder.join("receipts").join(format!("{day}.jsonl"))
    }

    fn running_file(&self) -> PathBuf {
        self.folder.join("running.jsonl")
    }
}

impl Session<'_> {
    /// What a day has cost, by its receipts. Only what was added since the last time is read.
    pub(super) fn day(&mut self, date: Date) -> Result<Day, GovernorError> {
        let path = self.store.day_file(date);
        let mut day = self.state.days.get(&date).copied().unwrap_or_default();
        let len = std::fs::metadata(&path).map_or(0, |meta| meta.len());
        if len < day.offset {
            // Somebody made it shorter: what it says now is what counts.
            day = Day::default();
        }
        day.offset = files::read_lines(&path, day.offset, |_, line| match read(&line) {
            Ok(Some(receipt)) => {
                day.cost.add(cost(&receipt));
                day.jobs += 1;
            }
            Ok(None) => {}
            // It is read again when it has ended.
            Err(_) if matches!(line, Line::Torn) => {}
            Err(_) => day.skipped += 1,
        })?;
        self.state.days.insert(date, day);
        while self.state.days.len() > DAYS {
            self.state.days.pop_first();
        }
        Ok(day)
    }

    /// The jobs that run, here and elsewhere.
    pub(super) fn running(&self, now: Timestamp) -> Result<Vec<Reservation>, GovernorError> {
        let mut running: Vec<Reservation> = Vec::new();
        files::read_lines(&self.store.running_file(), 0, |_, line| {
            // The file is replaced as a whole; a line that is none is somebody else's doing, and reserves nothing.
            if let Line::Whole(line) = line
                && let Ok(reservation) = serde_json::from_slice(line)
            {
                running.push(reservation);
            }
        })?;
        let live = &self.state.live;
        running.retain(|job| job.until > now && !live.contains_key(&job.id));
        running.extend(live.values().cloned());
        Ok(running)
    }

    pub(super) fn reserve(
        &mut self,
        reservation: Reservation,
        mut running: Vec<Reservation>,
    ) -> Result<(), GovernorError> {
        running.push(reservation.clone());
        self.write_running(&running)?;
        self.state.live.insert(reservation.id.clone(), reservation);
        Ok(())
    }

    pub(super) fn release(&mut self, id: &str) -> Result<(), GovernorError> {
        self.state.live.remove(id);
        // Those that ran out stay until somebody asks: there is no clock here.
        let mut running = self.running(Timestamp::MIN)?;
        running.retain(|job| job.id != id);
        self.write_running(&running)
    }

    pub(super) fn append(&mut self, day: Date, receipt: &Receipt) -> Result<(), GovernorError> {
        let path = self.store.day_file(day);
        let line =
            serde_json::to_vec(receipt).map_err(|error| GovernorError::io("write", &path)(error.into()))?;
        files::append_line(&path, &line)
    }

    /// All receipts of jobs that began at or after a time.
    pub(super) fn receipts(&self, since: Timestamp) -> Result<Receipts, GovernorError> {
        let folder = self.store.folder.join("receipts");
        let mut days: Vec<Date> = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(GovernorError::io("read", &folder))? {
            let name = entry.map_err(GovernorError::io("read", &folder))?.file_name();
            let day = name.to_str().and_then(|name| name.strip_suffix(".jsonl"));
            days.extend(day.and_then(|day| day.parse::<Date>().ok()));
        }
        // A job may have asked on one day and begun on the next.
        let from = super::decide::day_of(since).yesterday().unwrap_or(Date::MIN);
        days.retain(|day| *day >= from);
        days.sort_unstable();
        let mut found = Receipts::default();
        for day in days {
            let path = self.store.day_file(day);
            files::read_lines(&path, 0, |offset, line| match read(&line) {
                Ok(Some(receipt)) if receipt.started >= since => found.receipts.push(receipt),
                Ok(_) => {}
                Err(why) => found.skipped.push(Skipped { path: path.clone(), offset, why }),
            })?;
        }
        found.receipts.sort_by(|a, b| (a.started, &a.id).cmp(&(b.started, &b.id)));
        Ok(found)
    }

    fn write_unsaved(&mut self) -> Result<(), GovernorError> {
        while let Some((day, receipt)) = self.state.unsaved.first().cloned() {
            self.append(day, &receipt)?;
            self.state.unsaved.remove(0);
        }
        Ok(())
    }

    fn write_running(&self, running: &[Reservation]) -> Result<(), GovernorError> {
        let path = self.store.running_file();
        let mut bytes = Vec::new();
        for reservation in running {
            serde_json::to_writer(&mut bytes, reservation)
                .map_err(|error| GovernorError::io("write", &path)(error.into()))?;
            bytes.push(b'\n');
        }
        files::replace(&path, &bytes)
    }
}

/// The receipt on a line; none on a blank one.
fn read(line: &Line<'_>) -> Result<Option<Receipt>, String> {
    match line {
        Line::Whole(line) if line.trim_ascii().is_empty() => Ok(None),
        Line::Whole(line) => serde_json::from_slice(line).map(Some).map_err(|error| error.to_string()),
        Line::TooLong => Err("longer than any receipt".to_owned()),
        Line::Torn => Err("cut off".to_owned()),
    }
}

fn cost(receipt: &Receipt) -> Cost {
    // A negative amount would be a licence to spend.
    Cost { tokens: receipt.tokens(), dollars: Dollars::new(receipt.dollars).max(Dollars::ZERO) }
}

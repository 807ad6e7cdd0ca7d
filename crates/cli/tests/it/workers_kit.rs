//! Many workers on one PostgreSQL, killed and cut off at random; then what must hold of what they did. Shared with the
//! measurements (`bench/src/workers.rs`), which do the same at full size.

use jiff::{SignedDuration, Timestamp};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::error::Error;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use throughline_core::{Message, MessageId, Meta, Record, Role, SessionId};
use throughline_ledger::{Home, Reader, SyncPolicy, Writer, list};
use throughline_memory::handbook::phase1::{Eligibility, wanted};
use throughline_memory::handbook::{Evidence, HomeId, Scope};
use throughline_memory::store::{JobKind, JobState, Store, StoreClock, open};
use throughline_testkit::postgres::Database;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// What is done.
pub(crate) struct Chaos<'a> {
    pub(crate) binary: &'a Path,
    pub(crate) folder: &'a Path,
    pub(crate) database: &'a Database<'a>,
    pub(crate) workers: usize,
    pub(crate) sessions: usize,
    pub(crate) projects: usize,
    /// Workers that are killed, each started again.
    pub(crate) kills: usize,
    /// Times that connections are cut.
    pub(crate) cuts: usize,
    pub(crate) lease_seconds: u32,
    /// When it is given up.
    pub(crate) patience: Duration,
}

/// What was seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    pub(crate) kills: usize,
    pub(crate) cuts: usize,
    /// Sessions that went on meanwhile.
    pub(crate) grown: usize,
    /// Sessions whose attempt was not the first: somebody died or was cut off with them.
    pub(crate) taken_over: usize,
    pub(crate) outputs: usize,
    pub(crate) evidence: usize,
    pub(crate) took: Duration,
    /// What must not be.
    pub(crate) faults: Vec<String>,
}

/// Between two blows.
const PACE: Duration = Duration::from_millis(120);

impl Chaos<'_> {
    pub(crate) fn run(&self) -> Result<Seen> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        runtime.block_on(self.go())
    }

    async fn go(&self) -> Result<Seen> {
        let home = Home::new(self.folder);
        let id = HomeId::of(&home)?;
        std::fs::write(
            self.folder.join("config.toml"),
            "[memory.handbook.limits]\nattempts = 50\nretry_seconds = 1\n",
        )?;
        for n in 0..self.sessions {
            session(&home, n, n % self.projects.max(1))?;
        }
        let store = open(&self.database.address().parse()?, StoreClock::Server).await?;
        self.enqueue(&home, &id, store.as_ref()).await?;
        let began = Instant::now();
        let mut seen = Seen::default();
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut crew = Crew { chaos: self, children: Vec::new(), number: 0 };
        for _ in 0..self.workers {
            crew.start()?;
        }
        loop {
            std::thread::sleep(PACE);
            if began.elapsed() > self.patience {
                return Err(format!(
                    "not done after {:?}: {:?}",
                    self.patience,
                    states(store.as_ref()).await?
                )
                .into());
            }
            let blows = seen.kills < self.kills || seen.cuts < self.cuts;
            if blows {
                self.blow(&mut random, &mut crew, &mut seen)?;
                if seen.kills == self.kills / 2 && seen.grown == 0 {
                    seen.grown = grow(&home, self.sessions)?;
                    self.enqueue(&home, &id, store.as_ref()).await?;
                }
                continue;
            }
            // Nothing is due, and nobody has anything.
            if states(store.as_ref()).await?.keys().all(|(_, state)| *state == JobState::Done.name()) {
                break;
            }
        }
        seen.took = began.elapsed();
        seen.faults.extend(crew.end()?);
        self.look(&home, store.as_ref(), &mut seen).await?;
        Ok(seen)
    }

    async fn enqueue(&self, home: &Home, id: &HomeId, store: &dyn Store) -> Result<()> {
        let all = wanted(home, id, &list(home)?, &Eligibility::everything(Timestamp::now()));
        if all.len() != self.sessions {
            return Err(format!("{} sessions of {} may be read", all.len(), self.sessions).into());
        }
        again(|| store.enqueue(&all)).await?;
        Ok(())
    }

    fn blow(&self, random: &mut Random, crew: &mut Crew<'_>, seen: &mut Seen) -> Result<()> {
        let is_kill = random.below(self.kills + self.cuts) < self.kills;
        if is_kill && seen.kills < self.kills {
            let victim = random.below(crew.children.len());
            let mut victim = crew.children.swap_remove(victim);
            let killed = victim.kill();
            victim.wait()?;
            killed?;
            seen.kills += 1;
            crew.start()?;
        } else if seen.cuts < self.cuts {
            self.database.cut();
            seen.cuts += 1;
        }
        Ok(())
    }

    /// What must hold, whatever happened.
    async fn look(&self, home: &Home, store: &dyn Store, seen: &mut Seen) -> Result<()> {
        let sql = |text: &str| self.database.psql(&format!("SET search_path TO throughline; {text}"));
        // Each session once per watermark, and up to its last one.
        let twice =
            sql("SELECT subject, watermark FROM runs WHERE kind = 0 GROUP BY 1, 2 HAVING count(*) > 1")?;
        seen.fault(!twice.is_empty(), || format!("extracted twice: {twice}"));
        let lost = sql(
            "SELECT j.subject FROM jobs j WHERE j.kind = 0 AND NOT EXISTS
                (SELECT 1 FROM runs r WHERE r.kind = 0 AND r.subject = j.subject AND r.watermark = j.watermark)",
        )?;
        seen.fault(!lost.is_empty(), || format!("never extracted: {lost}"));
        let count = |text: &str| -> Result<usize> { Ok(sql(text)?.trim().parse()?) };
        let jobs = count("SELECT count(*) FROM jobs WHERE kind = 0")?;
        seen.fault(jobs != self.sessions, || format!("{jobs} sessions are known of {}", self.sessions));
        let runs = count("SELECT count(*) FROM runs WHERE kind = 0")?;
        seen.fault(runs < self.sessions || runs > self.sessions + seen.grown, || format!("{runs} receipts"));
        let held = count("SELECT count(*) FROM jobs WHERE state = 1 OR token IS NOT NULL")?;
        seen.fault(held > 0, || format!("{held} leases are left"));
        let not_done =
            count("SELECT count(*) FROM jobs WHERE state <> 2 OR done IS DISTINCT FROM watermark")?;
        seen.fault(not_done > 0, || format!("{not_done} jobs are not done"));
        seen.taken_over = count("SELECT count(*) FROM jobs WHERE kind = 0 AND attempts > 1")?;
        // Every output, with every piece of its evidence.
        let outputs = store.outputs(&Scope::Global, None, usize::MAX).await?;
        seen.outputs = outputs.len();
        seen.fault(seen.outputs != self.sessions, || format!("{} outputs", outputs.len()));
        let said = said(home)?;
        for place in outputs
            .iter()
            .flat_map(|output| &output.extraction.findings)
            .flat_map(|finding| &finding.evidence)
        {
            seen.evidence += 1;
            if let Evidence::Message { session, message, .. } = place {
                let is_there = said.get(session).is_some_and(|messages| messages.contains(message));
                seen.fault(!is_there, || format!("{session} has no message {message}"));
            }
        }
        // Handbooks rest on what is there.
        let books = throughline_memory::handbook::shelf(home);
        seen.fault(books.len() < self.projects, || format!("{} handbooks of {}", books.len(), self.projects));
        let audit = throughline_memory::handbook::audit(home, &books, |_| false)?;
        seen.faults.extend(audit.faults.iter().map(|fault| format!("{}: {}", fault.statement, fault.what)));
        Ok(())
    }
}

impl Seen {
    fn fault(&mut self, is_one: bool, what: impl FnOnce() -> String) {
        if is_one {
            self.faults.push(what());
        }
    }
}

trait Named {
    fn name(self) -> &'static str;
}

impl Named for JobState {
    fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
        }
    }
}

async fn states(store: &dyn Store) -> Result<BTreeMap<(&'static str, &'static str), usize>> {
    let mut states = BTreeMap::new();
    for job in again(|| store.jobs(None, usize::MAX)).await? {
        let kind = match job.job.kind() {
            JobKind::Extract => "extract",
            JobKind::Consolidate => "consolidate",
        };
        *states.entry((kind, job.state.name())).or_default() += 1;
    }
    Ok(states)
}

/// Our own connections are cut as well.
async fn again<'a, T>(
    call: impl Fn() -> throughline_memory::store::Answer<'a, T>,
) -> std::result::Result<T, throughline_memory::store::StoreError> {
    let mut tries = 0;
    loop {
        match call().await {
            Err(error) if error.is_passing() && tries < 50 => {
                tries += 1;
                tokio::time::sleep(PACE).await;
            }
            other => return other,
        }
    }
}

struct Crew<'a> {
    chaos: &'a Chaos<'a>,
    children: Vec<Child>,
    number: usize,
}

impl Crew<'_> {
    fn start(&mut self) -> Result<()> {
        self.number += 1;
        let log = File::create(self.chaos.folder.join(format!("worker-{}.log", self.number)))?;
        let lease = self.chaos.lease_seconds.to_string();
        let child = Command::new(self.chaos.binary)
            .args(["worker", "--jobs", "2", "--lease", &lease])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.chaos.folder)
            .env("THROUGHLINE_HOME", self.chaos.folder)
            .env("THROUGHLINE_STORE", self.chaos.database.address())
            .current_dir(self.chaos.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.children.push(child);
        Ok(())
    }

    /// Tells all to end; what does not end well.
    fn end(&mut self) -> Result<Vec<String>> {
        for child in &self.children {
            Command::new("kill").args(["-TERM", &child.id().to_string()]).status()?;
        }
        let mut faults = Vec::new();
        for mut child in self.children.drain(..) {
            let status = child.wait()?;
            if !status.success() {
                faults.push(format!("a worker that was told to end ended with {status}"));
            }
        }
        Ok(faults)
    }
}

impl Drop for Crew<'_> {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// When sessions were held: long enough ago.
fn at(n: usize, minutes: usize) -> Timestamp {
    let day = Timestamp::now() - SignedDuration::from_hours(48);
    day + SignedDuration::from_mins(minutes as i64) + SignedDuration::from_secs((n % 3_600) as i64)
}

fn said_at(role: Role, text: String, at: Timestamp) -> Record {
    let mut message = Message::text(role, text);
    message.at = Some(at);
    message.flags.typed = role == Role::User;
    Record::Message(Box::new(message))
}

/// A small session in which the user says what they want.
fn session(home: &Home, n: usize, project: usize) -> Result<()> {
    let mut meta = Meta::new(SessionId::new(format!("chaos-{n:05}")), at(n, 0), "throughline");
    meta.cwd = Some(format!("/nowhere/project-{project}"));
    let mut writer = Writer::create(home, meta, SyncPolicy::Never)?;
    let wish =
        format!("From now on always run `make check-{}` before you commit anything in this project.", n % 7);
    writer.append(&[
        said_at(Role::User, format!("Rename the option number {n} in the settings page. {wish}"), at(n, 1)),
        said_at(
            Role::Assistant,
            "Done: the option has its new name, and the checks pass.".to_owned(),
            at(n, 2),
        ),
    ])?;
    Ok(writer.update_card(|_| ())?)
}

/// Every twentieth session goes on.
fn grow(home: &Home, sessions: usize) -> Result<usize> {
    let mut grown = 0;
    for listed in list(home)? {
        let number =
            listed.card.session.as_ref().and_then(|id| id.as_str().rsplit('-').next()?.parse::<usize>().ok());
        let Some(n) = number.filter(|n| *n < sessions && n % 20 == 0) else { continue };
        let mut writer = Writer::open(home, &listed.path, SyncPolicy::Never)?;
        let more = "And never touch the lockfile by hand: let the package manager write it.".to_owned();
        writer.append(&[said_at(Role::User, more, at(n, 30))])?;
        writer.update_card(|_| ())?;
        grown += 1;
    }
    Ok(grown)
}

fn said(home: &Home) -> Result<HashMap<SessionId, HashSet<MessageId>>> {
    let mut said = HashMap::new();
    for listed in list(home)? {
        let Some(session) = listed.card.session else { continue };
        let mut messages = HashSet::new();
        let mut reader = Reader::open(home, &listed.path, 0)?;
        while let Some((_, record)) = reader.next_record()? {
            if let Record::Message(message) = record {
                messages.insert(message.id);
            }
        }
        said.insert(session, messages);
    }
    Ok(said)
}

/// The same blows each time; when they fall is up to the machine.
struct Random(u64);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % most.max(1)
    }
}

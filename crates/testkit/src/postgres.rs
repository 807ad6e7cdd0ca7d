//! A PostgreSQL of one's own: started once per test process, gone with it.
//!
//! A shell watches over the server. It waits on a pipe whose other end the test process holds; when that closes, for whatever reason, the server is
//! stopped and its folder is removed.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A server with folder and port of its own.
pub struct Cluster {
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
    options: String,
    user: Option<User>,
    watch: Child,
}

/// A database of a [`Cluster`]; dropped with this.
pub struct Database<'c> {
    cluster: &'c Cluster,
    /// Its name.
    pub name: String,
}

/// Whom the server runs as, since it refuses to run as root.
#[derive(Clone, Copy)]
struct User {
    uid: u32,
    gid: u32,
}

const WATCH: &str = r#"
trap '' INT TERM HUP PIPE
programs=$1 folder=$2 options=$3
if "$programs/initdb" -D "$folder/data" -U postgres -A trust --no-sync --locale=C -E UTF8 >"$folder/log" 2>&1 &&
   "$programs/pg_ctl" -D "$folder/data" -w -t 120 -l "$folder/log" -o "$options" start >>"$folder/log" 2>&1
then echo ready
else echo failed; cat "$folder/log"; exec >&-
fi
cat >/dev/null
"$programs/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null 2>&1
rm -rf "$folder"
"#;

/// The process's server. `None` if PostgreSQL is not there, which is said; a failure where everything is required.
pub fn cluster() -> Option<&'static Cluster> {
    static CLUSTER: OnceLock<Option<Cluster>> = OnceLock::new();
    CLUSTER.get_or_init(|| Cluster::start(&[])).as_ref()
}

impl Cluster {
    /// Starts a server with settings of its own; it is stopped when dropped. It listens on a Unix socket, and on a port of
    /// loopback. `None` as for [`cluster`].
    pub fn start(settings: &[(&str, &str)]) -> Option<Self> {
        let Some(programs) = programs() else {
            let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
            assert!(!required, "PostgreSQL (initdb, pg_ctl) is not installed");
            eprintln!("skipped: PostgreSQL (initdb, pg_ctl) is not installed");
            return None;
        };
        let user = user();
        // Somebody may take the port between finding and using it.
        let started = (0..5).find_map(|_| Self::try_start(&programs, user, settings));
        Some(started.unwrap_or_else(|| panic_with("PostgreSQL does not start; its log is above")))
    }

    fn try_start(programs: &Path, user: Option<User>, settings: &[(&str, &str)]) -> Option<Self> {
        let folder = folder(user);
        let port = free_port();
        let fast = [("fsync", "off"), ("full_page_writes", "off"), ("max_connections", "300")];
        let mut options = format!("-k {} -h 127.0.0.1 -p {port}", folder.display());
        for (name, value) in fast.iter().chain(settings) {
            options.push_str(&format!(" -c {name}={value}"));
        }
        let mut command = Command::new("sh");
        command.args(["-c", WATCH, "sh"]).arg(programs).arg(&folder).arg(&options);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).current_dir("/");
        let watch = run_as(&mut command, user).spawn();
        let watch = watch.unwrap_or_else(|error| panic_with(&format!("sh: {error}")));
        let mut cluster = Self { programs: programs.to_owned(), folder, port, options, user, watch };
        let mut said = BufReader::new(cluster.watch.stdout.take()?);
        let mut line = String::new();
        said.read_line(&mut line).ok()?;
        if line.trim() == "ready" {
            return Some(cluster);
        }
        let mut log = String::new();
        let _ = said.read_to_string(&mut log);
        eprintln!("{line}{log}");
        None
    }

    /// The server's port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Where its files are, and the server may read.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops the server; its files stay.
    pub fn halt(&self) {
        self.pg_ctl(&["-m", "immediate", "stop"]);
    }

    /// Starts it again.
    pub fn resume(&self) {
        let log = self.folder.join("log").display().to_string();
        self.pg_ctl(&["-w", "-t", "120", "-l", &log, "-o", &self.options, "start"]);
    }

    fn pg_ctl(&self, arguments: &[&str]) {
        let mut command = Command::new(self.programs.join("pg_ctl"));
        command.arg("-D").arg(self.folder.join("data")).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir("/");
        let done = run_as(&mut command, self.user).status();
        assert!(done.is_ok_and(|status| status.success()), "pg_ctl {arguments:?}");
    }

    /// A fresh database.
    pub fn database(&self) -> Database<'_> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let made = self.psql("postgres", &format!("CREATE DATABASE {name}"));
        made.unwrap_or_else(|error| panic_with(&error));
        Database { cluster: self, name }
    }

    /// What statements answer: a line for each row, `|` between columns.
    fn psql(&self, database: &str, sql: &str) -> Result<String, String> {
        let mut command = Command::new(self.programs.join("psql"));
        command.arg("-h").arg(&self.folder).args(["-p", &self.port.to_string(), "-U", "postgres"]);
        command.args(["-d", database, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql]);
        command.stdin(Stdio::null()).current_dir("/").env_clear();
        let Output { status, stdout, stderr } =
            run_as(&mut command, self.user).output().map_err(|error| error.to_string())?;
        if status.success() {
            return Ok(String::from_utf8_lossy(&stdout).trim_end().to_owned());
        }
        Err(String::from_utf8_lossy(&stderr).into_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Closes the pipe, which ends it.
        drop(self.watch.stdin.take());
        let _ = self.watch.wait();
    }
}

impl Drop for Database<'_> {
    fn drop(&mut self) {
        // Each takes megabytes. A server that is halted can't, and is gone soon.
        let _ = self.cluster.psql("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

impl Database<'_> {
    /// Its address, by the Unix socket.
    pub fn address(&self) -> String {
        let folder = self.cluster.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{}", self.cluster.port, self.name)
    }

    /// What statements answer: a line for each row, `|` between columns. What fails is what the server says.
    pub fn psql(&self, sql: &str) -> Result<String, String> {
        self.cluster.psql(&self.name, sql)
    }

    /// Cuts all connections to it; how many there were.
    pub fn cut(&self) -> usize {
        let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                   WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let cut = self.psql(sql).unwrap_or_else(|error| panic_with(&error));
        cut.lines().filter(|line| *line == "t").count()
    }
}

/// Where `initdb`, `pg_ctl` and `psql` are; the newest.
fn programs() -> Option<PathBuf> {
    let mut folders: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    folders.sort();
    let installed = folders.into_iter().rev().map(|(_, folder)| folder);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let all: Vec<PathBuf> = installed.chain(std::env::split_paths(&path)).collect();
    all.into_iter().find(|folder| {
        ["initdb", "pg_ctl", "psql", "postgres"].iter().all(|name| folder.join(name).is_file())
    })
}

/// Somebody who is not root, if we are.
fn user() -> Option<User> {
    let me = Command::new("id").arg("-u").output().ok()?;
    if String::from_utf8_lossy(&me.stdout).trim() != "0" {
        return None;
    }
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let find = |name: &str| {
        let line = known.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some(User { uid: fields.next()?.parse().ok()?, gid: fields.next()?.parse().ok()? })
    };
    find("postgres").or_else(|| find("nobody"))
}

fn run_as(command: &mut Command, user: Option<User>) -> &mut Command {
    #[cfg(unix)]
    if let Some(User { uid, gid }) = user {
        use std::os::unix::process::CommandExt as _;
        return command.uid(uid).gid(gid);
    }
    command
}

/// A folder for a server: its owner's only, and with a name short enough for a socket in it.
fn folder(user: Option<User>) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let name = format!("tlpg-{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let wanted = std::env::temp_dir().join(&name);
    let folder = if wanted.as_os_str().len() > 80 { PathBuf::from("/tmp").join(&name) } else { wanted };
    let made = make(&folder, user);
    made.unwrap_or_else(|error| panic_with(&format!("{}: {error}", folder.display())));
    folder
}

fn make(folder: &Path, user: Option<User>) -> std::io::Result<()> {
    // One that was left behind by a process of the same number.
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder)?;
        if let Some(User { uid, gid }) = user {
            std::os::unix::fs::chown(folder, Some(uid), Some(gid))?;
        }
    }
    #[cfg(not(unix))]
    builder.create(folder)?;
    Ok(())
}

fn free_port() -> u16 {
    let found = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    found.map(|address| address.port()).unwrap_or_else(|error| panic_with(&error.to_string()))
}

#[expect(clippy::panic, reason = "a test can't go on without it")]
fn panic_with(why: &str) -> ! {
    panic!("{why}")
}

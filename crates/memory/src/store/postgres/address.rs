//! An address of PostgreSQL, taken apart.
//!
//! Everything that `tokio-postgres` knows in an address is left to it. Ours are what decides on TLS, and the schema:
//! `sslmode`, `sslrootcert`, `plaintext`, `schema`.

use percent_encoding::percent_decode_str;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// Where the tables are unless the address says otherwise.
const SCHEMA: &str = "throughline";
/// How long a connection may take to be made, and sent bytes to be acknowledged.
const PATIENCE: Duration = Duration::from_secs(15);

/// How a connection is protected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    /// Not at all: it stays on this machine, or the user wants it so.
    None,
    /// By TLS: the certificate is valid, and the host's, by these roots.
    Verified(Roots),
}

/// Who may have signed the server's certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Roots {
    /// Whom the system trusts.
    System,
    /// Whoever is in this file.
    File(PathBuf),
}

/// An address. It shows no user and no password.
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) protection: Protection,
    pub(super) schema: String,
    pub(super) shown: String,
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("place", &self.shown)
            .field("schema", &self.schema)
            .field("protection", &self.protection)
            .finish_non_exhaustive()
    }
}

/// What is wrong with an address. Never its words: any of them may be the password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum AddressError {
    #[error(
        "its address cannot be read; it is postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=…, with what is special in a part written as %XX"
    )]
    Unreadable,
    #[error("its address names no host")]
    NoHost,
    #[error("`schema` is lower-case letters, digits and `_`, at most 63, not a digit first, not `pg_…`")]
    Schema,
    #[error("`sslmode` is `verify-full` or, for a server on this machine, `disable`")]
    Mode,
    #[error(
        "`sslmode=disable` would send everything in the clear to another machine; leave it out, or say `plaintext=allowed` too"
    )]
    Plaintext,
}

impl Address {
    pub(super) fn parse(address: &str) -> Result<Self, AddressError> {
        let (base, ours, theirs) = split(address)?;
        let mut config: Config = format!("{base}{theirs}").parse().map_err(|_| AddressError::Unreadable)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(AddressError::NoHost);
        }
        let protection = protection(&config, &ours)?;
        config.ssl_mode(match protection {
            Protection::None => SslMode::Disable,
            Protection::Verified(_) => SslMode::Require,
        });
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(PATIENCE);
        }
        if config.get_tcp_user_timeout().is_none() {
            config.tcp_user_timeout(PATIENCE);
        }
        if config.get_application_name().is_none() {
            config.application_name("throughline");
        }
        let schema = ours.schema.unwrap_or_else(|| SCHEMA.to_owned());
        if !is_schema(&schema) {
            return Err(AddressError::Schema);
        }
        let shown = shown(&config);
        Ok(Self { config, protection, schema, shown })
    }
}

/// What an address says to us.
#[derive(Default)]
struct Ours {
    mode: Option<String>,
    roots: Option<String>,
    allows_plaintext: bool,
    schema: Option<String>,
}

/// The address without parameters, ours, and the others as they are written.
fn split(address: &str) -> Result<(&str, Ours, String), AddressError> {
    // A `?` may be part of a password.
    let credentials = address.find('@').map_or(0, |at| at + 1);
    let parameters = address.get(credentials..).and_then(|rest| rest.find('?')).map(|at| credentials + at);
    let Some(at) = parameters else { return Ok((address, Ours::default(), String::new())) };
    let (base, parameters) = address.split_at(at);
    let mut ours = Ours::default();
    let mut theirs = Vec::new();
    for parameter in parameters.trim_start_matches('?').split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, value) = parameter.split_once('=').ok_or(AddressError::Unreadable)?;
        let value = percent_decode_str(value).decode_utf8().map_err(|_| AddressError::Unreadable)?;
        match key {
            "sslmode" => ours.mode = Some(value.into_owned()),
            "sslrootcert" => ours.roots = Some(value.into_owned()),
            "plaintext" if value == "allowed" => ours.allows_plaintext = true,
            "schema" => ours.schema = Some(value.into_owned()),
            _ => theirs.push(parameter),
        }
    }
    let theirs = if theirs.is_empty() { String::new() } else { format!("?{}", theirs.join("&")) };
    Ok((base, ours, theirs))
}

fn protection(config: &Config, ours: &Ours) -> Result<Protection, AddressError> {
    let roots = match ours.roots.as_deref() {
        None | Some("system") => Roots::System,
        Some(file) => Roots::File(PathBuf::from(file)),
    };
    let is_local = is_local(config);
    match ours.mode.as_deref() {
        Some("disable") if is_local || ours.allows_plaintext => Ok(Protection::None),
        Some("disable") => Err(AddressError::Plaintext),
        // What others mean by the weaker ones is a promise that whoever listens can break.
        Some("verify-full" | "verify-ca" | "require" | "prefer") => Ok(Protection::Verified(roots)),
        Some(_) => Err(AddressError::Mode),
        None if is_local && ours.roots.is_none() => Ok(Protection::None),
        None => Ok(Protection::Verified(roots)),
    }
}

/// Whether nothing leaves this machine.
fn is_local(config: &Config) -> bool {
    let is_loopback =
        |name: &str| name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    let by_name = config.get_hosts().iter().all(|host| match host {
        Host::Tcp(name) => is_loopback(name) || !config.get_hostaddrs().is_empty(),
        #[cfg(unix)]
        Host::Unix(_) => true,
    });
    by_name && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

fn is_schema(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    (1..=63).contains(&name.len())
        && name.bytes().all(plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.starts_with("pg_")
}

/// For people: where it is, and nothing that lets anybody in.
fn shown(config: &Config) -> String {
    let named: Vec<String> = config
        .get_hosts()
        .iter()
        .map(|host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        })
        .collect();
    let hosts =
        if named.is_empty() { config.get_hostaddrs().iter().map(IpAddr::to_string).collect() } else { named };
    let port = config.get_ports().first().filter(|port| **port != 5432);
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    format!("postgres://{}{port}/{}", hosts.join(","), config.get_dbname().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protection(address: &str) -> Result<Protection, AddressError> {
        Address::parse(address).map(|address| address.protection)
    }

    #[test]
    fn tls_is_verified_unless_nothing_leaves_the_machine_or_the_user_insists() {
        let verified = Ok(Protection::Verified(Roots::System));
        for remote in ["db.example.org", "192.0.2.1", "[2001:db8::1]", "localhost,db.example.org"] {
            assert_eq!(protection(&format!("postgres://me:pw@{remote}/d")), verified, "{remote}");
            assert_eq!(
                protection(&format!("postgres://me:pw@{remote}/d?sslmode=disable")),
                Err(AddressError::Plaintext)
            );
            let insisted = format!("postgres://me:pw@{remote}/d?sslmode=disable&plaintext=allowed");
            assert_eq!(protection(&insisted), Ok(Protection::None));
        }
        for local in ["localhost", "127.0.0.1", "127.8.8.8:99", "[::1]", "%2Fvar%2Frun%2Fpostgresql"] {
            assert_eq!(protection(&format!("postgresql://{local}/d")), Ok(Protection::None), "{local}");
            assert_eq!(protection(&format!("postgresql://{local}/d?sslmode=disable")), Ok(Protection::None));
            assert_eq!(protection(&format!("postgresql://{local}/d?sslmode=require")), verified);
        }
        // The address that is dialled counts, not its name.
        assert_eq!(protection("postgres://localhost/d?hostaddr=192.0.2.1"), verified);
        assert_eq!(protection("postgres://db.example.org/d?hostaddr=127.0.0.1"), Ok(Protection::None));
        let file = Protection::Verified(Roots::File("/etc/ca of us.pem".into()));
        assert_eq!(protection("postgres://localhost/d?sslrootcert=/etc/ca%20of%20us.pem"), Ok(file));
        assert_eq!(protection("postgres://h/d?sslmode=allow"), Err(AddressError::Mode));
    }

    #[test]
    fn nothing_shows_the_password() {
        let address =
            Address::parse("postgres://me:s3cr3t?%2F&x@db.example.org:6000/book?schema=ours").unwrap();
        assert_eq!(address.shown, "postgres://db.example.org:6000/book");
        assert_eq!(address.config.get_password(), Some("s3cr3t?/&x".as_bytes()));
        assert_eq!(address.schema, "ours");
        assert!(!format!("{address:?}").contains("s3cr3t"));
        for odd in [
            "postgres://me:s3cr3t",
            "postgres://u:x@h:s3cr3t/d",
            "postgres://u@h/d?s3cr3t",
            "postgres://u@h/d?s3cr3t=1",
            "postgres://u@h/d?port=s3cr3t",
            "postgres://%ff:s3cr3t@h/d",
            "postgres:///d?password=s3cr3t",
        ] {
            let error = Address::parse(odd).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{odd}");
        }
    }

    #[test]
    fn a_schema_is_a_plain_name() {
        for odd in ["", "1a", "A", "a\"; DROP", "pg_x", "a-b", &"x".repeat(64)] {
            let encoded: String = odd.bytes().map(|b| format!("%{b:02x}")).collect();
            let parsed = Address::parse(&format!("postgres://h/d?schema={encoded}"));
            assert_eq!(parsed.err(), Some(AddressError::Schema), "{odd}");
        }
    }
}

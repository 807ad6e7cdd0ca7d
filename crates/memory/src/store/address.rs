//! Where a store is.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use throughline_model::Secret;

const SCHEMES: &[&str] = &["postgres://", "postgresql://"];

/// The address of a store. It is shown without user and password.
///
/// ```
/// use throughline_memory::store::StoreAddress;
///
/// let address: StoreAddress = "postgres://me:word@db.test/book".parse()?;
/// assert_eq!(address.to_string(), "postgres://db.test/book");
/// assert!("me:word@db.test".parse::<StoreAddress>().is_err());
/// # Ok::<(), throughline_memory::store::StoreAddressError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// PostgreSQL, by a URL that may hold a password.
    Postgres(Secret),
    /// SQLite in a file. The path is absolute.
    File(PathBuf),
}

/// Why a text is no address of a store. It never repeats the text: any part of it may be a password.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreAddressError {
    /// A URL of something else.
    #[error(
        "the store's address has an unknown scheme; give postgres://user@host/database, or the absolute path of a file"
    )]
    UnknownScheme,
    /// Neither a URL nor an absolute path.
    #[error(
        "the store's address is neither a URL nor an absolute path; give postgres://user@host/database, or the absolute path of a file"
    )]
    NotAbsolute,
}

impl StoreAddress {
    /// The address of a file in a folder. A relative folder is taken from the current one.
    pub fn in_folder(folder: &Path, file: &str) -> Result<Self, StoreAddressError> {
        std::path::absolute(folder.join(file)).map(Self::File).map_err(|_| StoreAddressError::NotAbsolute)
    }
}

impl FromStr for StoreAddress {
    type Err = StoreAddressError;

    fn from_str(text: &str) -> Result<Self, StoreAddressError> {
        if SCHEMES.iter().any(|scheme| text.starts_with(scheme)) {
            return Ok(Self::Postgres(Secret::new(text)));
        }
        // A URL in front of which a slash was typed by mistake is no path either.
        if text.contains("://") {
            return Err(StoreAddressError::UnknownScheme);
        }
        let path = PathBuf::from(text);
        if path.is_absolute() { Ok(Self::File(path)) } else { Err(StoreAddressError::NotAbsolute) }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Postgres(url) => {
                let (scheme, rest) = url.expose().split_once("://").unwrap_or_default();
                let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
                write!(f, "{scheme}://{}", place.split('?').next().unwrap_or_default())
            }
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreAddress({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_url_or_an_absolute_path() {
        let parse = |text: &str| text.parse::<StoreAddress>();
        for url in ["postgres://me:s3cr3t@host:5432/db?password=s3cr3t", "postgresql://me:s3cr3t@host/db"] {
            let address = parse(url).unwrap();
            assert!(matches!(&address, StoreAddress::Postgres(kept) if kept.expose() == url));
            assert!(!format!("{address} {address:?}").contains("s3cr3t"), "{address}");
        }
        let file = std::env::temp_dir().join("store.db");
        assert_eq!(parse(file.to_str().unwrap()), Ok(StoreAddress::File(file.clone())));
        assert_eq!(parse(file.to_str().unwrap()).unwrap().to_string(), file.display().to_string());
    }

    #[test]
    fn rejects_what_is_no_address_without_repeating_it() {
        use StoreAddressError::{NotAbsolute, UnknownScheme};
        for (text, expected) in [
            ("", NotAbsolute),
            ("s3cr3t", NotAbsolute),
            ("work/s3cr3t.db", NotAbsolute),
            ("./s3cr3t.db", NotAbsolute),
            ("me:s3cr3t@db.test/book", NotAbsolute),
            ("host=db user=me password=s3cr3t", NotAbsolute),
            ("postgres:/me:s3cr3t@db/book", NotAbsolute),
            ("postgres:me:s3cr3t@db", NotAbsolute),
            (" postgres://me:s3cr3t@db/book", UnknownScheme),
            ("Postgres://me:s3cr3t@db/book", UnknownScheme),
            ("mysql://me:s3cr3t@db/book", UnknownScheme),
            ("s3cr3t://db", UnknownScheme),
            ("/tmp/postgres://me:s3cr3t@db/book", UnknownScheme),
        ] {
            let error = text.parse::<StoreAddress>().unwrap_err();
            assert_eq!(error, expected, "{text}");
            assert!(!format!("{error} {error:?}").contains("s3cr3t"), "{text}");
        }
    }
}

//! The user's secret: a program that shows it to a server is managed like the user's own, whichever user it runs as.

use anyhow::Context as _;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;
use throughline_ledger::Home;
use throughline_server::Token;

/// Below the home folder. The secret stands in this file only.
const FILE: &str = "proxy/secret";
/// Shorter texts are no secret of ours.
const LEAST: usize = 32;

/// Reads the secret; where there is none, one that nobody knows. Nothing is written.
pub(super) fn load_existing(home: &Home) -> anyhow::Result<Token> {
    let path = home.root().join(FILE);
    if path.exists() { load(home) } else { Ok(Token::fresh()) }
}

/// Reads the secret; the first time it is made.
pub(super) fn load(home: &Home) -> anyhow::Result<Token> {
    let path = home.root().join(FILE);
    let made = make(&path);
    match made {
        Ok(secret) => return Ok(secret),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => {
            return Err(error).with_context(|| format!("cannot write the secret to {}", path.display()));
        }
    }
    read(&path)
        .with_context(|| format!("cannot read the secret in {}; delete it to get a new one", path.display()))
}

fn make(path: &Path) -> std::io::Result<Token> {
    if let Some(folder) = path.parent() {
        std::os::unix::fs::DirBuilderExt::mode(std::fs::DirBuilder::new().recursive(true), 0o700)
            .create(folder)?;
    }
    let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let secret = Token::fresh();
    file.write_all(secret.expose().as_bytes())?;
    Ok(secret)
}

fn read(path: &Path) -> anyhow::Result<Token> {
    let mode = std::fs::metadata(path)?.permissions().mode();
    anyhow::ensure!(mode & 0o077 == 0, "other users can read it (mode {:o})", mode & 0o777);
    let text = std::fs::read_to_string(path)?;
    let secret = text.trim();
    let is_whole = secret.len() >= LEAST && secret.bytes().all(|byte| byte.is_ascii_alphanumeric());
    anyhow::ensure!(is_whole, "it is damaged");
    Ok(Token::new(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_is_made_once_and_private() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::new(folder.path());
        let first = load(&home).unwrap();
        assert_eq!(load(&home).unwrap(), first);
        let path = folder.path().join(FILE);
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(format!("{:#}", load(&home).unwrap_err()).contains("other users can read it"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        std::fs::write(&path, "short").unwrap();
        assert!(format!("{:#}", load(&home).unwrap_err()).contains("delete it"));
    }
}

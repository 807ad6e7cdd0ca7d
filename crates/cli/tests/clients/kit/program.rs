//! Where the clients are.

use std::path::{Path, PathBuf};

/// Claude Code.
pub(crate) struct Claude(pub(crate) PathBuf);

/// Codex.
pub(crate) struct Codex(pub(crate) PathBuf);

impl Claude {
    /// The program, or a word on why the test is skipped.
    pub(crate) fn find() -> Option<Self> {
        found("npm/node_modules/.bin/claude").map(Self)
    }
}

impl Codex {
    /// The program itself, not the script that looks for it.
    pub(crate) fn find() -> Option<Self> {
        let package = found("npm/node_modules/@openai")?;
        let architectures =
            std::fs::read_dir(package).unwrap().flatten().map(|entry| entry.path().join("vendor"));
        let targets = architectures.filter_map(|vendor| std::fs::read_dir(vendor).ok()).flatten().flatten();
        let program = targets.map(|target| target.path().join("bin/codex")).find(|path| path.is_file());
        program.or_else(|| missing(Path::new("vendor/…/bin/codex"))).map(Self)
    }
}

/// A Python with the official packages.
pub(crate) struct Python(pub(crate) PathBuf);

impl Python {
    pub(crate) fn find() -> Option<Self> {
        found("python/bin/python").map(Self)
    }
}

fn found(relative: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("THROUGHLINE_CLIENTS") {
        Some(folder) => PathBuf::from(folder),
        // target/debug/throughline
        None => Path::new(env!("CARGO_BIN_EXE_throughline")).ancestors().nth(2).unwrap().join("clients"),
    };
    let path = folder.join(relative);
    if path.exists() { Some(path) } else { missing(&path) }
}

fn missing(path: &Path) -> Option<PathBuf> {
    let required = std::env::var("THROUGHLINE_REQUIRE").is_ok_and(|value| value == "all");
    let why = format!("{} is not there; install it with .ci/clients", path.display());
    assert!(!required, "{why}");
    eprintln!("skipped: {why}");
    None
}

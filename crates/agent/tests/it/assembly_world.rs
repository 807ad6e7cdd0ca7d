//! A made-up home, configuration and projects in a folder that goes away.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail as tests do")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use throughline_agent::assembly::{Assembled, PartKind, Sources};
use throughline_core::{Message, Role};

pub(crate) struct World {
    folder: TempDir,
    root: PathBuf,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home", "config", "project"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        Self { folder, root }
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    fn made(&self, relative: &str) -> PathBuf {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        self.write_bytes(relative, text.as_bytes());
    }

    pub(crate) fn write_bytes(&self, relative: &str, bytes: &[u8]) {
        fs::write(self.made(relative), bytes).unwrap();
    }

    pub(crate) fn remove(&self, relative: &str) {
        fs::remove_file(self.path(relative)).unwrap();
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, relative: &str) {
        symlink(target, self.made(relative)).unwrap();
    }

    pub(crate) fn pipe(&self, relative: &str) {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        mknodat(CWD, self.made(relative), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    }

    pub(crate) fn skill(&self, folder: &str, name: &str, description: &str) {
        let text = format!("---\nname: {name}\ndescription: {description}\n---\nHow to {name}.\n");
        self.write(&format!("{folder}/SKILL.md"), &text);
    }

    pub(crate) fn sources(&self, cwd: &str) -> Sources {
        let cwd = self.path(cwd);
        fs::create_dir_all(&cwd).unwrap();
        let mut sources = Sources::new(cwd, self.path("config"));
        sources.home = Some(self.path("home"));
        sources
    }

    /// The text with this world's own folder taken out.
    pub(crate) fn plain(&self, text: &str) -> String {
        text.replace(self.root.to_str().unwrap(), "[ROOT]")
            .replace(self.folder.path().to_str().unwrap(), "[ROOT]")
    }
}

/// Messages, for reading.
pub(crate) fn said(messages: &[Message]) -> String {
    let mut out = String::new();
    for message in messages {
        let role = match message.role {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::System => "system",
            Role::Developer => "developer",
            Role::Tool => "tool",
        };
        let blocks: Vec<_> = message.blocks.iter().map(|block| block.to_text().into_owned()).collect();
        out.push_str(&format!("== {role} ==\n{}\n", blocks.join("\n--\n")));
    }
    out
}

pub(crate) fn labels(assembled: &Assembled, kind: PartKind) -> Vec<String> {
    assembled.parts.iter().filter(|part| part.kind == kind).map(|part| part.label.clone()).collect()
}

pub(crate) fn project_texts(assembled: &Assembled) -> String {
    let parts = assembled.parts.iter().filter(|part| part.kind == PartKind::ProjectInstructions);
    parts.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n\n")
}

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A machine of its own: nothing of the real home is seen or touched.
pub(crate) struct Machine {
    pub(crate) dir: tempfile::TempDir,
}

impl Machine {
    pub(crate) fn empty() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A machine with the samples imported.
    pub(crate) fn with_samples() -> Self {
        let machine = Self::empty();
        machine.run(&["sessions", "import", &examples().to_string_lossy()]).success();
        machine
    }

    pub(crate) fn command(&self) -> Command {
        let mut command = Command::cargo_bin("throughline").unwrap();
        command
            .env_clear()
            .env("HOME", self.dir.path())
            .env("TZ", "UTC")
            .env("THROUGHLINE_HOME", self.dir.path().join("throughline"))
            .current_dir(self.dir.path());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> assert_cmd::assert::Assert {
        self.command().args(arguments).assert()
    }

    pub(crate) fn text(&self, arguments: &[&str]) -> String {
        String::from_utf8(self.run(arguments).success().get_output().stdout.clone()).unwrap()
    }

    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.text(&[arguments, &["--json"]].concat())).unwrap()
    }

    pub(crate) fn error(&self, arguments: &[&str]) -> String {
        let assert = self.run(arguments).failure();
        String::from_utf8(assert.get_output().stderr.clone()).unwrap()
    }
}

pub(crate) fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// The long Claude Code session among the samples.
pub(crate) const LONG: &str = "7c1f3a52";

//! The variables of a command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Names of variables that no command gets to see. `*` stands for anything; case does not count.
pub const SECRETS: &[&str] = &[
    "*_API_KEY",
    "*_APIKEY",
    "*_TOKEN",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*_PRIVATE_KEY",
    "*_ACCESS_KEY",
    "*_ACCESS_KEY_ID",
    "*_AUTH",
];

/// What keeps commands from waiting for somebody, and from painting.
const SET: &[(&str, &str)] = &[
    ("CLICOLOR", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PYTHONUNBUFFERED", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
    ("VISUAL", "false"),
];

/// What would run before the command, or speak of another terminal.
const UNSET: &[&str] = &["BASH_ENV", "CDPATH", "COLUMNS", "ENV", "LINES", "PROMPT_COMMAND"];

/// The variables that commands begin with, and which secrets among them they may see.
#[derive(Clone, Debug, Default)]
pub struct ShellEnv {
    /// The variables of whoever started the agent.
    pub base: BTreeMap<OsString, OsString>,
    /// Names that are passed on although [`SECRETS`] has them. `*` stands for anything.
    pub allowed: Vec<String>,
}

impl ShellEnv {
    /// The variables of a command.
    pub(super) fn of_command(&self, tmp: &Path) -> BTreeMap<OsString, OsString> {
        let mut all = self.base.clone();
        all.retain(|name, _| self.passes(name));
        for name in UNSET {
            all.remove(OsStr::new(name));
        }
        // A function that somebody exported would run in place of a program that was judged.
        all.retain(|name, _| !name.to_string_lossy().starts_with("BASH_FUNC_"));
        all.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
        all.insert("TMPDIR".into(), tmp.into());
        all
    }

    fn passes(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        let is_secret = SECRETS.iter().any(|pattern| matches(pattern, &name));
        !is_secret || self.allowed.iter().any(|pattern| matches(pattern, &name))
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_uppercase(), name.to_ascii_uppercase());
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some(at) = name.find(part) else { return false };
        name = name.get(at + part.len()..).unwrap_or_default();
    }
    name.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_their_names() {
        let env = ShellEnv { base: BTreeMap::new(), allowed: vec!["GITHUB_*".to_owned()] };
        let hidden = [
            "ANTHROPIC_API_KEY",
            "openai_api_key",
            "NPM_TOKEN",
            "MY_SECRET_THING",
            "DB_PASSWORD",
            "AWS_SECRET_ACCESS_KEY",
        ];
        let passed =
            ["PATH", "HOME", "GITHUB_TOKEN", "TOKENIZERS_PARALLELISM", "KEYBOARD", "CARGO_HOME", "LANG"];
        assert_eq!(hidden.map(|name| env.passes(name.as_ref())), [false; 6]);
        assert_eq!(passed.map(|name| env.passes(name.as_ref())), [true; 7]);
    }

    #[test]
    fn stars_stand_for_anything() {
        for (pattern, name, fits) in [
            ("A*B*C", "AxBxxC", true),
            ("A*B*C", "AxCxxB", false),
            ("*", "", true),
            ("AB*BA", "ABA", false),
            ("PLAIN", "plain", true),
            ("PLAIN", "PLAINER", false),
        ] {
            assert_eq!(matches(pattern, name), fits, "{pattern} {name}");
        }
    }
}

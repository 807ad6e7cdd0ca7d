//! The variables of a command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// Names of variables that commands get, if they are set. `*` stands for anything; case does not count. All others stay with the
/// agent: nobody can list all names under which secrets are kept.
pub const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "MANPATH",
    "INFOPATH",
    "CI",
    "SOURCE_DATE_EPOCH",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_JOBS",
    "CARGO_INCREMENTAL",
    "CARGO_NET_OFFLINE",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTFLAGS",
    "RUSTDOCFLAGS",
    "RUSTC_WRAPPER",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "NODE_PATH",
    "NODE_ENV",
    "NODE_OPTIONS",
    "NVM_DIR",
    "NVM_BIN",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_CACHE",
    "PNPM_HOME",
    "VOLTA_HOME",
    "FNM_DIR",
    "FNM_MULTISHELL_PATH",
    "BUN_INSTALL",
    "DENO_DIR",
    "DENO_INSTALL",
    "COREPACK_HOME",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "CONDA_EXE",
    "PYTHONPATH",
    "PYTHONHOME",
    "POETRY_HOME",
    "PIPX_HOME",
    "UV_CACHE_DIR",
    "UV_PYTHON",
    "PIP_CACHE_DIR",
    "JAVA_HOME",
    "MAVEN_HOME",
    "M2_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "SDKMAN_DIR",
    "KOTLIN_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_DATA_DIR",
    "DOTNET_ROOT",
    "CC",
    "CXX",
    "AR",
    "LD",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "MAKEFLAGS",
    "CPATH",
    "LIBRARY_PATH",
    "LD_LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "CMAKE_PREFIX_PATH",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
    "HOMEBREW_PREFIX",
    "HOMEBREW_CELLAR",
    "HOMEBREW_REPOSITORY",
];

/// What keeps commands from waiting for somebody, and from painting.
const SET: &[(&str, &str)] = &[
    ("CLICOLOR", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "false"),
    ("GIT_ASKPASS", "false"),
    ("GIT_EDITOR", "false"),
    ("GIT_MERGE_AUTOEDIT", "no"),
    ("GIT_OPTIONAL_LOCKS", "0"),
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

/// The variables that commands begin with, and which of them they get beside [`PASSED`].
#[derive(Clone, Debug, Default)]
pub struct ShellEnv {
    /// The variables of whoever started the agent.
    pub base: BTreeMap<OsString, OsString>,
    /// Names that are passed on beside [`PASSED`]. `*` stands for anything.
    pub allowed: Vec<String>,
}

impl ShellEnv {
    /// The variables of a command. Programs are not looked for in `avoided` folders, nor by relative paths.
    pub(super) fn of_command(&self, tmp: &Path, avoided: &[&Path]) -> BTreeMap<OsString, OsString> {
        let mut all = self.base.clone();
        // A function that somebody exported would run in place of a program that was judged.
        all.retain(|name, _| self.passes(name) && !name.to_string_lossy().starts_with("BASH_FUNC_"));
        if let Some(path) = all.get_mut(OsStr::new("PATH")) {
            let is_kept = |folder: &PathBuf| {
                folder.is_absolute() && !avoided.iter().any(|avoided| folder.starts_with(avoided))
            };
            let kept = std::env::join_paths(std::env::split_paths(path).filter(is_kept));
            *path = kept.unwrap_or_default();
        }
        all.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
        all.insert("TMPDIR".into(), tmp.into());
        all
    }

    fn passes(&self, name: &OsStr) -> bool {
        let name = name.to_string_lossy();
        let allowed = self.allowed.iter().map(String::as_str);
        PASSED.iter().copied().chain(allowed).any(|pattern| matches(pattern, &name))
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
    fn only_listed_variables_are_passed() {
        let env = ShellEnv { base: BTreeMap::new(), allowed: vec!["GITHUB_*".to_owned()] };
        let kept_back = [
            "ANTHROPIC_API_KEY",
            "OPENAI_KEY",
            "DATABASE_URL",
            "GH_PAT",
            "AWS_PROFILE",
            "CDPATH",
            "BASH_ENV",
            "SHELLOPTS",
            "LD_PRELOAD",
            "RIPGREP_CONFIG_PATH",
            "GIT_DIR",
            "THROUGHLINE_HOME",
        ];
        let passed = ["PATH", "HOME", "GITHUB_TOKEN", "LC_ALL", "CARGO_HOME", "LANG", "VIRTUAL_ENV"];
        assert_eq!(kept_back.map(|name| env.passes(name.as_ref())), [false; 12]);
        assert_eq!(passed.map(|name| env.passes(name.as_ref())), [true; 7]);
    }

    #[test]
    fn programs_are_not_looked_for_in_avoided_or_relative_folders() {
        let path = "/usr/bin:.::bin:/w/node_modules/.bin:/bin".into();
        let env = ShellEnv { base: BTreeMap::from([("PATH".into(), path)]), allowed: Vec::new() };
        let path_of =
            |avoided: &[&Path]| env.of_command(Path::new("/t"), avoided)[OsStr::new("PATH")].clone();
        assert_eq!(path_of(&[]), "/usr/bin:/w/node_modules/.bin:/bin");
        assert_eq!(path_of(&[Path::new("/w")]), "/usr/bin:/bin");
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

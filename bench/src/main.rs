//! Measurements, one file per question. Each prints a ratio against a baseline taken in the same run.
//!
//! `cargo run --release -p throughline-bench` runs all of them; a name runs one. Times are medians of alternating
//! runs, since machines are noisy and ratios are not. Memory is the peak of a process of its own.

mod agent;
mod child;
mod classify;
mod compactions;
mod corpus;
mod endurance;
mod faults;
mod guarantee;
mod import;
mod list;
mod measure;
mod memory_scale;
mod memory_writers;
mod phase1;
mod pipeline;
mod prepare;
mod proxy;
mod proxy_faults;
mod proxy_replay;
mod recall;
mod redact;
mod resume;
mod search;
mod simulated;
mod tokens;
mod workers;

use anyhow::bail;
use clap::{Parser, ValueEnum};
use std::path::PathBuf;
use std::process::ExitCode;

/// That of the program which is measured.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[derive(Parser)]
#[command(about = "Side-by-side measurements, one per question")]
struct Cli {
    /// Which questions [default: all].
    questions: Vec<Question>,
    /// Recorded sessions: a folder with `transcripts/` or any `.jsonl` files [default: ../shared/data, else examples].
    #[arg(long)]
    data: Option<PathBuf>,
    /// A fraction of the sizes, for a first look. The verdicts are then not the real ones.
    #[arg(long)]
    quick: bool,
    /// Sizes of sessions for `phase1`, instead of its own.
    #[arg(long, value_delimiter = ',')]
    bytes: Vec<u64>,
    /// The context window for `proxy-replay`, instead of the model's.
    #[arg(long)]
    window: Option<u64>,
    /// How many requests `proxy-faults` sends each way.
    #[arg(long)]
    requests: Option<usize>,
    /// More labels for `classify`: a folder with `*.jsonl` and the requests that they name in `captures/`.
    #[arg(long)]
    labels: Option<PathBuf>,
    /// LiteLLM's program, for `proxy`: `pip install 'litellm[proxy]'` brings it.
    #[arg(long)]
    litellm: Option<PathBuf>,
    /// Used by the benchmarks themselves, to measure memory in a process of its own.
    #[arg(long, hide = true, num_args = 1..)]
    child: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Question {
    /// Does resume follow the suffix and not the file?
    Resume,
    /// Does a list read tails only?
    List,
    /// Does import cost little more than parsing?
    Import,
    /// Do compactions copy what they keep?
    Compactions,
    /// Does counting cost little more than the bare tokenizer?
    Tokens,
    /// Does the next request of a long conversation cost little more than copying it?
    Prepare,
    /// Does the pipeline keep requests small, cheap and valid, and what is needed later?
    Pipeline,
    /// Does every request contain what the user said and what the model needs?
    Guarantee,
    /// Does the classifier tell who asked for what as independent readers do?
    Classify,
    /// Does search stay near the bare index, however much there is?
    Search,
    /// Does a session survive every fault at every trigger?
    Faults,
    /// Does a session of ten thousand requests stay within its window and its memory?
    Endurance,
    /// Does redaction find what it should, leave the rest alone, and cost little?
    Redact,
    /// Does what was learnt come back when it helps, and only then?
    Recall,
    /// Does memory of ten thousand things cost little more than of a thousand?
    MemoryScale,
    /// Do eight processes that write one folder of memories lose nothing?
    MemoryWriters,
    /// What does phase 1 offline cost over parsing and redacting the same bytes, and does memory stay flat?
    Phase1,
    /// Do sixteen workers on one PostgreSQL, killed and cut off, lose nothing?
    Workers,
    /// Does our agent cost several times less than Codex's, everything but the model?
    Agent,
    /// What does the proxy add to a request, and how many does it carry?
    Proxy,
    /// Does the proxy make recorded sessions cheaper without losing the provider's cache?
    ProxyReplay,
    /// Does a client ever get something else through the proxy than directly?
    ProxyFaults,
}

/// What a benchmark needs to know.
struct Setup {
    data: PathBuf,
    quick: bool,
    bytes: Vec<u64>,
    litellm: Option<PathBuf>,
    window: Option<u64>,
    requests: Option<usize>,
    labels: Option<PathBuf>,
}

fn main() -> anyhow::Result<ExitCode> {
    let cli = Cli::parse();
    if let Some(arguments) = cli.child {
        child::run(&arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    let setup = Setup {
        data: data_folder(cli.data)?,
        quick: cli.quick,
        bytes: cli.bytes,
        litellm: cli.litellm,
        window: cli.window,
        labels: cli.labels,
        requests: cli.requests,
    };
    let all = Question::value_variants();
    let questions = if cli.questions.is_empty() { all } else { &cli.questions };
    println!("data: {}{}\n", setup.data.display(), if setup.quick { "  (quick: sizes are cut)" } else { "" });
    let mut failed = 0;
    for question in questions {
        failed += match question {
            Question::Resume => resume::run(&setup)?,
            Question::List => list::run(&setup)?,
            Question::Import => import::run(&setup)?,
            Question::Compactions => compactions::run(&setup)?,
            Question::Tokens => tokens::run(&setup)?,
            Question::Prepare => prepare::run(&setup)?,
            Question::Pipeline => pipeline::run(&setup)?,
            Question::Guarantee => guarantee::run(&setup)?,
            Question::Classify => guarantee::classifier(&setup)?,
            Question::Search => search::run(&setup)?,
            Question::Faults => faults::run(&setup)?,
            Question::Endurance => endurance::run(&setup)?,
            Question::Redact => redact::run(&setup)?,
            Question::Recall => recall::run(&setup)?,
            Question::MemoryScale => memory_scale::run(&setup)? + recall::scale::run(&setup)?,
            Question::MemoryWriters => memory_writers::run(&setup)?,
            Question::Phase1 => phase1::run(&setup)?,
            Question::Workers => workers::run(&setup)?,
            Question::Agent => agent::run(&setup)?,
            Question::Proxy => proxy::run(&setup)?,
            Question::ProxyReplay => proxy_replay::run(&setup)?,
            Question::ProxyFaults => proxy_faults::run(&setup)?,
        };
        println!();
    }
    println!(
        "{}",
        if failed == 0 { "all within bounds".to_owned() } else { format!("{failed} out of bounds") }
    );
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn data_folder(given: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let candidates = match given {
        Some(given) => vec![given],
        None => vec![PathBuf::from("../shared/data"), PathBuf::from("examples")],
    };
    match candidates.iter().find(|path| path.is_dir()) {
        Some(found) => Ok(found.clone()),
        None => bail!("no data in {candidates:?}: run from the repository's root or give --data"),
    }
}

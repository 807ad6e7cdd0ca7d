//! `exec`: the agent without a terminal, for scripts and CI.

mod input;
mod output;

use crate::context::Context;
use crate::launch::{AgentFlags, models};
use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use input::{Incoming, read_lines};
use output::{Outcome, Printer};
use serde_json::json;
use std::collections::VecDeque;
use std::io::{IsTerminal, Read};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use throughline_agent::agent::{Agent, Desk, EndReason, Inbox, Said, TurnLimits};
use throughline_agent::permissions::Headless;
use throughline_agent::tools::image_block;
use throughline_core::tokens::Counter;
use throughline_engine::config::Loaded;
use throughline_model::CancelToken;

/// Run the agent without a terminal: one prompt, one answer, or a stream of both.
///
/// Nobody is asked for permission: what is not permitted is refused, and the agent is told so. After the answer, `exec` waits at most
/// `agent.finish_seconds` (60) for notes and memories that a model is writing; Ctrl-C ends that. Exit status: 0 done; 1 failed; 2 wrong
/// usage; 3 stopped by --max-turns or --max-cost, or by a hook; 130 interrupted.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  throughline exec \"why does the build fail?\"\n  throughline exec --permission-mode accept-edits --allow 'Bash(cargo test:*)' \"make the tests pass\"\n  git diff | throughline exec --output-format json \"review this\"\n  throughline exec --show-context      what a new session would be told"
)]
pub(crate) struct Exec {
    /// What the agent is to do; `-` or nothing: standard input.
    prompt: Option<String>,
    #[command(flatten)]
    flags: AgentFlags,
    /// How the outcome is printed.
    #[arg(long, value_enum, default_value_t = Format::Text, value_name = "FORMAT")]
    output_format: Format,
    /// How the input is given: a text, or a JSON object a line.
    #[arg(long, value_enum, default_value_t = InputFormat::Text, value_name = "FORMAT")]
    input_format: InputFormat,
    /// The most answers of the model in a turn.
    #[arg(long, value_name = "N")]
    max_turns: Option<usize>,
    /// The most dollars for a turn, as far as prices are known.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// A picture to show the agent. Can be given several times.
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Print what a new session would be told, part by part with tokens, and ask nobody.
    #[arg(long)]
    show_context: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// The last answer.
    Text,
    /// One object at the end.
    Json,
    /// Every event as it happens, an object a line.
    StreamJson,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum InputFormat {
    Text,
    StreamJson,
}

/// The exit status for a turn that a limit stopped.
const LIMITED: u8 = 3;
/// The exit status for a turn that was interrupted, as shells have it.
const INTERRUPTED: u8 = 130;

impl Exec {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<ExitCode> {
        if self.input_format == InputFormat::StreamJson && self.output_format != Format::StreamJson {
            bail!("--input-format stream-json goes with --output-format stream-json");
        }
        if self.max_cost.is_some_and(|most| !(most.is_finite() && most > 0.0)) || self.max_turns == Some(0) {
            bail!("--max-turns and --max-cost are to be greater than zero");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.context("cannot start the runtime")?;
        let code = runtime.block_on(self.start(context));
        // A read of standard input that nobody waits for any more must not hold the end up.
        runtime.shutdown_background();
        code
    }

    async fn start(&self, context: &Context) -> anyhow::Result<ExitCode> {
        let loaded = self.flags.config(context)?;
        if self.show_context {
            return self.print_context(context, &loaded).await;
        }
        let first = match self.input_format {
            InputFormat::Text => Some(self.prompt()?),
            InputFormat::StreamJson => self.prompt.clone().map(Said::from),
        };
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let which = self.flags.which(context, &cwd, |_| {
            bail!("-r needs a session's id here; `throughline sessions list` shows them")
        })?;
        let Some(which) = which else { return Ok(ExitCode::SUCCESS) };
        let limits = TurnLimits { steps: self.max_turns.unwrap_or(usize::MAX), cost: self.max_cost };
        let launched = self.flags.launch(context, &loaded, which, limits).await?;
        let format = if context.json && self.output_format == Format::Text {
            Format::Json
        } else {
            self.output_format
        };
        let printer = Printer::new(format);
        printer.begin(&launched.agent, &launched.warnings)?;
        let mut run = Run {
            exec: self,
            context,
            agent: launched.agent,
            printer,
            inbox: Inbox::new(),
            wishes: VecDeque::new(),
            last: None,
        };
        let result = match self.input_format {
            InputFormat::Text => {
                run.agent.expect_end();
                run.turn(first.unwrap_or_default(), &mut None).await
            }
            InputFormat::StreamJson => run.stream(first).await,
        };
        let code = run.finish(result)?;
        let patience = match run.last.as_ref().and_then(|outcome| outcome.why) {
            Some(EndReason::Interrupted) => Duration::ZERO,
            Some(_) | None => Duration::from_secs(loaded.config.agent.finish_seconds),
        };
        let stop = async {
            tokio::select! {
                () = tokio::time::sleep(patience) => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        };
        run.agent.finish("done", stop).await?;
        Ok(code)
    }

    /// The prompt: the argument, and what is piped in.
    fn prompt(&self) -> anyhow::Result<Said> {
        let stdin = std::io::stdin();
        let wants_stdin = self.prompt.as_deref().is_none_or(|prompt| prompt == "-");
        let mut piped = String::new();
        if wants_stdin || !stdin.is_terminal() {
            if wants_stdin && stdin.is_terminal() {
                bail!("nothing to do: give a prompt, or pipe one in");
            }
            stdin.lock().read_to_string(&mut piped).context("cannot read standard input as text")?;
        }
        let given = self.prompt.as_deref().filter(|prompt| *prompt != "-").unwrap_or_default();
        let text = match (given.trim().is_empty(), piped.trim().is_empty()) {
            (true, true) => bail!("nothing to do: the prompt is empty"),
            (false, true) => given.to_owned(),
            (true, false) => piped,
            (false, false) => format!("{given}\n\n{piped}"),
        };
        let beside = self.image.iter().map(|path| {
            let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            image_block(&bytes).with_context(|| format!("{} is no picture that models know", path.display()))
        });
        Ok(Said { text, beside: beside.collect::<anyhow::Result<_>>()? })
    }

    async fn print_context(&self, context: &Context, loaded: &Loaded) -> anyhow::Result<ExitCode> {
        let (brief, model, wire) = self.flags.brief(context, loaded).await?;
        for warning in &brief.warnings {
            crate::errln!("{}: {warning}", crate::output::yellow("warning"));
        }
        let mut counter = Counter::for_model(&model);
        let report = brief.assembled.show(wire, &mut counter);
        let tools = counter.text(&serde_json::to_string(&brief.tools)?);
        if context.json || self.output_format != Format::Text {
            let whole = json!({"told": report, "tools": {"count": brief.tools.len(), "tokens": tools}});
            crate::output::json(&whole)?;
        } else {
            let mut out = crate::output::data();
            write!(out, "{}", brief.assembled.to_text(wire))?;
            writeln!(
                out,
                "──── tokens, as {model} counts\n{report}{tools:>7}  tools      {} definitions",
                brief.tools.len()
            )?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// An agent that runs without a terminal.
struct Run<'a> {
    exec: &'a Exec,
    context: &'a Context,
    agent: Agent,
    printer: Printer,
    inbox: Inbox,
    /// What is to be done between turns.
    wishes: VecDeque<Incoming>,
    last: Option<Outcome>,
}

type Lines = Option<tokio::sync::mpsc::Receiver<Incoming>>;

impl Run<'_> {
    /// One turn. What comes in meanwhile, where something can, steers, queues or stops it.
    async fn turn(&mut self, said: Said, incoming: &mut Lines) -> anyhow::Result<()> {
        let cancel = CancelToken::new();
        let mode = self.agent.mode().clone();
        let desk =
            Desk { listener: &self.printer, approver: &Headless, inbox: &self.inbox, cancel: cancel.clone() };
        let ended = {
            let mut turn = std::pin::pin!(self.agent.turn(said, &desk));
            loop {
                let next = async {
                    match incoming {
                        Some(lines) => lines.recv().await,
                        None => std::future::pending().await,
                    }
                };
                tokio::select! {
                    biased;
                    ended = &mut turn => break ended,
                    _ = tokio::signal::ctrl_c() => cancel.cancel(),
                    line = next => match line {
                        Some(Incoming::Steer(text)) => self.inbox.steer(text),
                        Some(Incoming::Interrupt) => cancel.cancel(),
                        Some(Incoming::Mode(wanted)) => mode.set(wanted),
                        Some(Incoming::Wrong(why)) => self.printer.problem(&why),
                        Some(later @ (Incoming::User(_) | Incoming::Model(_) | Incoming::Compact(_))) => self.wishes.push_back(later),
                        // Nothing more will come; the turn goes on.
                        None => *incoming = None,
                    },
                }
            }
        };
        let outcome = Outcome::new(ended, &self.agent);
        self.printer.end(&outcome)?;
        self.last = Some(outcome);
        Ok(())
    }

    /// Turn after turn, as lines come in, until there are no more.
    async fn stream(&mut self, first: Option<Said>) -> anyhow::Result<()> {
        let mut incoming: Lines = Some(read_lines());
        self.wishes.extend(first.map(Incoming::User));
        loop {
            // What steered a turn that was over by then is the next one.
            let waiting = self.inbox.take_queued().map(Incoming::User).or_else(|| self.wishes.pop_front());
            let next = match (waiting, &mut incoming) {
                (Some(waiting), _) => waiting,
                (None, Some(lines)) => match lines.recv().await {
                    Some(line) => line,
                    None => return Ok(()),
                },
                (None, None) => return Ok(()),
            };
            match next {
                Incoming::User(said) => self.turn(said, &mut incoming).await?,
                Incoming::Steer(text) => self.turn(Said::from(text), &mut incoming).await?,
                Incoming::Interrupt => {}
                Incoming::Mode(mode) => self.agent.mode().set(mode),
                Incoming::Model(model) => self.switch(&model).await?,
                Incoming::Compact(focus) => self.compact(focus.as_deref()).await?,
                Incoming::Wrong(why) => self.printer.problem(&why),
            }
        }
    }

    async fn switch(&mut self, model: &str) -> anyhow::Result<()> {
        let flags = AgentFlags { model: Some(model.to_owned()), ..self.exec.flags.clone() };
        let models = match flags.config(self.context).and_then(|loaded| models(&loaded.config)) {
            Ok(models) => models,
            Err(error) => {
                self.printer.problem(&format!("{error:#}"));
                return Ok(());
            }
        };
        let desk = Desk {
            listener: &self.printer,
            approver: &Headless,
            inbox: &self.inbox,
            cancel: CancelToken::new(),
        };
        self.agent.switch_model(models, &desk).await?;
        Ok(())
    }

    async fn compact(&mut self, focus: Option<&str>) -> anyhow::Result<()> {
        let desk = Desk {
            listener: &self.printer,
            approver: &Headless,
            inbox: &self.inbox,
            cancel: CancelToken::new(),
        };
        self.agent.compact(focus, &desk).await?;
        Ok(())
    }

    /// How the process ends.
    fn finish(&self, result: anyhow::Result<()>) -> anyhow::Result<ExitCode> {
        result?;
        let Some(outcome) = &self.last else { return Ok(ExitCode::SUCCESS) };
        Ok(match outcome.why {
            None => ExitCode::FAILURE,
            Some(EndReason::Done) => ExitCode::SUCCESS,
            Some(EndReason::Truncated) => ExitCode::FAILURE,
            Some(EndReason::MaxSteps | EndReason::MaxCost | EndReason::Halted) => ExitCode::from(LIMITED),
            Some(EndReason::Interrupted) => ExitCode::from(INTERRUPTED),
        })
    }
}

//! `chat`: the agent at a terminal.

use crate::chat::{Driver, Opening};
use crate::context::Context;
use crate::launch::AgentFlags;
use crate::terminal::Look;
use crate::terminal::keys;
use crate::terminal::look::Surroundings;
use crate::terminal::screen::Screen;
use anyhow::{Context as _, bail};
use clap::Args;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::sync::Arc;
use throughline_agent::agent::TurnLimits;

/// Work with the agent at a terminal.
///
/// Without a terminal, lines of standard input are what you say, and nobody is asked for permission.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  throughline chat                       begin\n  throughline chat -c                    go on with the newest session of this folder\n  throughline chat --permission-mode plan \"how does the parser work?\""
)]
pub(crate) struct Chat {
    /// What you say first.
    prompt: Option<String>,
    #[command(flatten)]
    flags: AgentFlags,
    /// No colours. `NO_COLOR` does the same.
    #[arg(long)]
    no_color: bool,
}

impl Chat {
    pub(crate) fn run(&self, context: &Context) -> anyhow::Result<ExitCode> {
        if context.json {
            bail!("chat is for people; `throughline exec --output-format stream-json` is for programs");
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let runtime = runtime.context("cannot start the runtime")?;
        let outcome = runtime.block_on(self.start(context));
        // A read that nobody waits for any more must not hold the end up.
        runtime.shutdown_background();
        outcome
    }

    async fn start(&self, context: &Context) -> anyhow::Result<ExitCode> {
        let look = Look::of(&surroundings(self.no_color));
        let interactive = look.moves && std::io::stdin().is_terminal();
        let look = Look { moves: interactive, ..look };
        let screen = Arc::new(Screen::new(Box::new(std::io::stdout()), look, size));
        if interactive {
            keys::restore_on_panic();
            keys::restore_when_terminated();
        }
        let loaded = self.flags.config(context)?;
        let cwd = std::env::current_dir().context("cannot tell the current folder")?;
        let which = self.flags.which(context, &cwd, |sessions| {
            if sessions.is_empty() {
                bail!("there is no session of {} to go on with", cwd.display());
            }
            let picker = crate::chat::session_picker(&sessions);
            let chosen = tokio::task::block_in_place(|| match interactive {
                true => picker.run(&screen),
                false => picker.run_by_number(&screen, &mut std::io::stdin().lock()),
            })?;
            Ok(chosen.and_then(|at| sessions.get(at).map(|listed| listed.path.clone())))
        })?;
        let Some(which) = which else { return Ok(ExitCode::SUCCESS) };
        let launched = self.flags.launch(context, &loaded, which, TurnLimits::default()).await?;
        let opening = Opening {
            context,
            flags: self.flags.clone(),
            loaded,
            agent: launched.agent,
            screen,
            interactive,
        };
        Driver::new(opening).run(self.prompt.clone(), &launched.warnings).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What is known of the terminal.
fn surroundings(no_colour_asked: bool) -> Surroundings {
    let variable = |name: &str| std::env::var(name).ok();
    let filled = |name: &str| variable(name).filter(|value| !value.is_empty());
    let is_terminal = std::io::stdout().is_terminal();
    Surroundings {
        is_terminal,
        no_colour_asked,
        no_color: variable("NO_COLOR"),
        clicolor_force: variable("CLICOLOR_FORCE"),
        term: variable("TERM"),
        locale: filled("LC_ALL").or_else(|| filled("LC_CTYPE")).or_else(|| filled("LANG")),
        columns: size().filter(|_| is_terminal).map(|(columns, _)| columns),
    }
}

/// Columns and rows of the terminal now.
fn size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size()?;
    Some((usize::from(width.0), usize::from(height.0)))
}

//! Questions to whoever sits at the terminal.

use super::here::Here;
use crate::output::bold;
use std::io::{BufRead as _, IsTerminal as _, Write as _};

/// Whether somebody can be asked.
pub(super) fn can_ask(here: &Here<'_>) -> bool {
    can_ask_at(here.json())
}

/// Whether somebody can be asked, where the output is JSON or not.
pub(super) fn can_ask_at(json: bool) -> bool {
    !json && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// An answer. Whatever is not a clear yes is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Yes.
    Yes,
    /// No, and go on.
    No,
    /// No, and nothing more.
    Stop,
}

/// Asks. The end of input is a no.
pub(super) fn ask(question: &str) -> anyhow::Result<Answer> {
    write!(crate::output::stderr(), "{} ", bold(question))?;
    let mut line = String::new();
    let read = std::io::stdin().lock().read_line(&mut line)?;
    if read == 0 {
        crate::errln!();
    }
    Ok(match line.trim().to_lowercase().as_str() {
        "y" | "yes" => Answer::Yes,
        "q" | "quit" => Answer::Stop,
        _ => Answer::No,
    })
}

/// Whether to go on with what can't be taken for granted: said beforehand with `--yes`, or asked. Where nobody can be asked, wrong usage.
pub(super) fn agreed(here: &Here<'_>, question: &str, yes: bool) -> anyhow::Result<bool> {
    agreed_at(here.json(), question, yes)
}

/// The same, where the output is JSON or not.
pub(super) fn agreed_at(json: bool, question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !can_ask_at(json) {
        wrong_usage(&format!("{question} Nobody can be asked here: give --yes to do it"));
    }
    Ok(ask(&format!("{question} [y/N]"))? == Answer::Yes)
}

/// Ends the program: wrong usage.
pub(super) fn wrong_usage(message: &str) -> ! {
    crate::output::wrong_usage(message)
}

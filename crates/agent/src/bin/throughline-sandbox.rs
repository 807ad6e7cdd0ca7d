//! Cages itself, then becomes a command: see `throughline_agent::sandbox`.

use std::process::ExitCode;

fn main() -> ExitCode {
    throughline_agent::sandbox::enter(std::env::args_os().skip(1))
}

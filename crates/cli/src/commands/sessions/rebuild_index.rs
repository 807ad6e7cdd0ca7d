use crate::context::Context;
use crate::outln;
use crate::output::{self, yellow};
use serde_json::json;
use std::process::ExitCode;
use throughline_search::{Progress, Search};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions rebuild-index\n  throughline sessions rebuild-index --json"
)]
pub(crate) struct RebuildIndex {}

impl RebuildIndex {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let mut search = Search::open(&context.home)?;
        let mut ledgers = 0;
        with_bar(context, |progress| {
            search.rebuild(&mut |p| {
                ledgers = p.ledgers;
                progress(p);
            })
        })?;
        if context.json {
            output::json(&json!({ "messages": search.indexed(), "sessions": ledgers }))?;
        } else {
            let messages = output::count(search.indexed(), "message");
            outln!("Indexed {messages} of {}.", output::count(ledgers as u64, "session"));
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Brings the index up to date with the ledgers.
pub(crate) fn sync(context: &Context) -> anyhow::Result<()> {
    let mut search = Search::open(&context.home)?;
    with_bar(context, |progress| search.sync(progress))?;
    tell_notices(&mut search);
    Ok(())
}

pub(crate) fn tell_notices(search: &mut Search) {
    for notice in search.take_notices() {
        crate::errln!("{} {notice}", yellow("note:"));
    }
}

fn with_bar<T, E>(
    context: &Context,
    work: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, E>,
) -> Result<T, E> {
    let bar = output::bar(context.json, 0, "indexing");
    let done = work(&mut |progress| {
        bar.set_length(progress.bytes);
        bar.set_position(progress.bytes_done);
    });
    bar.finish_and_clear();
    done
}

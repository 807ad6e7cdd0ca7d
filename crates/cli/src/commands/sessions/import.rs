use crate::context::{Context, user_home};
use crate::outln;
use crate::output::{self, bold, dim, red, yellow};
use anyhow::Context as _;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;
use throughline_ledger::SyncPolicy;
use throughline_ledger::import::{
    Discovery, ImportOptions, ImportReport, Outcome, Places, discover, discover_in, import,
};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  throughline sessions import                    (what Claude Code and Codex have on this machine)\n  throughline sessions import ~/backup/projects --verbose"
)]
pub(crate) struct Import {
    /// Files and folders [default: ~/.claude/projects and ~/.codex/sessions, or where their variables point].
    paths: Vec<PathBuf>,
    /// Sessions too that are here by way of the proxy: as copies, imported from their transcripts.
    #[arg(long)]
    again: bool,
    /// Only look: say what would be read.
    #[arg(long)]
    dry_run: bool,
    /// Leave the search index for later.
    #[arg(long)]
    no_index: bool,
    /// File by file, and every reason why a line was left out.
    #[arg(short, long)]
    verbose: bool,
}

impl Import {
    pub(crate) fn run(self, context: &Context) -> anyhow::Result<ExitCode> {
        let found = if self.paths.is_empty() { discover(&places()) } else { discover_in(&self.paths) };
        if self.dry_run {
            return tell_found(context, &found);
        }
        let how = How { no_index: self.no_index, copies: self.again };
        let report = import_and_index(context, &found, how)?;
        if context.json {
            output::json(&report)?;
        } else {
            tell(&report, self.verbose);
        }
        // A path that was named and not read is a failure, too.
        let failed = report.files.iter().any(|file| matches!(file.outcome, Outcome::Failed(_)))
            || (!self.paths.is_empty() && !report.passed_over.is_empty());
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Where the clients of this person keep their sessions.
pub(crate) fn places() -> Places {
    let folder = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    Places {
        home: user_home(),
        claude_config_dir: folder("CLAUDE_CONFIG_DIR"),
        codex_home: folder("CODEX_HOME"),
    }
}

/// How transcripts are imported.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    /// The search index is left for later.
    pub(crate) no_index: bool,
    /// Sessions too that are here by way of the proxy.
    pub(crate) copies: bool,
}

/// Imports with a progress bar, then brings the index up to date with another.
pub(crate) fn import_and_index(
    context: &Context,
    found: &Discovery,
    how: How,
) -> anyhow::Result<ImportReport> {
    let _alone = one_at_a_time(context)?;
    let bar = output::bar(context.json, 0, "importing");
    let options = ImportOptions { policy: SyncPolicy::Turn, copies: how.copies };
    let report = import(&context.home, found, options, &mut |progress| {
        bar.set_length(progress.total);
        bar.set_position(progress.done);
        bar.set_message(format!("{}/{} files", progress.index + 1, progress.files));
    })?;
    bar.finish_and_clear();
    if !how.no_index && report.messages > 0 {
        super::rebuild_index::sync(context)?;
    }
    Ok(report)
}

/// Two imports at once would stand in each other's way: the second waits, and then finds most of it done.
fn one_at_a_time(context: &Context) -> anyhow::Result<std::fs::File> {
    let root = context.home.root();
    let mut folder = std::fs::DirBuilder::new();
    let mut options = std::fs::OpenOptions::new();
    #[cfg(unix)]
    {
        std::os::unix::fs::DirBuilderExt::mode(&mut folder, 0o700);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    folder.recursive(true).create(root).with_context(|| format!("cannot make {}", root.display()))?;
    let path = root.join("import.lock");
    let file = options.write(true).create(true).truncate(false).open(&path);
    let file = file.with_context(|| format!("cannot open {}", path.display()))?;
    if file.try_lock().is_err() {
        crate::errln!("{} another import is running; waiting for it", yellow("note:"));
        file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    }
    Ok(file)
}

fn tell_found(context: &Context, found: &Discovery) -> anyhow::Result<ExitCode> {
    if context.json {
        output::json(found)?;
        return Ok(ExitCode::SUCCESS);
    }
    let bytes: u64 = found.files.iter().filter_map(|path| path.metadata().ok()).map(|meta| meta.len()).sum();
    for path in &found.files {
        outln!("{}", path.display());
    }
    outln!("{}, {}", output::count(found.files.len() as u64, "file"), output::bytes(bytes));
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn tell(report: &ImportReport, verbose: bool) {
    let count =
        |wanted: fn(&Outcome) -> bool| report.files.iter().filter(|f| wanted(&f.outcome)).count() as u64;
    let new = count(|o| matches!(o, Outcome::Imported));
    let grown = count(|o| matches!(o, Outcome::Continued | Outcome::Replaced));
    let unchanged = count(|o| matches!(o, Outcome::Unchanged));
    let foreign = count(|o| matches!(o, Outcome::Foreign | Outcome::Empty));
    outln!(
        "{} from {} ({} new, {} grown, {} unchanged{}), {} read",
        bold(output::count(report.messages, "message")),
        output::count(report.files.len() as u64, "file"),
        new,
        grown,
        unchanged,
        if foreign > 0 { format!(", {foreign} without sessions") } else { String::new() },
        output::bytes(report.bytes),
    );
    if report.proxied > 0 {
        outln!(
            "{} here by way of the proxy already; `sessions import --again` imports them as copies",
            match report.proxied {
                1 => "1 session is".to_owned(),
                n => format!("{} sessions are", output::number(n)),
            }
        );
    }
    for file in &report.files {
        if let Outcome::Failed(why) = &file.outcome {
            outln!("  {} {}: {why}", red("failed"), file.path.display());
        }
        for bad in &file.unreadable {
            outln!("  {} {}:{}: {}", yellow("kept raw"), file.path.display(), bad.line, bad.reason);
        }
        for note in &file.notes {
            outln!("  {} {}: {note}", yellow("note"), file.path.display());
        }
        if verbose {
            let outcome = json!(file.outcome)["outcome"].as_str().unwrap_or_default().to_owned();
            outln!("  {outcome:<9} {:>6} messages  {}", file.messages, dim(file.path.display()));
        }
    }
    for passed in &report.passed_over {
        outln!("  {} {}: {}", yellow("not read"), passed.path.display(), passed.reason);
    }
    let lines: u64 = report.skipped.values().sum();
    if lines > 0 {
        let mut reasons: Vec<_> = report.skipped.iter().collect();
        reasons.sort_by(|a, b| b.1.cmp(a.1));
        let shown = if verbose { reasons.len() } else { 4 };
        let told: Vec<String> = reasons
            .iter()
            .take(shown)
            .map(|(reason, n)| format!("{} {reason}", output::number(**n)))
            .collect();
        let more = if reasons.len() > shown { ", … (--verbose shows all)" } else { "" };
        outln!("{}", dim(format!("left out {} lines: {}{more}", output::number(lines), told.join(", "))));
    }
}

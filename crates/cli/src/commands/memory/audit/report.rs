//! An audit as people read it.

use super::super::here::Here;
use super::super::print;
use super::checks::{Audited, Check, Index, Kind};
use crate::outln;
use crate::output::{self, bold, cyan, dim, green, yellow};
use throughline_memory::topics::{INDEX_BYTES, INDEX_LINES};

/// Findings of a kind that are told.
const TOLD: usize = 5;

pub(super) fn print(here: &Here<'_>, audited: &Audited, full: bool) {
    if audited.total() == 0 && audited.indexes.is_empty() {
        outln!("Nothing is remembered here yet.");
        return;
    }
    let kinds: Vec<String> = audited.by_type.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    outln!(
        "{}: {} live, {} superseded, {} expired",
        bold(print::memories(audited.total())),
        audited.live,
        audited.superseded,
        audited.expired
    );
    outln!("{}\n", dim(format!("of those that live: {}", kinds.join(", "))));
    for kind in Kind::ALL {
        if let Some(check) = audited.checks.iter().find(|check| check.kind == kind) {
            row(check);
        }
    }
    for check in audited.checks.iter().filter(|check| check.count > 0) {
        findings(here, check, full);
    }
    for index in &audited.indexes {
        tell_index(here, index, full);
    }
}

fn row(check: &Check) {
    let name = check.kind.name().replace('_', " ");
    let rate = format!("{:>5.1} %", check.rate() * 100.0);
    let counts =
        format!("{:>6} of {:<6}", output::number(check.count as u64), output::number(check.of as u64));
    let mark = if check.count == 0 { green("✓") } else { yellow("!") };
    let name = output::pad(&name, 13);
    outln!("{mark} {name} {counts} {rate}  {}", dim(check.kind.meaning()));
}

fn findings(here: &Here<'_>, check: &Check, full: bool) {
    let width = output::width();
    outln!("\n{}  {}", bold(check.kind.name().replace('_', " ")), dim(here.command(check.kind.remedy())));
    let shown = if full { check.findings.len() } else { TOLD.min(check.findings.len()) };
    for finding in check.findings.iter().take(shown) {
        let ids: Vec<String> = finding.ids.iter().map(|id| print::line(&id.to_string())).collect();
        let what = print::line(&finding.what);
        if let [id] = ids.as_slice() {
            print::titled("  ", id, (&what, ""));
        } else {
            for id in &ids {
                outln!("  {}", cyan(id));
            }
            outln!("    {}", dim(output::fit(&what, width.saturating_sub(4))));
        }
    }
    let hidden = check.findings.len() - shown;
    if hidden > 0 {
        outln!("  {}", dim(format!("… and {hidden} more (--full shows them)")));
    }
}

fn tell_index(here: &Here<'_>, index: &Index, full: bool) {
    outln!(
        "\n{}  {}",
        bold(format!("index of tier {}", index.tier)),
        dim(format!(
            "{} in {}; {} of {INDEX_LINES} lines, {} KB at most",
            print::memories(index.memories),
            output::bytes(index.bytes),
            index.lines,
            INDEX_BYTES / 1000
        ))
    );
    outln!("  {}", dim(print::line(&index.folder.to_string_lossy())));
    if index.is_in_order() {
        outln!("  {} in order", green("✓"));
        return;
    }
    let parts = [
        ("have no line", &index.missing),
        ("have a line and are gone or over", &index.dangling),
        ("have to give way, for it is full", &index.evicted),
    ];
    for (what, files) in parts.into_iter().filter(|(_, files)| !files.is_empty()) {
        let shown = if full { files.len() } else { TOLD };
        let names: Vec<String> = files.iter().take(shown).map(|file| print::line(file)).collect();
        let more = files.len().saturating_sub(shown);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let text = format!("{} {what}: {}{more}", files.len(), names.join(", "));
        for (at, row) in print::paragraphs(&text, "    ", output::width()).iter().enumerate() {
            outln!(
                "{}",
                if at == 0 { row.replacen("    ", &format!("  {} ", yellow("!")), 1) } else { row.clone() }
            );
        }
    }
    outln!("  {}", dim(format!("{} puts it in order", here.command("audit --fix"))));
}

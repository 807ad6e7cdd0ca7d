//! Does redaction find what it should, leave the rest alone, and cost little?
//!
//! Recall and mistakes on the labelled corpus of `throughline_testkit::secrets`, by kind, on seeds that the tests do not use. Cost on the
//! texts of the recorded sessions: against copying the text with one search for a byte, and against the same patterns each run
//! over the whole text. How cost grows: eight times the text, and the same as one line of JSON. What is masked in the recorded sessions
//! is printed place by place: almost all of it would be a mistake.

use crate::measure::{alternate, mb, ratio, verdict, verdict_at_least};
use crate::{Setup, corpus};
use regex::bytes::{Regex, RegexBuilder};
use std::collections::BTreeMap;
use std::hint::black_box;
use throughline_redact::{Redactor, patterns, redact};
use throughline_testkit::secrets::{look_alikes, secrets};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("redact: secrets found, mistakes, and cost");
    let each = if setup.quick { 4 } else { 40 };
    hits(setup)?;
    Ok(found(each) + mistakes(each * 10) + cost(setup)?)
}

/// How many secrets go, by kind.
fn found(each: usize) -> usize {
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for sample in secrets(2_026, each) {
        let redacted = redact(&sample.text);
        let [gone, exact, all] = kinds.entry(sample.kind).or_default();
        *gone += usize::from(!sample.leaks(redacted.text()));
        *exact += usize::from(sample.is_exact(redacted.text()));
        *all += 1;
    }
    println!("  secrets by kind: recall, and how often nothing else went");
    let mut sum = [0; 3];
    for (kind, [gone, exact, all]) in &kinds {
        println!("    {kind:28} {:.4}  {:.4}  of {all}", share(*gone, *all), share(*exact, *all));
        for (sum, part) in sum.iter_mut().zip([gone, exact, all]) {
            *sum += part;
        }
    }
    let [gone, exact, all] = sum;
    verdict_at_least(&format!("recall of {all}"), share(gone, all), 0.995)
        + verdict_at_least("nothing else went", share(exact, all), 0.97)
}

/// How many texts without a secret are changed, by kind.
fn mistakes(each: usize) -> usize {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for sample in look_alikes(2_026, each) {
        let (taken, all) = kinds.entry(sample.kind).or_default();
        *taken += usize::from(!redact(&sample.text).is_clean());
        *all += 1;
    }
    println!("  look-alikes by kind: changed by mistake");
    for (kind, (taken, all)) in &kinds {
        println!("    {kind:28} {:.4}  of {all}", share(*taken, *all));
    }
    let (taken, all) = kinds.values().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
    verdict(&format!("mistakes in {all}"), 100.0 * share(taken, all), 0.5, " %")
}

/// Prints every distinct hit in the recorded sessions, to be read: almost all of them would be mistakes.
fn hits(setup: &Setup) -> anyhow::Result<()> {
    let texts = corpus::texts(&setup.data, if setup.quick { 2 << 20 } else { usize::MAX })?;
    let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let mut hits: BTreeMap<String, usize> = BTreeMap::new();
    for text in &texts {
        let redacted = redact(text);
        if redacted.is_clean() {
            continue;
        }
        for line in redacted.text().lines() {
            for (at, _) in line.match_indices("[redacted:") {
                let start = line.floor_char_boundary(at.saturating_sub(60));
                let end = line.ceil_char_boundary((at + 60).min(line.len()));
                *hits.entry(line[start..end].to_owned()).or_default() += 1;
            }
        }
    }
    println!("  masked in {:.1} MB of recorded sessions: {} places", mb(bytes), hits.values().sum::<usize>());
    for (hit, times) in &hits {
        println!("    {times:4}× {hit}");
    }
    Ok(())
}

fn cost(setup: &Setup) -> anyhow::Result<usize> {
    let texts = corpus::texts(&setup.data, if setup.quick { 2 << 20 } else { 16 << 20 })?;
    let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let runs = if setup.quick { 3 } else { 7 };

    let (ours, copy) = alternate(
        runs,
        || {
            texts.iter().for_each(|text| drop(black_box(redact(text))));
            Ok(())
        },
        || {
            for text in &texts {
                black_box(memchr::memchr(0, text.as_bytes()));
                black_box(text.clone());
            }
            Ok(())
        },
    )?;
    println!(
        "  {:.0} MB/s; a copy takes {:.1} ms, redaction {:.1} ms",
        mb(bytes) / ours.as_secs_f64(),
        ms(copy),
        ms(ours)
    );
    let mut failed = verdict("against a copy", ratio(ours, copy), 60.0, "×");

    // The same patterns without keywords and lines, on a part: it is slow.
    let part: Vec<&String> = texts.iter().take((texts.len() / 16).max(1)).collect();
    let regexes: Vec<Regex> = patterns()
        .filter_map(|(_, pattern)| RegexBuilder::new(pattern).unicode(false).multi_line(true).build().ok())
        .collect();
    let (ours, naive) = alternate(
        runs.min(3),
        || {
            part.iter().for_each(|text| drop(black_box(redact(text))));
            Ok(())
        },
        || {
            for text in &part {
                for regex in &regexes {
                    black_box(regex.find_iter(text.as_bytes()).count());
                }
            }
            Ok(())
        },
    )?;
    println!("  every pattern over every text: {:.1} ms, ours {:.1} ms", ms(naive), ms(ours));
    failed += verdict("against every pattern over every text", ratio(ours, naive), 0.25, "×");

    let small: String = texts.iter().flat_map(|text| [text.as_str(), "\n"]).collect();
    let small = throughline_core::text::head(&small, if setup.quick { 1 << 18 } else { 1 << 20 });
    let large = small.repeat(8);
    let (long, short) = alternate(
        runs,
        || {
            black_box(redact(&large));
            Ok(())
        },
        || {
            black_box(redact(small));
            Ok(())
        },
    )?;
    failed += verdict("eight times the text", ratio(long, short), 12.0, "×");

    let line = serde_json::to_string(small)?;
    let (one_line, lines) = alternate(
        runs,
        || {
            black_box(redact(&line));
            Ok(())
        },
        || {
            black_box(redact(small));
            Ok(())
        },
    )?;
    failed += verdict("the same in one line, as JSON", ratio(one_line, lines), 4.0, "×");

    let (chunks, whole) = alternate(
        runs,
        || {
            let mut redactor = Redactor::new();
            for chunk in small.as_bytes().chunks(4_096) {
                black_box(redactor.push(chunk));
            }
            black_box(redactor.finish());
            Ok(())
        },
        || {
            black_box(redact(small));
            Ok(())
        },
    )?;
    Ok(failed + verdict("in chunks of 4 KB, against one piece", ratio(chunks, whole), 2.5, "×"))
}

fn share(part: usize, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}

fn ms(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

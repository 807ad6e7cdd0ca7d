//! Does counting cost little more than the bare tokenizer?
//!
//! Every text of the recorded sessions counted through `Counter`, against the bare tokenizer on the same texts; then the
//! same again, when all of it is cached; then the estimator for models without a public table.

use crate::measure::{alternate, mb, ratio, time, verdict};
use crate::{Setup, corpus};
use throughline_core::tokens::{Counter, Tokenizer};
use throughline_core::{Message, Role};

pub(crate) fn run(setup: &Setup) -> anyhow::Result<usize> {
    println!("tokens: counting messages, against the bare tokenizer");
    let limit = if setup.quick { 2 << 20 } else { 16 << 20 };
    let texts = corpus::texts(&setup.data, limit)?;
    let bytes: u64 = texts.iter().map(|text| text.len() as u64).sum();
    let messages: Vec<Message> = texts.iter().map(|text| Message::text(Role::User, text.as_str())).collect();
    let bare = tiktoken::get_encoding("o200k_base").ok_or_else(|| anyhow::anyhow!("no o200k table"))?;
    let (ours, baseline) = alternate(
        5,
        || {
            std::hint::black_box(Counter::for_model("gpt-5").view(&messages).total());
            Ok(())
        },
        || {
            std::hint::black_box(texts.iter().map(|text| bare.count(text)).sum::<usize>());
            Ok(())
        },
    )?;
    println!("  {ours:.2?} against {baseline:.2?} for {:.1} MB", mb(bytes));
    let mut failed = verdict("first count", ratio(ours, baseline), 1.5, "×");

    let mut counter = Counter::for_model("gpt-5");
    counter.view(&messages);
    let again = time(&mut || {
        std::hint::black_box(counter.view(&messages).total());
        Ok(())
    })?;
    println!("  counted again: {again:.2?}");
    failed += verdict("again, from the cache", ratio(again, baseline), 0.25, "×");

    let claude = Tokenizer::for_model("claude-opus-4-5");
    let estimate = time(&mut || {
        std::hint::black_box(texts.iter().map(|text| claude.count(text)).sum::<u64>());
        Ok(())
    })?;
    println!("  estimator: {estimate:.2?}, {:.0} MB/s", mb(bytes) / estimate.as_secs_f64());
    Ok(failed + verdict("estimate", ratio(estimate, baseline), 1.0, "×"))
}

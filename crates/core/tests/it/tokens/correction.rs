//! Predictions corrected by reported usage.

use super::{CLAUDE, GPT};
use proptest::prelude::*;
use throughline_core::Usage;
use throughline_core::tokens::{Correction, Corrections};

fn usage(prompt: u64) -> Usage {
    Usage { input: 5, cache_read: prompt - 5, ..Usage::default() }
}

#[test]
fn w3_without_a_report_the_count_stands() {
    assert_eq!(Correction::default().estimate(1_234), 1_234);
    assert_eq!(Corrections::default().estimate(CLAUDE, 1_234), 1_234);
    let mut correction = Correction::default();
    correction.observe(1_234, &Usage::default());
    assert!(!correction.is_informed(), "a report of nothing is no report");
}

#[test]
fn w3_the_first_report_tells_what_was_not_counted() {
    let mut correction = Correction::default();
    correction.observe(500, &usage(20_500));
    assert_eq!(correction.estimate(500), 20_500);
    assert_eq!(correction.offset(), 20_000);
    assert_eq!(correction.estimate(1_500), 21_500);
}

#[test]
fn w3_one_odd_report_moves_only_the_offset() {
    let mut correction = Correction::default();
    for n in 1..10 {
        correction.observe(n * 1_000, &usage(20_000 + n * 1_000));
    }
    // The client slipped in 9,000 tokens that were not recorded.
    correction.observe(10_000, &usage(39_000));
    assert!((correction.ratio() - 1.0).abs() < 1e-9);
    assert_eq!(correction.estimate(11_000), 40_000);
}

#[test]
fn w3_another_conversation_keeps_the_ratio() {
    let mut corrections = Corrections::default();
    for n in 1..10 {
        corrections.observe(CLAUDE, n * 1_000, &usage(20_000 + n * 1_250));
    }
    corrections.restart();
    corrections.observe(CLAUDE, 100_000, &usage(130_000));
    assert_eq!(corrections.get(CLAUDE).map(Correction::ratio), Some(1.25));
    assert_eq!(corrections.estimate(CLAUDE, 101_000), 131_250);
    assert_eq!(corrections.estimate(GPT, 7), 7, "models do not mix");
}

#[test]
fn w3_a_correction_survives_being_stored() {
    let mut corrections = Corrections::default();
    for n in 1..100 {
        corrections.observe(CLAUDE, n * 1_000, &usage(9_000 + n * 1_100));
    }
    corrections.restart();
    let stored = serde_json::to_string(&corrections).unwrap();
    assert!(stored.len() < 2_000, "bounded: {} bytes", stored.len());
    assert_eq!(serde_json::from_str::<Corrections>(&stored).unwrap(), corrections);
}

proptest! {
    /// Counts that are off by a factor, noise of a tenth in each step, and a system prompt we can't see.
    #[test]
    fn w3_after_a_few_reports_the_next_prompt_is_predicted_within_three_percent(
        factor in 0.7..1.5f64,
        unseen in 5_000..40_000u64,
        steps in proptest::collection::vec((300..4_000u64, -0.1..0.1f64), 12..40),
    ) {
        let mut correction = Correction::default();
        let (mut counted, mut real) = (0, unseen as f64);
        for (n, (tokens, noise)) in steps.into_iter().enumerate() {
            counted += tokens;
            real += tokens as f64 * factor * (1.0 + noise);
            if n >= 8 {
                let error = correction.estimate(counted) as f64 / real - 1.0;
                prop_assert!(error.abs() < 0.03, "{error}");
            }
            correction.observe(counted, &usage(real as u64));
        }
    }

    #[test]
    fn w3_no_report_makes_an_estimate_absurd(reports in proptest::collection::vec((0..1u64 << 40, 10..1u64 << 40), 0..50)) {
        let mut correction = Correction::default();
        for (counted, reported) in reports {
            correction.observe(counted, &usage(reported));
            prop_assert!((0.5..=2.0).contains(&correction.ratio()));
            prop_assert_eq!(correction.estimate(counted), reported);
        }
    }
}

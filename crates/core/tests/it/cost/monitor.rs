use throughline_core::cost::{Alert, CacheMonitor, Expected, Price, Prices, StageEffect, Ttl};
use throughline_core::{Stage, Usage};

fn usage(read: u64, write: u64) -> Usage {
    Usage { cache_read: read, cache_write: write, ..Usage::default() }
}

fn expected(read: u64, added: u64) -> Expected {
    Expected { prompt: read + added, read, added, ..Expected::default() }
}

fn sonnet() -> Price {
    Prices::builtin().of("claude-sonnet-4-5")
}

#[test]
fn b9_a_cache_that_does_as_predicted_is_not_mentioned() {
    let mut monitor = CacheMonitor::default();
    for _ in 0..10 {
        monitor.sent(expected(80_000, 1_000));
        let observed = monitor.answered(&usage(80_000, 1_000), &sonnet(), Ttl::Short);
        assert_eq!((observed.predicted, observed.actual), (80_000, 80_000));
        assert!(observed.alerts.is_empty());
    }
}

#[test]
fn b9_a_loss_that_no_edit_explains_raises_an_alarm() {
    let mut monitor = CacheMonitor::default();
    monitor.sent(expected(80_000, 1_000));
    monitor.answered(&usage(80_000, 1_000), &sonnet(), Ttl::Short);
    monitor.sent(expected(81_000, 1_000));
    let observed = monitor.answered(&usage(20_000, 62_000), &sonnet(), Ttl::Short);
    let [alert @ Alert::CacheLost { predicted: 81_000, actual: 20_000, cost }] = &observed.alerts[..] else {
        panic!("{observed:?}")
    };
    // 61,000 tokens at 1.15 × $3 a million.
    assert_eq!(cost.to_string(), "$0.21");
    assert!(alert.to_string().contains("20000 tokens where 81000 were expected"), "{alert}");
}

#[test]
fn b9_an_expected_drop_raises_none() {
    let mut monitor = CacheMonitor::default();
    monitor.sent(expected(80_000, 1_000));
    monitor.answered(&usage(80_000, 1_000), &sonnet(), Ttl::Short);
    // After a compaction.
    let edits = vec![StageEffect { stage: Stage::Autocompact, freed: 50_000 }];
    monitor.sent(Expected { edits, ..expected(20_000, 12_000) });
    assert!(monitor.answered(&usage(20_000, 12_000), &sonnet(), Ttl::Short).alerts.is_empty());
    // After the cache expired: nothing was predicted to be read.
    monitor.sent(Expected { prompt: 33_000, cold: true, ..Expected::default() });
    assert!(monitor.answered(&usage(0, 33_000), &sonnet(), Ttl::Short).alerts.is_empty());
}

#[test]
fn b9_a_small_shortfall_and_another_scale_of_counting_raise_none() {
    let mut monitor = CacheMonitor::default();
    monitor.sent(expected(100_000, 1_000));
    assert!(monitor.answered(&usage(96_000, 5_000), &sonnet(), Ttl::Short).alerts.is_empty());
    // The provider counts a third more than we do, throughout.
    monitor.sent(expected(90_000, 9_000));
    let observed = monitor.answered(&usage(120_000, 12_000), &sonnet(), Ttl::Short);
    assert_eq!(observed.predicted, 120_000);
    assert!(observed.alerts.is_empty());
}

#[test]
fn b9_a_provider_that_reports_no_cache_is_not_accused_of_losing_it() {
    let mut monitor = CacheMonitor::default();
    for _ in 0..5 {
        monitor.sent(expected(80_000, 1_000));
        let plain = Usage { input: 81_000, ..Usage::default() };
        assert!(monitor.answered(&plain, &sonnet(), Ttl::Short).alerts.is_empty());
    }
}

/// A session in which a stage frees so much before every so many requests, at the cost of 50,000 tokens written again.
fn session(monitor: &mut CacheMonitor, freed: u64, every: u64, requests: u64) -> Vec<Alert> {
    let mut alerts = Vec::new();
    for request in 0..requests {
        let (sent, answer) = if request % every == 0 {
            let edits = vec![StageEffect { stage: Stage::Microcompact, freed }];
            (Expected { prompt: 81_000, edits, ..expected(30_000, 1_000) }, usage(30_000, 51_000))
        } else {
            (expected(80_000, 1_000), usage(80_000, 1_000))
        };
        monitor.sent(sent);
        alerts.extend(monitor.answered(&answer, &sonnet(), Ttl::Short).alerts);
    }
    alerts
}

#[test]
fn b9_a_stage_that_keeps_losing_money_is_reported_once_with_figures() {
    let mut monitor = CacheMonitor::default();
    let alerts = session(&mut monitor, 2_000, 4, 100);
    let [alert @ Alert::StageLoses { stage: Stage::Microcompact, passes: 5, saved, lost, cost }] =
        &alerts[..]
    else {
        panic!("{alerts:?}")
    };
    assert!((lost - 5.0 * 57_500.0).abs() < 1e-6, "{lost}");
    // The sixth pass brings the verdict: the five before it were in force for 21, 17, 13, 9 and 5 requests.
    assert!((saved - 200.0 * 65.0).abs() < 1e-6, "{saved}");
    assert_eq!(cost.to_string(), "$0.82");
    assert!(alert.to_string().contains("Microcompact loses money"), "{alert}");
}

#[test]
fn b9_a_stage_that_earns_its_keep_is_not_reported() {
    let mut monitor = CacheMonitor::default();
    assert_eq!(session(&mut monitor, 60_000, 20, 400), []);
    let (saved, lost) = monitor.balance(Stage::Microcompact, &sonnet()).unwrap();
    assert!(saved > lost, "{saved} {lost}");
    assert_eq!(monitor.balance(Stage::Collapse, &sonnet()), None);
}

#[test]
fn b9_stages_share_one_reset_by_what_they_freed() {
    let mut monitor = CacheMonitor::default();
    for _ in 0..2 {
        let edits = vec![
            StageEffect { stage: Stage::Budget, freed: 30_000 },
            StageEffect { stage: Stage::Collapse, freed: 10_000 },
        ];
        monitor.sent(Expected { prompt: 61_000, edits, ..expected(20_000, 1_000) });
        let observed = monitor.answered(&usage(20_000, 41_000), &sonnet(), Ttl::Short);
        assert_eq!(observed.rewritten, 40_000);
    }
    let lost = |stage| monitor.balance(stage, &sonnet()).unwrap().1;
    assert!((lost(Stage::Budget) - 34_500.0).abs() < 1e-6);
    assert!((lost(Stage::Collapse) - 11_500.0).abs() < 1e-6);
}

#[test]
fn b9_edits_in_the_cold_lose_nothing_and_a_new_view_ends_what_they_save() {
    let mut monitor = CacheMonitor::default();
    let send = |monitor: &mut CacheMonitor, stage, freed, cold| {
        let edits = vec![StageEffect { stage, freed }];
        monitor.sent(Expected { prompt: 40_000, cold, edits, ..Expected::default() });
        monitor.answered(&usage(0, 40_000), &sonnet(), Ttl::Short)
    };
    assert_eq!(send(&mut monitor, Stage::Microcompact, 10_000, true).rewritten, 0);
    // Two requests later a compaction replaces everything; ten more follow.
    monitor.sent(expected(40_000, 0));
    monitor.answered(&usage(40_000, 0), &sonnet(), Ttl::Short);
    send(&mut monitor, Stage::Autocompact, 20_000, false);
    for _ in 0..10 {
        monitor.sent(expected(40_000, 0));
        monitor.answered(&usage(40_000, 0), &sonnet(), Ttl::Short);
    }
    send(&mut monitor, Stage::Microcompact, 1, true);
    let (saved, lost) = monitor.balance(Stage::Microcompact, &sonnet()).unwrap();
    assert_eq!(lost, 0.0);
    // Written once less at 1.25, then read twice less at 0.1.
    assert!((saved - (12_500.0 + 2.0 * 1_000.0)).abs() < 1e-6, "{saved}");
}

#[test]
fn b9_an_unanswered_request_passes_its_edits_on() {
    let mut monitor = CacheMonitor::default();
    let edits = vec![StageEffect { stage: Stage::Autocompact, freed: 50_000 }];
    monitor.sent(Expected { edits, ..expected(20_000, 1_000) });
    // The provider was overloaded; the same request once more, with nothing new.
    let stored = serde_json::to_string(&monitor).unwrap();
    let mut monitor: CacheMonitor = serde_json::from_str(&stored).unwrap();
    monitor.sent(expected(20_000, 1_000));
    let observed = monitor.answered(&usage(20_000, 31_000), &sonnet(), Ttl::Short);
    assert!(observed.alerts.is_empty() && observed.rewritten > 25_000, "{observed:?}");
    assert_eq!(monitor.answered(&usage(1, 1), &sonnet(), Ttl::Short), Default::default());
}

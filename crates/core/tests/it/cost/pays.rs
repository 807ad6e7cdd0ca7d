use proptest::prelude::*;
use throughline_core::cost::{
    Bounds, CacheSim, Horizon, Pace, Pass, Piece, Price, Prices, Request, Sawtooth, Ttl,
};

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * (1.0 + a.abs().max(b.abs()))
}

#[test]
fn b9_a_warm_cache_is_worth_more_than_a_few_tokens() {
    let price = Prices::builtin().of("claude-opus-4-5");
    // Early in the context: 100,000 tokens stand behind a result of 1,000.
    let pass = Pass { before: 20_000, rewritten: 100_000, freed: 1_000, ..Pass::default() };
    let verdict = pass.judge(&price, Ttl::Short, 30);
    assert!(!verdict.pays);
    assert!(close(verdict.saved, 30.0 * 100.0 - 115_000.0));
    assert_eq!(verdict.dollars.to_string(), "-$0.56");
    assert_eq!(verdict.break_even, Some(1_151));
    assert_eq!(
        verdict.reason,
        "would lose 112,000 weighted tokens ($0.56) over 30 requests: to free 1,000 tokens, 100,000 must be written \
         again, which pays from request 1,151 on"
    );
}

#[test]
fn b9_a_cold_cache_makes_every_freed_token_a_gain() {
    let price = Prices::builtin().of("claude-opus-4-5");
    let pass = Pass { before: 20_000, rewritten: 100_000, freed: 1_000, cold: true, making: 0.0 };
    let verdict = pass.judge(&price, Ttl::Short, 30);
    assert!(verdict.pays);
    assert!(close(verdict.saved, 1_250.0 + 29.0 * 100.0));
    assert_eq!(verdict.break_even, Some(1));
    assert!(verdict.reason.contains("the cache has expired"), "{}", verdict.reason);
}

#[test]
fn b9_a_large_pass_pays_after_some_requests() {
    let price = Price::unknown();
    let pass = Pass { before: 27_000, rewritten: 20_000, freed: 60_000, ..Pass::default() };
    // 23,000 lost against 6,000 a request.
    assert_eq!(pass.judge(&price, Ttl::Short, 3).break_even, Some(4));
    assert!(!pass.judge(&price, Ttl::Short, 3).pays);
    let verdict = pass.judge(&price, Ttl::Short, 4);
    assert!(verdict.pays && close(verdict.saved, 1_000.0));
    assert_eq!(
        verdict.reason,
        "saves 1,000 weighted tokens over 4 requests: freeing 60,000 tokens outweighs writing 20,000 again from request 4 on"
    );
    // The dearer writes of the long lifetime take longer to come back: 38,000 against 6,000.
    assert_eq!(pass.judge(&price, Ttl::Long, 4).break_even, Some(7));
    // A summary that costs a full read and 3,000 tokens of output five times as dear as input.
    let made = Pass { making: 10_700.0 + 15_000.0, ..pass };
    assert_eq!(made.judge(&price, Ttl::Short, 4).break_even, Some(9));
}

#[test]
fn b9_what_frees_nothing_never_pays() {
    let price = Price::unknown();
    for cold in [false, true] {
        let verdict =
            Pass { before: 9, rewritten: 9, cold, ..Pass::default() }.judge(&price, Ttl::Short, 100);
        assert!(!verdict.pays);
        assert_eq!(verdict.reason, "frees nothing");
    }
    let none = Pass { before: 9, freed: 9, ..Pass::default() }.judge(&price, Ttl::Short, 0);
    assert!(!none.pays, "no request, no saving");
}

#[test]
fn b9_leaving_a_dearer_tariff_counts() {
    let price = Prices::builtin().of("gpt-5.5");
    let pass = Pass { before: 200_000, rewritten: 60_000, freed: 20_000, ..Pass::default() };
    // Untouched 280,000 tokens at twice the price: 56,000 a request. With the pass 26,000, and 80,000 at first.
    let verdict = pass.judge(&price, Ttl::Short, 2);
    assert!(close(verdict.saved, (56_000.0 - 80_000.0) + (56_000.0 - 26_000.0)));
    assert!(verdict.pays);
}

#[test]
fn b9_the_rest_of_a_session_is_as_long_as_its_past_within_limits() {
    let horizon = Horizon { floor: 20, cap: 150 };
    let mut pace = Pace::default();
    let mut seen = Vec::new();
    for request in 1..=200u64 {
        pace.request(20_000 + request * 1_000);
        seen.push(pace.remaining(horizon));
    }
    assert_eq!((seen[0], seen[19], seen[79], seen[199]), (20, 20, 80, 150));
    assert!(seen.is_sorted());
    assert!(close(pace.growth(), 1_000.0));
    assert_eq!(pace.requests(), 200);
    assert_eq!(pace.requests_until_grown_by(10_500), Some(11));
    assert_eq!(Pace::default().requests_until_grown_by(10_500), None);
}

#[test]
fn b9_growth_is_learnt_without_the_compactions() {
    let mut pace = Pace::default();
    let mut size = 30_000;
    for request in 0..100 {
        if request % 10 == 9 {
            size = 30_000;
            pace.edited(size);
        }
        size += 2_000;
        pace.request(size);
    }
    assert!(close(pace.growth(), 2_000.0), "{}", pace.growth());
    // A drop that nobody announced is no negative growth.
    pace.request(10);
    assert!(close(pace.growth(), 2_000.0));
    // What is recent counts more.
    for _ in 0..64 {
        size += 500;
        pace.edited(size - 500);
        pace.request(size);
    }
    assert!(pace.growth() < 800.0, "{}", pace.growth());
    let stored = serde_json::to_string(&pace).unwrap();
    assert_eq!(serde_json::from_str::<Pace>(&stored).unwrap(), pace);
}

#[test]
fn b9_the_cheapest_threshold_by_hand() {
    let price = Price::unknown();
    let saw = Sawtooth { fixed: 27_000, after: 15_000, growth: 1_500.0, making: 0.0 };
    // √(2 × 1.15 × 15,000 / 150) = √230 = 15.166 requests of 1,500 tokens.
    let best = saw.best_threshold(&price, Ttl::Short, Bounds { floor: 0, ceiling: 187_000 });
    assert_eq!(best.at, 42_000 + 22_749);
    assert_eq!(best.cheapest, Some(best.at));
    assert!(close(best.requests, 22_749.0 / 1_500.0));
    // 17,250 / n + 0.1 × (42,000 + 1,500 (n − 1) / 2) + 1,875
    assert!((best.weight - (1_137.4 + 4_200.0 + 1_062.4 + 1_875.0)).abs() < 1.0, "{}", best.weight);
    // A floor for the sake of quality, a ceiling for the window.
    let kept = saw.best_threshold(&price, Ttl::Short, Bounds { floor: 90_000, ceiling: 187_000 });
    assert_eq!((kept.at, kept.cheapest), (90_000, Some(64_749)));
    assert!(kept.weight > best.weight);
    let cut = saw.best_threshold(&price, Ttl::Short, Bounds { floor: 0, ceiling: 50_000 });
    assert_eq!(cut.at, 50_000);
    // A context that does not grow is never worth compacting.
    let still = Sawtooth { growth: 0.0, ..saw };
    let never = still.best_threshold(&price, Ttl::Short, Bounds { floor: 0, ceiling: 187_000 });
    assert_eq!((never.at, never.cheapest), (187_000, None));
    assert!(close(never.weight, 4_200.0));
}

#[test]
fn b9_the_threshold_stays_below_a_dearer_tariff() {
    let price = Prices::builtin().of("claude-haiku-5-5");
    let saw = Sawtooth { fixed: 20_000, after: 40_000, growth: 5_000.0, making: 40_000.0 };
    let best = saw.best_threshold(&price, Ttl::Short, Bounds { floor: 0, ceiling: 900_000 });
    assert_eq!(best.at, 100_000);
}

/// Compaction at a threshold, simulated, per request.
fn simulated(saw: &Sawtooth, at: u64) -> f64 {
    let mut sim = CacheSim::new(Price::unknown(), Ttl::Never);
    let growth = saw.growth as u64;
    let mut line = vec![Piece { key: 0, tokens: saw.fixed }, Piece { key: 1, tokens: saw.after }];
    let mut next = 2;
    for _ in 0..4_000 {
        let size: u64 = line.iter().map(|piece| piece.tokens).sum();
        if size + growth > at {
            line.truncate(1);
            line.push(Piece { key: next, tokens: saw.after });
        }
        line.push(Piece { key: next + 1, tokens: growth });
        next += 2;
        sim.push(&Request::whole(&line));
    }
    sim.totals().weight / 4_000.0
}

#[test]
fn b9_the_cheapest_threshold_is_cheapest_in_the_simulator() {
    for saw in [
        Sawtooth { fixed: 20_000, after: 10_000, growth: 1_000.0, making: 0.0 },
        Sawtooth { fixed: 12_000, after: 30_000, growth: 2_500.0, making: 0.0 },
    ] {
        let best = saw.best_threshold(&Price::unknown(), Ttl::Never, Bounds { floor: 0, ceiling: 1_000_000 });
        let least = simulated(&saw, best.at);
        for factor in [0.6, 0.8, 1.5, 2.0, 4.0] {
            let other = saw.fixed + saw.after + ((best.at - saw.fixed - saw.after) as f64 * factor) as u64;
            assert!(simulated(&saw, other) > least, "{other} against {}", best.at);
        }
        assert!((simulated(&saw, best.at) / best.weight - 1.0).abs() < 0.02, "{least} {}", best.weight);
    }
}

proptest! {
    /// The formula and the simulator are two ways to the same figure.
    #[test]
    fn b9_the_verdict_is_what_the_simulator_bills(
        before in 2_000..60_000u64, rewritten in 0..80_000u64, freed in 1..80_000u64, requests in 1..40u64, cold in any::<bool>(),
    ) {
        let price = Prices::builtin().of("claude-sonnet-4-5");
        let piece = |key, tokens| Piece { key, tokens };
        let untouched = [piece(1, before), piece(2, freed), piece(3, rewritten)];
        let edited = [piece(1, before), piece(3, rewritten)];
        let run = |line: &[Piece]| {
            let mut sim = CacheSim::new(price.clone(), Ttl::Never);
            if !cold { sim.push(&Request::whole(&untouched)); }
            let start = sim.totals().weight;
            for _ in 0..requests { sim.push(&Request::whole(line)); }
            sim.totals().weight - start
        };
        let verdict = Pass { before, rewritten, freed, cold, making: 0.0 }.judge(&price, Ttl::Never, requests);
        prop_assert!(close(verdict.saved, run(&untouched) - run(&edited)));
        prop_assert_eq!(verdict.pays, verdict.saved > 0.0);
        prop_assert_eq!(verdict.pays, verdict.break_even.is_some_and(|even| requests >= even));
    }

    #[test]
    fn b9_more_requests_and_more_freed_never_save_less(
        before in 0..60_000u64, rewritten in 0..80_000u64, freed in 0..80_000u64, more in 0..50_000u64, requests in 1..200u64,
    ) {
        let price = Price::unknown();
        let pass = Pass { before, rewritten, freed, ..Pass::default() };
        let saved = pass.judge(&price, Ttl::Short, requests).saved;
        prop_assert!(pass.judge(&price, Ttl::Short, requests + 1).saved >= saved - 1e-6);
        let wider = Pass { freed: freed + more, ..pass };
        prop_assert!(wider.judge(&price, Ttl::Short, requests).saved >= saved - 1e-6);
        let heavier = Pass { rewritten: rewritten + more, ..pass };
        prop_assert!(heavier.judge(&price, Ttl::Short, requests).saved <= saved + 1e-6);
    }
}

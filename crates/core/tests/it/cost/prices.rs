use proptest::prelude::*;
use throughline_core::Usage;
use throughline_core::cost::{Dollars, Price, Prices, Rate, Ttl};

#[test]
fn b9_the_builtin_list_is_read_and_says_where_it_comes_from() {
    let prices = Prices::builtin();
    assert!(prices.iter().count() > 40, "the shipped list must parse");
    assert!(prices.source().contains("list prices"));
    assert_eq!(prices.as_of().len(), "2026-01-01".len());
    for price in prices.iter() {
        assert!(price.is_known(), "{}: no input price", price.family);
        assert!(price.rates.output >= price.rates.input, "{}: output cheaper than input", price.family);
        assert!(price.rates.read <= price.rates.input, "{}: cached dearer than plain", price.family);
        assert!(price.rates.write_short >= price.rates.input, "{}: writing cheaper than plain", price.family);
        assert!(
            price.rates.write_long >= price.rates.write_short,
            "{}: long cheaper than short",
            price.family
        );
    }
}

#[test]
fn b9_anthropic_multiplies_the_base_price() {
    let price = Prices::builtin().of("claude-opus-4-5-20251101");
    assert_eq!(price.rates.input, Rate::per_million(5.0));
    assert_eq!(price.rates.write_short, Rate::per_million(6.25));
    assert_eq!(price.rates.write_long, Rate::per_million(10.0));
    assert_eq!(price.rates.read, Rate::per_million(0.5));
    assert_eq!(price.rates.output, Rate::per_million(25.0));
    assert_eq!(price.cache.minimum, 4_096);
}

#[test]
fn b9_openai_caches_by_itself_and_charges_writes_only_in_newer_models() {
    let old = Prices::builtin().of("gpt-5-codex");
    assert_eq!(old.rates.write_short, old.rates.input);
    assert_eq!(old.rates.read, Rate::per_million(0.125));
    let new = Prices::builtin().of("gpt-5.6-sol");
    assert_eq!(new.rates.write_short, Rate::per_million(5.0));
    assert_eq!(new.cache.ttl_short.as_mins(), 30);
    assert_eq!(Prices::builtin().of("gpt-4.1").ratios.read, 0.25);
}

#[test]
fn b9_names_are_matched_by_whole_words() {
    let family = |model: &str| Prices::builtin().of(model).family;
    for (model, expected) in [
        ("gpt-5-2025-08-07", "gpt-5"),
        ("gpt-5.2-codex", "gpt-5.2"),
        ("gpt-5.3-codex-spark", "gpt-5.2"),
        ("gpt-5.1-codex-mini", "gpt-5-mini"),
        ("openai/gpt-5.5", "gpt-5.5"),
        ("ft:gpt-4o:our-org::id", "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini"),
        ("o3-mini", "o3-mini"),
        ("claude-opus-4-20250514", "claude-opus-4"),
        ("claude-opus-4-1@20250805", "claude-opus-4"),
        ("claude-opus-4-6[1m]", "claude-opus-4-5"),
        ("opus", "claude-opus-5-5"),
        ("Sonnet[1m]", "claude-sonnet-5-5"),
        ("claude-3-5-haiku-latest", "claude-haiku-3-5"),
        ("anthropic.claude-3-7-sonnet-20250219-v1:0", "claude-sonnet-4"),
        ("gemini-2.5-flash-lite", "gemini-2.5-flash-lite"),
        ("opusculum", "unknown"),
        ("gpt-55", "unknown"),
        ("<synthetic>", "unknown"),
        ("", "unknown"),
    ] {
        assert_eq!(family(model), expected, "{model}");
    }
}

#[test]
fn b9_unknown_models_cost_nothing_and_weigh_by_anthropics_multipliers() {
    let price = Prices::builtin().of("qwen3-coder:30b");
    let usage = Usage { input: 1_000, cache_read: 10_000, cache_write: 2_000, output: 500, reasoning: 0 };
    let charge = price.bill(&usage, Ttl::Short);
    assert_eq!(charge.dollars, Dollars::ZERO);
    assert_eq!(charge.weight, 1_000.0 + 1_000.0 + 2_500.0);
    assert_eq!(price.bill(&usage, Ttl::Long).weight, 1_000.0 + 1_000.0 + 4_000.0);
}

#[test]
fn b9_a_bill_worked_by_hand() {
    // Sonnet 4.5: 3 in, 3.75 / 6 written, 0.30 read, 15 out.
    let price = Prices::builtin().of("claude-sonnet-4-5");
    let usage = Usage { input: 100, cache_read: 100_000, cache_write: 2_000, output: 1_000, reasoning: 400 };
    let charge = price.bill(&usage, Ttl::Short);
    assert_eq!(charge.dollars, Dollars::new(0.0003 + 0.03 + 0.0075 + 0.015));
    assert_eq!(price.bill(&usage, Ttl::Long).dollars, Dollars::new(0.0003 + 0.03 + 0.012 + 0.015));
    assert_eq!(charge.weight, 100.0 + 10_000.0 + 2_500.0);
    // Dollars of the weight are the bill without the output.
    assert_eq!(price.dollars(charge.weight), Dollars::new(0.0378));
}

#[test]
fn b9_long_prompts_cost_the_long_tariff_for_the_whole_request() {
    let price = Prices::builtin().of("gpt-5.5");
    let bill = |cache_read| price.bill(&Usage { cache_read, output: 1_000, ..Usage::default() }, Ttl::Short);
    assert_eq!(bill(272_000).dollars, Dollars::new(0.272 * 0.5 + 0.03));
    assert_eq!(bill(272_001).dollars, Dollars::new(0.272_001 * 1.0 + 0.045));
    assert!((bill(272_001).weight - 2.0 * 27_200.1).abs() < 1e-6);
}

const OWN: &str = r#"{
  "source": "our contract", "as_of": "2026-01-31",
  "providers": { "us": { "write_short": 1.5, "write_long": 3, "read": 0.2, "ttl_short": 60, "ttl_long": 600, "minimum": 10, "granule": 1 } },
  "models": [
    { "family": "house", "provider": "us", "models": ["house-model", "claude-opus-4-5"], "input": 2, "output": 4 },
    { "family": "gift", "provider": "us", "models": ["gift-model"], "input": 0, "output": 0 }
  ]
}"#;

#[test]
fn b9_a_list_of_ones_own_goes_over_the_builtin_one() {
    let own = Prices::parse(OWN).unwrap();
    let all = Prices::builtin().overlaid_with(&own);
    assert_eq!(all.of("claude-opus-4-5").family, "house");
    assert_eq!(all.of("house-model-2").rates.write_long, Rate::per_million(6.0));
    assert_eq!(all.of("claude-opus-4-6").family, "claude-opus-4-5", "the sibling keeps its price");
    assert!(all.source().ends_with("our contract"));
    // Free of charge, but with the weights of its provider.
    let gift = own.of("gift-model");
    assert!(!gift.is_known());
    assert_eq!(gift.ratios.read, 0.2);
}

#[test]
fn b9_errors_name_the_entry_and_the_field() {
    let broken = |from: &str, to: &str| {
        assert!(OWN.contains(from), "{from}");
        Prices::parse(&OWN.replace(from, to)).unwrap_err().to_string()
    };
    let message = broken(r#""input": 2"#, r#""input": "2""#);
    assert!(message.contains("models[0] (house)") && message.contains("`input`"), "{message}");
    let message = broken(r#""input": 2"#, r#""input": -2"#);
    assert!(message.contains("-2") && message.contains("not negative"), "{message}");
    let message = broken(r#", "output": 4"#, "");
    assert!(message.contains("models[0] (house)") && message.contains("`output` is missing"), "{message}");
    let message = broken(r#""output": 4"#, r#""output": 4, "reed": 1"#);
    assert!(message.contains("`reed`") && message.contains("read"), "{message}");
    let message = broken(r#""provider": "us", "models": ["gift"#, r#""provider": "them", "models": ["gift"#);
    assert!(message.contains("models[1] (gift)") && message.contains("them"), "{message}");
    let message = broken(r#""gift-model""#, r#""house-model""#);
    assert!(message.contains("house-model") && message.contains("already in house"), "{message}");
    let message = broken(r#""ttl_short": 60"#, r#""ttl_short": 1.5"#);
    assert!(message.contains("providers.us") && message.contains("`ttl_short`"), "{message}");
    for text in ["", "[]", "{", "null"] {
        assert!(Prices::parse(text).unwrap_err().to_string().contains("JSON object"), "{text}");
    }
}

#[test]
fn b9_dollars_are_shown_with_the_digits_they_need() {
    let shown = |dollars| Dollars::new(dollars).to_string();
    assert_eq!(shown(0.0), "$0.00");
    assert_eq!(shown(12.3), "$12.30");
    assert_eq!(shown(0.0041), "$0.0041");
    assert_eq!(shown(0.000012), "$0.000012");
    assert_eq!(shown(-3.0), "-$3.00");
    assert_eq!(serde_json::to_string(&Dollars::new(0.25)).unwrap(), "0.25");
    assert_eq!(serde_json::from_str::<Dollars>("0.25").unwrap(), Dollars::new(0.25));
    assert_eq!(Dollars::new(f64::NAN), Dollars::ZERO);
    assert_eq!(Dollars::new(1e30) + Dollars::new(1e30), Dollars::new(1e30), "saturates");
}

fn price() -> impl Strategy<Value = Price> {
    let all: Vec<Price> = Prices::builtin().iter().cloned().chain([Price::unknown()]).collect();
    proptest::sample::select(all)
}

fn usage() -> impl Strategy<Value = Usage> {
    (0..400_000u64, 0..400_000u64, 0..400_000u64, 0..50_000u64).prop_map(
        |(input, cache_read, cache_write, output)| Usage {
            input,
            cache_read,
            cache_write,
            output,
            reasoning: 0,
        },
    )
}

proptest! {
    #[test]
    fn b9_more_tokens_never_cost_less(price in price(), usage in usage(), more in 0..300_000u64) {
        for ttl in [Ttl::Short, Ttl::Long, Ttl::Never] {
            let base = price.bill(&usage, ttl);
            for grown in [
                Usage { input: usage.input + more, ..usage },
                Usage { cache_read: usage.cache_read + more, ..usage },
                Usage { cache_write: usage.cache_write + more, ..usage },
                Usage { output: usage.output + more, ..usage },
            ] {
                let bill = price.bill(&grown, ttl);
                prop_assert!(bill.dollars >= base.dollars);
                prop_assert!(bill.weight >= base.weight);
            }
        }
    }

    #[test]
    fn b9_any_text_is_a_list_or_an_error(text in "\\PC{0,200}", model in "\\PC{0,40}") {
        let _ = Prices::parse(&text);
        let _ = Prices::builtin().of(&model);
    }

    #[test]
    fn b9_dollars_add_up_in_any_order(mut cents in proptest::collection::vec(0..1_000_000u64, 0..50)) {
        let sum = |list: &[u64]| list.iter().map(|n| Rate::per_million(0.175).of(*n)).sum::<Dollars>();
        let forwards = sum(&cents);
        cents.reverse();
        prop_assert_eq!(forwards, sum(&cents));
        prop_assert_eq!(forwards, Rate::per_million(0.175).of(cents.iter().sum()));
    }
}

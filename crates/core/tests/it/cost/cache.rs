use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;
use throughline_core::cost::{CacheSim, Charge, Piece, Price, Prices, Request, Ttl};

fn pieces(list: &[(u64, u64)]) -> Vec<Piece> {
    list.iter().map(|&(key, tokens)| Piece { key, tokens }).collect()
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(1_000_000 + seconds)
}

fn sonnet(ttl: Ttl) -> CacheSim {
    CacheSim::new(Prices::builtin().of("claude-sonnet-4-5"), ttl)
}

fn tokens(charge: &Charge) -> (u64, u64, u64) {
    (charge.read, charge.write, charge.uncached)
}

#[test]
fn b9_a_growing_session_reads_what_it_sent_before() {
    let mut sim = sonnet(Ttl::Short);
    let first = sim.push(&Request::whole(&pieces(&[(1, 20_000), (2, 100)])));
    assert_eq!(tokens(&first), (0, 20_100, 0));
    assert_eq!(first.weight, 25_125.0);
    let second = sim.push(&Request { kept: 2, rest: &pieces(&[(3, 900)]), at: None, output: 0 });
    assert_eq!(tokens(&second), (20_100, 900, 0));
    assert_eq!(second.weight, 2_010.0 + 1_125.0);
    let totals = sim.totals();
    assert_eq!((totals.requests, totals.per_request(), totals.peak), (2, 20_550, 21_000));
    assert_eq!(totals.cached_share(), 20_100.0 / 41_100.0);
}

#[test]
fn b9_a_changed_piece_costs_everything_after_it() {
    let mut sim = sonnet(Ttl::Short);
    sim.push(&Request::whole(&pieces(&[(1, 20_000), (2, 5_000), (3, 5_000), (4, 5_000)])));
    let cleared = sim.push(&Request {
        kept: 1,
        rest: &pieces(&[(9, 10), (3, 5_000), (4, 5_000)]),
        at: None,
        output: 0,
    });
    assert_eq!(tokens(&cleared), (20_000, 10_010, 0));
}

#[test]
fn b9_an_expired_cache_is_written_whole() {
    let line = pieces(&[(1, 20_000), (2, 100)]);
    let again = Request { kept: 2, rest: &[], at: None, output: 0 };
    let mut sim = sonnet(Ttl::Short);
    sim.push(&Request::whole(&line).at(at(0)));
    // Each use starts the five minutes anew.
    assert_eq!(sim.push(&again.at(at(290))).read, 20_100);
    assert_eq!(sim.push(&again.at(at(590))).read, 20_100);
    assert!(!sim.is_cold(Some(at(890))));
    assert!(sim.is_cold(Some(at(891))));
    assert_eq!(tokens(&sim.push(&again.at(at(891)))), (0, 20_100, 0));
    // Written again, it can be read again; and a clock that went back does no harm.
    assert_eq!(sim.push(&again.at(at(100))).read, 20_100);

    let mut sim = sonnet(Ttl::Long);
    sim.push(&Request::whole(&line).at(at(0)));
    assert_eq!(sim.push(&again.at(at(3_600))).read, 20_100);
    assert_eq!(sim.push(&again.at(at(7_201))).read, 0);

    let mut sim = sonnet(Ttl::Never);
    sim.push(&Request::whole(&line).at(at(0)));
    assert_eq!(sim.push(&again.at(at(1_000_000))).read, 20_100);
}

#[test]
fn b9_short_prompts_are_not_cached() {
    let mut sim = sonnet(Ttl::Short);
    assert_eq!(tokens(&sim.push(&Request::whole(&pieces(&[(1, 1_023)])))), (0, 0, 1_023));
    // What was too short was not written, so there is nothing to read.
    let grown = Request { kept: 1, rest: &pieces(&[(2, 1_000)]), at: None, output: 0 };
    assert_eq!(tokens(&sim.push(&grown)), (0, 2_023, 0));
    // A shared beginning that is too short is not read either.
    assert_eq!(tokens(&sim.push(&Request::whole(&pieces(&[(1, 1_023), (3, 5_000)])))), (0, 6_023, 0));
}

#[test]
fn b9_openai_reads_whole_granules() {
    let mut sim = CacheSim::new(Prices::builtin().of("gpt-5.2-codex"), Ttl::Short);
    sim.push(&Request::whole(&pieces(&[(1, 2_000)])));
    let next = sim.push(&Request { kept: 1, rest: &pieces(&[(2, 500)]), at: None, output: 0 });
    assert_eq!(tokens(&next), (1_920, 580, 0));
    // No surcharge for writing.
    assert_eq!(next.weight.round(), 192.0 + 580.0);
}

#[test]
fn b9_a_side_request_reads_the_line_and_leaves_it() {
    let mut sim = sonnet(Ttl::Short);
    sim.push(&Request::whole(&pieces(&[(1, 50_000)])).at(at(0)));
    let summary = Request { kept: 1, rest: &pieces(&[(7, 300)]), at: Some(at(200)), output: 2_000 };
    assert_eq!(sim.quote(&summary), sim.push_aside(&summary));
    let next = Request { kept: 1, rest: &pieces(&[(2, 400)]), at: Some(at(450)), output: 0 };
    assert_eq!(tokens(&sim.push(&next)), (50_000, 400, 0), "kept alive by the side request");
    assert_eq!(sim.totals().requests, 3);
    assert_eq!(sim.totals().output, 2_000);
}

#[test]
fn b9_a_hint_beyond_the_line_is_cut_to_it() {
    let mut sim = sonnet(Ttl::Short);
    assert_eq!(
        sim.push(&Request { kept: 9, rest: &pieces(&[(1, 2_000)]), at: None, output: 0 }).write,
        2_000
    );
    assert_eq!(sim.push(&Request { kept: 9, rest: &[], at: None, output: 0 }).read, 2_000);
    assert_eq!(sim.pieces().len(), 1);
    assert_eq!((sim.tokens_before(0), sim.tokens_before(1), sim.tokens_before(5)), (0, 2_000, 2_000));
}

#[test]
fn b9_pieces_are_equal_by_bytes() {
    assert_eq!(Piece::new(b"same", 4), Piece::new(b"same", 4));
    assert_ne!(Piece::new(b"same", 4).key, Piece::new(b"Same", 4).key);
}

/// What happens to a session between two requests.
#[derive(Clone, Debug)]
enum Step {
    Append(Vec<Piece>),
    Replace(usize, Piece),
    Cut(usize),
    Nothing,
}

fn piece() -> impl Strategy<Value = Piece> {
    (0..40u64, 0..3_000u64).prop_map(|(key, tokens)| Piece { key: key << 32 | tokens, tokens })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => proptest::collection::vec(piece(), 1..5).prop_map(Step::Append),
        2 => (any::<usize>(), piece()).prop_map(|(at, piece)| Step::Replace(at, piece)),
        1 => any::<usize>().prop_map(Step::Cut),
        1 => Just(Step::Nothing),
    ]
}

fn apply(line: &mut Vec<Piece>, step: &Step) {
    match step {
        Step::Append(pieces) => line.extend(pieces),
        Step::Replace(at, piece) if !line.is_empty() => {
            let at = at % line.len();
            line[at] = *piece;
        }
        Step::Cut(at) if !line.is_empty() => line.truncate(at % line.len()),
        Step::Replace(..) | Step::Cut(_) | Step::Nothing => {}
    }
}

fn shared(a: &[Piece], b: &[Piece]) -> usize {
    a.iter().zip(b).take_while(|(x, y)| x == y).count()
}

/// The rules once more, from scratch and without any hint.
fn reference(price: &Price, requests: &[(Vec<Piece>, Timestamp)]) -> Vec<(u64, u64, u64)> {
    let tokens = |line: &[Piece]| line.iter().map(|piece| piece.tokens).sum::<u64>();
    let mut out = Vec::new();
    for (index, (line, now)) in requests.iter().enumerate() {
        let read = match index.checked_sub(1).map(|before| &requests[before]) {
            Some((before, then))
                if tokens(before) >= price.cache.minimum
                    && now.duration_since(*then) <= price.cache.ttl_short =>
            {
                let both = tokens(&line[..shared(before, line)]);
                if both < price.cache.minimum { 0 } else { both / price.cache.granule * price.cache.granule }
            }
            Some(_) | None => 0,
        };
        let rest = tokens(line) - read;
        out.push(if tokens(line) < price.cache.minimum { (read, 0, rest) } else { (read, rest, 0) });
    }
    out
}

proptest! {
    #[test]
    fn b9_step_by_step_is_the_same_as_from_scratch(
        steps in proptest::collection::vec((step(), 0..400i64, any::<usize>()), 1..40),
        openai in any::<bool>(),
    ) {
        let price = Prices::builtin().of(if openai { "gpt-5" } else { "claude-sonnet-4-5" });
        let (mut hinted, mut whole) = (CacheSim::new(price.clone(), Ttl::Short), CacheSim::new(price.clone(), Ttl::Short));
        let (mut line, mut now, mut requests) = (Vec::new(), 0, Vec::new());
        let mut charges = Vec::new();
        for (step, seconds, hint) in &steps {
            let before = line.clone();
            apply(&mut line, step);
            now += seconds;
            requests.push((line.clone(), at(now)));
            // Any hint up to the truth will do.
            let kept = hint % (shared(&before, &line) + 1);
            let request = Request { kept, rest: &line[kept..], at: Some(at(now)), output: 0 };
            prop_assert_eq!(hinted.quote(&request), hinted.clone().push(&request));
            let charge = hinted.push(&request);
            prop_assert_eq!(charge, whole.push(&Request::whole(&line).at(at(now))));
            prop_assert_eq!(charge.prompt(), line.iter().map(|piece| piece.tokens).sum::<u64>());
            prop_assert!(charge.read <= charge.prompt());
            prop_assert_eq!(hinted.pieces(), &line[..]);
            charges.push(tokens(&charge));
        }
        prop_assert_eq!(charges, reference(&price, &requests));
        prop_assert_eq!(hinted.totals(), whole.totals());
    }

    #[test]
    fn b9_a_longer_request_never_costs_less(
        line in proptest::collection::vec(piece(), 1..20),
        more in proptest::collection::vec(piece(), 0..5),
        // From the minimum on; below it a prompt is billed plain, which is less than written.
        base in 1_024..50_000u64,
    ) {
        let mut sim = CacheSim::new(Price::unknown(), Ttl::Short);
        let mut line = [vec![Piece { key: u64::MAX, tokens: base }], line].concat();
        sim.push(&Request::whole(&line));
        let short = sim.quote(&Request::whole(&line)).weight;
        line.extend(more);
        prop_assert!(sim.quote(&Request::whole(&line)).weight >= short);
    }
}

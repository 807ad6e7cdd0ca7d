//! The policies that `EVAL.md` compares, on a made-up session: their order is the lesson, not their figures.

use throughline_core::cost::{CacheSim, Piece, Price, Request, Totals, Ttl};

/// 400 requests; each adds an answer and a tool result, every tenth one a user's message.
fn session() -> Vec<Vec<Piece>> {
    let mut key = 100;
    let mut fresh = |tokens| {
        key += 1;
        Piece { key, tokens }
    };
    (0..400u64)
        .map(|n| {
            let mut added = vec![fresh(200 + n * 37 % 300), fresh(300 + n * n % 2_500)];
            if n % 10 == 0 {
                added.push(fresh(120));
            }
            added
        })
        .collect()
}

const SYSTEM: Piece = Piece { key: 1, tokens: 20_000 };

/// Sends every request as the policy would: it is shown all pieces so far and what it sent last.
fn run(mut policy: impl FnMut(&[Piece], &[Piece]) -> Vec<Piece>) -> Totals {
    let mut sim = CacheSim::new(Price::unknown(), Ttl::Never);
    let (mut all, mut sent) = (Vec::new(), Vec::new());
    for added in session() {
        all.extend(added);
        sent = policy(&all, &sent);
        sim.push(&Request::whole(&[&[SYSTEM], &sent[..]].concat()));
    }
    *sim.totals()
}

fn size(line: &[Piece]) -> u64 {
    line.iter().map(|piece| piece.tokens).sum()
}

fn tail(line: &[Piece], budget: u64) -> &[Piece] {
    let mut start = line.len();
    while start > 0 && size(&line[start - 1..]) <= budget {
        start -= 1;
    }
    &line[start..]
}

fn everything() -> Totals {
    run(|all, _| all.to_vec())
}

#[test]
fn b9_a_sliding_window_costs_more_than_sending_everything() {
    let everything = everything();
    let sliding = run(|all, _| tail(all, 60_000).to_vec());
    assert!(sliding.peak < everything.peak / 4);
    let cost = sliding.relative_to(&everything).unwrap();
    assert!(cost > 1.2, "{cost}");
    assert!(sliding.cached_share() < 0.75, "{}", sliding.cached_share());
    assert!(everything.cached_share() > 0.98, "{}", everything.cached_share());
}

#[test]
fn b9_cutting_in_one_go_costs_less_than_half() {
    // Above 100,000 tokens: a summary of 3,000 and the last 20,000, then grow again.
    let (mut cut, mut summary) = (0, None);
    let compacted = run(|all, _| {
        let view = |cut: usize, summary: Option<Piece>| {
            summary.into_iter().chain(all[cut..].iter().copied()).collect::<Vec<_>>()
        };
        if SYSTEM.tokens + size(&view(cut, summary)) > 100_000 {
            cut = all.len() - tail(all, 20_000).len();
            summary = Some(Piece { key: u64::MAX - cut as u64, tokens: 3_000 });
        }
        view(cut, summary)
    });
    let cost = compacted.relative_to(&everything()).unwrap();
    assert!(cost < 0.5, "{cost}");
    assert!(compacted.cached_share() > 0.96, "{}", compacted.cached_share());
    assert!(compacted.peak <= 100_000);
}

#[test]
fn b9_clearing_in_batches_costs_less_than_clearing_each_time() {
    let cleared = |all: &[Piece], upto: usize| -> Vec<Piece> {
        all.iter()
            .enumerate()
            .map(|(at, piece)| {
                if at < upto && piece.tokens > 500 {
                    Piece { key: piece.key << 32, tokens: 16 }
                } else {
                    *piece
                }
            })
            .collect()
    };
    let always = run(|all, _| cleared(all, all.len().saturating_sub(10)));
    let mut upto = 0;
    let batched = run(|all, _| {
        if SYSTEM.tokens + size(&cleared(all, upto)) > 100_000 {
            upto = all.len().saturating_sub(10);
        }
        cleared(all, upto)
    });
    let everything = everything();
    let (always, batched) =
        (always.relative_to(&everything).unwrap(), batched.relative_to(&everything).unwrap());
    assert!(batched < always && always < 1.0, "{batched} {always}");
}

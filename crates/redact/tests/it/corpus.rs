//! Redaction on the labelled corpus: floors for what is found, ceilings for what is taken by mistake.
//!
//! `throughline-bench redact` prints the same figures by kind, on other seeds and with more samples.

use std::collections::BTreeMap;
use throughline_redact::redact;
use throughline_testkit::secrets::{look_alikes, secrets};

/// Of all secrets so many in a thousand go, none of it left.
const RECALL: usize = 995;
/// Of each kind.
const RECALL_OF_A_KIND: usize = 950;
/// Where one went, so many in a thousand times nothing else went.
const EXACT: usize = 970;
/// Of texts without a secret at most so many in a thousand are changed.
const MISTAKES: usize = 5;

#[test]
fn secrets_of_every_kind_go_in_every_setting() {
    let mut kinds: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let (mut exact, mut missed) = (0, Vec::new());
    for sample in secrets(6, 12) {
        let redacted = redact(&sample.text);
        let is_gone = !sample.leaks(redacted.text());
        let kind = kinds.entry(sample.kind).or_default();
        kind.0 += usize::from(is_gone);
        kind.1 += 1;
        exact += usize::from(sample.is_exact(redacted.text()));
        if !is_gone {
            missed.push(format!("{} in {}: {}", sample.kind, sample.setting, redacted.text()));
        }
    }
    let (found, all) = kinds.values().fold((0, 0), |sum, kind| (sum.0 + kind.0, sum.1 + kind.1));
    assert!(found * 1_000 >= all * RECALL, "{found} of {all}: {missed:#?}");
    assert!(exact * 1_000 >= all * EXACT, "{exact} of {all} to the byte");
    for (kind, (found, all)) in kinds {
        assert!(found * 1_000 >= all * RECALL_OF_A_KIND, "{kind}: {found} of {all}: {missed:#?}");
    }
}

#[test]
fn what_only_looks_like_a_secret_stays() {
    let samples = look_alikes(6, 60);
    let taken: Vec<String> = samples
        .iter()
        .map(|sample| (sample, redact(&sample.text)))
        .filter(|(_, redacted)| !redacted.is_clean())
        .map(|(sample, redacted)| format!("{}: {}", sample.kind, redacted.text()))
        .collect();
    assert!(taken.len() * 1_000 <= samples.len() * MISTAKES, "{taken:#?}");
}

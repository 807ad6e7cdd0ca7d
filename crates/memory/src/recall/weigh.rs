//! What counts for and against a memory besides its words: what it is, how old, how well it served, how near it is.

use crate::memories::Tier;
use crate::topics::{Aged, Lifetimes, TopicHead, TopicType};
use crate::usage::Counts;
use jiff::Timestamp;

/// Days after which a fact counts half of what age can take from it.
const HALF_LIFE: f64 = 120.0;
/// What age can take at most: of facts, and of who the user is and how they work, which seldom change.
const FADES: f64 = 0.3;
const FADES_LITTLE: f64 = 0.1;
/// What use can take or give at most.
const SERVED: f64 = 0.3;
/// What being said again gives.
const SAID_AGAIN: f64 = 0.05;
/// What a memory keeps whose subject is gone from the project.
pub(super) const STALE: f32 = 0.6;

/// What a memory's fit is multiplied by; 1 for a new project fact that nobody was shown.
pub(super) fn weigh(head: &TopicHead, (tier, served): (Tier, &Counts), now: Timestamp) -> f32 {
    let product = of_type(head.kind) * of_age(head, now) * of_use(served) * of_evidence(head) * of_tier(tier);
    product as f32
}

/// Whether a memory still holds.
pub(super) fn is_live(lifetimes: &Lifetimes, head: &TopicHead, now: Timestamp) -> bool {
    lifetimes.is_live(Aged::from(head), now)
}

fn of_type(kind: Option<TopicType>) -> f64 {
    match kind {
        // A correction that does not come costs another one.
        Some(TopicType::Feedback) => 1.1,
        Some(TopicType::Project) | None => 1.0,
        Some(TopicType::Reference) => 0.97,
        Some(TopicType::User) => 0.93,
    }
}

fn of_age(head: &TopicHead, now: Timestamp) -> f64 {
    let last = head.meta.confirmed().map_or(head.modified, |said| said.max(head.modified));
    let days = (now.duration_since(last).as_secs_f64() / 86_400.0).max(0.0);
    let fades = match head.kind {
        Some(TopicType::Project | TopicType::Reference) | None => FADES,
        Some(TopicType::User | TopicType::Feedback) => FADES_LITTLE,
    };
    1.0 - fades * (1.0 - (-days / HALF_LIFE * std::f64::consts::LN_2).exp())
}

/// Shown often and never used sinks; used rises.
fn of_use(served: &Counts) -> f64 {
    let used = (served.used + served.opened) as f64;
    let share = (used + 0.5) / ((served.shown + served.opened) as f64 + 1.0);
    1.0 + SERVED * (2.0 * share.min(1.0) - 1.0)
}

fn of_evidence(head: &TopicHead) -> f64 {
    1.0 + SAID_AGAIN * f64::from(head.meta.evidence.saturating_sub(1).min(100)).ln_1p()
}

fn of_tier(tier: Tier) -> f64 {
    match tier {
        Tier::Worktree => 1.1,
        Tier::Project => 1.0,
        Tier::Team => 0.95,
        Tier::Global => 0.9,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topics::Meta;
    use jiff::SignedDuration;

    fn head(kind: TopicType) -> TopicHead {
        TopicHead {
            file: "a.md".to_owned(),
            name: String::new(),
            description: String::new(),
            kind: Some(kind),
            modified: Timestamp::UNIX_EPOCH,
            meta: Meta::default(),
        }
    }

    fn weight(kind: TopicType, days: i64, (shown, used): (u64, u64)) -> f32 {
        let served = Counts { shown, used, ..Counts::default() };
        let now = Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days);
        weigh(&head(kind), (Tier::Project, &served), now)
    }

    #[test]
    fn b1_age_use_and_nearness_count() {
        let new = weight(TopicType::Project, 0, (0, 0));
        assert!((new - 1.0).abs() < 1e-6);
        assert!(weight(TopicType::Project, 400, (0, 0)) < weight(TopicType::Feedback, 400, (0, 0)));
        assert!(weight(TopicType::Project, 0, (10, 0)) < new);
        assert!(weight(TopicType::Project, 0, (10, 9)) > new);
        // A clock that went backwards takes nothing and gives nothing.
        assert!((weight(TopicType::Project, -9, (0, 0)) - 1.0).abs() < 1e-6);
        let near = |tier| weigh(&head(TopicType::Project), (tier, &Counts::default()), Timestamp::UNIX_EPOCH);
        assert!(near(Tier::Worktree) > near(Tier::Project));
        assert!(near(Tier::Project) > near(Tier::Team) && near(Tier::Team) > near(Tier::Global));
    }

    #[test]
    fn nothing_but_words_makes_a_memory_come_or_keeps_it_away_for_ever() {
        for days in [0, 100, 10_000] {
            for served in [(0, 0), (1_000_000, 0), (5, 5), (0, 7)] {
                let weight = weight(TopicType::User, days, served);
                assert!((0.4..=1.8).contains(&weight), "{weight}");
            }
        }
    }
}

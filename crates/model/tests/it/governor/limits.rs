//! Why a job may not begin, and when it may.

use super::{CAPS, after, job, limits, noon, open, receipt};
use throughline_model::{Caps, Denied, Governor, GovernorLimits, Job, Reason, Standing, Usage, When};

fn refusal(governor: &Governor, job: &Job<'_>) -> Denied {
    governor.ask(job, noon()).map(|_| ()).unwrap_err()
}

#[test]
fn h1_some_sessions_get_no_background_work() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let none = Standing::default();
    for (standing, reason) in [
        (Standing { ephemeral: true, ..none }, Reason::Ephemeral),
        (Standing { sub_agent: true, ..none }, Reason::SubAgent),
        (Standing { remote: true, ..none }, Reason::Remote),
    ] {
        let denied = refusal(&governor, &Job { standing, ..job() });
        assert_eq!((denied.reason, denied.when), (reason, When::Never));
    }
    let off = open(folder.path(), GovernorLimits { enabled: false, ..limits() });
    assert_eq!(refusal(&off, &job()).reason, Reason::Off);
    assert!(governor.ask(&job(), noon()).is_ok());
}

#[test]
fn h1_what_is_left_of_the_rate_limit_is_the_users() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), limits());
    let with = |left| Job { standing: Standing { rate_limit_left: left, ..Standing::default() }, ..job() };
    assert_eq!(refusal(&governor, &with(Some(0.1))).reason, Reason::RateLimit { left: 0.1, least: 0.25 });
    for left in [None, Some(0.25), Some(1.0), Some(f64::NAN)] {
        assert!(governor.ask(&with(left), noon()).is_ok(), "{left:?}");
    }
}

#[test]
fn idle_only_waits_until_the_user_is_away() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), GovernorLimits { idle_only: true, idle_minutes: 10, ..limits() });
    let away = |since| Job { standing: Standing { idle_since: since, ..Standing::default() }, ..job() };
    assert_eq!(refusal(&governor, &away(None)).when, When::WhenIdle);
    let since = after(noon(), -540);
    let denied = refusal(&governor, &away(Some(since)));
    assert_eq!((denied.reason, denied.when), (Reason::NotIdle, When::At(after(noon(), 60))));
    assert!(governor.ask(&away(Some(after(noon(), -600))), noon()).is_ok());
    let never = open(folder.path(), GovernorLimits { idle_only: true, idle_minutes: u64::MAX, ..limits() });
    assert_eq!(refusal(&never, &away(Some(since))).when, When::Never);
}

#[test]
fn no_more_run_at_once_than_may() {
    let folder = tempfile::tempdir().unwrap();
    let (here, there) = (open(folder.path(), limits()), open(folder.path(), limits()));
    let first = here.ask(&job(), noon()).unwrap();
    let second = there.ask(&job(), noon()).unwrap();
    let denied = refusal(&here, &job());
    assert_eq!((denied.reason, denied.when), (Reason::Busy { running: 2 }, When::AfterAnother));
    assert_eq!(here.today(noon()).unwrap().running, 2);
    drop(first);
    let third = here.ask(&job(), noon()).unwrap();
    second.settle(receipt(1, 0.0)).unwrap();
    assert!(here.ask(&job(), noon()).is_ok());
    drop(third);
    assert_eq!(there.today(noon()).unwrap().running, 0);
}

#[test]
fn a_permit_never_allows_more_than_what_is_left_of_the_day() {
    let folder = tempfile::tempdir().unwrap();
    let limits = GovernorLimits { daily_tokens: Some(1_500), daily_dollars: Some(0.6), ..limits() };
    let governor = open(folder.path(), limits);
    let permit = governor.ask(&job(), noon()).unwrap();
    assert_eq!(permit.caps(), &CAPS);
    permit.settle(receipt(800, 0.3)).unwrap();

    let permit = governor.ask(&job(), noon()).unwrap();
    let Caps { input_tokens, output_tokens, dollars, turns, .. } = *permit.caps();
    assert_eq!((input_tokens, output_tokens, turns), (600, 100, 5));
    assert!((dollars - 0.3).abs() < 1e-9);
    // All that is left is reserved.
    let denied = refusal(&governor, &job());
    assert_eq!(denied.reason, Reason::DailyTokens { spent: 800, reserved: 700, limit: 1_500 });
    assert_eq!(denied.when, When::AfterAnother);
    permit.settle(receipt(300, 0.3)).unwrap();

    let denied = refusal(&governor, &Job { estimate: Usage::default(), ..job() });
    assert_eq!(denied.reason, Reason::DailyDollars { spent: 0.6, reserved: 0.0, limit: 0.6 });
    let midnight = "2026-03-02T00:00:00Z".parse().unwrap();
    assert_eq!(denied.when, When::At(midnight));
    assert_eq!(
        denied.to_string(),
        "notes may not begin: of $0.60 a day $0.60 are spent and $0.00 are kept for running jobs; possible again at \
         2026-03-02T00:00:00Z"
    );
    assert!(governor.ask(&job(), midnight).is_ok());
}

#[test]
fn what_costs_nothing_goes_on_when_the_money_is_gone() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(folder.path(), GovernorLimits { daily_dollars: Some(0.1), ..limits() });
    governor.ask(&job(), noon()).unwrap().settle(receipt(1, 0.7)).unwrap();
    assert!(matches!(refusal(&governor, &job()).reason, Reason::DailyDollars { .. }));
    let permit = governor.ask(&Job { dollars: 0.0, ..job() }, noon()).unwrap();
    assert_eq!(permit.caps().dollars, 0.0);
}

#[test]
fn what_can_never_fit_is_told_so() {
    let folder = tempfile::tempdir().unwrap();
    let governor = open(
        folder.path(),
        GovernorLimits { daily_tokens: Some(200), daily_dollars: Some(-1.0), ..limits() },
    );
    assert_eq!(refusal(&governor, &job()).when, When::Never);
    let small = Usage { input: 1, ..Usage::default() };
    assert_eq!(refusal(&governor, &Job { estimate: small, ..job() }).when, When::Never);
    let large = Usage { input: 1_001, ..Usage::default() };
    for job in [Job { estimate: large, ..job() }, Job { dollars: 0.51, ..job() }] {
        let denied = refusal(&governor, &job);
        assert_eq!((denied.reason, denied.when), (Reason::JobCaps, When::Never));
    }
}

#[test]
fn without_limits_reservations_are_in_nobodys_way() {
    let folder = tempfile::tempdir().unwrap();
    let endless = Caps {
        input_tokens: u64::MAX,
        output_tokens: u64::MAX,
        dollars: f64::INFINITY,
        seconds: u64::MAX,
        turns: u32::MAX,
    };
    let jobs = [("notes".to_owned(), endless.clone())].into();
    let governor = open(folder.path(), GovernorLimits { jobs, at_once: 3, ..limits() });
    let permits: Vec<_> = (0..3).map(|_| governor.ask(&job(), noon()).unwrap()).collect();
    assert!(permits.iter().all(|permit| permit.caps() == &endless));
}

#[test]
fn limits_are_read_with_sane_defaults_and_without_slips() {
    let limits: GovernorLimits = serde_json::from_str("{}").unwrap();
    assert_eq!(limits, GovernorLimits::default());
    assert!(limits.enabled && !limits.idle_only);
    assert_eq!((limits.daily_dollars, limits.daily_tokens, limits.at_once), (Some(5.0), None, 2));
    let limits: GovernorLimits = serde_json::from_str(r#"{"jobs": {"notes": {"turns": 2}}}"#).unwrap();
    assert_eq!(limits.caps("notes").turns, 2);
    assert_eq!(limits.caps("other"), Caps::default());
    assert!(serde_json::from_str::<GovernorLimits>(r#"{"dayly_dollars": 1}"#).is_err());
}

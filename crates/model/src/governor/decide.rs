//! Whether a job may begin: a decision from figures alone.

use super::GovernorLimits;
use super::reservation::Reservation;
use crate::{Caps, Usage};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use std::fmt;
use throughline_core::cost::Dollars;

/// A piece of background work that would like to begin.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Its name, by which it has its caps.
    pub name: &'a str,
    /// The session that it is for.
    pub session: Option<&'a str>,
    /// What it is thought to take, all its requests together.
    pub estimate: Usage,
    /// What it is thought to cost; zero for a model that costs nothing.
    pub dollars: f64,
    /// The circumstances.
    pub standing: Standing,
}

/// The circumstances of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Standing {
    /// The session is not kept.
    pub ephemeral: bool,
    /// The session is a helper of another one.
    pub sub_agent: bool,
    /// The session runs on behalf of somebody elsewhere, who did not ask for background work.
    pub remote: bool,
    /// Since when the user has been away; not set while the user is there.
    pub idle_since: Option<Timestamp>,
    /// The share of the provider's rate limit that is left, from 0 to 1, if known.
    pub rate_limit_left: Option<f64>,
}

/// Why a job may not begin, and when it may. A normal outcome: nothing is wrong.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{job} may not begin: {reason}; {when}")]
pub struct Denied {
    /// The job.
    pub job: String,
    /// Why not.
    pub reason: Reason,
    /// When it is worth asking again.
    pub when: When,
}

/// Why a job may not begin.
#[derive(Clone, Debug, PartialEq)]
pub enum Reason {
    /// Background work is switched off.
    Off,
    /// The session is not kept.
    Ephemeral,
    /// The session is a helper of another one.
    SubAgent,
    /// The session runs on behalf of somebody elsewhere.
    Remote,
    /// The user is there, or has not been away for long enough.
    NotIdle,
    /// The user may need what is left of the provider's rate limit.
    RateLimit {
        /// The share that is left.
        left: f64,
        /// The share that must be left.
        least: f64,
    },
    /// As many jobs run as may.
    Busy {
        /// How many.
        running: usize,
    },
    /// The job is thought to take more than its own caps allow.
    JobCaps,
    /// The tokens of the day.
    DailyTokens {
        /// Spent today.
        spent: u64,
        /// Kept for jobs that run.
        reserved: u64,
        /// The limit.
        limit: u64,
    },
    /// The dollars of the day.
    DailyDollars {
        /// Spent today.
        spent: f64,
        /// Kept for jobs that run.
        reserved: f64,
        /// The limit.
        limit: f64,
    },
    /// What was spent can't be read or written down, so nothing is spent.
    Unavailable(
        /// What failed.
        String,
    ),
}

/// When it is worth asking again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Not before the settings change, or not for this session.
    Never,
    /// At this time.
    At(Timestamp),
    /// When another job has ended.
    AfterAnother,
    /// When the user has been away.
    WhenIdle,
    /// Some time later: nobody knows.
    Later,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str("background work is switched off"),
            Self::Ephemeral => f.write_str("the session is not kept"),
            Self::SubAgent => f.write_str("the session is a helper of another one"),
            Self::Remote => f.write_str("the session runs on behalf of somebody elsewhere"),
            Self::NotIdle => f.write_str("the user is there"),
            Self::RateLimit { left, least } => {
                let percent = |share: f64| share * 100.0;
                write!(
                    f,
                    "{:.0}% of the rate limit are left, {:.0}% must be",
                    percent(*left),
                    percent(*least)
                )
            }
            Self::Busy { running } => write!(f, "{running} jobs run already"),
            Self::JobCaps => f.write_str("it is thought to take more than its own caps allow"),
            Self::DailyTokens { spent, reserved, limit } => {
                write!(
                    f,
                    "of {limit} tokens a day {spent} are spent and {reserved} are kept for running jobs"
                )
            }
            Self::DailyDollars { spent, reserved, limit } => {
                let [spent, reserved, limit] = [spent, reserved, limit].map(|amount| Dollars::new(*amount));
                write!(f, "of {limit} a day {spent} are spent and {reserved} are kept for running jobs")
            }
            Self::Unavailable(what) => write!(f, "what was spent can't be known: {what}"),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => f.write_str("change the settings if it should"),
            Self::At(time) => write!(f, "possible again at {time}"),
            Self::AfterAnother => f.write_str("possible again when another job has ended"),
            Self::WhenIdle => f.write_str("possible again when the user has been away"),
            Self::Later => f.write_str("possible again later"),
        }
    }
}

/// What a day has cost so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cost {
    pub(super) tokens: u64,
    pub(super) dollars: Dollars,
}

impl Cost {
    pub(super) fn add(&mut self, more: Self) {
        self.tokens = self.tokens.saturating_add(more.tokens);
        self.dollars += more.dollars;
    }
}

/// The day of a time.
pub(super) fn day_of(now: Timestamp) -> Date {
    now.to_zoned(TimeZone::UTC).date()
}

/// When the day after that begins.
fn tomorrow(now: Timestamp) -> When {
    let midnight = day_of(now).tomorrow().and_then(|date| date.to_zoned(TimeZone::UTC));
    midnight.map_or(When::Later, |midnight| When::At(midnight.timestamp()))
}

impl GovernorLimits {
    /// What can be said from the circumstances alone.
    pub(super) fn check_standing(&self, job: &Job<'_>, now: Timestamp) -> Result<(), Denied> {
        let Standing { ephemeral, sub_agent, remote, idle_since, rate_limit_left } = job.standing;
        let deny = |reason, when| Err(denied(job, reason, when));
        if !self.enabled || self.at_once == 0 {
            return deny(Reason::Off, When::Never);
        }
        for (applies, reason) in
            [(ephemeral, Reason::Ephemeral), (sub_agent, Reason::SubAgent), (remote, Reason::Remote)]
        {
            if applies {
                return deny(reason, When::Never);
            }
        }
        if let Some(left) = rate_limit_left.filter(|left| *left < self.least_rate_limit) {
            return deny(Reason::RateLimit { left, least: self.least_rate_limit }, When::Later);
        }
        if self.idle_only {
            let needed = i64::try_from(self.idle_minutes).unwrap_or(i64::MAX).saturating_mul(60);
            let from = idle_since.map(|since| since.checked_add(SignedDuration::from_secs(needed)));
            match from {
                Some(Ok(from)) if from <= now => {}
                Some(Ok(from)) => return deny(Reason::NotIdle, When::At(from)),
                Some(Err(_)) => return deny(Reason::NotIdle, When::Never),
                None => return deny(Reason::NotIdle, When::WhenIdle),
            }
        }
        Ok(())
    }

    /// What the job may take, given what the day has cost and what runs. Never more than what is left.
    pub(super) fn grant(
        &self,
        job: &Job<'_>,
        now: Timestamp,
        spent: Cost,
        running: &[Reservation],
    ) -> Result<Caps, Denied> {
        let deny = |reason, when| Err(denied(job, reason, when));
        if running.len() >= self.at_once {
            return deny(Reason::Busy { running: running.len() }, When::AfterAnother);
        }
        let mut caps = self.caps(job.name);
        let need =
            Cost { tokens: job.estimate.context().max(1), dollars: Dollars::new(job.dollars.max(0.0)) };
        let Usage { output, .. } = job.estimate;
        let prompt = job.estimate.prompt();
        // What is not a number allows nothing.
        let is_affordable = need.dollars.as_f64() <= caps.dollars;
        if prompt > caps.input_tokens || output > caps.output_tokens || !is_affordable {
            return deny(Reason::JobCaps, When::Never);
        }
        let mut reserved = Cost::default();
        let today = day_of(now);
        running.iter().filter(|other| other.day == today).for_each(|other| reserved.add(other.cost()));
        let when = |fits_limit: bool, fits_today: bool| match (fits_limit, fits_today) {
            (false, _) => When::Never,
            (true, false) => tomorrow(now),
            (true, true) => When::AfterAnother,
        };
        if let Some(limit) = self.daily_tokens {
            let today = limit.saturating_sub(spent.tokens);
            let left = today.saturating_sub(reserved.tokens);
            if need.tokens > left {
                let reason = Reason::DailyTokens { spent: spent.tokens, reserved: reserved.tokens, limit };
                return deny(reason, when(need.tokens <= limit, need.tokens <= today));
            }
            // Both together must fit, and what was estimated must fit into each.
            caps.output_tokens = caps.output_tokens.min(left - prompt);
            caps.input_tokens = caps.input_tokens.min(left - caps.output_tokens);
        }
        if let Some(limit) = self.daily_dollars {
            let limit = Dollars::new(limit.max(0.0));
            let today = (limit - spent.dollars).max(Dollars::ZERO);
            let left = (today - reserved.dollars).max(Dollars::ZERO);
            if need.dollars > left {
                let [spent, reserved, daily] = [spent.dollars, reserved.dollars, limit].map(Dollars::as_f64);
                let reason = Reason::DailyDollars { spent, reserved, limit: daily };
                return deny(reason, when(need.dollars <= limit, need.dollars <= today));
            }
            caps.dollars = caps.dollars.min(left.as_f64());
        }
        Ok(caps)
    }
}

fn denied(job: &Job<'_>, reason: Reason, when: When) -> Denied {
    Denied { job: job.name.to_owned(), reason, when }
}

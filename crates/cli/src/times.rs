//! Points in time as people write them.

use anyhow::Context as _;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp, Zoned};

/// `2026-01-31`, `2026-01-31T12:00:00Z`, or a time ago: `90m`, `12h`, `7d`, `2w`.
pub(crate) fn parse(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    if let Some(ago) = ago(text) {
        return now.checked_sub(ago).with_context(|| format!("`{text}` ago is before time began"));
    }
    if let Ok(at) = text.parse::<Timestamp>() {
        return Ok(at);
    }
    let date: Date = text.parse().ok().with_context(|| {
        format!("`{text}` is no time: write a date (2026-01-31), a time (2026-01-31T12:00:00Z) or an age (12h, 7d)")
    })?;
    Ok(date
        .to_zoned(TimeZone::system())
        .with_context(|| format!("`{text}` does not exist here"))?
        .timestamp())
}

/// A point in time ahead: `2026-01-31` (the end of that day), `2026-01-31T12:00:00Z`, or a time from now: `12h`, `30d`, `2w`.
pub(crate) fn ahead(text: &str, now: Timestamp) -> anyhow::Result<Timestamp> {
    let at = if let Some(span) = ago(text) {
        now.checked_add(span).with_context(|| format!("`{text}` from now is after time ended"))?
    } else if let Ok(at) = text.parse::<Timestamp>() {
        at
    } else {
        let date: Date = text.parse().ok().with_context(|| {
            format!("`{text}` is no time: write a date (2026-12-31), a time (2026-12-31T12:00:00Z) or a span (12h, 30d)")
        })?;
        let next = date.tomorrow().with_context(|| format!("`{text}` is where time ends"))?;
        next.to_zoned(TimeZone::system())
            .with_context(|| format!("`{text}` does not exist here"))?
            .timestamp()
    };
    anyhow::ensure!(at > now, "`{text}` is over already");
    Ok(at)
}

/// How long ago it was, in a word or two.
pub(crate) fn age(at: Timestamp, now: Timestamp) -> String {
    match now.as_second() - at.as_second() {
        ..60 => "just now".to_owned(),
        seconds => format!("{} ago", span(seconds)),
    }
}

/// How long it is from now on, in a word or two.
pub(crate) fn until(at: Timestamp, now: Timestamp) -> String {
    format!("in {}", span((at.as_second() - now.as_second()).max(0)))
}

fn span(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    let (n, unit) = match seconds {
        ..HOUR => (seconds / MINUTE, "minute"),
        HOUR..DAY => (seconds / HOUR, "hour"),
        _ if seconds < 60 * DAY => (seconds / DAY, "day"),
        _ if seconds < 730 * DAY => (seconds / (30 * DAY), "month"),
        _ => (seconds / (365 * DAY), "year"),
    };
    crate::output::count(n.unsigned_abs(), unit)
}

fn ago(text: &str) -> Option<SignedDuration> {
    let unit = text.chars().last()?;
    let n: i64 = text.strip_suffix(unit)?.parse().ok()?;
    let minutes: i64 = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return None,
    };
    Some(SignedDuration::from_secs(n.checked_mul(minutes * 60)?))
}

/// A point in time in the reader's own zone, to the minute.
pub(crate) fn local(at: Timestamp) -> String {
    Zoned::new(at, TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let at = |text: &str| parse(text, now).map(|at| at.to_string());
        assert_eq!(at("3d").unwrap(), "2026-01-07T00:00:00Z");
        assert_eq!(at("90m").unwrap(), "2026-01-09T22:30:00Z");
        assert_eq!(at("2026-01-02T03:04:05Z").unwrap(), "2026-01-02T03:04:05Z");
        assert!(at("2026-01-02").is_ok());
        assert!(at("soon").unwrap_err().to_string().contains("`soon` is no time"));
        assert!(at("99999999999999999d").is_err());
    }

    #[test]
    fn times_ahead_are_ahead() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let at = |text: &str| ahead(text, now).map(|at| at.to_string());
        assert_eq!(at("3d").unwrap(), "2026-01-13T00:00:00Z");
        assert_eq!(at("2026-02-02T03:04:05Z").unwrap(), "2026-02-02T03:04:05Z");
        assert!(ahead("2026-03-01", now).unwrap() > "2026-03-01T06:00:00Z".parse().unwrap());
        for text in ["0d", "2025-01-01", "2026-01-09T00:00:00Z"] {
            assert!(at(text).unwrap_err().to_string().contains("over already"), "{text}");
        }
        assert!(at("soon").is_err() && at("99999999999999999d").is_err());
    }

    #[test]
    fn ages_are_told_in_a_word_or_two() {
        let now: Timestamp = "2026-01-10T00:00:00Z".parse().unwrap();
        let of = |seconds: i64| age(Timestamp::from_second(now.as_second() - seconds).unwrap(), now);
        assert_eq!(of(5), "just now");
        assert_eq!(of(-500), "just now");
        assert_eq!(of(61), "1 minute ago");
        assert_eq!(of(7_200), "2 hours ago");
        assert_eq!(of(3 * 86_400), "3 days ago");
        assert_eq!(of(90 * 86_400), "3 months ago");
        assert_eq!(of(800 * 86_400), "2 years ago");
        assert_eq!(until(Timestamp::from_second(now.as_second() + 86_400).unwrap(), now), "in 1 day");
    }
}

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
}

//! When a provider wants to be asked again: in headers, in fields, in words.

use super::report::Report;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::time::{Duration, SystemTime};

/// No provider means more than this; more is a slip.
const LONGEST: f64 = 30.0 * 24.0 * 3600.0;

/// Reads `retry-after-ms`, and `retry-after` as seconds or as a date. A date in the past is no wait at all.
pub(crate) fn from_headers(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|text| text.parse::<f64>().ok()) {
        return duration(wait / 1000.0);
    }
    let text = text("retry-after")?;
    if let Ok(wait) = text.parse::<f64>() {
        return duration(wait);
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(SystemTime::from(date.timestamp()).duration_since(now).unwrap_or_default())
}

/// Reads the report: Gemini's `retryDelay`, ChatGPT's `resets_in_seconds`, and "try again in 1.2s", "retry after 20
/// seconds".
pub(crate) fn from_report(report: &Report) -> Option<Duration> {
    if let Some(seconds) = report.figure("resets_in_seconds") {
        return Some(Duration::from_secs(seconds));
    }
    let details = report.fields.get("details").and_then(Value::as_array);
    let delay = details.into_iter().flatten().find_map(|detail| detail.get("retryDelay")?.as_str());
    if let Some(delay) = delay {
        return spoken(delay);
    }
    let message = report.message.to_lowercase();
    let rest = ["try again in ", "retry after ", "retry in "]
        .iter()
        .find_map(|phrase| message.split_once(phrase).map(|(_, rest)| rest))?;
    spoken(rest)
}

/// `20ms`, `1.898s`, `6m0s`, `1h2m3s`, `26 seconds`.
fn spoken(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = 0.0;
    let mut known = false;
    while rest.starts_with(|c: char| c.is_ascii_digit()) {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let after = after.trim_start();
        let end = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        let factor = match unit {
            "ms" | "milliseconds" => 0.001,
            "s" | "sec" | "second" | "seconds" => 1.0,
            "m" | "min" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86_400.0,
            _ => break,
        };
        total += number.trim_end_matches('.').parse::<f64>().ok()? * factor;
        known = true;
        rest = after;
    }
    if known { duration(total) } else { None }
}

fn duration(seconds: f64) -> Option<Duration> {
    if seconds.is_nan() || seconds < 0.0 {
        return None;
    }
    Duration::try_from_secs_f64(seconds.min(LONGEST)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};
    use serde_json::json;

    fn header(name: &'static str, value: &'static str) -> Option<Duration> {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_445_412_480); // Wed, 21 Oct 2015 07:28:00 GMT
        let headers =
            HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_static(value))]);
        from_headers(&headers, now)
    }

    #[test]
    fn headers_say_seconds_milliseconds_or_a_date() {
        assert_eq!(header("retry-after", "2"), Some(Duration::from_secs(2)));
        assert_eq!(header("retry-after", "0.5"), Some(Duration::from_millis(500)));
        assert_eq!(header("retry-after-ms", "750"), Some(Duration::from_millis(750)));
        assert_eq!(header("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT"), Some(Duration::from_secs(30)));
        assert_eq!(header("retry-after", "Wed, 21 Oct 2015 07:27:00 GMT"), Some(Duration::ZERO));
        for nonsense in ["soon", "-1", "NaN", ""] {
            assert_eq!(header("retry-after", nonsense), None, "{nonsense}");
        }
        assert!(header("retry-after", "1e300").is_some_and(|wait| wait.as_secs_f64() <= LONGEST));
    }

    #[test]
    fn reports_say_it_in_words_or_fields() {
        let said = |message: &str| {
            from_report(&Report::read(
                Some(429),
                json!({"error": {"message": message}}).to_string().as_bytes(),
            ))
        };
        assert_eq!(
            said("Rate limit reached. Please try again in 1.898s. Visit …"),
            Some(Duration::from_millis(1_898))
        );
        assert_eq!(said("Please try again in 20ms."), Some(Duration::from_millis(20)));
        assert_eq!(said("Please try again in 6m0s."), Some(Duration::from_secs(360)));
        assert_eq!(said("Please retry after 26 seconds."), Some(Duration::from_secs(26)));
        assert_eq!(said("Please try again in a moment."), None);
        let gemini = json!([{"error": {"code": 429, "message": "quota", "details": [{"@type": "x"}, {"retryDelay": "34s"}]}}]);
        assert_eq!(
            from_report(&Report::read(Some(429), gemini.to_string().as_bytes())),
            Some(Duration::from_secs(34))
        );
    }
}

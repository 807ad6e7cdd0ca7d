//! Relative dates made absolute (M2): "Thursday" says nothing a week later.

use super::pattern::patterns;
use jiff::ToSpan;
use jiff::civil::{Date, Weekday};

patterns! {
    ENGLISH = r"\b(?:(?:the )?day after tomorrow|(?:the )?day before yesterday|today|tonight|tomorrow|yesterday|(?:(?:this|next|last|coming|past) )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)|(?:this|next|last) (?:week|month|quarter|year)|(?:the )?end of (?:the |this |next )?(?:week|month|quarter|year)|in (?:\d{1,3}|a|one|two|three|four|five|six) (?:days?|weeks?|months?)|(?:\d{1,3}|a|one|two|three|four|five|six) (?:days?|weeks?|months?) ago)\b";
    RECURS = r"(?:\b(?:every|each|on most|weekly|per)\s+(?:\w+\s+)?|每个?)$";
    CHINESE = r"大后天|后天|明天|今天|今晚|昨天|前天|(?:下下|上上|这个?|本|下个?|上个?)?(?:周|星期|礼拜)[一二三四五六日天末]|(?:本|这个?|下个?|上个?)周|月底|年底|(?:本|这个|下个?|上个?)月|[0-9一两二三四五六七八九十]{1,3}(?:天|周|个月)(?:以?后|之后|以?前|之前)";
    HAS_DATE = r"^\s*[(（]?\s*\d{4}-\d\d";
    PARTS = r"^(?:in )?(\d{1,3}|a|one|two|three|four|five|six) (day|week|month)s?( ago)?$";
    ZH_PARTS = r"^([0-9一两二三四五六七八九十]{1,3})(天|周|个月)(?:以|之)?(后|前)$";
}

/// A text with the date behind each expression that depends on when it was said.
pub(super) fn absolute(text: &str, today: Date) -> String {
    let mut places = ENGLISH.places(text);
    places.extend(CHINESE.places(text));
    places.sort_by_key(|place| place.start);
    let mut out = String::with_capacity(text.len() + 16);
    let mut from = 0;
    for place in places {
        if place.start < from {
            continue;
        }
        let (found, end) = (&text[place.clone()], place.end);
        let recurs = RECURS.is_in(&text[..place.start]);
        if recurs || HAS_DATE.is_in(&text[end..]) {
            continue;
        }
        let Some(date) = english(&found.to_lowercase(), today).or_else(|| chinese(found, today)) else {
            continue;
        };
        out.push_str(&text[from..end]);
        out.push_str(&if found.is_ascii() { format!(" ({date})") } else { format!("({date})") });
        from = end;
    }
    out.push_str(&text[from..]);
    out
}

/// Whether a text says when.
pub(super) fn says_when(text: &str) -> bool {
    patterns_say(text) || DATE.is_in(text)
}

fn patterns_say(text: &str) -> bool {
    ENGLISH.is_in(text) || CHINESE.is_in(text)
}

static DATE: super::pattern::Pattern = super::pattern::Pattern::new(
    r"\b\d{4}-\d\d-\d\d\b|\b\d{1,2}[/.]\d{1,2}(?:[/.]\d{2,4})?\b|\b(?:january|february|march|april|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.? \d{1,2}\b|\b\d{1,2}(?:st|nd|rd|th)\b|\bQ[1-4]\b|\d{1,2}月\d{1,2}[日号]|\d{1,2}月",
);

fn day(date: Date, days: i64) -> Option<String> {
    date.checked_add(days.days()).ok().map(|date| date.to_string())
}

fn number(word: &str) -> Option<i64> {
    const WORDS: [(&str, i64); 19] = [
        ("a", 1),
        ("one", 1),
        ("two", 2),
        ("three", 3),
        ("four", 4),
        ("five", 5),
        ("six", 6),
        ("一", 1),
        ("两", 2),
        ("二", 2),
        ("三", 3),
        ("四", 4),
        ("五", 5),
        ("六", 6),
        ("七", 7),
        ("八", 8),
        ("九", 9),
        ("十", 10),
        ("半", 0),
    ];
    word.parse().ok().or_else(|| WORDS.iter().find(|(known, _)| *known == word).map(|(_, n)| *n))
}

fn english(text: &str, today: Date) -> Option<String> {
    let text = text.trim_start_matches("the ");
    match text {
        "today" | "tonight" => return day(today, 0),
        "tomorrow" => return day(today, 1),
        "yesterday" => return day(today, -1),
        "day after tomorrow" => return day(today, 2),
        "day before yesterday" => return day(today, -2),
        _ => {}
    }
    if let Some(rest) = text.strip_prefix("end of ") {
        let unit = rest.rsplit(' ').next()?;
        return end_of(unit, rest.contains("next"), today);
    }
    if let Some(parts) = PARTS.groups(text) {
        let n = number(parts[1])? * if parts[3].is_empty() { 1 } else { -1 };
        return ahead(n, parts[2], today);
    }
    let (which, word) = text.split_once(' ').unwrap_or(("", text));
    if let Some(weekday) = weekday(word) {
        return day(today, days_to(weekday, which, today));
    }
    let n = match which {
        "next" => 1,
        "last" => -1,
        "this" => 0,
        _ => return None,
    };
    period(word, n, today)
}

fn weekday(word: &str) -> Option<Weekday> {
    Some(match word {
        "monday" => Weekday::Monday,
        "tuesday" => Weekday::Tuesday,
        "wednesday" => Weekday::Wednesday,
        "thursday" => Weekday::Thursday,
        "friday" => Weekday::Friday,
        "saturday" => Weekday::Saturday,
        "sunday" => Weekday::Sunday,
        _ => return None,
    })
}

/// A weekday without more is the next one; that of this, the next or the last week if it says so.
fn days_to(weekday: Weekday, which: &str, today: Date) -> i64 {
    let now = i64::from(today.weekday().to_monday_zero_offset());
    let then = i64::from(weekday.to_monday_zero_offset());
    match which {
        "this" => then - now,
        "next" => then - now + 7,
        "last" | "past" => {
            if then < now {
                then - now
            } else {
                then - now - 7
            }
        }
        _ => {
            if then > now {
                then - now
            } else {
                then - now + 7
            }
        }
    }
}

fn ahead(n: i64, unit: &str, today: Date) -> Option<String> {
    let date = match unit {
        "day" | "天" => today.checked_add(n.days()),
        "week" | "周" => today.checked_add(n.checked_mul(7)?.days()),
        _ => today.checked_add(n.months()),
    };
    date.ok().map(|date| date.to_string())
}

fn period(unit: &str, n: i64, today: Date) -> Option<String> {
    match unit {
        "week" => {
            let monday = -i64::from(today.weekday().to_monday_zero_offset()) + 7 * n;
            day(today, monday).map(|date| format!("week of {date}"))
        }
        "month" => today.checked_add(n.months()).ok().map(|date| date.strftime("%Y-%m").to_string()),
        "quarter" => {
            let date = today.checked_add((3 * n).months()).ok()?;
            Some(format!("{}-Q{}", date.year(), (date.month() - 1) / 3 + 1))
        }
        "year" => today.checked_add(n.years()).ok().map(|date| date.strftime("%Y").to_string()),
        _ => None,
    }
}

fn end_of(unit: &str, is_next: bool, today: Date) -> Option<String> {
    let n = i64::from(is_next);
    let date = match unit {
        "week" => return day(today, 4 - i64::from(today.weekday().to_monday_zero_offset()) + 7 * n),
        "month" => today.checked_add(n.months()).ok()?.last_of_month(),
        "quarter" => {
            let date = today.checked_add((3 * n).months()).ok()?;
            let last = i64::from(2 - (date.month() - 1) % 3);
            date.first_of_month().checked_add(last.months()).ok()?.last_of_month()
        }
        "year" => today.checked_add(n.years()).ok()?.last_of_year(),
        _ => return None,
    };
    Some(date.to_string())
}

fn chinese(text: &str, today: Date) -> Option<String> {
    match text {
        "今天" | "今晚" => return day(today, 0),
        "明天" => return day(today, 1),
        "后天" => return day(today, 2),
        "大后天" => return day(today, 3),
        "昨天" => return day(today, -1),
        "前天" => return day(today, -2),
        "月底" => return end_of("month", false, today),
        "年底" => return end_of("year", false, today),
        _ => {}
    }
    if let Some(parts) = ZH_PARTS.groups(text) {
        let n = number(parts[1])? * if parts[3] == "后" { 1 } else { -1 };
        return ahead(n, parts[2], today);
    }
    let weeks = if text.starts_with("下下") {
        2
    } else if text.starts_with("上上") {
        -2
    } else if text.starts_with('下') {
        1
    } else if text.starts_with('上') {
        -1
    } else {
        0
    };
    if text.ends_with('月') {
        return period("month", weeks, today);
    }
    let last = text.chars().next_back()?;
    let Some(at) = "一二三四五六日天末".chars().position(|c| c == last) else {
        return text.ends_with('周').then(|| period("week", weeks, today)).flatten();
    };
    // Sunday has two names; the weekend begins on Saturday.
    let then = match at {
        0..=5 => at as i64,
        6 | 7 => 6,
        _ => 5,
    };
    let now = i64::from(today.weekday().to_monday_zero_offset());
    let is_bare = text.starts_with('周') || text.starts_with("星期") || text.starts_with("礼拜");
    let ahead = if is_bare && then <= now { 7 } else { 0 };
    day(today, then - now + 7 * weeks + ahead)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    /// A Monday.
    const TODAY: Date = date(2026, 3, 2);

    #[test]
    fn m2_relative_dates_become_absolute() {
        for (said, kept) in [
            ("freeze merges after Thursday", "freeze merges after Thursday (2026-03-05)"),
            ("it ships tomorrow.", "it ships tomorrow (2026-03-03)."),
            ("due next Friday, then", "due next Friday (2026-03-13), then"),
            ("since last Friday", "since last Friday (2026-02-27)"),
            ("done by the end of the month", "done by the end of the month (2026-03-31)"),
            ("burned last quarter", "burned last quarter (2025-Q4)"),
            ("in two weeks", "in two weeks (2026-03-16)"),
            ("3 days ago", "3 days ago (2026-02-27)"),
            ("next week", "next week (week of 2026-03-09)"),
            ("下周三上线", "下周三(2026-03-11)上线"),
            ("周四之后冻结", "周四(2026-03-05)之后冻结"),
            ("明天发布，3天后演示", "明天(2026-03-03)发布，3天后(2026-03-05)演示"),
            ("月底截止", "月底(2026-03-31)截止"),
        ] {
            assert_eq!(absolute(said, TODAY), kept);
        }
    }

    #[test]
    fn what_recurs_or_is_dated_already_stays() {
        for said in [
            "every Tuesday",
            "on Tuesdays",
            "每周二发布",
            "Thursday (2026-03-05)",
            "the todays word",
            "no date at all",
        ] {
            assert_eq!(absolute(said, TODAY), said);
        }
    }
}

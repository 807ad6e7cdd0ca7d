//! Leaks in many forms, and harmless texts that look like them: one per line of `tests/data`.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use std::fmt::Write as _;
use throughline_redact::redact;
use throughline_testkit::secrets::Noise;

const LEAKS: &str = include_str!("../data/leaks.txt");
const HARMLESS: &str = include_str!("../data/harmless.txt");

/// The lines of a file that are no comments.
fn rows(file: &str) -> Vec<&str> {
    file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect()
}

/// Fills in templates such as `{A36}` and `{b64 TEXT}`, the innermost first.
fn fill(row: &str, noise: &mut Noise) -> String {
    let mut text = row.to_owned();
    let mut from = 0;
    while let Some(end) = text[from..].find('}').map(|at| from + at) {
        let filled =
            text[..end].rfind('{').and_then(|start| Some((start, template(&text[start + 1..end], noise)?)));
        match filled {
            Some((start, filled)) => {
                text.replace_range(start..=end, &filled);
                from = 0;
            }
            None => from = end + 1,
        }
    }
    text
}

fn template(inside: &str, noise: &mut Noise) -> Option<String> {
    let each = |text: &str, format: fn(u8) -> String| text.bytes().map(format).collect::<String>();
    let filled = match inside.split_once(' ') {
        Some(("b64", text)) => STANDARD.encode(text),
        Some(("b64url", text)) => URL_SAFE_NO_PAD.encode(text),
        Some(("hex", text)) => each(text, |byte| format!("{byte:02x}")),
        Some(("HEX", text)) => each(text, |byte| format!("{byte:02X}")),
        Some(("pairs", text)) => each(text, |byte| format!("{byte:02x} ")).trim_end().to_owned(),
        Some(("colons", text)) => each(text, |byte| format!("{byte:02x}:")).trim_end_matches(':').to_owned(),
        Some(("pct", text)) => each(text, |byte| format!("%{byte:02X}")),
        Some(("u", text)) => each(text, |byte| format!("\\u{byte:04x}")),
        Some(("x", text)) => each(text, |byte| format!("\\x{byte:02x}")),
        Some(("ent", text)) => each(text, |byte| format!("&#{byte};")),
        Some(("zw", text)) => text.chars().fold(String::new(), |mut out, c| {
            let _ = write!(out, "{c}\u{200b}");
            out
        }),
        Some(_) => return None,
        None => match inside {
            "nl" => "\n".to_owned(),
            "zwsp" => "\u{200b}".to_owned(),
            "begin" => format!("-----BEGIN {} KEY-----", "PRIVATE"),
            "end" => format!("-----END {} KEY-----", "PRIVATE"),
            other => {
                let length = other.get(1..)?.parse().ok()?;
                match other.chars().next()? {
                    // Digits at set places: noise without any is no key.
                    'A' => noise
                        .run("abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ", length)
                        .chars()
                        .enumerate()
                        .map(|(at, c)| if at % 3 == 1 { char::from(b'2' + (at % 8) as u8) } else { c })
                        .collect(),
                    'H' => noise.run("0123456789abcdef", length),
                    'B' => noise.run("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", length),
                    _ => return None,
                }
            }
        },
    };
    Some(filled)
}

/// Returns whether a usable part of a secret is left: six characters in a row that stand nowhere else.
fn leaks(secret: &str, around: &str, redacted: &str) -> bool {
    let chars: Vec<char> = secret.chars().collect();
    chars.windows(chars.len().clamp(1, 6)).any(|part| {
        let part: String = part.iter().collect();
        redacted.contains(&part) && !around.contains(&part)
    })
}

#[test]
fn every_leak_is_masked_and_nothing_around_it() {
    let rows = rows(LEAKS);
    assert!(rows.len() >= 100, "{}", rows.len());
    let mut noise = Noise::new(18);
    let mut missed = Vec::new();
    for row in rows {
        let filled = fill(row, &mut noise);
        let (before, rest) = filled.split_once('⟦').unwrap();
        let (secret, behind) = rest.split_once('⟧').unwrap();
        let text = format!("{before}{secret}{behind}");
        let redacted = redact(&text);
        let is_exact = redacted.text().starts_with(before) && redacted.text().ends_with(behind);
        if redacted.is_clean() || leaks(secret, &format!("{before}{behind}"), redacted.text()) || !is_exact {
            missed.push(format!("{row}\n    {}", redacted.text()));
        }
        assert!(redact(redacted.text()).is_clean(), "{row}");
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[test]
fn every_harmless_text_stays() {
    let rows = rows(HARMLESS);
    assert!(rows.len() >= 100, "{}", rows.len());
    let mut noise = Noise::new(81);
    let taken: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let text = fill(row, &mut noise);
            let redacted = redact(&text);
            (redacted.text() != text).then(|| format!("{row}\n    {}", redacted.text()))
        })
        .collect();
    assert!(taken.is_empty(), "{}", taken.join("\n"));
}

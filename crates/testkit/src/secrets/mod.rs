//! A labelled corpus for redaction: secrets of every kind in the surroundings they are found in, and what only looks like one.
//!
//! Everything is made at run time from parts and a seed, so that no file of this repository holds what a scanner takes for a leak, and
//! every run sees the same corpus.
//!
//! ```
//! use throughline_testkit::secrets::{look_alikes, secrets};
//!
//! let corpus = secrets(1, 3);
//! assert_eq!(corpus, secrets(1, 3));
//! assert!(corpus.iter().all(|sample| sample.text.contains(&sample.secret)));
//! assert!(look_alikes(1, 3).iter().all(|sample| sample.secret.is_empty()));
//! ```

mod forms;
mod named;
mod noise;
mod ordinary;
mod settings;

pub use noise::Noise;

/// A piece of text with at most one secret in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// What the secret is, or what it looks like.
    pub kind: &'static str,
    /// Where it stands.
    pub setting: &'static str,
    /// The text.
    pub text: String,
    /// The part that must go; empty: everything must stay.
    pub secret: String,
}

impl Sample {
    /// Whether a redacted text still has a usable part of the secret: six characters in a row that stand nowhere else.
    pub fn leaks(&self, redacted: &str) -> bool {
        let rest = self.text.replacen(&self.secret, "", 1);
        let left = marks_aside(redacted).concat();
        let chars: Vec<char> = self.secret.chars().collect();
        let parts = chars.windows(chars.len().clamp(1, 6)).map(|part| part.iter().collect::<String>());
        parts.into_iter().any(|part| left.contains(&part) && !rest.contains(&part))
    }

    /// Whether the secret went and everything else stayed, to the byte.
    pub fn is_exact(&self, redacted: &str) -> bool {
        let (before, behind) = self.text.split_once(self.secret.as_str()).unwrap_or((&self.text, ""));
        let parts = marks_aside(redacted);
        match parts.as_slice() {
            [first, .., last] => *first == before && *last == behind,
            [all] => self.secret.is_empty() && *all == self.text,
            [] => false,
        }
    }
}

/// What stands between marks such as `[redacted:KIND]`.
fn marks_aside(text: &str) -> Vec<&str> {
    let mut parts = text.split("[redacted:");
    let first = parts.next();
    first.into_iter().chain(parts.map(|part| part.split_once(']').map_or(part, |(_, rest)| rest))).collect()
}

/// Secrets: of each kind so many in each setting that it is found in.
pub fn secrets(seed: u64, each: usize) -> Vec<Sample> {
    let mut noise = Noise::new(seed);
    let mut samples = Vec::new();
    for form in forms::TOKENS {
        for setting in settings::ANYWHERE {
            for _ in 0..each {
                let secret = (form.make)(&mut noise);
                let text = (setting.around)(&mut noise, &secret);
                samples.push(Sample { kind: form.kind, setting: setting.name, text, secret });
            }
        }
    }
    for (kind, make, places) in named::NAMED {
        for setting in *places {
            for _ in 0..each {
                let secret = make(&mut noise);
                let text = (setting.around)(&mut noise, &secret);
                samples.push(Sample { kind, setting: setting.name, text, secret });
            }
        }
    }
    samples
}

/// What looks like a secret and is none: of each kind so many.
pub fn look_alikes(seed: u64, each: usize) -> Vec<Sample> {
    let mut noise = Noise::new(seed ^ 0x10_0c_a1_1e);
    let mut samples = Vec::new();
    for (kind, make) in ordinary::KINDS {
        for _ in 0..each {
            let text = make(&mut noise);
            samples.push(Sample { kind, setting: "text", text, secret: String::new() });
        }
    }
    samples
}

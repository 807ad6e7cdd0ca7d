//! Chance by a seed.

/// A source of chance that gives the same for the same seed.
#[derive(Clone, Debug)]
pub struct Noise(u64);

pub(super) const DIGITS: &str = "0123456789";
pub(super) const HEX: &str = "0123456789abcdef";
pub(super) const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
pub(super) const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
pub(super) const BASE32: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
pub(super) const ALNUM: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
pub(super) const URLSAFE: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
pub(super) const BASE64: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

impl Noise {
    /// From a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit.
    pub fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.number() % (limit.max(1) as u64)).unwrap_or(0)
    }

    /// One of several.
    pub fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let at = self.below(choices.len());
        choices.get(at).copied().unwrap_or_default()
    }

    /// So many characters of an alphabet.
    pub fn run(&mut self, alphabet: &str, length: usize) -> String {
        let bytes = alphabet.as_bytes();
        (0..length).map(|_| char::from(bytes.get(self.below(bytes.len())).copied().unwrap_or(b'x'))).collect()
    }

    /// A number of characters between two lengths.
    pub(super) fn between(&mut self, alphabet: &str, least: usize, most: usize) -> String {
        let length = least + self.below(most + 1 - least);
        self.run(alphabet, length)
    }

    /// A word of ordinary technical language.
    pub(super) fn word(&mut self) -> &'static str {
        const WORDS: &[&str] = &[
            "service", "worker", "payment", "user", "index", "cache", "queue", "report", "deploy", "cluster",
            "gateway", "search", "billing", "session", "request", "handler", "config", "client", "server",
            "image", "backup", "mirror", "schema", "parser", "engine", "render", "layout", "widget",
            "metric",
        ];
        self.of(WORDS)
    }
}

//! How a session goes on, judged by how it went so far.

use serde::{Deserialize, Serialize};

/// Limits of the guess how many more requests a session makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Horizon {
    /// At least so many, even at the start.
    pub floor: u64,
    /// At most so many, even after a thousand.
    pub cap: u64,
}

impl Default for Horizon {
    /// Recorded agent sessions rarely end within 20 requests of any point before their middle, and after 150 more the
    /// context has been replaced in any case.
    fn default() -> Self {
        Self { floor: 20, cap: 150 }
    }
}

/// What is learnt from a session while it runs: how many requests it made, and how fast its context grows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pace {
    requests: u64,
    size: u64,
    growth: f64,
    grown: u64,
}

/// Growth is averaged over about so many requests.
const MEMORY: u64 = 32;

impl Pace {
    /// A request is sent whose prompt has so many tokens.
    pub fn request(&mut self, prompt: u64) {
        // The first request is no growth, and neither is a smaller one: something was removed.
        if self.requests > 0 && prompt >= self.size {
            self.grown += 1;
            let share = 1.0 / self.grown.min(MEMORY) as f64;
            self.growth += ((prompt - self.size) as f64 - self.growth) * share;
        }
        self.requests += 1;
        self.size = prompt;
    }

    /// An edit is about to change the prompt to so many tokens: what follows is not taken for growth, or the lack of it.
    pub fn edited(&mut self, prompt: u64) {
        self.size = prompt;
    }

    /// Requests so far.
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// Tokens that a request adds to the one before, on average; zero before the second.
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// In how many requests the context will have grown by so many tokens; `None` while it does not grow. What an edit
    /// frees is saved at most until then, if the tokens would go at that size anyway.
    pub fn requests_until_grown_by(&self, room: u64) -> Option<u64> {
        (self.growth > 0.0).then(|| (room as f64 / self.growth).ceil() as u64)
    }

    /// How many more requests to expect: as many as there were, within limits. What has lasted long tends to last, and
    /// whoever looks in at a random moment has on average seen half.
    pub fn remaining(&self, horizon: Horizon) -> u64 {
        self.requests.max(horizon.floor).min(horizon.cap)
    }
}

use serde::{Deserialize, Serialize};

/// What a provider reported for one request. Absent figures are zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from nor written to the prompt cache.
    pub input: u64,
    /// Input tokens read from the prompt cache.
    pub cache_read: u64,
    /// Input tokens written to the prompt cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// The share of the output that was reasoning.
    pub reasoning: u64,
}

impl Usage {
    /// Tokens of the whole prompt, cached or not.
    pub fn prompt(&self) -> u64 {
        // What providers report is not to be trusted to add up.
        self.input.saturating_add(self.cache_read).saturating_add(self.cache_write)
    }

    /// Tokens the context holds after the answer: prompt and output.
    pub fn context(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        let Self { input, cache_read, cache_write, output, reasoning } = other;
        self.input = self.input.saturating_add(input);
        self.cache_read = self.cache_read.saturating_add(cache_read);
        self.cache_write = self.cache_write.saturating_add(cache_write);
        self.output = self.output.saturating_add(output);
        self.reasoning = self.reasoning.saturating_add(reasoning);
    }
}

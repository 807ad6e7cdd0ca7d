use serde::{Deserialize, Serialize};
use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// Tokens by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Breakdown {
    /// Words of the user, the model and the client.
    pub text: u64,
    /// The model's reasoning.
    pub reasoning: u64,
    /// Tool calls: names and arguments.
    pub calls: u64,
    /// Tool results, their pictures aside.
    pub results: u64,
    /// Pictures, wherever they stand.
    pub images: u64,
    /// Documents, wherever they stand.
    pub documents: u64,
    /// Blocks of kinds that we do not know.
    pub other: u64,
    /// What the provider writes around messages, calls and results.
    pub structure: u64,
}

impl Breakdown {
    /// All kinds together.
    ///
    /// ```
    /// use throughline_core::tokens::Breakdown;
    ///
    /// assert_eq!(Breakdown { text: 40, structure: 4, ..Breakdown::default() }.total(), 44);
    /// ```
    pub fn total(&self) -> u64 {
        let Self { text, reasoning, calls, results, images, documents, other, structure } = self;
        text + reasoning + calls + results + images + documents + other + structure
    }
}

impl Add for Breakdown {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Breakdown {
    fn add_assign(&mut self, more: Self) {
        let Self { text, reasoning, calls, results, images, documents, other, structure } = more;
        self.text += text;
        self.reasoning += reasoning;
        self.calls += calls;
        self.results += results;
        self.images += images;
        self.documents += documents;
        self.other += other;
        self.structure += structure;
    }
}

impl Sum for Breakdown {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// Tokens of a whole view, message by message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ViewCount {
    /// One entry for each message, in order.
    pub messages: Vec<Breakdown>,
}

impl ViewCount {
    /// All messages together, by kind.
    pub fn by_kind(&self) -> Breakdown {
        self.messages.iter().copied().sum()
    }

    /// All messages together.
    pub fn total(&self) -> u64 {
        self.by_kind().total()
    }
}

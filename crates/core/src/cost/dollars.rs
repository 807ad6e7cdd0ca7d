//! Amounts of money, exact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Neg, Sub};

/// An amount in US dollars; negative for a loss.
///
/// Held as whole pico-dollars, so that sums are exact and ordered whatever their order of adding. Beyond nine million
/// dollars either way it saturates. In JSON it is a number of dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dollars(i64);

const PICO: f64 = 1e12;

impl Dollars {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount given in dollars, rounded to pico-dollars.
    pub fn new(dollars: f64) -> Self {
        // `as` saturates, and takes what is not a number for zero.
        Self((dollars * PICO).round() as i64)
    }

    /// The amount in dollars.
    pub fn as_f64(self) -> f64 {
        self.0 as f64 / PICO
    }

    /// The amount times a factor.
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as i64)
    }
}

impl Add for Dollars {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Dollars {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Dollars {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl Neg for Dollars {
    type Output = Self;
    fn neg(self) -> Self {
        Self(self.0.saturating_neg())
    }
}

impl Sum for Dollars {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Dollars {
    /// Cents where they say enough, else as many digits as the amount needs: `$12.30`, `$0.0041`, `-$3.00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let amount = self.as_f64().abs();
        let digits = if amount == 0.0 || amount >= 0.1 {
            2
        } else if amount >= 0.001 {
            4
        } else {
            6
        };
        f.pad(&format!("{sign}${amount:.digits$}"))
    }
}

impl Serialize for Dollars {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Dollars {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer).map(Self::new)
    }
}

/// A price per token, never negative. Price lists give dollars per million tokens; six decimals of that are exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(u64);

impl Rate {
    /// Free of charge.
    pub const FREE: Self = Self(0);

    /// A price in dollars per million tokens; a negative one is taken for zero.
    pub fn per_million(dollars: f64) -> Self {
        Self((dollars * 1e6).round() as u64)
    }

    /// The price in dollars per million tokens.
    pub fn as_per_million(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// What so many tokens cost.
    pub fn of(self, tokens: u64) -> Dollars {
        let pico = u128::from(self.0) * u128::from(tokens);
        Dollars(i64::try_from(pico).unwrap_or(i64::MAX))
    }

    /// The rate times a factor.
    pub fn scaled(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

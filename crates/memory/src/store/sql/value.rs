//! Values as both databases know them.

use super::SqlError;
use super::codes::Coded;
use jiff::{SignedDuration, Timestamp};

/// A parameter, or a column of a row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) enum Value {
    /// Nothing.
    Null,
    /// A whole number: of any size that the column has.
    Int(i64),
    /// A number.
    Real(f64),
    /// Text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

impl Value {
    /// A state, as it is stored.
    pub(super) fn code(coded: impl Coded) -> Self {
        Self::Int(i64::from(coded.code()))
    }

    /// A count; what no column can hold is as much as it can.
    pub(super) fn count(count: impl TryInto<i64>) -> Self {
        Self::Int(count.try_into().unwrap_or(i64::MAX))
    }

    /// A figure; what is not a number is none.
    pub(super) fn figure(figure: f64) -> Self {
        Self::Real(if figure.is_finite() { figure } else { 0.0 })
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<&[u8]> for Value {
    fn from(value: &[u8]) -> Self {
        Self::Bytes(value.to_owned())
    }
}

impl From<Timestamp> for Value {
    fn from(value: Timestamp) -> Self {
        Self::Int(value.as_microsecond())
    }
}

impl<V: Into<Value>> From<Option<V>> for Value {
    fn from(value: Option<V>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::store) struct Row(pub(in crate::store) Vec<Value>);

impl Row {
    fn column(&self, at: usize) -> Result<&Value, SqlError> {
        self.0.get(at).ok_or_else(|| SqlError::unreadable(format!("column {at} is missing")))
    }

    fn odd<T>(&self, at: usize, wanted: &str) -> Result<T, SqlError> {
        let found = match self.column(at)? {
            Value::Null => "nothing",
            Value::Int(_) => "a whole number",
            Value::Real(_) => "a number",
            Value::Text(_) => "text",
            Value::Bytes(_) => "bytes",
        };
        Err(SqlError::unreadable(format!("column {at} is {found}, not {wanted}")))
    }

    pub(super) fn opt_int(&self, at: usize) -> Result<Option<i64>, SqlError> {
        match self.column(at)? {
            Value::Null => Ok(None),
            Value::Int(value) => Ok(Some(*value)),
            Value::Real(_) | Value::Text(_) | Value::Bytes(_) => self.odd(at, "a whole number"),
        }
    }

    pub(in crate::store) fn int(&self, at: usize) -> Result<i64, SqlError> {
        self.opt_int(at)?.map_or_else(|| self.odd(at, "a whole number"), Ok)
    }

    pub(super) fn count(&self, at: usize) -> Result<u64, SqlError> {
        let value = self.int(at)?;
        u64::try_from(value).or_else(|_| self.odd(at, "a count"))
    }

    pub(super) fn real(&self, at: usize) -> Result<f64, SqlError> {
        match self.column(at)? {
            Value::Real(value) => Ok(*value),
            Value::Int(value) => Ok(*value as f64),
            Value::Null | Value::Text(_) | Value::Bytes(_) => self.odd(at, "a number"),
        }
    }

    pub(super) fn opt_text(&self, at: usize) -> Result<Option<&str>, SqlError> {
        match self.column(at)? {
            Value::Null => Ok(None),
            Value::Text(value) => Ok(Some(value)),
            Value::Int(_) | Value::Real(_) | Value::Bytes(_) => self.odd(at, "text"),
        }
    }

    pub(super) fn text(&self, at: usize) -> Result<&str, SqlError> {
        self.opt_text(at)?.map_or_else(|| self.odd(at, "text"), Ok)
    }

    pub(super) fn bytes(&self, at: usize) -> Result<&[u8], SqlError> {
        match self.column(at)? {
            Value::Bytes(value) => Ok(value),
            Value::Null | Value::Int(_) | Value::Real(_) | Value::Text(_) => self.odd(at, "bytes"),
        }
    }

    pub(super) fn state<C: Coded>(&self, at: usize) -> Result<C, SqlError> {
        let code = self.int(at)?;
        let known = i16::try_from(code).ok().and_then(C::from_code);
        known.ok_or_else(|| SqlError::unreadable(format!("column {at} has an unknown state {code}")))
    }

    pub(super) fn opt_time(&self, at: usize) -> Result<Option<Timestamp>, SqlError> {
        self.opt_int(at)?.map(time).transpose()
    }

    pub(super) fn time(&self, at: usize) -> Result<Timestamp, SqlError> {
        time(self.int(at)?)
    }
}

/// A time as it is stored.
pub(super) fn time(microseconds: i64) -> Result<Timestamp, SqlError> {
    // Not `from_microsecond`, which knows less than what `as_microsecond` gives.
    let (seconds, rest) = (microseconds.div_euclid(1_000_000), microseconds.rem_euclid(1_000_000));
    let nanoseconds = i32::try_from(rest * 1_000).unwrap_or(0);
    Timestamp::new(seconds, nanoseconds)
        .map_err(|_| SqlError::unreadable(format!("{microseconds} is no time")))
}

/// A time after another, as it is stored; one that is too far is the last there is.
pub(super) fn later(now: i64, by: SignedDuration) -> i64 {
    let by = i64::try_from(by.as_micros().max(0)).unwrap_or(i64::MAX);
    now.saturating_add(by).min(Timestamp::MAX.as_microsecond())
}

/// Text that a database keeps as it is for people: no byte that one of them refuses, and not without bound.
pub(super) fn plain(text: &str) -> String {
    const MOST: usize = 2_000;
    text.chars().filter(|c| *c != '\0').take(MOST).collect()
}

//! What secrets look like, as data.
//!
//! [`tokens`] have a form of their own, whoever writes them where; the others are known by what stands around them; [`stated`] are
//! known by a sentence.

mod flags;
mod named;
mod stated;
mod tokens;

/// A form in which secrets are written.
#[derive(Debug)]
pub(crate) struct Rule {
    /// What stands in its place: `[redacted:KIND]`.
    pub(crate) kind: &'static str,
    /// Every match has one of these, in any case: a line that has none is not searched.
    pub(crate) keywords: &'static [&'static str],
    /// Over the bytes of a line, ASCII only. The secret is the first group that took part, else all of it.
    pub(crate) pattern: &'static str,
    /// What must also hold.
    pub(crate) test: Test,
}

/// What must hold beyond the pattern, so that ordinary code is left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// Nothing: the form alone is enough.
    Form,
    /// Letters and digits, and one run of at least so many of them: names in words have none.
    Run(usize),
    /// The same, and letters and digits that change often: names of types have a number here or there.
    Mixed(usize),
    /// No stand-in such as `YOUR_TOKEN`.
    NoStandIn,
    /// A password in quotes: no label, no type, no variable.
    Quoted,
    /// A password behind `=`, without quotes.
    Tight,
    /// A password behind a colon or a word, without quotes: it must look like one.
    Loose,
    /// A word that is a line's only value: no type, no state, no variable.
    Alone,
    /// Base64 of a name and a password.
    Basic,
    /// The values of a header of cookies that identify somebody.
    Cookies,
    /// The pattern is a word that names a credential; what follows states its value.
    Stated(Stated),
}

/// Expectation of a credential word about the value that follows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stated {
    /// A password: letters with digits or signs, digits only, or words joined by a sign.
    Password,
    /// A name and a password.
    Pair,
    /// A key of a named kind, such as an API key.
    Key,
    /// A key or token of any kind: the value must be long and random.
    Token,
    /// A phrase of several words.
    Phrase,
}

/// All rules. The first one that finds a place gives it its name.
pub(crate) fn all() -> impl Iterator<Item = &'static Rule> {
    tokens::RULES.iter().chain(named::RULES).chain(flags::RULES).chain(stated::RULES)
}

/// Returns whether a rule is of tokens that have a form of their own.
pub(crate) fn is_token(rule: &Rule) -> bool {
    tokens::RULES.iter().any(|token| std::ptr::eq(token, rule))
}

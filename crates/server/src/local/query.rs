//! Queries and forms.

/// The pairs of a query or of a form, decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pairs(Vec<(String, String)>);

impl Pairs {
    /// Reads `a=b&c=d`. What is no UTF-8 is replaced.
    pub(super) fn parse(text: &str) -> Self {
        let parts = text.split('&').filter(|part| !part.is_empty());
        Self(parts.map(|part| part.split_once('=').unwrap_or((part, ""))).map(decoded).collect())
    }

    /// The first value of a name.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// A number, where there is one.
    pub(super) fn number(&self, name: &str) -> Option<usize> {
        self.get(name)?.parse().ok()
    }
}

fn decoded((name, value): (&str, &str)) -> (String, String) {
    (decode(name), decode(value))
}

fn decode(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = code.filter(|two| two.bytes().all(|b| b.is_ascii_hexdigit()));
        match (first, code.and_then(|two| u8::from_str_radix(two, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
                continue;
            }
            (b'+', _) => bytes.push(b' '),
            (other, _) => bytes.push(other),
        }
        rest = after;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_decoded() {
        let pairs = Pairs::parse("a=1+2&b=%C3%A9%2&c&d=%zz%+%e2%82&page=7");
        assert_eq!(pairs.get("a"), Some("1 2"));
        assert_eq!(pairs.get("b"), Some("é%2"));
        assert_eq!(pairs.get("c"), Some(""));
        assert_eq!(pairs.get("d"), Some("%zz% \u{fffd}"));
        assert_eq!((pairs.number("page"), pairs.number("a"), pairs.get("e")), (Some(7), None, None));
    }
}

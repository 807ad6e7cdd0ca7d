//! Keys: what may be set, to what, and by whom.

use std::sync::Arc;
use throughline_model::Argv;
use toml::Value;

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A section that can be switched off as a whole.
    Switch,
    Bool,
    Integer,
    Number,
    Text,
    Choice(&'static [&'static str]),
    Path,
    /// Names and queries in it are not shown.
    Address,
    /// Arguments are not shown.
    Command,
    List,
    Map,
    Threshold,
    Hooks,
}

impl Kind {
    /// In words.
    pub(super) fn describe(self) -> String {
        match self {
            Self::Switch => "`false` (off), `true` (on), or a section".to_owned(),
            Self::Bool => "`true` or `false`".to_owned(),
            Self::Integer => "a whole number".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Text => "text".to_owned(),
            Self::Choice(words) => {
                words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
            }
            Self::Path => "a path".to_owned(),
            Self::Address => "an address".to_owned(),
            Self::Command => "a command: a list of words, or text that is split at blanks".to_owned(),
            Self::List => "a list of text".to_owned(),
            Self::Map => "a table".to_owned(),
            Self::Threshold => "`{ below = TOKENS }` or `{ share = 0.9 }`".to_owned(),
            Self::Hooks => "a list of hooks".to_owned(),
        }
    }

    /// Whether a variable can hold it.
    pub(super) fn is_scalar(self) -> bool {
        match self {
            Self::Switch
            | Self::Bool
            | Self::Integer
            | Self::Number
            | Self::Text
            | Self::Choice(_)
            | Self::Path
            | Self::Address
            | Self::Command => true,
            Self::List | Self::Map | Self::Threshold | Self::Hooks => false,
        }
    }

    /// The kind of a value that serialises like this.
    pub(super) fn of(value: &serde_json::Value) -> Self {
        match value {
            serde_json::Value::Bool(_) => Self::Bool,
            serde_json::Value::Number(number) if number.is_f64() => Self::Number,
            serde_json::Value::Number(_) => Self::Integer,
            serde_json::Value::Array(_) => Self::List,
            serde_json::Value::Object(_) => Self::Map,
            serde_json::Value::String(_) | serde_json::Value::Null => Self::Text,
        }
    }

    /// Reads a value from a variable or the command line. What can't be read so is given back as text, for the check to complain
    /// about.
    pub(super) fn parse(self, text: &str) -> Value {
        let word = text.trim();
        let text = || Value::String(text.to_owned());
        match self {
            Self::Switch | Self::Bool => match word.to_ascii_lowercase().as_str() {
                "true" | "1" | "yes" | "on" => Value::Boolean(true),
                "false" | "0" | "no" | "off" => Value::Boolean(false),
                _ => text(),
            },
            Self::Integer => word.replace('_', "").parse().map_or_else(|_| text(), Value::Integer),
            Self::Number => word.replace('_', "").parse().map_or_else(|_| text(), Value::Float),
            Self::Text | Self::Choice(_) | Self::Path | Self::Address => Value::String(word.to_owned()),
            Self::Command if !word.starts_with('[') => Value::String(word.to_owned()),
            Self::Command | Self::List | Self::Map | Self::Threshold | Self::Hooks => {
                let table = toml::from_str::<toml::Table>(&format!("value = {word}")).ok();
                let table = table.filter(|table| table.len() == 1);
                table.and_then(|mut table| table.remove("value")).unwrap_or_else(text)
            }
        }
    }
}

/// Who may set a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The user and the project.
    Anyone,
    /// The user alone, and why.
    User(&'static str),
    /// The user; the project only to this value, and why.
    ProjectTo(&'static str, &'static str),
    /// The user; the project only to a value that stands no later in this list than the one in force without it, and why.
    /// From the strictest to the loosest.
    Stricter(&'static [&'static str], &'static str),
    /// Both: what the project lists is added to what the user lists, and takes nothing away.
    Adds,
}

/// Whether a value fits, or what is wrong with it.
pub(super) type Check = Arc<dyn Fn(&Value) -> Result<(), String> + Send + Sync>;

/// One key.
pub(super) struct Key {
    /// Its place, with dots. `*` stands for a name that people choose: of a profile, of a server.
    pub(super) path: String,
    pub(super) kind: Kind,
    /// The built-in value; `None`: unset.
    pub(super) default: Option<Value>,
    pub(super) doc: &'static str,
    pub(super) scope: Scope,
    /// Whether `false` means unset.
    pub(super) is_optional: bool,
    /// Whether its value may be shown to nobody.
    pub(super) is_secret: bool,
    pub(super) check: Check,
}

impl Key {
    /// Whether `false` is meant as "unset" or "off".
    pub(super) fn is_off(&self, value: &Value) -> bool {
        let can_be_off = self.kind == Kind::Switch || (self.is_optional && self.kind != Kind::Bool);
        can_be_off && *value == Value::Boolean(false)
    }

    /// What is wrong with a value, in words that give no secret away.
    pub(super) fn judge(&self, value: &Value) -> Result<(), String> {
        if self.is_off(value) || (self.kind == Kind::Switch && value.is_bool()) {
            return Ok(());
        }
        let expected = || format!("must be {}", self.kind.describe());
        if let Some(reason) = impossible(value) {
            return Err(format!("{}: {reason}", expected()));
        }
        (self.check)(value).map_err(|message| {
            // The parser's words may hold the value.
            let is_hidden = self.is_secret || matches!(self.kind, Kind::Command | Kind::Address);
            if is_hidden { expected() } else { format!("{}: {message}", expected()) }
        })
    }

    /// A value as it may be shown.
    pub(super) fn shown(&self, value: &Value) -> String {
        match (self.kind, value) {
            _ if self.is_secret => "[hidden]".to_owned(),
            (Kind::Command, value) => {
                let argv = value.clone().try_into::<Argv>();
                argv.map_or_else(
                    |_| "[hidden]".to_owned(),
                    |argv| match argv.arguments() {
                        [] => format!("[{:?}]", argv.program()),
                        _ => format!("[{:?}, …]", argv.program()),
                    },
                )
            }
            (Kind::Address, Value::String(address)) => format!("{:?}", without_secrets(address)),
            (Kind::Hooks, Value::Array(hooks)) => format!("{} hooks", hooks.len()),
            (_, value) => value.to_string(),
        }
    }
}

/// What no key holds, whatever its type would take.
fn impossible(value: &Value) -> Option<&'static str> {
    match value {
        Value::Integer(number) if *number < 0 => Some("no figure is below zero"),
        Value::Float(number) if !number.is_finite() || *number < 0.0 => {
            Some("no figure is below zero or endless")
        }
        Value::Datetime(_) => Some("it is no date"),
        Value::Array(values) => values.iter().find_map(impossible),
        Value::Table(table) => table.iter().find_map(|(_, value)| impossible(value)),
        Value::Integer(_) | Value::Float(_) | Value::String(_) | Value::Boolean(_) => None,
    }
}

/// An address without name, password and query.
fn without_secrets(address: &str) -> String {
    let address = address.split(['?', '#']).next().unwrap_or_default();
    match address.split_once("://") {
        Some((scheme, rest)) => {
            let (place, path) =
                rest.split_once('/').map_or((rest, None), |(place, path)| (place, Some(path)));
            let place = place.rsplit('@').next().unwrap_or_default();
            let path = path.map(|path| format!("/{path}")).unwrap_or_default();
            format!("{scheme}://{place}{path}")
        }
        None => "[not an address]".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_what_may_be_secret() {
        for (address, shown) in [
            ("https://me:pw@x.test/v1?key=1#f", "https://x.test/v1"),
            ("http://localhost:8080", "http://localhost:8080"),
            ("me:pw@x.test", "[not an address]"),
            ("https://x.test?key=@/", "https://x.test"),
        ] {
            assert_eq!(without_secrets(address), shown);
        }
    }

    #[test]
    fn variables_are_read_by_the_kind_of_their_key() {
        assert_eq!(Kind::Bool.parse("On"), Value::Boolean(true));
        assert_eq!(Kind::Integer.parse(" 50_000 "), Value::Integer(50_000));
        assert_eq!(Kind::Integer.parse("many"), Value::String("many".to_owned()));
        assert_eq!(Kind::Number.parse("1"), Value::Float(1.0));
        assert_eq!(Kind::Text.parse("1"), Value::String("1".to_owned()));
        assert_eq!(Kind::List.parse(r#"["a"]"#), Value::Array(vec![Value::String("a".to_owned())]));
        assert_eq!(Kind::List.parse("a\nb = 1"), Value::String("a\nb = 1".to_owned()));
    }
}

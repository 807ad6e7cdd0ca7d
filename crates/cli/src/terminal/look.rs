//! How a terminal is drawn to: colours, characters, width.

/// What the outside says about the terminal. Whoever reads the environment fills it in.
#[derive(Clone, Debug, Default)]
pub(crate) struct Surroundings {
    /// Output goes to a terminal.
    pub(crate) is_terminal: bool,
    /// `--no-color` was given.
    pub(crate) no_colour_asked: bool,
    /// `NO_COLOR`.
    pub(crate) no_color: Option<String>,
    /// `CLICOLOR_FORCE`.
    pub(crate) clicolor_force: Option<String>,
    /// `TERM`.
    pub(crate) term: Option<String>,
    /// `LC_ALL`, `LC_CTYPE` or `LANG`: the first that is not empty.
    pub(crate) locale: Option<String>,
    /// Columns; `None` where nobody can tell.
    pub(crate) columns: Option<usize>,
}

/// How things are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Colours and weights.
    pub(crate) colour: bool,
    /// Characters beyond ASCII.
    pub(crate) unicode: bool,
    /// The cursor can be moved: lines can be drawn in place.
    pub(crate) moves: bool,
    /// Columns.
    pub(crate) width: usize,
}

/// The least width that is drawn for. A terminal that is narrower wraps by itself.
pub(crate) const NARROWEST: usize = 20;

/// The width where there is no terminal, so that what is piped is the same everywhere.
const WIDTH_OF_NONE: usize = 80;

impl Look {
    /// By what the outside says. `--no-color` and `NO_COLOR` win over `CLICOLOR_FORCE`, which wins over `TERM`.
    pub(crate) fn of(outside: &Surroundings) -> Self {
        let is_set = |value: &Option<String>| value.as_deref().is_some_and(|value| !value.is_empty());
        let is_dumb = outside.term.as_deref().is_none_or(|term| term.is_empty() || term == "dumb");
        let refused = outside.no_colour_asked || is_set(&outside.no_color);
        let forced = is_set(&outside.clicolor_force) && outside.clicolor_force.as_deref() != Some("0");
        Self {
            colour: !refused && (forced || (outside.is_terminal && !is_dumb)),
            unicode: outside.locale.as_deref().map_or(!outside.is_terminal, is_utf8),
            moves: outside.is_terminal && !is_dumb,
            width: outside.columns.unwrap_or(WIDTH_OF_NONE).max(NARROWEST),
        }
    }

    /// For another width.
    pub(crate) fn with_width(self, width: usize) -> Self {
        Self { width: width.max(NARROWEST), ..self }
    }
}

/// Whether a locale's name says UTF-8.
fn is_utf8(locale: &str) -> bool {
    let name = locale.to_ascii_lowercase();
    name.contains("utf-8") || name.contains("utf8")
}

/// A character of ours or of the text, where only ASCII is understood. As wide as the character.
pub(crate) fn ascii(c: char, columns: usize) -> &'static str {
    match c {
        '●' | '•' | '◆' => "*",
        '○' | '◦' => "o",
        '▪' | '–' | '—' | '─' | '━' | '‐' | '−' => "-",
        '⎿' | '╰' | '└' => "`",
        '│' | '┃' | '▏' | '▍' | '▌' => "|",
        '╭' | '┌' => ",",
        '╮' | '┐' => ".",
        '╯' | '┘' => "'",
        '├' | '┤' | '┬' | '┴' | '┼' => "+",
        '…' => "~",
        '✓' | '✔' | '☑' => "x",
        '✗' | '✘' | '⚠' | '⏎' => "!",
        '☐' | '·' | '░' => ".",
        '→' | '▶' | '❯' | '›' => ">",
        '←' | '◀' | '‹' => "<",
        '↑' | '▲' => "^",
        '↓' | '▼' => "v",
        '█' | '▓' => "#",
        '▒' => ":",
        '‘' | '’' | '′' => "'",
        '“' | '”' | '″' => "\"",
        '\u{a0}' => " ",
        _ => ["", "?", "??"].get(columns).copied().unwrap_or("??"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terminal() -> Surroundings {
        Surroundings {
            is_terminal: true,
            term: Some("xterm-256color".to_owned()),
            locale: Some("en_GB.UTF-8".to_owned()),
            columns: Some(80),
            ..Surroundings::default()
        }
    }

    #[test]
    fn colour_is_by_terminal_and_by_the_usual_variables() {
        let yes = Some("1".to_owned());
        assert!(Look::of(&terminal()).colour);
        assert!(!Look::of(&Surroundings { is_terminal: false, ..terminal() }).colour);
        assert!(!Look::of(&Surroundings { no_color: yes.clone(), ..terminal() }).colour);
        assert!(Look::of(&Surroundings { no_color: Some(String::new()), ..terminal() }).colour);
        assert!(!Look::of(&Surroundings { term: Some("dumb".to_owned()), ..terminal() }).colour);
        assert!(
            Look::of(&Surroundings { clicolor_force: yes.clone(), is_terminal: false, ..terminal() }).colour
        );
        assert!(!Look::of(&Surroundings { clicolor_force: yes, no_colour_asked: true, ..terminal() }).colour);
        assert!(
            !Look::of(&Surroundings {
                clicolor_force: Some("0".to_owned()),
                is_terminal: false,
                ..terminal()
            })
            .colour
        );
    }

    #[test]
    fn a_dumb_terminal_is_not_drawn_in_place() {
        assert!(Look::of(&terminal()).moves);
        assert!(!Look::of(&Surroundings { term: None, ..terminal() }).moves);
        assert!(!Look::of(&Surroundings { is_terminal: false, ..terminal() }).moves);
    }

    #[test]
    fn characters_beyond_ascii_are_by_locale() {
        assert!(Look::of(&terminal()).unicode);
        assert!(!Look::of(&Surroundings { locale: Some("C".to_owned()), ..terminal() }).unicode);
        assert!(!Look::of(&Surroundings { locale: None, ..terminal() }).unicode);
        assert!(Look::of(&Surroundings { locale: None, is_terminal: false, ..terminal() }).unicode);
    }
}

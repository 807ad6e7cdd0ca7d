//! A repository's `config`, as far as it says where the repository comes from and where its files are.

/// What is read of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GitConfig {
    /// The address that `origin` is fetched from.
    pub(super) origin: Option<String>,
    /// `core.worktree`.
    pub(super) worktree: Option<String>,
}

impl GitConfig {
    /// Reads the text of a file. Other files that it includes are not looked at. `None` if it is not in order.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { rest: text.strip_prefix('\u{feff}').unwrap_or(text) };
        let mut section = (String::new(), None);
        let mut found = Self::default();
        while let Some(item) = reader.next()? {
            match item {
                Item::Section(name, sub) => section = (name, sub),
                Item::Entry(key, value) => match (section.0.as_str(), section.1.as_deref(), key.as_str()) {
                    // Several addresses may be given; the first is fetched from. An empty one takes back those before it.
                    ("remote", Some("origin"), "url") => match value {
                        Some(url) if url.is_empty() => found.origin = None,
                        Some(url) => found.origin = found.origin.or(Some(url)),
                        None => {}
                    },
                    ("core", None, "worktree") => found.worktree = value,
                    (_, _, _) => {}
                },
            }
        }
        Some(found)
    }
}

enum Item {
    Section(String, Option<String>),
    Entry(String, Option<String>),
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        // Line ends of two characters are one.
        if c == '\r' && self.rest.starts_with('\n') { self.bump() } else { Some(c) }
    }

    fn skip_line(&mut self) {
        while self.bump().is_some_and(|c| c != '\n') {}
    }

    /// The next section or entry; inside `None` at the end; `None` if the text is not in order.
    fn next(&mut self) -> Option<Option<Item>> {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.chars().next() {
                None => return Some(None),
                Some('#' | ';') => self.skip_line(),
                Some('[') => return self.section().map(Some),
                Some(c) if c.is_ascii_alphabetic() => return self.entry().map(Some),
                Some(_) => return None,
            }
        }
    }

    /// `[name]`, `[name "sub"]` or `[name.sub]`.
    fn section(&mut self) -> Option<Item> {
        self.bump();
        let end = self.rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '.')))?;
        let (name, rest) = self.rest.split_at(end);
        let name = name.to_ascii_lowercase();
        self.rest = rest.trim_start_matches([' ', '\t']);
        match self.bump()? {
            ']' => Some(match name.split_once('.') {
                Some((name, sub)) => Item::Section(name.to_owned(), Some(sub.to_owned())),
                None => Item::Section(name, None),
            }),
            '"' => {
                let mut sub = String::new();
                loop {
                    match self.bump()? {
                        '"' => break,
                        '\\' => sub.push(self.bump().filter(|c| *c != '\n')?),
                        '\n' => return None,
                        c => sub.push(c),
                    }
                }
                (self.bump()? == ']').then_some(Item::Section(name, Some(sub)))
            }
            _ => None,
        }
    }

    /// `key`, or `key = value`.
    fn entry(&mut self) -> Option<Item> {
        let is_key = |c: char| c.is_ascii_alphanumeric() || c == '-';
        let end = self.rest.find(|c: char| !is_key(c)).unwrap_or(self.rest.len());
        let (key, rest) = self.rest.split_at(end);
        let key = key.to_ascii_lowercase();
        self.rest = rest.trim_start_matches([' ', '\t']);
        match self.rest.chars().next() {
            None => return Some(Item::Entry(key, None)),
            Some('\n' | '\r' | '#' | ';') => {
                self.skip_line();
                return Some(Item::Entry(key, None));
            }
            Some('=') => drop(self.bump()),
            Some(_) => return None,
        }
        self.value().map(|value| Item::Entry(key, Some(value)))
    }

    fn value(&mut self) -> Option<String> {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        let mut value = String::new();
        // Blanks count once something comes behind them.
        let mut blanks = String::new();
        let mut quoted = false;
        while let Some(c) = self.bump() {
            match c {
                '\n' if quoted => return None,
                '\n' => return Some(value),
                '#' | ';' if !quoted => {
                    self.skip_line();
                    return Some(value);
                }
                ' ' | '\t' if !quoted => blanks.push(c),
                '"' => {
                    value.push_str(&std::mem::take(&mut blanks));
                    quoted = !quoted;
                }
                '\\' => {
                    value.push_str(&std::mem::take(&mut blanks));
                    match self.bump()? {
                        '\n' => {}
                        'n' => value.push('\n'),
                        't' => value.push('\t'),
                        'b' => value.push('\u{8}'),
                        c @ ('\\' | '"') => value.push(c),
                        _ => return None,
                    }
                }
                c => {
                    value.push_str(&std::mem::take(&mut blanks));
                    value.push(c);
                }
            }
        }
        (!quoted).then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn origin(text: &str) -> Option<String> {
        GitConfig::parse(text)?.origin
    }

    #[test]
    fn the_origin_is_read_as_git_reads_it() {
        let usual = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = git@h.org:me/a.git\n\tfetch = +refs/*:refs/*\n\
                     [branch \"main\"]\n\tremote = origin\n";
        assert_eq!(origin(usual).as_deref(), Some("git@h.org:me/a.git"));
        assert_eq!(origin(&usual.replace('\n', "\r\n")).as_deref(), Some("git@h.org:me/a.git"));
        for text in [
            "[REMOTE \"origin\"] URL=x # c",
            "; c\n[remote \"origin\"]\nurl = \"x\" ; c",
            "[remote.origin]\nurl = x",
            "[remote \"origin\"]\nurl = \\\nx",
            "[remote \"origin\"]\npushurl = y\nurl = x\nurl = z",
            "[remote \"origin\"]\nurl = y\nurl =\nurl = x",
            "[remote \"a\"]\nurl = y\n[remote \"origin\"]\nfetch\nurl = x\n",
        ] {
            assert_eq!(origin(text).as_deref(), Some("x"), "{text}");
        }
        for text in ["", "[remote \"Origin\"]\nurl = x", "[remotes \"origin\"]\nurl = x", "[remote]\nurl = x"]
        {
            assert_eq!(GitConfig::parse(text), Some(GitConfig::default()), "{text}");
        }
        assert_eq!(origin("[remote \"origin\"]\nurl = \"a#b;c  \"  \n").as_deref(), Some("a#b;c  "));
        assert_eq!(origin("[remote \"origin\"]\nurl = a  b\n").as_deref(), Some("a  b"));
        let worktree = GitConfig::parse("[core]\nworktree = ../../../sub\n").unwrap().worktree;
        assert_eq!(worktree.as_deref(), Some("../../../sub"));
    }

    #[test]
    fn what_is_not_in_order_is_not_guessed_at() {
        for text in
            ["[remote \"origin\nurl = x", "[remote", "= x", "[a]\nurl = \"x", "[a]\nb = \\q", "[a]\nb c"]
        {
            assert_eq!(GitConfig::parse(text), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in any::<String>(), odd in "[\\[\\]\"\\\\=#; \n\r\ta-c.-]{0,40}") {
            let _ = (GitConfig::parse(&text), GitConfig::parse(&odd));
        }
    }
}

//! The parts of a simple command.

/// How much is known of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::permissions) enum Kind {
    /// All of it.
    Literal,
    /// It is a pattern of file names.
    Glob,
    /// It is known when the command runs, not before.
    Dynamic,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) struct Word {
    /// Without quotes. What is expanded stands as it was written.
    pub(in crate::permissions) text: String,
    /// How much of it is known.
    pub(in crate::permissions) kind: Kind,
    /// Whether nothing in it was quoted.
    pub(in crate::permissions) is_plain: bool,
    /// Whether it begins with a `~` that the shell expands.
    pub(in crate::permissions) is_home: bool,
    /// Where the `=` of an assignment stands, if it can be one.
    pub(in crate::permissions) equals: Option<usize>,
}

impl Word {
    /// A word that nothing is known of yet.
    pub(super) fn empty() -> Self {
        Self { text: String::new(), kind: Kind::Literal, is_plain: true, is_home: false, equals: None }
    }

    /// A word that is known when the command runs.
    pub(super) fn dynamic(text: &str) -> Self {
        Self { text: text.to_owned(), kind: Kind::Dynamic, ..Self::empty() }
    }

    /// Its text, if that is all there is to it.
    pub(in crate::permissions) fn literal(&self) -> Option<&str> {
        (self.kind == Kind::Literal && !self.is_home).then_some(self.text.as_str())
    }
}

/// What a redirection does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::permissions) enum Target {
    /// It is read.
    Read,
    /// It is made, changed or emptied.
    Write,
    /// The word itself is the input.
    Text,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) struct Redirect {
    pub(in crate::permissions) target: Target,
    pub(in crate::permissions) word: Word,
}

impl Redirect {
    /// Whether it writes something that outlives the command.
    pub(in crate::permissions) fn writes(&self) -> bool {
        const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
        let is_nowhere = self.word.literal().is_some_and(|path| NOWHERE.contains(&path));
        match self.target {
            Target::Write => !is_nowhere,
            Target::Read | Target::Text => false,
        }
    }
}

/// A text that is given as input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::permissions) struct Body {
    pub(in crate::permissions) text: String,
    /// Whether nothing in it is expanded.
    pub(in crate::permissions) is_literal: bool,
}

/// A simple command: assignments, words, redirections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::permissions) struct Simple {
    pub(in crate::permissions) assignments: Vec<Word>,
    pub(in crate::permissions) words: Vec<Word>,
    pub(in crate::permissions) redirects: Vec<Redirect>,
    pub(in crate::permissions) bodies: Vec<usize>,
}

impl Simple {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.assignments.is_empty()
            && self.words.is_empty()
            && self.redirects.is_empty()
            && self.bodies.is_empty()
    }

    /// The program, if it is known.
    pub(in crate::permissions) fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// The same, beginning with a later word.
    pub(super) fn from(&self, at: usize) -> Self {
        Self { words: self.words.get(at..).unwrap_or_default().to_vec(), ..self.clone() }
    }

    /// Whether every word is known, patterns of file names aside.
    pub(in crate::permissions) fn is_certain(&self) -> bool {
        let redirected = self.redirects.iter().map(|redirect| &redirect.word);
        let mut words = self.assignments.iter().chain(&self.words).chain(redirected);
        self.words.first().is_none_or(|word| word.literal().is_some())
            && words.all(|word| word.kind != Kind::Dynamic)
    }

    /// One line that says the same: words with one blank between them, in single quotes where needed.
    pub(in crate::permissions) fn text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(quoted).collect();
        words.join(" ")
    }
}

fn quoted(word: &Word) -> String {
    let is_harmless = |c: char| {
        c.is_alphanumeric() || "_-./:=@%+,~^*?[]{}!#".contains(c) || (word.is_plain && !c.is_whitespace())
    };
    if !word.text.is_empty() && word.text.chars().all(is_harmless) {
        word.text.clone()
    } else {
        format!("'{}'", word.text.replace('\'', r"'\''"))
    }
}

/// The last part of a program's path.
pub(in crate::permissions) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

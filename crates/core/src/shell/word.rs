//! The parts of a simple command.

/// How much is known of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordKind {
    /// All of it.
    Literal,
    /// It is a pattern of file names.
    Glob,
    /// It is known when the command runs, not before.
    Dynamic,
}

/// A word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Without quotes. What is expanded stands as it was written.
    pub text: String,
    /// How much of it is known.
    pub kind: WordKind,
    /// Whether nothing in it was quoted.
    pub is_plain: bool,
    /// Whether it begins with a `~` that the shell expands.
    pub is_home: bool,
    /// Where the `=` of an assignment stands, if it can be one.
    pub equals: Option<usize>,
}

impl Word {
    /// A word that nothing is known of yet.
    pub fn empty() -> Self {
        Self { text: String::new(), kind: WordKind::Literal, is_plain: true, is_home: false, equals: None }
    }

    /// A word that is known when the command runs.
    pub(super) fn dynamic(text: &str) -> Self {
        Self { text: text.to_owned(), kind: WordKind::Dynamic, ..Self::empty() }
    }

    /// The word as it can stand in a line.
    pub fn quoted(&self) -> String {
        quote(&self.text, self.is_plain)
    }

    /// Its text, if that is all there is to it.
    pub fn literal(&self) -> Option<&str> {
        (self.kind == WordKind::Literal && !self.is_home).then_some(self.text.as_str())
    }
}

/// What a redirection does with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectTarget {
    /// It is read.
    Read,
    /// It is made, changed or emptied.
    Write,
    /// The word itself is the input.
    Text,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// What it does with its file.
    pub target: RedirectTarget,
    /// The file, or the text of `<<<`.
    pub word: Word,
}

impl Redirect {
    /// Whether it writes something that outlives the command.
    pub fn writes(&self) -> bool {
        const NOWHERE: [&str; 3] = ["/dev/null", "/dev/stdout", "/dev/stderr"];
        let is_nowhere = self.word.literal().is_some_and(|path| NOWHERE.contains(&path));
        match self.target {
            RedirectTarget::Write => !is_nowhere,
            RedirectTarget::Read | RedirectTarget::Text => false,
        }
    }
}

/// A text that is given as input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HereDocument {
    /// The text.
    pub text: String,
    /// Whether nothing in it is expanded.
    pub is_literal: bool,
}

/// Operator behind a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Joint {
    /// Nothing follows.
    #[default]
    End,
    /// `|` or `|&`.
    Pipe,
    /// `&&`.
    And,
    /// `||`.
    Or,
    /// `;` or the end of a line.
    Next,
    /// `&`.
    Background,
}

/// A simple command: assignments, words, redirections, and its place in the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Variables that are set for it, or for the shell if there are no words.
    pub assignments: Vec<Word>,
    /// The program and its arguments.
    pub words: Vec<Word>,
    /// Files that it reads and writes by redirection.
    pub redirects: Vec<Redirect>,
    /// Its here-documents, as positions in [`super::CommandLine::bodies`].
    pub bodies: Vec<usize>,
    /// The operator behind it.
    pub joint: Joint,
    /// The operator behind the outermost group that holds it.
    pub group_joint: Option<Joint>,
    /// Number of subshells around it.
    pub subshells: usize,
    /// Whether it stands in `$(…)`, backticks, `<(…)` or a here-document: its output is used, its status is not.
    pub is_substituted: bool,
    /// The word of the shell's grammar in front of it, such as `if`, `do` or `!`.
    pub keyword: Option<&'static str>,
}

impl SimpleCommand {
    /// Whether there is nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        self.assignments.is_empty()
            && self.words.is_empty()
            && self.redirects.is_empty()
            && self.bodies.is_empty()
    }

    /// The program, if it is known.
    pub fn program(&self) -> Option<&str> {
        self.words.first().and_then(Word::literal)
    }

    /// The same command, beginning with a later word.
    pub fn from(&self, at: usize) -> Self {
        Self { words: self.words.get(at..).unwrap_or_default().to_vec(), ..self.clone() }
    }

    /// Whether every word is known, patterns of file names aside.
    pub fn is_certain(&self) -> bool {
        let redirected = self.redirects.iter().map(|redirect| &redirect.word);
        let mut words = self.assignments.iter().chain(&self.words).chain(redirected);
        self.words.first().is_none_or(|word| word.literal().is_some())
            && words.all(|word| word.kind != WordKind::Dynamic)
    }

    /// One line that says the same: words with one blank between them, in single quotes where needed.
    pub fn text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(Word::quoted).collect();
        words.join(" ")
    }
}

/// A word as it can stand in a line, in single quotes where needed.
pub(super) fn quote(text: &str, is_plain: bool) -> String {
    let is_harmless = |c: char| {
        c.is_alphanumeric() || "_-./:=@%+,~^*?[]{}!#".contains(c) || (is_plain && !c.is_whitespace())
    };
    if !text.is_empty() && text.chars().all(is_harmless) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The last part of a program's path.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

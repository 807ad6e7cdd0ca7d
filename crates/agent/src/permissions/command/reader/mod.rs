//! From text to simple commands: lists, groups, redirections, here-documents.

mod words;

use super::word::{Body, Kind, Redirect, Simple, Target, Word};
use super::{Doubt, Line};
use std::mem;

/// The most characters that are read.
const LONGEST: usize = 200_000;
/// The deepest nesting that is read.
const DEEPEST: usize = 24;

/// Words that shape a line without running anything themselves.
const TRANSPARENT: [&str; 4] = ["!", "{", "}", "time"];
/// Words that open what is not followed here.
const KEYWORDS: [&str; 17] = [
    "if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "select",
    "function", "coproc", "[[", "]]",
];

/// What ends a list of commands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Text,
    Paren,
}

/// A here-document that begins at the next line.
struct Pending {
    delimiter: String,
    strips_tabs: bool,
    is_quoted: bool,
    body: usize,
}

/// Reads one text.
pub(super) struct Reader<'a> {
    text: Vec<char>,
    at: usize,
    depth: usize,
    line: &'a mut Line,
    current: Simple,
    pending: Vec<Pending>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &str, depth: usize, line: &'a mut Line) -> Self {
        let text: Vec<char> = text.chars().take(LONGEST + 1).collect();
        Self { text, at: 0, depth, line, current: Simple::default(), pending: Vec::new() }
    }

    /// Reads all of it into the line.
    pub(super) fn run(mut self) {
        if self.text.len() > LONGEST {
            self.line.doubt(Doubt::Long);
        } else {
            self.list(End::Text);
        }
    }

    fn peek(&self) -> Option<char> {
        self.ahead(0)
    }

    fn ahead(&self, by: usize) -> Option<char> {
        self.text.get(self.at + by).copied()
    }

    fn list(&mut self, end: End) {
        if self.depth >= DEEPEST {
            self.line.doubt(Doubt::Deep);
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        loop {
            let Some(c) = self.peek() else {
                if end == End::Paren {
                    self.line.doubt(Doubt::Unclosed);
                }
                break;
            };
            match c {
                ' ' | '\t' => self.at += 1,
                '\\' if self.ahead(1) == Some('\n') => self.at += 2,
                '\n' => {
                    self.at += 1;
                    self.finish();
                    self.bodies();
                }
                '#' => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.ahead(1) == Some('>') => {
                    self.at += 2;
                    self.skip('>');
                    self.redirect_to(Target::Write);
                }
                ';' | '&' | '|' => {
                    self.at += 1;
                    self.finish();
                }
                '(' => self.group(),
                ')' => {
                    self.at += 1;
                    if end == End::Paren {
                        break;
                    }
                    self.line.doubt(Doubt::Unclosed);
                    self.finish();
                }
                '<' | '>' => self.redirection(),
                _ => self.word_or_descriptor(),
            }
        }
        self.finish();
        if !mem::take(&mut self.pending).is_empty() {
            self.line.doubt(Doubt::Unclosed);
        }
        self.depth -= 1;
    }

    /// Takes a character if it is the next one.
    fn skip(&mut self, c: char) -> bool {
        let is_next = self.peek() == Some(c);
        self.at += usize::from(is_next);
        is_next
    }

    fn finish(&mut self) {
        let simple = mem::take(&mut self.current);
        if !simple.is_empty() {
            self.line.simple.push(simple);
        }
    }

    /// What stands between parentheses.
    fn group(&mut self) {
        if !(self.current.words.is_empty() && self.current.assignments.is_empty()) {
            self.line.doubt(Doubt::Function);
        }
        self.at += 1;
        if self.peek() == Some('(') {
            self.line.doubt(Doubt::Arithmetic);
        }
        self.nested();
    }

    /// Reads a list up to its parenthesis. What it belongs to goes on afterwards.
    fn nested(&mut self) {
        let (current, pending) = (mem::take(&mut self.current), mem::take(&mut self.pending));
        if !pending.is_empty() {
            self.line.doubt(Doubt::Unclosed);
        }
        self.list(End::Paren);
        self.current = current;
        self.pending = pending;
    }

    /// `<(…)` and `>(…)`. The word may go on behind it, which is not followed.
    fn process(&mut self) {
        self.line.doubt(Doubt::Expansion);
        self.nested();
    }

    fn word_or_descriptor(&mut self) {
        let begin = self.at;
        let word = self.word();
        // Whatever happens, the next character is another one.
        if self.at == begin {
            self.at += 1;
            return;
        }
        if matches!(self.peek(), Some('<' | '>')) && word.is_plain && word.kind != Kind::Dynamic {
            if !word.text.is_empty() && word.text.chars().all(|c| c.is_ascii_digit()) {
                return;
            }
            if word.text.starts_with('{') && word.text.ends_with('}') {
                self.line.doubt(Doubt::Redirection);
            }
        }
        self.push(word);
    }

    fn push(&mut self, word: Word) {
        let is_first = self.current.words.is_empty() && self.current.assignments.is_empty();
        if is_first && word.is_plain && word.kind != Kind::Dynamic {
            if TRANSPARENT.contains(&word.text.as_str()) {
                return;
            }
            if KEYWORDS.contains(&word.text.as_str()) {
                self.line.doubt(Doubt::Keyword(word.text));
                return;
            }
        }
        if self.current.words.is_empty() && word.equals.is_some() {
            self.current.assignments.push(word);
        } else {
            self.current.words.push(word);
        }
    }

    fn blanks(&mut self) {
        loop {
            match (self.peek(), self.ahead(1)) {
                (Some(' ' | '\t'), _) => self.at += 1,
                (Some('\\'), Some('\n')) => self.at += 2,
                _ => break,
            }
        }
    }

    fn redirection(&mut self) {
        let is_input = self.peek() == Some('<');
        self.at += 1;
        match (is_input, self.peek(), self.ahead(1)) {
            (_, Some('('), _) => {
                self.at += 1;
                self.process();
                self.push(Word::dynamic("<(…)"));
            }
            (true, Some('<'), Some('<')) => {
                self.at += 2;
                self.redirect_to(Target::Text);
            }
            (true, Some('<'), _) => {
                self.at += 1;
                self.here_document();
            }
            (_, Some('&'), _) => {
                self.at += 1;
                self.duplicate(if is_input { Target::Read } else { Target::Write });
            }
            (true, Some('>'), _) | (false, Some('>' | '|'), _) => {
                self.at += 1;
                self.redirect_to(Target::Write);
            }
            (true, _, _) => self.redirect_to(Target::Read),
            (false, _, _) => self.redirect_to(Target::Write),
        }
    }

    /// The word of a redirection.
    fn target(&mut self) -> Option<Word> {
        self.blanks();
        if matches!(self.peek(), Some('<' | '>')) && self.ahead(1) == Some('(') {
            self.at += 2;
            self.process();
            return Some(Word::dynamic("<(…)"));
        }
        let begin = self.at;
        let word = self.word();
        if self.at == begin {
            self.line.doubt(Doubt::Unclosed);
            return None;
        }
        Some(word)
    }

    fn redirect_to(&mut self, target: Target) {
        if let Some(word) = self.target() {
            self.current.redirects.push(Redirect { target, word });
        }
    }

    /// `>&2` copies a descriptor; `>&file` writes a file.
    fn duplicate(&mut self, target: Target) {
        let Some(word) = self.target() else { return };
        let is_descriptor = word.literal().is_some_and(|text| {
            let digits = text.strip_suffix('-').unwrap_or(text);
            digits.chars().all(|c| c.is_ascii_digit())
        });
        if !is_descriptor {
            if target == Target::Read {
                self.line.doubt(Doubt::Redirection);
            }
            self.current.redirects.push(Redirect { target, word });
        }
    }

    fn here_document(&mut self) {
        let strips_tabs = self.skip('-');
        let Some(word) = self.target() else { return };
        if word.kind == Kind::Dynamic {
            self.line.doubt(Doubt::Redirection);
        }
        let body = self.line.bodies.len();
        self.line.bodies.push(Body { text: String::new(), is_literal: !word.is_plain });
        self.current.bodies.push(body);
        self.pending.push(Pending { delimiter: word.text, strips_tabs, is_quoted: !word.is_plain, body });
    }

    /// Reads the here-documents that begin here.
    fn bodies(&mut self) {
        for pending in mem::take(&mut self.pending) {
            let mut text = String::new();
            let is_closed = loop {
                if self.at >= self.text.len() {
                    break false;
                }
                let rest = self.text.get(self.at..).unwrap_or_default();
                let length = rest.iter().position(|c| *c == '\n').unwrap_or(rest.len());
                let whole: String = rest.iter().take(length).collect();
                self.at += length + 1;
                let row = if pending.strips_tabs { whole.trim_start_matches('\t') } else { &whole };
                if row == pending.delimiter {
                    break true;
                }
                text.push_str(row);
                text.push('\n');
            };
            if !is_closed {
                self.line.doubt(Doubt::Unclosed);
            }
            let is_literal = pending.is_quoted || !text.contains(['$', '`', '\\']);
            if !is_literal {
                // What is expanded in it runs.
                let mut inner = Reader::new(&text, self.depth, self.line);
                inner.expansions();
            }
            if let Some(body) = self.line.bodies.get_mut(pending.body) {
                *body = Body { text, is_literal };
            }
        }
        self.at = self.at.min(self.text.len());
    }
}

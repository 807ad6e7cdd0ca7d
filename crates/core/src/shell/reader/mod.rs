//! From text to simple commands: lists, groups, redirections, here-documents.

mod words;

use super::word::{HereDocument, Joint, Redirect, RedirectTarget, SimpleCommand, Word, WordKind};
use super::{CommandLine, Doubt};
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

/// Keywords that open and close a compound command.
const OPENERS: [&str; 6] = ["if", "for", "while", "until", "case", "select"];
const CLOSERS: [&str; 3] = ["fi", "done", "esac"];

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
    line: &'a mut CommandLine,
    current: SimpleCommand,
    pending: Vec<Pending>,
    groups: Groups,
}

/// Compound commands around the current position, as positions of their first simple command.
#[derive(Default)]
struct Groups {
    open: Vec<usize>,
    /// The one that was closed just now: the next operator belongs to it.
    closed: Option<usize>,
    subshells: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &str, depth: usize, line: &'a mut CommandLine) -> Self {
        let text: Vec<char> = text.chars().take(LONGEST + 1).collect();
        Self {
            text,
            at: 0,
            depth,
            line,
            current: SimpleCommand::default(),
            pending: Vec::new(),
            groups: Groups::default(),
        }
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
                    self.finish(Joint::Next);
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
                    self.redirect_to(RedirectTarget::Write);
                }
                ';' | '&' | '|' => {
                    let (joint, length) = match (c, self.ahead(1)) {
                        ('&', Some('&')) => (Joint::And, 2),
                        ('|', Some('|')) => (Joint::Or, 2),
                        ('|', Some('&')) => (Joint::Pipe, 2),
                        ('|', _) => (Joint::Pipe, 1),
                        ('&', _) => (Joint::Background, 1),
                        (_, _) => (Joint::Next, 1),
                    };
                    self.at += length;
                    self.finish(joint);
                }
                '(' => self.group(),
                ')' => {
                    self.at += 1;
                    if end == End::Paren {
                        break;
                    }
                    self.line.doubt(Doubt::Unclosed);
                    self.finish(Joint::End);
                }
                '<' | '>' => self.redirection(),
                _ => self.word_or_descriptor(),
            }
        }
        self.finish(Joint::End);
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

    fn finish(&mut self, joint: Joint) {
        let mut simple = mem::take(&mut self.current);
        let is_command = !(simple.words.is_empty() && simple.assignments.is_empty());
        // Redirections behind a group belong to the group, and so does the operator behind them.
        if let Some(start) = self.groups.closed.take_if(|_| !is_command) {
            let group = self.line.simple.get_mut(start..).unwrap_or_default();
            group.iter_mut().for_each(|inner| inner.group_joint = Some(joint));
        }
        if !simple.is_empty() {
            simple.joint = joint;
            simple.subshells = self.groups.subshells;
            self.line.simple.push(simple);
        }
    }

    /// Marks the simple commands from a position on as parts of a substitution.
    fn mark_substituted(&mut self, start: usize) {
        let inner = self.line.simple.get_mut(start..).unwrap_or_default();
        inner.iter_mut().for_each(|simple| simple.is_substituted = true);
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
        let start = self.line.simple.len();
        self.groups.subshells += 1;
        self.nested();
        self.groups.subshells -= 1;
        self.groups.closed = Some(start);
    }

    /// Reads a list up to its parenthesis. What it belongs to goes on afterwards.
    fn nested(&mut self) {
        let (current, pending) = (mem::take(&mut self.current), mem::take(&mut self.pending));
        if !pending.is_empty() {
            self.line.doubt(Doubt::Unclosed);
        }
        let subshells = self.groups.subshells;
        let groups = mem::replace(&mut self.groups, Groups { subshells, ..Groups::default() });
        self.list(End::Paren);
        self.current = current;
        self.pending = pending;
        self.groups = groups;
    }

    /// `<(…)` and `>(…)`. The word may go on behind it, which is not followed.
    fn process(&mut self) {
        self.line.doubt(Doubt::Expansion);
        let start = self.line.simple.len();
        self.nested();
        self.mark_substituted(start);
    }

    fn word_or_descriptor(&mut self) {
        let begin = self.at;
        let word = self.word();
        // Whatever happens, the next character is another one.
        if self.at == begin {
            self.at += 1;
            return;
        }
        if matches!(self.peek(), Some('<' | '>')) && word.is_plain && word.kind != WordKind::Dynamic {
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
        if is_first && word.is_plain && word.kind != WordKind::Dynamic {
            if let Some(keyword) = TRANSPARENT.into_iter().find(|keyword| *keyword == word.text) {
                self.keyword(keyword);
                return;
            }
            if let Some(keyword) = KEYWORDS.into_iter().find(|keyword| *keyword == word.text) {
                self.keyword(keyword);
                self.line.doubt(Doubt::Keyword(word.text));
                return;
            }
        }
        self.groups.closed = None;
        if self.current.words.is_empty() && word.equals.is_some() {
            self.current.assignments.push(word);
        } else {
            self.current.words.push(word);
        }
    }

    /// Notes a word of the grammar: what it opens, what it closes, what comes behind it.
    fn keyword(&mut self, keyword: &'static str) {
        if keyword == "{" || OPENERS.contains(&keyword) {
            self.groups.open.push(self.line.simple.len());
            self.groups.closed = None;
        } else if keyword == "}" || CLOSERS.contains(&keyword) {
            self.groups.closed = self.groups.open.pop();
        }
        self.current.keyword = Some(keyword);
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
                self.redirect_to(RedirectTarget::Text);
            }
            (true, Some('<'), _) => {
                self.at += 1;
                self.here_document();
            }
            (_, Some('&'), _) => {
                self.at += 1;
                self.duplicate(if is_input { RedirectTarget::Read } else { RedirectTarget::Write });
            }
            (true, Some('>'), _) | (false, Some('>' | '|'), _) => {
                self.at += 1;
                self.redirect_to(RedirectTarget::Write);
            }
            (true, _, _) => self.redirect_to(RedirectTarget::Read),
            (false, _, _) => self.redirect_to(RedirectTarget::Write),
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

    fn redirect_to(&mut self, target: RedirectTarget) {
        if let Some(word) = self.target() {
            self.current.redirects.push(Redirect { target, word });
        }
    }

    /// `>&2` copies a descriptor; `>&file` writes a file.
    fn duplicate(&mut self, target: RedirectTarget) {
        let Some(word) = self.target() else { return };
        let is_descriptor = word.literal().is_some_and(|text| {
            let digits = text.strip_suffix('-').unwrap_or(text);
            digits.chars().all(|c| c.is_ascii_digit())
        });
        if !is_descriptor {
            if target == RedirectTarget::Read {
                self.line.doubt(Doubt::Redirection);
            }
            self.current.redirects.push(Redirect { target, word });
        }
    }

    fn here_document(&mut self) {
        let strips_tabs = self.skip('-');
        let Some(word) = self.target() else { return };
        if word.kind == WordKind::Dynamic {
            self.line.doubt(Doubt::Redirection);
        }
        let body = self.line.bodies.len();
        self.line.bodies.push(HereDocument { text: String::new(), is_literal: !word.is_plain });
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
                let start = self.line.simple.len();
                Reader::new(&text, self.depth, self.line).expansions();
                self.mark_substituted(start);
            }
            if let Some(body) = self.line.bodies.get_mut(pending.body) {
                *body = HereDocument { text, is_literal };
            }
        }
        self.at = self.at.min(self.text.len());
    }
}

//! Words: quotes, expansions, substitutions.

use super::super::Doubt;
use super::super::quoting::ansi_c;
use super::super::word::{SimpleCommand, Word, WordKind};
use super::{DEEPEST, Reader};

impl Reader<'_> {
    /// Reads what is expanded in a text that is otherwise not read.
    pub(super) fn expansions(&mut self) {
        let mut word = Word::empty();
        while let Some(c) = self.peek() {
            match c {
                '\\' => {
                    // It may join lines, and so hide the one that ends the text.
                    if self.ahead(1) == Some('\n') {
                        self.line.doubt(Doubt::Expansion);
                    }
                    self.at += 2;
                }
                '$' => self.dollar(&mut word, true),
                '`' => self.backticks(&mut word, true),
                _ => self.at += 1,
            }
        }
        if word.kind == WordKind::Dynamic {
            self.line.doubt(Doubt::Expansion);
        }
    }

    pub(super) fn word(&mut self) -> Word {
        let mut word = Word::empty();
        // 1: a brace is open; 2: it holds alternatives.
        let mut brace = 0;
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>' => break,
                '\\' => {
                    match self.ahead(1) {
                        None => self.line.doubt(Doubt::Unclosed),
                        Some('\n') => {}
                        Some(c) => {
                            word.text.push(c);
                            word.is_plain = false;
                        }
                    }
                    self.at += 2;
                }
                '\'' => self.single(&mut word),
                '"' => self.double(&mut word),
                '`' => self.backticks(&mut word, false),
                '$' => self.dollar(&mut word, false),
                c => {
                    match c {
                        '*' | '?' | '[' if word.kind == WordKind::Literal => word.kind = WordKind::Glob,
                        '~' if word.text.is_empty() && word.is_plain => word.is_home = true,
                        '{' => brace = brace.max(1),
                        ',' if brace == 1 => brace = 2,
                        '.' if brace == 1 && word.text.ends_with('.') => brace = 2,
                        '}' if brace == 2 => word.kind = WordKind::Dynamic,
                        '=' if word.equals.is_none() && word.is_plain && is_name(&word.text) => {
                            word.equals = Some(word.text.len());
                        }
                        _ => {}
                    }
                    word.text.push(c);
                    self.at += 1;
                }
            }
        }
        self.at = self.at.min(self.text.len());
        // By itself it is a program.
        if word.text == "[" && word.kind == WordKind::Glob {
            word.kind = WordKind::Literal;
        }
        word
    }

    fn single(&mut self, word: &mut Word) {
        word.is_plain = false;
        self.at += 1;
        loop {
            let Some(c) = self.peek() else {
                self.line.doubt(Doubt::Unclosed);
                return;
            };
            self.at += 1;
            match c {
                '\'' => return,
                c => self.quoted_char(word, c),
            }
        }
    }

    fn quoted_char(&mut self, word: &mut Word, c: char) {
        // A line inside quotes would hold the text that belongs to the command.
        if c == '\n' && !self.pending.is_empty() {
            self.line.doubt(Doubt::Unclosed);
        }
        word.text.push(c);
    }

    fn double(&mut self, word: &mut Word) {
        word.is_plain = false;
        self.at += 1;
        loop {
            let Some(c) = self.peek() else {
                self.line.doubt(Doubt::Unclosed);
                return;
            };
            match c {
                '"' => {
                    self.at += 1;
                    return;
                }
                '\\' => {
                    match self.ahead(1) {
                        Some('\n') => {}
                        Some(c @ ('$' | '`' | '"' | '\\')) => word.text.push(c),
                        Some(c) => word.text.extend(['\\', c]),
                        None => self.line.doubt(Doubt::Unclosed),
                    }
                    self.at += 2;
                }
                '$' => self.dollar(word, true),
                '`' => self.backticks(word, true),
                c => {
                    self.at += 1;
                    self.quoted_char(word, c);
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut Word, is_quoted: bool) {
        self.at += 1;
        let Some(c) = self.peek() else {
            word.text.push('$');
            return;
        };
        match c {
            '(' => self.substitution(word, is_quoted),
            '{' => {
                word.kind = WordKind::Dynamic;
                self.braced(word);
            }
            '\'' if !is_quoted => {
                word.is_plain = false;
                self.at += 1;
                match ansi_c(self.text.get(self.at..).unwrap_or_default()) {
                    Some((text, took)) => {
                        text.chars().for_each(|c| self.quoted_char(word, c));
                        self.at += took;
                    }
                    None => {
                        word.kind = WordKind::Dynamic;
                        self.line.doubt(Doubt::Expansion);
                        self.at = self.text.len();
                    }
                }
            }
            '"' if !is_quoted => {
                word.kind = WordKind::Dynamic;
                self.double(word);
            }
            '[' => {
                word.kind = WordKind::Dynamic;
                self.line.doubt(Doubt::Arithmetic);
                word.text.push('$');
            }
            // These are numbers.
            '?' | '#' | '$' | '!' => {
                word.text.extend(['$', c]);
                self.at += 1;
            }
            c if c == '_' || c.is_ascii_alphanumeric() || matches!(c, '@' | '*' | '-') => {
                word.kind = WordKind::Dynamic;
                word.text.extend(['$', c]);
                self.at += 1;
                while let Some(c) = self.peek().filter(|c| *c == '_' || c.is_ascii_alphanumeric()) {
                    word.text.push(c);
                    self.at += 1;
                }
            }
            _ => word.text.push('$'),
        }
    }

    /// `$(…)`. What it gives is known in one case: a quoted text that is only passed on, which is how models write long
    /// messages.
    fn substitution(&mut self, word: &mut Word, is_quoted: bool) {
        let before = self.line.simple.len();
        self.at += 1;
        self.nested();
        self.mark_substituted(before);
        let text = match self.line.simple.get(before..) {
            Some([cat]) if is_quoted && self.line.doubt.is_none() && is_cat(cat) => {
                self.line.bodies_of(cat).next().filter(|body| body.is_literal).map(|body| body.text.clone())
            }
            Some(_) | None => None,
        };
        match text {
            Some(text) => text.trim_end_matches('\n').chars().for_each(|c| self.quoted_char(word, c)),
            None => {
                word.kind = WordKind::Dynamic;
                word.text.push_str("$(…)");
            }
        }
    }

    fn braced(&mut self, word: &mut Word) {
        word.text.push_str("${");
        self.at += 1;
        if self.depth >= DEEPEST {
            self.line.doubt(Doubt::Deep);
            self.at = self.text.len();
            return;
        }
        self.depth += 1;
        loop {
            let Some(c) = self.peek() else {
                self.line.doubt(Doubt::Unclosed);
                break;
            };
            match c {
                '$' => self.dollar(word, true),
                '`' => self.backticks(word, true),
                c => {
                    if matches!(c, '\'' | '"' | '\\' | '\n') {
                        self.line.doubt(Doubt::Expansion);
                    }
                    word.text.push(c);
                    self.at += 1;
                    if c == '}' {
                        break;
                    }
                }
            }
        }
        self.depth -= 1;
    }

    fn backticks(&mut self, word: &mut Word, is_quoted: bool) {
        word.kind = WordKind::Dynamic;
        self.at += 1;
        if !self.pending.is_empty() {
            self.line.doubt(Doubt::Unclosed);
        }
        let mut inner = String::new();
        loop {
            match (self.peek(), self.ahead(1)) {
                (None, _) => {
                    self.line.doubt(Doubt::Unclosed);
                    break;
                }
                (Some('`'), _) => {
                    self.at += 1;
                    break;
                }
                (Some('\\'), Some(c)) => {
                    let is_escaped = matches!(c, '`' | '\\' | '$') || (is_quoted && c == '"');
                    if !is_escaped {
                        inner.push('\\');
                    }
                    inner.push(c);
                    self.at += 2;
                }
                (Some(c), _) => {
                    inner.push(c);
                    self.at += 1;
                }
            }
        }
        word.text.push_str("`…`");
        let start = self.line.simple.len();
        Reader::new(&inner, self.depth, self.line).run();
        self.mark_substituted(start);
    }
}

fn is_cat(simple: &SimpleCommand) -> bool {
    simple.program() == Some("cat")
        && simple.words.len() == 1
        && simple.bodies.len() == 1
        && simple.redirects.is_empty()
        && simple.assignments.is_empty()
}

/// Whether a text can be what stands before the `=` of an assignment.
fn is_name(text: &str) -> bool {
    let text = text.strip_suffix('+').unwrap_or(text);
    let is_part = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic()) && text.chars().all(is_part)
}

//! Where one block of Markdown ends and the next begins, decided line by line, so that it does not depend on how the text came.

/// A piece that can be shown: nothing that comes later changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// One or more whole blocks.
    Block(String),
    /// A fenced code block begins; what follows its fence.
    CodeStart(String),
    /// A line of it.
    CodeLine(String),
    /// It ends.
    CodeEnd,
}

/// A fence: its character, its length, how far it is indented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
}

/// What the lines so far are part of.
#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    /// Nothing: blank lines, or the start.
    #[default]
    Between,
    /// Text that a blank line ends.
    Text,
    /// Indented code: blank lines may be part of it.
    Indented,
    /// A list: it goes on behind blank lines, as long as lines are indented or begin an item.
    List {
        /// Columns before the text of the newest item.
        content: usize,
        /// Code inside an item.
        fence: Option<Fence>,
    },
    /// Fenced code.
    Code(Fence),
}

/// Splits a text into pieces while it comes in.
#[derive(Debug, Default)]
pub(crate) struct Splitter {
    state: State,
    /// The lines of the block that is not whole yet.
    block: String,
    /// Blank lines behind it, which may be part of it.
    blanks: usize,
    /// A line that is not whole yet.
    line: String,
}

impl Splitter {
    /// Takes the next characters, and gives the pieces that are whole now.
    pub(crate) fn push(&mut self, text: &str) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some(end) = rest.find('\n') {
            self.line.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            let line = std::mem::take(&mut self.line);
            self.take(line.strip_suffix('\r').unwrap_or(&line), &mut pieces);
        }
        self.line.push_str(rest);
        pieces
    }

    /// The text is whole.
    pub(crate) fn finish(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.take(line.strip_suffix('\r').unwrap_or(&line), &mut pieces);
        }
        self.end_block(&mut pieces);
        if let State::Code(_) = std::mem::take(&mut self.state) {
            pieces.push(Piece::CodeEnd);
        }
        pieces
    }

    /// The end of what has come and is not whole yet, of about `bytes` at most: it is asked for with every piece that comes.
    pub(crate) fn tail(&self, bytes: usize) -> String {
        let end = |text: &str| text[text.ceil_char_boundary(text.len().saturating_sub(bytes))..].to_owned();
        end(&self.block) + &end(&self.line)
    }

    /// Whether what comes next is a line of fenced code.
    pub(crate) fn is_in_code(&self) -> bool {
        matches!(self.state, State::Code(_))
    }

    fn take(&mut self, line: &str, pieces: &mut Vec<Piece>) {
        let indent = indent(line);
        let is_blank = line.trim().is_empty();
        match &mut self.state {
            State::Code(fence) => {
                if closes(line, *fence) {
                    self.state = State::Between;
                    pieces.push(Piece::CodeEnd);
                } else {
                    let spaces = line.len() - line.trim_start_matches(' ').len();
                    pieces.push(Piece::CodeLine(line[spaces.min(fence.indent)..].to_owned()));
                }
            }
            State::Between if is_blank => {}
            State::Between => self.begin(line, pieces),
            State::Text if is_blank => self.end_block(pieces),
            State::Text => {
                if fence(line).is_some() {
                    self.end_block(pieces);
                    self.begin(line, pieces);
                    return;
                }
                self.add(line);
                if is_heading(line) || is_rule(line) || is_underline(line) {
                    self.end_block(pieces);
                } else if let Some(content) = item(line) {
                    self.state = State::List { content, fence: None };
                }
            }
            State::Indented | State::List { .. } if is_blank => self.blanks += 1,
            State::Indented if indent >= 4 => self.add(line),
            State::Indented => self.restart(line, pieces),
            State::List { content, fence: inner } => {
                if indent < *content {
                    *inner = None;
                }
                match *inner {
                    Some(open) if closes(line.trim_start(), open) => *inner = None,
                    Some(_) => {}
                    None if indent >= *content => *inner = fence(line.trim_start()),
                    None if is_rule(line) => return self.restart(line, pieces),
                    None => match item(line) {
                        Some(columns) => *content = columns,
                        None if self.blanks > 0 || begins_anew(line) => return self.restart(line, pieces),
                        // A paragraph that goes on without its indent.
                        None => {}
                    },
                }
                self.add(line);
            }
        }
    }

    fn restart(&mut self, line: &str, pieces: &mut Vec<Piece>) {
        self.end_block(pieces);
        self.begin(line, pieces);
    }

    /// A line behind nothing.
    fn begin(&mut self, line: &str, pieces: &mut Vec<Piece>) {
        if let Some(fence) = fence(line) {
            let info = line.trim_start().trim_start_matches(fence.mark).trim();
            pieces.push(Piece::CodeStart(info.to_owned()));
            self.state = State::Code(fence);
        } else if is_heading(line) || is_rule(line) {
            pieces.push(Piece::Block(format!("{line}\n")));
        } else {
            self.state = match item(line) {
                Some(content) => State::List { content, fence: None },
                None if indent(line) >= 4 => State::Indented,
                None => State::Text,
            };
            self.add(line);
        }
    }

    fn add(&mut self, line: &str) {
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.block.push('\n');
        }
        self.block.push_str(line);
        self.block.push('\n');
    }

    fn end_block(&mut self, pieces: &mut Vec<Piece>) {
        self.blanks = 0;
        if !self.block.is_empty() {
            pieces.push(Piece::Block(std::mem::take(&mut self.block)));
            self.state = State::Between;
        }
    }
}

/// Columns of space before the text.
fn indent(line: &str) -> usize {
    let mut columns = 0;
    for c in line.chars() {
        match c {
            ' ' => columns += 1,
            '\t' => columns += 4 - columns % 4,
            _ => break,
        }
    }
    columns
}

/// The fence that a line opens.
fn fence(line: &str) -> Option<Fence> {
    let indent = indent(line);
    let text = line.trim_start();
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = text.chars().take_while(|c| *c == mark).count();
    let is_fence = indent < 4 && length >= 3 && !(mark == '`' && text[length..].contains('`'));
    is_fence.then_some(Fence { mark, length, indent })
}

fn closes(line: &str, fence: Fence) -> bool {
    let text = line.trim();
    indent(line) < 4 && text.len() >= fence.length && text.chars().all(|c| c == fence.mark)
}

fn is_heading(line: &str) -> bool {
    let text = line.trim_start();
    let marks = text.chars().take_while(|c| *c == '#').count();
    let rest = &text[marks..];
    indent(line) < 4 && (1..=6).contains(&marks) && (rest.is_empty() || rest.starts_with([' ', '\t']))
}

fn is_rule(line: &str) -> bool {
    let mut marks = line.chars().filter(|c| !c.is_whitespace());
    let Some(mark) = marks.next().filter(|c| matches!(c, '-' | '*' | '_')) else { return false };
    let mut count = 1;
    for c in marks {
        if c != mark {
            return false;
        }
        count += 1;
    }
    indent(line) < 4 && count >= 3
}

/// What makes a heading of the paragraph above it.
fn is_underline(line: &str) -> bool {
    let text = line.trim();
    indent(line) < 4 && !text.is_empty() && (text.chars().all(|c| c == '=') || text.chars().all(|c| c == '-'))
}

/// Where the text of the item begins that a line begins.
fn item(line: &str) -> Option<usize> {
    let indent = indent(line);
    let text = line.trim_start();
    let digits = text.chars().take_while(char::is_ascii_digit).count();
    let marker = match text[digits..].chars().next()? {
        '-' | '*' | '+' if digits == 0 => 1,
        '.' | ')' if (1..=9).contains(&digits) => digits + 1,
        _ => return None,
    };
    let rest = &text[marker..];
    if indent >= 4 || !(rest.is_empty() || rest.starts_with([' ', '\t'])) {
        return None;
    }
    let spaces = self::indent(rest);
    // Code inside the item, or nothing at all: the text begins right behind one space.
    let spaces = if rest.trim().is_empty() || spaces > 4 { 1 } else { spaces };
    Some(indent + marker + spaces)
}

/// Whether a line begins another block than the paragraph before it.
fn begins_anew(line: &str) -> bool {
    fence(line).is_some() || is_heading(line) || (indent(line) < 4 && line.trim_start().starts_with('>'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<Piece> {
        let mut splitter = Splitter::default();
        let mut pieces = splitter.push(text);
        pieces.extend(splitter.finish());
        pieces
    }

    fn block(text: &str) -> Piece {
        Piece::Block(text.to_owned())
    }

    #[test]
    fn blank_lines_part_paragraphs_and_not_lists() {
        assert_eq!(all("one\ntwo\n\nthree"), [block("one\ntwo\n"), block("three\n")]);
        assert_eq!(all("- a\n\n  more\n- b\n\nafter"), [block("- a\n\n  more\n- b\n"), block("after\n")]);
        assert_eq!(all("- a\n\n\n# head"), [block("- a\n"), block("# head\n")]);
    }

    #[test]
    fn headings_and_rules_are_whole_at_once() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push("# head\n"), [block("# head\n")]);
        assert_eq!(splitter.push("---\n"), [block("---\n")]);
        assert_eq!(splitter.push("text\n---\n"), [block("text\n---\n")]);
    }

    #[test]
    fn code_comes_line_by_line() {
        let mut splitter = Splitter::default();
        assert_eq!(splitter.push("```rust\nlet a"), [Piece::CodeStart("rust".to_owned())]);
        assert_eq!(
            splitter.push(" = 1;\n\n"),
            [Piece::CodeLine("let a = 1;".to_owned()), Piece::CodeLine(String::new())]
        );
        assert_eq!(splitter.push("```\n"), [Piece::CodeEnd]);
        assert_eq!(
            all("```\nx"),
            [Piece::CodeStart(String::new()), Piece::CodeLine("x".to_owned()), Piece::CodeEnd]
        );
    }

    #[test]
    fn code_inside_an_item_is_part_of_the_list() {
        let text = "1. do\n   ```sh\n   ls\n\n   - x\n   ```\n2. done\n";
        assert_eq!(all(text), [block(text)]);
        assert_eq!(all("- a\n```\nx\n```\n").len(), 4);
    }
}

//! Text that is put together from pieces of a page: blocks, lists, quotes, links.

/// A list that is open.
struct List {
    /// The number of its next item; `None`: it has bullets.
    number: Option<usize>,
}

/// Writes Markdown-like text. White space is collapsed as browsers do.
#[derive(Default)]
pub(super) struct Writer {
    out: String,
    /// Line ends that come before the next word.
    breaks: usize,
    /// White space was seen since the last word.
    space: bool,
    /// What opens the next line, such as `## `.
    lead: String,
    /// Marks that open with the next word, such as `**`.
    marks: String,
    lists: Vec<List>,
    quotes: usize,
    /// Quotes that were open when the last line began.
    quotes_before: usize,
}

/// Deeper lists and quotes are not indented further.
const DEEPEST: usize = 12;

impl Writer {
    /// What was written.
    pub(super) fn finish(self) -> String {
        self.out.trim_end().to_owned()
    }

    /// Ends the line; with `blank` a blank one follows.
    pub(super) fn end_line(&mut self, blank: bool) {
        self.breaks = self.breaks.max(if blank { 2 } else { 1 });
        self.space = false;
    }

    /// Begins a line with a mark, such as that of a heading.
    pub(super) fn lead(&mut self, lead: &str) {
        self.lead.push_str(lead);
    }

    /// Text, with white space collapsed.
    pub(super) fn text(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let word_end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, after) = rest.split_at(word_end);
            if !word.is_empty() {
                self.open();
                self.out.push_str(word);
            }
            let next = after.trim_start();
            self.space |= next.len() < after.len();
            rest = next;
        }
    }

    /// Text as it is, line by line.
    pub(super) fn lines(&mut self, text: &str) {
        for line in text.lines() {
            self.end_line(false);
            self.start();
            self.out.push_str(line);
        }
        self.end_line(true);
    }

    /// A mark that opens with the next word.
    pub(super) fn open_mark(&mut self, mark: &str) {
        self.marks.push_str(mark);
    }

    /// The mark that closes it. Where nothing was written in between there is neither.
    pub(super) fn close_mark(&mut self, opened: &str, mark: &str) {
        match self.marks.strip_suffix(opened) {
            Some(before) => self.marks.truncate(before.len()),
            None => self.out.push_str(mark),
        }
    }

    /// What separates cells of a table.
    pub(super) fn cell(&mut self) {
        self.open();
        self.out.push_str(" |");
        self.space = true;
    }

    pub(super) fn open_list(&mut self, number: Option<usize>) {
        self.end_line(self.lists.is_empty());
        self.lists.push(List { number });
    }

    pub(super) fn close_list(&mut self) {
        self.lists.pop();
        self.end_line(self.lists.is_empty());
    }

    pub(super) fn item(&mut self) {
        self.end_line(false);
        let mark = match self.lists.last_mut().and_then(|list| list.number.as_mut()) {
            Some(number) => {
                let mark = format!("{number}. ");
                *number = number.saturating_add(1);
                mark
            }
            None => "- ".to_owned(),
        };
        self.lead = mark;
    }

    pub(super) fn open_quote(&mut self) {
        self.end_line(true);
        self.quotes += 1;
    }

    pub(super) fn close_quote(&mut self) {
        self.quotes = self.quotes.saturating_sub(1);
        self.end_line(true);
    }

    /// Everything that stands before a word.
    fn open(&mut self) {
        if self.breaks > 0 || self.out.is_empty() {
            self.start();
        } else if self.space {
            self.out.push(' ');
        }
        self.space = false;
        self.out.push_str(&std::mem::take(&mut self.marks));
    }

    /// Begins a line.
    fn start(&mut self) {
        let quote = "> ".repeat(self.quotes.min(DEEPEST));
        if !self.out.is_empty() {
            self.out.push('\n');
            if self.breaks > 1 {
                let both = self.quotes.min(self.quotes_before).min(DEEPEST);
                self.out.push_str("> ".repeat(both).trim_end());
                self.out.push('\n');
            }
        }
        self.breaks = 0;
        self.quotes_before = self.quotes;
        self.out.push_str(&quote);
        let depth = self.lists.len().min(DEEPEST);
        // What goes on in an item is indented like its words.
        let indent = if self.lead.is_empty() { depth } else { depth.saturating_sub(1) };
        self.out.push_str(&"  ".repeat(indent));
        self.out.push_str(&std::mem::take(&mut self.lead));
    }
}

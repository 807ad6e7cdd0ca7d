//! Text that never grows over its budget.

use crate::tokens::Counter;

/// Stands under a heading that there is nothing to say under.
const NOTHING: &str = "Nothing in the record.";

/// A text that is written line by line until its tokens are spent.
pub(super) struct Page<'a> {
    text: String,
    left: u64,
    counter: &'a mut Counter,
}

impl<'a> Page<'a> {
    pub(super) fn new(budget: u64, counter: &'a mut Counter) -> Self {
        Self { text: String::new(), left: budget, counter }
    }

    /// A page that has room for these sections, each with a few words under it, whatever else is written.
    pub(super) fn with_fixed(budget: u64, headings: &[&str], counter: &'a mut Counter) -> Self {
        let nothing = counter.text(NOTHING);
        let fixed: u64 = headings.iter().map(|heading| counter.text(heading) + nothing + 3).sum();
        Self::new(budget.saturating_sub(fixed), counter)
    }

    /// A section that the page [has room for](Self::with_fixed): a heading with what `write` puts under it, or a word that this is
    /// nothing.
    pub(super) fn fixed(&mut self, heading: &str, write: impl FnOnce(&mut Self)) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(heading);
        self.text.push('\n');
        let empty = self.text.len();
        write(self);
        if self.text.len() == empty {
            self.text.push_str(NOTHING);
            self.text.push('\n');
        }
    }

    /// Adds a line, if it fits.
    pub(super) fn line(&mut self, line: &str) -> bool {
        let cost = self.counter.text(line) + 1;
        if cost > self.left {
            return false;
        }
        self.left -= cost;
        self.text.push_str(line);
        self.text.push('\n');
        true
    }

    /// Adds a text of several lines as a whole, if it fits.
    pub(super) fn block(&mut self, text: &str) {
        if !text.is_empty() {
            self.line(text);
        }
    }

    /// Adds lines while they fit, within a share of the page.
    pub(super) fn lines<S: AsRef<str>>(&mut self, most: u64, lines: impl IntoIterator<Item = S>) {
        let floor = self.left.saturating_sub(most);
        for line in lines {
            let cost = self.counter.text(line.as_ref()) + 1;
            if self.left < floor + cost || !self.line(line.as_ref()) {
                return;
            }
        }
    }

    /// A heading with what `write` puts under it; nothing, if that is nothing.
    pub(super) fn section(&mut self, heading: &str, write: impl FnOnce(&mut Self)) {
        let (length, left) = (self.text.len(), self.left);
        let lead = if self.text.is_empty() { heading.to_owned() } else { format!("\n{heading}") };
        if !self.line(&lead) {
            return;
        }
        let empty = self.text.len();
        write(self);
        if self.text.len() == empty {
            self.text.truncate(length);
            self.left = left;
        }
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn counter(&mut self) -> &mut Counter {
        self.counter
    }

    pub(super) fn finish(self) -> String {
        self.text
    }
}

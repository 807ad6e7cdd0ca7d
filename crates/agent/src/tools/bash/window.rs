//! Beginning and end of a text of any length.

/// How far a cut is moved to meet the end of a line, in bytes.
const TO_LINE_END: usize = 1000;

/// Keeps the beginning and the end of a text that comes in pieces: all of it, if it is short enough. Its memory is bounded.
#[derive(Debug)]
pub(super) struct Window {
    /// The most characters that are shown.
    limit: usize,
    head: String,
    head_chars: usize,
    tail: String,
    /// What was between the two is gone.
    is_tail_cut: bool,
    chars: u64,
    bytes: u64,
}

impl Window {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            head: String::new(),
            head_chars: 0,
            tail: String::new(),
            is_tail_cut: false,
            chars: 0,
            bytes: 0,
        }
    }

    pub(super) fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        let room = self.limit - self.head_chars;
        let fits = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        let (first, rest) = text.split_at(fits);
        let taken = first.chars().count();
        self.head.push_str(first);
        self.head_chars += taken;
        self.chars += (taken + rest.chars().count()) as u64;
        self.tail.push_str(rest);
        // A character has at most four bytes; cut seldom, so that each byte is moved once or twice.
        let kept = self.limit * 4;
        if self.tail.len() > kept * 2 {
            let cut = self.tail.ceil_char_boundary(self.tail.len() - kept);
            self.tail.drain(..cut);
            self.is_tail_cut = true;
        }
    }

    /// Whether nothing but blanks came.
    pub(super) fn is_blank(&self) -> bool {
        self.chars <= self.limit as u64 && self.head.trim().is_empty()
    }

    /// Whether more came than is shown.
    pub(super) fn is_cut(&self) -> bool {
        self.chars > self.limit as u64
    }

    /// How many bytes came.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The beginning, as far as it is shown at most.
    pub(super) fn head(&self) -> &str {
        &self.head
    }

    /// The newest line that is not blank, as far as it is kept.
    pub(super) fn last_line(&self) -> Option<String> {
        let last = |text: &str| text.rsplit('\n').next().unwrap_or_default().to_owned();
        let (head, tail) = (self.head.trim_end(), self.tail.trim_end());
        let line = match (tail.is_empty(), tail.contains('\n') || self.is_tail_cut) {
            (true, _) => last(head),
            (false, true) => last(tail),
            // It began before the cut.
            (false, false) => format!("{}{tail}", last(&self.head)),
        };
        Some(line.trim().to_owned()).filter(|line| !line.is_empty())
    }

    /// At most the limit of characters, without what `note` takes. `note` says what it stands for, given how many characters
    /// are missing.
    pub(super) fn show(&self, note: impl FnOnce(u64) -> String) -> String {
        if !self.is_cut() {
            return self.head.clone();
        }
        let half = self.limit / 2;
        let end = self.head.char_indices().nth(half).map_or(self.head.len(), |(at, _)| at);
        let head = self.head.get(..end).unwrap_or_default();
        let head = match head.rfind('\n') {
            Some(at) if head.len() - at <= TO_LINE_END => head.get(..at).unwrap_or_default(),
            Some(_) | None => head,
        };
        // What lies behind the beginning may be shorter than a half: then the beginning goes on where it ends.
        let behind = format!("{}{}", self.head.get(head.len()..).unwrap_or_default(), self.tail);
        let start = behind.char_indices().rev().nth(half - 1).map_or(0, |(at, _)| at);
        let tail = behind.get(start..).unwrap_or_default();
        let tail = match tail.find('\n') {
            Some(at) if at <= TO_LINE_END => tail.get(at + 1..).unwrap_or_default(),
            Some(_) | None => tail,
        };
        let shown = head.chars().count() + tail.chars().count();
        format!("{head}\n{}\n{tail}", note(self.chars - shown as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_middle_is_cut_at_line_ends_and_counted() {
        let mut window = Window::new(40);
        for number in 0..1000 {
            window.push(&format!("line {number}\n"));
        }
        let total: usize = (0..1000).map(|number| format!("line {number}\n").len()).sum();
        let shown = window.show(|missing| format!("[{missing}]"));
        let missing = total - "line 0\nline 1".len() - "line 998\nline 999\n".len();
        assert_eq!(shown, format!("line 0\nline 1\n[{missing}]\nline 998\nline 999\n"));
        assert_eq!(window.last_line(), Some("line 999".to_owned()));
    }

    proptest! {
        #[test]
        fn what_fits_is_whole_and_what_does_not_is_bounded(
            pieces in proptest::collection::vec("[aä€\n]{0,30}", 0..60),
            limit in 2_usize..200,
        ) {
            let mut window = Window::new(limit);
            pieces.iter().for_each(|piece| window.push(piece));
            let whole: String = pieces.concat();
            if !window.is_tail_cut {
                let last = whole.lines().rev().find(|line| !line.is_empty()).map(str::to_owned);
                prop_assert_eq!(window.last_line(), last);
            }
            let mut missing = 0;
            let shown = window.show(|count| { missing = count; "#".to_owned() });
            if whole.chars().count() <= limit {
                prop_assert_eq!(shown, whole);
            } else {
                let (head, tail) = shown.split_once("\n#\n").unwrap();
                prop_assert!(whole.starts_with(head) && whole.ends_with(tail));
                prop_assert_eq!(head.chars().count() + tail.chars().count() + missing as usize, whole.chars().count());
                prop_assert!(head.chars().count() + tail.chars().count() <= limit);
            }
        }

        #[test]
        fn its_memory_is_bounded(count in 1_usize..2000) {
            let mut window = Window::new(50);
            (0..count).for_each(|_| window.push("äöü€ some more text\n"));
            prop_assert!(window.head.len() + window.tail.len() <= 50 * 4 + 50 * 8 + 64);
        }
    }
}

//! The one writer to the terminal while the agent works.
//!
//! Lines are written for good; below them is a live area that is drawn in place and taken away before anything else is written.
//! Where the cursor can't be moved there is no live area.

use super::Look;
use super::style::Line;
use super::wrap::fit;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What is drawn in place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Live {
    /// Its lines.
    pub(crate) lines: Vec<Line>,
    /// Where the cursor stands on the last one; at its end if not told.
    pub(crate) cursor: Option<usize>,
}

/// Columns and rows of a terminal now.
pub(crate) type Size = fn() -> Option<(usize, usize)>;

/// Writes to a terminal, or to what stands in for one. It can be shared: what is written together stays together.
pub(crate) struct Screen {
    inner: Mutex<Inner>,
    size: Size,
}

struct Inner {
    out: Box<dyn Write + Send>,
    look: Look,
    /// Lines above the live area that belong to what is being written.
    tail: Vec<Line>,
    live: Live,
    /// Columns of each line of the live area that is on the screen.
    drawn: Vec<usize>,
    error: Option<std::io::Error>,
}

impl Screen {
    /// Writes to `out`.
    pub(crate) fn new(out: Box<dyn Write + Send>, look: Look, size: Size) -> Self {
        let inner =
            Inner { out, look, tail: Vec::new(), live: Live::default(), drawn: Vec::new(), error: None };
        Self { inner: Mutex::new(inner), size }
    }

    /// How things are drawn now: the width follows the terminal.
    pub(crate) fn look(&self) -> Look {
        let mut inner = self.lock();
        if let Some((columns, _)) = (self.size)() {
            inner.look = inner.look.with_width(columns);
        }
        inner.look
    }

    /// How the live area is drawn: a column is left free there.
    pub(crate) fn live_look(&self) -> Look {
        let look = self.look();
        look.with_width(look.width - 1)
    }

    /// Writes lines for good, above the live area.
    pub(crate) fn print(&self, lines: &[Line]) {
        let tail = self.lock().tail.clone();
        self.print_before(lines, tail);
    }

    /// Writes lines for good; `tail` is what comes behind them and is not final: the top of the live area.
    pub(crate) fn print_before(&self, lines: &[Line], tail: Vec<Line>) {
        let (columns, rows) = self.measure();
        let mut inner = self.lock();
        if lines.is_empty() && inner.tail == tail {
            return;
        }
        inner.tail = tail;
        let look = inner.look;
        let mut out = inner.take_away(columns);
        for line in lines {
            out.push_str(&line.paint(look));
            // In raw mode a line end alone does not go to the start of the line.
            out.push_str(if look.moves { "\r\n" } else { "\n" });
        }
        out.push_str(&inner.draw(columns, rows));
        inner.write(&out);
    }

    /// Draws another live area.
    pub(crate) fn live(&self, live: Live) {
        let (columns, rows) = self.measure();
        let mut inner = self.lock();
        if inner.live == live && inner.drawn.iter().all(|width| *width <= columns) {
            return;
        }
        let mut out = inner.take_away(columns);
        inner.live = live;
        out.push_str(&inner.draw(columns, rows));
        inner.write(&out);
    }

    /// Takes the live area away, tail and all.
    pub(crate) fn clear(&self) {
        let columns = self.measure().0;
        let mut inner = self.lock();
        inner.live = Live::default();
        inner.tail = Vec::new();
        let out = inner.take_away(columns);
        inner.write(&out);
    }

    /// What went wrong with writing, once.
    pub(crate) fn take_error(&self) -> Option<std::io::Error> {
        self.lock().error.take()
    }

    fn measure(&self) -> (usize, usize) {
        (self.size)().unwrap_or_else(|| (self.lock().look.width, usize::MAX))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.clear();
    }
}

impl Inner {
    /// What takes the live area off the screen: to its first row, and everything below is cleared.
    fn take_away(&mut self, columns: usize) -> String {
        let drawn = std::mem::take(&mut self.drawn);
        if drawn.is_empty() {
            return String::new();
        }
        // A terminal that became narrower has broken lines in two.
        let rows: usize = drawn.iter().map(|width| width.div_ceil(columns.max(1)).max(1)).sum();
        match rows - 1 {
            0 => "\r\u{1b}[J".to_owned(),
            up => format!("\r\u{1b}[{up}A\u{1b}[J"),
        }
    }

    fn draw(&mut self, columns: usize, rows: usize) -> String {
        if !self.look.moves || (self.live.lines.is_empty() && self.tail.is_empty()) {
            return String::new();
        }
        // A column is left: a full line would put some terminals' cursor on the next row.
        let width = columns.saturating_sub(1).max(1);
        // What does not fit the screen could not be taken away again.
        let all: Vec<&Line> = self.tail.iter().chain(&self.live.lines).collect();
        let from = all.len().saturating_sub(rows.saturating_sub(1).max(1));
        let lines: Vec<Line> = all[from..].iter().map(|line| fit(line, width)).collect();
        self.drawn = lines.iter().map(Line::width).collect();
        let mut out = lines.iter().map(|line| line.paint(self.look)).collect::<Vec<_>>().join("\r\n");
        if let Some(cursor) = self.live.cursor {
            out.push('\r');
            if cursor > 0 {
                out.push_str(&format!("\u{1b}[{}C", cursor.min(width)));
            }
        }
        out
    }

    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Err(error) = self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            self.error.get_or_insert(error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::style::Span;
    use std::sync::Arc;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn take(&self) -> String {
            String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap().replace('\u{1b}', "␛")
        }
    }

    const LOOK: Look = Look { colour: false, unicode: true, moves: true, width: 20 };

    fn live(texts: &[&str], cursor: Option<usize>) -> Live {
        Live { lines: texts.iter().map(|text| Line::from(Span::plain(*text))).collect(), cursor }
    }

    fn line(text: &str) -> [Line; 1] {
        [Line::from(Span::plain(text))]
    }

    #[test]
    fn the_live_area_is_taken_away_before_lines_and_drawn_again() {
        let written = Written::default();
        let screen = Screen::new(Box::new(written.clone()), LOOK, || Some((20, 10)));
        screen.live(live(&["status", "› x"], Some(3)));
        assert_eq!(written.take(), "status\r\n› x\r␛[3C");
        screen.print(&line("said"));
        assert_eq!(written.take(), "\r␛[1A␛[Jsaid\r\nstatus\r\n› x\r␛[3C");
        screen.live(live(&["status", "› x"], Some(3)));
        assert_eq!(written.take(), "", "nothing is written for what is there");
        screen.clear();
        assert_eq!(written.take(), "\r␛[1A␛[J");
        screen.print(&line("end"));
        assert_eq!(written.take(), "end\r\n");
    }

    #[test]
    fn what_is_being_written_stands_above_the_live_area() {
        let written = Written::default();
        let screen = Screen::new(Box::new(written.clone()), LOOK, || Some((20, 10)));
        screen.live(live(&["status"], None));
        screen.print_before(&line("whole"), line("ha").to_vec());
        assert_eq!(written.take(), "status\r␛[Jwhole\r\nha\r\nstatus");
        screen.print_before(&[], line("half").to_vec());
        assert_eq!(written.take(), "\r␛[1A␛[Jhalf\r\nstatus");
        screen.clear();
        assert_eq!(written.take(), "\r␛[1A␛[J");
    }

    #[test]
    fn where_the_cursor_can_not_move_only_lines_are_written() {
        let written = Written::default();
        let screen = Screen::new(Box::new(written.clone()), Look { moves: false, ..LOOK }, || None);
        screen.live(live(&["status"], None));
        screen.print(&line("said"));
        drop(screen);
        assert_eq!(written.take(), "said\n");
    }

    #[test]
    fn a_live_area_never_takes_more_than_the_screen() {
        let written = Written::default();
        let screen = Screen::new(Box::new(written.clone()), LOOK, || Some((20, 3)));
        screen.live(live(&["1", "2", "3", "4", &"long ".repeat(9)], None));
        assert_eq!(written.take(), "4\r\nlong long long lon…");
        screen.clear();
        assert_eq!(written.take(), "\r␛[1A␛[J");
    }
}

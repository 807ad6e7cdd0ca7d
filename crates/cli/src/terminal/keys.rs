//! Keys, read on a thread of their own while something else goes on.
//!
//! Raw mode lasts as long as [`Keys`] does, and is left however that ends: [`restore_on_panic`] sees to panics of other threads.

use crossterm::cursor::Show;
use crossterm::event::{
    self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyCode, KeyEventKind, KeyModifiers,
};
use crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

/// How long the thread may take to see that it is over.
const LOOK_UP: Duration = Duration::from_millis(25);

/// How long an end from outside waits for an end from inside.
const GRACE: Duration = Duration::from_secs(2);

/// The exit status after SIGTERM, as shells have it.
const TERMINATED: i32 = 143;

/// A key, by what it means here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// Esc.
    Esc,
    /// Ctrl-C.
    Interrupt,
    /// Ctrl-D.
    EndOfInput,
    /// Enter.
    Enter,
    /// Alt-Enter or Shift-Enter.
    AltEnter,
    /// Tab.
    Tab,
    /// Shift-Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Ctrl-W or Alt-Backspace.
    DeleteWord,
    /// Ctrl-U.
    DeleteLine,
    /// To the left.
    Left,
    /// To the right.
    Right,
    /// Up.
    Up,
    /// Down.
    Down,
    /// To the start of the line.
    Home,
    /// To the end of the line.
    End,
    /// A character.
    Char(char),
    /// Text that was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize,
}

/// The key of a terminal's event, if it means something.
pub(crate) fn translate(event: Event) -> Option<Key> {
    let key = match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => key,
        Event::Paste(text) => return Some(Key::Paste(text)),
        Event::Resize(..) => return Some(Key::Resize),
        Event::Key(_) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) => return None,
    };
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let alt = key.modifiers.contains(KeyModifiers::ALT);
    let shift = key.modifiers.contains(KeyModifiers::SHIFT);
    // The enum is the terminal library's, and grows.
    #[allow(clippy::wildcard_enum_match_arm)]
    Some(match key.code {
        KeyCode::Char(c) if control && !alt => match c.to_ascii_lowercase() {
            'c' => Key::Interrupt,
            'd' => Key::EndOfInput,
            'a' => Key::Home,
            'e' => Key::End,
            'b' => Key::Left,
            'f' => Key::Right,
            'p' => Key::Up,
            'n' => Key::Down,
            'h' => Key::Backspace,
            'w' => Key::DeleteWord,
            'u' => Key::DeleteLine,
            'j' | 'm' => Key::Enter,
            _ => return None,
        },
        // Alt with Ctrl is how some keyboards write characters.
        KeyCode::Char(_) if alt && !control => return None,
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Esc => Key::Esc,
        KeyCode::Enter if alt || shift => Key::AltEnter,
        KeyCode::Enter => Key::Enter,
        KeyCode::Tab if shift => Key::BackTab,
        KeyCode::Tab => Key::Tab,
        KeyCode::BackTab => Key::BackTab,
        KeyCode::Backspace if alt || control => Key::DeleteWord,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Delete => Key::Delete,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}

/// Reads keys as long as it lasts.
pub(crate) struct Keys {
    keys: UnboundedReceiver<Key>,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Keys {
    /// Goes into raw mode and begins to read.
    pub(crate) fn start() -> std::io::Result<Self> {
        enter()?;
        let (sender, keys) = unbounded_channel();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = Arc::clone(&is_over);
        let read = move || {
            while !ends.load(Ordering::Relaxed) {
                let event = match event::poll(LOOK_UP) {
                    Ok(false) => continue,
                    Ok(true) => event::read(),
                    Err(error) => Err(error),
                };
                // A terminal that is gone: whoever waits for keys sees their end.
                let Ok(event) = event else { return };
                if let Some(key) = translate(event)
                    && sender.send(key).is_err()
                {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("keys".to_owned()).spawn(read);
        match thread {
            Ok(thread) => Ok(Self { keys, is_over, thread: Some(thread) }),
            Err(error) => {
                leave();
                Err(error)
            }
        }
    }

    /// The next key; `None`: the terminal is gone.
    pub(crate) async fn next(&mut self) -> Option<Key> {
        self.keys.recv().await
    }

    /// The next key, for whoever has nothing else to do. Not to be called from asynchronous code.
    pub(crate) fn wait(&mut self) -> Option<Key> {
        self.keys.blocking_recv()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // Two readers would each get half of what is typed next.
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
        leave();
    }
}

fn enter() -> std::io::Result<()> {
    enable_raw_mode()?;
    // Where pastes have no brackets their lines come as keys.
    let _ = crossterm::execute!(std::io::stdout(), EnableBracketedPaste);
    Ok(())
}

/// Leaves raw mode, whoever is in it. What fails here can't be mended.
pub(crate) fn leave() {
    let _ = crossterm::execute!(std::io::stdout(), DisableBracketedPaste, Show);
    let _ = disable_raw_mode();
}

/// Somebody ends this process from outside.
pub(crate) async fn terminated() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut signal) => drop(signal.recv().await),
            Err(_) => std::future::pending().await,
        }
    }
    #[cfg(not(unix))]
    std::future::pending().await
}

/// From now on somebody who ends this process from outside does not leave a terminal in raw mode. What can end by itself has a moment
/// to do so.
pub(crate) fn restore_when_terminated() {
    tokio::spawn(async {
        terminated().await;
        tokio::time::sleep(GRACE).await;
        leave();
        std::process::exit(TERMINATED);
    });
}

/// From now on a panic leaves raw mode before it is told.
pub(crate) fn restore_on_panic() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        leave();
        before(panic);
    }));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyEvent;

    fn key(code: KeyCode, modifiers: KeyModifiers) -> Option<Key> {
        translate(Event::Key(KeyEvent::new(code, modifiers)))
    }

    #[test]
    fn keys_mean_what_people_expect() {
        let none = KeyModifiers::NONE;
        assert_eq!(key(KeyCode::Char('c'), KeyModifiers::CONTROL), Some(Key::Interrupt));
        assert_eq!(key(KeyCode::Char('C'), KeyModifiers::SHIFT), Some(Key::Char('C')));
        assert_eq!(key(KeyCode::Enter, KeyModifiers::ALT), Some(Key::AltEnter));
        assert_eq!(key(KeyCode::Enter, none), Some(Key::Enter));
        assert_eq!(key(KeyCode::BackTab, KeyModifiers::SHIFT), Some(Key::BackTab));
        assert_eq!(key(KeyCode::Char('@'), KeyModifiers::CONTROL | KeyModifiers::ALT), Some(Key::Char('@')));
        assert_eq!(key(KeyCode::F(5), none), None);
        assert_eq!(translate(Event::Paste("a\nb".to_owned())), Some(Key::Paste("a\nb".to_owned())));
    }

    #[test]
    fn a_key_that_is_let_go_means_nothing() {
        let event = KeyEvent::new_with_kind(KeyCode::Esc, KeyModifiers::NONE, KeyEventKind::Release);
        assert_eq!(translate(Event::Key(event)), None);
    }
}

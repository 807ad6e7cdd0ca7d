//! Where the user types: history, several lines, completion.

use super::Look;
use super::clean::on_one_line;
use super::complete::Words;
use crossterm::cursor::MoveToColumn;
use crossterm::event::{Event, KeyCode, KeyEvent};
use crossterm::terminal::{Clear, ClearType};
use reedline::{
    ColumnarMenu, Completer, CompletionResult, EditCommand, EditMode, Emacs, FileBackedHistory, KeyModifiers,
    Keybindings, MenuBuilder, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline,
    ReedlineEvent, ReedlineMenu, ReedlineRawEvent, Signal, Suggestion, ValidationResult, Validator,
    default_emacs_keybindings,
};
use std::borrow::Cow;
use std::path::Path;

/// Lines of history that are kept.
const HISTORY: usize = 2_000;

const MENU: &str = "words";
const ESC_TWICE: &str = "esc-twice";
const NEXT_MODE: &str = "next-mode";

/// What the user did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Said something; it is not empty.
    Text(String),
    /// Esc twice on an empty line.
    Rewind,
    /// Wants the next permission mode. What was typed stays for the next reading.
    NextMode,
    /// Ctrl-C: what was typed is gone.
    Cleared,
    /// Ctrl-D, or the end of the input.
    End,
}

/// What stands beside the line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Beside {
    /// The permission mode.
    pub(crate) mode: String,
    /// How full the window is, in percent.
    pub(crate) context: Option<u64>,
}

/// How a prompt is made.
pub(crate) struct Setup<'a> {
    /// What may be completed.
    pub(crate) words: Words,
    /// The file of the history, which is there already, with the mode it is to have.
    pub(crate) history: Option<&'a Path>,
    /// How things are drawn.
    pub(crate) look: Look,
}

/// Reads what the user says at a terminal.
pub(crate) struct Prompt {
    editor: Reedline,
    look: Look,
}

impl Prompt {
    /// A prompt; and what is wrong with the history, if it can't be used.
    pub(crate) fn new(setup: Setup<'_>) -> (Self, Option<String>) {
        let menu = ColumnarMenu::default()
            .with_name(MENU)
            .with_columns(1)
            .with_marker(indicator(setup.look))
            .with_column_padding(2);
        let mut editor = Reedline::create()
            .use_bracketed_paste(true)
            .with_ansi_colors(setup.look.colour)
            .with_completer(Box::new(Completions(setup.words)))
            .with_partial_completions(true)
            .with_quick_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_validator(Box::new(GoesOn))
            .with_edit_mode(Box::new(EscTwice { inner: Emacs::new(bindings()), was_esc: false }));
        let mut problem = None;
        if let Some(file) = setup.history {
            match FileBackedHistory::with_file(HISTORY, file.to_owned()) {
                Ok(history) => editor = editor.with_history(Box::new(history)),
                Err(error) => {
                    problem = Some(format!("the history in {} can't be used: {error}", file.display()))
                }
            }
        }
        (Self { editor, look: setup.look }, problem)
    }

    /// Puts text on the line before it is read.
    pub(crate) fn prefill(&mut self, text: &str) {
        self.editor.run_edit_commands(&[EditCommand::InsertString(text.to_owned())]);
    }

    /// Waits for the user. Blocks.
    pub(crate) fn read(&mut self, beside: &Beside) -> std::io::Result<Input> {
        let line = PromptLine { beside: beside.clone(), look: self.look };
        loop {
            let signal = self.editor.read_line(&line).map_err(std::io::Error::other)?;
            return Ok(match signal {
                Signal::Success(text) => {
                    let text = joined(&text);
                    if text.trim().is_empty() {
                        continue;
                    }
                    Input::Text(text)
                }
                Signal::HostCommand(command) if command == NEXT_MODE => Input::NextMode,
                Signal::HostCommand(_) if self.editor.current_buffer_contents().is_empty() => {
                    // What is drawn next takes the place of the prompt, which stands there still.
                    crossterm::execute!(
                        std::io::stdout(),
                        MoveToColumn(0),
                        Clear(ClearType::FromCursorDown)
                    )?;
                    Input::Rewind
                }
                Signal::HostCommand(_) => continue,
                Signal::CtrlC => Input::Cleared,
                Signal::CtrlD => Input::End,
                Signal::ExternalBreak(_) => continue,
                // The enum is the library's, and grows: what else it may signal was not asked for.
                #[allow(clippy::wildcard_enum_match_arm)]
                _ => continue,
            });
        }
    }
}

fn indicator(look: Look) -> &'static str {
    if look.unicode { "❯ " } else { "> " }
}

/// A `\` at the end of a line made it go on: it is not part of what was said.
pub(crate) fn joined(text: &str) -> String {
    text.replace("\\\n", "\n").trim_end().to_owned()
}

/// Whether the last line ends with a `\` that is not itself behind one.
pub(crate) fn goes_on(text: &str) -> bool {
    let marks = text.len() - text.trim_end_matches('\\').len();
    marks % 2 == 1
}

struct GoesOn;

impl Validator for GoesOn {
    fn validate(&self, line: &str) -> ValidationResult {
        if goes_on(line) { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

fn bindings() -> Keybindings {
    let mut bindings = default_emacs_keybindings();
    let new_line = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    bindings.add_binding(KeyModifiers::ALT, KeyCode::Enter, new_line());
    bindings.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, new_line());
    bindings.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), new_line());
    let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
    bindings.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
    let mode = vec![ReedlineEvent::MenuPrevious, ReedlineEvent::ExecuteHostCommand(NEXT_MODE.to_owned())];
    bindings.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::UntilFound(mode));
    bindings
}

/// The usual keys, and Esc twice in a row.
struct EscTwice {
    inner: Emacs,
    was_esc: bool,
}

impl EditMode for EscTwice {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event: Event = event.into();
        let is_esc = matches!(event, Event::Key(KeyEvent { code: KeyCode::Esc, .. }));
        if is_esc && std::mem::replace(&mut self.was_esc, is_esc) {
            self.was_esc = false;
            return ReedlineEvent::ExecuteHostCommand(ESC_TWICE.to_owned());
        }
        self.was_esc = is_esc;
        match ReedlineRawEvent::try_from(event) {
            Ok(event) => self.inner.parse_event(event),
            Err(()) => ReedlineEvent::None,
        }
    }

    fn edit_mode(&self) -> PromptEditMode {
        PromptEditMode::Emacs
    }
}

struct Completions(Words);

impl Completer for Completions {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let suggestion = |candidate: super::complete::Candidate| Suggestion {
            append_whitespace: !candidate.value.ends_with('/'),
            display_override: Some(on_one_line(&candidate.value)),
            description: candidate.description.as_deref().map(on_one_line),
            span: reedline::Span { start: candidate.start, end: candidate.end },
            value: candidate.value,
            ..Suggestion::default()
        };
        CompletionResult::fresh(self.0.complete(line, pos).into_iter().map(suggestion).collect::<Vec<_>>())
    }
}

struct PromptLine {
    beside: Beside,
    look: Look,
}

impl reedline::Prompt for PromptLine {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        // Beside a long line there is no room for it in a narrow terminal.
        if self.look.width < 50 {
            return Cow::Borrowed("");
        }
        let context = self.beside.context.map(|percent| format!(" · {percent}%")).unwrap_or_default();
        let text = format!("{}{context}", self.beside.mode);
        Cow::Owned(if self.look.unicode { text } else { text.replace('·', "-") })
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed(indicator(self.look))
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed(if self.look.unicode { "… " } else { ". " })
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "nothing ",
        };
        Cow::Owned(format!("({failing}found for {}) ", on_one_line(&search.term)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backslash_at_the_end_makes_a_line_go_on() {
        assert!(goes_on("one\\"));
        assert!(!goes_on("one\\\\"));
        assert!(!goes_on("one"));
        assert_eq!(joined("one\\\ntwo\n"), "one\ntwo");
    }

    #[test]
    fn esc_twice_in_a_row_is_not_esc_once_and_again_later() {
        let mut mode = EscTwice { inner: Emacs::new(bindings()), was_esc: false };
        let mut press = |code| {
            let event = Event::Key(KeyEvent::new(code, KeyModifiers::NONE));
            mode.parse_event(ReedlineRawEvent::try_from(event).unwrap())
        };
        let twice = ReedlineEvent::ExecuteHostCommand(ESC_TWICE.to_owned());
        assert_ne!(press(KeyCode::Esc), twice);
        assert_ne!(press(KeyCode::Char('a')), twice);
        assert_ne!(press(KeyCode::Esc), twice);
        assert_eq!(press(KeyCode::Esc), twice);
        assert_ne!(press(KeyCode::Esc), twice);
    }
}

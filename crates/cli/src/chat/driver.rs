//! The loop: read, do, again.

use super::approve::Questions;
use super::commands::{Meant, Slash, meant, named};
use super::show::{Show, said};
use super::turn::{Watch, Watched};
use crate::context::Context;
use crate::launch::AgentFlags;
use crate::terminal::complete::{Named, Words};
use crate::terminal::picker::Picker;
use crate::terminal::prompt::{Beside, Input, Prompt, Setup, goes_on, joined};
use crate::terminal::screen::Screen;
use crate::terminal::style::{Line, Span};
use crate::terminal::wrap::fit;
use crate::terminal::{Look, tool_line};
use anyhow::Context as _;
use std::path::PathBuf;
use std::sync::Arc;
use throughline_agent::agent::{Agent, AgentError, Desk, Inbox, Said, TurnEnd};
use throughline_agent::permissions::{Approver, Headless};
use throughline_engine::config::Loaded;
use throughline_ledger::write_private;
use throughline_memory::ProjectSlug;
use throughline_model::CancelToken;
use tokio::sync::mpsc::unbounded_channel;

/// What a chat begins with.
pub(crate) struct Opening<'a> {
    /// The home, the clock.
    pub(crate) context: &'a Context,
    /// How the agent was begun, for the next one.
    pub(crate) flags: AgentFlags,
    /// The configuration.
    pub(crate) loaded: Loaded,
    /// The agent.
    pub(crate) agent: Agent,
    /// Where everything is shown.
    pub(crate) screen: Arc<Screen>,
    /// Keys can be read one by one.
    pub(crate) interactive: bool,
}

/// A chat.
pub(crate) struct Driver<'a> {
    pub(super) context: &'a Context,
    pub(super) flags: AgentFlags,
    pub(super) loaded: Loaded,
    pub(super) agent: Agent,
    pub(super) screen: Arc<Screen>,
    pub(super) cwd: PathBuf,
    show: Show,
    inbox: Inbox,
    /// Where the user types; `None`: lines of the standard input.
    prompt: Option<Prompt>,
}

/// Whether a chat goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// It does.
    Go,
    /// The user wants to end it.
    End,
}

impl<'a> Driver<'a> {
    /// At a terminal, or with lines of the standard input.
    pub(crate) fn new(opening: Opening<'a>) -> Self {
        let Opening { context, flags, loaded, agent, screen, interactive } = opening;
        let cwd = agent.workspace().cwd().to_owned();
        let mut driver = Self {
            context,
            flags,
            loaded,
            agent,
            show: Show::new(Arc::clone(&screen)),
            screen,
            cwd,
            inbox: Inbox::new(),
            prompt: None,
        };
        if interactive {
            driver.prompt = Some(driver.new_prompt());
        }
        driver
    }

    /// A prompt that knows the commands, the skills and the files.
    fn new_prompt(&self) -> Prompt {
        let skills = self.agent.assembled().map(|assembled| assembled.skills());
        let skill = |skill: &throughline_agent::assembly::Skill| Named {
            name: skill.name.clone(),
            description: skill.description.clone(),
        };
        let skills = skills.map(|skills| skills.iter().map(skill).collect()).unwrap_or_default();
        let words = Words::new(named(), skills, self.cwd.clone());
        let history = self.history();
        let history = history.map_err(|error| self.show.note(&format!("no history: {error:#}"))).ok();
        let setup = Setup { words, history: history.as_deref(), look: self.look() };
        let (prompt, problem) = Prompt::new(setup);
        if let Some(problem) = problem {
            self.show.note(&problem);
        }
        prompt
    }

    /// The file of the history, which only the user can read.
    fn history(&self) -> anyhow::Result<PathBuf> {
        let name = format!("history/{}", ProjectSlug::of(&self.cwd).as_str());
        let path = self.context.home.root().join(&name);
        if !path.exists() {
            write_private(self.context.home.root(), &name, b"").context("its file can't be made")?;
        }
        Ok(path)
    }

    /// Until the user ends it.
    pub(crate) async fn run(mut self, first: Option<String>, warnings: &[String]) -> anyhow::Result<()> {
        self.greet(warnings);
        let mut first = first.filter(|text| !text.trim().is_empty());
        loop {
            let next = match first.take() {
                Some(text) => self.turn(Said::from(text)).await?,
                None => self.step().await?,
            };
            if let Some(error) = self.screen.take_error() {
                return Err(error).context("cannot write to the terminal");
            }
            if next == Next::End {
                break;
            }
        }
        let id = crate::launch::short(self.agent.session().id());
        self.agent.close("the user left").await?;
        if self.prompt.is_some() {
            let line = Line::from(Span::dim(format!("To go on: throughline chat -r {id}")));
            self.screen.print(&[line]);
        }
        Ok(())
    }

    fn greet(&self, warnings: &[String]) {
        for warning in warnings {
            self.show.note(warning);
        }
        if self.prompt.is_none() {
            return;
        }
        let model = &self.agent.session().frame().model;
        let mut lines = vec![
            Line::from(Span::bold("Throughline"))
                .with(Span::dim(format!("  {model} in {}", self.cwd.display()))),
            Line::from(Span::dim("/help for commands, @ for files, shift-tab for the mode, ctrl-d to end")),
        ];
        if let Some(title) = self.agent.session().title() {
            lines.push(Line::from(Span::dim(format!("going on with: {title}"))));
        }
        let width = self.look().width;
        let mut lines: Vec<Line> = lines.iter().map(|line| fit(line, width)).collect();
        lines.push(Line::new());
        self.tell(&lines);
    }

    /// One thing that the user does.
    async fn step(&mut self) -> anyhow::Result<Next> {
        if let Some(waiting) = self.inbox.take_queued() {
            self.screen.print(&said(&waiting.text, self.look().width));
            return self.turn(waiting).await;
        }
        match self.read()? {
            Input::End => Ok(Next::End),
            Input::Cleared => Ok(Next::Go),
            Input::NextMode => {
                self.agent.mode().cycle();
                Ok(Next::Go)
            }
            Input::Rewind => {
                let next = self.command(Slash::Rewind).await;
                // The prompt takes its old place again, and the line below it.
                self.tell(&[Line::new()]);
                next
            }
            Input::Text(text) => match meant(&text) {
                Meant::Said(text) => self.turn(Said::from(text)).await,
                Meant::Memory(text) => {
                    let outcome = self.remember(&text);
                    self.report(outcome);
                    Ok(Next::Go)
                }
                Meant::Command(slash) => self.command(slash).await,
                Meant::Wrong(why) => {
                    self.show.note(&why);
                    Ok(Next::Go)
                }
            },
        }
    }

    fn read(&mut self) -> anyhow::Result<Input> {
        let spending = self.agent.spending();
        let percent = (spending.window > 0)
            .then(|| spending.context.saturating_mul(100).div_ceil(spending.window.max(1)));
        let beside = Beside { mode: self.agent.mode().get().to_string(), context: percent };
        match &mut self.prompt {
            Some(prompt) => {
                tokio::task::block_in_place(|| prompt.read(&beside)).context("cannot read from the terminal")
            }
            None => tokio::task::block_in_place(read_plain).context("cannot read standard input"),
        }
    }

    /// A command; what goes wrong with it is told, and the chat goes on.
    async fn command(&mut self, slash: Slash) -> anyhow::Result<Next> {
        let outcome = match slash {
            Slash::Quit => return Ok(Next::End),
            Slash::Compact(focus) => return self.compact(focus.as_deref()).await,
            Slash::Context => self.tell_context(),
            Slash::Memory(words) => self.tell_memory(words.as_deref()),
            Slash::Notes => self.tell_notes(),
            Slash::Snip(id) => self.snip(id.as_deref()),
            Slash::Undo => self.undo(),
            Slash::Pin(id) => self.pin(id.as_deref()),
            Slash::Resume(id) => self.resume(id.as_deref()).await,
            Slash::Fork => self.fork().await,
            Slash::Rewind => self.rewind(),
            Slash::Cost => self.tell_cost(),
            Slash::Model(name) => self.model(name.as_deref()).await,
            Slash::Profile(name) => self.profile(name.as_deref()),
            Slash::Permissions(mode) => self.permissions(mode.as_deref()),
            Slash::Mcp => self.mcp(),
            Slash::Hooks => self.tell_hooks(),
            Slash::Skills => self.tell_skills(),
            Slash::Help => self.tell_help(),
        };
        self.report(outcome);
        Ok(Next::Go)
    }

    /// A turn of the agent, to its end.
    async fn turn(&mut self, words: Said) -> anyhow::Result<Next> {
        let (send, mut questions) = unbounded_channel();
        let asks = Questions(send);
        let cancel = CancelToken::new();
        self.show.begin("Thinking");
        if self.prompt.is_some() {
            self.tell(&[Line::new()]);
        }
        let approver: &dyn Approver = if self.prompt.is_some() { &asks } else { &Headless };
        let desk = Desk { listener: &self.show, approver, inbox: &self.inbox, cancel: cancel.clone() };
        let mode = self.agent.mode().clone();
        let watch = Watch { show: &self.show, inbox: &self.inbox, cancel, mode, questions: &mut questions };
        let turn = self.agent.turn(words, &desk);
        let watched = match &self.prompt {
            Some(_) => watch.at_terminal(turn).await.context("cannot read keys")?,
            None => watch.elsewhere(turn).await,
        };
        Ok(self.ended(watched))
    }

    async fn compact(&mut self, focus: Option<&str>) -> anyhow::Result<Next> {
        let (_, mut questions) = unbounded_channel();
        let cancel = CancelToken::new();
        self.show.begin("Compacting");
        let desk =
            Desk { listener: &self.show, approver: &Headless, inbox: &self.inbox, cancel: cancel.clone() };
        let mode = self.agent.mode().clone();
        let watch = Watch {
            show: &self.show,
            inbox: &self.inbox,
            cancel: cancel.clone(),
            mode,
            questions: &mut questions,
        };
        let agent = &mut self.agent;
        let work = async {
            tokio::select! {
                pass = agent.compact(focus, &desk) => Some(pass),
                () = cancel.cancelled() => None,
            }
        };
        let watched = match &self.prompt {
            Some(_) => watch.at_terminal(work).await.context("cannot read keys")?,
            None => watch.elsewhere(work).await,
        };
        let Watched { outcome, typed, wants_out } = watched;
        match outcome.flatten() {
            Some(Ok(pass)) if !pass.changed() => self.show.note("there is nothing to compact"),
            Some(Ok(_)) => {}
            Some(Err(error)) => self.show.note(&format!("{:#}", anyhow::Error::from(error))),
            None => self.show.note("stopped; the view is as it was"),
        }
        self.prefill(&typed);
        Ok(if wants_out { Next::End } else { Next::Go })
    }

    /// Tells how a turn ended, where that needs telling.
    fn ended(&mut self, watched: Watched<Result<TurnEnd, AgentError>>) -> Next {
        let Watched { outcome, typed, wants_out } = watched;
        match outcome {
            Some(Ok(end)) => {
                if let Some(words) = end.why.words() {
                    self.show.note(words);
                }
            }
            Some(Err(error)) => self.show.note(&format!("{:#}", anyhow::Error::from(error))),
            None => {}
        }
        self.screen.print(&[Line::new()]);
        self.prefill(&typed);
        if wants_out { Next::End } else { Next::Go }
    }

    /// What went well is told, what went wrong too.
    fn report(&self, outcome: anyhow::Result<Vec<Line>>) {
        match outcome {
            Ok(lines) => self.tell(&lines),
            Err(error) => self.tell(&tool_line::notice(&format!("{error:#}"), self.look())),
        }
    }

    fn tell(&self, lines: &[Line]) {
        self.screen.print(lines);
    }

    /// Puts text where the user types next.
    pub(super) fn prefill(&mut self, text: &str) {
        if let Some(prompt) = self.prompt.as_mut().filter(|_| !text.is_empty()) {
            prompt.prefill(text);
        }
    }

    /// How things are drawn now.
    pub(super) fn look(&self) -> Look {
        self.screen.look()
    }

    /// What listens where no turn runs.
    pub(super) fn listener(&self) -> (&Show, &Inbox) {
        (&self.show, &self.inbox)
    }

    /// Lets the user choose; `None`: none of them.
    pub(super) fn pick(&self, picker: Picker) -> anyhow::Result<Option<usize>> {
        let picked = tokio::task::block_in_place(|| match self.prompt {
            Some(_) => picker.run(&self.screen),
            None => picker.run_by_number(&self.screen, &mut std::io::stdin().lock()),
        });
        picked.context("cannot read what you choose")
    }

    /// Another agent from now on.
    pub(super) fn take_over(&mut self, agent: Agent) -> Agent {
        let old = std::mem::replace(&mut self.agent, agent);
        if self.prompt.is_some() {
            self.prompt = Some(self.new_prompt());
        }
        old
    }
}

/// A line of the standard input, and those that it goes on in.
fn read_plain() -> std::io::Result<Input> {
    let mut text = String::new();
    loop {
        let count = std::io::stdin().read_line(&mut text)?;
        let is_over = count == 0;
        if !is_over && goes_on(text.trim_end_matches(['\n', '\r'])) {
            continue;
        }
        let said = joined(&text.replace("\r\n", "\n"));
        if !said.trim().is_empty() {
            return Ok(Input::Text(said));
        }
        if is_over {
            return Ok(Input::End);
        }
        text.clear();
    }
}

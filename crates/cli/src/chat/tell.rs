//! What the user wants to know.

use super::commands::ENTRIES;
use super::driver::Driver;
use crate::output::{count, number};
use crate::terminal::bar::{self, Part, Window};
use crate::terminal::status::{dollars, short};
use crate::terminal::style::{Line, Span, Style};
use crate::terminal::wrap::wrap;
use crate::terminal::{Look, markdown};
use jiff::tz::TimeZone;
use throughline_agent::permissions::Mode;
use throughline_engine::hooks::Run;
use throughline_memory::extract::written;
use throughline_memory::recall::Recall;
use throughline_memory::topics::{Added, By, Meta, NewTopic, Source};
use throughline_memory::{Listed, Memories, MemoryId, Project, Tier};

/// Memories that a search shows.
const FOUND: usize = 8;

/// What is said where there is no memory.
const OFF: &str = "Memory is switched off; memory.enabled in config.toml says so.";

type Told = anyhow::Result<Vec<Line>>;

/// Words on as many lines as they need.
pub(super) fn text(words: &str, look: Look) -> Vec<Line> {
    wrap(&Line::from(Span::plain(words)), look.width)
}

/// A name, and what it is.
pub(super) fn row(name: &str, what: &str, look: Look) -> Vec<Line> {
    let mut line = Line::from(Span::new(format!("  {name}"), Style::BOLD));
    line.push(Span::dim(if what.is_empty() { String::new() } else { format!("  {what}") }));
    wrap(&line, look.width)
}

impl Driver<'_> {
    /// The window, by part.
    pub(super) fn tell_context(&mut self) -> Told {
        let look = self.look();
        let report = self.agent.window();
        let part = |(share, tokens): &(throughline_engine::session::Share, u64)| Part {
            name: share.name().to_owned(),
            tokens: *tokens,
        };
        let window = Window {
            parts: report.used.parts.iter().map(part).collect(),
            tokens: report.used.window,
            threshold: report.used.threshold,
        };
        let mut lines = bar::draw(&window, look);
        if report.used.pinned > 0 {
            lines.extend(text(&format!("{} pinned", count(report.used.pinned as u64, "message")), look));
        }
        if let Some(told) = report.told.filter(|told| !told.parts.is_empty()) {
            lines.push(Line::new());
            lines.extend(text("Told at the start, within the system prompt and the instructions:", look));
            for part in &told.parts {
                let label = if part.label.is_empty() { String::new() } else { format!(" {}", part.label) };
                let cut = part.cut.as_deref().map(|cut| format!(" ({cut})")).unwrap_or_default();
                let line = format!("  {:>7}  {}{label}{cut}", short(part.tokens), part.kind.name());
                lines.extend(text(&line, look));
            }
        }
        Ok(lines)
    }

    /// What the session has cost.
    pub(super) fn tell_cost(&mut self) -> Told {
        let spending = self.agent.spending();
        let usage = spending.usage;
        let said = format!(
            "{} in {}: {} in, {} read from the cache, {} written to it, {} out",
            dollars(spending.dollars),
            count(spending.requests, "request"),
            number(usage.input),
            number(usage.cache_read),
            number(usage.cache_write),
            number(usage.output),
        );
        Ok(text(&said, self.look()))
    }

    /// All that is remembered for this folder. Whose it is was told when the session began.
    fn memories(&self) -> Memories {
        let project = Project::find(&self.context.home, &self.cwd);
        Memories::open(&self.context.home, &project, &self.loaded.config.memory.places())
    }

    /// Long-term memory, or what of it fits some words.
    pub(super) fn tell_memory(&mut self, words: Option<&str>) -> Told {
        let look = self.look();
        let memories = self.memories();
        let Some((_, nearest)) = memories.stores().next() else { return Ok(text(OFF, look)) };
        let mut lines = Vec::new();
        let name = |id: &MemoryId, name: &str| match id.tier {
            Tier::Project => name.to_owned(),
            Tier::Worktree | Tier::Team | Tier::Global => format!("{name} ({})", id.tier),
        };
        match words {
            Some(words) => {
                for one in Recall::new(memories.clone()).search(words, FOUND, self.context.now()) {
                    let Ok(topic) = memories.read(&one.id) else { continue };
                    lines.extend(row(&name(&one.id, &topic.name), &topic.description, look));
                    lines.extend(markdown::render(&topic.body, look));
                    lines.push(Line::new());
                }
            }
            None => {
                let (all, problems) = memories.list();
                for Listed { id, head } in all {
                    lines.extend(row(&name(&id, &head.name), &head.description, look));
                }
                lines.extend(problems.iter().flat_map(|problem| text(&format!("note: {problem}"), look)));
            }
        }
        if lines.is_empty() {
            lines = text(&format!("Nothing is remembered in {}.", nearest.folder().display()), look);
        }
        Ok(lines)
    }

    /// `#text`: the user wants it remembered.
    pub(super) fn remember(&mut self, words: &str) -> Told {
        let memories = self.memories();
        if memories.is_off() {
            return Ok(text(OFF, self.look()));
        }
        let now = self.context.now();
        let made = written(words, None, now.to_zoned(TimeZone::system()).date());
        if let Some(objection) = made.objection {
            return Ok(text(&format!("Not remembered: {objection}."), self.look()));
        }
        let source = Source {
            by: By::Person,
            session: Some(self.agent.session().id().to_string()),
            messages: Vec::new(),
            at: now,
            quote: words.to_owned(),
        };
        let topic = NewTopic {
            kind: made.kind,
            name: made.name,
            description: made.description,
            body: made.body,
            meta: Meta { created: Some(now), evidence: 1, sources: vec![source], ..Meta::default() },
        };
        let holds_everywhere = made.is_global && memories.store(Tier::Global).is_some();
        let tier = if holds_everywhere { Tier::Global } else { Tier::Project };
        let said = match memories.add_to(tier, topic)? {
            Added::Saved(saved) => format!("Remembered in {}.", MemoryId::new(tier, saved.file)),
            Added::Similar(like) => {
                let id = MemoryId::new(tier, like.file);
                format!("Not written: {id} says much the same ({}).", like.description)
            }
        };
        Ok(text(&said, self.look()))
    }

    /// The session's notes.
    pub(super) fn tell_notes(&mut self) -> Told {
        let look = self.look();
        let Some(keeper) = self.agent.session().notes() else {
            return Ok(text("No notes are kept in this session.", look));
        };
        let file = keeper.file().path();
        let Some(notes) = keeper.file().read()? else {
            return Ok(text(&format!("No notes yet; they will be in {}.", file.display()), look));
        };
        let mut lines = vec![Line::from(Span::dim(file.display().to_string())), Line::new()];
        lines.extend(markdown::render(&notes, look));
        Ok(lines)
    }

    /// The mode and the rules.
    pub(super) fn tell_permissions(&mut self) -> Told {
        let look = self.look();
        let mode = self.agent.mode().get();
        let input = self.agent.policy().input();
        let mut lines = vec![
            Line::from(Span::bold(format!("Mode: {mode}"))).with(Span::dim(format!("  {}", means(mode)))),
        ];
        let approved = input.approvals.rules();
        let lists = [
            ("permitted", &input.rules.allow),
            ("always asked", &input.rules.ask),
            ("refused", &input.rules.deny),
            ("you permitted", &approved),
        ];
        for (name, rules) in lists {
            for rule in rules {
                lines.extend(row(rule.as_str(), name, look));
            }
        }
        let sandbox = if input.sandbox_enforced {
            "Commands run in a sandbox."
        } else {
            "Commands run without a sandbox."
        };
        lines.extend(text(sandbox, look));
        lines.extend(input.approvals.problems().iter().flat_map(|problem| text(problem, look)));
        lines.push(Line::new());
        lines.extend(text("/permissions ask, accept-edits, plan or full takes another mode.", look));
        Ok(lines)
    }

    /// The hooks.
    pub(super) fn tell_hooks(&mut self) -> Told {
        let look = self.look();
        let hooks = &self.loaded.config.hooks;
        let mut lines = Vec::new();
        if hooks.disabled {
            lines.extend(text("Hooks are switched off.", look));
        }
        for (event, commands) in &hooks.events {
            for command in commands {
                let what = match &command.run {
                    Run::Command(argv) => format!("{argv:?}"),
                    Run::Shell(line) => line.clone(),
                };
                lines.extend(row(event.name(), &what, look));
            }
        }
        if lines.is_empty() {
            lines = text("There are no hooks; [hooks] in config.toml names them.", look);
        }
        Ok(lines)
    }

    /// The skills.
    pub(super) fn tell_skills(&mut self) -> Told {
        let look = self.look();
        let mut lines = Vec::new();
        if let Some(assembled) = self.agent.assembled() {
            for skill in assembled.skills().iter() {
                lines.extend(row(&format!("@{}", skill.name), &skill.description, look));
            }
            lines.extend(assembled.skills().warnings().iter().flat_map(|warning| text(warning, look)));
        }
        if lines.is_empty() {
            lines = text("There are no skills; they are folders with a SKILL.md in .agents/skills.", look);
        }
        Ok(lines)
    }

    /// The commands and keys.
    pub(super) fn tell_help(&mut self) -> Told {
        let look = self.look();
        let width = ENTRIES.iter().map(|entry| entry.name.len() + entry.takes.len() + 2).max().unwrap_or(0);
        let mut lines = Vec::new();
        for entry in ENTRIES {
            let name = format!("/{} {}", entry.name, entry.takes);
            lines.extend(row(&format!("{name:<width$}"), entry.does, look));
        }
        lines.push(Line::new());
        for (keys, does) in KEYS {
            lines.extend(row(&format!("{keys:<width$}"), does, look));
        }
        Ok(lines)
    }
}

/// Keys, for the help.
const KEYS: [(&str, &str); 10] = [
    ("@", "complete a file or a skill (tab)"),
    ("#text", "remember something"),
    ("\\ or alt-enter", "another line"),
    ("shift-tab", "the next permission mode"),
    ("esc esc", "on an empty line: go back"),
    ("ctrl-d", "on an empty line: end"),
    ("while it works:", ""),
    ("  enter", "tell it at its next step"),
    ("  tab", "say it after the turn (alt-enter too)"),
    ("  esc", "stop it (ctrl-c too; twice: end)"),
];

fn means(mode: Mode) -> &'static str {
    match mode {
        Mode::Ask => "what changes anything is asked",
        Mode::AcceptEdits => "files here are changed, and sandboxed commands run, without asking",
        Mode::Plan => "nothing is changed: it looks, and makes a plan",
        Mode::Full => "nothing is asked, and there is no sandbox",
    }
}

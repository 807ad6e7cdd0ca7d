//! What the user does with the session: go back, take out, pin, change it for another.

use super::driver::Driver;
use super::tell::text;
use crate::launch::{AgentFlags, models, sessions_of, short};
use crate::output::{count, number};
use crate::terminal::picker::{Item, Picker};
use crate::terminal::style::Line;
use anyhow::{Context as _, bail};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use throughline_agent::agent::{Desk, TurnLimits, Which};
use throughline_agent::files::Restored;
use throughline_agent::permissions::Headless;
use throughline_core::text::one_line;
use throughline_core::{Message, MessageId};
use throughline_ledger::{Listed, list};
use throughline_model::CancelToken;

/// Characters of a message in a list.
const IN_LIST: usize = 70;

type Told = anyhow::Result<Vec<Line>>;

impl Driver<'_> {
    /// What the user said that the view shows, the newest first.
    fn said(&self) -> Vec<Arc<Message>> {
        let mut said = self.agent.session().user_messages();
        said.reverse();
        said
    }

    /// A message that the user said: by the beginning of its id, or chosen from a list.
    fn one_said(&self, title: &str, id: Option<&str>) -> anyhow::Result<Option<Arc<Message>>> {
        let said = self.said();
        if said.is_empty() {
            bail!("nothing was said yet");
        }
        if let Some(id) = id {
            let mut found = said.iter().filter(|message| message.id.as_str().starts_with(id));
            return match (found.next(), found.next()) {
                (Some(message), None) => Ok(Some(Arc::clone(message))),
                (None, _) => bail!("nothing that you said has an id that begins with {id:?}"),
                (Some(_), Some(_)) => bail!("several messages have an id that begins with {id:?}"),
            };
        }
        let pinned = self.pinned();
        let item = |message: &Arc<Message>| Item {
            label: one_line(&message.user_words(), IN_LIST),
            detail: if pinned.contains(&message.id) { "pinned".to_owned() } else { String::new() },
        };
        let chosen = self.pick(Picker::new(title, said.iter().map(item).collect()))?;
        Ok(chosen.and_then(|at| said.get(at).cloned()))
    }

    fn pinned(&self) -> Vec<MessageId> {
        let entries = self.agent.session().pipeline().view().entries();
        entries.iter().filter(|entry| entry.pinned.is_some()).map(|entry| entry.message.id.clone()).collect()
    }

    /// Goes back to before something that the user said.
    pub(super) fn rewind(&mut self) -> Told {
        let Some(message) = self.one_said("Go back to before", None)? else { return Ok(Vec::new()) };
        let changed = self.agent.changed_since(&message.id);
        let mut files = false;
        if !changed.is_empty() {
            let names: Vec<String> = changed.iter().map(|each| self.name(&each.path)).collect();
            let item = |label: &str, detail: String| Item { label: label.to_owned(), detail };
            let items = vec![
                item("The conversation only", "files stay as they are".to_owned()),
                item("The conversation and the files", one_line(&names.join(", "), 200)),
            ];
            match self.pick(Picker::new("What goes back", items))? {
                Some(choice) => files = choice == 1,
                None => return Ok(Vec::new()),
            }
        }
        let rewound = self.agent.rewind(&message.id, files)?;
        let mut said =
            vec!["Went back; what you said is on the line again. /undo takes this back.".to_owned()];
        said.extend(rewound.files.iter().flat_map(|restored| self.in_words(restored)));
        self.prefill(&rewound.words);
        Ok(text(&said.join("\n"), self.look()))
    }

    fn in_words(&self, restored: &Restored) -> Vec<String> {
        let names =
            |paths: &[PathBuf]| paths.iter().map(|path| self.name(path)).collect::<Vec<_>>().join(", ");
        let mut said = Vec::new();
        if !restored.restored.is_empty() {
            said.push(format!("put back: {}", names(&restored.restored)));
        }
        if !restored.removed.is_empty() {
            said.push(format!("removed, for they were made since: {}", names(&restored.removed)));
        }
        for (path, what) in &restored.conflicts {
            said.push(format!("{} had been changed by somebody else: {what}", self.name(path)));
        }
        for (path, why) in &restored.failed {
            said.push(format!("{} could not be put back: {why}", self.name(path)));
        }
        said
    }

    /// A path as people write it here.
    fn name(&self, path: &Path) -> String {
        path.strip_prefix(&self.cwd).unwrap_or(path).display().to_string()
    }

    /// Takes a turn out of the view.
    pub(super) fn snip(&mut self, id: Option<&str>) -> Told {
        let Some(message) = self.one_said("Take out", id)? else { return Ok(Vec::new()) };
        let freed = self.agent.session_mut().drop_turns(std::slice::from_ref(&message.id))?;
        let freed = number(freed.max(0).unsigned_abs());
        Ok(text(&format!("Taken out of the view: {freed} tokens. /undo takes this back."), self.look()))
    }

    /// Takes the newest change of the view back.
    pub(super) fn undo(&mut self) -> Told {
        let undone = self.agent.session_mut().undo()?;
        let said =
            undone.map_or_else(|| "There is nothing to undo.".to_owned(), |what| format!("Undone: {what}"));
        Ok(text(&said, self.look()))
    }

    /// Protects a message, or lets go of it.
    pub(super) fn pin(&mut self, id: Option<&str>) -> Told {
        let Some(message) = self.one_said("Pin, or let go of", id)? else { return Ok(Vec::new()) };
        let on = !self.pinned().contains(&message.id);
        self.agent.session_mut().pin(&message.id, on)?;
        let what = one_line(&message.user_words(), IN_LIST);
        let said = if on { "Pinned: no stage touches it" } else { "Let go of" };
        Ok(text(&format!("{said}: {what}"), self.look()))
    }

    /// Goes on with another session.
    pub(super) async fn resume(&mut self, id: Option<&str>) -> Told {
        let path = match id {
            Some(id) => self.context.ledger(id)?,
            None => {
                let mut sessions = sessions_of(self.context, &self.cwd)?;
                sessions.retain(|listed| listed.path != self.agent.session().path());
                match self.pick_session(sessions)? {
                    Some(path) => path,
                    None => return Ok(Vec::new()),
                }
            }
        };
        if path == self.agent.session().path() {
            bail!("that is the session you are in");
        }
        self.move_to(Which::Resume(path)).await
    }

    fn pick_session(&self, sessions: Vec<Listed>) -> anyhow::Result<Option<PathBuf>> {
        if sessions.is_empty() {
            bail!("there is no other session of this folder");
        }
        let chosen = self.pick(session_picker(&sessions))?;
        Ok(chosen.and_then(|at| sessions.get(at).map(|listed| listed.path.clone())))
    }

    /// Goes on in a copy.
    pub(super) async fn fork(&mut self) -> Told {
        let path = self.agent.session().path().to_owned();
        self.move_to(Which::Fork(path, None)).await
    }

    /// Begins an agent for another session, and ends the one that is here once that worked.
    async fn move_to(&mut self, which: Which) -> Told {
        let flags = AgentFlags { permission_mode: Some(self.agent.mode().get()), ..self.flags.clone() };
        let launched = flags.launch(self.context, &self.loaded, which, TurnLimits::default()).await?;
        let old = self.take_over(launched.agent);
        old.close("the user went on with another session").await?;
        let session = self.agent.session();
        let title = session.title().map(|title| format!(": {title}")).unwrap_or_default();
        let messages = count(session.pipeline().view().entries().len() as u64, "message");
        let mut said = vec![format!("Now in {}{title}, {messages}.", short(session.id()))];
        said.extend(launched.warnings);
        Ok(text(&said.join("\n"), self.look()))
    }

    /// Tells the model, or takes another.
    pub(super) async fn model(&mut self, name: Option<&str>) -> Told {
        let now = self.agent.session().frame().model.clone();
        let name = match name {
            Some(name) => name.to_owned(),
            None => match self.pick_model(&now)? {
                Some(name) => name,
                None => {
                    return Ok(text(&format!("The model is {now}; /model NAME takes another."), self.look()));
                }
            },
        };
        if name == now {
            return Ok(text(&format!("The model is {now} already."), self.look()));
        }
        let flags = AgentFlags { model: Some(name), ..self.flags.clone() };
        let loaded = flags.config(self.context)?;
        let wanted = models(&loaded.config)?;
        // What the closures of the desk need is taken before the agent is.
        let (show, inbox) = self.listener();
        let (show, inbox) = (show.clone(), inbox.clone());
        let desk = Desk { listener: &show, approver: &Headless, inbox: &inbox, cancel: CancelToken::new() };
        self.agent.switch_model(wanted, &desk).await?;
        self.flags = flags;
        self.loaded = loaded;
        Ok(text(&format!("The model is {} now.", self.agent.session().frame().model), self.look()))
    }

    /// Models that sessions on this machine used.
    fn pick_model(&self, now: &str) -> anyhow::Result<Option<String>> {
        let mut names = vec![now.to_owned()];
        for listed in list(&self.context.home)? {
            if let Some(model) = listed.card.model.filter(|model| !names.contains(model)) {
                names.push(model);
            }
        }
        if names.len() == 1 {
            return Ok(None);
        }
        let item = |name: &String| Item {
            label: name.clone(),
            detail: if name == now { "now".to_owned() } else { String::new() },
        };
        let chosen = self.pick(Picker::new("Model", names.iter().map(item).collect()))?;
        Ok(chosen.and_then(|at| names.get(at).cloned()))
    }

    /// Tells the profile, or takes another.
    pub(super) fn profile(&mut self, name: Option<&str>) -> Told {
        let now = self.agent.session().pipeline().profile().name.clone();
        let Some(name) = name else {
            return Ok(text(&format!("The profile is {now}; /profile NAME takes another."), self.look()));
        };
        let profile = self.loaded.config.profile_named(name)?;
        let name = profile.name.clone();
        self.agent.set_profile(profile);
        self.flags.profile = Some(name.clone());
        Ok(text(&format!("The profile is {name} now; it was {now}."), self.look()))
    }

    /// Tells what is permitted, or takes another mode.
    pub(super) fn permissions(&mut self, mode: Option<&str>) -> Told {
        let Some(mode) = mode else { return self.tell_permissions() };
        let mode = mode.parse().map_err(anyhow::Error::msg).context("cannot take that mode")?;
        self.agent.mode().set(mode);
        Ok(text(&format!("The mode is {mode} now."), self.look()))
    }
}

/// A list of sessions to choose from.
pub(crate) fn session_picker(sessions: &[Listed]) -> Picker {
    let item = |listed: &Listed| {
        let card = &listed.card;
        let label = card.title.as_deref().or(card.prompt.as_deref()).unwrap_or("(nothing said)");
        let id = card.session.as_ref().map(short).unwrap_or_default();
        let updated = card.updated.map(|at| at.strftime("%Y-%m-%d %H:%M").to_string()).unwrap_or_default();
        Item { label: one_line(label, IN_LIST), detail: format!("{updated}  {id}") }
    };
    Picker::new("Go on with", sessions.iter().map(item).collect())
}

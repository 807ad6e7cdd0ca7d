//! All tools of all servers, under the names that models call them by.

use super::limits::{LISTING_BYTES, NAMES};
use super::listing::RemoteTool;
use super::names::full_name;
use super::search;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::Arc;
use throughline_core::ToolDefinition;
use throughline_core::Wire;
use throughline_core::tokens::Tokenizer;
use throughline_engine::config::Deferred;

/// A tool under its name. A name means the same tool of the same server as long as a session lasts.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// The name that models call it by.
    pub(crate) name: String,
    /// The server's name.
    pub(crate) server: String,
    pub(super) tool: Arc<RemoteTool>,
    /// It is in the tools array.
    pub(super) is_inline: bool,
    /// The server offers it no more.
    pub(super) is_gone: bool,
}

impl Entry {
    /// The tool's name at its server.
    pub(crate) fn tool_name(&self) -> &str {
        &self.tool.name
    }

    /// The server offers it no more.
    pub(crate) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// The server claims that it changes nothing.
    pub(crate) fn claims_read_only(&self) -> bool {
        self.tool.claims_read_only
    }

    /// What a model is told of it where it is not in the tools array.
    pub(crate) fn description(&self) -> String {
        let ToolDefinition { name, description, parameters } = self.definition();
        format!("\n## {name}\n{description}\nArguments: {parameters}\n")
    }

    /// What a model is told of it.
    pub(crate) fn definition(&self) -> ToolDefinition<'_> {
        ToolDefinition {
            name: &self.name,
            description: &self.tool.description,
            parameters: self.tool.schema.clone(),
        }
    }
}

/// What came and went since somebody last asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Tools that are new. They are deferred.
    pub added: Vec<String>,
    /// Tools that are there no more. Calls of them fail.
    pub removed: Vec<String>,
    /// Tools that the server describes in another way now.
    pub changed: Vec<String>,
}

impl Changes {
    /// Whether all is as it was.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}

/// In words for the model, bounded.
impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST: usize = 40;
        let parts = [
            ("New tools, to be found by ToolSearch", &self.added),
            ("Tools that are gone", &self.removed),
            ("Tools that changed; ask ToolSearch for their new definition", &self.changed),
        ];
        let mut is_first = true;
        for (title, names) in parts.into_iter().filter(|(_, names)| !names.is_empty()) {
            let shown = names.get(..MOST.min(names.len())).unwrap_or_default().join(", ");
            let more = names.len().saturating_sub(MOST);
            let more = if more == 0 { String::new() } else { format!(" and {more} more") };
            write!(f, "{}{title}: {shown}{more}.", if is_first { "" } else { "\n" })?;
            is_first = false;
        }
        Ok(())
    }
}

/// How much may be offered whole.
pub(super) struct Room {
    pub(super) tools: usize,
    pub(super) tokens: u64,
    /// What each server's settings say.
    pub(super) wishes: BTreeMap<String, Deferred>,
}

/// All tools.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<String, Entry>,
    /// The names by server and tool.
    bound: HashMap<(String, String), String>,
    /// Lists that came before the catalogue was sealed: taken in by the order of names, not of arrival.
    early: BTreeMap<String, Vec<RemoteTool>>,
    is_sealed: bool,
    told: BTreeMap<String, Arc<RemoteTool>>,
}

impl Catalogue {
    /// Takes in the list of a server's tools: all that it has now.
    pub(super) fn update(&mut self, server: &str, tools: Vec<RemoteTool>) {
        if self.is_sealed {
            self.take_in(server, tools);
        } else {
            self.early.insert(server.to_owned(), tools);
        }
    }

    /// The first lists are there: decides which tools are offered whole. It is decided once.
    pub(super) fn seal(&mut self, room: &Room) {
        for (server, tools) in std::mem::take(&mut self.early) {
            self.take_in(&server, tools);
        }
        self.is_sealed = true;
        let wish = |entry: &Entry| room.wishes.get(&entry.server).copied().unwrap_or_default();
        let counted: Vec<&Entry> =
            self.entries.values().filter(|entry| wish(entry) != Deferred::Always).collect();
        let tokenizer = Tokenizer::for_model("");
        let tokens = || {
            counted
                .iter()
                .map(|entry| tokenizer.count(&entry.definition().on(Wire::Anthropic).to_string()))
                .sum::<u64>()
        };
        let are_few = counted.len() <= room.tools && tokens() <= room.tokens;
        for entry in self.entries.values_mut() {
            let is_wanted = match wish(entry) {
                Deferred::Auto => are_few,
                Deferred::Always => false,
                Deferred::Never => true,
            };
            entry.is_inline = is_wanted && entry.tool.fits_inline;
        }
        self.told = self.current();
    }

    fn take_in(&mut self, server: &str, tools: Vec<RemoteTool>) {
        for entry in self.entries.values_mut().filter(|entry| entry.server == server) {
            entry.is_gone = true;
        }
        for tool in tools {
            let Some(name) = self.bind(server, &tool.name) else { continue };
            let tool = Arc::new(tool);
            self.entries
                .entry(name.clone())
                .and_modify(|entry| {
                    entry.is_gone = false;
                    entry.tool = Arc::clone(&tool);
                })
                .or_insert_with(|| Entry {
                    name,
                    server: server.to_owned(),
                    tool: Arc::clone(&tool),
                    is_inline: false,
                    is_gone: false,
                });
        }
    }

    /// The name of a tool; none if the server has used up its names.
    fn bind(&mut self, server: &str, tool: &str) -> Option<String> {
        let key = (server.to_owned(), tool.to_owned());
        if let Some(name) = self.bound.get(&key) {
            return Some(name.clone());
        }
        if self.entries.values().filter(|entry| entry.server == server).count() >= NAMES {
            return None;
        }
        let name = full_name(server, tool, |name| self.entries.contains_key(name));
        if self.entries.contains_key(&name) {
            return None;
        }
        self.bound.insert(key, name.clone());
        Some(name)
    }

    /// The tool of a name, also one that is gone.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name)
    }

    /// Tools that are there and not in the array.
    pub(crate) fn deferred(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| !entry.is_gone && !entry.is_inline)
    }

    /// Tools in the array.
    pub(super) fn inline(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.is_inline)
    }

    /// How many tools of a server are there.
    pub(super) fn count(&self, server: &str) -> usize {
        self.entries.values().filter(|entry| !entry.is_gone && entry.server == server).count()
    }

    /// The deferred tools that fit words best, best first.
    pub(crate) fn search(&self, query: &str, most: usize) -> Vec<&Entry> {
        search::rank(query, self.deferred()).into_iter().take(most).collect()
    }

    /// Names like one that is not there.
    pub(crate) fn alike(&self, name: &str) -> Vec<&str> {
        let there = self.entries.values().filter(|entry| !entry.is_gone);
        search::rank(name, there).into_iter().take(3).map(|entry| entry.name.as_str()).collect()
    }

    /// What came and went since this was last asked.
    pub(super) fn take_changes(&mut self) -> Changes {
        let now = self.current();
        let told = std::mem::replace(&mut self.told, now);
        let mut changes = Changes::default();
        for (name, tool) in &self.told {
            match told.get(name) {
                None => changes.added.push(name.clone()),
                Some(before) if before != tool => changes.changed.push(name.clone()),
                Some(_) => {}
            }
        }
        changes.removed = told.into_keys().filter(|name| !self.told.contains_key(name)).collect();
        changes
    }

    fn current(&self) -> BTreeMap<String, Arc<RemoteTool>> {
        let there = self.entries.values().filter(|entry| !entry.is_gone);
        there.map(|entry| (entry.name.clone(), Arc::clone(&entry.tool))).collect()
    }

    /// The names of deferred tools, one a line; of each server as many as there is room for, and how many more. None if
    /// there are none.
    pub(super) fn listing(&self) -> Option<String> {
        let mut by_server: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for entry in self.deferred() {
            by_server.entry(&entry.server).or_default().push(&entry.name);
        }
        if by_server.is_empty() {
            return None;
        }
        let total: usize = by_server.values().flatten().map(|name| name.len() + 1).sum();
        let share = LISTING_BYTES / by_server.len();
        let mut out = String::new();
        for names in by_server.values() {
            let mut room = if total <= LISTING_BYTES { usize::MAX } else { share };
            let mut shown = 0;
            for name in names {
                // What is left out must be said too.
                if name.len() + 1 + 80 > room {
                    break;
                }
                room = room.saturating_sub(name.len() + 1);
                out.push_str(name);
                out.push('\n');
                shown += 1;
            }
            if shown < names.len() && out.len() + 40 <= LISTING_BYTES {
                out.push_str(&format!("({} more like these)\n", names.len() - shown));
            }
        }
        Some(out.trim_end().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn tool(name: &str, description: &str) -> RemoteTool {
        RemoteTool {
            name: name.to_owned(),
            description: description.to_owned(),
            schema: json!({"type": "object"}),
            claims_read_only: false,
            fits_inline: true,
        }
    }

    fn tools(count: usize) -> Vec<RemoteTool> {
        (0..count).map(|at| tool(&format!("tool_with_quite_a_long_name_{at:04}"), "")).collect()
    }

    fn sealed(servers: &[(&str, usize)], wishes: &[(&str, Deferred)]) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for (server, count) in servers {
            catalogue.update(server, tools(*count));
        }
        let wishes = wishes.iter().map(|(server, wish)| ((*server).to_owned(), *wish)).collect();
        catalogue.seal(&Room { tools: 20, tokens: 10_000, wishes });
        catalogue
    }

    #[test]
    fn few_tools_are_offered_whole_and_many_are_deferred() {
        let few = sealed(&[("a", 10), ("b", 10)], &[]);
        assert_eq!((few.inline().count(), few.listing()), (20, None));
        let many = sealed(&[("a", 10), ("b", 11)], &[]);
        assert_eq!((many.inline().count(), many.deferred().count()), (0, 21));
        let wished =
            sealed(&[("a", 10), ("b", 30), ("c", 2)], &[("b", Deferred::Always), ("c", Deferred::Never)]);
        assert_eq!((wished.inline().count(), wished.deferred().count()), (12, 30));
        let mut large = Catalogue::default();
        large.update("a", vec![tool("t", &"several words ".repeat(40_000))]);
        large.seal(&Room { tools: 20, tokens: 10_000, wishes: BTreeMap::new() });
        assert_eq!(large.inline().count(), 0);
    }

    #[test]
    fn names_do_not_depend_on_who_answers_first() {
        let names = |order: [&str; 2]| {
            let mut catalogue = Catalogue::default();
            for server in order {
                catalogue.update(server, vec![tool("b__c", ""), tool("c", "")]);
            }
            catalogue.seal(&Room { tools: 20, tokens: 10_000, wishes: BTreeMap::new() });
            let entries = catalogue.entries.values();
            entries
                .map(|entry| (entry.name.clone(), entry.server.clone(), entry.tool.name.clone()))
                .collect::<Vec<_>>()
        };
        assert_eq!(names(["a", "a__b"]), names(["a__b", "a"]));
        assert_eq!(names(["a", "a__b"]).len(), 4);
    }

    #[test]
    fn what_came_and_went_is_told_once_and_new_tools_are_deferred() {
        let mut catalogue = sealed(&[("a", 2)], &[]);
        assert!(catalogue.take_changes().is_empty());
        let mut now = tools(1);
        now.push(tool("new", ""));
        catalogue.update("a", now);
        let changes = catalogue.take_changes();
        assert_eq!(changes.added, ["mcp__a__new"]);
        assert_eq!(changes.removed, ["mcp__a__tool_with_quite_a_long_name_0001"]);
        assert!(changes.to_string().contains("mcp__a__new") && catalogue.take_changes().is_empty());
        assert_eq!(catalogue.inline().count(), 2, "the array stays as it was");
        assert_eq!(catalogue.listing().as_deref(), Some("mcp__a__new"));
        catalogue.update("a", vec![tool("new", "other words")]);
        assert_eq!(catalogue.take_changes().changed, ["mcp__a__new"]);
    }

    #[test]
    fn a_server_can_not_use_up_all_memory_with_names() {
        let mut catalogue = sealed(&[("a", 0)], &[]);
        for round in 0..10 {
            let tools = (0..500).map(|at| tool(&format!("t{round}_{at}"), "")).collect();
            catalogue.update("a", tools);
        }
        assert_eq!(catalogue.entries.len(), NAMES);
    }

    #[test]
    fn the_listing_is_bounded_and_counts_what_it_leaves_out() {
        let catalogue = sealed(&[("a", 500), ("b", 500), ("c", 1)], &[]);
        let listing = catalogue.listing().unwrap_or_default();
        assert!(listing.len() <= LISTING_BYTES, "{}", listing.len());
        let (shown, notes): (Vec<&str>, Vec<&str>) =
            listing.lines().partition(|line| line.starts_with("mcp__"));
        let more: usize = notes
            .iter()
            .filter_map(|note| note.trim_start_matches('(').split(' ').next()?.parse::<usize>().ok())
            .sum();
        assert_eq!(shown.len() + more, 1001);
        assert!(shown.iter().any(|name| name.starts_with("mcp__c__")));
        let all = sealed(&[("a", 30)], &[]).listing().unwrap_or_default();
        assert_eq!(all.lines().count(), 30);
    }
}

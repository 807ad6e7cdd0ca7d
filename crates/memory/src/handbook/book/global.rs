//! What holds everywhere: what several projects bear out, or the user said of all of them.

use super::cluster::{Cluster, Effort, clusters};
use super::item::Item;
use crate::handbook::{ProjectKey, Reach};
use crate::store::Output;
use std::collections::{BTreeMap, BTreeSet};

/// Projects that must bear out what holds everywhere.
pub const PROJECTS: usize = 2;
/// Characters from which a project's name is a name, and not a common word.
const NAME: usize = 4;

/// The items of all projects that may be told in any. What a project has since denied does not count for it.
pub(super) fn promoted(items: Vec<Item>, outputs: &[Output], effort: &mut Effort) -> Vec<Cluster> {
    let mut projects: BTreeMap<Option<ProjectKey>, Vec<Item>> = BTreeMap::new();
    for item in items {
        projects.entry(item.project.clone()).or_default().push(item);
    }
    let mut standing: Vec<Item> = Vec::new();
    for items in projects.into_values() {
        let stands = clusters(items, effort).into_iter().filter(|cluster| cluster.opposed_by.is_none());
        standing.extend(stands.flat_map(|cluster| cluster.items));
    }
    standing.sort_by(|a, b| a.order().cmp(&b.order()));
    let names = Names::of(outputs);
    let together = clusters(standing, effort);
    let portable = together.into_iter().filter_map(|mut cluster| {
        let is_global = is_borne_out(&cluster.items);
        // Of words that hold everywhere those are told that name no project.
        cluster.items.retain(|item| item.noted || names.is_free(item));
        (is_global && is_borne_out(&cluster.items)).then_some(cluster.items)
    });
    // What opposes what is told anew: only among themselves.
    let mut items: Vec<Item> = portable.flatten().collect();
    items.sort_by(|a, b| a.order().cmp(&b.order()));
    clusters(items, effort)
}

/// Whether several projects say it, or one says it of all.
pub(super) fn is_borne_out(items: &[Item]) -> bool {
    let projects: BTreeSet<&ProjectKey> = items.iter().filter_map(|item| item.project.as_ref()).collect();
    projects.len() >= PROJECTS || items.iter().any(|item| item.noted || item.reach == Reach::Everywhere)
}

/// What belongs to single projects.
struct Names {
    words: BTreeSet<String>,
    folders: BTreeSet<String>,
}

impl Names {
    fn of(outputs: &[Output]) -> Self {
        let last = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_lowercase();
        let sources = || outputs.iter().map(|output| &output.source);
        let keys = sources().map(|source| last(source.project.shown()));
        let folders: BTreeSet<String> = sources().filter_map(|source| source.cwd.clone()).collect();
        let words = keys.chain(folders.iter().map(|folder| last(folder)));
        let words = words.filter(|word| word.chars().count() >= NAME).collect();
        Self { words, folders }
    }

    /// Whether an item names nothing of a project: neither it, nor a path.
    fn is_free(&self, item: &Item) -> bool {
        let texts = std::iter::once(&item.text).chain(&item.quote);
        texts.into_iter().all(|text| self.is_plain(text, item.reach))
    }

    fn is_plain(&self, text: &str, reach: Reach) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
        let lower = text.to_lowercase();
        let mut words = lower.split(|c: char| !is_part(c)).map(|word| word.trim_matches('.'));
        let names_one = words.any(|word| self.words.contains(word));
        let in_folder = self.folders.iter().any(|folder| folder.len() > 1 && text.contains(folder.as_str()));
        // Words that say "everywhere" may say where in each.
        let has_path = reach == Reach::Project && text.split_whitespace().any(is_path);
        !names_one && !in_folder && !has_path
    }
}

/// Whether a word leads somewhere; `and/or` does not.
fn is_path(word: &str) -> bool {
    let word = word.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '/' | '.' | '~' | '_'));
    let word = word.trim_end_matches('.');
    if word.starts_with(['/', '~']) || word.starts_with("./") || word.starts_with("../") {
        return word.len() > 1;
    }
    word.contains('/') && (word.matches('/').count() > 1 || word.contains('.') || word.ends_with('/'))
}

/// Words by which a global statement is looked for: none of a project.
pub(super) fn is_keyword(word: &str) -> bool {
    !word.contains(['/', '\\'])
}

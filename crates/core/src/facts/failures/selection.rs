//! Selections: which part of a project a run of a check covers.

use super::line_forms::is_test_file;
use crate::shell::clean_path;

/// What an option means for the selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptionMeaning {
    /// Its value names a package, folder or file.
    Target,
    /// Its value selects tests by name.
    Filter,
    /// It or its value changes what is built or selected.
    Variant,
    /// It names one of the parts of a package, without a value.
    Scope,
    /// Its value is the folder that the runner works in.
    Folder,
    /// Its value does not matter.
    Value,
    /// It takes no value and does not matter.
    None,
}

/// The meaning of an option in a list such as `-run:filter -count:value`.
pub(super) fn option_meaning(options: &str, name: &str) -> Option<OptionMeaning> {
    options.split_whitespace().find_map(|entry| {
        let (option, meaning) = entry.rsplit_once(':')?;
        (option == name).then_some(match meaning {
            "target" => OptionMeaning::Target,
            "filter" => OptionMeaning::Filter,
            "variant" => OptionMeaning::Variant,
            "scope" => OptionMeaning::Scope,
            "folder" => OptionMeaning::Folder,
            "value" => OptionMeaning::Value,
            _ => OptionMeaning::None,
        })
    })
}

/// Options that select other tests and take no value.
const SWITCHES: [&str; 4] = ["--all-features", "--no-default-features", "--ignored", "--include-ignored"];

/// Returns true for an option whose value is the next word.
pub(super) fn takes_value(options: &str, word: &str) -> bool {
    option_meaning(options, word).is_some_and(|meaning| match meaning {
        OptionMeaning::None | OptionMeaning::Scope => false,
        OptionMeaning::Variant => !SWITCHES.contains(&word),
        OptionMeaning::Target | OptionMeaning::Filter | OptionMeaning::Folder | OptionMeaning::Value => true,
    })
}

/// Files that stand for the folder that they are in.
const PROJECT_FILES: [&str; 4] = ["tsconfig.json", "Cargo.toml", "pom.xml", "package.json"];

/// Part of a project. Empty lists mean all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Selection {
    /// Packages, folders and files.
    pub(super) targets: Vec<String>,
    /// Parts of test names.
    pub(super) filters: Vec<String>,
    /// Options without which other tests would run.
    pub(super) variants: Vec<String>,
    /// The folder that the runner works in, relative to the step's.
    pub(super) folder: Option<String>,
}

impl Selection {
    /// Takes in arguments.
    pub(super) fn read(&mut self, words: &[&str], options: &str, operands: OptionMeaning) {
        let mut rest = words;
        while let Some((word, behind)) = rest.split_first() {
            rest = behind;
            if *word == "--" || *word == "-" {
                continue;
            }
            if word.starts_with('-') {
                rest = self.read_option(word, behind, options);
            } else {
                self.add(operands, word);
            }
        }
    }

    /// Takes in an option, and returns the words behind it and its value.
    pub(super) fn read_option<'a, 'b>(
        &mut self,
        word: &str,
        behind: &'a [&'b str],
        options: &str,
    ) -> &'a [&'b str] {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        let Some(meaning) = option_meaning(options, name) else { return behind };
        match meaning {
            OptionMeaning::None => behind,
            OptionMeaning::Scope => {
                self.targets.push(name.to_owned());
                behind
            }
            OptionMeaning::Variant if SWITCHES.contains(&name) => {
                self.variants.push(name.to_owned());
                behind
            }
            OptionMeaning::Target
            | OptionMeaning::Filter
            | OptionMeaning::Variant
            | OptionMeaning::Folder
            | OptionMeaning::Value => {
                let (value, behind) = match (value, behind.split_first()) {
                    (Some(value), _) => (value, behind),
                    (None, Some((value, behind))) => (*value, behind),
                    (None, None) => return behind,
                };
                self.add(meaning, value);
                behind
            }
        }
    }

    fn add(&mut self, meaning: OptionMeaning, value: &str) {
        let value = value.trim_matches(['"', '\'']);
        match meaning {
            OptionMeaning::Target => self.targets.push(clean_target(value)),
            OptionMeaning::Filter => {
                let parts = value.split('|').map(|part| part.trim_matches(['^', '$', '(', ')', ' ']));
                self.filters.extend(parts.filter(|part| !part.is_empty()).map(str::to_owned));
            }
            OptionMeaning::Variant => self.variants.push(value.to_owned()),
            OptionMeaning::Folder => {
                let folder = PROJECT_FILES.iter().find_map(|file| value.strip_suffix(file));
                self.folder = Some(folder.unwrap_or(value).to_owned());
            }
            OptionMeaning::Scope | OptionMeaning::Value | OptionMeaning::None => {}
        }
    }

    /// Whether it selects everything that another one does, both seen from their folders.
    pub(super) fn covers(&self, folder: &str, other: &Self, other_folder: &str) -> bool {
        let has_variants = other.variants.iter().all(|variant| {
            self.variants.contains(variant) || self.variants.iter().any(|own| own == "--all-features")
        });
        let has_filters = self.filters.is_empty()
            || (!other.filters.is_empty()
                && other
                    .filters
                    .iter()
                    .all(|filter| self.filters.iter().any(|own| filter.contains(own.as_str()))));
        has_variants && has_filters && self.covers_targets(folder, other, other_folder)
    }

    /// Returns true if both name the same test files, from whatever folder and by whatever runner.
    pub(super) fn names_same_files(&self, other: &Self) -> bool {
        let is_same = |own: &str, its: &str| {
            let ends_with = |long: &str, short: &str| {
                long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
            };
            ends_with(own, its) || ends_with(its, own)
        };
        !other.targets.is_empty()
            && self.filters.is_empty()
            && other
                .targets
                .iter()
                .all(|its| is_test_file(its) && self.targets.iter().any(|own| is_same(own, its)))
    }

    fn covers_targets(&self, folder: &str, other: &Self, other_folder: &str) -> bool {
        if self.targets.is_empty() {
            return is_below(other_folder, folder);
        }
        let others: Vec<String> = match other.targets.as_slice() {
            [] => vec![join(other_folder, "...")],
            targets => targets.iter().map(|target| join(other_folder, target)).collect(),
        };
        let own: Vec<String> = self.targets.iter().map(|target| join(folder, target)).collect();
        others.iter().all(|other| own.iter().any(|own| covers_target(own, other)))
    }

    /// Whether it selects a test by its name and the target that it was reported for.
    pub(super) fn selects(&self, name: &str, target: Option<&str>) -> bool {
        let is_named = self.filters.is_empty()
            || self.filters.iter().any(|filter| name.contains(filter.split('/').next().unwrap_or(filter)));
        let is_in_target = |target: &str| {
            self.targets.iter().any(|own| {
                is_everything(own) || {
                    let own = own.trim_end_matches("/...").trim_start_matches("./");
                    let file = own.split("::").next().unwrap_or(own);
                    target.contains(file) || own.contains(target) || own.contains(name)
                }
            })
        };
        // Without a target of the test, a filter that names it must do.
        let in_targets = self.targets.is_empty()
            || match target {
                Some(target) => is_in_target(target),
                None => !self.filters.is_empty() || is_in_target(name),
            };
        is_named && in_targets
    }
}

fn is_everything(target: &str) -> bool {
    matches!(target, "..." | "./..." | "./")
}

fn clean_target(target: &str) -> String {
    if target.starts_with('-') || target.starts_with('$') {
        return target.to_owned();
    }
    match clean_path(target) {
        path if path.is_empty() => ".".to_owned(),
        path => path,
    }
}

/// A target as seen from where the session started.
fn join(folder: &str, target: &str) -> String {
    if folder.is_empty() || target.starts_with('/') || target.starts_with('-') {
        return target.to_owned();
    }
    clean_path(&format!("{folder}/{target}"))
}

/// Whether a folder is another one or lies in it.
pub(super) fn is_below(folder: &str, above: &str) -> bool {
    above.is_empty()
        || folder.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn covers_target(own: &str, other: &str) -> bool {
    if own == other {
        return true;
    }
    let other = other.trim_end_matches("/...");
    match own.strip_suffix("...") {
        Some(above) => {
            let above = above.trim_end_matches('/');
            is_below(other, above) || is_import_path(other, above)
        }
        // Folders of other runners than Go's include what is below them; a file includes its tests.
        None => {
            other.strip_prefix(own).is_some_and(|rest| rest.starts_with("::"))
                || (!own.contains('*') && is_below(other, own) && !own.is_empty() && !other.contains("..."))
                || (other.len() > 8 && own.len() > 8 && (own.ends_with(other) || other.ends_with(own)))
        }
    }
}

/// Whether a target is a package's import path, which says nothing about its folder.
fn is_import_path(target: &str, above: &str) -> bool {
    let first = target.split('/').next().unwrap_or_default();
    above.is_empty() && first.contains('.') && !first.starts_with('.')
}

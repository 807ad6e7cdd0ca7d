//! The page that lists all keys: `docs/config.md`.

use super::explain::shown;
use super::key::{Key, Scope};
use super::schema::{SCHEMA, variable};
use super::tables;
use std::fmt::Write;
use throughline_core::profile::Profile;
use toml::Table;

const HEAD: &str = include_str!("page.md");

/// The page, in Markdown, from the keys as they are.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut section = None;
    for key in SCHEMA.keys.iter().filter(|key| !key.path.starts_with("profiles.")) {
        let (above, name) = key.path.split_once('.').unwrap_or(("", &key.path));
        if section != Some(above) {
            if section == Some("scribe") {
                page.push_str(
                    "\nAnd all keys of `[model]`, for a model of its own; none of them in a project.\n",
                );
            }
            section = Some(above);
            heading(&mut page, above);
        }
        if above == "scribe" && SCHEMA.find(&tables::join("model", name)).is_some() {
            continue;
        }
        row(&mut page, key, &name.replacen(".*.", ".NAME.", 1));
    }
    page.push_str(
        "\n## `[profiles.NAME]`\n\nThe figures of a profile, with what the built-in ones have. `–`: unset, or the stage does \
         not run. *Switched on*: what a stage has that did not run before. A project may set all of these.\n\n\
         | key | value | ",
    );
    page.push_str(&Profile::NAMES.map(|name| format!("`{name}`")).join(" | "));
    page.push_str(" | switched on | for |\n|---|---|---|---|---|---|---|---|\n");
    let profiles: Vec<Table> = Profile::NAMES
        .iter()
        .filter_map(|name| Profile::named(name).and_then(|profile| Table::try_from(profile).ok()))
        .collect();
    for key in &SCHEMA.keys {
        if let Some(name) = key.path.strip_prefix("profiles.*.") {
            figure(&mut page, key, name, &profiles);
        }
    }
    page
}

fn heading(page: &mut String, section: &str) {
    let title = if section.is_empty() { "Outside of sections".to_owned() } else { format!("`[{section}]`") };
    let _ = write!(
        page,
        "\n## {title}\n\n| key | value | built in | variable | project | for |\n|---|---|---|---|---|---|\n"
    );
}

fn row(page: &mut String, key: &Key, name: &str) {
    let default = key.default.as_ref().map_or_else(|| "–".to_owned(), |value| code(&key.shown(value)));
    let variable = if key.kind.is_scalar() {
        code(&variable(&key.path.replacen(".*.", ".NAME.", 1)))
    } else {
        "–".to_owned()
    };
    let project = match key.scope {
        Scope::Anyone => "yes".to_owned(),
        Scope::User(_) => "no".to_owned(),
        Scope::ProjectTo(value, _) => format!("only {}", code(value)),
        Scope::Stricter(..) => "only stricter".to_owned(),
        Scope::Adds => "adds".to_owned(),
    };
    let kind = cell(&key.kind.describe());
    let _ = writeln!(page, "| `{name}` | {kind} | {default} | {variable} | {project} | {} |", cell(key.doc));
}

fn figure(page: &mut String, key: &Key, name: &str, profiles: &[Table]) {
    let values: Vec<String> = profiles
        .iter()
        .map(|table| {
            tables::get(table, name).map_or_else(|| "–".to_owned(), |value| code(&shown(key, value)))
        })
        .collect();
    let on = key.default.as_ref().map_or_else(|| "–".to_owned(), |value| code(&key.shown(value)));
    let kind = cell(&key.kind.describe());
    let _ = writeln!(page, "| `{name}` | {kind} | {} | {on} | {} |", values.join(" | "), cell(key.doc));
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

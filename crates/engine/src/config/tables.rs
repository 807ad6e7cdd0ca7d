//! Values in nested tables, by dotted place.

use toml::{Table, Value};

/// A place below another.
pub(super) fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}.{name}") }
}

/// The value at a place.
pub(super) fn get<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((name, rest)) => get(table.get(name)?.as_table()?, rest),
        None => table.get(path),
    }
}

/// Puts a value at a place. Whatever is on the way and no table becomes one.
pub(super) fn set(table: &mut Table, path: &str, value: Value) {
    let Some((name, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return;
    };
    let entry = table.entry(name).or_insert_with(|| Value::Table(Table::new()));
    if !entry.is_table() {
        *entry = Value::Table(Table::new());
    }
    if let Value::Table(below) = entry {
        set(below, rest, value);
    }
}

/// Takes a value away.
pub(super) fn remove(table: &mut Table, path: &str) {
    match path.split_once('.') {
        Some((name, rest)) => {
            if let Some(Value::Table(below)) = table.get_mut(name) {
                remove(below, rest);
            }
        }
        None => drop(table.remove(path)),
    }
}

//! What there is in a folder.

use std::fs;
use std::path::Path;

/// Folders and files up to two levels deep, each with its size. Hidden ones and links are left out.
pub(super) fn listing(path: &str, folder: &Path, most: usize) -> String {
    let path = path.trim_end_matches('/');
    let mut lines = Vec::new();
    let total = walk(path, folder, 1, &mut lines);
    let mut out = format!(
        "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items and node_modules:\n{}\t{path}",
        size(total)
    );
    let left = lines.len().saturating_sub(most);
    for (bytes, name) in lines.into_iter().take(most) {
        out.push_str(&format!("\n{}\t{name}", size(bytes)));
    }
    if left > 0 {
        out.push_str(&format!("\n[cut: {left} more are left out]"));
    }
    out
}

/// Adds what is in a folder to the lines, and returns its size.
fn walk(path: &str, folder: &Path, level: usize, lines: &mut Vec<(u64, String)>) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.to_owned(), entry)))
        .filter(|(name, _)| !name.starts_with('.') && name != "node_modules")
        .collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut total = 0;
    for (name, entry) in entries {
        let Ok(meta) = entry.path().symlink_metadata() else { continue };
        let path = format!("{path}/{name}");
        if meta.is_dir() {
            let at = lines.len();
            let mut below = Vec::new();
            let bytes = walk(&path, &entry.path(), level + 1, &mut below);
            lines.insert(at, (bytes, path));
            if level < 2 {
                lines.append(&mut below);
            }
            total += bytes;
        } else if meta.is_file() {
            total += meta.len();
            lines.push((meta.len(), path));
        }
    }
    total
}

fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes}B");
    }
    let kilo = bytes as f64 / 1024.0;
    if kilo < 1024.0 { format!("{kilo:.1}K") } else { format!("{:.1}M", kilo / 1024.0) }
}

//! `@path` in project files: other files that are read with them.

use super::markdown;
use super::read::{Unread, confined, read_text};
use super::sources::AssemblyLimits;
use super::text::shown;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Reads imports. What was read once, by whoever imports it, is not read again.
pub(crate) struct Importer<'a> {
    pub(crate) limits: &'a AssemblyLimits,
    /// The user's home folder, for `@~/…`.
    pub(crate) home: Option<&'a Path>,
    /// Everything that is told already, with links resolved.
    pub(crate) seen: BTreeSet<PathBuf>,
    /// How many were read.
    pub(crate) count: usize,
    /// What people should know.
    pub(crate) warnings: Vec<String>,
}

/// A file whose imports are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Importing<'a> {
    /// Where it is.
    pub(crate) path: &'a Path,
    /// Its text.
    pub(crate) text: &'a str,
    /// Where its imports may be, with links resolved.
    pub(crate) folders: &'a [PathBuf],
}

impl Importer<'_> {
    /// The text with everything that it imports behind it, each under a line that names it; empty if the text is nothing but imports
    /// of what is told anyway.
    pub(crate) fn expand(&mut self, of: Importing<'_>) -> String {
        if self.only_repeats(of) {
            return String::new();
        }
        let mut out = of.text.trim_end().to_owned();
        self.append(of, 1, &mut out);
        out
    }

    fn append(&mut self, of: Importing<'_>, depth: usize, out: &mut String) {
        for mention in mentions(of.text) {
            let name = &of.text[mention];
            let Some((real, text)) = self.read(of, name, depth) else { continue };
            out.push_str("\n\n[imported: ");
            out.push_str(&shown(Path::new(name)));
            out.push_str("]\n");
            out.push_str(text.trim_end());
            self.append(Importing { path: &real, text: &text, folders: of.folders }, depth + 1, out);
        }
    }

    fn read(&mut self, of: Importing<'_>, name: &str, depth: usize) -> Option<(PathBuf, String)> {
        let path = self.resolve(of.path, name)?;
        let real = match confined(&path, of.folders) {
            Ok(real) => real,
            Err(Unread::Missing) => {
                // `@someone` and `@scope/package` are no imports; a document that is not there is a mistake.
                if is_document(name) {
                    self.warn(of.path, name, "there is no such file");
                }
                return None;
            }
            Err(Unread::Refused(why)) => {
                self.warn(of.path, name, &why);
                return None;
            }
        };
        if real.is_dir() || self.seen.contains(&real) {
            return None;
        }
        if depth > self.limits.import_depth {
            self.warn(of.path, name, &format!("imports go {} deep at most", self.limits.import_depth));
            return None;
        }
        if self.count >= self.limits.imports {
            self.warn(of.path, name, &format!("{} imports are read at most", self.limits.imports));
            return None;
        }
        match read_text(&real, self.limits.import_bytes) {
            Ok(file) if file.size > self.limits.import_bytes => {
                let most = self.limits.import_bytes;
                self.warn(of.path, name, &format!("it has {} bytes, over the {most} allowed", file.size));
                None
            }
            Ok(file) => {
                for oddity in &file.oddities {
                    self.warnings.push(format!("{}: {oddity}", shown(&real)));
                }
                self.count += 1;
                self.seen.insert(real.clone());
                Some((real, file.text))
            }
            Err(Unread::Missing) => None,
            Err(Unread::Refused(why)) => {
                self.warn(of.path, name, &why);
                None
            }
        }
    }

    fn warn(&mut self, path: &Path, name: &str, why: &str) {
        self.warnings.push(format!("{}: @{} is not imported: {why}", shown(path), shown(Path::new(name))));
    }

    fn resolve(&self, from: &Path, name: &str) -> Option<PathBuf> {
        match name.strip_prefix("~/") {
            Some(rest) => Some(self.home?.join(rest)),
            None => Some(from.parent()?.join(name)),
        }
    }

    fn only_repeats(&self, of: Importing<'_>) -> bool {
        let mut rest = of.text.to_owned();
        let mut any = false;
        // From the back, so that the places before stay where they are.
        for mention in mentions(of.text).into_iter().rev() {
            let is_told = self
                .resolve(of.path, &of.text[mention.clone()])
                .and_then(|path| path.canonicalize().ok())
                .is_some_and(|real| {
                    self.seen.contains(&real) && Some(&real) != of.path.canonicalize().ok().as_ref()
                });
            if is_told {
                any = true;
                rest.replace_range(mention.start - 1..mention.end, "");
            }
        }
        any && rest.trim().is_empty()
    }
}

/// Documents are named by these endings.
const DOCUMENTS: [&str; 5] = ["md", "mdx", "mdc", "txt", "rst"];

fn is_document(name: &str) -> bool {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| DOCUMENTS.iter().any(|known| known.eq_ignore_ascii_case(extension)))
}

/// A file that speaks of more is not asked about the rest of them.
const MENTIONS: usize = 200;

/// Where paths behind an `@` stand, outside code. The `@` must begin a word.
fn mentions(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (line, is_prose) in markdown::lines(text) {
        if !is_prose || !line.contains('@') {
            continue;
        }
        // Lines are slices of the text: the difference of their addresses is their place.
        let start = line.as_ptr() as usize - text.as_ptr() as usize;
        let line = markdown::without_code_spans(line);
        for (at, _) in line.match_indices('@') {
            let begins =
                line[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'*_".contains(c));
            let word =
                line[at + 1..].split(|c: char| c.is_whitespace() || "`\"'<>()[]{}|*@".contains(c)).next();
            let word = word.unwrap_or_default().trim_end_matches(['.', ',', ';', ':', '!', '?', '_']);
            if begins && !word.is_empty() {
                found.push(start + at + 1..start + at + 1 + word.len());
            }
        }
    }
    found.truncate(MENTIONS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a3_imports_are_words_that_begin_with_an_at_outside_code() {
        let text = "See @docs/a.md, @b.md. (@c.md) me@example.org `@no.md`\n```\n@no.md\n```\n@~/d.md\n- **@e.md** é @f.md";
        let found: Vec<&str> = mentions(text).into_iter().map(|range| &text[range]).collect();
        assert_eq!(found, ["docs/a.md", "b.md", "c.md", "~/d.md", "e.md", "f.md"]);
    }
}

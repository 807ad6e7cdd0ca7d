//! Old content, put away by its hash.

use super::history::Hash;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is held in memory where nothing is kept on disk.
const MAX_IN_MEMORY: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) enum Backups {
    Memory { contents: HashMap<Hash, Arc<[u8]>>, bytes: usize },
    Disk { folder: PathBuf },
}

impl Default for Backups {
    fn default() -> Self {
        Self::Memory { contents: HashMap::new(), bytes: 0 }
    }
}

impl Backups {
    pub(super) fn on_disk(folder: PathBuf) -> Self {
        Self::Disk { folder }
    }

    /// Puts content away, once.
    pub(super) fn put(&mut self, content: &[u8]) -> Result<Hash, String> {
        let hash = Hash::of(content);
        match self {
            Self::Memory { contents, bytes } => {
                if contents.contains_key(&hash) {
                    return Ok(hash);
                }
                if *bytes + content.len() > MAX_IN_MEMORY {
                    return Err(format!(
                        "what was changed before takes {bytes} bytes of memory, and at most {MAX_IN_MEMORY} are kept there"
                    ));
                }
                *bytes += content.len();
                contents.insert(hash, content.into());
            }
            Self::Disk { folder } => {
                let name = name_of(hash);
                let is_there =
                    fs::metadata(folder.join(&name)).is_ok_and(|meta| meta.len() == content.len() as u64);
                if !is_there {
                    throughline_ledger::write_private(folder, &name, content)
                        .map_err(|error| error.to_string())?;
                }
            }
        }
        Ok(hash)
    }

    /// Content that was put away, exactly as it was.
    pub(super) fn get(&self, hash: Hash) -> Result<Arc<[u8]>, String> {
        match self {
            Self::Memory { contents, .. } => {
                contents.get(&hash).cloned().ok_or_else(|| format!("the backup {hash} is not there"))
            }
            Self::Disk { folder } => read(&folder.join(name_of(hash)), hash),
        }
    }
}

fn read(path: &Path, hash: Hash) -> Result<Arc<[u8]>, String> {
    let content =
        fs::read(path).map_err(|error| format!("the backup {} can't be read: {error}", path.display()))?;
    if Hash::of(&content) != hash {
        return Err(format!("the backup {} is damaged", path.display()));
    }
    Ok(content.into())
}

fn name_of(hash: Hash) -> String {
    let hash = hash.to_string();
    format!("backups/{}/{hash}", &hash[..2])
}

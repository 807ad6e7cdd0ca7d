//! Going back to how files were.

use super::history::{Before, Hash, Net};
use super::{Files, FilesError, Kept, MAX_FILE, Old, Write};
use crate::FileDiff;
use crate::workspace::{OpenError, Workspace, read_whole, remove_empty_folder};
use std::path::PathBuf;

/// What came of going back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Files that have their old content again.
    pub restored: Vec<PathBuf>,
    /// Files that were made since, and are gone again.
    pub removed: Vec<PathBuf>,
    /// Files among these that somebody else had changed since, and what became of that.
    pub conflicts: Vec<(PathBuf, String)>,
    /// Files that could not be put back, and why.
    pub failed: Vec<(PathBuf, String)>,
    /// The turn to go back to in order to undo all this; `None` where nothing was changed.
    pub undo: Option<String>,
}

impl Restored {
    fn in_order(&mut self) {
        self.restored.reverse();
        self.removed.reverse();
        self.conflicts.reverse();
        self.failed.reverse();
    }
}

/// What is at a path now.
enum Now {
    Absent,
    File {
        bytes: Vec<u8>,
        mode: u32,
    },
    /// A file that can't be read whole, and why.
    Unknown {
        bytes: u64,
    },
}

impl Now {
    fn at(path: &std::path::Path) -> Result<Self, OpenError> {
        match read_whole(path, MAX_FILE) {
            Ok((bytes, mode)) => Ok(Self::File { bytes, mode }),
            Err(OpenError::Missing { .. }) => Ok(Self::Absent),
            Err(OpenError::TooLarge { bytes, .. }) => Ok(Self::Unknown { bytes }),
            Err(error) => Err(error),
        }
    }

    fn hash(&self) -> Option<Hash> {
        match self {
            Self::File { bytes, .. } => Some(Hash::of(bytes)),
            Self::Absent | Self::Unknown { .. } => None,
        }
    }

    fn old(&self) -> Old<'_> {
        match self {
            Self::Absent => Old::Absent,
            Self::File { bytes, mode } => Old::File { bytes, mode: *mode },
            Self::Unknown { bytes } => Old::Large { bytes: *bytes },
        }
    }

    fn is(&self, then: &Before) -> bool {
        match (self, then) {
            (Self::Absent, Before::Absent { .. }) => true,
            (Self::File { bytes, mode }, Before::Kept { hash, mode: old }) => {
                mode == old && Hash::of(bytes) == *hash
            }
            (Self::Absent, Before::Kept { .. } | Before::Large { .. })
            | (Self::File { .. }, Before::Absent { .. } | Before::Large { .. })
            | (Self::Unknown { .. }, Before::Absent { .. } | Before::Kept { .. } | Before::Large { .. }) => {
                false
            }
        }
    }
}

impl Files {
    /// What became of files by changes since a turn began: what they were then, and what they are now. Files that are the same
    /// again are left out. What is no text is shown as far as it is.
    pub fn changes_since(&self, turn: &str) -> Result<Vec<FileDiff>, FilesError> {
        let kept = self.kept();
        let mut diffs = Vec::new();
        for net in kept.history.since(turn)? {
            let now = match Now::at(&net.path) {
                Ok(now) if now.is(&net.then) => continue,
                Ok(Now::File { bytes, .. }) => String::from_utf8_lossy(&bytes).into_owned(),
                Ok(Now::Absent) => String::new(),
                Ok(Now::Unknown { bytes }) => format!("({bytes} bytes, too large to show)"),
                Err(error) => format!("({error})"),
            };
            let before = match &net.then {
                Before::Absent { .. } => None,
                Before::Kept { hash, .. } => Some(match kept.backups.get(*hash) {
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Err(reason) => format!("({reason})"),
                }),
                Before::Large { bytes } => Some(format!("({bytes} bytes, too large to be put away)")),
            };
            diffs.push(FileDiff { path: net.path, before, after: now });
        }
        Ok(diffs)
    }

    /// Puts every file that was changed since a turn began back to what it was then. Files made since are removed, and folders
    /// made for them that are empty. What is there
    /// now is put away first, also where somebody else wrote it, so that this can be undone as well. One file that can't be put back does
    /// not keep the others from it. Nothing outside of the workspace is touched, and no link is followed.
    pub fn restore(&self, turn: &str, workspace: &Workspace) -> Result<Restored, FilesError> {
        let mut kept = self.kept();
        let nets = kept.history.since(turn)?;
        let mut outcome = Restored::default();
        if nets.is_empty() {
            return Ok(outcome);
        }
        let current = kept.history.turn().to_owned();
        let undo = kept.history.new_turn();
        kept.history.begin(&undo);
        // The last one first: a folder is empty when the file for which it was made goes.
        for net in nets.into_iter().rev() {
            let path = net.path.clone();
            match kept.put_back(net, workspace) {
                Ok(Back::Same) => {}
                Ok(Back::Done { is_removed, conflict }) => {
                    if let Some(conflict) = conflict {
                        outcome.conflicts.push((path.clone(), conflict));
                    }
                    self.seen().forget(&path);
                    if is_removed { outcome.removed.push(path) } else { outcome.restored.push(path) }
                }
                Err(reason) => outcome.failed.push((path, reason)),
            }
        }
        outcome.in_order();
        if !(outcome.restored.is_empty() && outcome.removed.is_empty()) {
            outcome.undo = Some(undo);
        }
        kept.history.begin(&current);
        Ok(outcome)
    }
}

enum Back {
    Same,
    Done { is_removed: bool, conflict: Option<String> },
}

impl Kept {
    fn put_back(&mut self, net: Net, workspace: &Workspace) -> Result<Back, String> {
        let Net { path, then, ours } = net;
        let now = Now::at(&path).map_err(|error| error.to_string())?;
        if now.is(&then) {
            return Ok(Back::Same);
        }
        if !workspace.contains(&path) {
            return Err("it lies outside of the workspace: put it back by hand".to_owned());
        }
        let content = match &then {
            Before::Absent { .. } => None,
            Before::Kept { hash, mode } => Some((self.backups.get(*hash)?, *mode)),
            Before::Large { bytes } => {
                return Err(format!("its {bytes} bytes were too large to be put away"));
            }
        };
        let before = self.put_away(&path, now.old()).map_err(|error| error.to_string())?;
        let conflict = (now.hash() != ours).then(|| match (&now, &before) {
            (Now::Absent, _) => "somebody else had removed it".to_owned(),
            (_, Before::Kept { hash, .. }) => {
                format!("somebody else had changed it; what was there is in the backup {hash}")
            }
            (_, Before::Absent { .. } | Before::Large { .. }) => {
                "somebody else had changed it; what was there was too large to be put away".to_owned()
            }
        });
        let write = Write {
            path: &path,
            before,
            after: content.as_ref().map(|(bytes, _)| &**bytes),
            mode: content.as_ref().map(|(_, mode)| *mode),
        };
        self.write(write).map_err(|error| error.to_string())?;
        if let Before::Absent { folders } = then {
            let mut made = path.ancestors().skip(1).take(folders);
            // One that holds something else stays, and those above it.
            made.all(remove_empty_folder);
        }
        Ok(Back::Done { is_removed: content.is_none(), conflict })
    }
}

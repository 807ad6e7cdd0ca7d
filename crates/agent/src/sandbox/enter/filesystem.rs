//! Landlock: what can be read and written.

use super::{Broken, CagePolicy, Net, OLDEST_LANDLOCK, Walls};
use crate::sandbox::policy::MountKind;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use std::path::{Path, PathBuf};

/// The newest version whose effects were tried. What the kernel does not have of it is left out, down to
/// [`OLDEST_LANDLOCK`].
const NEWEST: ABI = ABI::V7;
/// Devices that hold nothing and harm nobody.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Restricts this process; the version that does it.
pub(super) fn restrict(cage: &CagePolicy, net: Net) -> Result<u32, Broken> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(NEWEST)))
        .map_err(Broken::at("Landlock"))?;
    match net {
        Net::Denied => {
            ruleset = ruleset.handle_access(AccessNet::from_all(NEWEST)).map_err(Broken::at("Landlock"))?
        }
        Net::Open | Net::Private => {}
    }
    let mut rules = Rules { created: ruleset.create().map_err(Broken::at("Landlock"))? };

    let mut hidden: Vec<&Path> = match cage.walls {
        // They are covered already.
        Walls::Namespaces | Walls::Bubblewrap => Vec::new(),
        Walls::Absent => hidden(cage).collect(),
    };
    hidden.extend(cage.unreadable.iter().map(PathBuf::as_path));
    if cage.readable.iter().any(|path| path == Path::new("/")) {
        rules.allow(Path::new("/"), AccessFs::ReadDir.into())?;
    }
    for path in &cage.readable {
        rules.allow_reading(path, &hidden)?;
    }
    for path in &cage.writable {
        rules.allow(path, AccessFs::from_all(NEWEST))?;
    }
    for device in DEVICES.map(Path::new).into_iter().filter(|device| device.exists()) {
        rules.allow(device, AccessFs::from_file(NEWEST))?;
    }
    match cage.walls {
        // A private one is mounted there.
        Walls::Namespaces | Walls::Bubblewrap if Path::new("/dev/shm").is_dir() => {
            rules.allow(Path::new("/dev/shm"), AccessFs::from_all(NEWEST))?;
        }
        Walls::Namespaces | Walls::Bubblewrap | Walls::Absent => {}
    }

    let status = rules.created.restrict_self().map_err(Broken::at("Landlock"))?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        LandlockStatus::NotEnabled | LandlockStatus::NotImplemented => 0,
    };
    if abi < OLDEST_LANDLOCK || !status.no_new_privs {
        let why = format!("version {abi} is too old, it takes {OLDEST_LANDLOCK}");
        return Err(Broken { what: "Landlock", why });
    }
    Ok(abi)
}

fn hidden(cage: &CagePolicy) -> impl Iterator<Item = &Path> {
    cage.mounts.iter().filter_map(|mount| match mount.kind {
        MountKind::HiddenFile | MountKind::HiddenFolder => Some(mount.path.as_path()),
        MountKind::Anchor | MountKind::ReadOnly => None,
    })
}

struct Rules {
    created: RulesetCreated,
}

impl Rules {
    /// Permits something for all that lies below a path.
    fn allow(&mut self, path: &Path, access: BitFlags<AccessFs>) -> Result<(), Broken> {
        let fd = PathFd::new(path).map_err(Broken::at("Landlock"))?;
        let access = if path.is_dir() { access } else { access & AccessFs::from_file(NEWEST) };
        (&mut self.created).add_rule(PathBeneath::new(fd, access)).map_err(Broken::at("Landlock"))?;
        Ok(())
    }

    /// Permits to read and run everything below a path but what is hidden. A permission can't be taken back further down, so
    /// the neighbours of what is hidden are permitted one by one. Links are not followed: one may lead to what is hidden, and
    /// what it leads to is permitted where it lies.
    fn allow_reading(&mut self, path: &Path, hidden: &[&Path]) -> Result<(), Broken> {
        if hidden.contains(&path) {
            return Ok(());
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(path)) {
            return self.allow(path, AccessFs::from_read(NEWEST));
        }
        for entry in neighbours(path) {
            // What vanishes meanwhile needs no rule, and what can't be opened can't be read.
            if entry.exists() {
                self.allow_reading(&entry, hidden)?;
            }
        }
        Ok(())
    }
}

/// What lies in a folder, but for links. A folder that can't be listed has nothing to permit.
fn neighbours(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = folder.read_dir() else { return Vec::new() };
    let real = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    real.map(|entry| entry.path()).collect()
}

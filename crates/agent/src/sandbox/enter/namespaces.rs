//! Namespaces of the command's own: mounts that protect and hide, and a network of one.

use super::{Broken, CagePolicy, Net, loopback};
use crate::sandbox::policy::{Mount, MountKind};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_bind_recursive, mount_change, mount_remount,
};
use rustix::thread::UnshareFlags;
use std::ffi::{CStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Kinds of file systems that may not answer.
const REMOTE: [&[u8]; 7] = [b"autofs", b"nfs", b"cifs", b"smb", b"fuse", b"9p", b"ceph"];

/// Enters them and mounts what the cage says.
pub(super) fn enter(cage: &CagePolicy) -> Result<Net, Broken> {
    let mut flags = UnshareFlags::NEWNS | UnshareFlags::NEWPID;
    if !cage.network {
        flags |= UnshareFlags::NEWNET;
    }
    // Root keeps its own users: in a namespace it could not touch files of others any more.
    if unshare(flags).is_err() {
        enter_with_users(flags)?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private).map_err(Broken::at("keeping mounts to itself"))?;
    for root in &cage.writable {
        bind(root, root).map_err(|broken| broken.on(root))?;
    }
    seal(&cage.writable);
    for mount in &cage.mounts {
        apply(mount).map_err(|broken| broken.on(&mount.path))?;
    }
    if Path::new("/dev/shm").is_dir() {
        empty_folder(Path::new("/dev/shm"), MountFlags::empty(), c"mode=1777")?;
    }
    if cage.network {
        return Ok(Net::Open);
    }
    loopback::bring_up().map_err(Broken::at("making a loopback device"))?;
    Ok(Net::Private)
}

/// Shows only the processes of the namespace in `/proc`. Where the kernel refuses it, in some containers, the old one stays: then
/// others are seen, but can't be reached.
pub(super) fn mount_proc() {
    let harmless = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    let _ = mount("proc", Path::new("/proc"), "proc", harmless, c"");
}

#[expect(
    deprecated,
    reason = "the safe form; its danger is to threads that share open files, and neither is there"
)]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}

/// The same in a user namespace, in which the user stays who they are.
fn enter_with_users(flags: UnshareFlags) -> Result<(), Broken> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(flags | UnshareFlags::NEWUSER).map_err(Broken::at("making namespaces"))?;
    let write = |file: &str, text: String| std::fs::write(file, text).map_err(Broken::at("mapping the user"));
    write("/proc/self/setgroups", "deny".to_owned())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Makes all mounts read-only but the writable ones. Landlock keeps commands from writing already; this keeps them also from
/// changing modes, owners, times and attributes, which Landlock does not know. A mount that can't be changed, because
/// another covers it, is left as it is.
fn seal(writable: &[PathBuf]) {
    let listed = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    for line in listed.split(|byte| *byte == b'\n') {
        let Some(there) = Mounted::parse(line) else { continue };
        let is_open = writable.iter().any(|root| there.path.starts_with(root));
        if !is_open && !there.is_remote {
            let _ = mount_remount(&there.path, there.flags | MountFlags::BIND | MountFlags::RDONLY, c"");
        }
    }
}

/// A line of `mountinfo`.
struct Mounted {
    path: PathBuf,
    /// What is forbidden there. It must stay so: a user namespace may not loosen it.
    flags: MountFlags,
    /// To look at it may take for ever.
    is_remote: bool,
}

impl Mounted {
    /// `36 35 98:0 / /mnt rw,noatime master:1 - ext4 /dev/root rw`: the fifth word is where, the sixth how, the first one
    /// behind the dash what.
    fn parse(line: &[u8]) -> Option<Self> {
        let mut words = line.split(|byte| *byte == b' ');
        let path = PathBuf::from(OsString::from_vec(unescape(words.nth(4)?)));
        let options = std::str::from_utf8(words.next()?).ok()?;
        let kind = words.skip_while(|word| *word != b"-").nth(1)?;
        let known = options.split(',').filter_map(|option| match option {
            "nosuid" => Some(MountFlags::NOSUID),
            "nodev" => Some(MountFlags::NODEV),
            "noexec" => Some(MountFlags::NOEXEC),
            "noatime" => Some(MountFlags::NOATIME),
            "nodiratime" => Some(MountFlags::NODIRATIME),
            "relatime" => Some(MountFlags::RELATIME),
            _ => None,
        });
        let flags = known.fold(MountFlags::empty(), MountFlags::union);
        Some(Self { path, flags, is_remote: REMOTE.iter().any(|name| kind.starts_with(name)) })
    }
}

/// Blanks and the like are written as a backslash and three octal digits.
fn unescape(word: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = word;
    while let Some((first, after)) = rest.split_first() {
        let digits =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

fn apply(Mount { path, kind }: &Mount) -> Result<(), Broken> {
    match kind {
        MountKind::Anchor => bind(path, path),
        MountKind::ReadOnly => bind(path, path).and_then(|()| read_only(path)),
        MountKind::HiddenFolder => empty_folder(path, MountFlags::RDONLY, c"mode=0755,size=4k"),
        MountKind::HiddenFile => bind(Path::new("/dev/null"), path),
    }
}

fn bind(from: &Path, to: &Path) -> Result<(), Broken> {
    mount_bind_recursive(from, to).map_err(Broken::at("mounting"))
}

/// What was forbidden on the file system stays forbidden: a user namespace may not loosen it.
fn read_only(path: &Path) -> Result<(), Broken> {
    let now = statvfs(path).map_err(Broken::at("looking at a mount"))?.f_flag;
    let kept = [
        (StatVfsMountFlags::NOSUID, MountFlags::NOSUID),
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let mut flags = MountFlags::BIND | MountFlags::RDONLY;
    for (there, keep) in kept {
        if now.contains(there) {
            flags |= keep;
        }
    }
    mount_remount(path, flags, c"").map_err(Broken::at("mounting read-only"))
}

fn empty_folder(at: &Path, flags: MountFlags, data: &CStr) -> Result<(), Broken> {
    let harmless = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", at, "tmpfs", harmless | flags, data).map_err(Broken::at("mounting an empty folder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_mountinfo_are_read() {
        let line = br"36 35 98:0 /mnt1 /mnt/with\040blank rw,nosuid,relatime shared:1 master:2 - ext3 /dev/root rw,errors=continue";
        let there = Mounted::parse(line).unwrap();
        assert_eq!(there.path, Path::new("/mnt/with blank"));
        assert_eq!(there.flags, MountFlags::NOSUID | MountFlags::RELATIME);
        assert!(!there.is_remote);
        assert!(Mounted::parse(b"40 35 0:4 / /far rw - nfs4 host:/ rw").unwrap().is_remote);
        assert!(Mounted::parse(b"").is_none() && Mounted::parse(b"1 2 3 4 / rw").is_none());
    }

    #[test]
    fn only_whole_escapes_are_read() {
        assert_eq!(unescape(br"a\134b\9"), br"a\b\9");
        assert_eq!(unescape(br"\04"), br"\04");
    }
}

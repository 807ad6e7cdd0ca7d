//! seccomp: what can't be asked of the kernel.
//!
//! A list of what is forbidden, not of what is permitted: commands are any programs at all. It closes what the file system's
//! rules do not reach: other processes, the kernel itself, ways to loosen the cage, sockets.

use super::{Broken, CagePolicy, Net};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter,
};
use std::collections::BTreeMap;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// Refused with "operation not permitted".
const FORBIDDEN: &[i64] = &[
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    // Files by handle: past all rules on paths.
    libc::SYS_open_by_handle_at,
    // The kernel.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_vhangup,
    // Clocks and names of the machine.
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    // Keys.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // By number, the same on all processors: newer than the names.
    SYS_QUOTACTL_FD,
    SYS_LSM_SET_SELF_ATTR,
    SYS_OPEN_TREE_ATTR,
];

const SYS_QUOTACTL_FD: i64 = 443;
const SYS_LSM_SET_SELF_ATTR: i64 = 460;
const SYS_OPEN_TREE_ATTR: i64 = 467;

/// The same, where the processor has them.
#[cfg(target_arch = "x86_64")]
const FORBIDDEN_HERE: &[i64] = &[libc::SYS_kexec_file_load, libc::SYS_iopl, libc::SYS_ioperm];
#[cfg(not(target_arch = "x86_64"))]
const FORBIDDEN_HERE: &[i64] = &[];

/// Refused with "not implemented": programs then take the older way, which can be judged by its arguments.
const MISSING: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_setup, libc::SYS_io_uring_enter, libc::SYS_io_uring_register];

/// Numbers that belong to no call that is known here. What a newer kernel has under them is missing until somebody has looked at it.
const UNKNOWN: std::ops::RangeInclusive<i64> = 470..=511;

/// Kinds of new processes that bring namespaces.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];

/// Orders to a terminal that type into it.
const TYPING: [u64; 2] = [0x5412 /* TIOCSTI */, 0x541C /* TIOCLINUX */];

/// On x86-64 every call has a second number, of a variant with short pointers.
#[cfg(target_arch = "x86_64")]
const SECOND_NUMBERS: Option<i64> = Some(0x4000_0000);
#[cfg(not(target_arch = "x86_64"))]
const SECOND_NUMBERS: Option<i64> = None;

/// Restricts this process.
pub(super) fn restrict(cage: &CagePolicy, net: Net) -> Result<(), Broken> {
    let mut rules: Rules = FORBIDDEN.iter().chain(FORBIDDEN_HERE).map(|call| (*call, Vec::new())).collect();
    let has = |flag: i32| {
        let flag = flag.unsigned_abs().into();
        rule(vec![condition(0, SeccompCmpOp::MaskedEq(flag), flag)?])
    };
    // `CLONE_NEWUSER` and the others have no sign bit set.
    rules.insert(libc::SYS_clone, NAMESPACES.into_iter().map(has).collect::<Result<_, _>>()?);
    let types = |order: u64| rule(vec![condition(1, SeccompCmpOp::Eq, order)?]);
    rules.insert(libc::SYS_ioctl, TYPING.into_iter().map(types).collect::<Result<_, _>>()?);
    rules.insert(libc::SYS_socket, none_but(&families(cage, net))?);
    rules.insert(libc::SYS_socketpair, none_but(&[libc::AF_UNIX])?);
    install(rules, libc::EPERM)?;
    install(MISSING.iter().copied().chain(UNKNOWN).map(|call| (call, Vec::new())).collect(), libc::ENOSYS)
}

/// The kinds of sockets that can be made.
fn families(cage: &CagePolicy, net: Net) -> Vec<i32> {
    let mut families = match net {
        Net::Open | Net::Private => vec![libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK],
        Net::Denied => Vec::new(),
    };
    if cage.unix_sockets {
        families.push(libc::AF_UNIX);
    }
    families
}

/// Matches a first argument that is none of these. No rules at all match every call.
fn none_but(families: &[i32]) -> Result<Vec<SeccompRule>, Broken> {
    if families.is_empty() {
        return Ok(Vec::new());
    }
    let other = |family: &i32| condition(0, SeccompCmpOp::Ne, family.unsigned_abs().into());
    Ok(vec![rule(families.iter().map(other).collect::<Result<_, _>>()?)?])
}

fn condition(argument: u8, operation: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Broken> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operation, value).map_err(Broken::at("seccomp"))
}

fn rule(conditions: Vec<SeccompCondition>) -> Result<SeccompRule, Broken> {
    SeccompRule::new(conditions).map_err(Broken::at("seccomp"))
}

fn install(mut rules: Rules, errno: i32) -> Result<(), Broken> {
    if let Some(offset) = SECOND_NUMBERS {
        let second: Vec<_> = rules.iter().map(|(call, rules)| (call + offset, rules.clone())).collect();
        rules.extend(second);
    }
    let refusal = SeccompAction::Errno(errno.unsigned_abs());
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(Broken::at("seccomp"))?;
    let filter =
        SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).map_err(Broken::at("seccomp"))?;
    let program = BpfProgram::try_from(filter).map_err(Broken::at("seccomp"))?;
    apply_filter(&program).map_err(Broken::at("seccomp"))
}

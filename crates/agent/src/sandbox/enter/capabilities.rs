//! What root keeps of its powers inside the cage.

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

/// What programs that run as root expect to do to files and processes of their own.
const KEPT: CapabilitySet = CapabilitySet::CHOWN
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::FSETID)
    .union(CapabilitySet::KILL)
    .union(CapabilitySet::SETGID)
    .union(CapabilitySet::SETUID)
    .union(CapabilitySet::SETPCAP);

/// Takes all other powers from the programs that this process becomes. Who has none, or may not give any away, has nothing
/// to lose: a user's programs get none by `no_new_privs`.
pub(super) fn drop_most() {
    for one in CapabilitySet::all().difference(KEPT).iter() {
        let _ = remove_capability_from_bounding_set(one);
    }
}

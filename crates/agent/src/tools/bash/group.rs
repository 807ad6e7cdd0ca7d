//! The processes of a command.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process_group};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::process::Child;

/// How a group is told to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blow {
    /// It may tidy up.
    Ask,
    /// It is over.
    Kill,
}

/// A command and all that it started, but for what left its group on purpose. Clones are the same group.
#[derive(Clone, Debug)]
pub(super) struct Group {
    leader: Arc<Mutex<Leader>>,
}

#[derive(Debug)]
struct Leader {
    id: Option<i32>,
    /// Its id is not somebody else's yet: it was not waited for.
    is_ours: bool,
}

impl Group {
    pub(super) fn of(child: &Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: Arc::new(Mutex::new(Leader { id, is_ours: true })) }
    }

    /// The command was waited for; what it started may go on.
    pub(super) fn leader_ended(&self) {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).is_ours = false;
    }

    /// Nobody is left: the id may belong to somebody else soon.
    pub(super) fn release(&self) {
        self.leader.lock().unwrap_or_else(PoisonError::into_inner).id = None;
    }

    /// Sends a signal to all of it.
    pub(super) fn strike(&self, blow: Blow) {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(pid) = leader.id.and_then(Pid::from_raw) else { return };
        let signal = match blow {
            Blow::Ask => Signal::TERM,
            Blow::Kill => Signal::KILL,
        };
        // A command that was started a moment ago may not have its group yet.
        if kill_process_group(pid, signal).is_err() && leader.is_ours {
            let _ = kill_process(pid, signal);
        }
    }

    /// Whether somebody is left.
    pub(super) fn is_alive(&self) -> bool {
        let leader = self.leader.lock().unwrap_or_else(PoisonError::into_inner);
        let there = leader.id.filter(|id| {
            let pid = Pid::from_raw(*id);
            pid.is_some_and(|pid| test_kill_process_group(pid).is_ok())
        });
        there.is_some_and(|id| !all_are_dead(id))
    }
}

/// Whether all that is left of a group are processes that have ended and that nobody waits for: the first process of a
/// container often does not. Where it can't be seen it is not so.
fn all_are_dead(group: i32) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else { return false };
    let stats = entries.flatten().filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let mut states = stats.filter_map(|stat| state_in(&stat, group)).peekable();
    states.peek().is_some() && states.all(|state| state == "Z" || state == "X")
}

/// The state of a process of a group, by its `stat`: `42 (name) S 1 42 …`, where the name can be anything.
fn state_in(stat: &str, group: i32) -> Option<String> {
    let (_, rest) = stat.rsplit_once(") ")?;
    let mut words = rest.split(' ');
    let state = words.next()?;
    let of: i32 = words.nth(1)?.parse().ok()?;
    (of == group).then(|| state.to_owned())
}

#[cfg(test)]
mod tests {
    use super::state_in;

    #[test]
    fn the_state_is_found_behind_any_name() {
        assert_eq!(state_in("42 (sleep) S 1 40 40 0", 40).as_deref(), Some("S"));
        assert_eq!(state_in("42 (a) b) Z 1 40 40 0", 40).as_deref(), Some("Z"));
        assert_eq!(state_in("42 (sleep) S 1 41 40 0", 40), None);
        assert_eq!(state_in("", 40), None);
    }
}

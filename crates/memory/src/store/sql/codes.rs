//! States as they are stored: small numbers, each with one meaning for ever.

use crate::notes::Author;
use crate::store::{JobKind, JobState, RunOutcome};
use throughline_core::MemoryMode;

/// Stored as a number.
pub(in crate::store) trait Coded: Copy {
    /// All numbers: what the tables allow.
    #[cfg(test)]
    const CODES: &'static [i16];

    /// The number.
    fn code(self) -> i16;

    /// What a number means; `None` if nothing.
    fn from_code(code: i16) -> Option<Self>;
}

macro_rules! coded {
    ($type:ty { $($variant:ident = $code:literal),+ $(,)? }) => {
        impl Coded for $type {
            #[cfg(test)]
            const CODES: &'static [i16] = &[$($code),+];

            fn code(self) -> i16 {
                match self { $(Self::$variant => $code),+ }
            }

            fn from_code(code: i16) -> Option<Self> {
                match code { $($code => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

coded!(JobKind { Extract = 0, Consolidate = 1 });
coded!(JobState { Pending = 0, Running = 1, Done = 2, Waiting = 3, Failed = 4 });
coded!(MemoryMode { Enabled = 0, Disabled = 1, Polluted = 2 });
coded!(RunOutcome { Done = 0, Nothing = 1 });
coded!(Author { Model = 0, Offline = 1 });

/// The numbers by name, for statements; the tests below hold them to the codes.
pub(super) const EXTRACT: i16 = 0;
pub(super) const CONSOLIDATE: i16 = 1;
pub(super) const PENDING: i16 = 0;
pub(super) const RUNNING: i16 = 1;
pub(super) const DONE: i16 = 2;
pub(super) const WAITING: i16 = 3;
pub(super) const FAILED: i16 = 4;
pub(super) const ENABLED: i16 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Debug;

    fn read_back<C: Coded + Debug + PartialEq>() {
        for (at, code) in C::CODES.iter().enumerate() {
            assert_eq!(usize::try_from(*code), Ok(at), "the tables check for a range");
            assert_eq!(C::from_code(*code).map(C::code), Some(*code));
        }
        assert!(C::from_code(-1).is_none() && C::from_code(C::CODES.len() as i16).is_none());
    }

    #[test]
    fn every_state_reads_back_and_nothing_else_does() {
        read_back::<JobKind>();
        read_back::<JobState>();
        read_back::<MemoryMode>();
        read_back::<RunOutcome>();
        read_back::<Author>();
    }

    #[test]
    fn statements_mean_the_same_numbers() {
        assert_eq!([JobKind::Extract, JobKind::Consolidate].map(Coded::code), [EXTRACT, CONSOLIDATE]);
        let states =
            [JobState::Pending, JobState::Running, JobState::Done, JobState::Waiting, JobState::Failed];
        assert_eq!(states.map(Coded::code), [PENDING, RUNNING, DONE, WAITING, FAILED]);
        assert_eq!(MemoryMode::Enabled.code(), ENABLED);
    }
}

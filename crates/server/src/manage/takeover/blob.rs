//! The opaque item that stands for a summary of ours in a client's history, and what it stands for.
//!
//! `throughline.v1.<session>.<digest>.<check>`: the session in whose ledger the text is, the text's own hash, and a check over
//! both, so that what was damaged on the way is told from what is not ours. A text is only taken for the one that is meant if its
//! hash says so.

use throughline_core::SessionId;

/// How every version begins.
pub(super) const MARK: &str = "throughline.v";
const VERSION: &str = "throughline.v1";
/// Characters of the hash of a text, and of the check.
const DIGEST: usize = 32;
const CHECK: usize = 12;

/// What a blob of ours names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Blob {
    pub(super) session: String,
    pub(super) digest: String,
}

/// What an opaque string is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// Somebody else's.
    Foreign,
    /// Ours.
    Ours(Blob),
    /// Ours once: damaged, or of a version that is not known here.
    Damaged,
}

impl Blob {
    /// For a text in the ledger of a session.
    pub(super) fn of(session: &SessionId, text: &str) -> Self {
        Self { session: session.as_str().to_owned(), digest: digest(text) }
    }

    /// As clients keep it.
    pub(super) fn write(&self) -> String {
        let named = format!("{VERSION}.{}.{}", self.session, self.digest);
        let check = hex(&named, CHECK);
        format!("{named}.{check}")
    }

    pub(super) fn read(text: &str) -> Read {
        if !text.starts_with(MARK) {
            return Read::Foreign;
        }
        let Some((named, check)) = text.rsplit_once('.') else { return Read::Damaged };
        let mut parts = named.strip_prefix(VERSION).unwrap_or_default().split('.').skip(1);
        match (parts.next(), parts.next(), parts.next()) {
            (Some(session), Some(digest), None) if hex(named, CHECK) == check => {
                Read::Ours(Self { session: session.to_owned(), digest: digest.to_owned() })
            }
            (_, _, _) => Read::Damaged,
        }
    }

    /// Whether this is the text that is meant.
    pub(super) fn means(&self, text: &str) -> bool {
        digest(text) == self.digest
    }
}

fn digest(text: &str) -> String {
    hex(text, DIGEST)
}

fn hex(text: &str, length: usize) -> String {
    blake3::hash(text.as_bytes()).to_hex().chars().take(length).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_blob_is_small_and_says_whose_it_is() {
        let session = SessionId::new("0b6f8f2e-4c0e-5a3e-9a39-0d9f7a3f3a11");
        let blob = Blob::of(&session, "The tests pass.");
        let text = blob.write();
        assert!(text.len() < 120, "{text}");
        assert_eq!(Blob::read(&text), Read::Ours(blob.clone()));
        assert!(blob.means("The tests pass.") && !blob.means("The tests fail."));
        assert_eq!(Blob::read("gAAAAABpM0Yj-="), Read::Foreign);
        assert_eq!(Blob::read(&text.replace("v1", "v2")), Read::Damaged);
    }

    proptest! {
        #[test]
        fn what_was_changed_is_never_taken_for_ours(at in 0usize..100, with in "[a-z0-9.]") {
            let blob = Blob::of(&SessionId::new("0b6f8f2e-4c0e-5a3e-9a39-0d9f7a3f3a11"), "text");
            let mut text = blob.write();
            let at = at % text.len();
            text.replace_range(at..=at, &with);
            match Blob::read(&text) {
                Read::Ours(read) => prop_assert!(text == blob.write() && read == blob),
                Read::Foreign | Read::Damaged => {}
            }
        }

        #[test]
        fn any_text_is_something(text in "(throughline\\.v1)?\\PC{0,40}") {
            prop_assert!(!matches!(Blob::read(&text), Read::Ours(_)));
        }
    }
}

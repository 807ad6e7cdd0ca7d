//! A folder's past: every change a commit of a bare repository of our own beside it.
//!
//! Git is run as a program, by one `git fast-import` for a change; there is no index and no working tree, nothing of the user's settings reaches
//! it, and nothing in the repository is run.

mod commits;
mod git;

pub(crate) use commits::{Commit, Draft, Step, When};
pub(crate) use git::{BRANCH, Dates, Refusal, Repository, is_id, quoted};

//! What the agent may do, and who decides.
//!
//! A call says what it would do ([`Access`](crate::Access)); a [`Policy`] decides: allow, ask the [`Approver`], or deny. What the
//! user answers can be remembered as a [`Rule`] ([`Approvals`]).
//!
//! Architecture invariant: **it fails closed**. What can't be judged is asked; who can't be asked refuses; a file of approvals that
//! can't be read permits nothing; a rule that can't be read is an error.

mod approvals;
mod approver;
mod command;
mod command_pattern;
mod describe;
mod glob;
mod guard;
mod links;
mod named;
mod offer;
mod path_pattern;
mod policy;
mod rule;
mod servers;
mod verdict;

pub use approvals::{Approvals, ApprovalsError};
pub use approver::{Approval, Approver, Ask, Headless};
pub(crate) use command::only_reads;
pub use describe::{describe, describe_network};
pub use policy::{Policy, PolicyInput, Rules, RulesError};
pub use rule::{Rule, RuleError};
pub use servers::ServerApprovals;
pub use throughline_engine::config::PermissionMode as Mode;
pub use verdict::{Offer, Question, Verdict};

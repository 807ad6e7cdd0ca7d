//! The same request by two ways, with the same fault planned: directly to a provider, and by way of whatever stands before it.
//!
//! - [`Provider`] plays an [`Act`], bytes and an end, to the request that names it. It writes down what arrived.
//! - [`Caller`] sends a [`Letter`] in a [`Manner`] and says what became of it: an [`Outcome`], to the byte.
//! - [`Case`] is one planned request, drawn by a [`Dice`]; [`Talk`] is a conversation that grows.
//! - [`run`] sends many, directly and through, and says where the two differ.

mod answers;
mod caller;
mod case;
mod dice;
mod judge;
mod provider;
mod run;
mod talk;

pub use answers::Answers;
pub use caller::{Caller, How, Leave, Letter, Manner, Outcome};
pub use case::{Case, Content, INJECT};
pub use dice::Dice;
pub use judge::{differs, is_intact_or_valid};
pub use provider::{Act, Arrived, End, Provider, TRIAL};
pub use run::{Report, Trial, run};
pub use talk::Talk;

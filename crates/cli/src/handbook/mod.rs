//! What the commands around handbooks share: where the store is, who works, and how they are told to stop.

mod crew;
mod place;
mod stop;

pub(crate) use crew::{Hands, ScribeArg, crew_of, hire, start_work};
pub(crate) use place::{StoreFlag, StorePlace, store_variable};
pub(crate) use stop::stop_on_signals;

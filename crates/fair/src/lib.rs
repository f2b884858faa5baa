#![doc = include_str!("../README.md")]

mod budget;
mod future_set;
mod log_rate;
mod most;
mod network;
mod owner;
mod queue;
mod share;
#[cfg(feature = "slots")]
mod slots;
mod table;

pub use budget::{Budget, OverBudget, Reservation};
pub use future_set::FutureSet;
pub use log_rate::{LeftOut, LogRate};
pub use most::holder_of_most;
pub use network::Network;
pub use owner::Owner;
pub use queue::{FairQueue, Pushed, Ticket};
pub use share::{is_within_share, may_take_slot};
#[cfg(feature = "slots")]
pub use slots::{Slot, SlotQueue};
pub use table::{FairTable, Largest};

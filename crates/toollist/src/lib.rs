#![doc = include_str!("../README.md")]

mod change;
mod command;
mod list;
mod policy;
mod selection;

pub use change::Change;
pub use command::{Batch, Command, Rejected};
pub use list::{Registration, ToolList};
pub use policy::{Mode, Policy};
pub use selection::{MAX_LISTED_NAMES, Selection};

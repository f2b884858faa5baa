#![doc = include_str!("../README.md")]

mod clock;
mod committed;
mod json_peer;
mod log;
mod patience;
mod seen;
mod tier;

pub use clock::{StoppedClock, run_paused};
pub use committed::assert_committed;
pub use json_peer::JsonPeer;
pub use log::Log;
pub use patience::{eventually, holds_in_time, in_time, patience, until};
pub use seen::Seen;
pub use tier::{judged, tier};

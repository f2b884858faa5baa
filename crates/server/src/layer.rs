//! Layers that any server may want.

pub mod limit;
pub mod timeout;
#[cfg(feature = "tower")]
pub mod tower;
pub mod trace;

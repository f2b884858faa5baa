//! Layers that any server may want.

pub mod limit;
pub mod timeout;
pub mod trace;

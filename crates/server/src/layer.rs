//! Layers that any server may want.

pub mod admission;
pub mod lazy_tools;
pub mod limit;
#[cfg(feature = "tracing-layer")]
pub(crate) mod log_layer;
pub mod timeout;
pub mod tool_names;
pub mod tools;
#[cfg(feature = "tower")]
pub mod tower;
pub mod trace;

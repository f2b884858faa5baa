//! The tests of this crate: each module is one topic, and all are one program, so that they are linked once.

mod conversion;
mod conversion_bounds;
mod conversion_references;
#[cfg(feature = "validation")]
mod conversion_samples;
mod field_lock;
mod fuzzed;
mod hostile_sets;
mod messages;
mod references;
#[cfg(feature = "client")]
mod registry;
#[cfg(feature = "validation")]
mod validation;

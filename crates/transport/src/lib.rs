#![doc = include_str!("../README.md")]

pub mod boxed;
pub mod lines;
pub mod memory;
pub mod stdio;
mod transport;

pub use stdio::stdio;
pub use transport::{Losses, Received, Sink, Source, Transport, TransportError};

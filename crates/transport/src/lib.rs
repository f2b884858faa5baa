#![doc = include_str!("../README.md")]

pub mod boxed;
mod delivery;
pub mod lines;
pub mod memory;
pub mod stdio;
mod transport;

pub use delivery::{Delivery, DeliveryFailures};
pub use stdio::stdio;
pub use transport::{Received, Sink, Source, Transport, TransportError};

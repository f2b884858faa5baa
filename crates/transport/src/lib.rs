#![doc = include_str!("../README.md")]

pub mod boxed;
mod delivery;
pub mod lines;
pub mod memory;
mod observed;
mod request_streams;
pub mod stdio;
mod transport;

pub use delivery::{Delivery, DeliveryFailures};
pub use observed::{Direction, Observed};
pub use protomcp_session::{HttpStatus, NoAnswer};
pub use request_streams::{AuthorizationContext, RequestStreams};
pub use stdio::stdio;
pub use transport::{Received, Sink, Source, Transport, TransportError};

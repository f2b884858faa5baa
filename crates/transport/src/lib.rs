//! Connections that carry MCP messages.
//!
//! A [`Transport`] is cut into a [`Source`] and a [`Sink`], which one task drives side by side. Both must bear being
//! interrupted: the task waits for many things at once, and drops the future of the others. Here are [`lines`] over any
//! stream, [`stdio()`] and, for tests and programs that hold both ends, [`memory`]; HTTP is `protomcp-http`.
//!
//! ```
//! use protomcp_transport::{Sink, Source, Transport, memory};
//! use protomcp_types::{Incoming, Message, Params};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (one, other) = memory::pair();
//! let (_, mut sink) = one.split();
//! let (mut source, _) = other.split();
//! let message = Message::notification("notifications/initialized", Params::Absent);
//! sink.send(message.clone(), None).unwrap();
//! sink.flush().await.unwrap();
//! let received = source.next().await.unwrap().unwrap().unwrap();
//! assert!(matches!(received, Incoming::One(received) if received == message));
//! # });
//! ```

pub mod boxed;
pub mod lines;
pub mod memory;
pub mod stdio;
mod transport;

pub use stdio::stdio;
pub use transport::{Losses, Received, Sink, Source, Transport, TransportError};

//! The link: what the bridge and one tool process say to each other.
//!
//! # Theory of operation
//!
//! [`Connection`] is a value. Bytes and instants go in (`handle_bytes`, `handle_timeout`), calls and
//! replies go in (`call`, `cancel`, `reply`, `tell`, `close`), and out come bytes to write (`poll_transmit`), [`Event`]s
//! (`poll_event`) and the next deadline (`poll_timeout`). It owns no socket, no clock, no task, so both ends can be
//! joined in a test and driven with made-up time. One rule: change it, then drain it.
//!
//! It does four things for its owner:
//!
//! * *handshake*: asks for the tool list, acknowledges middleware, and knows when the process has finished registering
//!   (its signal, or 500 ms of silence). While a handshake is open nothing but acknowledgements is written, because
//!   published SDKs read exactly one frame after each registration and throw it away (wire contract, rule R1);
//! * *correlation*: every request gets an id and a deadline, and exactly one outcome;
//! * *reassembly*: an answer that arrives as chunks or as a raw payload becomes one message;
//! * *bounds*: frames, payloads, pending calls, assemblies and unwritten bytes each have a limit in [`Config`].
//!
//! The `driver` feature (on by default) adds [`drive`], which runs a connection over any byte stream, [`Link`], the
//! handle with one generic [`Link::call`], and [`Endpoint`], the unix socket a tool process connects to.

mod answer;
mod assemble;
mod config;
mod connection;
mod error;
mod event;
mod handshake;
mod held;
mod hush;
mod id;
mod kind;
mod outbox;
mod pending;

#[cfg(feature = "driver")]
mod driver;
#[cfg(feature = "driver")]
mod endpoint;
#[cfg(feature = "driver")]
mod handle;

pub use answer::Answer;
pub use config::{Config, Side};
pub use connection::Connection;
pub use error::{CallError, Closed, HandshakeError, LinkError, ReloadError};
pub use event::{Event, Handshake, Middleware, Notice, Phase, Progress};
pub use id::{CallId, CallIds};

#[cfg(feature = "driver")]
pub use driver::drive;
#[cfg(feature = "driver")]
pub use endpoint::{Endpoint, EndpointError, default_socket_path};
#[cfg(feature = "driver")]
pub use handle::{Link, Options};

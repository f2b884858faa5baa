//! Two users of one server, one of whom does harm while the other works.
//!
//! [`Neighbours`] is a `pmcp` that serves both eras of Streamable HTTP and the transport of MCP 2024-11-05
//! concurrently. Alice uses all three: she lists, calls, listens, resumes broken streams and reconnects, again and
//! again, in a thread of her own that measures each answer. [`Neighbours::suffer`] runs an attack by another [`User`],
//! mallory, at the same time and returns a [`Report`] of alice's observations: response times before and during the
//! attack, failures, all data that she read, and the growth of the process's memory.
//!
//! Requests are written and responses read by hand ([`Connection`]), so that an attacker can stop in the middle of one.

mod alice;
mod client;
mod connection;
mod heard;
mod http2;
mod memory;
mod report;
mod setup;
mod tls;
mod user;

pub use alice::{FRONTS, Op};
pub use client::{Client, FILLER, Failure, Front, Pipe};
pub use connection::{Connection, Head};
pub use heard::{Heard, SECRET};
pub use http2::Http2;
pub use memory::{memory, peak};
pub use report::{MARGIN, PROMISE, Report, WORST};
pub use setup::{AUDIENCE, Identity, Neighbours, Setup, Tool, token};
pub use user::User;

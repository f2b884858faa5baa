//! Checks of the whole product against parts it did not write.
//!
//! The tests of this package start the real `pmcp` program and look at it from outside, from both ends:
//!
//! - [`Host`] is the MCP client end. It starts `pmcp` in a [`Sandbox`] of its own, writes JSON lines and waits for
//!   answers. When it is dropped it kills `pmcp` with SIGKILL and checks that nothing `pmcp` started is left alive, so
//!   every test is a test of that promise too.
//! - [`Web`] is a host over HTTP, request by request, and the `pmcp` that it speaks to.
//! - [`Peer`] is the tool process end, scripted: the test reads and writes the envelopes itself. `pmcp` starts the tool
//!   process, so a small program, `relay`, stands in and carries every byte to the test; [`Stage`] is where it reports.
//! - [`suite`] runs the official conformance suite against a server.
//! - [`neighbours`] has two users of one server, one of whom does harm while the other works.
//! - [`Everything`] is a server written with the library, for the official suite and for hosts that we did not write.
//! - The published SDKs and the official clients are installed by `scripts/setup`; [`peers`] says where.
//!
//! Frames are read and written here by hand, length and all, so a fault in the product's own codec cannot hide itself.
//! Everything that waits has one generous deadline, [`patience`]: tests say what must happen, not how fast this
//! machine is. Set `PMCP_BIN` to test a program built elsewhere, `PMCP_LONG=1` for the long tier ([`tier`]).

mod everything;
mod host;
mod inbox;
mod issuer;
mod launch;
pub mod neighbours;
mod orphans;
mod peer;
mod programs;
mod sandbox;
mod scene;
mod stage;
pub mod suite;
mod wait;
mod web;

pub use everything::Everything;
pub use host::Host;
pub use inbox::Message;
pub use issuer::Issuer;
pub use launch::Launch;
pub use orphans::{Orphan, living};
pub use peer::{Peer, frame, tool};
pub use programs::{envelope_tools, everything_server, example, hostile_tools, peers, pmcp, relay};
pub use sandbox::Sandbox;
pub use scene::{Scene, rust_session, session};
pub use stage::{Hello, Stage};
pub use wait::{eventually, median, patience, tier};
pub use web::{Listening, Reply, Web};

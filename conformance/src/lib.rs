//! Checks of the whole product against parts it did not write.
//!
//! The tests of this package start the real `pmcp` program and observe it from outside, from both ends:
//!
//! - [`Host`] is the client end. It starts `pmcp` in its own [`Sandbox`], writes JSON lines and waits for answers. When
//!   it is dropped, it kills `pmcp` with SIGKILL and checks that no process of `pmcp` is left alive, so every test
//!   tests that promise too.
//! - [`Web`] is a client over HTTP, request by request, together with its `pmcp`.
//! - [`Peer`] is the tool process end, scripted: the test reads and writes the envelopes itself. `pmcp` starts the tool
//!   process, so a small program, `relay`, stands in and carries every byte to the test; [`Stage`] is where it reports.
//! - [`suite`] runs the official conformance suite against a server or a client.
//! - [`neighbours`] has two users of one server, one of whom attacks while the other works.
//! - [`Redis`] is a store that several `pmcp` share, and [`Balancer`] is the haproxy in front of them.
//! - [`certificates`] writes an authority, and certificates that it has signed.
//! - [`talker`] is a small server whose calls are cut at every byte; [`cut_server`] is a program with it.
//! - [`handlers`] are the tools, prompts and resources that the suite asks for.
//! - [`Everything`] is a server written with the library, for the official suite and for third-party hosts.
//! - The published SDKs and the official clients are installed by `scripts/setup`; [`peers`] says where.
//!
//! Frames are read and written here by hand, including their length, so a fault in the product's codec cannot hide
//! itself. All waits share one generous deadline, [`patience`]: tests state an order of events, not the speed of the
//! machine. Figures are printed always, and judged in the long tier alone ([`judge`]). Set `PMCP_BIN` to test a program
//! built elsewhere, `PMCP_LONG=1` for the long tier ([`tier`]).

mod balancer;
pub mod certificates;
mod everything;
pub mod handlers;
mod host;
mod inbox;
mod issuer;
mod launch;
pub mod neighbours;
mod orphans;
mod peer;
mod programs;
mod redis;
mod sandbox;
mod scene;
mod stage;
pub mod suite;
mod talker;
mod wait;
mod web;

pub use balancer::Balancer;
pub use everything::Everything;
pub use host::Host;
pub use inbox::Message;
pub use issuer::Issuer;
pub use launch::Launch;
pub use orphans::{Orphan, living};
pub use peer::{Peer, frame, tool};
pub use programs::{
    codec_example, cut_server, envelope_tools, everything_client, everything_server, everything_tool, example,
    hostile_tools, init_example, link_sdk_packages, peers, pmcp, relay, root, sdk_example,
};
pub use protomcp_testing::{eventually, judged, patience, tier};
pub use redis::Redis;
pub use sandbox::Sandbox;
pub use scene::{Scene, rust_session, session};
pub use stage::{Hello, Stage};
pub use talker::{serve_talker, talker};
pub use wait::{judge, median};
pub use web::{Listening, Reply, Web};

/// The blocks of Rust in the book.
#[cfg(doctest)]
mod book {
    #[doc = include_str!("../../docs/how-to/rust.md")]
    struct HowTo;
    #[doc = include_str!("../../docs/concepts/layers.md")]
    struct Layers;
    #[doc = include_str!("../../docs/lazy-tools.md")]
    struct LazyTools;
    #[doc = include_str!("../../docs/library.md")]
    struct Library;
    #[doc = include_str!("../../docs/llms/rust.md")]
    struct ForModels;
    #[doc = include_str!("../../docs/oauth.md")]
    struct OAuth;
}

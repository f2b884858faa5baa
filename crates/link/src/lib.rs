//! The link: the conversation between the bridge and one tool process.
//!
//! # Theory of operation
//!
//! [`Connection`] is a value. Bytes and instants go in (`handle_bytes`, `handle_timeout`), calls and replies go in
//! (`call`, `cancel`, `reply`, `notify`, `close`), and out come bytes to write (`poll_transmit`), [`Event`]s
//! (`poll_event`) and the next deadline (`poll_timeout`). It owns no socket, clock or task, so a test can join both
//! ends and drive them with made-up time. The one rule: after each change, drain the outputs.
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
//! The `driver` feature (on by default) adds `drive`, which runs a connection over any byte stream, `Link`, the handle
//! with one generic `call`, and `Endpoint`, the unix socket a tool process connects to.
//!
//! # Example
//!
//! Both ends of a link, joined without a socket:
//!
//! ```
//! use std::time::{Duration, Instant};
//! use bytes::BytesMut;
//! use protomcp_link::{CallIds, Config, Connection, Event, Side};
//! use protomcp_proto::{CallToolRequest, CallToolResponse, Msg};
//!
//! let (now, ids) = (Instant::now(), CallIds::default());
//! let mut bridge = Connection::new(Side::Bridge, Config::default(), ids.clone());
//! let mut tool = Connection::new(Side::Tool, Config::default(), CallIds::default());
//!
//! let call = ids.next();
//! let request = CallToolRequest { name: "add".into(), arguments_json: "[1,2]".into(), ..Default::default() };
//! bridge.call(now, call, request.into(), Duration::from_secs(60));
//! carry(now, &mut bridge, &mut tool);
//!
//! let Some(Event::Request { id, message: Msg::CallTool(_), .. }) = tool.poll_event() else { panic!() };
//! tool.reply(&id, CallToolResponse { result_json: "3".into(), ..Default::default() }.into());
//! carry(now, &mut tool, &mut bridge);
//!
//! let Some(Event::Answer { call: answered, outcome }) = bridge.poll_event() else { panic!() };
//! assert_eq!(answered, call);
//! let Msg::CallResult(result) = outcome?.finish(&Config::default().limits)? else { panic!() };
//! assert_eq!(result.result_json, "3");
//!
//! fn carry(now: Instant, from: &mut Connection, to: &mut Connection) {
//!     let mut bytes = Vec::new();
//!     while from.poll_transmit(&mut bytes) {}
//!     to.handle_bytes(now, &mut BytesMut::from(&bytes[..])).expect("good frames");
//! }
//! # Ok::<(), protomcp_link::CallError>(())
//! ```

mod answer;
mod assemble;
mod byte_counters;
mod config;
mod connection;
mod deferred_calls;
mod error;
mod event;
mod handshake;
mod id;
mod kind;
mod outbox;
mod pending;
mod two_reader_workaround;

#[cfg(feature = "driver")]
mod driver;
#[cfg(feature = "driver")]
mod endpoint;
#[cfg(feature = "driver")]
mod handle;
#[cfg(feature = "driver")]
mod socket;

pub use answer::Answer;
pub use byte_counters::ByteCounters;
pub use config::{Config, Side};
pub use connection::Connection;
pub use error::{CallError, Closed, HandshakeError, LinkError, ReloadError};
pub use event::{Event, Handshake, Middleware, Notice, Phase, Progress};
pub use id::{CallId, CallIds};

#[cfg(feature = "driver")]
pub use driver::{drive, drive_filtered};
#[cfg(feature = "driver")]
pub use endpoint::{Endpoint, EndpointError, default_socket_path};
#[cfg(feature = "driver")]
pub use handle::{Link, Options};
#[cfg(feature = "driver")]
pub use socket::Socket;

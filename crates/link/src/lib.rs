#![doc = include_str!("../README.md")]

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
mod liveness;
mod outbox;
mod pending;
#[cfg(feature = "json")]
mod shown;
mod tap;
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
pub use event::{Event, Handshake, Middleware, Notice, Phase, Progress, QuestionFields};
pub use id::{CallId, CallIds};
pub use tap::{Passing, Tap};

#[cfg(feature = "driver")]
pub use driver::{drive, drive_filtered};
#[cfg(feature = "driver")]
pub use endpoint::{Endpoint, EndpointError, default_socket_path};
#[cfg(feature = "driver")]
pub use handle::{Link, Options};
#[cfg(feature = "driver")]
pub use socket::Socket;

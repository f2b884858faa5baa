#![doc = include_str!("../README.md")]

mod accept_log;
mod activity;
#[cfg(feature = "tls")]
mod client_hello;
mod client_name;
mod config;
mod connection;
mod connection_info;
mod connections;
mod descriptors;
mod fair_limit;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(feature = "tls")]
mod handshake;
mod http_connection;
mod listener;
mod repolled;
mod serve;
mod service;
mod slots;
mod stall;
mod streams;
#[cfg(feature = "tls")]
mod tls;
mod upgrade;

pub use client_name::ClientName;
pub use config::ListenerConfig;
pub use connection_info::{ConnectionInfo, TlsVersion};
pub use listener::Listener;
pub use serve::{Serve, ServeStreams};
pub use service::HttpService;
pub use streams::{Stream, StreamService};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};
pub use upgrade::UpgradeLease;

//! Serves any [`tower_service::Service`] over TCP: HTTP/1.1 and HTTP/2, in plain text or over TLS.
//!
//! ```text
//! socket → slot for the address (fair_limit) → TLS handshake (handshake) → hyper → service
//! ```
//!
//! A [`Listener`] bounds what strangers can hold: connections and handshakes by address, the time to the first request
//! and between two requests, the size of request heads. When all connections are taken, an address that holds few takes
//! one from the address that holds most. The graceful shutdown lets open requests finish, and closes what is left after
//! [`ListenerConfig::drain_timeout`].
//!
//! The crate knows nothing of MCP: `protomcp-http` brings the service, and other protocols can share the port as routes of
//! one service.
//!
//! ```no_run
//! use std::convert::Infallible;
//!
//! use http::{Request, Response};
//! use hyper::body::Incoming;
//! use protomcp_listener::Listener;
//! # use std::task::{Context, Poll};
//! # use std::future::{Ready, ready};
//! # #[derive(Clone)]
//! # struct Hello;
//! # impl tower_service::Service<Request<Incoming>> for Hello {
//! #     type Response = Response<String>;
//! #     type Error = Infallible;
//! #     type Future = Ready<Result<Response<String>, Infallible>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> { Poll::Ready(Ok(())) }
//! #     fn call(&mut self, _: Request<Incoming>) -> Self::Future { ready(Ok(Response::new("hello".to_owned()))) }
//! # }
//!
//! # async fn run(stop: impl Future<Output = ()> + Send + 'static) -> std::io::Result<()> {
//! Listener::bind("127.0.0.1:8080").await?.serve(Hello).with_graceful_shutdown(stop).await
//! # }
//! ```

mod accept_log;
mod activity;
#[cfg(feature = "tls")]
mod client_hello;
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
mod listener;
mod peer_network;
mod serve;
mod service;
mod slots;
#[cfg(feature = "tls")]
mod tls;

pub use config::ListenerConfig;
pub use connection_info::ConnectionInfo;
pub use listener::Listener;
pub use serve::Serve;
pub use service::HttpService;
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};

#![doc = include_str!("../README.md")]

mod authorization;
mod body;
mod client_request;
mod connector;
mod control;
mod conversation;
mod exchange;
mod failure;
mod http_client;
mod limits;
mod listening;
mod old_connection;
mod old_sse;
mod pending;
mod reconnect;
mod reply;
mod request;
mod response;
mod response_body;
mod resumption;
mod room;
mod server_url;
mod sink;
mod sse;
mod transport;

pub use authorization::AuthorizationHttp;
pub use connector::ProxyError;
#[cfg(feature = "tls")]
pub use connector::{Tls, TlsError};
pub use limits::Limits;
pub use server_url::UrlError;
pub use sink::HttpSink;
pub use transport::{HeaderError, HttpSource, HttpTransport};

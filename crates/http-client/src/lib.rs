#![doc = include_str!("../README.md")]

mod authorization;
mod body;
mod client_request;
mod control;
mod conversation;
mod exchange;
mod failure;
mod http_client;
mod limits;
mod listening;
mod message_budget;
mod old_connection;
mod old_sse;
mod pending;
mod reconnect;
mod reply;
mod request;
mod response;
mod response_body;
mod resumption;
mod server_url;
mod sink;
mod sse;
mod transport;

pub use authorization::AuthorizationHttp;
pub use limits::Limits;
#[doc(no_inline)]
pub use protomcp_web::ProxyError;
#[cfg(feature = "tls")]
#[doc(no_inline)]
pub use protomcp_web::{Tls, TlsError};
pub use server_url::UrlError;
pub use sink::HttpSink;
pub use transport::{HeaderError, HttpSource, HttpTransport};

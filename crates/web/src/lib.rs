#![doc = include_str!("../README.md")]

mod chain;
mod connector;
mod one_shot;
mod proxies;
#[cfg(feature = "tls")]
mod tls;

pub use chain::chain;
pub use connector::{Connector, Stream};
pub use one_shot::{OneShot, SendError};
pub use proxies::{Proxies, ProxyError};
#[cfg(feature = "tls")]
pub use tls::{Tls, TlsError};

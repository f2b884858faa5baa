//! Schemas from a registry: requests, answers, credentials, and the decisions about caching and retrying as values.
//!
//! The feature `client` adds the driver, which has the connections and the clock.

mod api;
mod cache;
mod credentials;
#[cfg(feature = "client")]
mod disk;
mod error;
#[cfg(feature = "client")]
mod http_client;
mod pacing;
#[cfg(feature = "client")]
mod pins;
#[cfg(feature = "client")]
mod resolver;

pub use api::{Api, Codec, Fetched, HttpRequest, HttpResponse};
pub use cache::{CacheLimits, CacheTimes, CachedSchema, Completed, Fetch, Lookup, ModuleVersion, SchemaCache};
pub use credentials::{Credentials, Token};
#[cfg(feature = "client")]
pub use disk::DiskCache;
pub use error::{Cause, ResolveError};
#[cfg(feature = "client")]
pub use http_client::Endpoint;
pub use pacing::{Attempts, Pacer};
#[cfg(feature = "client")]
pub use pins::{Pin, PinError};
#[cfg(feature = "client")]
pub use resolver::{Resolver, ResolverBuilder};

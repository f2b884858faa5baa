#![doc = include_str!("../README.md")]

#[cfg(feature = "jwt")]
mod algorithm;
mod bearer;
#[cfg(feature = "client")]
mod cache;
mod claims;
#[cfg(feature = "client")]
mod form;
#[cfg(feature = "client")]
mod freshness;
#[cfg(feature = "client")]
mod http_client;
mod identity;
#[cfg(feature = "client")]
mod introspection;
#[cfg(feature = "jwt")]
mod json;
#[cfg(feature = "jwt")]
mod jws;
#[cfg(feature = "client")]
mod jwt;
#[cfg(feature = "jwt")]
mod key_set;
#[cfg(feature = "client")]
mod key_source;
mod peer;
mod rejection;
mod resource;
mod scopes;
mod token_kind;
mod url;
mod verifier;

#[cfg(feature = "jwt")]
pub use algorithm::Algorithm;
pub use bearer::MAX_TOKEN;
pub use claims::{Kind, MAX_LEEWAY, TokenPolicy};
#[cfg(feature = "client")]
pub use http_client::{FetchError, HttpClient};
pub use identity::Identity;
#[cfg(feature = "client")]
pub use introspection::{ClientCredentials, Introspection};
#[cfg(feature = "client")]
pub use jwt::JwtVerifier;
#[cfg(feature = "jwt")]
pub use key_set::{KeySet, KeySetError};
#[cfg(feature = "client")]
pub use key_source::KeySource;
pub use peer::PeerKey;
pub use rejection::Rejection;
pub use resource::{Operation, ResourceServer};
pub use scopes::{BadScope, Scopes};
pub use url::{Url, UrlError, brief_url, is_shown};
pub use verifier::{TokenError, Verifier};

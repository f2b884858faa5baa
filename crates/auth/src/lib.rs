//! OAuth 2.1 for MCP servers, as a resource server: who asks, what they may do, and what they are told otherwise.
//!
//! ```text
//! request → bearer (RFC 6750: one token, in the header and nowhere else)
//!         → Verifier: JwtVerifier (signature by a key set, then the claims) or Introspection (asks the issuer)
//!         → ResourceServer: are the scopes enough, for anything at all and for this method or tool?
//!         → Identity, or a Rejection: status, `WWW-Authenticate`, a sentence
//! ```
//!
//! [`ResourceServer`] decides and does no I/O; it also writes the document by which clients find the issuer (RFC 9728).
//! How a token is checked is a [`Verifier`]; two come with the crate. What a token must say is checked by
//! [`TokenPolicy::check`], with the time as an argument. The features `jwt` and `client` bring the cryptography and the
//! HTTP client; without them this is the vocabulary and nothing heavy.
//!
//! ```
//! use protomcp_auth::{Identity, ResourceServer, TokenError, Verifier};
//!
//! struct Refuse;
//!
//! impl Verifier for Refuse {
//!     async fn verify(&self, _token: &str) -> Result<Identity, TokenError> {
//!         Err(TokenError::Invalid("the token is not active"))
//!     }
//! }
//!
//! let server = ResourceServer::new("https://tools.example.com/mcp", "https://login.example.com", Refuse)?
//!     .require(&"tools:use".parse()?);
//! assert_eq!(server.metadata_path(), "/.well-known/oauth-protected-resource/mcp");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(feature = "jwt")]
mod algorithm;
mod bearer;
#[cfg(feature = "client")]
mod cache;
mod claims;
#[cfg(feature = "client")]
mod client;
#[cfg(feature = "client")]
mod freshness;
mod identity;
#[cfg(feature = "client")]
mod introspection;
#[cfg(feature = "jwt")]
mod jws;
#[cfg(feature = "client")]
mod jwt;
#[cfg(feature = "jwt")]
mod key_set;
#[cfg(feature = "client")]
mod key_source;
mod log_limit;
mod peer;
#[cfg(feature = "client")]
mod places;
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
pub use client::{FetchError, HttpClient};
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
pub use url::{Url, UrlError};
pub use verifier::{TokenError, Verifier};

#![doc = include_str!("../README.md")]

#[cfg(feature = "jwt")]
mod algorithm;
mod authorizer;
mod bearer;
#[cfg(feature = "client")]
mod cache;
mod claims;
#[cfg(feature = "oauth-driver")]
mod driver;
mod exchange;
#[cfg(any(feature = "client", feature = "oauth"))]
mod form;
#[cfg(feature = "client")]
mod freshness;
#[cfg(feature = "client")]
mod http_client;
mod identity;
#[cfg(feature = "client")]
mod introspection;
#[cfg(any(feature = "jwt", feature = "oauth"))]
mod json;
#[cfg(feature = "jwt")]
mod jws;
#[cfg(feature = "client")]
mod jwt;
#[cfg(feature = "jwt")]
mod key_set;
#[cfg(feature = "client")]
mod key_source;
#[cfg(feature = "oauth")]
mod oauth;
mod peer;
mod rejection;
mod resource;
mod scopes;
mod token_kind;
mod url;
mod verifier;
#[cfg(feature = "oauth")]
mod www_authenticate;

#[cfg(feature = "jwt")]
pub use algorithm::Algorithm;
pub use authorizer::{AuthorizationError, Authorizer, BoxFuture, Challenge};
pub use bearer::MAX_TOKEN;
pub use claims::{Kind, MAX_LEEWAY, TokenPolicy};
#[cfg(feature = "keyring")]
pub use driver::SystemKeyring;
#[cfg(feature = "oauth-driver")]
pub use driver::{
    Browser, FileTokenStore, Keyring, KeyringTokenStore, LoopbackUserAgent, MemoryTokenStore, OAuthClient,
    OAuthClientBuilder, PendingRedirect, RedirectListener, SignInNotice, StoreError, StoreGuard, SubjectTokens,
    SystemBrowser, TokenStore, UserAgent,
};
pub use exchange::{ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};
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
#[cfg(feature = "oauth")]
pub use oauth::{
    AuthorizationFlow, ClientSecret, ConfiguredClient, Credentials, Es256Key, FlowAction, FlowEvent, Grant,
    IdentityProvider, KeyError, OAuthConfig, TokenDemand,
};
pub use peer::PeerKey;
pub use rejection::Rejection;
pub use resource::{Operation, ResourceServer};
pub use scopes::{BadScope, Scopes};
pub use url::{Url, UrlError};
pub use verifier::{TokenError, Verifier};

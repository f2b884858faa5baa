#![doc = include_str!("../README.md")]

mod authorizer;
#[cfg(feature = "flow")]
mod client_choice;
#[cfg(feature = "flow")]
mod config;
#[cfg(feature = "flow")]
mod credentials;
#[cfg(feature = "flow")]
mod demand;
#[cfg(feature = "flow")]
mod discovery;
#[cfg(feature = "flow")]
mod dpop;
#[cfg(feature = "driver")]
mod driver;
mod exchange;
#[cfg(feature = "flow")]
mod flow;
#[cfg(feature = "flow")]
mod flow_event;
#[cfg(feature = "flow")]
mod form;
#[cfg(feature = "flow")]
mod grants;
#[cfg(feature = "flow")]
mod metadata;
#[cfg(feature = "flow")]
mod presentation;
#[cfg(feature = "flow")]
mod scope_choice;
#[cfg(feature = "flow")]
mod sign_in;
#[cfg(feature = "flow")]
mod signing;
#[cfg(feature = "flow")]
mod step;
#[cfg(feature = "flow")]
mod target;
#[cfg(feature = "flow")]
mod token_request;
#[cfg(feature = "flow")]
mod well_known;
#[cfg(feature = "flow")]
mod www_authenticate;

pub use authorizer::{AuthorizationError, Authorizer, BoxFuture, Challenge};
#[cfg(feature = "flow")]
pub use config::{ClientSecret, ConfiguredClient, Grant, IdentityProvider, OAuthConfig};
#[cfg(feature = "flow")]
pub use credentials::Credentials;
#[cfg(feature = "flow")]
pub use demand::TokenDemand;
#[cfg(feature = "keyring")]
pub use driver::SystemKeyring;
#[cfg(feature = "driver")]
pub use driver::{
    Browser, FileTokenStore, Keyring, KeyringTokenStore, LoopbackUserAgent, MemoryTokenStore, OAuthClient,
    OAuthClientBuilder, PendingRedirect, RedirectListener, SignInNotice, StoreError, StoreGuard, SubjectTokens,
    SystemBrowser, TokenStore, UserAgent,
};
pub use exchange::{ExchangeError, HttpExchange, HttpRequest, HttpResponse, MAX_DOCUMENT};
#[cfg(feature = "flow")]
pub use flow::AuthorizationFlow;
#[cfg(feature = "flow")]
pub use flow_event::{FlowAction, FlowEvent};
#[cfg(feature = "driver")]
pub use protomcp_auth::HttpClient;
pub use protomcp_auth::{Scopes, Url, UrlError};
#[cfg(feature = "flow")]
pub use signing::{Es256Key, KeyError};

//! The client half as a value: one authorization from challenge to token, without I/O.

mod client_choice;
mod config;
mod credentials;
mod demand;
mod discovery;
mod dpop;
mod flow;
mod flow_event;
mod grants;
mod metadata;
mod presentation;
mod scope_choice;
mod sign_in;
mod signing;
mod step;
mod target;
mod token_request;
mod well_known;

pub use config::{ClientSecret, ConfiguredClient, Grant, IdentityProvider, OAuthConfig};
pub use credentials::Credentials;
pub use demand::TokenDemand;
#[cfg(feature = "oauth-driver")]
pub(crate) use dpop::accepted_nonce;
pub use flow::AuthorizationFlow;
pub use flow_event::{FlowAction, FlowEvent};
#[cfg(feature = "oauth-driver")]
pub(crate) use signing::random_text;
pub use signing::{Es256Key, KeyError};

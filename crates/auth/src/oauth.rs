//! The client half as a value: one authorization from challenge to token, without I/O.

mod client_choice;
pub(crate) mod config;
pub(crate) mod credentials;
pub(crate) mod demand;
mod discovery;
pub(crate) mod dpop;
pub(crate) mod flow;
pub(crate) mod flow_event;
mod grants;
mod metadata;
mod presentation;
mod scope_choice;
mod sign_in;
pub(crate) mod signing;
mod step;
mod target;
mod token_request;
mod well_known;

pub use config::{ClientSecret, ConfiguredClient, Grant, IdentityProvider, OAuthConfig};
pub use credentials::Credentials;
pub use demand::TokenDemand;
pub use flow::AuthorizationFlow;
pub use flow_event::{FlowAction, FlowEvent};
pub use signing::{Es256Key, KeyError};

//! Tokens that are checked outside of the conversation: the tokens of an authorization server.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Instant;

use protomcp_session::Extensions;

use crate::authorization::Authorization;
use crate::fault::Fault;
use crate::session::permission::Permission;

/// Checks the tokens that [`Tokens`](crate::Tokens) does not know. The authorization server may have to be asked, so that
/// it takes time.
pub trait TokenVerifier: Send + Sync + 'static {
    /// Checks the `authorization` of a client at this address. The fault is the answer to its request.
    fn verify(&self, authorization: Authorization, address: Option<IpAddr>) -> Verifying;
}

/// The outcome of a [`TokenVerifier`], later.
pub type Verifying = Pin<Box<dyn Future<Output = Result<Grant, Fault>> + Send>>;

/// The rights that come with a token.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The principal of the token.
    pub principal: Arc<str>,
    /// The requests that the token permits; `None`: all.
    pub permission: Option<Permission>,
    /// The end of the token; `None`: it has none.
    pub valid_until: Option<Instant>,
    /// The facts about its bearer that handlers see in the requests for which it holds, in place of
    /// [`BinaryPeer::known`](crate::BinaryPeer::known).
    pub known: Extensions,
}

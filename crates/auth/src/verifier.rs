//! The check of a token.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::identity::Identity;
use crate::peer::PeerKey;

/// Checks tokens.
pub trait Verifier: Send + Sync + 'static {
    /// Checks this token and returns its claims. The token must be for this resource: the implementation checks the
    /// audience.
    fn verify(&self, token: &str) -> impl Future<Output = Result<Identity, TokenError>> + Send;

    /// Like [`verify`](Self::verify), for a request from this machine. A verifier with bounded capacity shares it
    /// between the machines.
    fn verify_for(&self, token: &str, _peer: PeerKey) -> impl Future<Output = Result<Identity, TokenError>> + Send {
        self.verify(token)
    }
}

impl<V: Verifier> Verifier for Arc<V> {
    fn verify(&self, token: &str) -> impl Future<Output = Result<Identity, TokenError>> + Send {
        V::verify(self, token)
    }

    fn verify_for(&self, token: &str, peer: PeerKey) -> impl Future<Output = Result<Identity, TokenError>> + Send {
        V::verify_for(self, token, peer)
    }
}

/// The reason for which a token is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is invalid; the reason is sent to the client, in plain ASCII without quotes. Another token may be
    /// valid.
    #[error("{0}")]
    Invalid(&'static str),
    /// The token cannot be checked: the authorization server does not answer, for example. The client may try again
    /// later; the reason is only logged.
    #[error("tokens cannot be checked: {0}")]
    Unavailable(String),
}

/// [`Verifier`] for use as an object.
pub(crate) trait AnyVerifier: Send + Sync {
    fn verify_for<'a>(&'a self, token: &'a str, peer: PeerKey) -> Verified<'a>;
}

type Verified<'a> = Pin<Box<dyn Future<Output = Result<Identity, TokenError>> + Send + 'a>>;

impl<V: Verifier> AnyVerifier for V {
    fn verify_for<'a>(&'a self, token: &'a str, peer: PeerKey) -> Verified<'a> {
        Box::pin(Verifier::verify_for(self, token, peer))
    }
}

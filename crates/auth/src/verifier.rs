//! Who says whether a token is good.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::identity::Identity;
use crate::peer::PeerKey;

/// Checks tokens.
pub trait Verifier: Send + Sync + 'static {
    /// Whether this token is good, and what it says. It must be for this resource: whoever implements this checks the
    /// audience.
    fn verify(&self, token: &str) -> impl Future<Output = Result<Identity, TokenError>> + Send;

    /// As [`verify`](Self::verify), for a request that comes from this machine. A verifier that asks others, and can be
    /// kept busy, shares what it has between them.
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

/// Why a token is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TokenError {
    /// The token is not good, and its sender is told why: plain ASCII without quotes. Another token may be.
    #[error("{0}")]
    Invalid(&'static str),
    /// It cannot be told: the authorization server does not answer, for example. The sender may try again later; the
    /// reason is for the log.
    #[error("tokens cannot be checked: {0}")]
    Unavailable(String),
}

/// [`Verifier`] as an object.
pub(crate) trait AnyVerifier: Send + Sync {
    fn verify_for<'a>(&'a self, token: &'a str, peer: PeerKey) -> Verified<'a>;
}

type Verified<'a> = Pin<Box<dyn Future<Output = Result<Identity, TokenError>> + Send + 'a>>;

impl<V: Verifier> AnyVerifier for V {
    fn verify_for<'a>(&'a self, token: &'a str, peer: PeerKey) -> Verified<'a> {
        Box::pin(Verifier::verify_for(self, token, peer))
    }
}

//! The traits by which a program lets its user sign in, or shows the identity of a workload.

use std::sync::Arc;

use crate::authorizer::{AuthorizationError, BoxFuture};

/// Lets a user sign in at an authorization server.
pub trait UserAgent: Send + Sync + 'static {
    /// Begins to listen for a redirect.
    ///
    /// # Errors
    /// [`AuthorizationError::SignInRequired`] if no user can be asked.
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>>;
}

impl<A: UserAgent + ?Sized> UserAgent for Arc<A> {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>> {
        A::prepare(self)
    }
}

/// A redirect that is listened for.
pub trait PendingRedirect: Send {
    /// The URI of the redirect: `https`, or `http` on this machine.
    fn redirect_uri(&self) -> &str;

    /// Opens this URL for the user and returns the query of the redirect that follows, without the question mark.
    /// Redirects with another `state` are not the answer and should be ignored. Needs its own time limit.
    ///
    /// # Errors
    /// [`AuthorizationError::SignInRequired`] if there was no redirect.
    fn complete(self: Box<Self>, url: String, state: String) -> BoxFuture<'static, Result<String, AuthorizationError>>;
}

/// Provides the token that identifies the client to an issuer: the assertion of a workload, or the ID token of a user
/// ([`Grant`](crate::Grant)).
pub trait SubjectTokens: Send + Sync + 'static {
    /// A valid token for this issuer.
    ///
    /// # Errors
    /// If there is none.
    fn subject_token<'a>(&'a self, issuer: &'a str) -> BoxFuture<'a, Result<String, AuthorizationError>>;
}

/// One token for every issuer, for as long as it is valid.
impl SubjectTokens for String {
    fn subject_token<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, AuthorizationError>> {
        Box::pin(std::future::ready(Ok(self.clone())))
    }
}

/// The user agent of a program that has none.
pub(crate) struct NoUserAgent;

impl UserAgent for NoUserAgent {
    fn prepare(&self) -> BoxFuture<'_, Result<Box<dyn PendingRedirect>, AuthorizationError>> {
        let reason = "this program has no user agent to sign in with".to_owned();
        Box::pin(std::future::ready(Err(AuthorizationError::SignInRequired(reason))))
    }
}

//! The interface between a client transport and the OAuth client: no I/O, no cryptography, so that a transport can
//! depend on it alone.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode};

/// A future that a trait object returns.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Authorizes the requests of a client transport to one MCP server.
///
/// A transport adds [`headers`](Self::headers) to each request and passes each 401 and 403 to
/// [`challenged`](Self::challenged). Methods may be called concurrently; an implementation obtains a token once for all
/// of them.
pub trait Authorizer: Send + Sync + 'static {
    /// The header fields for a request: `authorization`, and `dpop` for tokens that are bound to a key. Empty if no
    /// token is known: the server's response then is the challenge by which one is obtained. A token that is about to
    /// expire is refreshed first. `url` is absolute; the proof of a bound token covers it and the method.
    ///
    /// # Errors
    /// If a token is known to have expired and cannot be replaced. The request must not be sent.
    fn headers<'a>(
        &'a self,
        method: &'a str,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>>;

    /// Obtains the token that a response with status 401 or 403 asks for. `Ok(true)`: the request may be repeated, with
    /// new [`headers`](Self::headers). `Ok(false)`: the response asks for nothing that a token would change, and is
    /// the answer to the request.
    ///
    /// This may take as long as a user takes to sign in, so the deadline of the request does not apply.
    ///
    /// # Errors
    /// If no such token could be obtained.
    fn challenged<'a>(&'a self, challenge: Challenge) -> BoxFuture<'a, Result<bool, AuthorizationError>>;

    /// Records the `DPoP-Nonce` of a response that was not a challenge (RFC 9449, section 8.2).
    fn nonce(&self, url: &str, nonce: &str);

    /// A number that changes with the token: answers that were kept for one token may not be for the user of another.
    /// By default the token never changes. It must not block.
    fn context(&self) -> u64 {
        0
    }
}

impl<A: Authorizer + ?Sized> Authorizer for Arc<A> {
    fn headers<'a>(
        &'a self,
        method: &'a str,
        url: &'a str,
    ) -> BoxFuture<'a, Result<Vec<(HeaderName, HeaderValue)>, AuthorizationError>> {
        A::headers(self, method, url)
    }

    fn challenged<'a>(&'a self, challenge: Challenge) -> BoxFuture<'a, Result<bool, AuthorizationError>> {
        A::challenged(self, challenge)
    }

    fn nonce(&self, url: &str, nonce: &str) {
        A::nonce(self, url, nonce);
    }

    fn context(&self) -> u64 {
        A::context(self)
    }
}

/// A response with status 401 or 403.
#[derive(Clone, PartialEq, Eq)]
pub struct Challenge {
    /// The URL of the request.
    pub url: String,
    /// 401 or 403.
    pub status: StatusCode,
    /// The values of `WWW-Authenticate`, one for each field, as received.
    pub www_authenticate: Vec<String>,
    /// The value of `DPoP-Nonce`.
    pub dpop_nonce: Option<String>,
    /// The value of `authorization` in the request. Tells a rejected token from one that was replaced while the request
    /// was under way.
    pub authorization: Option<HeaderValue>,
    /// The number of times that this request was challenged, from 1.
    pub attempt: u32,
}

impl fmt::Debug for Challenge {
    /// Without the token and the nonce.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Challenge")
            .field("url", &self.url)
            .field("status", &self.status)
            .field("www_authenticate", &self.www_authenticate)
            .field("is_authorized", &self.authorization.is_some())
            .field("attempt", &self.attempt)
            .finish_non_exhaustive()
    }
}

/// The reason for which a client has no token. The variants differ in the reaction of the caller.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AuthorizationError {
    /// A server cannot be reached, or fails at the moment: try again later.
    #[error("authorization is not available at the moment: {0}")]
    Unavailable(String),
    /// A server has sent a document or a redirect that this client must not accept: the server's operator has to
    /// correct it, or it is an attack.
    #[error("authorization stopped: {0}")]
    Untrusted(String),
    /// The server requires a token, and there is no authorization server that would issue one: the user has it from
    /// elsewhere.
    #[error("the server requires a token and names no authorization server to get one from")]
    NoIssuer,
    /// The authorization server has refused, with this error code (RFC 6749, sections 4.1.2.1 and 5.2).
    #[error("the authorization server refuses ({code}){}", described(.description.as_deref()))]
    Refused {
        /// The error code, such as `access_denied`.
        code: String,
        /// Its explanation, as sent.
        description: Option<String>,
    },
    /// A user has to sign in, and none did: the reason, and the action that is needed.
    #[error("a user has to sign in: {0}")]
    SignInRequired(String),
    /// The MCP server asks for more scopes although the authorization server granted, or refuses to grant, these.
    #[error("the MCP server still asks for more after authorization; it wants the scopes {0:?}")]
    InsufficientScope(String),
    /// The MCP server rejects the token that was obtained as it has asked.
    #[error("the MCP server rejects its new token: {0}")]
    Rejected(String),
    /// The configuration of this client does not suffice for this authorization server.
    #[error("the configuration does not fit this authorization server: {0}")]
    Unsupported(String),
    /// The credentials could not be read or written.
    #[error("the credentials cannot be stored: {0}")]
    Store(String),
}

fn described(description: Option<&str>) -> String {
    description.map_or_else(String::new, |text| format!(": {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_is_shown_without_its_token() {
        let challenge = Challenge {
            url: "https://tools.example.com/mcp".to_owned(),
            status: StatusCode::UNAUTHORIZED,
            www_authenticate: vec!["Bearer".to_owned()],
            dpop_nonce: Some("n0nce".to_owned()),
            authorization: Some(HeaderValue::from_static("Bearer s3cret")),
            attempt: 1,
        };
        let shown = format!("{challenge:?}");
        assert!(!shown.contains("s3cret") && !shown.contains("n0nce"), "{shown}");
        assert!(shown.contains("is_authorized: true"), "{shown}");
    }

    #[test]
    fn an_error_names_the_code_and_its_description() {
        let refused = |description: Option<&str>| {
            let description = description.map(str::to_owned);
            AuthorizationError::Refused { code: "access_denied".to_owned(), description }.to_string()
        };
        assert_eq!(refused(None), "the authorization server refuses (access_denied)");
        assert_eq!(refused(Some("no")), "the authorization server refuses (access_denied): no");
    }
}

//! The inputs and outputs of an authorization.

use std::fmt;

use crate::authorizer::AuthorizationError;
use crate::credentials::Credentials;
use crate::exchange::{HttpRequest, HttpResponse};
use protomcp_auth::Url;

/// The next action of an [`AuthorizationFlow`](crate::AuthorizationFlow). Each is answered with one [`FlowEvent`], the last two excepted.
#[derive(Debug)]
pub enum FlowAction {
    /// Send this request: answer with [`FlowEvent::Response`].
    Send(HttpRequest),
    /// Begin to listen for a redirect: answer with [`FlowEvent::RedirectUri`].
    PrepareRedirect,
    /// Open this URL in the browser of the user: answer with [`FlowEvent::Redirect`]. A redirect with another `state`
    /// is not the answer.
    OpenBrowser {
        /// The URL of the authorization server.
        url: Url,
        /// The `state` of the redirect.
        state: String,
    },
    /// Obtain the assertion or ID token that identifies the client: answer with [`FlowEvent::SubjectToken`].
    GetSubjectToken {
        /// The issuer that the token is for.
        issuer: String,
    },
    /// Store these credentials, in place of those with the same issuer and resource: answer with
    /// [`FlowEvent::Stored`].
    Store(Box<Credentials>),
    /// Remove these credentials: answer with [`FlowEvent::Stored`].
    Remove(Box<Credentials>),
    /// The flow is complete.
    Done(Box<Credentials>),
    /// The flow has failed.
    Fail(AuthorizationError),
}

/// The answer to a [`FlowAction`].
pub enum FlowEvent {
    /// A response of any status.
    Response(HttpResponse),
    /// The redirect URI that is listened on.
    RedirectUri(String),
    /// The query of the redirect, without the question mark.
    Redirect(String),
    /// The assertion or ID token.
    SubjectToken(String),
    /// The store has changed.
    Stored,
    /// The action has failed.
    Failed(AuthorizationError),
}

impl fmt::Debug for FlowEvent {
    /// Without the code of a redirect and without a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Response(response) => f.debug_tuple("Response").field(response).finish(),
            Self::RedirectUri(uri) => f.debug_tuple("RedirectUri").field(uri).finish(),
            Self::Redirect(_) => f.write_str("Redirect(..)"),
            Self::SubjectToken(_) => f.write_str("SubjectToken(..)"),
            Self::Stored => f.write_str("Stored"),
            Self::Failed(error) => f.debug_tuple("Failed").field(error).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_shown_without_its_secret() {
        let events = [
            FlowEvent::Redirect("code=s3cret&state=s".to_owned()),
            FlowEvent::SubjectToken("s3cret".to_owned()),
            FlowEvent::RedirectUri("http://127.0.0.1:1/callback".to_owned()),
        ];
        assert_eq!(
            format!("{events:?}"),
            r#"[Redirect(..), SubjectToken(..), RedirectUri("http://127.0.0.1:1/callback")]"#
        );
    }
}

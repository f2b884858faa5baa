//! The response to a rejected request (RFC 6750, section 3; RFC 9728, section 5.1).

use http::{HeaderValue, StatusCode};

use crate::scopes::Scopes;

/// The response to a request that is not served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejection {
    /// 400, 401, 403 or 503.
    pub status: StatusCode,
    /// `WWW-Authenticate`: the location of the server's metadata, and the scopes that a token needs.
    pub challenge: Option<HeaderValue>,
    /// A sentence for people.
    pub why: String,
}

/// The fault of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault<'a> {
    /// There is no token. RFC 6750, section 3.1: the response then has no error code.
    NoToken,
    Malformed(&'static str),
    InvalidToken(&'static str),
    /// All of these are needed.
    InsufficientScope(&'a Scopes),
}

impl Rejection {
    /// `metadata` is the URL of the server's description, `usual` the scopes that every request needs.
    pub(crate) fn new(fault: Fault<'_>, metadata: &str, usual: &Scopes) -> Self {
        let (status, error, why, scopes) = match fault {
            Fault::NoToken => {
                (StatusCode::UNAUTHORIZED, None, "unauthorized: a Bearer token is needed".to_owned(), usual)
            }
            Fault::Malformed(why) => {
                (StatusCode::BAD_REQUEST, Some("invalid_request"), format!("bad request: {why}"), usual)
            }
            Fault::InvalidToken(why) => {
                (StatusCode::UNAUTHORIZED, Some("invalid_token"), format!("unauthorized: {why}"), usual)
            }
            Fault::InsufficientScope(needed) => {
                let why = format!("forbidden: this needs the scopes {needed}");
                (StatusCode::FORBIDDEN, Some("insufficient_scope"), why, needed)
            }
        };
        let mut text = "Bearer ".to_owned();
        if let Some(error) = error {
            let description = why.split_once(": ").map_or(why.as_str(), |(_, rest)| rest);
            text += &format!("error=\"{error}\", error_description=\"{description}\", ");
        }
        if !scopes.is_empty() {
            text += &format!("scope=\"{scopes}\", ");
        }
        text += &format!("resource_metadata=\"{metadata}\"");
        // Scopes and URLs contain neither quotes nor characters beyond ASCII; the description by a verifier may.
        Self { status, challenge: HeaderValue::try_from(text).ok(), why }
    }

    /// The token cannot be checked at the moment.
    pub(crate) fn unavailable() -> Self {
        let why = "the token cannot be checked at the moment; try again in a few seconds".to_owned();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, challenge: None, why }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_challenge_says_what_to_do() {
        let usual: Scopes = "use".parse().unwrap();
        let needed: Scopes = "use deploy".parse().unwrap();
        for (fault, status, challenge) in [
            (Fault::NoToken, 401, "Bearer scope=\"use\", resource_metadata=\"https://rs/m\""),
            (
                Fault::InvalidToken("the token has expired"),
                401,
                "Bearer error=\"invalid_token\", error_description=\"the token has expired\", scope=\"use\", \
                 resource_metadata=\"https://rs/m\"",
            ),
            (
                Fault::Malformed("the token is too long"),
                400,
                "Bearer error=\"invalid_request\", error_description=\"the token is too long\", scope=\"use\", \
                 resource_metadata=\"https://rs/m\"",
            ),
            (
                Fault::InsufficientScope(&needed),
                403,
                "Bearer error=\"insufficient_scope\", error_description=\"this needs the scopes deploy use\", \
                 scope=\"deploy use\", resource_metadata=\"https://rs/m\"",
            ),
        ] {
            let rejection = Rejection::new(fault, "https://rs/m", &usual);
            assert_eq!(
                (rejection.status.as_u16(), rejection.challenge.unwrap().to_str().unwrap()),
                (status, challenge)
            );
        }
        let bare = Rejection::new(Fault::NoToken, "https://rs/m", &Scopes::default());
        assert_eq!(bare.challenge.unwrap(), "Bearer resource_metadata=\"https://rs/m\"");
    }
}

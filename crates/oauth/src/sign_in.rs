//! The part of the authorization code grant that passes through a browser: the URL, and the redirect that returns
//! (RFC 6749, section 4.1; RFC 7636; RFC 9207).

use crate::authorizer::AuthorizationError;
use crate::form::{decode_pairs, encode_pairs};
use crate::metadata::{ServerMetadata, brief, untrusted};
use crate::signing::{random_text, sha256_text};
use protomcp_auth::Scopes;
use protomcp_auth::{Url, brief_url};

/// The parameters of an authorization request that are known before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignInParams<'a> {
    pub(crate) client_id: &'a str,
    pub(crate) redirect_uri: &'a str,
    pub(crate) scopes: Option<&'a Scopes>,
    pub(crate) indicator: Option<&'a str>,
}

/// An authorization request, and the rules for its response.
pub(crate) struct SignIn {
    url: Url,
    state: String,
    verifier: String,
    issuer: String,
    /// The spelling of the MCP server, if it is another.
    named: Option<String>,
    sends_iss: bool,
}

impl SignIn {
    pub(crate) fn new(
        endpoint: &Url,
        server: &ServerMetadata,
        params: &SignInParams<'_>,
    ) -> Result<Self, AuthorizationError> {
        let (state, verifier) = (random_text(), random_text());
        let (challenge, scope) = (sha256_text(&verifier), params.scopes.map(ToString::to_string));
        let mut pairs = vec![
            ("response_type", "code"),
            ("client_id", params.client_id),
            ("redirect_uri", params.redirect_uri),
            ("state", &state),
            ("code_challenge", &challenge),
            ("code_challenge_method", "S256"),
        ];
        pairs.extend(scope.as_deref().map(|scope| ("scope", scope)));
        pairs.extend(params.indicator.map(|indicator| ("resource", indicator)));
        if params.scopes.is_some_and(|scopes| scopes.contains("offline_access")) {
            // OpenID Connect Core, section 11: without it the scope is ignored.
            pairs.push(("prompt", "consent"));
        }
        let separator = if endpoint.as_str().contains('?') { '&' } else { '?' };
        let url = format!("{endpoint}{separator}{}", encode_pairs(pairs));
        let url = Url::parse(&url).map_err(|error| untrusted(error.to_string()))?;
        let (issuer, named) = (server.issuer.clone(), server.named.clone());
        Ok(Self { url, state, verifier, issuer, named, sends_iss: server.sends_iss })
    }

    /// The URL to open.
    pub(crate) fn url(&self) -> &Url {
        &self.url
    }

    pub(crate) fn state(&self) -> &str {
        &self.state
    }

    /// The verifier of the code challenge.
    pub(crate) fn verifier(&self) -> &str {
        &self.verifier
    }

    /// The code of a redirect. `query` is everything behind the question mark.
    pub(crate) fn code(&self, query: &str) -> Result<String, AuthorizationError> {
        let pairs = decode_pairs(query).ok_or_else(|| untrusted("the redirect cannot be read".to_owned()))?;
        let param = |name: &str| {
            let mut values = pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str());
            match (values.next(), values.next()) {
                (_, Some(_)) => Err(untrusted(format!("the redirect has several values of {name}"))),
                (value, None) => Ok(value),
            }
        };
        if param("state")? != Some(&self.state) {
            return Err(untrusted("the redirect has another state than the request".to_owned()));
        }
        // Before anything else of the response is used, its errors included (RFC 9207, section 2.4). The texts are compared
        // as they are: with the spellings that the documents have.
        match param("iss")? {
            Some(issuer) if issuer != self.issuer && self.named.as_deref() != Some(issuer) => {
                let (found, expected) = (brief_url(issuer), brief_url(&self.issuer));
                return Err(untrusted(format!("the redirect is of the issuer {found:?}, not of {expected:?}")));
            }
            None if self.sends_iss => {
                return Err(untrusted("the redirect does not name its issuer, as the issuer promises".to_owned()));
            }
            _ => {}
        }
        if let Some(code) = param("error")? {
            let description = param("error_description")?.map(brief);
            return Err(AuthorizationError::Refused { code: brief(code), description });
        }
        let code = param("code")?.filter(|code| !code.is_empty());
        code.map(str::to_owned).ok_or_else(|| untrusted("the redirect has no code".to_owned()))
    }
}

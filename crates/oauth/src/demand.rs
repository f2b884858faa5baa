//! The token that a challenge asks for.

use http::StatusCode;

use crate::authorizer::Challenge;
use crate::www_authenticate::parse;
use protomcp_auth::Scopes;

/// The token that a challenge asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenDemand {
    /// The URL of the MCP server's metadata (RFC 9728, section 5.1).
    pub(crate) metadata: Option<String>,
    pub(crate) scopes: Option<Scopes>,
    reason: Reason,
    pub(crate) offers_bearer: bool,
    pub(crate) offers_dpop: bool,
}

/// The fault of the token that was rejected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reason {
    /// It is invalid, or there is none.
    #[default]
    Invalid,
    /// It is valid and has too few scopes (RFC 6750, section 3.1).
    InsufficientScope,
    /// Its proof lacks the nonce of the server (RFC 9449, section 9).
    NonceMissing,
}

impl TokenDemand {
    /// True if the token is valid and has too few scopes.
    #[must_use]
    pub fn is_step_up(&self) -> bool {
        self.reason == Reason::InsufficientScope
    }

    /// True if the proof of the token lacks the nonce of the server (RFC 9449, section 9).
    #[must_use]
    pub fn asks_nonce(&self) -> bool {
        self.reason == Reason::NonceMissing
    }

    /// Reads a challenge. None if no token would change the answer: a 403 without `insufficient_scope`.
    #[must_use]
    pub fn read(challenge: &Challenge) -> Option<Self> {
        let all = parse(challenge.www_authenticate.iter().map(String::as_str));
        let ours: Vec<_> = all.iter().filter(|each| each.is("bearer") || each.is("dpop")).collect();
        let param = |name: &str| ours.iter().find_map(|each| each.param(name));
        let reason = match param("error") {
            Some("insufficient_scope") => Reason::InsufficientScope,
            _ if challenge.status != StatusCode::UNAUTHORIZED => return None,
            Some("use_dpop_nonce") => Reason::NonceMissing,
            _ => Reason::Invalid,
        };
        let scopes = param("scope").map(|scopes| Scopes::lenient([scopes])).filter(|scopes| !scopes.is_empty());
        Some(Self {
            metadata: param("resource_metadata").map(str::to_owned),
            scopes,
            reason,
            offers_bearer: ours.iter().any(|each| each.is("bearer")),
            offers_dpop: ours.iter().any(|each| each.is("dpop")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(status: u16, www_authenticate: &[&str]) -> Option<TokenDemand> {
        TokenDemand::read(&Challenge {
            url: "https://tools.example.com/mcp".to_owned(),
            status: StatusCode::from_u16(status).unwrap(),
            www_authenticate: www_authenticate.iter().map(|&value| value.to_owned()).collect(),
            dpop_nonce: Some("n".to_owned()),
            authorization: None,
            attempt: 1,
        })
    }

    #[test]
    fn a_challenge_names_metadata_scopes_and_schemes() {
        let demand =
            read(401, &["Basic realm=\"x\", Bearer scope=\"b a\", resource_metadata=\"https://a/m\""]).unwrap();
        assert_eq!(demand.metadata.as_deref(), Some("https://a/m"));
        assert_eq!(demand.scopes.as_ref().unwrap().to_string(), "a b");
        assert!(demand.offers_bearer && !demand.offers_dpop && !demand.is_step_up() && !demand.asks_nonce());
        let demand = read(401, &["DPoP error=\"use_dpop_nonce\"", "Bearer scope=\"\""]).unwrap();
        assert!(demand.offers_bearer && demand.offers_dpop && demand.scopes.is_none());
        assert!(demand.asks_nonce());
        assert_eq!(read(401, &[]), Some(TokenDemand::default()));
    }

    #[test]
    fn only_insufficient_scope_makes_403_a_demand() {
        assert!(read(403, &["Bearer error=\"insufficient_scope\", scope=\"a\""]).unwrap().is_step_up());
        assert_eq!(read(403, &[]), None);
        assert_eq!(read(403, &["Bearer error=\"invalid_token\""]), None);
        assert_eq!(read(403, &["Basic error=\"insufficient_scope\""]), None);
    }
}

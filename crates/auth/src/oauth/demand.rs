//! The token that a challenge asks for.

use http::StatusCode;

use crate::authorizer::Challenge;
use crate::oauth::dpop::accepted_nonce;
use crate::scopes::Scopes;
use crate::www_authenticate::parse;

/// The token that a challenge asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenDemand {
    /// The URL of the MCP server's metadata (RFC 9728, section 5.1).
    pub(crate) metadata: Option<String>,
    pub(crate) scopes: Option<Scopes>,
    /// True if the token is valid and has too few scopes (RFC 6750, section 3.1).
    pub(crate) is_step_up: bool,
    pub(crate) offers_bearer: bool,
    pub(crate) offers_dpop: bool,
    /// The nonce that the proof has to carry (RFC 9449, section 9).
    pub(crate) nonce: Option<String>,
}

impl TokenDemand {
    /// Reads a challenge. None if no token would change the answer: a 403 without `insufficient_scope`.
    #[must_use]
    pub fn read(challenge: &Challenge) -> Option<Self> {
        let all = parse(challenge.www_authenticate.iter().map(String::as_str));
        let ours: Vec<_> = all.iter().filter(|each| each.is("bearer") || each.is("dpop")).collect();
        let param = |name: &str| ours.iter().find_map(|each| each.param(name));
        let is_step_up = param("error") == Some("insufficient_scope");
        if challenge.status != StatusCode::UNAUTHORIZED && !is_step_up {
            return None;
        }
        let asks_nonce = param("error") == Some("use_dpop_nonce");
        let nonce = challenge.dpop_nonce.as_deref().filter(|_| asks_nonce).and_then(accepted_nonce);
        let scopes = param("scope").map(|scopes| Scopes::lenient([scopes])).filter(|scopes| !scopes.is_empty());
        Some(Self {
            metadata: param("resource_metadata").map(str::to_owned),
            scopes,
            is_step_up,
            offers_bearer: ours.iter().any(|each| each.is("bearer")),
            offers_dpop: ours.iter().any(|each| each.is("dpop")),
            nonce: nonce.map(str::to_owned),
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
        assert_eq!(demand.scopes.unwrap().to_string(), "a b");
        assert!(demand.offers_bearer && !demand.offers_dpop && !demand.is_step_up && demand.nonce.is_none());
        let demand = read(401, &["DPoP error=\"use_dpop_nonce\"", "Bearer scope=\"\""]).unwrap();
        assert!(demand.offers_bearer && demand.offers_dpop && demand.scopes.is_none());
        assert_eq!(demand.nonce.as_deref(), Some("n"));
        assert_eq!(read(401, &[]), Some(TokenDemand::default()));
    }

    #[test]
    fn only_insufficient_scope_makes_403_a_demand() {
        assert!(read(403, &["Bearer error=\"insufficient_scope\", scope=\"a\""]).unwrap().is_step_up);
        assert_eq!(read(403, &[]), None);
        assert_eq!(read(403, &["Bearer error=\"invalid_token\""]), None);
        assert_eq!(read(403, &["Basic error=\"insufficient_scope\""]), None);
    }
}

//! The authorization server of a flow, and the token that is wanted from it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::authorizer::AuthorizationError;
use crate::config::{Grant, OAuthConfig};
use crate::credentials::{ClientRegistration, Credentials, Token};
use crate::demand::TokenDemand;
use crate::metadata::{ResourceMetadata, ServerMetadata, brief};
use crate::scope_choice::{OFFLINE, ScopeSources};
use crate::signing::Es256Key;
use protomcp_auth::Scopes;
use protomcp_auth::{Url, brief_url};

/// The grant of RFC 7523, section 2.1.
const JWT_BEARER: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// The authorization server of a flow, and the token that is wanted from it.
pub(crate) struct Target {
    pub(crate) server: ServerMetadata,
    pub(crate) indicator: Option<String>,
    pub(crate) scopes: Option<Scopes>,
    /// The key that the token is to be bound to.
    pub(crate) dpop_key: Option<Es256Key>,
    /// The stored credentials of this issuer.
    pub(crate) previous: Option<Credentials>,
}

impl Target {
    pub(crate) fn new(
        config: &OAuthConfig,
        demand: &TokenDemand,
        resource: Option<ResourceMetadata>,
        server: ServerMetadata,
        previous: Option<Credentials>,
    ) -> Result<Self, AuthorizationError> {
        let requested = previous.as_ref().map(|previous| Scopes::lenient([previous.requested.as_str()]));
        let sources = ScopeSources {
            challenge: demand.scopes.as_ref(),
            configured: config.scopes.as_ref(),
            published: resource.as_ref().and_then(|resource| resource.scopes.as_ref()),
            previous: requested.as_ref(),
            issuer: server.scopes.as_deref(),
            wants_refresh: matches!(config.grant, Grant::AuthorizationCode),
        };
        let scopes = sources.choose();
        let dpop_key = if is_bound(demand, resource.as_ref(), &server)? {
            let known = previous.as_ref().and_then(dpop_key);
            Some(known.unwrap_or_else(Es256Key::generate))
        } else {
            None
        };
        let indicator = match resource {
            Some(resource) => Some(resource.resource),
            None => unpublished_indicator(config, &server, previous.as_ref()),
        };
        Ok(Self { server, indicator, scopes, dpop_key, previous })
    }

    /// The authorization endpoint, if a user can sign in there with PKCE.
    pub(crate) fn check_sign_in(&self) -> Result<&Url, AuthorizationError> {
        let issuer = || brief_url(&self.server.issuer);
        if !self.server.has_s256 {
            let reason = format!("{} does not say that it supports PKCE with S256", issuer());
            return Err(AuthorizationError::Unsupported(reason));
        }
        let endpoint = self.server.authorization_endpoint.as_ref();
        endpoint.ok_or_else(|| AuthorizationError::Unsupported(format!("users cannot sign in at {}", issuer())))
    }

    /// Checks that a request for more scopes can have another result than the one before.
    pub(crate) fn check_step_up(&self, is_after_grant: bool) -> Result<(), AuthorizationError> {
        let Some(previous) = &self.previous else { return Ok(()) };
        // An authorization server may leave this one out, and no MCP server asks for it.
        let wanted = self.scopes.clone().unwrap_or_default().without(OFFLINE);
        let requested = Scopes::lenient([previous.requested.as_str()]);
        if previous.scopes().include(&wanted) || is_after_grant && requested.include(&wanted) {
            return Err(AuthorizationError::InsufficientScope(brief(&wanted.to_string())));
        }
        Ok(())
    }

    /// True if a refresh of these credentials can satisfy the demand.
    pub(crate) fn is_refreshed_by(&self, previous: &Credentials, demand: &TokenDemand) -> bool {
        let mut known = previous.scopes();
        known.add(&Scopes::lenient([previous.requested.as_str()]));
        previous.token.refresh_token.is_some()
            && !demand.is_step_up()
            && demand.scopes.as_ref().is_none_or(|scopes| known.include(scopes))
            && previous.dpop_key.is_some() == self.dpop_key.is_some()
            && previous.indicator == self.indicator
    }

    /// RFC 6749, section 4.1.3.
    pub(crate) fn code_form(&self, code: String, verifier: &str, redirect_uri: &str) -> Vec<(&'static str, String)> {
        let mut form = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code),
            ("redirect_uri", redirect_uri.to_owned()),
            ("code_verifier", verifier.to_owned()),
        ];
        form.extend(self.indicator.clone().map(|indicator| ("resource", indicator)));
        form
    }

    /// RFC 6749, section 4.4.2.
    pub(crate) fn client_credentials_form(&self) -> Vec<(&'static str, String)> {
        self.scoped(vec![("grant_type", "client_credentials".to_owned())])
    }

    /// RFC 7523, section 2.1.
    pub(crate) fn assertion_form(&self, assertion: String) -> Vec<(&'static str, String)> {
        self.scoped(vec![("grant_type", JWT_BEARER.to_owned()), ("assertion", assertion)])
    }

    /// Adds `resource` and `scope`.
    pub(crate) fn scoped(&self, mut form: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
        form.extend(self.indicator.clone().map(|indicator| ("resource", indicator)));
        form.extend(self.scopes.as_ref().map(|scopes| ("scope", scopes.to_string())));
        form
    }

    /// The credentials of a new token.
    pub(crate) fn credentials(
        &self,
        config: &OAuthConfig,
        client: ClientRegistration,
        token: Token,
        dpop_key: Option<String>,
    ) -> Credentials {
        Credentials {
            issuer: self.server.issuer.clone(),
            resource: config.resource.as_str().to_owned(),
            indicator: self.indicator.clone(),
            client,
            token_endpoint: self.server.token_endpoint.as_str().to_owned(),
            token,
            requested: self.scopes.as_ref().map(ToString::to_string).unwrap_or_default(),
            dpop_key,
        }
    }
}

/// The value of `resource` for an MCP server that publishes no metadata. MCP 2025-03-26 has no such parameter, and its
/// servers have the endpoints on their own origin. Any other issuer serves several resources, and would issue a token
/// for one of the others.
fn unpublished_indicator(
    config: &OAuthConfig,
    server: &ServerMetadata,
    previous: Option<&Credentials>,
) -> Option<String> {
    let is_elsewhere = server.endpoints().any(|endpoint| !endpoint.is_same_origin(&config.resource));
    let known = previous.and_then(|previous| previous.indicator.clone());
    known.or_else(|| (config.issuer.is_some() || is_elsewhere).then(|| config.resource().to_owned()))
}

/// The key of stored credentials.
pub(crate) fn dpop_key(credentials: &Credentials) -> Option<Es256Key> {
    let der = STANDARD.decode(credentials.dpop_key.as_ref()?).ok()?;
    Es256Key::from_pkcs8(&der).ok()
}

/// True if the token is to be bound to a key: the MCP server insists on it, or both servers support it.
fn is_bound(
    demand: &TokenDemand,
    resource: Option<&ResourceMetadata>,
    server: &ServerMetadata,
) -> Result<bool, AuthorizationError> {
    let insists = (demand.offers_dpop && !demand.offers_bearer) || resource.is_some_and(|each| each.requires_dpop);
    let supports = demand.offers_dpop || resource.is_some_and(|each| each.supports_dpop);
    match &server.dpop_algorithms {
        Some(algorithms) if algorithms.iter().any(|name| name == "ES256") => Ok(insists || supports),
        Some(_) if insists => {
            let reason = format!("{} does not support DPoP with ES256", brief_url(&server.issuer));
            Err(AuthorizationError::Unsupported(reason))
        }
        _ => Ok(insists),
    }
}

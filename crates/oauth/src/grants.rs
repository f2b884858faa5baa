//! The token requests that need no discovery: refreshing (RFC 6749, section 6) and exchanging at an identity provider
//! (RFC 8693).

use crate::authorizer::AuthorizationError;
use crate::client_choice::authentication;
use crate::config::{ClientSecret, IdentityProvider, OAuthConfig};
use crate::credentials::Credentials;
use crate::metadata::{brief, foreign_url};
use crate::target::{Target, dpop_key};
use crate::token_request::{ClientAuth, TokenRequest};
use protomcp_auth::brief_url;

/// An identity assertion for the authorization server of another domain.
pub(crate) const ID_JAG: &str = "urn:ietf:params:oauth:token-type:id-jag";

const ID_TOKEN: &str = "urn:ietf:params:oauth:token-type:id_token";
const TOKEN_EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";

/// Refreshes a token at the endpoint that has issued it.
pub(crate) fn refresh(config: &OAuthConfig, known: &Credentials) -> Result<TokenRequest, AuthorizationError> {
    if !config.may_use(known) {
        let (id, issuer) = (brief(&known.client.id), brief_url(&known.issuer));
        let reason = format!("the stored credentials belong to the client {id} at {issuer}");
        return Err(AuthorizationError::Unsupported(reason));
    }
    let refresh_token = known.token.refresh_token.clone();
    let refresh_token =
        refresh_token.ok_or_else(|| AuthorizationError::SignInRequired("the token has expired".to_owned()))?;
    let mut form = vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh_token)];
    form.extend(known.indicator.clone().map(|indicator| ("resource", indicator)));
    let endpoint = foreign_url(&known.token_endpoint, &config.resource)?;
    let auth = authentication(&known.client, config, &known.issuer)?;
    Ok(TokenRequest::new(endpoint, form, auth).bound_to(dpop_key(known)))
}

/// Exchanges an ID token for an assertion that the authorization server of the MCP server accepts.
pub(crate) fn exchange(provider: &IdentityProvider, target: &Target, id_token: String) -> TokenRequest {
    let form = target.scoped(vec![
        ("grant_type", TOKEN_EXCHANGE.to_owned()),
        ("requested_token_type", ID_JAG.to_owned()),
        ("audience", target.server.issuer.clone()),
        ("subject_token", id_token),
        ("subject_token_type", ID_TOKEN.to_owned()),
    ]);
    let id = provider.client.id.clone();
    let auth = match &provider.client.secret {
        ClientSecret::None => ClientAuth::None { id },
        ClientSecret::Secret(secret) => ClientAuth::Basic { id, secret: secret.clone() },
        ClientSecret::Key(key) => {
            let audience = provider.token_endpoint.as_str().to_owned();
            ClientAuth::PrivateKeyJwt { id, key: key.clone(), audience }
        }
    };
    TokenRequest::new(provider.token_endpoint.clone(), form, auth)
}

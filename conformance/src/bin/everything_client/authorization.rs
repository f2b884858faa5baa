//! The OAuth client of each scenario: who this program is, and by which grant it obtains tokens.

use std::error::Error;

use protomcp_oauth::{
    ClientSecret, ConfiguredClient, Es256Key, Grant, IdentityProvider, OAuthClient, OAuthConfig, Url,
};

use crate::assignment::{Assignment, Context};
use crate::sign_in::WillingUser;

/// The id that this program has where authorization servers read the metadata of clients from a URL.
const CLIENT_URL: &str = "https://conformance-test.local/client-metadata.json";

pub(crate) fn client(assignment: &Assignment) -> Result<OAuthClient, Box<dyn Error>> {
    let context = &assignment.context;
    let mut config = OAuthConfig::new(&assignment.url)?.client_name("everything").grant(grant(assignment)?);
    // Without one of these the client registers itself.
    if assignment.scenario == "auth/basic-cimd" {
        config = config.client_url(Url::parse(CLIENT_URL)?);
    }
    if let Some(id) = &context.client_id {
        config = config.client(ConfiguredClient::new(id, secret(context)?));
    }
    config = match &context.issuer {
        Some(issuer) => config.issuer(Url::parse(issuer)?),
        // The scenarios without a user give secrets and assertions, and no issuer to send them to.
        None => config.trust_named_issuer(),
    };
    let mut client = OAuthClient::builder(config).user_agent(WillingUser);
    if let Some(token) = context.valid_jwt.as_ref().or(context.idp_id_token.as_ref()) {
        client = client.subject_tokens(token.clone());
    }
    Ok(client.build())
}

fn grant(assignment: &Assignment) -> Result<Grant, Box<dyn Error>> {
    Ok(match assignment.scenario.as_str() {
        "auth/client-credentials-basic" | "auth/client-credentials-jwt" => Grant::ClientCredentials,
        "auth/wif-jwt-bearer" => Grant::JwtBearer,
        "auth/enterprise-managed-authorization" => Grant::EnterpriseManaged(identity_provider(&assignment.context)?),
        // A user signs in.
        _ => Grant::AuthorizationCode,
    })
}

fn secret(context: &Context) -> Result<ClientSecret, Box<dyn Error>> {
    Ok(match (&context.client_secret, &context.private_key_pem) {
        (Some(secret), _) => ClientSecret::Secret(secret.clone()),
        (None, Some(pem)) => ClientSecret::Key(Es256Key::from_pem(pem)?),
        (None, None) => ClientSecret::None,
    })
}

fn identity_provider(context: &Context) -> Result<IdentityProvider, Box<dyn Error>> {
    let endpoint = context.idp_token_endpoint.as_ref().ok_or("the identity provider has no token endpoint")?;
    let id = context.idp_client_id.as_ref().ok_or("the identity provider does not know this program")?;
    Ok(IdentityProvider::new(Url::parse(endpoint)?, ConfiguredClient::new(id, ClientSecret::None)))
}

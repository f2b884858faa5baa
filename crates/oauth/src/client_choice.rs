//! The client that a flow acts as: configured, named by a URL, known from before, or registered now (MCP 2025-11-25,
//! "Client Registration Approaches", in this order; RFC 7591).

use std::time::SystemTime;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value, json};

use crate::authorizer::AuthorizationError;
use crate::config::{ClientSecret, ConfiguredClient, OAuthConfig};
use crate::credentials::{AuthMethod, ClientRegistration, ClientSource};
use crate::exchange::{HttpRequest, HttpResponse};
use crate::metadata::{MAX_TEXT, ServerMetadata, Source, brief, json_object, untrusted};
use crate::token_request::ClientAuth;
use protomcp_auth::{Url, brief_url};

/// The client of a flow.
pub(crate) enum ClientChoice {
    Known(ClientRegistration),
    /// Has to be registered first.
    Register(HttpRequest),
}

/// Chooses the client. `known` comes from earlier credentials of the same issuer.
pub(crate) fn choose(
    config: &OAuthConfig,
    server: &ServerMetadata,
    known: Option<&ClientRegistration>,
    redirect_uri: &str,
    now: SystemTime,
) -> Result<ClientChoice, AuthorizationError> {
    if let Some(client) = &config.client {
        return configured(client, server, redirect_uri).map(ClientChoice::Known);
    }
    if let Some(url) = config.client_url.as_ref().filter(|_| server.takes_client_urls) {
        return Ok(ClientChoice::Known(ClientRegistration {
            id: url.as_str().to_owned(),
            source: ClientSource::Url,
            secret: None,
            auth_method: AuthMethod::None,
            redirect_uri: redirect_uri.to_owned(),
            expires: None,
        }));
    }
    let is_usable = |known: &&ClientRegistration| {
        known.source == ClientSource::Registered && known.redirect_uri == redirect_uri && !known.has_expired(now)
    };
    if let Some(known) = known.filter(is_usable) {
        return Ok(ClientChoice::Known(known.clone()));
    }
    let endpoint = server.registration_endpoint.as_ref().ok_or_else(|| {
        AuthorizationError::Unsupported(format!(
            "{} registers no clients by itself; register one with its operator and configure its id",
            brief_url(&server.issuer)
        ))
    })?;
    registration(config, server, endpoint, redirect_uri).map(ClientChoice::Register)
}

fn configured(
    client: &ConfiguredClient,
    server: &ServerMetadata,
    redirect_uri: &str,
) -> Result<ClientRegistration, AuthorizationError> {
    let auth_method = match &client.secret {
        ClientSecret::None => AuthMethod::None,
        ClientSecret::Key(_) => AuthMethod::PrivateKeyJwt,
        ClientSecret::Secret(_) => secret_method(server).ok_or_else(|| {
            let reason = format!("{} does not accept client secrets", brief_url(&server.issuer));
            AuthorizationError::Unsupported(reason)
        })?,
    };
    Ok(ClientRegistration {
        id: client.id.clone(),
        source: ClientSource::Configured,
        secret: None,
        auth_method,
        redirect_uri: redirect_uri.to_owned(),
        expires: None,
    })
}

/// The method by which a secret is sent. A server that lists none supports Basic (RFC 8414, section 2).
fn secret_method(server: &ServerMetadata) -> Option<AuthMethod> {
    let Some(listed) = &server.auth_methods else { return Some(AuthMethod::ClientSecretBasic) };
    let preferred = [AuthMethod::ClientSecretBasic, AuthMethod::ClientSecretPost];
    preferred.into_iter().find(|method| listed.iter().any(|name| name == method.name()))
}

/// The method to register with: a public client where that is possible, since a secret in a program on a user's machine
/// proves nothing.
fn registered_method(server: &ServerMetadata) -> Result<AuthMethod, AuthorizationError> {
    let is_public = server.auth_methods.as_ref().is_some_and(|listed| listed.iter().any(|name| name == "none"));
    let method = if is_public { Some(AuthMethod::None) } else { secret_method(server) };
    method.ok_or_else(|| {
        let reason = format!("{} supports neither public clients nor client secrets", brief_url(&server.issuer));
        AuthorizationError::Unsupported(reason)
    })
}

/// The request of a dynamic registration (RFC 7591, section 3.1).
fn registration(
    config: &OAuthConfig,
    server: &ServerMetadata,
    endpoint: &Url,
    redirect_uri: &str,
) -> Result<HttpRequest, AuthorizationError> {
    let is_native = Url::parse(redirect_uri).is_ok_and(|uri| uri.is_on_this_machine());
    let mut grant_types = vec!["authorization_code"];
    if server.may_grant("refresh_token") {
        grant_types.push("refresh_token");
    }
    let metadata = json!({
        "client_name": config.client_name,
        "redirect_uris": [redirect_uri],
        "grant_types": grant_types,
        "response_types": ["code"],
        "token_endpoint_auth_method": registered_method(server)?.name(),
        "application_type": if is_native { "native" } else { "web" },
    });
    let json = HeaderValue::from_static("application/json");
    let headers = HeaderMap::from_iter([(ACCEPT, json.clone()), (CONTENT_TYPE, json)]);
    Ok(HttpRequest { method: Method::POST, url: endpoint.clone(), headers, body: metadata.to_string() })
}

/// Reads the response to a registration (RFC 7591, section 3.2).
pub(crate) fn registered(
    response: &HttpResponse,
    server: &ServerMetadata,
    redirect_uri: &str,
) -> Result<ClientRegistration, AuthorizationError> {
    let issuer = brief_url(&server.issuer);
    let document = json_object(response).unwrap_or_default();
    let text = |name: &str| document.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    if response.status.is_server_error() {
        return Err(AuthorizationError::Unavailable(format!(
            "the registration at {issuer} fails: {}",
            response.status
        )));
    }
    if server.source == Source::Assumed && !response.status.is_success() && text("error").is_none() {
        // There is no authorization server: the token comes from elsewhere.
        return Err(AuthorizationError::NoIssuer);
    }
    if !response.status.is_success() {
        let code = text("error").map_or_else(|| response.status.to_string(), brief);
        return Err(AuthorizationError::Refused { code, description: text("error_description").map(brief) });
    }
    let bounded = |name: &str| match text(name) {
        Some(value) if value.len() > MAX_TEXT => Err(untrusted(format!("{issuer} sends a {name} that is too long"))),
        value => Ok(value.map(str::to_owned)),
    };
    let id = bounded("client_id")?.ok_or_else(|| untrusted(format!("{issuer} registers a client without an id")))?;
    let secret = bounded("client_secret")?;
    let auth_method = match (text("token_endpoint_auth_method"), &secret) {
        (Some(name), _) => AuthMethod::parse(name)
            .filter(|method| *method != AuthMethod::PrivateKeyJwt)
            .ok_or_else(|| untrusted(format!("{issuer} registers a client with the method {}", brief(name))))?,
        (None, Some(_)) => secret_method(server).unwrap_or(AuthMethod::None),
        (None, None) => AuthMethod::None,
    };
    // Zero means never.
    let expires = document.get("client_secret_expires_at").and_then(Value::as_u64).filter(|expires| *expires > 0);
    let redirect_uri = redirect_uri.to_owned();
    Ok(ClientRegistration { id, source: ClientSource::Registered, secret, auth_method, redirect_uri, expires })
}

/// The authentication of a client, with the secret of the configuration if it was configured.
pub(crate) fn authentication(
    client: &ClientRegistration,
    config: &OAuthConfig,
    issuer: &str,
) -> Result<ClientAuth, AuthorizationError> {
    let id = client.id.clone();
    let configured = config.client.as_ref().filter(|_| client.source == ClientSource::Configured);
    if client.source == ClientSource::Configured && configured.is_none_or(|configured| configured.id != id) {
        let reason = format!("the client {} is no longer configured", brief(&id));
        return Err(AuthorizationError::Unsupported(reason));
    }
    config.check_issuer(issuer)?;
    let secret = match configured.map(|configured| &configured.secret) {
        Some(ClientSecret::Key(key)) => {
            return Ok(ClientAuth::PrivateKeyJwt { id, key: key.clone(), audience: issuer.to_owned() });
        }
        Some(ClientSecret::Secret(secret)) => Some(secret.clone()),
        Some(ClientSecret::None) => None,
        None => client.secret.clone(),
    };
    Ok(match (client.auth_method, secret) {
        (AuthMethod::ClientSecretBasic, Some(secret)) => ClientAuth::Basic { id, secret },
        (AuthMethod::ClientSecretPost, Some(secret)) => ClientAuth::Post { id, secret },
        _ => ClientAuth::None { id },
    })
}

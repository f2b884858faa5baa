//! The server as a protected resource: it names the issuers of tokens, and requires one on every request.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use http::HeaderMap;
use http::request::Parts;
use protomcp_fair::LogRate;
use serde_json::{Value, json};

use crate::bearer::{BearerToken, bearer_token};
use crate::identity::Identity;
use crate::peer::PeerKey;
use crate::rejection::{Fault, Rejection};
use crate::scopes::Scopes;
use crate::url::{Url, UrlError};
use crate::verifier::{AnyVerifier, TokenError, Verifier};

/// RFC 9728, section 3.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// A request, as far as authorization depends on it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Operation<'a> {
    /// The method of MCP, such as `tools/call`. `skills/get` and `resources/directory/read` (SEP-2640) are
    /// `resources/read` here: they show what it reads.
    pub method: &'a str,
    /// The name of a tool or a prompt, the URI of a resource, or the id of a task.
    pub name: Option<&'a str>,
    /// The HTTP request.
    pub parts: &'a Parts,
}

impl<'a> Operation<'a> {
    /// Describes a request.
    #[must_use]
    pub fn new(method: &'a str, name: Option<&'a str>, parts: &'a Parts) -> Self {
        Self { method, name, parts }
    }
}

type Policy = dyn Fn(&Operation<'_>) -> Scopes + Send + Sync;

/// Decides about access to a server. Cloning is cheap.
#[derive(Clone)]
pub struct ResourceServer {
    resource: Url,
    issuers: Vec<Url>,
    verifier: Arc<dyn AnyVerifier>,
    required: Scopes,
    supported: Scopes,
    name: Option<Box<str>>,
    policy: Option<Arc<Policy>>,
    /// For tokens that cannot be checked.
    log: Arc<LogRate>,
    refusals: Arc<LogRate>,
}

impl ResourceServer {
    /// Protects the server at `resource`, the URL under which clients reach it: one of HTTP, or `protos://host:port` for
    /// proto-mcp over TCP. Tokens come from `issuer` and are
    /// checked by `verifier`.
    ///
    /// # Errors
    /// If one of the texts is not a valid URL.
    pub fn new(resource: &str, issuer: &str, verifier: impl Verifier) -> Result<Self, UrlError> {
        Ok(Self {
            resource: Url::parse_resource(resource)?,
            issuers: vec![Url::parse(issuer)?],
            verifier: Arc::new(verifier),
            required: Scopes::default(),
            supported: Scopes::default(),
            name: None,
            policy: None,
            log: Arc::default(),
            refusals: Arc::default(),
        })
    }

    /// Names one more issuer to clients. The verifier must know its tokens.
    ///
    /// # Errors
    /// If the text is not a valid URL.
    pub fn add_issuer(mut self, issuer: &str) -> Result<Self, UrlError> {
        self.issuers.push(Url::parse(issuer)?);
        Ok(self)
    }

    /// Adds scopes that every request needs.
    #[must_use]
    pub fn require(mut self, scopes: &Scopes) -> Self {
        self.required.add(scopes);
        self.supported(scopes)
    }

    /// Adds scopes that clients may ask for, besides the required ones. Omit `offline_access`, which is between a
    /// client and the issuer.
    #[must_use]
    pub fn supported(mut self, scopes: &Scopes) -> Self {
        self.supported.add(scopes);
        self
    }

    /// Sets the name that people see when they are asked to grant a client access.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the scopes that a request needs besides the required ones. A response to a request without one of them
    /// names all of them, so that the client can ask for a better token. List them in [`ResourceServer::supported`],
    /// too.
    #[must_use]
    pub fn scopes_for(mut self, policy: impl Fn(&Operation<'_>) -> Scopes + Send + Sync + 'static) -> Self {
        self.policy = Some(Arc::new(policy));
        self
    }

    /// Checks that a request from this machine carries a valid token with the scopes that every request needs.
    ///
    /// # Errors
    /// The response to the request otherwise.
    pub async fn authenticate(&self, headers: &HeaderMap, peer: PeerKey) -> Result<Identity, Rejection> {
        let token = match bearer_token(headers) {
            BearerToken::Nothing => return Err(self.deny(Fault::NoToken)),
            BearerToken::Malformed(why) => return Err(self.deny(Fault::Malformed(why))),
            BearerToken::Token(token) => token,
        };
        match self.verifier.verify_for(token, peer).await {
            Ok(identity) if identity.scopes().include(&self.required) => Ok(identity),
            Ok(_) => Err(self.deny(Fault::InsufficientScope(&self.required))),
            Err(TokenError::Invalid(why)) => Err(self.deny(Fault::InvalidToken(why))),
            Err(TokenError::Unavailable(why)) => {
                if let Some(more) = more(&self.log) {
                    tracing::error!("a request was refused because its token cannot be checked: {why}{more}");
                }
                Err(Rejection::unavailable())
            }
        }
    }

    /// True if requests may need more scopes than [`ResourceServer::authenticate`] checks.
    #[must_use]
    pub fn has_policy(&self) -> bool {
        self.policy.is_some()
    }

    /// The scopes that an operation needs besides the required ones ([`ResourceServer::scopes_for`]).
    #[must_use]
    pub fn needed(&self, operation: &Operation<'_>) -> Scopes {
        self.policy.as_ref().map_or_else(Scopes::default, |policy| policy(operation))
    }

    /// Checks that an authenticated caller has the scopes for an operation, or for reading the result of one.
    ///
    /// # Errors
    /// The response to the request otherwise, with all scopes that it needs.
    pub fn authorize(&self, identity: &Identity, needed: &Scopes) -> Result<(), Rejection> {
        if identity.scopes().include(needed) {
            return Ok(());
        }
        let mut all = self.required.clone();
        all.add(needed);
        Err(self.deny(Fault::InsufficientScope(&all)))
    }

    /// The URL of the server.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.resource.as_str()
    }

    /// The path of the server's description, on its own origin.
    #[must_use]
    pub fn metadata_path(&self) -> String {
        format!("{WELL_KNOWN}{}", self.resource.path())
    }

    /// The server's description (RFC 9728, section 2), if this is its path or the root's, which some clients try first
    /// (MCP 2025-11-25, basic/authorization, server discovery).
    #[must_use]
    pub fn metadata(&self, path: &str) -> Option<Value> {
        let suffix = path.strip_prefix(WELL_KNOWN)?;
        if !suffix.is_empty() && suffix.trim_end_matches('/') != self.resource.path() {
            return None;
        }
        let mut document = json!({
            "resource": self.resource.as_str(),
            "authorization_servers": self.issuers.iter().map(Url::as_str).collect::<Vec<_>>(),
            "bearer_methods_supported": ["header"],
        });
        if !self.supported.is_empty() {
            document["scopes_supported"] = self.supported.iter().collect();
        }
        if let Some(name) = &self.name {
            document["resource_name"] = Value::from(&**name);
        }
        Some(document)
    }

    fn deny(&self, fault: Fault<'_>) -> Rejection {
        let metadata = format!("{}{}", self.resource.origin(), self.metadata_path());
        let rejection = Rejection::new(fault, &metadata, &self.required);
        // The reason is a text of this program, and has no part of the token.
        if let Some(more) = more(&self.refusals) {
            tracing::info!("a request was refused: {}{more}", rejection.why);
        }
        rejection
    }
}

/// The end of a line of the log, if one may be written now.
fn more(log: &LogRate) -> Option<String> {
    let left_out = log.permit(Instant::now())?.count();
    Some(if left_out > 0 { format!(" ({left_out} more since the last line)") } else { String::new() })
}

impl fmt::Debug for ResourceServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResourceServer")
            .field("resource", &self.resource.as_str())
            .field("required", &self.required.to_string())
            .finish_non_exhaustive()
    }
}

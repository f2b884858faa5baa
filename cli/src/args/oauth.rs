//! The OAuth flags.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use protomcp_auth::{
    ClientCredentials, HttpClient, Introspection, JwtVerifier, KeySet, KeySource, ResourceServer, Scopes, TokenPolicy,
    Url,
};
use protomcp_server::layer::tool_names::{Spelling, ToolNamesLayer, folded};

use crate::exit::Failure;

pub(super) const HEADING: &str = "OAuth, over HTTP and TCP";

#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(super) struct OAuthFlags {
    /// Require tokens of this authorization server (OAuth 2.1); its issuer identifier, exactly as in its metadata
    #[arg(long, value_name = "URL")]
    oauth_issuer: Option<String>,

    /// Location of the issuer's signing keys [default: from the issuer's metadata]
    #[arg(long, value_name = "URL|FILE")]
    oauth_jwks: Option<String>,

    /// Token introspection endpoint, instead of checking signatures; needs a client id and secret
    #[arg(long, value_name = "URL")]
    oauth_introspect: Option<String>,

    /// Client id for introspection
    #[arg(long, value_name = "ID")]
    oauth_client_id: Option<String>,

    /// Environment variable with the client secret for introspection
    #[arg(long, value_name = "ENV_VAR")]
    oauth_client_secret_env: Option<String>,

    /// Additional audience to accept besides the URL of this server; may be repeated
    #[arg(long, value_name = "AUDIENCE")]
    oauth_audience: Vec<String>,

    /// Scope that every token must have; may be repeated
    #[arg(long, value_name = "SCOPE")]
    oauth_scope: Vec<String>,

    /// Additional scope for calls of this tool; may be repeated
    #[arg(long, value_name = "TOOL=SCOPE")]
    oauth_tool_scope: Vec<String>,
}

/// The accepted tokens and required scopes.
#[derive(Debug)]
pub(crate) struct OAuthOptions {
    issuer: Url,
    check: Check,
    audiences: Vec<String>,
    scopes: Scopes,
    /// By the folded name of the tool: no spelling of it gets around its scope.
    tool_scopes: HashMap<String, Scopes>,
    /// The names of the tools, as they were given.
    tools: ToolNamesLayer,
}

/// The way to validate a token.
#[derive(Debug)]
enum Check {
    Signature(KeySource),
    Question(Url, ClientCredentials),
}

impl OAuthFlags {
    /// Checks the flags. `env` looks up a variable.
    pub(super) fn options(self, env: impl Fn(&str) -> Option<String>) -> Result<Option<OAuthOptions>, Failure> {
        let given = self.first_given();
        let Some(issuer) = &self.oauth_issuer else {
            return match given {
                Some(flag) => {
                    Err(Failure::usage(format!("{flag} needs --oauth-issuer: the URL of the authorization server")))
                }
                None => Ok(None),
            };
        };
        let issuer = url("--oauth-issuer", issuer)?;
        let check = self.check(&issuer, env)?;
        let (mut scopes, mut tool_scopes) = (Scopes::default(), HashMap::<String, Scopes>::new());
        let mut tools = Vec::new();
        for text in &self.oauth_scope {
            scopes.add(&scope("--oauth-scope", text, text)?);
        }
        for text in &self.oauth_tool_scope {
            // Tool names may contain `=`, scopes rarely do.
            let Some((tool, words)) = text.rsplit_once('=').filter(|(tool, _)| !tool.is_empty()) else {
                let why = "expected TOOL=SCOPE, such as deploy=tools:deploy";
                return Err(Failure::usage(format!("invalid --oauth-tool-scope \"{text}\": {why}")));
            };
            tool_scopes.entry(folded(tool)).or_default().add(&scope("--oauth-tool-scope", text, words)?);
            tools.push(tool);
        }
        let tools = ToolNamesLayer::new("--oauth-tool-scope", tools, Spelling::Any);
        Ok(Some(OAuthOptions { issuer, check, audiences: self.oauth_audience, scopes, tool_scopes, tools }))
    }

    /// True if there is an issuer of tokens.
    pub(super) fn has_issuer(&self) -> bool {
        self.oauth_issuer.is_some()
    }

    /// A flag that has no effect without an issuer.
    fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--oauth-jwks", self.oauth_jwks.is_some()),
            ("--oauth-introspect", self.oauth_introspect.is_some()),
            ("--oauth-client-id", self.oauth_client_id.is_some()),
            ("--oauth-client-secret-env", self.oauth_client_secret_env.is_some()),
            ("--oauth-audience", !self.oauth_audience.is_empty()),
            ("--oauth-scope", !self.oauth_scope.is_empty()),
            ("--oauth-tool-scope", !self.oauth_tool_scope.is_empty()),
        ];
        given.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    fn check(&self, issuer: &Url, env: impl Fn(&str) -> Option<String>) -> Result<Check, Failure> {
        let Self { oauth_jwks: keys, oauth_introspect: endpoint, oauth_client_id: id, oauth_client_secret_env, .. } =
            self;
        match (endpoint, keys) {
            (Some(_), Some(_)) => {
                let why = "use either --oauth-introspect or --oauth-jwks";
                Err(Failure::usage(why))
            }
            (Some(endpoint), None) => {
                let endpoint = url("--oauth-introspect", endpoint)?;
                let (Some(id), Some(variable)) = (id, oauth_client_secret_env) else {
                    let why = "introspection requires client authentication";
                    return Err(Failure::usage(format!(
                        "--oauth-introspect needs --oauth-client-id and --oauth-client-secret-env: {why}"
                    )));
                };
                let secret = env(variable).filter(|secret| !secret.is_empty()).ok_or_else(|| {
                    let by = "required by --oauth-client-secret-env";
                    Failure::usage(format!("environment variable \"{variable}\" is not set ({by})"))
                })?;
                Ok(Check::Question(endpoint, ClientCredentials::new(id, &secret)))
            }
            (None, _) if id.is_some() || oauth_client_secret_env.is_some() => {
                let why = "only introspection authenticates a client";
                Err(Failure::usage(format!(
                    "--oauth-client-id and --oauth-client-secret-env need --oauth-introspect: {why}"
                )))
            }
            (None, None) => Ok(Check::Signature(KeySource::Issuer(issuer.clone()))),
            (None, Some(place)) if place.contains("://") => {
                Ok(Check::Signature(KeySource::Url(url("--oauth-jwks", place)?)))
            }
            (None, Some(place)) => {
                let wrong =
                    |why: &dyn std::fmt::Display| Failure::usage(format!("invalid --oauth-jwks \"{place}\": {why}"));
                let keys = std::fs::read(place).map_err(|error| wrong(&error))?;
                KeySet::parse(&keys).map_err(|error| wrong(&error))?;
                Ok(Check::Signature(KeySource::File(PathBuf::from(place))))
            }
        }
    }
}

/// A resource server, and its questions to the issuer, if it asks about each token.
pub(crate) struct Protection {
    pub(crate) server: ResourceServer,
    pub(crate) introspection: Option<Arc<Introspection>>,
    /// Warns of tools with scopes that the server does not have.
    pub(crate) tools: ToolNamesLayer,
}

impl OAuthOptions {
    /// The resource server at this URL. Keys are fetched in the background, so that errors are logged early.
    pub(crate) fn protection(self, resource: &str) -> Result<Protection, Failure> {
        let Self { issuer, check, audiences, scopes, tool_scopes, tools } = self;
        let expected = TokenPolicy::new(issuer.as_str(), resource);
        let expected = audiences.iter().fold(expected, |expected, audience| expected.add_audience(audience));
        let client = HttpClient::default();
        let mut introspection = None;
        let server = match check {
            Check::Signature(keys) => {
                let verifier = Arc::new(JwtVerifier::new(expected, keys, client));
                let prepared = Arc::clone(&verifier);
                // Errors are logged.
                tokio::spawn(async move { prepared.prepare().await });
                ResourceServer::new(resource, issuer.as_str(), verifier)
            }
            Check::Question(endpoint, credentials) => {
                let verifier = Arc::new(Introspection::new(endpoint, credentials, expected, client));
                introspection = Some(Arc::clone(&verifier));
                ResourceServer::new(resource, issuer.as_str(), verifier)
            }
        };
        let server = server.map_err(|error| {
            Failure::usage(format!(
                "the URL of this server cannot identify it: {error}; set another one with --public-url"
            ))
        })?;
        let server = tool_scopes.values().fold(server.require(&scopes), ResourceServer::supported);
        if tool_scopes.is_empty() {
            return Ok(Protection { server, introspection, tools });
        }
        let server = server.scopes_for(move |operation| match (operation.method, operation.name) {
            ("tools/call", Some(tool)) => tool_scopes.get(&folded(tool)).cloned().unwrap_or_default(),
            _ => Scopes::default(),
        });
        Ok(Protection { server, introspection, tools })
    }

    /// The issuer of accepted tokens.
    pub(crate) fn issuer(&self) -> &str {
        self.issuer.as_str()
    }
}

fn url(flag: &str, text: &str) -> Result<Url, Failure> {
    Url::parse(text).map_err(|error| Failure::usage(format!("invalid {flag}: {error}")))
}

fn scope(flag: &str, text: &str, words: &str) -> Result<Scopes, Failure> {
    words.parse().map_err(|error| Failure::usage(format!("invalid {flag} \"{text}\": {error}")))
}

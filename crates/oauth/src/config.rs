//! The settings of an OAuth client.

use std::fmt;

use crate::authorizer::AuthorizationError;
use crate::credentials::{ClientSource, Credentials};
use crate::metadata::is_same_issuer;
use crate::signing::Es256Key;
use protomcp_auth::Scopes;
use protomcp_auth::{Url, UrlError, brief_url};

/// The settings of an OAuth client for one MCP server.
#[derive(Debug, Clone)]
pub struct OAuthConfig {
    pub(crate) resource: Url,
    pub(crate) client_name: String,
    pub(crate) client: Option<ConfiguredClient>,
    pub(crate) client_url: Option<Url>,
    pub(crate) issuer: Option<Url>,
    trusts_named_issuer: bool,
    pub(crate) scopes: Option<Scopes>,
    pub(crate) grant: Grant,
}

/// A client that was registered with its authorization server by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredClient {
    pub(crate) id: String,
    pub(crate) secret: ClientSecret,
}

/// The proof by which a client authenticates at the token endpoint.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientSecret {
    /// None: a public client.
    None,
    /// A secret, sent by the method that the authorization server supports (`client_secret_basic` if it has the choice).
    Secret(String),
    /// A key that signs assertions with ES256 (`private_key_jwt`, RFC 7523).
    Key(Es256Key),
}

impl fmt::Debug for ClientSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "None",
            Self::Secret(_) => "Secret(..)",
            Self::Key(_) => "Key(..)",
        })
    }
}

/// The grant by which a client obtains tokens.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub enum Grant {
    /// A user signs in and agrees (RFC 6749, section 4.1, with PKCE).
    #[default]
    AuthorizationCode,
    /// The client acts for itself (RFC 6749, section 4.4). With a secret it needs [`OAuthConfig::issuer`].
    ClientCredentials,
    /// The client acts as the workload that an assertion names (RFC 7523, section 2.1): workload identity. The subject
    /// token is the assertion. Needs [`OAuthConfig::issuer`].
    JwtBearer,
    /// An identity provider of the enterprise grants access (RFC 8693, then RFC 7523). The subject token is the ID token
    /// of the user. Needs [`OAuthConfig::issuer`].
    EnterpriseManaged(IdentityProvider),
}

/// The identity provider of an enterprise, where an ID token is exchanged for an assertion.
#[derive(Debug, Clone)]
pub struct IdentityProvider {
    pub(crate) token_endpoint: Url,
    pub(crate) client: ConfiguredClient,
}

impl ConfiguredClient {
    /// A client with this id.
    #[must_use]
    pub fn new(id: impl Into<String>, secret: ClientSecret) -> Self {
        Self { id: id.into(), secret }
    }
}

impl IdentityProvider {
    /// The provider with this token endpoint, at which the client is registered as `client`.
    #[must_use]
    pub fn new(token_endpoint: Url, client: ConfiguredClient) -> Self {
        Self { token_endpoint, client }
    }
}

impl OAuthConfig {
    /// A client of the MCP server at this URL. It registers itself, and a user signs in.
    ///
    /// # Errors
    /// If the text is not a URL, or would be sent unencrypted over a network.
    pub fn new(resource: &str) -> Result<Self, UrlError> {
        Ok(Self {
            resource: Url::parse(resource)?,
            client_name: "protomcp".to_owned(),
            client: None,
            client_url: None,
            issuer: None,
            trusts_named_issuer: false,
            scopes: None,
            grant: Grant::AuthorizationCode,
        })
    }

    /// The name that users see when they are asked for consent. Default `protomcp`.
    #[must_use]
    pub fn client_name(mut self, name: impl Into<String>) -> Self {
        self.client_name = name.into();
        self
    }

    /// Uses this client instead of registering one. Set [`issuer`](Self::issuer) too: otherwise the client belongs to
    /// the first issuer that the MCP server names. With [`ClientSecret::Secret`] it is required.
    #[must_use]
    pub fn client(mut self, client: ConfiguredClient) -> Self {
        self.client = Some(client);
        self
    }

    /// The URL of this client's own metadata (Client ID Metadata Documents), used as its id where that is supported.
    /// The document must list the redirect URI.
    #[must_use]
    pub fn client_url(mut self, url: Url) -> Self {
        self.client_url = Some(url);
        self
    }

    /// Uses this authorization server and no other, spelled exactly as it names itself.
    #[must_use]
    pub fn issuer(mut self, issuer: Url) -> Self {
        self.issuer = Some(issuer);
        self
    }

    /// Sends the client's secret, or the assertion that identifies it, to the issuer that the MCP server names, if no
    /// [`issuer`](Self::issuer) is set. For MCP servers that are trusted with both: any other could name its own issuer
    /// and collect them. By default such a grant is [`Unsupported`](crate::AuthorizationError::Unsupported), and the
    /// error says the issuer that the server names.
    #[must_use]
    pub fn trust_named_issuer(mut self) -> Self {
        self.trusts_named_issuer = true;
        self
    }

    /// The scopes to ask for when the MCP server does not name any in its challenge. Default: all that it publishes.
    #[must_use]
    pub fn scopes(mut self, scopes: Scopes) -> Self {
        self.scopes = Some(scopes);
        self
    }

    /// The grant. Default [`Grant::AuthorizationCode`].
    #[must_use]
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// The URL of the MCP server.
    #[must_use]
    pub fn resource(&self) -> &str {
        self.resource.as_str()
    }

    /// Checks that this issuer may receive the client's secret and assertions: it is configured, or the MCP server is
    /// trusted to name it. A client's own assertion names the issuer, so that it is of no use elsewhere.
    pub(crate) fn check_issuer(&self, issuer: &str) -> Result<(), AuthorizationError> {
        let has_secret = matches!(&self.client, Some(ConfiguredClient { secret: ClientSecret::Secret(_), .. }));
        let is_known =
            self.issuer.as_ref().map_or(self.trusts_named_issuer, |known| is_same_issuer(known.as_str(), issuer));
        if is_known || !(has_secret || matches!(self.grant, Grant::JwtBearer | Grant::EnterpriseManaged(_))) {
            return Ok(());
        }
        Err(AuthorizationError::Unsupported(format!(
            "{} names the issuer {}; configure it, if the client is registered there, to send it the client's secret or \
             assertion",
            self.resource.brief(),
            brief_url(issuer)
        )))
    }

    /// True if these credentials were issued for this MCP server, by the configured issuer, to the configured client. A
    /// store may hold credentials of another configuration, and a configured secret must not be sent to their issuer.
    pub(crate) fn may_use(&self, credentials: &Credentials) -> bool {
        let is_same_client = match (&self.client, credentials.client.source) {
            (Some(client), ClientSource::Configured) => client.id == credentials.client.id,
            (None, source) => source != ClientSource::Configured,
            (Some(_), ClientSource::Url | ClientSource::Registered) => false,
        };
        credentials.resource == self.resource()
            && self.issuer.as_ref().is_none_or(|issuer| is_same_issuer(issuer.as_str(), &credentials.issuer))
            && is_same_client
    }

    /// True for a URL with the origin of the MCP server.
    #[cfg(feature = "driver")]
    pub(crate) fn is_same_origin(&self, url: &Url) -> bool {
        self.resource.is_same_origin(url)
    }

    /// True if no user takes part in the grant.
    #[cfg(feature = "driver")]
    pub(crate) fn is_for_machine(&self) -> bool {
        !matches!(self.grant, Grant::AuthorizationCode)
    }
}

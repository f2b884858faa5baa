//! The credentials of a client at one issuer for one MCP server: all that is stored.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use protomcp_auth::Scopes;

/// The longest time before its end at which a token is refreshed. Less for tokens with a short life.
const REFRESH_AHEAD: Duration = Duration::from_secs(60);

/// A token, the client it was issued to, and the parameters of its next refresh. Identified by
/// [`issuer`](Self::issuer) and [`resource`](Self::resource); sent to no other.
///
/// A store keeps it in any format of `serde`. It holds secrets, and shows none.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    pub(crate) issuer: String,
    pub(crate) resource: String,
    /// The value of `resource` in requests (RFC 8707), as the MCP server publishes it. None for servers without
    /// metadata that are their own issuers: MCP 2025-03-26 has no such parameter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) indicator: Option<String>,
    pub(crate) client: ClientRegistration,
    pub(crate) token_endpoint: String,
    pub(crate) token: Token,
    /// All scopes that were asked for, separated by blanks.
    #[serde(default)]
    pub(crate) requested: String,
    /// A PKCS#8 key in base64, if the token is bound to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) dpop_key: Option<String>,
}

/// The tokens of a response (RFC 6749, section 5.1).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) access_token: String,
    pub(crate) kind: TokenKind,
    /// In seconds since 1970.
    pub(crate) received: u64,
    /// In seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refresh_token: Option<String>,
    /// None if the response has named none: then all that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) scope: Option<String>,
}

/// The type of a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TokenKind {
    Bearer,
    Dpop,
}

/// A client as an authorization server knows it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ClientRegistration {
    pub(crate) id: String,
    pub(crate) source: ClientSource,
    /// Only of a dynamic registration: a configured secret stays in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) secret: Option<String>,
    pub(crate) auth_method: AuthMethod,
    #[serde(default)]
    pub(crate) redirect_uri: String,
    /// In seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires: Option<u64>,
}

/// The origin of a client id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ClientSource {
    Configured,
    /// The URL of the client's own metadata.
    Url,
    /// RFC 7591.
    Registered,
}

/// The authentication of a client at the token endpoint (RFC 7591, section 2; RFC 7523).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AuthMethod {
    None,
    ClientSecretBasic,
    ClientSecretPost,
    PrivateKeyJwt,
}

impl AuthMethod {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ClientSecretBasic => "client_secret_basic",
            Self::ClientSecretPost => "client_secret_post",
            Self::PrivateKeyJwt => "private_key_jwt",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        let all = [Self::None, Self::ClientSecretBasic, Self::ClientSecretPost, Self::PrivateKeyJwt];
        all.into_iter().find(|method| method.name() == name)
    }
}

impl Credentials {
    /// The issuer of the token, exactly as it names itself.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// The URL of the MCP server.
    #[must_use]
    pub fn resource(&self) -> &str {
        &self.resource
    }

    /// The scopes of the token, as far as they are known.
    #[must_use]
    pub fn scopes(&self) -> Scopes {
        Scopes::lenient([self.token.scope.as_deref().unwrap_or(&self.requested)])
    }

    /// The time at which the token was received, in seconds since 1970.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.token.received
    }

    /// True if the token can be refreshed.
    #[must_use]
    pub fn has_refresh_token(&self) -> bool {
        self.token.refresh_token.is_some()
    }

    /// True if the token has expired.
    #[must_use]
    pub fn has_expired(&self, now: SystemTime) -> bool {
        self.token.expires.is_some_and(|expires| seconds(now) >= expires)
    }

    /// True if the token may be over before it is used: it lives for less than a minute.
    #[cfg(feature = "driver")]
    pub(crate) fn is_short_lived(&self) -> bool {
        let received = self.token.received;
        self.token.expires.is_some_and(|expires| expires.saturating_sub(received) < REFRESH_AHEAD.as_secs())
    }

    /// True if the token expires within a minute, or within the last tenth of its life: time for a refresh.
    #[must_use]
    pub fn is_due(&self, now: SystemTime) -> bool {
        self.token.expires.is_some_and(|expires| {
            let life = expires.saturating_sub(self.token.received);
            seconds(now).saturating_add(REFRESH_AHEAD.as_secs().min(life / 10)) >= expires
        })
    }
}

impl ClientRegistration {
    pub(crate) fn has_expired(&self, now: SystemTime) -> bool {
        self.expires.is_some_and(|expires| seconds(now) >= expires)
    }
}

/// Seconds since 1970.
pub(crate) fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials")
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .field("client", &self.client.id)
            .field("expires", &self.token.expires)
            .field("has_refresh_token", &self.token.refresh_token.is_some())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("kind", &self.kind).field("expires", &self.expires).finish_non_exhaustive()
    }
}

impl fmt::Debug for ClientRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientRegistration")
            .field("id", &self.id)
            .field("source", &self.source)
            .field("auth_method", &self.auth_method)
            .finish_non_exhaustive()
    }
}

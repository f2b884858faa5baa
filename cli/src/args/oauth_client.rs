//! The OAuth client that `pmcp` is towards servers at a URL, if it was registered by hand.

#[cfg(feature = "trace")]
use std::ffi::OsString;

use clap::Args;
use protomcp_oauth::{ClientSecret, ConfiguredClient, OAuthConfig, Url, UrlError};

use crate::exit::Failure;

/// A client that was registered with an authorization server.
#[derive(Debug, Default, Args)]
pub(crate) struct OAuthClientFlags {
    /// Id of an OAuth client, for an authorization server that registers none by itself. Its redirect URI is
    /// http://127.0.0.1:PORT/callback
    #[arg(long, value_name = "ID")]
    client_id: Option<String>,

    /// Environment variable with the secret of --client-id, if it has one
    #[arg(long, value_name = "ENV_VAR", requires = "client_id")]
    client_secret_env: Option<String>,

    /// The authorization server of --client-id, spelled as it names itself. No other gets the secret
    #[arg(long, value_name = "URL", requires = "client_id")]
    client_issuer: Option<String>,

    /// Port of the redirect URI of --client-id, if it was registered with one [default: any free port]
    #[arg(long, value_name = "PORT", requires = "client_id", value_parser = clap::value_parser!(u16).range(1..))]
    client_port: Option<u16>,
}

/// The client with its authorization server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RegisteredClient {
    pub(crate) client: ConfiguredClient,
    pub(crate) issuer: Option<Url>,
    /// The port of the redirect URI; any without one.
    pub(crate) port: Option<u16>,
}

impl OAuthClientFlags {
    pub(super) fn is_given(&self) -> bool {
        self.client_id.is_some()
    }

    /// The same flags as words.
    #[cfg(feature = "trace")]
    pub(super) fn words(&self) -> impl Iterator<Item = OsString> {
        let port = self.client_port.map(|port| port.to_string());
        let flags = [
            ("--client-id", self.client_id.clone()),
            ("--client-secret-env", self.client_secret_env.clone()),
            ("--client-issuer", self.client_issuer.clone()),
            ("--client-port", port),
        ];
        flags.into_iter().filter_map(|(flag, value)| Some(format!("{flag}={}", value?).into()))
    }

    /// The client that the flags name. `variable` looks up the environment.
    pub(crate) fn client(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<RegisteredClient>, Failure> {
        let Some(id) = self.client_id.as_deref() else { return Ok(None) };
        let secret = match self.client_secret_env.as_deref().map(|name| variable(name).unwrap_or_default()) {
            // The name may be the secret by mistake.
            Some(secret) if secret.is_empty() => {
                let why = "the environment variable named by --client-secret-env is not set";
                return Err(Failure::usage(format!("{why}; write its name there, not the secret")));
            }
            secret => secret,
        };
        let invalid = |why| Failure::usage(format!("invalid --client-issuer: {why}"));
        RegisteredClient::new(id, secret, self.client_issuer.as_deref(), self.client_port).map(Some).map_err(invalid)
    }
}

impl RegisteredClient {
    /// The client with this id. The error is about the issuer.
    pub(crate) fn new(
        id: &str,
        secret: Option<String>,
        issuer: Option<&str>,
        port: Option<u16>,
    ) -> Result<Self, String> {
        let client = ConfiguredClient::new(id, secret.map_or(ClientSecret::None, ClientSecret::Secret));
        let issuer = issuer.map(Url::parse).transpose().map_err(|error| error.to_string())?;
        Ok(Self { client, issuer, port })
    }
}

/// Refuses an OAuth client for a server to which no user signs in.
pub(crate) fn check_sign_in(url: &str, headers: &[(String, String)]) -> Result<(), Failure> {
    let why = if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
        "the header Authorization has a token"
    } else if matches!(OAuthConfig::new(url), Err(UrlError::Plain(_))) {
        "a server without https gets no token"
    } else {
        return Ok(());
    };
    Err(Failure::usage(format!("--client-id has no effect: {why}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_effect_is_refused() {
        let token = [("authorization".to_owned(), "Bearer t".to_owned())];
        for (url, headers, why) in [
            ("https://tools.example.com/mcp", [].as_slice(), None),
            ("http://127.0.0.1:3000/mcp", &[], None),
            ("http://10.0.0.5/mcp", &[], Some("without https")),
            ("https://tools.example.com/mcp", &token, Some("Authorization")),
        ] {
            let failure = check_sign_in(url, headers).err().map(|failure| failure.to_string());
            assert_eq!(failure.is_some(), why.is_some(), "{url}");
            assert!(failure.is_none_or(|failure| why.is_some_and(|why| failure.contains(why))), "{url}");
        }
    }
}

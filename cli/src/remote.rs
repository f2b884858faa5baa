//! Servers at a URL: the transports to them, and the sign-in of the user.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use protomcp_http_client::{HttpTransport, Limits, Tls};
use protomcp_oauth::{
    Authorizer, FileTokenStore, LoopbackUserAgent, OAuthClient, OAuthClientBuilder, OAuthConfig, SignInNotice, UrlError,
};

use crate::args::oauth_client::RegisteredClient;
use crate::args::shown_url::shown;
use crate::exit::Failure;

/// A server at a URL. Tokens are obtained in the browser when the server asks for one, and kept for the next time, unless
/// the headers have one, or a network would carry it without encryption.
#[derive(Clone)]
pub(crate) struct Remote {
    url: String,
    headers: Vec<(String, String)>,
    authorizer: Option<Arc<dyn Authorizer>>,
    limits: Limits,
    tls: Tls,
}

impl Remote {
    /// `client`: the user's, for an authorization server that registers none by itself. It is not used where no token
    /// is obtained.
    pub(crate) fn new(
        url: &str,
        headers: &[(String, String)],
        client: Option<&RegisteredClient>,
    ) -> Result<Self, Failure> {
        let wrong = |error: &dyn Display| Failure::usage(format!("{}: {error}", shown(url)));
        let (owned, limits) = (headers.to_owned(), Limits::default());
        let remote = Self { url: url.to_owned(), headers: owned, authorizer: None, limits, tls: Tls::default() };
        let transport = remote.build().map_err(|error| wrong(&error))?;
        let has_token = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        let config = match OAuthConfig::new(url) {
            Err(UrlError::Plain(_)) if has_token => {
                tracing::warn!("{}: the Authorization header is sent without encryption; use https", shown(url));
                return Ok(remote);
            }
            _ if has_token => return Ok(remote),
            // No token is sent without encryption. The server may need none.
            Err(UrlError::Plain(_)) => return Ok(remote),
            // The error repeats the URL.
            Err(UrlError::Malformed(_)) => return Err(wrong(&"not a URL of ASCII characters with a usual host")),
            Ok(config) => config.client_name("pmcp"),
        };
        let (config, user_agent) = as_client(client, config, LoopbackUserAgent::default().on_notice(say));
        // Authorization servers are reached through the same proxies as the server.
        let mut authorizer = OAuthClient::builder(config).http(transport.authorization()).user_agent(user_agent);
        if let Some(directory) = token_directory() {
            let files = FileTokenStore::new(directory);
            // Servers on this machine change their ports, and the secrets of each would stay in the keyring.
            let is_elsewhere = url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"));
            authorizer = if is_elsewhere { keep(authorizer, files) } else { authorizer.store(files) };
        }
        Ok(Self { authorizer: Some(Arc::new(authorizer.build())), ..remote })
    }

    /// Sets the time for an answer that comes in one piece, without progress.
    pub(crate) fn answer_timeout(mut self, timeout: Duration) -> Self {
        self.limits = self.limits.with_answer_timeout(timeout);
        self
    }

    /// Sets the certificate of the client. Authorization servers do not see it.
    pub(crate) fn tls(mut self, tls: Tls) -> Self {
        self.tls = tls;
        self
    }

    /// A new transport. All of them use the same tokens.
    pub(crate) fn transport(&self) -> HttpTransport {
        let transport = self.build().expect("URL and headers were checked");
        match &self.authorizer {
            Some(authorizer) => transport.authorizer(Arc::clone(authorizer)),
            None => transport,
        }
    }

    fn build(&self) -> Result<HttpTransport, String> {
        let mut transport = HttpTransport::new(&self.url)
            .map_err(|error| error.to_string())?
            .limits(self.limits.clone())
            .tls(self.tls.clone());
        for (name, value) in &self.headers {
            let refuse = |error| format!("invalid --header \"{name}\": {error}");
            transport = transport.header(name, value).map_err(refuse)?;
        }
        Ok(transport)
    }
}

/// Signs in as this client, and has its redirect URI.
fn as_client(
    client: Option<&RegisteredClient>,
    config: OAuthConfig,
    user_agent: LoopbackUserAgent,
) -> (OAuthConfig, LoopbackUserAgent) {
    let Some(RegisteredClient { client, issuer, port }) = client else { return (config, user_agent) };
    let config = issuer.iter().cloned().fold(config.client(client.clone()), OAuthConfig::issuer);
    (config, port.iter().copied().fold(user_agent, LoopbackUserAgent::port))
}

/// Keeps tokens in the keyring of the system, and in these files where there is none.
#[cfg(feature = "keyring")]
fn keep(authorizer: OAuthClientBuilder, files: FileTokenStore) -> OAuthClientBuilder {
    use protomcp_oauth::{KeyringTokenStore, SystemKeyring};
    authorizer.store(KeyringTokenStore::new(SystemKeyring::new("pmcp"), files))
}

/// Keeps tokens in these files.
#[cfg(not(feature = "keyring"))]
fn keep(authorizer: OAuthClientBuilder, files: FileTokenStore) -> OAuthClientBuilder {
    authorizer.store(files)
}

/// Gets the URL of each sign-in.
type Reader = Box<dyn Fn(&str) + Send + Sync>;
static SIGN_INS: OnceLock<Reader> = OnceLock::new();

/// Tells `reader` the URL of each sign-in, too. Only the first reader gets them.
#[cfg(feature = "playground")]
pub(crate) fn on_sign_in(reader: impl Fn(&str) + Send + Sync + 'static) {
    let _first = SIGN_INS.set(Box::new(reader));
}

/// Tells the user where to sign in, also at a log level that shows warnings only.
fn say(notice: &SignInNotice) {
    if let Some(reader) = SIGN_INS.get() {
        reader(&notice.url);
    }
    // With a closed stderr there is no user to tell.
    let _closed = writeln!(io::stderr(), "{notice}");
}

/// `$XDG_STATE_HOME/pmcp/tokens`, or the same below `~/.local/state`. Without a home, tokens are kept in memory.
fn token_directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("pmcp/tokens"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_obtained_for_encrypted_connections_alone() {
        let token = [("Authorization".to_owned(), "Bearer t".to_owned())];
        for (url, headers, has_authorizer) in [
            ("https://tools.example.com/mcp", [].as_slice(), true),
            ("http://127.0.0.1:3000/mcp", &[], true),
            ("http://10.0.0.5/mcp", &[], false),
            ("http://10.0.0.5/mcp", &token, false),
            ("https://tools.example.com/mcp", &token, false),
        ] {
            let remote = Remote::new(url, headers, None).map_err(drop).expect(url);
            assert_eq!(remote.authorizer.is_some(), has_authorizer, "{url} {headers:?}");
        }
        assert!(Remote::new("http://", &[], None).is_err());
    }

    #[test]
    fn a_client_of_the_user_is_for_a_sign_in() {
        let client = RegisteredClient::new("my-id", None, None, Some(4567)).unwrap();
        for (url, is_used) in [("https://tools.example.com/mcp", true), ("http://10.0.0.5/mcp", false)] {
            let remote = Remote::new(url, &[], Some(&client)).map_err(drop).expect(url);
            assert_eq!(remote.authorizer.is_some(), is_used, "{url}");
        }
    }
}

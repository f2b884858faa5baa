//! Servers at a URL: the transports to them, and the sign-in of the user.

use std::env;
use std::fmt::Display;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use protomcp_auth::{Authorizer, FileTokenStore, LoopbackUserAgent, OAuthClient, OAuthConfig, SignInNotice};
use protomcp_http_client::HttpTransport;

use crate::args::shown;
use crate::exit::Failure;

/// A server at a URL. Tokens are obtained in the browser when the server asks for one, and kept for the next time, unless
/// the headers have one.
#[derive(Clone)]
pub(crate) struct Remote {
    url: String,
    headers: Vec<(String, String)>,
    authorizer: Option<Arc<dyn Authorizer>>,
}

impl Remote {
    pub(crate) fn new(url: &str, headers: &[(String, String)]) -> Result<Self, Failure> {
        let wrong = |error: &dyn Display| Failure::usage(format!("{}: {error}", shown(url)));
        let remote = Self { url: url.to_owned(), headers: headers.to_owned(), authorizer: None };
        remote.build().map_err(|error| wrong(&error))?;
        if headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("authorization")) {
            return Ok(remote);
        }
        let config = OAuthConfig::new(url).map_err(|error| wrong(&error))?.client_name("pmcp");
        let mut authorizer = OAuthClient::builder(config).user_agent(LoopbackUserAgent::default().on_notice(say));
        if let Some(directory) = token_directory() {
            authorizer = authorizer.store(FileTokenStore::new(directory));
        }
        Ok(Self { authorizer: Some(Arc::new(authorizer.build())), ..remote })
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
        let mut transport = HttpTransport::new(&self.url).map_err(|error| error.to_string())?;
        for (name, value) in &self.headers {
            let refuse = |error| format!("invalid --header \"{name}\": {error}");
            transport = transport.header(name, value).map_err(refuse)?;
        }
        Ok(transport)
    }
}

/// Tells the user where to sign in, also at a log level that shows warnings only.
fn say(notice: &SignInNotice) {
    // With a closed stderr there is no user to tell.
    let _closed = writeln!(io::stderr(), "{notice}");
}

/// `$XDG_STATE_HOME/pmcp/tokens`, or the same below `~/.local/state`. Without a home, tokens are kept in memory.
fn token_directory() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME").or_else(|| Some(absolute("HOME")?.join(".local/state")))?;
    Some(state.join("pmcp/tokens"))
}

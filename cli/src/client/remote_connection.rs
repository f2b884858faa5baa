//! The session with a server at a URL.

use std::io;
use std::time::Duration;

use protomcp_client::ClientSession;

use crate::args::address::Address;
use crate::args::client::ServerFlags;
use crate::args::oauth_client::check_sign_in;
use crate::args::shown_url::shown;
use crate::client::connection::{Caller, TOTAL, cannot_connect};
use crate::exit::Failure;
use crate::proto_remote::ProtoRemote;
use crate::registries;
use crate::remote::Remote;

/// The time for a server to be connected: the user may have to sign in, which may take five minutes.
const OPEN_WITH_SIGN_IN: Duration = Duration::from_secs(360);

/// The timeout without the flag.
const USUAL: Duration = Duration::from_secs(300);

/// The time for a server over HTTP to be connected. A user has the usual time to sign in, unless less was asked for.
pub(super) fn open_timeout(timeout: Duration) -> Duration {
    if timeout >= USUAL { OPEN_WITH_SIGN_IN } else { timeout }
}

/// Connects to a server over HTTP.
pub(super) async fn to_url(caller: &Caller, url: &str, flags: &ServerFlags) -> Result<ClientSession, Failure> {
    let variable = |name: &str| std::env::var(name).ok();
    let (headers, oauth) = (flags.headers(variable)?, flags.oauth_client(variable)?);
    if oauth.is_some() {
        check_sign_in(url, &headers)?;
    }
    let remote = Remote::new(url, &headers, oauth.as_ref())?.tls(flags.certificate.tls()?);
    let transport = remote.answer_timeout(flags.timeout.max(TOTAL)).transport();
    caller.connect(transport).await.map_err(|error| cannot_connect(&shown(url), error))
}

/// Connects to a server of proto-mcp.
pub(super) async fn to_proto(caller: &Caller, server: &Address, flags: &ServerFlags) -> Result<ClientSession, Failure> {
    let headers = flags.headers(|name| std::env::var(name).ok())?;
    let token = Address::token(&headers).map_err(Failure::usage)?;
    let remote = ProtoRemote::new(flags.timeout, registries::resolver(&flags.registry).as_ref());
    let remote = remote.tls(flags.certificate.tls()?).token(token, server);
    let name = shown(&server.url);
    let connecting = tokio::time::timeout(flags.timeout, remote.connect(server)).await;
    let late = |_| Err(io::Error::from(io::ErrorKind::TimedOut).into());
    let transport = connecting.unwrap_or_else(late).map_err(|error| cannot_connect(&name, error))?;
    caller.connect(transport).await.map_err(|error| cannot_connect(&name, error))
}

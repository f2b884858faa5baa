//! The options of `--transport tcp`.

use std::net::SocketAddr;
use std::time::Duration;

use protomcp_bufmcp::Tokens;

use super::exposure::Exposure;
use super::oauth::OAuthOptions;
use super::tls::TlsFiles;
use crate::exit::Failure;

/// The network flags with a meaning outside HTTP.
pub(super) const FLAGS: [&str; 20] = [
    "--host",
    "--port",
    "--auth",
    "--no-auth",
    "--tls-cert",
    "--tls-key",
    "--tls-client-ca",
    "--tls-client-name",
    "--insecure-plaintext",
    "--max-sessions",
    "--session-idle",
    "--public-url",
    "--oauth-issuer",
    "--oauth-jwks",
    "--oauth-introspect",
    "--oauth-client-id",
    "--oauth-client-secret-env",
    "--oauth-audience",
    "--oauth-scope",
    "--oauth-tool-scope",
];

/// A port with proto-mcp, and JSON-RPC in lines.
#[derive(Debug)]
pub(crate) struct TcpOptions {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The accepted tokens, each with the name of its variable as principal. With tokens there is no JSON-RPC, which has
    /// no place for them.
    pub(crate) tokens: Option<Tokens>,
    /// The authorization server whose tokens are accepted.
    pub(crate) oauth: Option<OAuthOptions>,
    /// The URL that tokens are for, if it is not the address of the port.
    pub(crate) public_url: Option<String>,
    pub(crate) tls: Option<TlsFiles>,
    pub(crate) max_connections: usize,
    pub(crate) idle: Duration,
    /// The longest line of JSON, in bytes.
    pub(crate) max_line: usize,
    pub(super) exposure: Exposure,
}

impl TcpOptions {
    /// Checks the addresses to listen on.
    pub(crate) fn permit(&self, addresses: &[SocketAddr]) -> Result<(), Failure> {
        self.exposure.permit(
            addresses,
            "--auth token:ENV_VAR, --oauth-issuer URL for many users, --tls-client-ca for certificates",
        )
    }
}

//! The client that a certificate names.

use std::fmt;
use std::sync::Arc;

/// The name of a client, from the certificate that it has shown in its TLS handshake: the first of the certificate's
/// alternative names, or the first that the listener allows. A [`Listener`](crate::Listener) that asks clients for
/// certificates adds it to the extensions of each request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ClientName(pub(crate) Arc<str>);

impl ClientName {
    /// The name, such as `agent.example.com` or `spiffe://example.com/agent`.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ClientName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<ClientName> for Arc<str> {
    fn from(name: ClientName) -> Self {
        name.0
    }
}

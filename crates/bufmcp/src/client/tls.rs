//! Servers behind TLS.

use std::fmt;
use std::io;
use std::sync::Arc;

use tokio::io::{ReadHalf, WriteHalf, split};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::client::connect::{Connect, TcpServer};

/// A server at a network address, within TLS.
#[derive(Clone)]
pub struct TlsServer {
    tcp: TcpServer,
    name: ServerName<'static>,
    config: Arc<ClientConfig>,
}

/// An address without a host that a certificate can name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no certificate can name the host of {0:?}")]
pub struct InvalidServerName(String);

impl TlsServer {
    /// A server at this host and port, such as `tools.example.com:8443`. Its certificate has to name the host. `config` has
    /// the authorities that are trusted, and a certificate of the client if the server asks for one.
    ///
    /// # Errors
    /// If no certificate can name the host.
    pub fn new(address: impl Into<String>, config: Arc<ClientConfig>) -> Result<Self, InvalidServerName> {
        let address = address.into();
        let host = address.rsplit_once(':').map_or(&*address, |(host, _)| host);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(|_| InvalidServerName(address.clone()))?;
        Ok(Self { tcp: TcpServer::new(address), name, config })
    }
}

impl Connect for TlsServer {
    type Reader = ReadHalf<TlsStream<TcpStream>>;
    type Writer = WriteHalf<TlsStream<TcpStream>>;

    async fn connect(&self) -> io::Result<(Self::Reader, Self::Writer)> {
        let stream = self.tcp.open().await?;
        let connector = TlsConnector::from(Arc::clone(&self.config));
        Ok(split(connector.connect(self.name.clone(), stream).await?))
    }
}

impl fmt::Debug for TlsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsServer").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::{RootCertStore, crypto::ring, version::TLS13};

    use super::*;

    #[test]
    fn a_host_is_a_name_or_an_address() {
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_protocol_versions(&[&TLS13]).unwrap();
        let config = Arc::new(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth());
        for (address, expected) in [
            ("localhost:1", Some("localhost")),
            ("127.0.0.1:1", Some("127.0.0.1")),
            ("[::1]:1", Some("::1")),
            ("no host:1", None),
            (":1", None),
        ] {
            let server = TlsServer::new(address, Arc::clone(&config));
            assert_eq!(server.ok().map(|server| server.name.to_str().into_owned()).as_deref(), expected, "{address}");
        }
    }
}

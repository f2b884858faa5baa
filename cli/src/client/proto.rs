//! Servers at a network address, in proto-mcp; over TCP in JSON-RPC if they do not speak it.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use protomcp_binary::{BinaryClient, BinaryClientConfig, Connect, ConnectAnyError, TcpServer, TlsServer};
use protomcp_grpc::GrpcServer;
use protomcp_http_client::Tls;
use protomcp_transport::boxed::Boxed;
use protomcp_websocket::WebSocketServer;

use crate::args::{Address, Encryption, RegistryFlags, ServerFlags};
use crate::exit::Failure;
use crate::registries;

/// The time for a server to answer in proto-mcp.
const OPEN: Duration = Duration::from_secs(10);

/// Opens a connection over TCP. `headers` may have the token alone.
pub(super) async fn connect(
    address: &Address,
    headers: Vec<(String, String)>,
    flags: &ServerFlags,
) -> Result<Boxed, Failure> {
    let config = config(address, headers, flags)?;
    let outcome = match address.encryption {
        Encryption::Plain => over(&TcpServer::new(&address.place), config, &flags.registry).await,
        Encryption::Tls => over(&within_tls(address).await?, config, &flags.registry).await,
    };
    outcome.map_err(|error| cannot_connect(address, &error))
}

/// Opens a connection over WebSocket. `headers` may have the token alone.
pub(super) async fn connect_websocket(
    address: &Address,
    headers: Vec<(String, String)>,
    flags: &ServerFlags,
) -> Result<Boxed, Failure> {
    let config = config(address, headers, flags)?;
    match address.encryption {
        Encryption::Plain => over_websocket(address, TcpServer::new(&address.place), config, &flags.registry).await,
        Encryption::Tls => over_websocket(address, within_tls(address).await?, config, &flags.registry).await,
    }
}

/// Opens a connection over gRPC. `headers` may have the token alone.
pub(super) async fn connect_grpc(
    address: &Address,
    headers: Vec<(String, String)>,
    flags: &ServerFlags,
) -> Result<Boxed, Failure> {
    let config = config(address, headers, flags)?;
    match address.encryption {
        Encryption::Plain => over_grpc(address, TcpServer::new(&address.place), config, &flags.registry).await,
        Encryption::Tls => over_grpc(address, within_tls(address).await?, config, &flags.registry).await,
    }
}

async fn over_grpc<C>(
    address: &Address,
    way: C,
    config: BinaryClientConfig,
    registry: &RegistryFlags,
) -> Result<Boxed, Failure>
where
    C: Connect<Reader: Sync, Writer: Sync>,
{
    let invalid = |error: &dyn Display| Failure::usage(format!("{}: {error}", address.url));
    let mut server = GrpcServer::new(way, &address.url).map_err(|error| invalid(&error))?.with_timeout(config.timeout);
    if let Some(token) = &config.token {
        server = server.with_token(token).map_err(|error| invalid(&error))?;
    }
    in_proto(address, server, config, registry).await
}

/// Opens a conversation over a carrier that has no other protocol.
async fn in_proto<C: Connect>(
    address: &Address,
    server: C,
    config: BinaryClientConfig,
    registry: &RegistryFlags,
) -> Result<Boxed, Failure> {
    let opened = tokio::time::timeout(OPEN, server.connect()).await;
    let opened = opened.unwrap_or_else(|_| Err(std::io::ErrorKind::TimedOut.into()));
    let (reader, writer) = opened.map_err(|error| cannot_connect(address, &error))?;
    let client = BinaryClient::connect(reader, writer, config).await;
    let client = client.map_err(|error| cannot_connect(address, &error))?;
    Ok(Boxed::new(client.into_transport(Arc::new(registries::schemas(registry)))))
}

async fn over<C: Connect>(
    server: &C,
    config: BinaryClientConfig,
    registry: &RegistryFlags,
) -> Result<Boxed, ConnectAnyError> {
    let connected = BinaryClient::connect_any(server, config).await?;
    Ok(connected.into_transport(Arc::new(registries::schemas(registry))))
}

async fn over_websocket<C>(
    address: &Address,
    way: C,
    config: BinaryClientConfig,
    registry: &RegistryFlags,
) -> Result<Boxed, Failure>
where
    C: Connect<Reader: Sync, Writer: Sync>,
{
    let invalid = |error: &dyn Display| Failure::usage(format!("{}: {error}", address.url));
    let mut server = WebSocketServer::new(way, &address.url).map_err(|error| invalid(&error))?;
    if let Some(token) = &config.token {
        server = server.with_token(token).map_err(|error| invalid(&error))?;
    }
    in_proto(address, server, config, registry).await
}

/// The certificate of a server is checked against those that the system trusts.
async fn within_tls(address: &Address) -> Result<TlsServer, Failure> {
    let config = Tls::default().client_config().await.map_err(|error| cannot_connect(address, &error))?;
    TlsServer::new(&address.place, config).map_err(|error| Failure::usage(format!("{}: {error}", address.url)))
}

fn config(
    address: &Address,
    headers: Vec<(String, String)>,
    flags: &ServerFlags,
) -> Result<BinaryClientConfig, Failure> {
    let mut config = BinaryClientConfig::new("pmcp", env!("CARGO_PKG_VERSION"));
    (config.open_timeout, config.timeout) = (OPEN, flags.timeout);
    config.bsr_refs = !flags.registry.registries.is_empty();
    // Only the validator brings the definitions of the rules.
    config.wkt_builtin = cfg!(feature = "validation");
    config.token = token(headers)?;
    if config.token.is_some() && address.encryption == Encryption::Plain {
        tracing::warn!("the token goes to {} without encryption", address.place);
    }
    Ok(config)
}

fn cannot_connect(address: &Address, error: &dyn Display) -> Failure {
    Failure::failed(format!("{}: {error}", address.url))
}

/// The token of `Authorization: Bearer`. An error names no value, which may be a secret.
fn token(headers: Vec<(String, String)>) -> Result<Option<String>, Failure> {
    let mut token = None;
    for (name, value) in headers {
        let bearer = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match bearer.filter(|_| name.eq_ignore_ascii_case("authorization")) {
            Some((_, secret)) => token = Some(secret.trim().to_owned()),
            None => {
                let why = "proto-mcp takes Authorization with Bearer and a token, and no other header";
                return Err(Failure::usage(format!("invalid --header \"{name}\": {why}")));
            }
        }
    }
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_only_header_is_the_token() {
        let token = |fields: &[(&str, &str)]| {
            token(fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
        };
        assert_eq!(token(&[]).ok(), Some(None));
        assert_eq!(token(&[("authorization", "bearer t0k")]).ok(), Some(Some("t0k".to_owned())));
        for field in [("X-Api-Key", "s3cret"), ("Authorization", "Basic s3cret"), ("Authorization", "s3cret")] {
            let failure = token(&[field]).unwrap_err().to_string();
            assert!(failure.contains(field.0) && !failure.contains("s3cret"), "{failure}");
        }
    }
}

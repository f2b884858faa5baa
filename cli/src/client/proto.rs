//! Servers at a network address, in proto-mcp, or in JSON-RPC if they do not speak it.

use std::sync::Arc;
use std::time::Duration;

use protomcp_binary::{BinaryClient, BinaryClientConfig, StructSchemas, TcpServer};
use protomcp_transport::boxed::Boxed;

use crate::args::ServerFlags;
use crate::exit::Failure;

/// The time for a server to answer in proto-mcp.
const OPEN: Duration = Duration::from_secs(10);

/// Opens a connection. `headers` may have the token alone.
pub(super) async fn connect(
    address: &str,
    headers: Vec<(String, String)>,
    flags: &ServerFlags,
) -> Result<Boxed, Failure> {
    let mut config = BinaryClientConfig::new("pmcp", env!("CARGO_PKG_VERSION"));
    (config.open_timeout, config.timeout) = (OPEN, flags.timeout);
    config.token = token(headers)?;
    if config.token.is_some() {
        tracing::warn!("the token goes to {address} without encryption");
    }
    let connected = BinaryClient::connect_any(&TcpServer::new(address), config).await;
    let connected = connected.map_err(|error| Failure::failed(format!("proto://{address}: {error}")))?;
    Ok(connected.into_transport(Arc::new(StructSchemas)))
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

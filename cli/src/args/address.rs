//! The URLs of servers that speak proto-mcp.

use crate::args::client::Target;
use crate::exit::Failure;

/// The network address in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The URL as the user wrote it.
    pub(crate) url: String,
    /// Host and port.
    pub(crate) place: String,
    pub(crate) encryption: Encryption,
}

/// The encryption of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// None.
    Plain,
    /// TLS.
    Tls,
}

impl Address {
    /// The server at this URL; `None` if it is not one of proto-mcp.
    pub(super) fn of(url: &str) -> Option<Result<Target, Failure>> {
        let (scheme, rest) = url.split_once("://")?;
        let (encryption, port, target): (_, _, fn(Self) -> Target) = match scheme {
            "proto" => (Encryption::Plain, None, Target::Proto),
            "protos" => (Encryption::Tls, None, Target::Proto),
            "grpc" => (Encryption::Plain, None, Target::Grpc),
            "grpcs" => (Encryption::Tls, None, Target::Grpc),
            "ws" => (Encryption::Plain, Some(80), Target::WebSocket),
            "wss" => (Encryption::Tls, Some(443), Target::WebSocket),
            _ => return None,
        };
        // Only WebSocket has paths.
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let is_path = port.is_some() || path.is_empty() || path == "/";
        let place = place(authority, port).filter(|_| is_path && !path.contains('#'));
        Some(match place {
            Some(place) => Ok(target(Self { url: url.to_owned(), place, encryption })),
            None => {
                let expected = if port.is_some() { "HOST:PORT/mcp" } else { "HOST:PORT" };
                Err(Failure::usage(format!("invalid URL \"{url}\": expected {scheme}://{expected}")))
            }
        })
    }
}

/// Host and port; `usual` is the port of an authority without one.
fn place(authority: &str, usual: Option<u16>) -> Option<String> {
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (authority, usual?),
    };
    let is_bracketed = host.starts_with('[') && host.ends_with(']');
    let is_host = !host.is_empty() && !host.contains(['@', ' ']) && (is_bracketed || !host.contains(':'));
    is_host.then(|| format!("{host}:{port}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_a_host_and_a_port() {
        let read = |url| match Address::of(url)?.ok()? {
            Target::Proto(address) => Some(("proto", address.place, address.encryption)),
            Target::Grpc(address) => Some(("grpc", address.place, address.encryption)),
            Target::WebSocket(address) => Some(("websocket", address.place, address.encryption)),
            other => panic!("{other:?}"),
        };
        for (url, carrier, place, encryption) in [
            ("proto://localhost:8080", "proto", "localhost:8080", Encryption::Plain),
            ("proto://[::1]:8080/", "proto", "[::1]:8080", Encryption::Plain),
            ("protos://tools.example.com:1", "proto", "tools.example.com:1", Encryption::Tls),
            ("grpc://localhost:8080", "grpc", "localhost:8080", Encryption::Plain),
            ("grpcs://tools.example.com:1", "grpc", "tools.example.com:1", Encryption::Tls),
            ("ws://localhost:8080/mcp", "websocket", "localhost:8080", Encryption::Plain),
            ("ws://localhost", "websocket", "localhost:80", Encryption::Plain),
            ("ws://[::1]/mcp", "websocket", "[::1]:80", Encryption::Plain),
            ("wss://tools.example.com/mcp?a=b", "websocket", "tools.example.com:443", Encryption::Tls),
        ] {
            assert_eq!(read(url), Some((carrier, place.to_owned(), encryption)), "{url}");
        }
        for wrong in [
            "proto://localhost",
            "proto://localhost:x",
            "proto://:8080",
            "proto://localhost:8080/mcp",
            "proto://a@localhost:8080",
            "proto://::1:8080",
            "grpc://localhost:8080/buf.mcp.v1.MCPService",
            "ws://",
            "ws:///mcp",
            "ws://localhost:8080/#a",
            "ws://localhost:99999/",
        ] {
            assert!(matches!(Address::of(wrong), Some(Err(_))), "{wrong}");
        }
        assert!(Address::of("http://localhost").is_none() && Address::of("tools.py").is_none());
    }
}

//! The URLs of servers that speak proto-mcp.

/// The network address in a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address {
    /// The URL as the user wrote it.
    pub(crate) url: String,
    /// Host and port.
    pub(crate) place: String,
    pub(crate) encryption: Encryption,
    pub(crate) carrier: Carrier,
}

/// The way in which messages are carried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// Frames over TCP; JSON-RPC in lines where the server does not speak proto-mcp.
    Tcp,
    /// gRPC.
    Grpc,
    /// WebSocket.
    WebSocket,
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
    ///
    /// # Errors
    /// If it has no host or no port.
    pub(crate) fn of(url: &str) -> Option<Result<Self, String>> {
        let (scheme, rest) = url.split_once("://")?;
        let (encryption, port, carrier) = match &*scheme.to_ascii_lowercase() {
            "proto" => (Encryption::Plain, None, Carrier::Tcp),
            "protos" => (Encryption::Tls, None, Carrier::Tcp),
            "grpc" => (Encryption::Plain, None, Carrier::Grpc),
            "grpcs" => (Encryption::Tls, None, Carrier::Grpc),
            "ws" => (Encryption::Plain, Some(80), Carrier::WebSocket),
            "wss" => (Encryption::Tls, Some(443), Carrier::WebSocket),
            _ => return None,
        };
        // Only WebSocket has paths.
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let is_path = port.is_some() || path.is_empty() || path == "/";
        let place = place(authority, port).filter(|_| is_path && !path.contains('#'));
        Some(match place {
            Some(place) => Ok(Self { url: url.to_owned(), place, encryption, carrier }),
            None => {
                let expected = if port.is_some() { "HOST:PORT/mcp" } else { "HOST:PORT" };
                Err(format!("expected {scheme}://{expected}"))
            }
        })
    }

    /// The token of `Authorization: Bearer`. An error names no value, which may be a secret.
    pub(crate) fn token(headers: &[(String, String)]) -> Result<Option<String>, String> {
        let mut token = None;
        for (name, value) in headers {
            let bearer = value.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
            match bearer.filter(|_| name.eq_ignore_ascii_case("authorization")) {
                Some((_, secret)) => token = Some(secret.trim().to_owned()),
                None => {
                    let why = "proto-mcp takes Authorization with Bearer and a token, and no other header";
                    return Err(format!("invalid --header \"{name}\": {why}"));
                }
            }
        }
        Ok(token)
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
        let read = |url| {
            let address = Address::of(url)?.ok()?;
            Some((address.carrier, address.place, address.encryption))
        };
        for (url, carrier, place, encryption) in [
            ("proto://localhost:8080", Carrier::Tcp, "localhost:8080", Encryption::Plain),
            ("proto://[::1]:8080/", Carrier::Tcp, "[::1]:8080", Encryption::Plain),
            ("protos://tools.example.com:1", Carrier::Tcp, "tools.example.com:1", Encryption::Tls),
            ("grpc://localhost:8080", Carrier::Grpc, "localhost:8080", Encryption::Plain),
            ("grpcs://tools.example.com:1", Carrier::Grpc, "tools.example.com:1", Encryption::Tls),
            ("ws://localhost:8080/mcp", Carrier::WebSocket, "localhost:8080", Encryption::Plain),
            ("ws://localhost", Carrier::WebSocket, "localhost:80", Encryption::Plain),
            ("ws://[::1]/mcp", Carrier::WebSocket, "[::1]:80", Encryption::Plain),
            ("GRPC://localhost:8080", Carrier::Grpc, "localhost:8080", Encryption::Plain),
            ("wss://tools.example.com/mcp?a=b", Carrier::WebSocket, "tools.example.com:443", Encryption::Tls),
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

    #[test]
    fn the_only_header_is_the_token() {
        let token = |fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Address::token(&fields.collect::<Vec<_>>())
        };
        assert_eq!(token(&[]).ok(), Some(None));
        assert_eq!(token(&[("authorization", "bearer t0k")]).ok(), Some(Some("t0k".to_owned())));
        for field in [("X-Api-Key", "s3cret"), ("Authorization", "Basic s3cret"), ("Authorization", "s3cret")] {
            let failure = token(&[field]).unwrap_err();
            assert!(failure.contains(field.0) && !failure.contains("s3cret"), "{failure}");
        }
    }
}

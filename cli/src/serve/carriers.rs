//! proto-mcp on the port of HTTP: over gRPC and WebSocket.

use protomcp_bufmcp::BinaryServer;
use protomcp_grpc::GrpcService;
use protomcp_http::{Readiness, Routes};
use protomcp_server::Service;
use protomcp_websocket::WebSockets;

use crate::args::http::{HttpOptions, Protocols};

/// The server over these carriers, as far as clients may use them.
pub(super) struct Carriers<S> {
    server: BinaryServer<S>,
    protocols: Protocols,
    max_sessions: usize,
    has_reflection: bool,
}

impl<S: Service> Carriers<S> {
    pub(super) fn new(server: BinaryServer<S>, http: &HttpOptions) -> Self {
        let (max_sessions, has_reflection) = (http.config.limits.max_sessions, http.observe.grpc_reflection);
        Self { server, protocols: http.protocols, max_sessions, has_reflection }
    }

    /// The routes with the carriers.
    pub(super) fn added_to(self, mut routes: Routes, readiness: &Readiness) -> Routes {
        let Self { server, protocols, max_sessions, has_reflection } = self;
        if protocols != Protocols::WebSocket {
            let grpc = GrpcService::new(&server).with_health(readiness.clone());
            routes = routes.with_protocol(if has_reflection { grpc.with_reflection() } else { grpc });
        }
        if protocols != Protocols::Grpc {
            routes = routes.with_protocol(WebSockets::new(server).with_max_conversations(max_sessions));
        }
        routes
    }
}

/// The URL of the server for clients of these protocols; `url` is the one of Streamable HTTP.
pub(super) fn url(protocols: Protocols, url: String) -> String {
    let Some(rest) = url.strip_prefix("http") else { return url };
    match protocols {
        Protocols::Current | Protocols::WithHttpSse => url,
        Protocols::Grpc => format!("grpc{}", rest.trim_end_matches("/mcp")),
        Protocols::WebSocket => format!("ws{rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_has_the_scheme_of_its_carrier() {
        for (protocols, plain, encrypted) in [
            (Protocols::Current, "http://a:1/mcp", "https://a:1/mcp"),
            (Protocols::WithHttpSse, "http://a:1/mcp", "https://a:1/mcp"),
            (Protocols::Grpc, "grpc://a:1", "grpcs://a:1"),
            (Protocols::WebSocket, "ws://a:1/mcp", "wss://a:1/mcp"),
        ] {
            assert_eq!(url(protocols, "http://a:1/mcp".into()), plain);
            assert_eq!(url(protocols, "https://a:1/mcp".into()), encrypted);
        }
    }
}

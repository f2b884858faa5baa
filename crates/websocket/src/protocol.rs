//! WebSocket together with Streamable HTTP, on its port.

use std::future::{Future, pending};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use http::request::Parts;
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use protomcp_bufmcp::{BinaryPeer, BinaryServer, Fault, Permission, code};
use protomcp_http::{Admission, Body, BoxBody, ClientAddr, PeerAddr, Principal, Protocol, Responding, UpgradeLease};
use protomcp_server::{Budget, Owner, Service};
use tokio::time::{sleep, timeout};

use crate::handshake::{self, Refused};
use crate::options::WebSocketOptions;
use crate::serve::serve;

/// The paths of proto-mcp over WebSocket: the paths of Streamable HTTP.
const PATHS: [&str; 2] = ["/", "/mcp"];

/// proto-mcp over WebSocket, for [`Routes::with_protocol`](protomcp_http::Routes::with_protocol): at `/` and `/mcp`, over
/// HTTP/1.1 and HTTP/2.
///
/// A connection ends with the token of its handshake (1008), and each request needs the scopes of the method that it
/// stands for. Pages of other origins are refused unless they are listed: a browser shows them every answer.
pub struct WebSockets<S> {
    server: BinaryServer<S>,
    options: WebSocketOptions,
    /// One byte for each conversation.
    conversations: Budget,
}

impl<S: Service> WebSockets<S> {
    /// Serves this server.
    #[must_use]
    pub fn new(server: BinaryServer<S>) -> Self {
        Self { server, options: WebSocketOptions::default(), conversations: slots(MAX_CONVERSATIONS) }
    }

    /// Sets the most concurrent conversations. Default 10,000. One principal, or else one address, may have four times
    /// as many as stay free; a handshake beyond that is refused with 503. One connection of HTTP/2 may carry many
    /// conversations.
    #[must_use]
    pub fn with_max_conversations(mut self, max: usize) -> Self {
        self.conversations = slots(max);
        self
    }

    /// Sets the times of connections.
    #[must_use]
    pub fn with_options(mut self, options: WebSocketOptions) -> Self {
        self.options = options;
        self
    }
}

impl<S: Service> Protocol for WebSockets<S> {
    fn is_meant(&self, head: &Parts) -> bool {
        PATHS.contains(&head.uri.path()) && handshake::is_meant(head)
    }

    fn needs_tls_1_3(&self) -> bool {
        true
    }

    fn respond(&self, request: Request<BoxBody>) -> Responding {
        let (mut head, _) = request.into_parts();
        let opened = Connection::of(&mut head).and_then(|(connection, response)| {
            let slot = self.conversations.reserve(&connection.owner(), 1).map_err(|_| FULL)?;
            Ok((connection, response, slot))
        });
        let response = match opened {
            Ok((connection, response, slot)) => {
                let served = connection.serve(self.server.clone(), self.options);
                tokio::spawn(async move {
                    served.await;
                    drop(slot);
                });
                response.map(|()| Body::default())
            }
            Err(refused) => refuse(&refused),
        };
        Box::pin(std::future::ready(response))
    }
}

impl<S> std::fmt::Debug for WebSockets<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WebSockets").field("options", &self.options).finish_non_exhaustive()
    }
}

/// A connection that becomes one of WebSocket.
struct Connection {
    upgrade: OnUpgrade,
    /// The server is busy, and the listener keeps the slot of the connection, while it lives.
    admission: Admission,
    lease: Option<UpgradeLease>,
    peer: BinaryPeer,
}

impl Connection {
    fn of(head: &mut Parts) -> Result<(Self, Response<()>), Refused> {
        let unable = |why| Refused { status: StatusCode::NOT_IMPLEMENTED, why };
        let admission = head.extensions.get::<Admission>().cloned();
        let admission = admission.ok_or(unable("the request was not checked"))?;
        let response = handshake::respond(head, admission.is_of_listed_page())?;
        let upgrade = head.extensions.remove::<OnUpgrade>();
        let upgrade = upgrade.ok_or(unable("connections cannot be upgraded here"))?;
        let lease = head.extensions.remove::<UpgradeLease>();
        let address = head.extensions.get().map(|ClientAddr(address)| *address);
        let peer = BinaryPeer {
            principal: head.extensions.get().map(|Principal(who)| Arc::clone(who)),
            address: address.or_else(|| head.extensions.get().map(|PeerAddr(peer)| peer.ip())),
            permission: Some(permission(admission.clone(), head.clone())),
            known: admission.known(),
        };
        Ok((Self { upgrade, admission, lease, peer }, response))
    }

    fn owner(&self) -> Owner {
        Owner::of(self.peer.principal.clone(), self.peer.address)
    }

    async fn serve<S: Service>(self, server: BinaryServer<S>, options: WebSocketOptions) {
        let Self { upgrade, admission, lease, peer } = self;
        let closed = async {
            match &lease {
                Some(lease) => lease.closed().await,
                None => pending().await,
            }
        };
        let served = async {
            let upgraded: Upgraded = match timeout(UPGRADE_TIMEOUT, upgrade).await {
                Ok(Ok(upgraded)) => upgraded,
                Ok(Err(error)) => return tracing::debug!("a connection did not become one of WebSocket: {error}"),
                Err(_) => return tracing::debug!("a connection did not become one of WebSocket in time"),
            };
            let revoked = end_of(admission.valid_until());
            if let Err(error) = serve(&server, TokioIo::new(upgraded), peer, options, revoked).await {
                tracing::debug!("a connection of WebSocket has ended: {error}");
            }
        };
        tokio::select! {
            () = served => {}
            () = closed => {}
        }
    }
}

/// The scopes of the token hold for each request, as they do over HTTP.
fn permission(admission: Admission, head: Parts) -> Permission {
    Permission::new(move |method, name| {
        admission.authorize(&head, method, name).map_err(|rejection| {
            Fault::new(code::PERMISSION_DENIED, rejection.why.to_string()).with("reason", "insufficient_scope")
        })
    })
}

/// Resolves at the end of a token.
fn end_of(valid_until: Option<SystemTime>) -> impl Future<Output = ()> {
    let left = valid_until.map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
    async move {
        match left {
            Some(left) => sleep(left).await,
            None => pending().await,
        }
    }
}

fn refuse(refused: &Refused) -> Response<Body> {
    let mut response = Response::new(Body::new(refused.why.to_owned()));
    *response.status_mut() = refused.status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    if refused.status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    }
    if refused.status == StatusCode::UPGRADE_REQUIRED {
        headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
    }
    response
}

/// Slots for this many conversations. A budget keeps its last byte.
fn slots(max: usize) -> Budget {
    Budget::new(max.saturating_add(1))
}

/// The most concurrent conversations.
const MAX_CONVERSATIONS: usize = 10_000;

/// No conversation may be begun now.
const FULL: Refused =
    Refused { status: StatusCode::SERVICE_UNAVAILABLE, why: "there are too many conversations; try again later" };

/// The time for the head of the response to be sent.
const UPGRADE_TIMEOUT: Duration = Duration::from_secs(10);

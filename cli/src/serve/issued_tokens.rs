//! Tokens of an authorization server in frames over TCP.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use protomcp_auth::{Identity, Operation, PeerKey, Rejection, ResourceServer};
use protomcp_bufmcp::{Authorization, Fault, Grant, Permission, TokenVerifier, Verifying, code};
use protomcp_server::Extensions;

/// Accepts the tokens that a resource server accepts, with the rules that hold over HTTP.
pub(super) struct IssuedTokens(pub(super) ResourceServer);

impl TokenVerifier for IssuedTokens {
    fn verify(&self, authorization: Authorization, address: Option<IpAddr>) -> Verifying {
        let server = self.0.clone();
        Box::pin(async move {
            let value = HeaderValue::try_from(authorization.value())
                .map_err(|_| Fault::new(code::UNAUTHENTICATED, "the authorization holds no Bearer token"))?;
            let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value)]);
            let peer = address.map_or_else(PeerKey::default, PeerKey::of_address);
            let identity = server.authenticate(&headers, peer).await.map_err(|rejection| fault(&rejection))?;
            Ok(grant(server, identity))
        })
    }
}

/// The rights of a token: its scopes hold for each request.
fn grant(server: ResourceServer, identity: Identity) -> Grant {
    let left = identity.valid_until().map(|end| end.duration_since(SystemTime::now()).unwrap_or_default());
    let valid_until = left.and_then(|left| Instant::now().checked_add(left));
    let principal: Arc<str> = identity.principal();
    let known = Extensions::default().with(Arc::new(protomcp_http::caller_identity(&identity)));
    let permission = server.has_policy().then(|| {
        // There is no request of HTTP.
        let (parts, ()) = Request::new(()).into_parts();
        Permission::new(move |method, name| {
            let needed = server.needed(&Operation::new(method, name, &parts));
            server.authorize(&identity, &needed).map_err(|rejection| fault(&rejection))
        })
    });
    Grant { principal, permission, valid_until, known }
}

fn fault(rejection: &Rejection) -> Fault {
    match rejection.status {
        StatusCode::FORBIDDEN => {
            Fault::new(code::PERMISSION_DENIED, &*rejection.why).with("reason", "insufficient_scope")
        }
        StatusCode::SERVICE_UNAVAILABLE => Fault::new(code::OVERLOADED, &*rejection.why),
        _ => Fault::new(code::UNAUTHENTICATED, &*rejection.why),
    }
}

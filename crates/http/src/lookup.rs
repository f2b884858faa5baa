//! Finds the session that a request belongs to: in this process, or in another one that answers the request.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderName, Response, StatusCode};
use protomcp_server::LeaseKeeper;
use protomcp_types::RequestId;
use tokio::time::{Instant, sleep};

use crate::caller::Principal;
use crate::endpoint::{Endpoint, is_taken, retry_soon};
use crate::headers::{SESSION, VERSION, repeated, text};
use crate::hop::HopRefusal;
use crate::http_session::{HttpSession, SessionKind};
use crate::passed_on::pass_on;
use crate::protocol_era;
use crate::replicas::HandedOn;
use crate::reply::{self, Body, NO_SESSION, Refusal, TRANSPORT_ERROR};
use crate::session_log::holder_gone;
use crate::takeover::{Place, take_over};

/// The attempts to hand a request on: a session may change its holder in between.
pub(crate) const ATTEMPTS: usize = 2;

/// The time for which a request waits for a session whose process shuts down and still has a call of it.
const LEAVING: Duration = Duration::from_secs(60);

/// The pause between the first two looks at such a session. Each is twice as long as the one before.
const PAUSE: Duration = Duration::from_millis(50);

/// The longest one.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// The reason that a request is not served here.
#[derive(Debug)]
pub(crate) enum NotHere {
    Refused(Refusal),
    /// Another process has answered.
    Answered(Refusal),
    /// Another process may have carried the request out, and has not answered.
    Lost,
}

impl From<Refusal> for NotHere {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl NotHere {
    /// The response to a request whose answer is not a message.
    pub(crate) fn into_response(self) -> Response<Body> {
        match self {
            Self::Refused(response) | Self::Answered(response) => *response,
            Self::Lost => retry_soon(
                "the process of this server that serves the session has not answered; send the request again in a \
                 moment",
            ),
        }
    }

    /// The response to a message with this id. It is not 503 when the request may have been carried out: clients send a
    /// request with 503 again by themselves.
    pub(crate) fn into_answer(self, id: RequestId) -> Response<Body> {
        match self {
            Self::Lost => reply::refuse(StatusCode::OK, Some(id), holder_gone()),
            Self::Refused(_) | Self::Answered(_) => self.into_response(),
        }
    }
}

fn refused(response: Response<Body>) -> NotHere {
    NotHere::Refused(Box::new(response))
}

/// Rejects a repeated header, because readers may take different values from it.
pub(crate) fn ambiguous(parts: &Parts, id: Option<RequestId>) -> Response<Body> {
    let name = repeated(&parts.headers).map_or("", HeaderName::as_str);
    reply::bad_request(id, format!("there are several headers {name}"))
}

/// The session that a request belongs to. One that no process serves is taken over, and a request for one that another
/// process serves is handed on, if that is configured. `body`: the body of the request.
pub(crate) async fn session(
    endpoint: &Arc<Endpoint>,
    parts: &Parts,
    body: &Bytes,
) -> Result<Arc<HttpSession>, NotHere> {
    if repeated(&parts.headers).is_some() {
        return Err(refused(ambiguous(parts, None)));
    }
    let Some(key) = parts.headers.get(SESSION) else {
        return Err(refused(reply::bad_request(None, "header Mcp-Session-Id is missing: initialize first")));
    };
    if let Some(version) = text(&parts.headers, &VERSION).filter(|version| !protocol_era::is_stateful(version)) {
        return Err(refused(reply::bad_request(None, format!("unsupported protocol version {version:?}"))));
    }
    let key = key.to_str().unwrap_or_default();
    let found = endpoint.table.find(key).filter(|session| session.is_here());
    let found = match (found, &endpoint.config.leases) {
        // Boxed: it is rare, and larger than the rest of the request.
        (None, Some(keeper)) => Box::pin(find(endpoint, keeper, parts, key, body)).await?,
        (found, _) => found,
    };
    let principal = parts.extensions.get::<Principal>();
    found.filter(|session| session.kind() == SessionKind::Stateful && session.belongs_to(principal)).ok_or_else(|| {
        refused(reply::error(StatusCode::NOT_FOUND, NO_SESSION, "there is no such session: initialize again"))
    })
}

/// Finds a session that this process does not serve yet; `None`: there is none for this principal.
async fn find(
    endpoint: &Arc<Endpoint>,
    keeper: &Arc<LeaseKeeper>,
    parts: &Parts,
    key: &str,
    body: &Bytes,
) -> Result<Option<Arc<HttpSession>>, NotHere> {
    let replicas = endpoint.config.replicas.as_ref().filter(|_| !is_taken(parts));
    let serving = Some(endpoint.token());
    let (mut attempt, mut leaving, mut pause) = (0, None, PAUSE);
    loop {
        let known = replicas.and_then(|replicas| replicas.holders.find(key, Instant::now()));
        let is_known = known.is_some();
        let holder = match known {
            Some(holder) => holder,
            None => match take_over(endpoint, keeper, parts, key).await? {
                Place::Here(session) => return Ok(Some(session)),
                Place::Nowhere => return Ok(None),
                // The other process looks for the holder again.
                Place::There(_) if is_taken(parts) => return Err(refused(misdirected())),
                Place::There(holder) => holder,
            },
        };
        attempt += 1;
        let Some(replicas) = replicas.filter(|_| attempt <= ATTEMPTS) else {
            return Err(refused(retry_soon(&format!(
                "the process {} of this server serves the session: send the request again in a moment, or route the \
                 requests of a session to one process",
                holder.node
            ))));
        };
        match replicas.hand_on(keeper, &holder, parts, body).await {
            HandedOn::Answered(response, slot) => {
                if !is_known {
                    replicas.holders.note(key, &holder, Instant::now());
                }
                return Err(NotHere::Answered(Box::new(pass_on(endpoint, &parts.method, response, slot, serving))));
            }
            HandedOn::NotSent => replicas.holders.forget(key),
            HandedOn::Leaving => {
                replicas.holders.forget(key);
                let until = *leaving.get_or_insert_with(|| Instant::now() + LEAVING);
                if Instant::now() < until {
                    attempt -= 1;
                    sleep(pause).await;
                    pause = (2 * pause).min(LONGEST_PAUSE);
                }
            }
            HandedOn::Lost => return Err(NotHere::Lost),
        }
    }
}

/// 421 for a request that another process has handed on, and that is for a third one.
fn misdirected() -> Response<Body> {
    let refusal = HopRefusal::Misdirected;
    reply::error(refusal.status(), TRANSPORT_ERROR, "another process of this server serves the session")
}

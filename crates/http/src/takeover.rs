//! Sessions that several processes can serve: one opens a session in the store of leases, and another one takes it over
//! when the first has ended.
//!
//! ```text
//!  request for a session that this process does not serve
//!     │ claim
//!     ├─ granted ─▶ log of its events ─▶ answer the requests that are left ─▶ restore ─▶ serve
//!     ├─ held by another process ─▶ hand the request on, or 503
//!     ├─ unknown ─▶ 404: the client initializes again
//!     └─ no lease, no answer ─▶ 503
//! ```

use std::sync::Arc;

use http::request::Parts;
use protomcp_auth::Scopes;
use protomcp_server::{Claim, HeldLease, LeaseKeeper, LeaseName, SessionSnapshot};

use crate::caller::{Caller, Principal};
use crate::endpoint::{Endpoint, retry_soon, unavailable};
use crate::holding::Holding;
use crate::http_session::HttpSession;
use crate::http_session::held::Continued;
use crate::reply::Refusal;
use crate::session_log::SessionLog;
use crate::session_table::is_key;
use crate::store::Write;

/// Opens a session that other processes can take over.
pub(crate) async fn open(
    endpoint: &Arc<Endpoint>,
    keeper: &Arc<LeaseKeeper>,
    parts: &Parts,
) -> Result<Arc<HttpSession>, Refusal> {
    let (endpoint, keeper, parts) = (Arc::clone(endpoint), Arc::clone(keeper), parts.clone());
    detached(async move {
        let _serving = endpoint.token();
        let key = endpoint.new_session()?;
        let lease = lease(&keeper)?;
        let opened = keeper.answer(keeper.store().open(&key, lease.name())).await;
        let token = match opened {
            Ok(Claim::Granted(token, _)) if lease.is_held() => token,
            Ok(Claim::Full) => {
                return Err(Box::new(unavailable(
                    "the store of sessions is full; end another one, or try again later",
                )));
            }
            Ok(Claim::Granted(..) | Claim::Held(_) | Claim::Unknown | Claim::LeaseOver) | Err(_) => return Err(away()),
        };
        let caller = Caller::of(&parts);
        let holding = Holding::new(&keeper, lease, &key, token).of(&caller);
        let holding = Arc::new(holding.in_process(endpoint.sessions.shutdown_token()));
        let log = SessionLog::held(endpoint.config.streams.event_store.clone(), caller.owner(), &holding);
        let session = HttpSession::held(Arc::clone(&holding), log, &caller, &endpoint.config, None);
        endpoint.enter(session, &parts).inspect_err(|_| holding.close())
    })
    .await
}

/// The place of a session.
pub(crate) enum Place {
    /// This process serves it.
    Here(Arc<HttpSession>),
    /// The process with this lease serves it.
    There(LeaseName),
    /// There is none for this principal.
    Nowhere,
}

/// Takes over the session that a request names, unless another process serves it.
pub(crate) async fn take_over(
    endpoint: &Arc<Endpoint>,
    keeper: &Arc<LeaseKeeper>,
    parts: &Parts,
    key: &str,
) -> Result<Place, Refusal> {
    if !is_key(key) {
        return Ok(Place::Nowhere);
    }
    endpoint.may_take_up(parts)?;
    let (endpoint, keeper, parts) = (Arc::clone(endpoint), Arc::clone(keeper), parts.clone());
    let key: Box<str> = key.into();
    detached(async move {
        let _serving = endpoint.token();
        let _slot = endpoint.table.claims.enter(&key).await;
        if let Some(session) = endpoint.table.find(&key) {
            if session.is_here() {
                return Ok(Place::Here(session));
            }
            // It was served under an earlier lease of this process.
            session.lose();
            endpoint.table.remove_session(&session);
        }
        let (holding, snapshot) = match claim(&keeper, &key).await? {
            Claimed::Granted(holding, snapshot) => (*holding, *snapshot),
            Claimed::Held(holder) => return Ok(Place::There(holder)),
            Claimed::Unknown => return Ok(Place::Nowhere),
        };
        let holding = holding.restoring(snapshot.clone()).in_process(endpoint.sessions.shutdown_token());
        let holding = Arc::new(holding);
        // Another principal gets nothing of it, and no server is made with the head of its request.
        if parts.extensions.get::<Principal>().map(|Principal(who)| who) != snapshot.principal.as_ref() {
            holding.release();
            return Ok(Place::Nowhere);
        }
        let restored = restore(&endpoint, &keeper, &holding, snapshot, &parts).await;
        let restored = restored.inspect_err(|_| holding.release())?;
        endpoint.metrics.taken_over.inc();
        Ok(Place::Here(restored))
    })
    .await
}

/// The outcome of a claim.
enum Claimed {
    Granted(Box<Holding>, Box<SessionSnapshot>),
    /// By another process.
    Held(LeaseName),
    /// There is no such session.
    Unknown,
}

/// Claims a session.
async fn claim(keeper: &Arc<LeaseKeeper>, key: &str) -> Result<Claimed, Refusal> {
    let lease = lease(keeper)?;
    let claimed = keeper.answer(keeper.store().claim(key, lease.name())).await;
    match claimed {
        // An answer that comes too late is ignored: another process may have the session by now.
        Ok(Claim::Granted(token, snapshot)) if lease.is_held() => {
            let holding = Holding::new(keeper, lease, key, token);
            let Some(snapshot) = snapshot else {
                // Its client does not know it: the answer to its handshake was never sent.
                Arc::new(holding).close();
                return Ok(Claimed::Unknown);
            };
            Ok(Claimed::Granted(Box::new(holding), snapshot))
        }
        Ok(Claim::Held(holder)) => Ok(Claimed::Held(holder)),
        Ok(Claim::Unknown) => Ok(Claimed::Unknown),
        Ok(Claim::Granted(..) | Claim::LeaseOver | Claim::Full) | Err(_) => Err(away()),
    }
}

/// Continues a session that the store has granted.
async fn restore(
    endpoint: &Arc<Endpoint>,
    keeper: &LeaseKeeper,
    holding: &Arc<Holding>,
    snapshot: SessionSnapshot,
    parts: &Parts,
) -> Result<Arc<HttpSession>, Refusal> {
    let SessionSnapshot { state, principal, address, scopes } = snapshot;
    let caller = Caller { principal: principal.map(Principal), address, ..Caller::default() };
    let mut log = SessionLog::held(endpoint.config.streams.event_store.clone(), caller.owner(), holding);
    let mut standalone = None;
    if let Some(store) = log.store().cloned() {
        let left = keeper.answer(store.log(holding.session(), holding.token())).await.map_err(|_| away())?;
        let (writes, next) = log.answer_left(left);
        standalone = next;
        for write in writes {
            let written = match write {
                Write::Done(written) => written,
                Write::Pending(write) => keeper.answer(write).await,
            };
            written.map_err(|_| away())?;
        }
    }
    let scopes = Scopes::lenient(scopes.iter().map(String::as_str));
    let continued = Continued { version: state.client.version, scopes, standalone };
    let session = HttpSession::held(Arc::clone(holding), log, &caller, &endpoint.config, Some(continued));
    let session = endpoint.enter(session, parts)?;
    tracing::debug!("a session was taken over from another process");
    Ok(session)
}

/// The lease of this process.
fn lease(keeper: &LeaseKeeper) -> Result<HeldLease, Refusal> {
    keeper.lease().ok_or_else(away)
}

/// The refusal of a request for a session while the store is away, or has granted no lease to this process.
fn away() -> Refusal {
    Box::new(retry_soon("the store that the processes of this server share does not answer; try again in a moment"))
}

/// Finishes the work when the client of the request has gone, too: the store and this process agree on the holder.
async fn detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Refusal>> + Send + 'static,
) -> Result<T, Refusal> {
    tokio::spawn(work).await.unwrap_or_else(|error| {
        tracing::error!("a session is not served: {error}");
        Err(Box::new(unavailable("no session can begin; try again later")))
    })
}

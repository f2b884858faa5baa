//! The other processes of a server, as one of them sees them: requests are handed on to them, and taken from them.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_LENGTH, EXPECT, HOST, ORIGIN, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, WWW_AUTHENTICATE,
};
use http::request::Parts;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, HeaderName, Request, Response, StatusCode, Uri};
use prometheus_client::metrics::counter::Counter;
use protomcp_fair::{Budget, LeftOut, LogRate, Owner, Reservation};
use protomcp_server::{LargeWork, LeaseKeeper, LeaseName};
use tokio::time::{Instant, timeout};

use crate::box_body::BoxBody;
use crate::caller::Caller;
use crate::hop::caller::HopCaller;
use crate::hop::nonces::Nonces;
use crate::hop::{self, CHALLENGE, HOP, Hop, HopKeys, HopRefusal, SIGNED, seconds};
use crate::known_holders::KnownHolders;
use crate::replica_client::{ReplicaClient, ReplicaError};

/// The time for the head of an answer.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The most requests that are handed on at the same time, their streams included. Each has a connection. Callers share
/// them.
const MAX_UNDER_WAY: usize = 1_024;

/// The most addresses that are remembered.
const MAX_ADDRESSES: usize = 1024;

/// The bytes of a large body: a digest of less takes less than a millisecond.
const LARGE: usize = 256 * 1024;

/// Headers of one connection (RFC 9110, section 7.6.1), the host of the receiver, and the page: the process that has
/// the page as its client checks it.
const OF_CONNECTION: [HeaderName; 11] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    ORIGIN,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// The other processes of a server, for [`Config::with_replicas`](crate::Config::with_replicas): a client for them, and
/// the keys that all of them share.
#[derive(Debug)]
pub struct Replicas {
    client: Arc<dyn ReplicaClient>,
    keys: HopKeys,
    time_limit: Duration,
    nonces: Nonces,
    /// The addresses of leases. A lease has one for its whole life.
    addresses: Mutex<HashMap<LeaseName, Uri>>,
    /// The holders of the sessions of other processes.
    pub(crate) holders: KnownHolders,
    /// The requests that are handed on now, as bytes of a budget.
    under_way: Budget,
    failed_log: LogRate,
    /// In the order of [`OUTCOMES`].
    outcomes: [Counter; 4],
    /// For the digests of large bodies.
    large: LargeWork,
}

/// The names of the outcomes in metrics.
const OUTCOMES: [&str; 4] = ["answered", "not_sent", "leaving", "lost"];

/// The outcome of handing a request on.
#[derive(Debug)]
pub(crate) enum HandedOn {
    /// The slot is taken until the body has ended.
    Answered(Response<BoxBody>, Reservation),
    /// The other process has not begun to carry the request out.
    NotSent,
    /// Likewise, because it shuts down: its sessions are free when their calls have ended.
    Leaving,
    /// The other process may have carried the request out.
    Lost,
}

impl Replicas {
    /// The most open files that handing on needs: a connection for each request, and for each answer that has ended.
    pub const OPEN_FILES: u64 = 2 * MAX_UNDER_WAY as u64;

    /// Hands requests on with this client, and signs and verifies them with these keys.
    #[must_use]
    pub fn new(client: Arc<dyn ReplicaClient>, keys: HopKeys) -> Self {
        Self {
            client,
            keys,
            time_limit: TIME_LIMIT,
            nonces: Nonces::default(),
            addresses: Mutex::default(),
            holders: KnownHolders::default(),
            under_way: Budget::new(MAX_UNDER_WAY),
            failed_log: LogRate::default(),
            outcomes: Default::default(),
            large: LargeWork::default(),
        }
    }

    /// Sets the time for the head of an answer. It has to be longer than the times after which a response becomes a
    /// stream ([`StreamConfig::stream_after`](crate::StreamConfig::stream_after) and
    /// [`keep_alive`](crate::StreamConfig::keep_alive)). Default 30 s.
    #[must_use]
    pub fn with_time_limit(mut self, time: Duration) -> Self {
        self.time_limit = time;
        self
    }

    /// Takes a request that another process has handed on to the process with this lease; `None`: it has none now, and
    /// the other process looks for its next one.
    pub(crate) fn take(&self, own: Option<&LeaseName>, head: &Parts) -> Result<Hop, HopRefusal> {
        let (hop, now) = (Hop::read(&self.keys, head)?, SystemTime::now());
        hop.check(own.ok_or(HopRefusal::Misdirected)?, now)?;
        self.nonces.enter(hop.nonce, hop.expires, seconds(now))?;
        Ok(hop)
    }

    /// The requests that were handed on, by their outcome.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = (&'static str, &Counter)> {
        OUTCOMES.into_iter().zip(&self.outcomes)
    }

    /// Hands a request on to the process with this lease. It is sent once.
    pub(crate) async fn hand_on(&self, keeper: &LeaseKeeper, to: &LeaseName, head: &Parts, body: &Bytes) -> HandedOn {
        let outcome = self.send(keeper, to, head, body).await;
        let place = match outcome {
            HandedOn::Answered(..) => 0,
            HandedOn::NotSent => 1,
            HandedOn::Leaving => 2,
            HandedOn::Lost => 3,
        };
        self.outcomes[place].inc();
        outcome
    }

    async fn send(&self, keeper: &LeaseKeeper, to: &LeaseName, head: &Parts, body: &Bytes) -> HandedOn {
        let owner = Caller::of(head).owner();
        let Ok(slot) = self.under_way.reserve(&owner, 1) else {
            self.warn(to, &"has not got it: too many requests are handed on");
            return HandedOn::NotSent;
        };
        let Some(address) = self.address(keeper, to).await else { return HandedOn::NotSent };
        let digest = self.digest(&owner, body).await;
        let hop = match Hop::new(to.clone(), HopCaller::of(head), digest, SystemTime::now()) {
            Ok(hop) => hop,
            Err(error) => {
                tracing::error!("a request is not handed on: {error}");
                return HandedOn::NotSent;
            }
        };
        let Some(request) = self.request(&address, &hop, head, body) else { return HandedOn::NotSent };
        let answer = timeout(self.time_limit, self.client.send(request)).await;
        let answer = answer.unwrap_or_else(|_| {
            let why = format!("no head of a response within {:?}", self.time_limit);
            Err(ReplicaError::Lost(why))
        });
        match answer {
            Ok(response) if response.status() == StatusCode::MISDIRECTED_REQUEST => HandedOn::NotSent,
            Ok(response) if response.headers().get(WWW_AUTHENTICATE) == Some(&CHALLENGE) => {
                self.refused(to, response.status())
            }
            Ok(mut response) => {
                remove_connection_headers(response.headers_mut());
                HandedOn::Answered(response, slot)
            }
            Err(error) => {
                self.warn(to, &error);
                if matches!(error, ReplicaError::NotSent(_)) { HandedOn::NotSent } else { HandedOn::Lost }
            }
        }
    }

    /// The digest of a body. A large one is read on another thread, because the threads of connections have no time for it.
    pub(crate) async fn digest(&self, owner: &Owner, body: &Bytes) -> [u8; 32] {
        if body.len() < LARGE {
            return hop::digest(body);
        }
        let body = body.clone();
        self.large.worker(owner.clone()).run(move || hop::digest(&body)).await
    }

    /// The outcome of a request whose header the other process has not accepted.
    fn refused(&self, to: &LeaseName, status: StatusCode) -> HandedOn {
        match status {
            // Something on the way has sent it twice.
            StatusCode::CONFLICT => {
                self.warn(to, &"has got it before");
                HandedOn::Lost
            }
            StatusCode::SERVICE_UNAVAILABLE => HandedOn::NotSent,
            StatusCode::GONE => HandedOn::Leaving,
            _ => {
                self.warn(to, &"refuses it: the processes need the same keys, and clocks within 5 s of each other");
                HandedOn::NotSent
            }
        }
    }

    /// The address of the process with this lease; `None`: it has none, or has lost its lease.
    async fn address(&self, keeper: &LeaseKeeper, lease: &LeaseName) -> Option<Uri> {
        let known = self.addresses().get(lease).cloned();
        if known.is_some() {
            return known;
        }
        let address = keeper.answer(keeper.store().address(lease)).await.ok()??;
        let Some(address) = address.parse::<Uri>().ok().filter(|uri| uri.authority().is_some()) else {
            self.warn(lease, &"has an address that is not a URL");
            return None;
        };
        let mut addresses = self.addresses();
        if addresses.len() >= MAX_ADDRESSES {
            // Most leases of this number are over; the others are looked up again.
            addresses.clear();
        }
        addresses.insert(lease.clone(), address.clone());
        Some(address)
    }

    /// The request as it is handed on.
    fn request(&self, address: &Uri, hop: &Hop, head: &Parts, body: &Bytes) -> Option<Request<Bytes>> {
        let Some(value) = hop.write(&self.keys, head) else {
            tracing::warn!("a request is not handed on: the token of its caller has too many claims");
            return None;
        };
        let mut request = Request::new(body.clone());
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = target(address, &head.uri)?;
        *request.headers_mut() = head.headers.clone();
        remove_connection_headers(request.headers_mut());
        request.headers_mut().insert(HOP, value);
        Some(request)
    }

    fn warn(&self, lease: &LeaseName, why: &dyn fmt::Display) {
        if let Some(LeftOut(left_out)) = self.failed_log.permit(Instant::now().into_std()) {
            tracing::warn!(left_out, "a request is handed on to the process {}, which {why}", lease.node);
        }
    }

    fn addresses(&self) -> MutexGuard<'_, HashMap<LeaseName, Uri>> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The target of a request below an address.
fn target(address: &Uri, request: &Uri) -> Option<Uri> {
    let asked = request.path_and_query().map_or("/", PathAndQuery::as_str);
    let base = address.path().trim_end_matches('/');
    let path: PathAndQuery = format!("{base}{asked}").parse().ok()?;
    Uri::builder()
        .scheme(address.scheme().cloned().unwrap_or(Scheme::HTTP))
        .authority(address.authority().map_or("", Authority::as_str))
        .path_and_query(path)
        .build()
        .ok()
}

/// Removes the headers that belong to a connection.
fn remove_connection_headers(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|names| names.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        // They are signed as the client has sent them.
        .filter(|name| !SIGNED.contains(name))
        .collect();
    for name in OF_CONNECTION.iter().chain(&named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_an_address_precedes_the_path_of_a_request() {
        for (address, asked, expected) in [
            ("http://192.0.2.1:8080", "/mcp", "http://192.0.2.1:8080/mcp"),
            ("http://192.0.2.1:8080/", "http://tools.example/mcp?x=1", "http://192.0.2.1:8080/mcp?x=1"),
            ("https://b.example/tools/", "/mcp", "https://b.example/tools/mcp"),
            ("b.example:80", "/", "http://b.example:80/"),
        ] {
            let target = target(&address.parse().unwrap(), &asked.parse().unwrap()).unwrap();
            assert_eq!(target.to_string(), expected);
        }
    }

    #[test]
    fn headers_of_a_connection_are_not_passed_on() {
        let all = [
            ("connection", "close, X-Mine, Mcp-Session-Id"),
            ("x-mine", "1"),
            ("host", "tools.example"),
            ("content-length", "1"),
            ("transfer-encoding", "chunked"),
            ("origin", "http://localhost"),
            ("mcp-session-id", "s"),
            ("accept", "*/*"),
        ];
        let mut headers: HeaderMap =
            all.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect();
        remove_connection_headers(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["accept", "mcp-session-id"]);
    }
}

//! The holders of sessions, in a store.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use protomcp_server::{Claim, FencingToken, LeaseName, LeaseStore, SessionSnapshot, StoreAnswer, StoreError};
use protomcp_types::RawJson;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::connection::Connection;
use crate::held_sessions::{HeldSession, HeldSessions};
use crate::keys::{KeyNames, SessionName};
use crate::script::{self, Call};
use crate::seal::Seal;
use crate::session_record::{Decision, Fields, SessionRecord, decide, lease_name};

/// The most leases: the ones that run, and the ones whose names are remembered.
const MAX_LEASES: u64 = 4_096;

/// The longest time of a lease, and of a request: a year. It can be added to any moment.
pub(crate) const LONGEST: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// The time for which the name of a session that was closed stays in use. A request to open it is repeated for less
/// time, and a copy of it may arrive late.
const CLOSED: Duration = Duration::from_secs(60);

/// The claims of other processes that may come between the steps of one.
const MAX_RACES: usize = 16;

/// The sessions that are kept alive at the same time.
const TOUCHES: usize = 64;

/// The holders of sessions in a Redis or Valkey.
///
/// A session that its holder does not serve any longer is kept for the time of
/// [`StoreOptions::with_keep`](crate::StoreOptions::with_keep), then it expires. The store has at most 4,096 leases,
/// those that ran within this time included. The number of sessions is bounded by the memory of the server: when it is
/// full, an open is answered with [`Claim::Full`].
#[derive(Debug)]
pub struct RedisLeases {
    access: Arc<Access>,
    /// Keeps the sessions of this process alive.
    touching: JoinHandle<()>,
}

#[derive(Debug)]
struct Access {
    connection: Arc<Connection>,
    names: KeyNames,
    seal: Arc<Seal>,
    held: HeldSessions,
    keep: Duration,
    /// The number of states that were saved, of all sessions.
    saves: AtomicU64,
}

impl RedisLeases {
    pub(crate) fn new(connection: Arc<Connection>, names: KeyNames, seal: Arc<Seal>, keep: Duration) -> Self {
        let runtime = connection.runtime().clone();
        let access =
            Arc::new(Access { connection, names, seal, held: HeldSessions::default(), keep, saves: AtomicU64::new(0) });
        let touching = runtime.spawn(Arc::clone(&access).keep_alive());
        Self { access, touching }
    }
}

impl Drop for RedisLeases {
    fn drop(&mut self) {
        self.touching.abort();
    }
}

impl LeaseStore for RedisLeases {
    fn register<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.register(lease, ttl))
    }

    fn renew<'a>(&'a self, lease: &'a LeaseName, ttl: Duration) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.renew(lease, ttl))
    }

    fn announce<'a>(&'a self, lease: &'a LeaseName, address: &'a str) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.announce(lease, address))
    }

    fn address<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, Option<Arc<str>>> {
        Box::pin(self.access.address(lease))
    }

    fn resign<'a>(&'a self, lease: &'a LeaseName) -> StoreAnswer<'a, ()> {
        Box::pin(self.access.resign(lease))
    }

    fn live(&self) -> StoreAnswer<'_, Vec<LeaseName>> {
        Box::pin(self.access.live(self.access.connection.deadline()))
    }

    fn open<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        Box::pin(self.access.open(session, lease))
    }

    fn claim<'a>(&'a self, session: &'a str, lease: &'a LeaseName) -> StoreAnswer<'a, Claim> {
        let deadline = self.access.connection.deadline();
        Box::pin(self.access.claim(SessionName::of(session), lease, deadline))
    }

    fn save<'a>(
        &'a self,
        session: &'a str,
        token: FencingToken,
        snapshot: &'a SessionSnapshot,
    ) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.save(session, token, snapshot))
    }

    fn release<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.release(session, token))
    }

    fn close<'a>(&'a self, session: &'a str, token: FencingToken) -> StoreAnswer<'a, bool> {
        Box::pin(self.access.close(session, token))
    }
}

impl Access {
    async fn register(&self, lease: &LeaseName, ttl: Duration) -> Result<bool, StoreError> {
        let call = script::REGISTER.call(self.names.leases_and_addresses()).arg(lease.to_string());
        let call = call.arg(millis(ttl)).arg(self.expiry()).arg(MAX_LEASES);
        let is_new: bool = self.connection.query(call, self.connection.deadline()).await?;
        if is_new {
            self.held.began(lease);
        }
        Ok(is_new)
    }

    async fn renew(&self, lease: &LeaseName, ttl: Duration) -> Result<bool, StoreError> {
        let call = script::RENEW.call(self.names.leases_and_addresses()).arg(lease.to_string());
        let call = call.arg(millis(ttl)).arg(self.expiry());
        let runs: bool = self.connection.query(call, self.connection.deadline()).await?;
        if !runs {
            self.held.ended(lease);
        }
        Ok(runs)
    }

    async fn announce(&self, lease: &LeaseName, address: &str) -> Result<bool, StoreError> {
        // An address belongs to a lease, and is sealed as a value of a session with the name of the lease.
        let name = lease.to_string();
        let session = SessionName::of(&name);
        let sealed = self.seal.keys().seal(&session, &self.address_field(), FencingToken::FIRST, address.as_bytes());
        let call = script::ANNOUNCE.call(self.names.leases_and_addresses()).arg(name).arg(sealed);
        self.connection.query(call, self.connection.deadline()).await
    }

    async fn address(&self, lease: &LeaseName) -> Result<Option<Arc<str>>, StoreError> {
        let name = lease.to_string();
        let session = SessionName::of(&name);
        let call = script::ADDRESS.call(self.names.leases_and_addresses()).arg(name);
        let sealed: Option<Vec<u8>> = self.connection.query(call, self.connection.deadline()).await?;
        let address = sealed.and_then(|sealed| self.seal.open(&session, &self.address_field(), &sealed));
        Ok(address.and_then(|address| String::from_utf8(address).ok()).map(Arc::from))
    }

    /// The name of an address where it is sealed.
    fn address_field(&self) -> String {
        format!("{} address", self.names.leases())
    }

    async fn resign(&self, lease: &LeaseName) -> Result<(), StoreError> {
        self.held.ended(lease);
        let call = script::RESIGN.call(self.names.leases_and_addresses()).arg(lease.to_string());
        self.connection.query::<bool>(call, self.connection.deadline()).await?;
        Ok(())
    }

    async fn live(&self, deadline: Instant) -> Result<Vec<LeaseName>, StoreError> {
        let call = script::LIVE.call(vec![self.names.leases()]);
        let names: Vec<String> = self.connection.query(call, deadline).await?;
        Ok(names.iter().filter_map(|name| lease_name(name)).collect())
    }

    async fn open(&self, session: &str, lease: &LeaseName) -> Result<Claim, StoreError> {
        let deadline = self.connection.deadline();
        if !self.live(deadline).await?.contains(lease) {
            return Ok(Claim::LeaseOver);
        }
        let name = SessionName::of(session);
        let call = script::OPEN.call(vec![self.names.of(&name).session]).arg(lease.to_string()).arg(self.expiry());
        let answer = self.connection.call(call, deadline).await?;
        if script::is_full(&answer) {
            return Ok(Claim::Full);
        }
        if !self.connection.read::<bool>(&answer)? {
            // It is known: the answer to an earlier request was lost, or this request is a late copy.
            return self.claim(name, lease, deadline).await;
        }
        let token = FencingToken::FIRST;
        self.held.granted(HeldSession { session: name, lease: lease.clone(), token });
        Ok(Claim::Granted(token, None))
    }

    async fn claim(&self, session: SessionName, lease: &LeaseName, deadline: Instant) -> Result<Claim, StoreError> {
        let key = self.names.of(&session).session;
        for _ in 0..MAX_RACES {
            // In this order: see `session_record`.
            let record = self.record(&key, deadline).await?;
            let live = self.live(deadline).await?;
            let record = match decide(lease, &live, record) {
                Decision::LeaseOver => return Ok(Claim::LeaseOver),
                Decision::Unknown => return Ok(Claim::Unknown),
                Decision::Held(holder) => return Ok(Claim::Held(holder)),
                Decision::Free(record) => record,
            };
            let snapshot = match &record.state {
                Some(sealed) => match self.opened(&session, &key, sealed) {
                    Some(snapshot) => Some(Box::new(snapshot)),
                    // It stays as it is, for a process with its key.
                    None => return Ok(Claim::Unknown),
                },
                None => None,
            };
            let call = script::CLAIM.call(vec![key.clone()]).arg(lease.to_string()).arg(record.holder);
            let call = call.arg(record.token).arg(record.version).arg(self.expiry());
            let token: u64 = self.connection.query(call, deadline).await?;
            if token > 0 {
                let token = FencingToken::new(token);
                self.held.granted(HeldSession { session, lease: lease.clone(), token });
                return Ok(Claim::Granted(token, snapshot));
            }
        }
        tracing::warn!("a session changes its holder too often to be claimed");
        Err(StoreError::Unavailable)
    }

    async fn record(&self, key: &str, deadline: Instant) -> Result<Option<SessionRecord>, StoreError> {
        let mut command = redis::cmd("HMGET");
        command.arg(key).arg("h").arg("k").arg("v").arg("d");
        let fields: Fields = self.connection.query(Call::Command(command), deadline).await?;
        Ok(SessionRecord::of(fields))
    }

    fn opened(&self, session: &SessionName, key: &str, sealed: &[u8]) -> Option<SessionSnapshot> {
        let text = self.seal.open(session, &state_field(key), sealed)?;
        SessionSnapshot::from_json(&RawJson::parse(text).ok()?)
    }

    async fn save(&self, session: &str, token: FencingToken, snapshot: &SessionSnapshot) -> Result<bool, StoreError> {
        let name = SessionName::of(session);
        let text = snapshot.to_json().into_raw();
        let key = self.names.of(&name).session;
        let sealed = self.seal.keys().seal(&name, &state_field(&key), token, text.as_bytes());
        let call = script::SAVE.call(vec![key]);
        let number = self.saves.fetch_add(1, Ordering::Relaxed);
        let call = call.arg(token.get()).arg(number).arg(sealed).arg(self.expiry());
        self.connection.query(call, self.connection.deadline()).await
    }

    async fn release(&self, session: &str, token: FencingToken) -> Result<bool, StoreError> {
        let name = SessionName::of(session);
        self.held.lost(&name, token);
        let call = script::RELEASE.call(vec![self.names.of(&name).session]);
        let call = call.arg(token.get()).arg(millis(self.keep));
        self.connection.query(call, self.connection.deadline()).await
    }

    async fn close(&self, session: &str, token: FencingToken) -> Result<bool, StoreError> {
        let name = SessionName::of(session);
        self.held.lost(&name, token);
        let call = script::CLOSE.call(vec![self.names.of(&name).session]);
        let call = call.arg(token.get()).arg(millis(CLOSED));
        self.connection.query(call, self.connection.deadline()).await
    }

    /// The time in which a key expires that its holder does not touch, in milliseconds.
    fn expiry(&self) -> u64 {
        expiry(self.keep)
    }

    /// Keeps the sessions of this process alive.
    async fn keep_alive(self: Arc<Self>) {
        loop {
            sleep(touch_after(self.keep)).await;
            stream::iter(self.held.all()).for_each_concurrent(TOUCHES, |held| self.touch(held)).await;
        }
    }

    async fn touch(&self, held: HeldSession) {
        let HeldSession { session, lease, token } = held;
        let call = script::TOUCH.call(self.names.of(&session).all());
        let call = call.arg(lease.to_string()).arg(token.get()).arg(self.expiry());
        // Without an answer it is touched the next time: a key lives for as long as several of these pauses.
        let touched: Result<bool, _> = self.connection.query(call, self.connection.deadline()).await;
        if touched == Ok(false) {
            self.held.lost(&session, token);
        }
    }
}

/// The name of the state of a session where it is sealed.
fn state_field(key: &str) -> String {
    format!("{key} state")
}

/// The pause after which the sessions of a process are touched.
fn touch_after(keep: Duration) -> Duration {
    (keep / 4).max(Duration::from_millis(1))
}

/// The time in which a key expires that is not touched, in milliseconds: for two touches longer than a session is kept.
pub(crate) fn expiry(keep: Duration) -> u64 {
    millis(keep.min(LONGEST) + 2 * touch_after(keep.min(LONGEST)))
}

/// Milliseconds, one at least, for a year at most.
fn millis(time: Duration) -> u64 {
    u64::try_from(time.min(LONGEST).as_millis()).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_outlive_the_time_for_which_sessions_are_kept() {
        for (keep, expected) in [(60, 90_000), (3_600, 5_400_000)] {
            let keep = Duration::from_secs(keep);
            assert_eq!(expiry(keep), expected);
            let after_a_touch = Duration::from_millis(expiry(keep)) - touch_after(keep);
            assert!(after_a_touch > keep, "a holder that dies just before a touch");
        }
        assert_eq!((expiry(Duration::ZERO), millis(Duration::ZERO)), (2, 1));
        assert_eq!(expiry(Duration::MAX), millis(LONGEST));
    }
}

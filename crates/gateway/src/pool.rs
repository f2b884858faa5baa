//! The sessions with one server: one that clients share, and one for each session of a client that needs its own.

mod eras;
mod leases;
pub(crate) mod succession;

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::future::{join, join_all};
use protomcp_client::{ClientSession, RequestError, WeakClientSession};
use protomcp_fair::may_take_slot;
use protomcp_server::{Audience, Context, Owner, SessionId};
use protomcp_types::Implementation;

use crate::environment::Environment;
use crate::era::Era;
use crate::failure::{Failure, Why};
use crate::identity::{self, SessionClient};
use crate::known::Memory;
use crate::limits::GatewayLimits;
use crate::pool::eras::SharedSessions;
use crate::pool::leases::Leases;
use crate::reach::Reach;
use crate::upstream_session::in_use::InUse;
use crate::upstream_session::{CLOSE_TIMEOUT, UpstreamSession, Users};

/// The pause between looks for room for one more session.
const ROOM_PAUSE: Duration = Duration::from_secs(1);

/// The sessions with one server.
#[derive(Debug)]
pub(crate) struct Pool {
    pub(crate) reach: Arc<Reach>,
    shared: Mutex<SharedSessions>,
    environment: Arc<Environment>,
    gateway: Arc<Implementation>,
    sessions: Mutex<HashMap<SessionId, Arc<UpstreamSession>>>,
    leases: Mutex<Leases<UpstreamSession>>,
    /// The clients whose lists lack this server until there is room for a session.
    waiting: Mutex<HashSet<SessionId>>,
    /// Connections of earlier versions that finish their requests.
    retired: Mutex<Vec<WeakClientSession>>,
    is_closed: AtomicBool,
}

/// A session for one call.
#[derive(Debug)]
pub(crate) struct Lease {
    session: InUse,
    /// The session is for this call alone, which counts for the owner.
    owned_by: Option<(Arc<Pool>, Owner)>,
    is_answered: bool,
}

impl Lease {
    pub(crate) fn session(&self) -> &Arc<UpstreamSession> {
        &self.session
    }

    /// The call is sent, perhaps once more.
    pub(crate) fn begins(&mut self) {
        self.is_answered = false;
    }

    /// The server has answered, so it sends nothing more about the call.
    pub(crate) fn answered(&mut self) {
        self.is_answered = true;
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some((pool, owner)) = self.owned_by.take() else { return };
        let session = Arc::clone(self.session());
        let is_session = |other: &Arc<_>| Arc::ptr_eq(other, &session);
        let mut leases = pool.leases();
        leases.give_back(&owner);
        // One of an earlier version is not among them.
        if self.is_answered && leases.all.iter().any(is_session) {
            return leases.free.push((owner, session));
        }
        // A late question must not be taken for one of the next call.
        leases.all.retain(|other| !is_session(other));
        drop(leases);
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { session.close().await });
        }
    }
}

impl Pool {
    /// `era`: the one to open first.
    pub(crate) fn new(
        reach: Reach,
        environment: Arc<Environment>,
        gateway: Arc<Implementation>,
        era: Era,
    ) -> Arc<Self> {
        let reach = Arc::new(reach);
        let (users, memory) = (Users::All(era), Memory::default());
        let main = UpstreamSession::new(Arc::clone(&reach), users, Arc::clone(&environment), &gateway, memory);
        Arc::new(Self {
            reach,
            shared: Mutex::new(SharedSessions { main, other: None }),
            environment,
            gateway,
            sessions: Mutex::default(),
            leases: Mutex::default(),
            waiting: Mutex::default(),
            retired: Mutex::default(),
            is_closed: AtomicBool::new(false),
        })
    }

    pub(crate) fn limits(&self) -> GatewayLimits {
        self.environment.limits
    }

    /// The session for a call that its server may answer with questions. A question of a server with sessions names no
    /// call, so a call of a client without a session gets its own session, if its client can be asked.
    ///
    /// # Errors
    /// See [`Pool::session_of`]; also if too many calls have their own session, or too many of this caller's.
    pub(crate) async fn lease(self: &Arc<Self>, context: &Context) -> Result<Lease, Failure> {
        let session = self.session_of(context)?;
        let shared = Lease { session, owned_by: None, is_answered: false };
        if !context.is_stateless() || self.reach.upstream.is_shared() || !identity::can_be_asked(context) {
            return Ok(shared);
        }
        match shared.session.enter().await {
            Ok((_, session)) if session.server().is_stateful() => {}
            // The call learns the failure by itself.
            Ok(_) | Err(_) => return Ok(shared),
        }
        let (owner, max) = (context.caller().owner.clone(), self.environment.limits.max_sessions);
        let mut leases = self.leases();
        if !leases.take(&owner, max) {
            return Err(self.reach.failure(Why::Full));
        }
        let reused = leases.reuse(&owner);
        let victim = if reused.is_none() { leases.make_room(max) } else { None };
        let session = reused.unwrap_or_else(|| {
            let (reach, environment) = (Arc::clone(&self.reach), Arc::clone(&self.environment));
            let memory = Memory { known: self.shared().share_known(), ..Memory::default() };
            let session = UpstreamSession::new(reach, Users::Call, environment, &self.gateway, memory);
            leases.all.push(Arc::clone(&session));
            session
        });
        drop(leases);
        if let Some(victim) = victim {
            tokio::spawn(async move { victim.close().await });
        }
        Ok(Lease { session: InUse::new(session), owned_by: Some((Arc::clone(self), owner)), is_answered: false })
    }

    /// The session for a call.
    ///
    /// # Errors
    /// If the client needs its own and too many are in use, or too many of its owner's.
    pub(crate) fn session_of(&self, context: &Context) -> Result<InUse, Failure> {
        if self.is_for_all(context) {
            return Ok(InUse::new(self.shared_in(Era::of(context))));
        }
        let id = context.session();
        let mut sessions = self.lock();
        // In use before another request can take the lock and end it.
        if let Some(session) = sessions.get(&id) {
            return Ok(InUse::new(Arc::clone(session)));
        }
        let client = SessionClient::of(context);
        if !may_take_slot(count(&sessions, &client.owner), sessions.len(), self.environment.limits.max_sessions) {
            let victim = victim(&sessions, &client.owner).ok_or_else(|| self.reach.failure(Why::Full))?;
            if let Some(victim) = sessions.remove(&victim) {
                tracing::info!(server = self.reach.upstream.name(), "an idle session gives way to another client's");
                tokio::spawn(async move { victim.close().await });
            }
        }
        let (reach, environment) = (Arc::clone(&self.reach), Arc::clone(&self.environment));
        let session =
            UpstreamSession::new(reach, Users::One(Box::new(client)), environment, &self.gateway, Memory::default());
        sessions.insert(id, Arc::clone(&session));
        Ok(InUse::new(session))
    }

    /// The session for a call, if there is one.
    pub(crate) fn present_session_of(&self, context: &Context) -> Option<Arc<UpstreamSession>> {
        if self.is_for_all(context) {
            Some(self.shared_in(Era::of(context)))
        } else {
            self.lock().get(&context.session()).cloned()
        }
    }

    fn is_for_all(&self, context: &Context) -> bool {
        self.reach.upstream.is_shared() || [SessionId::STATELESS, SessionId::DETACHED].contains(&context.session())
    }

    /// Announces the lists of the server to a client for whose session there is no room, as soon as there is.
    pub(crate) fn announce_room(self: &Arc<Self>, context: &Context) {
        let (client, owner) = (context.session(), context.caller().owner.clone());
        if !lock(&self.waiting).insert(client) {
            return;
        }
        let pool = Arc::downgrade(self);
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(ROOM_PAUSE).await;
                let Some(pool) = pool.upgrade() else { return };
                let is_open = pool.environment.clients().is_some_and(|clients| clients.view(client).is_some());
                if !is_open || pool.has_room(&owner) {
                    lock(&pool.waiting).remove(&client);
                    return pool.environment.lists_changed(&Audience::Session(client));
                }
            }
        });
    }

    /// True if an owner could have one more session.
    fn has_room(&self, owner: &Owner) -> bool {
        let sessions = self.lock();
        may_take_slot(count(&sessions, owner), sessions.len(), self.environment.limits.max_sessions)
            || victim(&sessions, owner).is_some()
    }

    /// The session of a client, if it has used one.
    pub(crate) fn existing(&self, client: SessionId) -> Option<Arc<UpstreamSession>> {
        if self.reach.upstream.is_shared() {
            Some(self.shared_in(Era::Stateful))
        } else {
            self.lock().get(&client).cloned()
        }
    }

    /// A session of a client is over.
    pub(crate) fn leave(&self, client: SessionId) {
        lock(&self.shared).all().for_each(|shared| shared.leave(client));
        if let Some(session) = self.lock().remove(&client) {
            tokio::spawn(async move { session.close().await });
        }
    }

    /// Ends the sessions that nothing has needed for this long.
    async fn rest(&self, limit: Duration) {
        let is_idle = |session: &UpstreamSession| session.idle_time().is_some_and(|idle| idle >= limit);
        let idle: Vec<_> = self.lock().extract_if(|_, session| is_idle(session)).map(|(_, session)| session).collect();
        let unused = self.unused(&is_idle);
        join_all(idle.iter().chain(&unused).map(|session| session.close())).await;
        self.rest_shared(limit).await;
    }

    /// Removes the sessions for single calls that nothing has needed for long.
    fn unused(&self, is_idle: &impl Fn(&UpstreamSession) -> bool) -> Vec<Arc<UpstreamSession>> {
        let mut leases = self.leases();
        let unused: Vec<_> =
            leases.free.extract_if(.., |(_, session)| is_idle(session)).map(|(_, session)| session).collect();
        leases.all.retain(|session| !unused.iter().any(|other| Arc::ptr_eq(session, other)));
        unused
    }

    /// Ends all sessions, for ever.
    pub(crate) async fn close(&self) {
        self.is_closed.store(true, Ordering::SeqCst);
        let mut sessions: Vec<_> = self.lock().drain().map(|(_, session)| session).collect();
        sessions.extend(self.take_leases());
        sessions.extend(lock(&self.shared).all().cloned());
        let retired = std::mem::take(&mut *lock(&self.retired));
        let current = join_all(sessions.iter().map(|session| session.close()));
        join(current, join_all(retired.iter().map(end))).await;
    }

    /// Asks the server if it is there.
    async fn probe(&self, session: &ClientSession) {
        let limit = self.environment.limits.list_timeout;
        let cause = match tokio::time::timeout(limit, session.ping()).await {
            Ok(answer @ (Ok(()) | Err(RequestError::Refused(_)))) => {
                if self.shared().learn(&answer) {
                    self.environment.lists_changed(&Audience::Everyone);
                }
                return;
            }
            // It is opened again.
            Ok(Err(RequestError::Closed(_))) => return,
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("it did not answer within {limit:?}"),
        };
        self.reach.failed(cause.as_str());
        self.shared().set_silent(true);
    }

    /// The sessions for single calls, which serve no further call.
    fn take_leases(&self) -> Vec<Arc<UpstreamSession>> {
        let mut leases = self.leases();
        leases.free.clear();
        std::mem::take(&mut leases.all)
    }

    fn leases(&self) -> MutexGuard<'_, Leases<UpstreamSession>> {
        lock(&self.leases)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<UpstreamSession>>> {
        lock(&self.sessions)
    }
}

/// Closes a connection, whose requests fail, and waits for its end.
pub(crate) async fn end(connection: &WeakClientSession) {
    match connection.upgrade() {
        Some(session) => session.close(CLOSE_TIMEOUT).await,
        None => connection.closed().await,
    };
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The sessions of an owner.
fn count(sessions: &HashMap<SessionId, Arc<UpstreamSession>>, owner: &Owner) -> usize {
    let is_own = |session: &&Arc<UpstreamSession>| session.client.as_ref().is_some_and(|client| client.owner == *owner);
    sessions.values().filter(is_own).count()
}

/// The session that gives way: the one of the owner with most of them that was idle for longest. None if `newcomer` has
/// more than all others with idle ones.
fn victim(sessions: &HashMap<SessionId, Arc<UpstreamSession>>, newcomer: &Owner) -> Option<SessionId> {
    let owner = |session: &UpstreamSession| session.client.as_ref().map(|client| client.owner.clone());
    let mut counts: HashMap<Owner, usize> = HashMap::new();
    for session in sessions.values() {
        *counts.entry(owner(session)?).or_default() += 1;
    }
    let own = counts.get(newcomer).copied().unwrap_or_default();
    let candidates = sessions.iter().filter_map(|(id, session)| {
        let (idle, owner) = (session.idle_time()?, owner(session)?);
        let count = counts.get(&owner).copied().unwrap_or_default();
        (count >= own).then_some((count, idle, *id))
    });
    candidates.max_by_key(|(count, idle, _)| (*count, *idle)).map(|(_, _, id)| id)
}

/// Connects a server again after an outage, until the pool is gone.
pub(crate) async fn reconnect(pool: Weak<Pool>) {
    loop {
        let Some(reach) = pool.upgrade().map(|pool| Arc::clone(&pool.reach)) else { return };
        reach.next_attempt().await;
        let Some(pool) = pool.upgrade() else { return };
        match pool.shared().enter().await {
            Ok((_, session)) => pool.probe(&session).await,
            Err(Failure { why: Why::Gone, .. }) => return,
            // A failure to open has begun the next pause.
            Err(_) => {}
        }
        let pause = pool.shared().pause();
        drop(pool);
        tokio::time::sleep(pause).await;
    }
}

/// Waits for a server that was not connected in time, and announces its lists.
pub(crate) async fn announce(pool: Arc<Pool>) {
    // After a failure another task connects it, and announces that it is back.
    if pool.shared().enter().await.is_ok() {
        pool.environment.lists_changed(&Audience::Everyone);
    }
}

/// Ends idle sessions, until the pool is gone.
pub(crate) async fn sweep(pool: Weak<Pool>, limit: Duration) {
    loop {
        tokio::time::sleep((limit / 4).max(Duration::from_millis(100))).await;
        let Some(pool) = pool.upgrade() else { return };
        pool.rest(limit).await;
    }
}

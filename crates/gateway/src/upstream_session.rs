//! One session with a server: opened when it is needed, opened again after it was lost.
//!
//! ```text
//!          a request             connected
//!   Idle ────────────▶ Opening ────────────▶ Open
//!    ▲                    │                   │ lost, or idle for long
//!    └────── failed ──────┴───────────────────┘        any state ── the client leaves ──▶ Closed
//!                                                                 ── a reload ──▶ Replaced, by a separate session
//! ```
//!
//! Requests that have begun keep a connection open, so a replaced one ends with its last request.

mod in_era;
pub(crate) mod in_use;
mod replacing;
mod wishes;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use protomcp_client::{Client, ClientSession, CloseReason, RequestError};
use protomcp_server::Audience;
use protomcp_types::{Implementation, Level};
use tokio::sync::{Notify, oneshot};

use crate::environment::Environment;
use crate::era::Era;
use crate::failure::{Failure, Why};
use crate::health::{FIRST_PAUSE, Health};
use crate::identity::{self, SessionClient};
use crate::known::{Known, Memory};
use crate::list::ListKind;
use crate::notices::Notices;
use crate::opening::{self, FailureKind, OpenFailure};
use crate::questions::{Place, Questions};
use crate::reach::{Reach, now};
use crate::running::Running;
use crate::upstream_session::in_era::InEra;
use crate::web_pages::WebPages;

/// The time in which a server must end after its session.
pub(crate) const CLOSE_TIMEOUT: Duration = Duration::from_secs(10);

/// A session with a server.
pub(crate) struct UpstreamSession {
    pub(crate) reach: Arc<Reach>,
    /// The only client; `None`: clients share the session.
    pub(crate) client: Option<SessionClient>,
    pub(crate) running: Arc<Running>,
    memory: Memory,
    pub(crate) environment: Arc<Environment>,
    notices: Arc<Notices>,
    opener: Client,
    in_era: InEra,
    state: Mutex<State>,
    trouble: Trouble,
    used: Mutex<Instant>,
    /// It is for all requests that do not have their own session.
    is_for_all: bool,
    /// Wakes requests when another session has taken the place of this one.
    replaced: Notify,
    this: Weak<Self>,
}

/// The failures of one session, whose server may be up.
#[derive(Debug, Default)]
struct Trouble {
    losses: Mutex<Health>,
    /// A task opens the session again.
    is_reopening: AtomicBool,
    /// The session is open, and a ping had no answer.
    is_silent: AtomicBool,
}

/// The requests that a session is for.
#[derive(Debug)]
pub(crate) enum Users {
    /// All that do not have their own session. Sessions are opened in this era, if the server has both.
    All(Era),
    /// The ones of the other era among these, with a server that has both. If it has not, the session serves them that
    /// is for all.
    OtherEra(Era, Arc<UpstreamSession>),
    /// The requests of one client.
    One(Box<SessionClient>),
    /// A single call.
    Call,
}

#[derive(Debug)]
enum State {
    Idle,
    Opening(Shared<BoxFuture<'static, Result<ClientSession, Failure>>>),
    Open { session: ClientSession, watched: oneshot::Sender<()> },
    Replaced(Arc<UpstreamSession>),
    Closed,
}

impl State {
    async fn end(self) {
        if let Self::Open { session, watched } = self {
            drop(watched);
            session.close(CLOSE_TIMEOUT).await;
        }
    }
}

impl UpstreamSession {
    pub(crate) fn new(
        reach: Arc<Reach>,
        users: Users,
        environment: Arc<Environment>,
        gateway: &Implementation,
        memory: Memory,
    ) -> Arc<Self> {
        let is_for_all = matches!(users, Users::All(_));
        let (client, era, main) = match users {
            // Only clients with a session have their own, and only stateless ones for a call.
            Users::One(client) => (Some(*client), Era::Stateful, None),
            Users::Call => (None, Era::Stateless, None),
            Users::All(era) => (None, era, None),
            Users::OtherEra(era, main) => (None, era, Some(main)),
        };
        let running = match client {
            Some(_) => Running::default(),
            None => Running::of_several(&environment.limits),
        };
        let running = Arc::new(running);
        let session = client.as_ref().map(|client| client.session);
        let questions = Arc::new(Questions {
            reach: Arc::clone(&reach),
            pages: Arc::clone(&memory.pages),
            environment: Arc::clone(&environment),
            running: Arc::clone(&running),
            client: session,
        });
        let notices = Arc::new(Notices {
            reach: Arc::clone(&reach),
            memory: memory.clone(),
            environment: Arc::clone(&environment),
            running: Arc::clone(&running),
            client: session,
        });
        let observed = Arc::clone(&notices);
        let opener = identity::client(client.as_ref(), gateway, &environment.limits)
            .on_question(move |question, server| {
                let questions = Arc::clone(&questions);
                async move { questions.answer(question, server).await }
            })
            .observe_notifications(move |notification, _| observed.take(notification));
        Arc::new_cyclic(|this| Self {
            reach,
            client,
            running,
            memory,
            environment,
            notices,
            opener,
            in_era: InEra::new(era, main),
            state: Mutex::new(State::Idle),
            trouble: Trouble::default(),
            used: Mutex::new(now()),
            is_for_all,
            replaced: Notify::new(),
            this: this.clone(),
        })
    }

    /// The open session. Opens it if it is not.
    ///
    /// # Errors
    /// If the server cannot be reached now.
    pub(crate) async fn session(&self) -> Result<ClientSession, Failure> {
        *lock(&self.used) = now();
        loop {
            let opening = match &mut *lock(&self.state) {
                State::Open { session, .. } if !session.is_closed() => {
                    // Attempts to open other sessions say nothing about this one.
                    if !self.trouble.is_silent.load(Ordering::Acquire) || !self.reach.is_blocked() {
                        return Ok(session.clone());
                    }
                    None
                }
                State::Opening(opening) => Some(opening.clone()),
                State::Closed | State::Replaced(_) => return Err(self.reach.failure(Why::Gone)),
                state @ (State::Idle | State::Open { .. }) => {
                    if let State::Open { .. } = state {
                        lock(&self.trouble.losses).failed(now(), "it has ended");
                    }
                    let opening = self.begin();
                    *state = State::Opening(opening.clone());
                    Some(opening)
                }
            };
            match opening {
                Some(opening) => return opening.await,
                // It is open, and has no answer.
                None => drop(self.reach.admit().await?),
            }
        }
    }

    /// The sessions whose lists come from this one.
    pub(crate) fn audience(&self) -> Audience {
        self.notices.audience()
    }

    /// The session if it is open.
    pub(crate) fn open_session(&self) -> Option<ClientSession> {
        match &*lock(&self.state) {
            State::Open { session, .. } if !session.is_closed() => Some(session.clone()),
            _ => None,
        }
    }

    /// Begins to open in its own task, which a request that is cancelled does not stop.
    fn begin(&self) -> Shared<BoxFuture<'static, Result<ClientSession, Failure>>> {
        let gone = self.reach.failure(Why::Gone);
        let Some(this) = self.this.upgrade() else { return std::future::ready(Err(gone)).boxed().shared() };
        let opening = tokio::spawn(async move { this.open().await });
        opening.map(move |outcome| outcome.unwrap_or(Err(gone))).boxed().shared()
    }

    async fn open(&self) -> Result<ClientSession, Failure> {
        let session = match self.attempt().await {
            Ok(session) => session,
            Err(failure) => {
                let mut state = lock(&self.state);
                if matches!(*state, State::Opening(_)) {
                    *state = State::Idle;
                }
                return Err(failure);
            }
        };
        if !self.keep(&session) {
            session.close(CLOSE_TIMEOUT).await;
            return Err(self.reach.failure(Why::Gone));
        }
        // The server may have other lists than before it was lost.
        self.known().changed(&ListKind::ALL);
        self.restore(&session);
        if self.reach.works() {
            self.environment.lists_changed(&Audience::Everyone);
        }
        if lock(&self.trouble.losses).works(now()) {
            self.environment.lists_changed(&self.notices.audience());
        }
        Ok(session)
    }

    /// False if the client has left, or another session has taken the place of this one.
    fn keep(&self, session: &ClientSession) -> bool {
        let mut state = lock(&self.state);
        let is_wanted = !matches!(*state, State::Closed | State::Replaced(_));
        if is_wanted {
            self.running.opened(session);
            self.in_era.opened(session);
            self.environment.opened(&self.reach, self.era(), &session.server());
            self.set_silent(false);
            *state = State::Open { session: session.clone(), watched: self.watch(session.clone()) };
        }
        is_wanted
    }

    async fn attempt(&self) -> Result<ClientSession, Failure> {
        self.reach.wait(|| lock(&self.trouble.losses).blocked(now()).cloned()).await?;
        let _only = self.reach.admit().await?;
        if self.is_replaced() {
            return Err(self.reach.failure(Why::Gone));
        }
        let limit = self.environment.limits.open_timeout;
        match tokio::time::timeout(limit, opening::open(&self.reach.upstream, &self.opener, self.era())).await {
            Ok(Ok(session)) => Ok(session),
            // Its failure says nothing about the session that has taken its place.
            _ if self.is_replaced() => Err(self.reach.failure(Why::Gone)),
            Ok(Err(failure)) => Err(self.not_opened(failure)),
            Err(_) => {
                let cause = format!("it was not connected within {limit:?}").as_str().into();
                Err(self.not_opened(OpenFailure { kind: FailureKind::Unclear, cause }))
            }
        }
    }

    /// An attempt has failed. Other sessions are concerned only if their clients would fail as well.
    fn not_opened(&self, OpenFailure { kind, cause }: OpenFailure) -> Failure {
        let is_down = match kind {
            FailureKind::Unreachable => true,
            FailureKind::Unclear => self.is_for_all,
            FailureKind::Refused => false,
        };
        if is_down {
            return self.reach.failed(cause);
        }
        tracing::warn!(server = self.reach.upstream.name(), cause = %cause.logged, "a session was not opened");
        let retry_in = {
            let mut losses = lock(&self.trouble.losses);
            losses.failed(now(), cause.clone());
            losses.outage().map(|outage| outage.retry_at.saturating_duration_since(now()))
        };
        if self.is_for_all {
            self.reopen();
        }
        self.reach.failure(Why::Down { cause, retry_in: retry_in.unwrap_or_default() })
    }

    /// Watches for the end of a session, until the sender is dropped.
    fn watch(&self, session: ClientSession) -> oneshot::Sender<()> {
        let (watched, dropped) = oneshot::channel();
        let this = self.this.clone();
        tokio::spawn(async move {
            tokio::select! {
                reason = session.closed() => {
                    if let Some(this) = this.upgrade() {
                        this.lost(&session, &reason);
                    }
                }
                _ = dropped => {}
            }
        });
        watched
    }

    fn lost(&self, ended: &ClientSession, reason: &CloseReason) {
        let server = self.reach.upstream.name();
        tracing::warn!(server, %reason, "a session with a server has ended, and is opened again");
        {
            let mut state = lock(&self.state);
            match &*state {
                State::Open { session, .. } if session.id() == ended.id() => *state = State::Idle,
                _ => return,
            }
            lock(&self.trouble.losses).failed(now(), "it has ended");
        }
        let text = format!("server \"{server}\" has ended, and is connected again");
        self.environment.log(&self.notices.audience(), Level::Warning, &text);
        self.reopen();
    }

    /// Opens the session again in the background, in a single task.
    fn reopen(&self) {
        if self.trouble.is_reopening.swap(true, Ordering::AcqRel) {
            return;
        }
        let this = self.this.clone();
        tokio::spawn(async move {
            loop {
                let Some(pause) = this.upgrade().map(|this| this.pause()) else { return };
                tokio::time::sleep(pause).await;
                let Some(this) = this.upgrade() else { return };
                let is_gone = match this.session().await {
                    Ok(_) => false,
                    Err(Failure { why: Why::Gone, .. }) => true,
                    Err(_) => continue,
                };
                this.trouble.is_reopening.store(false, Ordering::Release);
                // It may have been lost again before that.
                if is_gone || this.open_session().is_some() || this.trouble.is_reopening.swap(true, Ordering::AcqRel) {
                    return;
                }
            }
        });
    }

    /// The time until the next attempt after a failure.
    pub(crate) fn pause(&self) -> Duration {
        let lost = lock(&self.trouble.losses).outage().map(|outage| outage.retry_at);
        let until = lost.into_iter().chain(self.reach.retry_at()).max();
        // Requests of other sessions can end an outage while this one still fails.
        until.map(|until| until.saturating_duration_since(now())).unwrap_or_default().max(FIRST_PAUSE)
    }

    /// Like [`Reach::learn`], for an answer in this session.
    pub(crate) fn learn<T>(&self, outcome: &Result<T, RequestError>) -> bool {
        if let Ok(_) | Err(RequestError::Refused(_)) = outcome {
            self.set_silent(false);
        }
        self.reach.learn(outcome)
    }

    /// Requests wait while the server is down, although the session is open.
    pub(crate) fn set_silent(&self, is_silent: bool) {
        self.trouble.is_silent.store(is_silent, Ordering::Release);
    }

    /// The lists of the server, for another session with it.
    pub(crate) fn share_known(&self) -> Arc<Mutex<Known>> {
        Arc::clone(&self.memory.known)
    }

    /// The place that questions of a request come from.
    pub(crate) fn place(&self) -> Place<'_> {
        Place { environment: &self.environment, reach: &self.reach, pages: &self.memory.pages }
    }

    /// The web pages that users of its clients were sent to.
    pub(crate) fn pages(&self) -> &Arc<WebPages> {
        &self.memory.pages
    }

    pub(crate) fn known(&self) -> MutexGuard<'_, Known> {
        lock(&self.memory.known)
    }

    /// Ends the session with the server until the next request, if nothing has needed it for this long.
    pub(crate) async fn rest(&self, limit: Duration) {
        let before = {
            let mut state = lock(&self.state);
            // A request that comes now waits for the state, and opens the session again.
            let is_idle = self.idle_time().is_some_and(|idle| idle >= limit);
            match &*state {
                State::Open { .. } if is_idle => std::mem::replace(&mut *state, State::Idle),
                _ => return,
            }
        };
        before.end().await;
    }

    /// Ends the session with the server for ever.
    pub(crate) async fn close(&self) {
        let before = {
            let mut state = lock(&self.state);
            match &*state {
                State::Replaced(_) => return,
                _ => std::mem::replace(&mut *state, State::Closed),
            }
        };
        before.end().await;
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl std::fmt::Debug for UpstreamSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UpstreamSession")
            .field("reach", &self.reach)
            .field("client", &self.client)
            .finish_non_exhaustive()
    }
}

//! The hold of this process on a session that other processes can take over: its lease, its token, and the state that
//! is saved for them.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use protomcp_auth::Scopes;
use protomcp_server::{
    FencingToken, HeldLease, LeaseKeeper, RestoredSession, SessionSnapshot, SessionState, StoreError,
};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::caller::{Caller, Principal};

/// The time after which a store that has not answered is asked again.
const RETRY: Duration = Duration::from_millis(100);

/// A session that this process holds.
#[derive(Debug)]
pub(crate) struct Holding {
    keeper: Arc<LeaseKeeper>,
    lease: HeldLease,
    session: Arc<str>,
    token: FencingToken,
    principal: Option<Arc<str>>,
    address: Option<IpAddr>,
    /// The state that another process has left; taken once.
    restored: Mutex<Option<RestoredSession>>,
    saves: watch::Sender<Saves>,
    /// Cancelled when another process may serve the session.
    lost: CancellationToken,
    /// Cancelled when this process shuts down.
    shutdown: CancellationToken,
}

/// The state to be saved.
#[derive(Debug, Default)]
struct Saves {
    /// `None`: there was no handshake.
    state: Option<SessionState>,
    /// The scopes that requests have needed.
    scopes: Vec<String>,
    /// It has changed since it was saved last.
    is_due: bool,
    /// A task saves it.
    is_saving: bool,
    /// It was too large.
    is_too_large: bool,
}

/// A request of the holder to the store.
#[derive(Debug, Clone, Copy)]
enum Change<'a> {
    Save(&'a SessionSnapshot),
    Release,
    Close,
}

impl Holding {
    /// A session that the store has granted to this process.
    pub(crate) fn new(keeper: &Arc<LeaseKeeper>, lease: HeldLease, session: &str, token: FencingToken) -> Self {
        Self {
            keeper: Arc::clone(keeper),
            lost: lease.over().child_token(),
            lease,
            session: session.into(),
            token,
            principal: None,
            address: None,
            restored: Mutex::default(),
            saves: watch::Sender::new(Saves::default()),
            shutdown: CancellationToken::new(),
        }
    }

    /// In a process that shuts down with this token.
    pub(crate) fn in_process(self, shutdown: CancellationToken) -> Self {
        Self { shutdown, ..self }
    }

    /// For the client with this principal and address.
    pub(crate) fn of(self, caller: &Caller) -> Self {
        let principal = caller.principal.as_ref().map(|Principal(who)| Arc::clone(who));
        Self { principal, address: caller.address, ..self }
    }

    /// A session with the state that another process has left.
    pub(crate) fn restoring(self, snapshot: SessionSnapshot) -> Self {
        let SessionSnapshot { state, principal, address, scopes } = snapshot;
        let saves = Saves { state: Some(state.clone()), scopes, ..Saves::default() };
        let restored = Mutex::new(Some(RestoredSession { state, holder: self.token.get() }));
        Self { principal, address, restored, saves: watch::Sender::new(saves), ..self }
    }

    pub(crate) fn session(&self) -> &Arc<str> {
        &self.session
    }

    pub(crate) fn token(&self) -> FencingToken {
        self.token
    }

    /// True if this process may serve the session now.
    pub(crate) fn is_held(&self) -> bool {
        !self.lost.is_cancelled() && self.lease.is_held()
    }

    /// Cancelled when another process may serve the session.
    pub(crate) fn lost(&self) -> &CancellationToken {
        &self.lost
    }

    /// The state that another process has left; `None` at the second call.
    pub(crate) fn take_restored(&self) -> Option<RestoredSession> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Saves another state of the session.
    pub(crate) fn keep(self: &Arc<Self>, state: SessionState) {
        self.change(|saves| saves.state = Some(state));
    }

    /// Saves the scopes that requests have needed.
    pub(crate) fn keep_scopes(self: &Arc<Self>, scopes: &Scopes) {
        let scopes = scopes.iter().map(str::to_owned).collect();
        self.change(|saves| saves.scopes = scopes);
    }

    /// One task at a time saves the latest state.
    fn change(self: &Arc<Self>, change: impl FnOnce(&mut Saves)) {
        let begins = self.saves.send_if_modified(|saves| {
            change(saves);
            saves.is_due = true;
            !std::mem::replace(&mut saves.is_saving, true)
        });
        if begins {
            self.run(|holding| async move {
                while let Some(snapshot) = holding.due() {
                    if !holding.persist(Change::Save(&snapshot)).await {
                        tracing::debug!("the state of a session is not saved: it ends here");
                        holding.lost.cancel();
                        return;
                    }
                }
            });
        }
    }

    /// The state that is to be saved next; `None`: it is saved.
    fn due(&self) -> Option<SessionSnapshot> {
        let mut due = None;
        self.saves.send_modify(|saves| {
            if std::mem::take(&mut saves.is_due) {
                due = self.snapshot(saves);
            }
            saves.is_saving = due.is_some();
        });
        due
    }

    /// The state, if there is one, and it is not too large.
    fn snapshot(&self, saves: &mut Saves) -> Option<SessionSnapshot> {
        let state = saves.state.clone()?;
        let (principal, scopes) = (self.principal.clone(), saves.scopes.clone());
        let snapshot = SessionSnapshot { state, principal, address: self.address, scopes };
        let bytes = snapshot.to_json().into_raw().len();
        if bytes <= SessionSnapshot::MAX_BYTES {
            return Some(snapshot);
        }
        // Once for a session, which may change it as often as its client likes.
        if !std::mem::replace(&mut saves.is_too_large, true) {
            let limit = SessionSnapshot::MAX_BYTES;
            tracing::warn!(bytes, limit, "the state of a session is too large to be saved: the saved one is older");
        }
        None
    }

    /// True if the latest state is not saved yet.
    pub(crate) fn is_saving(&self) -> bool {
        self.saves.borrow().is_saving
    }

    /// Waits until the latest state is saved.
    ///
    /// # Errors
    /// [`StoreError::Fenced`]: another process may serve the session.
    pub(crate) async fn saved(&self) -> Result<(), StoreError> {
        let mut saves = self.saves.subscribe();
        let saved = async { saves.wait_for(|saves| !saves.is_saving).await.is_ok() };
        match self.lost.run_until_cancelled(saved).await {
            Some(true) => Ok(()),
            Some(false) | None => Err(StoreError::Fenced),
        }
    }

    /// The session has ended here. If it is over for its client as well, or has failed, no process takes it over. Otherwise
    /// the shutdown of this process has ended it.
    pub(crate) fn end(self: &Arc<Self>, is_over: bool) {
        if is_over || !self.shutdown.is_cancelled() {
            self.close();
        } else {
            self.release();
        }
    }

    /// The session has ended: no process can take it over.
    pub(crate) fn close(self: &Arc<Self>) {
        self.run(|holding| async move {
            if !holding.persist(Change::Close).await {
                tracing::debug!("a session that has ended is open in the store until it is forgotten there");
            }
        });
    }

    /// Lets other processes serve the session.
    pub(crate) fn release(self: &Arc<Self>) {
        self.run(|holding| async move {
            holding.persist(Change::Release).await;
            holding.lost.cancel();
        });
    }

    /// Repeats a request until the store has answered, for the time of a lease at most: the part of a store that has the
    /// leases may work while the one that has this session does not. `false`: the session is no longer served here.
    async fn persist(&self, change: Change<'_>) -> bool {
        let (store, session, token) = (self.keeper.store(), &*self.session, self.token);
        let until = Instant::now() + self.keeper.terms().held_for();
        loop {
            let answer = match change {
                Change::Save(snapshot) => store.save(session, token, snapshot),
                Change::Release => store.release(session, token),
                Change::Close => store.close(session, token),
            };
            match self.keeper.answer(answer).await {
                Ok(is_latest) => return is_latest,
                Err(StoreError::Fenced) => return false,
                Err(_) => {}
            }
            if !self.is_held() || Instant::now() >= until {
                return false;
            }
            sleep(RETRY).await;
        }
    }

    fn run<F: Future<Output = ()> + Send + 'static>(self: &Arc<Self>, work: impl FnOnce(Arc<Self>) -> F) {
        // Without a runtime everything has ended.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(work(Arc::clone(self)));
        }
    }
}

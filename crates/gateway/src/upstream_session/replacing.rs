//! Sessions that take the place of others: opened next to them, and found by the requests that looked for those.

use std::pin::pin;
use std::sync::Arc;

use protomcp_client::{ClientSession, WeakClientSession};
use protomcp_types::Implementation;
use tokio::sync::oneshot;

use crate::era::Era;
use crate::failure::Failure;
use crate::known::Memory;
use crate::opening;
use crate::upstream_session::{State, UpstreamSession, Users, lock};

impl UpstreamSession {
    /// The open session of this or of the one that has taken its place, with it. Opens it if it is not.
    ///
    /// # Errors
    /// See [`UpstreamSession::session`].
    pub(crate) async fn enter(self: &Arc<Self>) -> Result<(Arc<Self>, ClientSession), Failure> {
        let mut upstream = Arc::clone(self);
        loop {
            let current = upstream.newest();
            let mut replaced = pin!(current.replaced.notified());
            replaced.as_mut().enable();
            upstream = current.newest();
            if !Arc::ptr_eq(&upstream, &current) {
                continue;
            }
            let outcome = tokio::select! {
                biased;
                outcome = current.session() => outcome,
                () = replaced => continue,
            };
            match outcome {
                Err(_) if current.is_replaced() => {}
                Err(failure) => match upstream.main_instead(&failure) {
                    Some(main) => upstream = main,
                    None => return Err(failure),
                },
                Ok(session) => return Ok((upstream, session)),
            }
        }
    }

    pub(super) fn is_replaced(&self) -> bool {
        matches!(*lock(&self.state), State::Replaced(_))
    }

    /// This one, or the one that has taken its place.
    pub(crate) fn newest(self: &Arc<Self>) -> Arc<Self> {
        let mut newest = Arc::clone(self);
        loop {
            let next = match &*lock(&newest.state) {
                State::Replaced(next) => Arc::clone(next),
                _ => break,
            };
            newest = next;
        }
        newest
    }

    /// The open session that has taken the place of this one, if one has.
    pub(crate) fn replacement(self: &Arc<Self>) -> Option<ClientSession> {
        let newest = self.newest();
        (!Arc::ptr_eq(&newest, self)).then(|| newest.open_session()).flatten()
    }

    /// A session that can take the place of this one, with the same clients. It is not open.
    pub(crate) fn successor(&self, gateway: &Implementation) -> Arc<Self> {
        let memory = Memory { known: Arc::default(), ..self.memory.clone() };
        let users = match &self.client {
            Some(client) => Users::One(Box::new(client.clone())),
            None => self.in_era.users(),
        };
        Self::new(Arc::clone(&self.reach), users, Arc::clone(&self.environment), gateway, memory)
    }

    /// Opens the session before anything needs it, with the next version of a server (`present`: the era of the present one,
    /// if it is known). A failure says nothing about the reachability of the server. Dropping the future ends the attempt.
    ///
    /// # Errors
    /// The reason in words.
    pub(crate) async fn prepare(&self, present: Option<Era>) -> Result<(), String> {
        let (limit, upstream) = (self.environment.limits.open_timeout, &self.reach.upstream);
        let opening = async {
            match present {
                Some(present) => opening::open_next(upstream, &self.opener, self.era(), present).await,
                None => opening::open(upstream, &self.opener, self.era()).await,
            }
        };
        match tokio::time::timeout(limit, opening).await {
            Ok(Ok(session)) => {
                // Its end is not watched before it serves.
                let (watched, _) = oneshot::channel();
                *lock(&self.state) = State::Open { session, watched };
                Ok(())
            }
            Ok(Err(failure)) => Err(failure.cause.logged.to_string()),
            Err(_) => Err(format!("it was not connected within {limit:?}")),
        }
    }

    /// Sends all requests to `next` from here on. The connection of this one, if it is returned, ends with the requests
    /// that it has.
    pub(crate) fn replace(&self, next: &Arc<Self>) -> Option<WeakClientSession> {
        let prepared = next.open_session().filter(|session| next.keep(session));
        let before = std::mem::replace(&mut *lock(&self.state), State::Replaced(Arc::clone(next)));
        self.replaced.notify_waiters();
        if let Some(session) = prepared {
            next.restore(&session);
        }
        match before {
            State::Open { session, .. } => Some(session.downgrade()),
            _ => None,
        }
    }
}

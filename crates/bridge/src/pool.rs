//! The tool processes behind one list of tools, and the one that a request goes to.
//!
//! Each worker is a whole bridge behind the server: its own core, driver and dispatcher, with the same sessions. So a
//! worker crashes, restarts and reloads as a single process does. The pool only chooses.

pub(crate) mod affinity;
mod assignment;
pub(crate) mod roller;
mod rolling;
pub(crate) mod worker;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

use protomcp_server::{Context, ServerHandle, SessionId};
use protomcp_types::ErrorObject;

use crate::catalog::resources_and_prompts::Kind;
use crate::catalog::snapshot::Snapshot;
use crate::pool::affinity::WorkerAffinity;
use crate::pool::assignment::Assignment;
use crate::pool::worker::Worker;

/// The most workers of a pool. Each one is a process with an interpreter, a queue and a link.
pub(crate) const MAX_WORKERS: usize = 64;

/// The workers.
#[derive(Debug)]
pub(crate) struct Pool {
    /// At least one.
    workers: Vec<Worker>,
    affinity: WorkerAffinity,
    /// Not used with one worker.
    assignment: Mutex<Assignment>,
    sessions: ServerHandle,
}

/// The worker of a request, which counts as its call until this is dropped.
pub(crate) struct Route<'a> {
    pub(crate) worker: &'a Worker,
    _counted: Option<Counted<'a>>,
}

struct Counted<'a> {
    pool: &'a Pool,
    worker: usize,
}

impl Pool {
    /// A pool of these workers, of which there is at least one.
    pub(crate) fn new(workers: Vec<Worker>, affinity: WorkerAffinity, sessions: ServerHandle) -> Self {
        let assignment = Mutex::new(Assignment::new(workers.len()));
        Self { workers, affinity, assignment, sessions }
    }

    /// The worker whose lists this session sees.
    pub(crate) fn lists(&self, session: SessionId) -> &Worker {
        match self.affinity {
            WorkerAffinity::Session if !self.is_single() && session != SessionId::STATELESS => {
                self.worker(self.of_session(session))
            }
            WorkerAffinity::Session | WorkerAffinity::None => self.first(),
        }
    }

    /// The worker for a request that needs an entry of one of these lists other than tools, or a tool: it `knows` the
    /// entry, or its process has still to send one of the lists, unless that is so for no worker. During a reload only
    /// the first ones have the new list.
    ///
    /// # Errors
    /// If its tool process did not start.
    pub(crate) async fn route(
        &self,
        context: &Context,
        lists: &[Kind],
        knows: impl Fn(&Snapshot) -> bool,
    ) -> Result<Route<'_>, ErrorObject> {
        if self.is_single() {
            self.first().started().await?;
            return Ok(Route::to(self.first()));
        }
        if self.affinity == WorkerAffinity::None {
            self.first().started().await?;
            return Ok(self.spread(lists, knows));
        }
        let session = context.session();
        if session != SessionId::STATELESS {
            let worker = self.worker(self.of_session(session));
            worker.started().await?;
            return Ok(Route::to(worker));
        }
        let mut hasher = DefaultHasher::new();
        context.caller().owner.hash(&mut hasher);
        let own = self.worker(usize::try_from(hasher.finish() % (self.workers.len() as u64)).unwrap_or_default());
        own.started().await?;
        let knows = |worker: &Worker| knows(&worker.snapshot.load());
        let may_know = |worker: &Worker| worker.snapshot.load().catalog().awaits(lists);
        let is_own = knows(own) || (may_know(own) && !knows(self.first()));
        Ok(Route::to(if is_own { own } else { self.first() }))
    }

    /// The worker of this session, which is no longer assigned to it.
    pub(crate) fn forget(&self, session: SessionId) -> impl Iterator<Item = &Worker> {
        let assigned = if self.is_single() { Some(0) } else { self.lock().forget(session) };
        assigned.map(|worker| self.worker(worker)).into_iter()
    }

    /// The first worker, whose lists are seen by requests without a session.
    pub(crate) fn first(&self) -> &Worker {
        &self.workers[0]
    }

    /// The reason for which this worker does not have the newest version of the files, as clients may read it.
    pub(crate) fn unstarted(&self, worker: &Worker) -> Option<String> {
        worker.snapshot.unstarted().map(|why| why.text(self.sessions.sole_owner().is_some()))
    }

    fn is_single(&self) -> bool {
        self.workers.len() == 1
    }

    fn spread(&self, lists: &[Kind], knows: impl Fn(&Snapshot) -> bool) -> Route<'_> {
        let knows = |worker: usize| knows(&self.worker(worker).snapshot.load());
        let may_know = |worker: usize| self.worker(worker).snapshot.load().catalog().awaits(lists);
        let mut assignment = self.lock();
        let open = assignment.spread(|worker| knows(worker) && self.worker(worker).calls.dispatcher.is_open());
        let worker = open.or_else(|| assignment.spread(knows)).or_else(|| assignment.spread(may_know));
        drop(assignment);
        match worker {
            Some(worker) => Route { worker: self.worker(worker), _counted: Some(Counted { pool: self, worker }) },
            None => Route::to(self.first()),
        }
    }

    fn of_session(&self, session: SessionId) -> usize {
        let mut assignment = self.lock();
        if let Some(worker) = assignment.known(session) {
            return worker;
        }
        let serves = |worker: usize| !self.worker(worker).calls.dispatcher.is_down();
        let worker = assignment.begin(session, serves);
        if self.sessions.view(session).is_none() {
            // It has ended, and is not announced again.
            assignment.forget(session);
        }
        worker
    }

    fn worker(&self, number: usize) -> &Worker {
        &self.workers[number]
    }

    fn lock(&self) -> MutexGuard<'_, Assignment> {
        // No panic can happen half-way through a change.
        self.assignment.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Route<'a> {
    fn to(worker: &'a Worker) -> Self {
        Self { worker, _counted: None }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.pool.lock().end(self.worker);
    }
}

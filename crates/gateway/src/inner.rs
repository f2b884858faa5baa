//! The parts of a gateway that its requests use: the servers in order, their names, and the tasks of its clients.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protomcp_server::{Context, ServerHandle, SessionId, Tasks};
use protomcp_types::{Level, RawJson};

use crate::environment::Environment;
use crate::era::Era;
use crate::interner::Interned;
use crate::list::{ListKind, Merged, renamed};
use crate::pool::Pool;

/// Lists by the sessions of their readers.
type Unread = HashMap<(SessionId, ListKind), Arc<Interned<Merged>>>;

/// The parts of a gateway that its requests use.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) pools: Vec<Arc<Pool>>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) clients: ServerHandle,
    pub(crate) tasks: Tasks,
    /// The lists of which clients have not read every page, as far as there is room.
    unread: Mutex<Unread>,
    /// The levels that clients have set.
    levels: Mutex<HashMap<SessionId, Level>>,
}

impl Inner {
    pub(crate) fn new(pools: Vec<Arc<Pool>>, environment: Arc<Environment>, clients: ServerHandle) -> Self {
        let tasks = Tasks::new(clients.clone());
        Self { pools, environment, clients, tasks, unread: Mutex::default(), levels: Mutex::default() }
    }

    /// The server that a name belongs to, and the name there. Of several prefixes that match, the longest counts.
    pub(crate) fn route<'a>(&self, name: &'a str) -> Option<(&Arc<Pool>, &'a str)> {
        let matches = |pool: &&Arc<Pool>| name.starts_with(pool.reach.upstream.name_prefix());
        let pool = self.pools.iter().filter(matches).max_by_key(|pool| pool.reach.upstream.name_prefix().len())?;
        Some((pool, name.strip_prefix(pool.reach.upstream.name_prefix())?))
    }

    /// The only server.
    pub(crate) fn only(&self) -> Option<&Arc<Pool>> {
        match self.pools.as_slice() {
            [only] => Some(only),
            _ => None,
        }
    }

    /// The definition of a tool as clients without a session see it, under the name that they know.
    pub(crate) fn tool_definition(&self, tool: &str) -> Option<RawJson> {
        let (pool, name) = self.route(tool)?;
        let shared = pool.shared_in(Era::Stateless);
        let known = shared.known();
        let definition = known.list(ListKind::Tools)?.element(name)?;
        Some(if name == tool { definition.clone() } else { renamed(ListKind::Tools, definition, tool) })
    }

    pub(crate) fn unread(&self) -> MutexGuard<'_, Unread> {
        lock(&self.unread)
    }

    /// The level that the client of a call has set.
    pub(crate) fn level_of(&self, context: &Context) -> Option<Level> {
        if context.is_stateless() { context.log_level() } else { lock(&self.levels).get(&context.session()).copied() }
    }

    /// A client has set a level.
    pub(crate) fn set_level(&self, client: SessionId, level: Level) {
        lock(&self.levels).insert(client, level);
        for pool in &self.pools {
            match pool.existing(client) {
                Some(session) if session.client.is_some() => session.set_level(level),
                Some(session) => session.lower_level(level),
                None => {}
            }
        }
    }

    /// A session of a client is over.
    pub(crate) fn leave(&self, client: SessionId) {
        lock(&self.levels).remove(&client);
        self.unread().retain(|(session, _), _| *session != client);
        self.pools.iter().for_each(|pool| pool.leave(client));
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

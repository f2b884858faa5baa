//! The parts of a gateway that its sessions with servers need: the sessions of its clients, and its limits.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use protomcp_client::ServerView;
use protomcp_server::{Audience, ServerHandle, ServerInfo, SessionNotice};
use protomcp_types::{ErrorObject, Implementation, Level, RawJson, SKILLS_EXTENSION};

use crate::capabilities;
use crate::described::Described;
use crate::era::Era;
use crate::interner::{Interner, InternerBudget};
use crate::limits::{GatewayLimits, MAX_KEPT_BYTES};
use crate::list::{Merged, ServerList};
use crate::reach::Reach;
use crate::web_pages;

/// The parts of a gateway that its sessions with servers need.
#[derive(Debug)]
pub(crate) struct Environment {
    pub(crate) limits: GatewayLimits,
    /// Log messages carry the name of their server.
    pub(crate) names_servers: bool,
    /// Empty until the capabilities of the servers are known.
    clients: OnceLock<ServerHandle>,
    gateway: Arc<Implementation>,
    /// The servers in order.
    described: Mutex<Vec<Described>>,
    /// The lists of servers.
    pub(crate) lists: Interner<ServerList>,
    /// The lists of all servers together, until clients have read every page.
    pub(crate) merged: Interner<Merged>,
}

impl Environment {
    pub(crate) fn new(limits: GatewayLimits, gateway: Arc<Implementation>, servers: Vec<Described>) -> Self {
        let budget = InternerBudget::new(MAX_KEPT_BYTES);
        let (lists, merged) = (Interner::new(&budget), Interner::new(&budget));
        let names_servers = servers.len() > 1;
        let described = Mutex::new(servers);
        Self { limits, names_servers, clients: OnceLock::new(), gateway, described, lists, merged }
    }

    /// The sessions of the clients; `None` before there can be any.
    pub(crate) fn clients(&self) -> Option<&ServerHandle> {
        self.clients.get()
    }

    pub(crate) fn serve(&self, clients: ServerHandle) {
        let servers = self.described();
        // A gateway is opened once.
        drop(self.clients.set(clients));
        self.describe_stateless(&servers);
    }

    /// The description of the gateway for clients of an era.
    pub(crate) fn description(&self, era: Era) -> ServerInfo {
        capabilities::describe(&self.described(), era, &self.gateway)
    }

    /// A session with a server is open, for which the era `wanted` was tried first.
    pub(crate) fn opened(&self, reach: &Reach, wanted: Era, view: &Arc<ServerView>) {
        let mut servers = self.described();
        if servers[reach.place].learn(wanted, view) {
            self.describe_stateless(&servers);
            let has_skills = view.capabilities.as_ref().is_some_and(|server| server.has_extension(SKILLS_EXTENSION));
            if self.names_servers && has_skills {
                let name = servers[reach.place].name();
                tracing::info!(
                    "the skills of {name}, if it has any, are resources alone, because several servers are served"
                );
            }
        }
    }

    /// A server serves the clients of both eras in one.
    pub(crate) fn has_one_era(&self, reach: &Reach) {
        let mut servers = self.described();
        if servers[reach.place].has_one_era() {
            self.describe_stateless(&servers);
        }
    }

    /// Clients without a session learn the capabilities of the other era as soon as the servers have shown them.
    fn describe_stateless(&self, servers: &[Described]) {
        if let Some(clients) = self.clients() {
            clients.describe_stateless(capabilities::describe(servers, Era::Stateless, &self.gateway));
        }
    }

    fn described(&self) -> MutexGuard<'_, Vec<Described>> {
        self.described.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells clients that all lists may have changed.
    pub(crate) fn lists_changed(&self, audience: &Audience) {
        if let Some(clients) = self.clients() {
            // Each client is notified of the lists that were announced to it.
            clients.tools_changed(audience.clone());
            clients.resources_changed(audience.clone());
            clients.prompts_changed(audience.clone());
        }
    }

    /// Sends clients a message of the gateway itself.
    pub(crate) fn log(&self, audience: &Audience, level: Level, text: &str) {
        if let Some(clients) = self.clients() {
            // Other gateways have their own sessions with the server.
            let data = RawJson::text(text);
            clients.deliver(audience, SessionNotice::Log { level, logger: Some("gateway"), data: &data });
        }
    }

    /// The id of a web page for clients. Servers, each with its place, may give equal ones.
    pub(crate) fn page_id(&self, reach: &Reach, id: &str) -> String {
        if self.names_servers { format!("{}/{id}", reach.place) } else { id.to_owned() }
    }

    /// An error that sends a user to web pages, for clients.
    pub(crate) fn with_page_ids(&self, reach: &Reach, error: ErrorObject) -> ErrorObject {
        if self.names_servers { web_pages::with_ids(error, |id| self.page_id(reach, id)) } else { error }
    }
}

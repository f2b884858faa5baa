//! The parts of a gateway that its sessions with servers need: the sessions of its clients, and its limits.

use std::sync::OnceLock;

use protomcp_server::{Audience, ServerHandle};
use protomcp_types::{ErrorObject, Level, RawJson};

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
    /// Those of servers.
    pub(crate) lists: Interner<ServerList>,
    /// Those of all servers together, until clients have read every page.
    pub(crate) merged: Interner<Merged>,
}

impl Environment {
    pub(crate) fn new(limits: GatewayLimits, names_servers: bool) -> Self {
        let budget = InternerBudget::new(MAX_KEPT_BYTES);
        let (lists, merged) = (Interner::new(&budget), Interner::new(&budget));
        Self { limits, names_servers, clients: OnceLock::new(), lists, merged }
    }

    /// The sessions of the clients; `None` before there can be any.
    pub(crate) fn clients(&self) -> Option<&ServerHandle> {
        self.clients.get()
    }

    pub(crate) fn serve(&self, clients: ServerHandle) {
        // A gateway is opened once.
        drop(self.clients.set(clients));
    }

    /// Tells clients that all lists may have changed.
    pub(crate) fn lists_changed(&self, audience: &Audience) {
        if let Some(clients) = self.clients() {
            let can = &clients.info().capabilities;
            if can.tools.is_some() {
                clients.tools_changed(audience.clone());
            }
            if can.resources.is_some() {
                clients.resources_changed(audience.clone());
            }
            if can.prompts.is_some() {
                clients.prompts_changed(audience.clone());
            }
        }
    }

    /// Sends clients a message of the gateway itself.
    pub(crate) fn log(&self, audience: Audience, level: Level, text: &str) {
        if let Some(clients) = self.clients() {
            clients.log(audience, level, Some("gateway"), &RawJson::text(text));
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
